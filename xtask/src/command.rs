//! What a command of `cargo xtask` is, and how one ends.

use std::fmt;

/// One command of `cargo xtask`.
pub struct Command {
    /// What the user types.
    pub name: &'static str,
    /// One line for the list of commands.
    pub summary: &'static str,
    /// What `--help` prints below the summary: usage, options, examples.
    pub help: &'static str,
    /// Runs it with the arguments after its name.
    pub run: fn(&[String]) -> Result<(), Failure>,
}

/// Why a command did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The arguments make no sense: exit code 2.
    Usage(String),
    /// The work failed, for this reason: exit code 1.
    Failed(String),
    /// The work needs something that cannot be had here, for this reason: exit code 1, and CI says that it was skipped.
    Unavailable(String),
    /// A child has said why already; its exit code becomes ours.
    Child(u8),
}

/// The exit code of a program that cannot check anything here, as Automake has it.
pub const SKIPPED: u8 = 77;

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(reason) | Self::Failed(reason) | Self::Unavailable(reason) => out.write_str(reason),
            Self::Child(code) => write!(out, "exit code {code}, see above"),
        }
    }
}
