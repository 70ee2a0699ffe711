//! The table of commands, their help, and how a command ends.

use std::fmt;
use std::process::ExitCode;

use crate::{ci, instructions, launch, miri, page, tidy};

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

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(reason) | Self::Failed(reason) | Self::Unavailable(reason) => out.write_str(reason),
            Self::Child(code) => write!(out, "exit code {code}, see above"),
        }
    }
}

/// Every command, in the order in which a newcomer meets them.
const COMMANDS: &[&Command] = &[
    &launch::DEMO,
    &ci::TEST,
    &tidy::TIDY,
    &launch::BENCH,
    &instructions::INSTRUCTIONS,
    &page::PAGE,
    &launch::MODEL,
    &launch::CRASH,
    &launch::KILL,
    &launch::ISOLATION,
    &launch::LOOM,
    &launch::SIMULATE,
    &launch::HOSTILE,
    &launch::KERNEL_FAULTS,
    &launch::SOAK,
    &launch::W3C,
    &launch::READERS,
    &launch::QUADS,
    &miri::MIRI,
];

/// Runs the command that `arguments` name.
pub fn run(arguments: &[String]) -> ExitCode {
    let Some((name, rest)) = arguments.split_first() else {
        eprint!("{}", overview());
        return ExitCode::from(2);
    };
    if is_help(name) || name == "help" {
        print!("{}", overview());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprintln!("no command `{name}`\n\n{}", overview());
        return ExitCode::from(2);
    };
    if asks_for_help(rest) {
        println!("{}\n\n{}", command.summary, command.help.trim_end());
        return ExitCode::SUCCESS;
    }
    match (command.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(reason)) => {
            eprintln!("{name}: {reason}\n`cargo xtask {name} --help` shows what it takes");
            ExitCode::from(2)
        }
        Err(Failure::Child(code)) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("{name}: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// What `cargo xtask` alone prints.
fn overview() -> String {
    let mut text =
        String::from("Developer tasks of Fulgurite.\n\nUsage: cargo xtask COMMAND [ARGUMENTS]\n\nCommands:\n");
    for command in COMMANDS {
        text.push_str(&format!("  {:<15}{}\n", command.name, command.summary));
    }
    text.push_str("\n`cargo xtask COMMAND --help` shows the arguments of one.\n");
    text
}

/// Whether help on our command is wanted; after `--` the words belong to the program that the command starts.
fn asks_for_help(arguments: &[String]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| is_help(argument))
}

fn is_help(argument: &str) -> bool {
    argument == "--help" || argument == "-h"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_name_of_its_own_and_help_that_shows_its_usage() {
        let mut names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for command in COMMANDS {
            assert!(command.help.contains(&format!("Usage: cargo xtask {}", command.name)), "{}", command.name);
            assert!(overview().contains(command.summary));
        }
    }

    #[test]
    fn help_is_ours_before_two_dashes_and_the_started_program_s_after_them() {
        assert!(asks_for_help(&["core".into(), "--help".into()]));
        assert!(!asks_for_help(&["--".into(), "--help".into()]));
    }
}
