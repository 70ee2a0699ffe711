//! A program of a task: its run, what is shown of it, and how it is judged.

use std::io::{BufRead, BufReader, PipeReader, Result as IoResult, Write};
use std::process::{Command, ExitStatus};
use std::time::Instant;

use super::progress::Progress;
use crate::command::{Failure, SKIPPED};
use crate::launch;
use crate::workspace;

/// A program that runs beside others.
pub struct Program {
    /// What starts it.
    pub command: Command,
    /// How many tests it runs, of a program of tests: it fails if it runs any other number.
    pub tests: Option<u64>,
}

impl Program {
    /// A program whose exit code is its result.
    pub fn new(command: Command) -> Self {
        Self { command, tests: None }
    }

    /// Runs it and shows its progress, then what it printed. `label` is its name in what is shown.
    pub(super) fn run(self, label: &str) -> Result<(), Failure> {
        let shown = workspace::shown(&self.command);
        println!("-- {label} starts: $ {}", shortened(&shown));
        let begun = Instant::now();
        let (text, result) = match run_to_end(self.command, |line| println!("-- {label}: {line}")) {
            Ok((text, status)) => (text, launch::judge(&shown, status)),
            Err(error) => (String::new(), Err(Failure::Failed(format!("`{shown}` cannot run: {error}")))),
        };
        let result = result.and_then(|()| self.tests.map_or(Ok(()), |tests| ran(&text, tests)));
        let result = result.map_err(|failure| skipped(failure, &text));
        let verdict = match &result {
            Ok(()) => "passed".into(),
            Err(Failure::Unavailable(reason)) => format!("{MARK}{reason}"),
            Err(failure) => format!("FAILED: {failure}"),
        };
        let seconds = begun.elapsed().as_secs_f64();
        println!("-- {label} has ended ({seconds:.1} s):\n{}\n-- {label}: {verdict}", text.trim_end());
        result
    }
}

/// Runs a program with both of its outputs in one pipe, in the order in which it writes them, and returns what it
/// printed before it ended. `report` gets a line for each progress.
///
/// The end of the program is that of its process: a process that it leaves behind may keep the pipe open, and is not
/// waited for.
fn run_to_end(mut command: Command, report: impl FnMut(String) + Send) -> IoResult<(String, ExitStatus)> {
    let (output, mut input) = std::io::pipe()?;
    command.stdout(input.try_clone()?).stderr(input.try_clone()?);
    let mut child = command.spawn()?;
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_to_end(output, report));
        let status = child.wait();
        // Behind all that the program has written. This fails only if the reader has failed, which returns why.
        let _ = input.write_all(END);
        let text = reader.join().expect("printing a line does not panic")?;
        Ok((text, status?))
    })
}

/// What a pipe has before [`END`].
fn read_to_end(output: PipeReader, mut report: impl FnMut(String)) -> IoResult<String> {
    let (mut output, mut progress, mut text) = (BufReader::new(output), Progress::default(), Vec::new());
    loop {
        let begun = text.len();
        output.read_until(b'\n', &mut text)?;
        if text.ends_with(END) {
            text.truncate(text.len() - END.len());
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
        progress.read(&String::from_utf8_lossy(&text[begun..])).into_iter().for_each(&mut report);
    }
}

/// Follows the output of a program in its pipe. It is written at once, so that output of others is not within it.
const END: &[u8] = b"\0the program has ended\n";

/// A failure that only says that the program could not check anything: with the reason that it has printed.
fn skipped(failure: Failure, text: &str) -> Failure {
    match failure {
        Failure::Child(SKIPPED) => {
            let reason = text.lines().rev().find_map(|line| line.split_once(MARK));
            Failure::Unavailable(reason.map_or("see what it printed", |(_, reason)| reason).into())
        }
        failure => failure,
    }
}

/// Stands before the reason in the report of `cargo xtask test`.
const MARK: &str = "SKIPPED: ";

/// Whether the output of a test program reports as many tests as it has to run.
fn ran(text: &str, tests: u64) -> Result<(), Failure> {
    let announced: u64 = text.lines().map(tests_announced).sum();
    if announced == tests && tests > 0 {
        return Ok(());
    }
    Err(Failure::Failed(format!("it ran {announced} tests, and not the {tests} that it was given")))
}

/// How many tests a line of a test program's output announces: `running 12 tests`.
fn tests_announced(line: &str) -> u64 {
    let number = line.strip_prefix("running ").and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// As much of a command as a line holds.
fn shortened(shown: &str) -> String {
    const CHARACTERS_MAX: usize = 160;
    match shown.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::time::Duration;

    #[test]
    fn a_program_that_could_not_check_anything_is_skipped_for_its_reason() {
        let text =
            "java SKIPPED: no JDK (0.1 s)\nstep  seconds  result\njava  0.1  SKIPPED: no JDK\n0 passed, 0 failed\n";
        let reason = |failure, text| match skipped(failure, text) {
            Failure::Unavailable(reason) => Some(reason),
            _ => None,
        };
        assert_eq!(reason(Failure::Child(SKIPPED), text).as_deref(), Some("no JDK"));
        assert_eq!(reason(Failure::Child(SKIPPED), "").as_deref(), Some("see what it printed"));
        assert_eq!(reason(Failure::Child(1), text), None);
    }

    #[test]
    fn a_run_of_other_tests_than_were_given_is_a_failure() {
        assert!(ran("\nrunning 12 tests\ntest a ... ok\n", 12).is_ok() && ran("running 1 test", 1).is_ok());
        for (text, tests) in [("running 11 tests", 12), ("running 13 tests", 12), ("running 0 tests", 0), ("", 1)] {
            assert!(ran(text, tests).is_err(), "{text}");
        }
    }

    #[test]
    fn both_outputs_of_a_program_are_kept_with_its_exit_code() {
        let command = workspace::child(Path::new("."), "rustc", &["--no-such-option"]);
        let (text, status) = run_to_end(command, drop).expect("rustc runs");
        assert!(text.contains("no-such-option") && !status.success());
        assert!(shortened(&"a".repeat(500)).chars().count() < 200 && shortened("short") == "short");
    }

    #[cfg(unix)]
    #[test]
    fn a_program_ends_with_its_process_though_one_that_it_started_keeps_the_pipe_open() {
        // The process that the shell leaves behind has the pipe until `held` is closed.
        let (standard_input, held) = std::io::pipe().unwrap();
        let script = "exec 3<&0; (cat <&3; echo late) & printf early";
        let mut command = workspace::child(Path::new("."), "sh", &["-c", script]);
        command.stdin(standard_input);
        let (sender, receiver) = std::sync::mpsc::channel();
        let running = std::thread::spawn(move || sender.send(run_to_end(command, drop)));
        // The limit only ends a test that would hang.
        let ended = receiver.recv_timeout(Duration::from_secs(60)).expect("the program has ended");
        drop(held);
        running.join().unwrap().unwrap();
        assert_eq!(ended.unwrap().0, "early");
    }
}
