//! What the demo prints: a heading for each act, lines beneath, times at their right.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use unicode_width::UnicodeWidthStr;

use crate::failure::Failure;
use crate::output::{cut, is_terminal};
use crate::progress::time;

/// Prints to standard output, line by line, so that a person sees each when it is true.
#[derive(Debug)]
pub struct Report {
    width: usize,
    styled: bool,
}

impl Report {
    /// For standard output.
    pub fn new() -> Self {
        let width = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { width: width.unwrap_or(WIDTH_MAX).min(WIDTH_MAX), styled: is_terminal() && !plain }
    }

    /// Begins an act.
    pub fn act(&self, title: &str, what: &str) -> Result<(), Failure> {
        if self.styled {
            self.print(&format!("\n\x1b[1m{title}\x1b[0m  \x1b[2m{what}\x1b[0m"))
        } else {
            self.print(&format!("\n{title}  {what}"))
        }
    }

    /// A line of what was done, with the time that it took.
    pub fn done(&self, what: &str, result: impl Display, took: Duration) -> Result<(), Failure> {
        let mut line = format!("  {what:<LABEL_WIDTH$} {result}");
        let time = time(took);
        cut(&mut line, self.width.saturating_sub(TIME_WIDTH));
        let space = self.width.saturating_sub(line.width() + time.width());
        line.extend(std::iter::repeat_n(' ', space));
        if self.styled {
            self.print(&format!("{line}\x1b[2m{time}\x1b[0m"))
        } else {
            self.print(&format!("{line}{time}"))
        }
    }

    /// A line of an answer.
    pub fn line(&self, text: impl Display) -> Result<(), Failure> {
        let mut line = format!("    {text}");
        cut(&mut line, self.width);
        self.print(&line)
    }

    /// A line as it is.
    pub fn print(&self, line: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Failure::Output)
    }
}

/// Lines are no longer, however wide the terminal is.
const WIDTH_MAX: usize = 100;
/// What was done stands in a column.
const LABEL_WIDTH: usize = 10;
/// Space for a time at the right.
const TIME_WIDTH: usize = 9;
