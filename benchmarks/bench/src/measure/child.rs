//! This same program in a process of its own, so that memory, settings and written bytes are those of the
//! measurement.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Runs this program with `arguments`, and with one more variable in its environment if given, and parses its answer
/// line by line. Its stderr is shown.
///
/// # Errors
/// [`Error::Child`] about `what` if it does not succeed, or if `parse` does not understand a line.
pub fn answers<T>(
    what: &str,
    arguments: &[String],
    environment: Option<(&str, &str)>,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>> {
    let mut command = this_program()?;
    command.args(arguments).envs(environment);
    answers_of(what, command, parse)
}

/// The same with another program.
///
/// # Errors
/// As [`answers`].
pub fn answers_of<T>(what: &str, mut command: Command, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>> {
    let failed = |outcome: String| Error::Child { what: what.to_owned(), outcome };
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| Error::io("start", Path::new(command.get_program()), error))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let answers = text.lines().map(parse).collect::<Option<Vec<_>>>();
    answers.ok_or_else(|| failed("its answer cannot be read".to_owned()))
}

/// Runs this program with `arguments`, and reports its stderr only if it does not succeed.
///
/// # Errors
/// [`Error::Child`] about `what` if it does not succeed.
pub fn quietly(what: &str, arguments: &[String]) -> Result<()> {
    let mut command = this_program()?;
    command.args(arguments).stdin(Stdio::null());
    let output = command.output().map_err(|error| Error::io("start", Path::new(command.get_program()), error))?;
    let outcome = || format!("{}; {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::Child { what: what.to_owned(), outcome: outcome() }),
    }
}

/// Runs this program with `arguments` until it has printed `word` in a line of its own, and kills it `after` that:
/// what it did until then is not cleaned up. Returns how long it ran after the word.
///
/// # Errors
/// [`Error::Child`] about `what` if it prints another word, or ends.
pub fn kill_when_said(what: &str, arguments: &[String], word: &str, after: Duration) -> Result<Duration> {
    let mut command = this_program()?;
    // A pipe that stays empty: the process ends by itself if this one ends first.
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let program = Path::new(command.get_program()).to_owned();
    let io = |error| Error::io("run", &program, error);
    let mut child = command.spawn().map_err(io)?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line).map_err(io)?;
    }
    let said = Instant::now();
    std::thread::sleep(after);
    // A process that has ended by itself has failed; the error says how.
    let ended = child.try_wait().map_err(io)?;
    child.kill().map_err(io)?;
    let ran = said.elapsed();
    let outcome = child.wait().map_err(io)?;
    match line.trim() == word && ended.is_none() {
        true => Ok(ran),
        false => Err(Error::Child { what: what.to_owned(), outcome: outcome.to_string() }),
    }
}

fn this_program() -> Result<Command> {
    std::env::current_exe().map(Command::new).map_err(|error| Error::io("find", Path::new("this program"), error))
}
