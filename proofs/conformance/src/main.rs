//! The W3C's suites as a program: `w3c --archive FILE`.
//!
//! Reading order: [`suites`] (what there is), [`manifest`] (which tests they list), [`run`](mod@run) (what a test
//! does), [`subject`] (what it does that to: [`reference`](mod@reference)), [`answer`], [`comparison`] and
//! [`isomorphism`] (when two answers are the same), [`report`](mod@report).

mod answer;
mod archive;
mod comparison;
mod isomorphism;
mod known;
mod manifest;
mod ours;
mod reference;
mod report;
mod run;
mod subject;
mod suites;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use archive::Archive;
use known::Known;
use manifest::{Task, Test};
use ours::Ours;
use reference::Reference;
use report::Outcome;
use subject::Subject;
use suites::{Documents, SUITES};

const HELP: &str = "\
Runs every test that the W3C's suites of RDF and SPARQL list, with Fulgurite's quad store and with Oxigraph's evaluation.

Usage: w3c --archive FILE [--only TEXT] [--show]

  --archive FILE  the archive that carries the suites; `cargo xtask w3c` fetches it
  --only TEXT     only tests whose names contain this
  --show          print each test that fails, with what Oxigraph does
";

/// What the command line asks for.
struct Wanted {
    archive: PathBuf,
    only: Option<String>,
    show: bool,
}

fn main() -> ExitCode {
    let wanted = match arguments() {
        Ok(Some(wanted)) => wanted,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(offence) => {
            eprintln!("w3c: {offence}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match prove(&wanted) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("w3c: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<Option<Wanted>, String> {
    let (mut archive, mut only, mut show) = (None, None, false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            "--archive" => archive = Some(PathBuf::from(value()?)),
            "--only" => only = Some(value()?),
            "--show" => show = true,
            _ => return Err(format!("unknown argument {word}")),
        }
    }
    let archive = archive.ok_or("--archive is missing")?;
    Ok(Some(Wanted { archive, only, show }))
}

/// Runs the tests and reports. Returns whether all is as it should be.
fn prove(wanted: &Wanted) -> Result<bool, String> {
    let start = Instant::now();
    let known = Known::committed()?;
    let documents = Arc::new(Documents::new(Archive::open(&wanted.archive)?));
    let mut tests = Vec::new();
    for suite in SUITES {
        tests.extend(manifest::read::<Ours>(suite, &documents)?);
    }
    if let Some(only) = &wanted.only {
        tests.retain(|test| test.iri.contains(only.as_str()));
    }
    if tests.iter().all(|test| matches!(test.task, Task::Nothing(_))) {
        return Err("no test that is run has such a name".to_owned());
    }
    let outcomes = run_all(tests, &documents);
    if wanted.show {
        show_failures(&outcomes);
    }
    let sound = report::report(&outcomes, &known, wanted.only.is_none());
    println!("{:.1} s", start.elapsed().as_secs_f64());
    Ok(sound)
}

/// Runs tests on all processors; they come back in their order.
fn run_all(tests: Vec<Test>, documents: &Arc<Documents>) -> Vec<(Test, Option<Outcome>)> {
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<(usize, Option<Outcome>)>> = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((number, test)) = take(&next, &tests) {
                    let outcome = match test.task {
                        Task::Nothing(_) => None,
                        _ => Some(Outcome {
                            ours: guarded::<Ours>(test, documents),
                            reference: guarded::<Reference>(test, documents),
                        }),
                    };
                    outcomes.lock().expect("no thread panics while it holds this lock").push((number, outcome));
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().expect("no thread panics while it holds this lock");
    outcomes.sort_unstable_by_key(|(number, _)| *number);
    tests.into_iter().zip(outcomes).map(|(test, (_, outcome))| (test, outcome)).collect()
}

fn take<'a>(next: &AtomicUsize, tests: &'a [Test]) -> Option<(usize, &'a Test)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    Some((number, tests.get(number)?))
}

/// Runs a test; a panic is a failure of this test and no other.
fn guarded<S: Subject>(test: &Test, documents: &Arc<Documents>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| run::run::<S>(test, documents))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    })
}

fn show_failures(outcomes: &[(Test, Option<Outcome>)]) {
    for (test, outcome) in outcomes {
        let Some(outcome) = outcome else { continue };
        if let Err(reason) = &outcome.ours {
            println!("{}\n  {:?}\n  ours: {reason}", test.iri, test.task);
            match &outcome.reference {
                Ok(()) => println!("  reference: passed"),
                Err(reason) => println!("  reference: {reason}"),
            }
        }
    }
}
