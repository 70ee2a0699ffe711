//! The printed report: a heading for each act, then its lines, with times at the right.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use unicode_width::UnicodeWidthStr;

use crate::error::Result;
use crate::figures::{cut, time};

/// Prints to standard output, and flushes after each line.
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
        Self { width: width.unwrap_or(WIDTH_MAX).min(WIDTH_MAX), styled: io::stdout().is_terminal() && !plain }
    }

    /// Begins an act.
    pub fn act(&self, title: &str, what: &str) -> Result<()> {
        if self.styled {
            self.print(&format!("\n\x1b[1m{title}\x1b[0m  \x1b[2m{what}\x1b[0m"))
        } else {
            self.print(&format!("\n{title}  {what}"))
        }
    }

    /// A line about an operation, with its time.
    pub fn done(&self, what: &str, result: impl Display, took: Duration) -> Result<()> {
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

    /// A line of an answer, indented.
    pub fn line(&self, text: impl Display) -> Result<()> {
        let mut line = format!("    {text}");
        cut(&mut line, self.width);
        self.print(&line)
    }

    /// A line without changes.
    pub fn print(&self, line: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush())?;
        Ok(())
    }
}

/// The longest line, in columns, on terminals of any width.
const WIDTH_MAX: usize = 100;
/// Columns of the operation's name.
const LABEL_WIDTH: usize = 10;
/// Columns of the time at the right.
const TIME_WIDTH: usize = 9;
