//! This same program in a process of its own, so that what it measures is its own: memory, settings, bytes written.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// Runs this program with `arguments`, and perhaps one variable more in its environment, and reads its answer line by line.
/// What it says on stderr is shown.
///
/// # Errors
/// [`Error::Child`] about `what` if it does not succeed, or if `parse` does not understand a line.
pub fn answers<T>(
    what: &str,
    arguments: &[String],
    environment: Option<(&str, &str)>,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>> {
    let failed = |outcome: String| Error::Child { what: what.to_owned(), outcome };
    let program = std::env::current_exe().map_err(|error| Error::io("find", Path::new("this program"), error))?;
    let mut command = Command::new(&program);
    command.args(arguments).envs(environment).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| Error::io("start", &program, error))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let answers = text.lines().map(parse).collect::<Option<Vec<_>>>();
    answers.ok_or_else(|| failed("its answer cannot be read".to_owned()))
}
