//! Partita's command line tool, which is part of another workspace.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where it is: what PARTITA_TOOL names, or else it is built.
///
/// * `target_tmpdir`: the test's `CARGO_TARGET_TMPDIR`.
pub fn tool(target_tmpdir: &str) -> &'static Path {
    static TOOL: OnceLock<PathBuf> = OnceLock::new();
    TOOL.get_or_init(|| {
        if let Some(path) = std::env::var_os("PARTITA_TOOL") {
            return path.into();
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let target = Path::new(target_tmpdir).join("tool");
        let status = Command::new(env!("CARGO"))
            .args(["build", "-q", "--release", "-p", "partita-cli"])
            .current_dir(root)
            .env("CARGO_TARGET_DIR", &target)
            .status()
            .expect("cargo starts");
        assert!(status.success());
        target.join("release/partita")
    })
}
