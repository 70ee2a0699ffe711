//! Panics: a bug of ours, reported in one line with its place, and an exit code of its own.
//!
//! The hook reports every panic on every thread, also one that another thread catches. [`catch`] decides how the
//! program ends.

use std::io::Write;
use std::panic::{AssertUnwindSafe, Location, PanicHookInfo, catch_unwind, set_hook};

use crate::notation::printable;

/// A verb panicked. The hook has reported it.
#[derive(Debug, PartialEq, Eq)]
pub struct InternalError;

impl InternalError {
    /// The exit code of an internal error.
    pub fn exit_code(&self) -> u8 {
        INTERNAL_ERROR
    }
}

/// Reports panics on standard error from now on, in place of the standard library's report.
pub fn report_panics() {
    set_hook(Box::new(|panic| {
        // If standard error is closed, the exit code must do.
        let _ = writeln!(std::io::stderr(), "fulgurite: {}", printable(&report(message(panic), panic.location())));
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            let _ = writeln!(std::io::stderr(), "{}", std::backtrace::Backtrace::force_capture());
        }
    }));
}

/// Does `work`, and stops a panic of it here.
///
/// # Errors
/// If `work` panics.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, InternalError> {
    // What `work` leaves half done is dropped with it: nothing of it is used again.
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| InternalError)
}

fn message<'p>(panic: &'p PanicHookInfo<'_>) -> &'p str {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref().map(String::as_str));
    text.unwrap_or("a panic without a message")
}

fn report(message: &str, location: Option<&Location<'_>>) -> String {
    let place = location.map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    format!(
        "internal error in version {} at {place}: {message}; please report this line and the command; other arguments may \
         avoid the error",
        env!("CARGO_PKG_VERSION")
    )
}

/// A bug of ours ended the verb.
const INTERNAL_ERROR: u8 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// Set in the child process of the test: the panic hook belongs to a whole process.
    const CHILD: &str = "FULGURITE_TEST_PLANTS_A_PANIC";

    #[test]
    fn a_planted_panic_ends_the_process_with_one_line_and_an_exit_code_of_its_own() {
        if std::env::var_os(CHILD).is_some() {
            report_panics();
            let planted = catch(|| -> u8 { panic!("planted\n{}", 7) });
            std::process::exit(planted.unwrap_err().exit_code().into());
        }
        let name = "internal_error::tests::a_planted_panic_ends_the_process_with_one_line_and_an_exit_code_of_its_own";
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", name, "--nocapture"]).env(CHILD, "1").env("RUST_BACKTRACE", "0");
        let output = child.output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{told}");
        let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("fulgurite: internal error")).collect();
        assert_eq!(lines.len(), 1, "{told}");
        assert!(lines[0].contains("internal_error.rs:") && lines[0].contains("planted"), "{told}");
        assert!(lines[0].contains("7; please report this line"), "the message is one line: {told}");
        assert_eq!(catch(|| 7), Ok(7));
    }

    #[test]
    fn a_report_has_the_place_the_message_and_what_to_do() {
        let here = Location::caller();
        let text = report("index out of bounds", Some(here));
        assert!(text.contains(&format!("internal_error.rs:{}:{}", here.line(), here.column())), "{text}");
        assert!(text.contains(": index out of bounds; please report this line"), "{text}");
        assert!(report("x", None).contains("at an unknown place: x"));
    }
}
