//! What figures were measured with: the command, the programs' versions, the machine.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// What a report says at its head, so that its figures can be judged and had again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// The command line, as a shell takes it.
    pub command: String,
    /// Programs that were measured, Partita first, with their versions.
    pub versions: Vec<(String, String)>,
    /// Whether the compiler optimised. Figures mean nothing if not.
    pub is_optimised: bool,
    /// Where it ran.
    pub machine: Machine,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// What its processors are called; else their architecture.
    pub cpu: String,
    /// Processors that this program may use.
    pub cpus: usize,
    /// Memory, where the system tells.
    pub memory_bytes: Option<u64>,
    /// The system and its version.
    pub kernel: String,
}

impl Setup {
    /// What this process is.
    ///
    /// * `others`: name and version of each engine beside Partita.
    pub fn of_this_process(others: impl IntoIterator<Item = (String, String)>) -> Self {
        let partita = ("Partita".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        Self {
            command: command_line(std::env::args_os().map(|arg| arg.to_string_lossy().into())),
            versions: std::iter::once(partita).chain(others).collect(),
            is_optimised: !cfg!(debug_assertions),
            machine: Machine::this(),
        }
    }

    /// All versions in a line.
    pub fn versions(&self) -> String {
        let named = self.versions.iter().map(|(name, version)| format!("{name} {version}"));
        named.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(feature = "page")]
impl Setup {
    /// What stands at the head of a page.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let machine = &self.machine;
        let mut facts = vec![
            ("Command", format!("`{}`", self.command)),
            ("Versions", self.versions()),
            ("Processors", format!("{} × {}", machine.cpus, machine.cpu)),
        ];
        let memory = machine.memory_bytes;
        facts.extend(memory.map(|bytes| ("Memory", partita_charts::human::bytes(bytes as f64))));
        facts.push(("System", machine.kernel.clone()));
        facts
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_optimised {
            writeln!(f, "WARNING: built without optimisation, figures mean nothing")?;
        }
        writeln!(f, "{}", self.command)?;
        writeln!(f, "{}", self.versions())?;
        writeln!(f, "{}", self.machine)
    }
}

impl Machine {
    /// The one that this process runs on.
    fn this() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let kernel = ["/proc/sys/kernel/ostype", "/proc/sys/kernel/osrelease"].map(read);
        Self::described(&read("/proc/cpuinfo"), &read("/proc/meminfo"), kernel.each_ref())
    }

    fn described(cpuinfo: &str, meminfo: &str, kernel: [&String; 2]) -> Self {
        let cpu = field(cpuinfo, "model name").unwrap_or(std::env::consts::ARCH);
        let memory_kib = field(meminfo, "MemTotal")
            .and_then(|memory| memory.strip_suffix("kB")?.trim().parse::<u64>().ok());
        let kernel = kernel.map(|part| part.trim()).join(" ");
        Self {
            cpu: cpu.to_owned(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: memory_kib.map(|kib| kib * 1024),
            kernel: if kernel.trim().is_empty() { std::env::consts::OS.into() } else { kernel },
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} processors", self.cpu, self.cpus)?;
        if let Some(bytes) = self.memory_bytes {
            write!(f, ", {:.1} GiB of memory", bytes as f64 / (1_u64 << 30) as f64)?;
        }
        write!(f, ", {}", self.kernel)
    }
}

/// The value of the first line `name : value`.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields
        .map(|(found, value)| (found.trim(), value.trim()))
        .find(|(found, _)| *found == name)?
        .1
        .into()
}

/// The line that a shell would need. The program is named without its directory.
fn command_line(arguments: impl Iterator<Item = String>) -> String {
    let named =
        arguments.enumerate().map(|(at, argument)| match Path::new(&argument).file_name() {
            Some(name) if at == 0 => quoted(&name.to_string_lossy()),
            _ => quoted(&argument),
        });
    named.collect::<Vec<_>>().join(" ")
}

fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,=:+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_described_by_what_the_system_tells() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Fast: 9000\nprocessor\t: 1\n";
        let kernel = ["Linux\n".to_owned(), "6.8.0\n".to_owned()];
        let machine = Machine::described(cpuinfo, "MemTotal:   8388608 kB\n", kernel.each_ref());
        assert_eq!((&*machine.cpu, machine.memory_bytes), ("Fast: 9000", Some(8 << 30)));
        let expected =
            format!("Fast: 9000, {} processors, 8.0 GiB of memory, Linux 6.8.0", machine.cpus);
        assert_eq!(machine.to_string(), expected);
        let silent = Machine::described("", "", [&String::new(), &String::new()]);
        assert_eq!(silent.cpu, std::env::consts::ARCH);
        assert_eq!(silent.kernel, std::env::consts::OS);
        assert_eq!(silent.memory_bytes, None);
    }

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let arguments = ["/usr/bin/partita", "--dir", "/a b", "it's", "", "--budget=1MiB,2MiB"];
        let line = command_line(arguments.into_iter().map(str::to_owned));
        assert_eq!(line, r"partita --dir '/a b' 'it'\''s' '' --budget=1MiB,2MiB");
    }

    #[test]
    fn a_setup_names_all_engines_and_warns_of_builds_that_are_not_optimised() {
        let rocksdb = ("RocksDB".to_owned(), "11.8.1".to_owned());
        let mut setup = Setup::of_this_process([rocksdb]);
        assert!(setup.versions().ends_with(", RocksDB 11.8.1"), "{}", setup.versions());
        setup.is_optimised = false;
        assert!(setup.to_string().starts_with("WARNING"));
        setup.is_optimised = true;
        assert!(!setup.to_string().contains("WARNING"));
        assert!(setup.to_string().contains("processors"));
    }
}
