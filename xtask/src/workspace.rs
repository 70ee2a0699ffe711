//! Where the workspace is, and how child processes are started in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::Failure;

/// The workspace's root directory: the parent of this package's directory.
///
/// # Errors
/// Fails if the program was not started by `cargo run`, which names the package's directory.
pub fn root() -> Result<PathBuf, Failure> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| {
        Failure::Failed("start this by `cargo xtask`, which passes the place of the workspace".into())
    })?;
    Path::new(&package)
        .parent()
        .map(Path::to_path_buf)
        .ok_or_else(|| Failure::Failed(format!("{}: not inside the workspace", Path::new(&package).display())))
}

/// A command that will run in `root`, without the variables by which cargo describes this package. A child that builds
/// would take them for its own and build again.
pub fn child(root: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root);
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_PKG_") || name_text.starts_with("CARGO_MANIFEST") {
            command.env_remove(&name);
        }
    }
    command
}

/// The directory of cargo's results.
pub fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |path| root.join(path))
}

/// Where cargo puts what it builds with a profile.
pub fn results(root: &Path, profile: &str) -> PathBuf {
    target(root).join(if matches!(profile, "dev" | PROFILE_OF_TESTS) { "debug" } else { profile })
}

/// The profile with which `cargo test` builds.
pub const PROFILE_OF_TESTS: &str = "test";

/// The packages that CI builds. Cargo chooses the features of packages for all that it builds at once: whatever needs
/// what the tests have built must select the same packages, or it is built again. The models of loom, which are the
/// engine's files under another configuration, and what writes the C header are built alone.
pub const CHECKED: &[&str] = &["--workspace", "--exclude", "fulgurite-loom", "--exclude", "fulgurite-c-header"];

/// As [`child`], for a toolchain of rustup's instead of the one that runs us.
pub fn child_of_toolchain(root: &Path, toolchain: &str, arguments: &[&str]) -> Command {
    let mut command = child(root, "rustup", &["run", toolchain]);
    command.args(arguments);
    // `cargo` names itself in these; the other toolchain's cargo must find its own compiler.
    for name in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTC", "RUSTDOC"] {
        command.env_remove(name);
    }
    command
}

/// The command as the user would type it, for messages.
pub fn shown(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
