//! `cargo xtask events`: the long runs of the event store's proofs, which are tests of its crate.

use crate::command::{Command, Failure};
use crate::launch::{wait, without_dashes};
use crate::workspace;

/// `cargo xtask events`
pub const EVENTS: Command = Command {
    name: "events",
    summary: "a model, kills, power cuts, and damage to files of event stores",
    help: "\
Usage: cargo xtask events model [--seeds N] [--seed S]
       cargo xtask events kill [--kills N]
       cargo xtask events power [--images N] [--seed S] [--image ID]
       cargo xtask events damage [--stores N] [--seed S]

model: random calls return what a plain model says. kill: kills a process at any moment while it appends events, folds a
view, rebuilds it and applies retention. No acknowledged event may be missing, and the view must have each event up to
its position exactly once. An eighth as often, rounded up, it kills a process that serves or follows a store, or both:
the follower must see every event once, in order. power: the same when the power is cut, and for events that a follower
has seen. damage: changes bytes of a store's file and entries of its tables. A read must return an error or what was
appended, and no call may panic or hang.

Options:
  --seeds N    runs of the model [default: 12]
  --kills N    how often to kill the process that folds a view [default: 200]
  --images N   images of the disk to recover, of several sessions [default: 400]
  --image ID   only this image, as a failure names it
  --stores N   stores to damage in each way [default: 200]
  --seed S     the first seed [default: drawn]

Example, the long runs: cargo xtask events kill --kills 5000 && cargo xtask events power --images 100000",
    run: |arguments| run(&without_dashes(arguments)),
};

/// A proof: its name, the test and a part of the name of its functions, and its options with the variables of the
/// environment that the test reads.
struct Proof {
    name: &'static str,
    test: &'static str,
    filter: &'static str,
    options: &'static [(&'static str, &'static str)],
}

const PROOFS: &[Proof] = &[
    Proof {
        name: "model",
        test: "events",
        filter: "model::",
        options: &[("--seeds", "EVENTS_SEEDS"), ("--seed", "EVENTS_SEED")],
    },
    Proof { name: "kill", test: "kill", filter: "", options: &[("--kills", "EVENTS_KILLS")] },
    Proof {
        name: "power",
        test: "power",
        filter: "",
        options: &[("--images", "EVENTS_IMAGES"), ("--seed", "EVENTS_SEED"), (IMAGE, "EVENTS_IMAGE")],
    },
    Proof {
        name: "damage",
        test: "damage",
        filter: "",
        options: &[("--stores", "EVENTS_DAMAGES"), ("--seed", "EVENTS_SEED")],
    },
];

/// The option whose value is no number.
const IMAGE: &str = "--image";

fn run(arguments: &[&str]) -> Result<(), Failure> {
    let (proof, variables) = parse(arguments)?;
    let tests = ["test", "--quiet", "--locked", "--package", "fulgurite-events", "--test", proof.test];
    let all = [&tests[..], &["--", "--nocapture", proof.filter]].concat();
    let mut command = workspace::child(&workspace::root()?, "cargo", &all);
    command.envs(variables);
    wait(command)
}

/// Variables of the environment, with their values.
type Variables<'a> = Vec<(&'static str, &'a str)>;

/// The proof, and the variables that its test reads.
fn parse<'a>(arguments: &[&'a str]) -> Result<(&'static Proof, Variables<'a>), Failure> {
    let usage = |text: String| Failure::Usage(text);
    let proof = arguments.first().and_then(|name| PROOFS.iter().find(|proof| proof.name == *name));
    let proof = proof.ok_or_else(|| usage("name what to do: model, kill, power or damage".into()))?;
    let mut variables = Vec::new();
    for pair in arguments[1..].chunks(2) {
        let known = proof.options.iter().find(|(option, _)| *option == pair[0]);
        let (option, variable) =
            known.ok_or_else(|| usage(format!("`events {}` has no option {}", proof.name, pair[0])))?;
        match pair.get(1).filter(|value| *option == IMAGE || value.parse::<u64>().is_ok()) {
            Some(value) => variables.push((*variable, *value)),
            None => {
                let what = if *option == IMAGE { "the ID of an image" } else { "a number" };
                return Err(usage(format!("{option} needs {what}")));
            }
        }
    }
    Ok((proof, variables))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_variables_and_others_are_refused() {
        let parsed = |arguments: &[&'static str]| parse(arguments).map(|(proof, variables)| (proof.test, variables));
        assert_eq!(parsed(&["kill", "--kills", "5"]).unwrap(), ("kill", vec![("EVENTS_KILLS", "5")]));
        assert_eq!(parsed(&["damage"]).unwrap(), ("damage", vec![]));
        assert_eq!(parsed(&["model", "--seeds", "3"]).unwrap(), ("events", vec![("EVENTS_SEEDS", "3")]));
        assert_eq!(parsed(&["power", IMAGE, "4:2:durable"]).unwrap(), ("power", vec![("EVENTS_IMAGE", "4:2:durable")]));
        for wrong in [&["kill", "--seed", "1"][..], &["damage", "--stores"], &["power", "--images", "many"], &[]] {
            assert!(matches!(parse(wrong), Err(Failure::Usage(_))), "{wrong:?}");
        }
        for (wrong, what) in [("--image", "--image needs the ID of an image"), ("--seed", "--seed needs a number")] {
            assert!(matches!(parse(&["power", wrong]), Err(Failure::Usage(text)) if text == what), "{what}");
        }
    }
}
