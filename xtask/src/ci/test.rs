//! `cargo xtask test`: everything that CI checks, as a list of steps that run one after another, but for neighbours
//! whose programs keep one processor busy each: these run side by side.
//!
//! (1) A step that fails does not keep the later ones from running. (2) A step that cannot run says why where it stands
//! and again in the summary, and never counts as passed. (3) The steps install what they need.

use std::path::Path;
use std::time::Instant;

use super::report::{self, Record};
use super::steps::{self, STEPS};
use crate::command::{Command, Failure};
use crate::lanes::{self, Task};
use crate::step::{Outcome, Step, Work};
use crate::workspace;

/// `cargo xtask test`
pub const TEST: Command = Command {
    name: "test",
    summary: "everything that CI checks, step by step",
    help: "\
Usage: cargo xtask test [OPTIONS]

Runs every step, prints its name and time, and ends with a table and the line `N passed, N failed`. The exit code is 0 if
no step failed. Steps whose programs keep one processor busy each run side by side; what a program prints is shown when it
ends, and the time of such a step is that of its programs, added up. A step that cannot run here (a tool that cannot be installed) is skipped with its reason. Toolchains,
targets and the Python package that are missing are installed: by rustup, and into target/python.

Options:
  --list          show the steps and what each does, run nothing
  --only A,B      run these steps only
  --except A,B    run all but these
  --fast          leave out the long steps (marked in --list), for a quick look before a commit",
    run: test,
};

fn test(arguments: &[String]) -> Result<(), Failure> {
    let root = workspace::root()?;
    let selection = match choose(arguments).map_err(Failure::Usage)? {
        Choice::List => {
            print!("{}", report::list(STEPS));
            return Ok(());
        }
        Choice::Run(steps) => steps,
    };
    let begun = Instant::now();
    let mut records: Vec<Record> = Vec::new();
    for steps in selection.chunk_by(|step, next| goes_beside(step) && goes_beside(next)) {
        for (number, step) in (records.len() + 1..).zip(steps) {
            println!("\n== {number}/{} {}: {}", selection.len(), step.name, step.what);
        }
        let ended = run(&root, steps);
        ended.iter().for_each(|record| println!("== {}", report::line(record)));
        records.extend(ended);
    }
    print!("{}", report::summary(&records, begun.elapsed()));
    if records.iter().any(|record| matches!(record.outcome, Outcome::Failed(_))) {
        return Err(Failure::Child(1));
    }
    Ok(())
}

fn goes_beside(step: &Step) -> bool {
    matches!(step.work, Work::SideBySide(_))
}

/// Runs a step that is alone, or steps that go side by side.
fn run(root: &Path, steps: &[&Step]) -> Vec<Record> {
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for step in steps {
        match &step.work {
            Work::Alone(run) => {
                assert_eq!(steps.len(), 1, "only steps that go side by side come together");
                let start = Instant::now();
                let outcome = run(root);
                return vec![Record { name: step.name, outcome, time: start.elapsed() }];
            }
            Work::SideBySide(programs) => tasks.push(Task { name: step.name, prepare: programs }),
        }
    }
    let endings = lanes::run(root, &tasks);
    let record = |(task, ending): (&Task<'_>, lanes::Ending)| Record {
        name: task.name,
        outcome: steps::outcome(ending.result),
        time: ending.time,
    };
    tasks.iter().zip(endings).map(record).collect()
}

/// What the arguments ask for.
#[derive(Debug)]
enum Choice {
    List,
    Run(Vec<&'static Step>),
}

fn choose(arguments: &[String]) -> Result<Choice, String> {
    let mut only: Option<Vec<&str>> = None;
    let mut except: Vec<&str> = Vec::new();
    let mut fast = false;
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match argument {
            "--list" => return Ok(Choice::List),
            "--fast" => fast = true,
            "--only" => only = Some(step_names(rest.next(), argument)?),
            "--except" => except = step_names(rest.next(), argument)?,
            _ => return Err(format!("no argument `{argument}`")),
        }
    }
    let chosen = STEPS.iter().filter(|step| {
        only.as_ref().is_none_or(|names| names.contains(&step.name))
            && !except.contains(&step.name)
            && !(fast && step.long)
    });
    Ok(Choice::Run(chosen.collect()))
}

fn step_names<'a>(list: Option<&'a str>, option: &str) -> Result<Vec<&'a str>, String> {
    let names: Vec<&str> = list.ok_or_else(|| format!("{option} needs names of steps"))?.split(',').collect();
    match names.iter().find(|name| !STEPS.iter().any(|step| step.name == **name)) {
        Some(unknown) => Err(format!("no step `{unknown}`; --list shows them")),
        None => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(arguments: &[&str]) -> Vec<&'static str> {
        let arguments: Vec<String> = arguments.iter().copied().map(String::from).collect();
        match choose(&arguments).expect("valid arguments") {
            Choice::Run(steps) => steps.iter().map(|step| step.name).collect(),
            Choice::List => panic!("nothing asked for the list"),
        }
    }

    #[test]
    fn without_arguments_every_step_runs() {
        assert_eq!(chosen(&[]).len(), STEPS.len());
    }

    #[test]
    fn steps_are_chosen_by_name_and_keep_their_order() {
        assert_eq!(chosen(&["--only", "tidy,format"]), ["format", "tidy"]);
        assert!(!chosen(&["--except", "demo"]).contains(&"demo"));
        assert!(chosen(&["--fast"]).len() < STEPS.len());
    }

    #[test]
    fn steps_that_go_side_by_side_are_neighbours_and_measure_no_time() {
        let beside = |step: &&Step| goes_beside(step);
        let groups = STEPS.chunk_by(|step, next| goes_beside(step) && goes_beside(next));
        assert_eq!(groups.filter(|group| group.len() > 1).count(), 1);
        assert!(STEPS.iter().filter(beside).count() > 1);
        assert!(!STEPS.iter().filter(beside).any(|step| ["soak", "kill", "kernel-faults"].contains(&step.name)));
    }

    #[test]
    fn a_step_that_does_not_exist_is_refused_rather_than_passed_over() {
        let arguments: Vec<String> = ["--only", "tidy,crush"].map(String::from).to_vec();
        assert_eq!(choose(&arguments).expect_err("crush is no step"), "no step `crush`; --list shows them");
    }
}
