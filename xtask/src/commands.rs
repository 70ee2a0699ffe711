//! The table of commands, and their help.

use std::process::ExitCode;

use crate::command::{Command, Failure};
use crate::{bench, bindings, ci, docs, events, geaflow, instructions, java, launch, miri, page, tidy};

/// Every command, below a heading, in the order in which a newcomer meets them.
const GROUPS: &[(&str, &[&Command])] = &[
    ("Every day", &[&ci::TEST, &tidy::TIDY, &docs::DOCS, &launch::DEMO]),
    ("Bindings and the web page", &[&java::JAVA, &bindings::BINDINGS, &bindings::INSTALL_C, &page::PAGE]),
    ("Speed", &[&bench::BENCH, &instructions::INSTRUCTIONS]),
    (
        "Proofs of the engine",
        &[
            &launch::MODEL,
            &launch::CRASH,
            &launch::KILL,
            &launch::ISOLATION,
            &launch::LOOM,
            &launch::SIMULATE,
            &launch::IO_ERRORS,
            &launch::KERNEL_FAULTS,
            &launch::SOAK,
            &launch::HOSTILE,
            &miri::MIRI,
        ],
    ),
    (
        "Proofs of the stores",
        &[
            &launch::QUADS,
            &launch::W3C,
            &launch::READERS,
            &launch::ORDERS,
            &launch::FACTS,
            &events::EVENTS,
            &geaflow::GEAFLOW_TESTS,
        ],
    ),
];

fn commands() -> impl Iterator<Item = &'static Command> {
    GROUPS.iter().flat_map(|(_, commands)| commands.iter().copied())
}

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
    let Some(command) = commands().find(|command| command.name == name) else {
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
            eprintln!("{name}: {reason}\n`cargo xtask {name} --help` shows its arguments");
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
    let mut text = String::from("Developer tasks of Fulgurite.\n\nUsage: cargo xtask COMMAND [ARGUMENTS]\n");
    for (heading, commands) in GROUPS {
        text.push_str(&format!("\n{heading}:\n"));
        for command in *commands {
            text.push_str(&format!("  {:<15}{}\n", command.name, command.summary));
        }
    }
    text.push_str(
        "\n`test` runs a short share of most proofs. `cargo xtask COMMAND --help` shows the arguments of a command.\n",
    );
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
        let mut names: Vec<&str> = commands().map(|command| command.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for command in commands() {
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
