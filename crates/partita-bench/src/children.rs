//! Work in child processes, so that what one piece of it leaves in memory is not counted against the next. The parent starts
//! its own program again with the task as JSON in one argument; the child answers on standard output.

use std::process::{Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Settings of children's allocators. They are such that resident memory follows the budget: few arenas, since what one
/// thread frees another takes, and what was freed goes back to the system soon. And memory comes in huge pages, so that
/// lookups spend less time on address translation.
const ALLOCATOR_SETTINGS: [(&str, &str); 3] = [
    ("MALLOC_CONF", "thp:always,narenas:2,dirty_decay_ms:200,muzzy_decay_ms:0"), // jemalloc
    ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),
    ("MALLOC_ARENA_MAX", "1"), // glibc
];

/// Has a child of this program do a task.
///
/// * `arguments`: what stands before the task on the child's command line.
/// * The child shows what it likes on standard error.
pub fn in_child<T: Serialize, A: DeserializeOwned>(
    arguments: &[&str],
    task: &T,
) -> Result<A, String> {
    in_child_with(Stdio::null(), arguments, task)
}

/// The same, for a child with a standard input.
pub fn in_child_with<T: Serialize, A: DeserializeOwned>(
    stdin: Stdio,
    arguments: &[&str],
    task: &T,
) -> Result<A, String> {
    let json = serde_json::to_string(task).map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let output = Command::new(program)
        .args(arguments)
        .arg(&json)
        .envs(ALLOCATOR_SETTINGS)
        .stdin(stdin)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("a child cannot be started: {error}"))?;
    if !output.status.success() {
        // What it was about, the child has said itself.
        return Err(format!("nothing was measured: a child process ended with {}", output.status));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("the answer of the child for {json}: {error}"))
}

/// What a child is started for: does the task in `json` and returns the answer to print.
pub fn answer_parent<T: DeserializeOwned, A: Serialize>(
    json: &str,
    perform: impl FnOnce(&T) -> Result<A, String>,
) -> Result<String, String> {
    let task = serde_json::from_str(json).map_err(|error| format!("the task: {error}"))?;
    serde_json::to_string(&perform(&task)?).map_err(|error| error.to_string())
}
