//! `cargo xtask events`: the long runs of the event store's proofs, which are tests of its crate.

use crate::command::{Command, Failure};
use crate::launch::{wait, without_dashes};
use crate::workspace;

/// `cargo xtask events`
pub const EVENTS: Command = Command {
    name: "events",
    summary: "proof: kills of views and followers, and damage to files of event stores",
    help: "\
Usage: cargo xtask events kill [--kills N]
       cargo xtask events damage [--stores N] [--seed S]

kill: kills a process at any moment while it appends events and folds a view. No acknowledged event may be missing, and
the view must have each event up to its position exactly once. An eighth as often, rounded up, it kills a process that
serves or follows a store, or both: the follower must see every event once, in order. damage: changes bytes of a store's
file and entries of its tables. A read must return an error or what was appended, and no call may panic or hang.

Options:
  --kills N    how often to kill the process that folds a view [default: 200]
  --stores N   stores to damage in each way [default: 200]
  --seed S     seed of the damage [default: drawn]

Example, the long runs: cargo xtask events kill --kills 5000 && cargo xtask events damage --stores 100000",
    run: |arguments| run(&without_dashes(arguments)),
};

fn run(arguments: &[&str]) -> Result<(), Failure> {
    let (test, variables) = parse(arguments)?;
    let all = ["test", "--quiet", "--locked", "--package", "fulgurite-events", "--test", test, "--", "--nocapture"];
    let mut command = workspace::child(&workspace::root()?, "cargo", &all);
    command.envs(variables);
    wait(command)
}

/// Variables of the environment, with their values.
type Variables<'a> = Vec<(&'static str, &'a str)>;

/// The test, and the variables that it reads.
fn parse<'a>(arguments: &[&'a str]) -> Result<(&'static str, Variables<'a>), Failure> {
    let usage = |text: String| Failure::Usage(text);
    let (test, known): (_, &[(&str, &str)]) = match arguments.first() {
        Some(&"kill") => ("kill", &[("--kills", "EVENTS_KILLS")]),
        Some(&"damage") => ("damage", &[("--stores", "EVENTS_DAMAGES"), ("--seed", "EVENTS_SEED")]),
        _ => return Err(usage("name what to do: kill or damage".into())),
    };
    let mut variables = Vec::new();
    for pair in arguments[1..].chunks(2) {
        let variable = known.iter().find(|(option, _)| *option == pair[0]);
        let (_, variable) = variable.ok_or_else(|| usage(format!("`events {test}` has no option {}", pair[0])))?;
        match pair.get(1).filter(|value| value.parse::<u64>().is_ok()) {
            Some(value) => variables.push((*variable, *value)),
            None => return Err(usage(format!("{} needs a number", pair[0]))),
        }
    }
    Ok((test, variables))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_variables_and_others_are_refused() {
        assert_eq!(parse(&["kill", "--kills", "5"]).unwrap(), ("kill", vec![("EVENTS_KILLS", "5")]));
        assert_eq!(parse(&["damage"]).unwrap(), ("damage", vec![]));
        for wrong in [&["kill", "--seed", "1"][..], &["damage", "--stores"], &["damage", "--stores", "many"], &[]] {
            assert!(matches!(parse(wrong), Err(Failure::Usage(_))), "{wrong:?}");
        }
    }
}
