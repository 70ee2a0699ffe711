//! Environments of Python below target/, with tools of PyPI that the bindings are tested with.

use std::path::{Path, PathBuf};

use crate::command::Failure;
use crate::workspace::target;
use crate::{tools, workspace};

/// Makes sure that an environment below target/bindings has these packages, and returns its interpreter.
///
/// # Errors
/// [`Failure::Unavailable`] if there is no Python or no network; otherwise what has failed.
pub fn ensure(root: &Path, name: &str, packages: &[&str]) -> Result<PathBuf, Failure> {
    let place = target(root).join("bindings").join(name);
    let interpreter = interpreter(&place);
    let program = interpreter.to_string_lossy().into_owned();
    let installed = tools::quiet(workspace::child(root, &program, &["-m", "pip", "freeze", "--all"]));
    if installed.is_ok_and(|list| packages.iter().all(|package| list.lines().any(|line| line == *package))) {
        return Ok(interpreter);
    }
    eprintln!("installing {} below target/bindings/{name}", packages.join(" "));
    make(root, &place)?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
    let mut command = workspace::child(root, &program, &[&pip, packages].concat());
    let output = command.output().map_err(|error| Failure::Failed(format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(interpreter);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let reason = format!("`{}` failed:\n{}", workspace::shown(&command), complaint.trim());
    Err(if is_offline(&complaint) {
        Failure::Unavailable(format!("{reason}\npip needs PyPI or a mirror of it"))
    } else {
        Failure::Failed(reason)
    })
}

/// Whether pip has not reached its server. Anything else, such as a version that does not exist, is a failure.
fn is_offline(complaint: &str) -> bool {
    let signs = ["connection broken by", "NewConnectionError", "Max retries exceeded", "ConnectTimeoutError"];
    signs.iter().any(|sign| complaint.contains(sign))
}

/// The interpreter of an environment.
pub fn interpreter(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Makes an empty environment, with the system's package for this where there is the right to install it.
///
/// # Errors
/// [`Failure::Unavailable`] if there is no Python with venv.
pub fn make(root: &Path, place: &Path) -> Result<(), Failure> {
    let python = if cfg!(windows) { "python" } else { "python3" };
    let made =
        || tools::quiet(workspace::child(root, python, &["-m", "venv", "--clear", &place.to_string_lossy()])).map(drop);
    let Err(reason) = made() else { return Ok(()) };
    tools::install_package(root, "python3-venv").and_then(|()| made()).map_err(|again| {
        let help = "install Python 3.11 or later with venv (on Debian, `apt-get install python3-venv`)";
        Failure::Unavailable(format!("{reason}; {again}; {help}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_is_not_reached_counts_as_offline() {
        let unreached = "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(': Failed to \
                         establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/mypy/\n\
                         ERROR: No matching distribution found for mypy==2.4.1";
        assert!(is_offline(unreached));
        assert!(!is_offline("ERROR: No matching distribution found for mypy==99.0.0"));
        assert!(!is_offline("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"));
    }
}
