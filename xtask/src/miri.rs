//! `cargo xtask miri`: unit tests of the engine under Miri, which interprets them and keeps one processor busy. They
//! are dealt out to several runs that go on side by side. Each test that is listed is in one run, and a run that does
//! not run all of its own fails.

use std::path::Path;
use std::process::Command;

use crate::command::{self, Failure};
use crate::lanes::{self, Program, Task};
use crate::{tools, workspace};

/// `cargo xtask miri`
pub const MIRI: command::Command = command::Command {
    name: "miri",
    summary: "run engine modules under Miri, which finds undefined behaviour",
    help: "\
Usage: cargo xtask miri [MODULE...]

Runs the unit tests of the engine's modules under Miri with portable search, in several runs, as many at once as there
are processors. Without MODULE: format and db::tests::slots, as in CI. The long run is
`cargo xtask miri format pager tree delta db::tests::slots`.",
    run: miri,
};

/// The modules that CI runs.
pub const MODULES: &[&str] = &["format", "db::tests::slots"];

/// The number of runs to which tests are distributed: no more than processors, and few, because Miri reads the whole
/// program for each.
fn runs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(4)
}

fn miri(arguments: &[String]) -> Result<(), Failure> {
    let root = workspace::root()?;
    let modules: Vec<&str> = arguments.iter().map(String::as_str).filter(|argument| *argument != "--").collect();
    if let Some(option) = modules.iter().find(|module| module.starts_with('-')) {
        return Err(Failure::Usage(format!("no option `{option}`")));
    }
    let modules = if modules.is_empty() { MODULES } else { &modules };
    let task = Task { name: "miri", prepare: &|root| programs(root, modules) };
    lanes::run(&root, &[task]).into_iter().try_for_each(|ending| ending.result)
}

/// Builds the engine's unit tests for Miri, and deals out those of `modules`.
///
/// # Errors
/// Fails if there is no Miri, if they cannot be built, or if a module has none: it would prove nothing and look like
/// success.
pub fn programs(root: &Path, modules: &[&str]) -> Result<Vec<Program>, Failure> {
    tools::ensure_miri(root).map_err(Failure::Unavailable)?;
    println!("-- miri: the engine's unit tests are built and listed");
    let listed = list(root)?;
    let mut chosen = Vec::new();
    for module in modules {
        let of_module = of_module(&listed, module);
        if of_module.is_empty() {
            return Err(Failure::Failed(format!("the engine's module `{module}` has no unit tests to run under Miri")));
        }
        chosen.extend(of_module);
    }
    // Modules may be named twice, or within each other.
    chosen.sort_unstable();
    chosen.dedup();
    Ok(deal(&chosen, runs()).into_iter().map(|tests| program(root, &tests)).collect())
}

/// The names of all unit tests of the engine that Miri would run.
fn list(root: &Path) -> Result<Vec<String>, Failure> {
    let mut command = test_program(root, &["--list", "--format", "terse"]);
    let shown = workspace::shown(&command);
    let output = command.output().map_err(|error| Failure::Failed(format!("`{shown}` cannot start: {error}")))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::Failed(format!("`{shown}` failed ({})\n{}", output.status, complaint.trim_end())));
    }
    Ok(listed(&String::from_utf8_lossy(&output.stdout)))
}

/// The names in a list that a test program printed: a line `NAME: test` for each.
fn listed(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_suffix(": test")).map(String::from).collect()
}

fn of_module<'l>(listed: &'l [String], module: &str) -> Vec<&'l str> {
    let prefix = format!("{module}::");
    listed.iter().map(String::as_str).filter(|name| name.starts_with(&prefix)).collect()
}

/// Deals tests out by turns, so that neighbours, which take about as long, are in different runs. No run is empty.
fn deal<'t>(tests: &[&'t str], runs: usize) -> Vec<Vec<&'t str>> {
    let runs = runs.min(tests.len());
    (0..runs).map(|run| tests.iter().skip(run).step_by(runs).copied().collect()).collect()
}

/// A run of these tests and no others.
fn program(root: &Path, tests: &[&str]) -> Program {
    // The toolchain is pinned, and so is what it calls unstable: the time of each test is shown.
    let mut command = test_program(root, &["-Z", "unstable-options", "--report-time", "--exact"]);
    command.args(tests);
    Program { command, tests: Some(tests.len() as u64) }
}

fn test_program(root: &Path, arguments: &[&str]) -> Command {
    let build = ["cargo", "miri", "test", "--locked", "--package", "fulgurite", "--lib", "--"];
    let mut command = workspace::child_of_toolchain(root, tools::NIGHTLY, &build);
    command.args(arguments);
    // The choice of search is planted, whatever the host's environment says. An open database asks the host's clock.
    command.env("MIRIFLAGS", "-Zmiri-env-set=FULGURITE_SEARCH=portable -Zmiri-disable-isolation");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_test_of_the_modules_is_in_one_run() {
        let text = "format::leaf::a: test\nformat::leaf::b: test\nformats::c: test\nformat::d: benchmark\ndb::e: test\n\n3 tests";
        let listed = listed(text);
        assert_eq!(of_module(&listed, "format"), ["format::leaf::a", "format::leaf::b"]);
        let all: Vec<&str> = listed.iter().map(String::as_str).collect();
        for runs in 1..6 {
            let dealt = deal(&all, runs);
            assert!(dealt.len() == runs.min(4) && dealt.iter().all(|tests| !tests.is_empty()), "{runs} runs");
            let mut again = dealt.concat();
            again.sort_unstable();
            let mut sorted = all.clone();
            sorted.sort_unstable();
            assert_eq!(again, sorted);
        }
        assert!(deal(&[], 3).is_empty());
    }

    #[test]
    fn a_run_names_its_tests_exactly_and_knows_how_many_they_are() {
        let program = program(Path::new("."), &["format::leaf::a", "format::leaf::b"]);
        assert!(workspace::shown(&program.command).ends_with(" --exact format::leaf::a format::leaf::b"));
        assert_eq!(program.tests, Some(2));
    }
}
