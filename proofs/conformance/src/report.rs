//! What the tests came to, and whether that is what was to be expected.

use std::collections::BTreeMap;

use crate::known::Known;
use crate::manifest::{OF_NO_KNOWN_KIND, Task, Test};

/// What came of a test: with our store, and with the reference.
pub struct Outcome {
    /// Ours.
    pub ours: Result<(), String>,
    /// Oxigraph's.
    pub reference: Result<(), String>,
}

/// Counts of one row.
#[derive(Default)]
struct Counts {
    tests: u64,
    passed: u64,
    reference: u64,
}

/// Prints the table, the classes of tests that were left out, and everything that is not as it should be. Returns
/// whether all is.
pub fn report(outcomes: &[(Test, Option<Outcome>)], known: &Known, whole: bool) -> bool {
    let mut rows: BTreeMap<&str, Counts> = BTreeMap::new();
    let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
    for (test, outcome) in outcomes {
        match (&test.task, outcome) {
            (_, Some(outcome)) => {
                let row = rows.entry(&test.group).or_default();
                row.tests += 1;
                row.passed += u64::from(outcome.ours.is_ok());
                row.reference += u64::from(outcome.reference.is_ok());
            }
            (Task::Nothing(reason), None) => *classes.entry(reason).or_default() += 1,
            (_, None) => {}
        }
    }
    print_rows(&rows);
    if !classes.is_empty() {
        println!("\nlisted in the same manifests, but not about an embedded store:");
        for (reason, count) in &classes {
            println!("{count:>7}  {reason}");
        }
    }
    let mut offences = judge(outcomes, known);
    if let Some(count) = classes.get(OF_NO_KNOWN_KIND) {
        offences.push(format!("{count} tests are of no kind that this tool knows: it has to run them"));
    }
    let run: u64 = rows.values().map(|row| row.tests).sum();
    if whole && run != TESTS_RUN {
        offences.push(format!("{run} tests were run, and not {TESTS_RUN}: where did the others go, or come from?"));
    }
    if whole {
        offences.extend(strangers(outcomes, known));
    }
    print_known(outcomes, known);
    if !offences.is_empty() {
        println!("\n{}", offences.join("\n"));
    }
    offences.is_empty()
}

/// So many of the tests of all suites are about an embedded store.
const TESTS_RUN: u64 = 2261;

fn print_rows(rows: &BTreeMap<&str, Counts>) {
    println!("{:<32}{:>7}{:>8}{:>8}{:>11}", "suite", "tests", "passed", "failed", "reference");
    let mut total = Counts::default();
    for (name, counts) in rows {
        print_row(name, counts);
        total.tests += counts.tests;
        total.passed += counts.passed;
        total.reference += counts.reference;
    }
    print_row("all", &total);
}

fn print_row(name: &str, counts: &Counts) {
    let Counts { tests, passed, reference } = counts;
    println!("{name:<32}{tests:>7}{passed:>8}{:>8}{reference:>11}", tests - passed);
}

fn print_known(outcomes: &[(Test, Option<Outcome>)], known: &Known) {
    let failed = |(test, outcome): &(Test, Option<Outcome>)| {
        let failed = outcome.as_ref().is_some_and(|outcome| outcome.ours.is_err());
        known.reason(&test.iri).filter(|_| failed).map(|reason| format!("  {}: {reason}", test.iri))
    };
    let lines: Vec<String> = outcomes.iter().filter_map(failed).collect();
    if !lines.is_empty() {
        println!("\nknown to fail:\n{}", lines.join("\n"));
    }
}

/// What is not as the list says, or falls behind the reference.
fn judge(outcomes: &[(Test, Option<Outcome>)], known: &Known) -> Vec<String> {
    let mut offences = Vec::new();
    for (test, outcome) in outcomes {
        let Some(outcome) = outcome else { continue };
        let iri = &test.iri;
        match (&outcome.ours, known.reason(iri), &outcome.reference) {
            (Err(reason), _, Ok(())) => offences.push(format!("FAILED (Oxigraph passes) {iri}\n  {reason}")),
            (Err(reason), None, Err(theirs)) => {
                offences.push(format!("FAILED {iri}\n  {reason}\n  Oxigraph fails too: {theirs}"));
            }
            (Ok(()), Some(_), _) => offences.push(format!("PASSED, but is in known-failures.txt: {iri}")),
            _ => {}
        }
    }
    offences
}

/// Names in the list that no suite has.
fn strangers(outcomes: &[(Test, Option<Outcome>)], known: &Known) -> Vec<String> {
    let ran = |iri: &str| outcomes.iter().any(|(test, outcome)| test.iri == iri && outcome.is_some());
    known
        .tests()
        .filter(|iri| !ran(iri))
        .map(|iri| format!("in known-failures.txt, but no such test ran: {iri}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(ours: Result<(), String>, reference: Result<(), String>) -> Vec<(Test, Option<Outcome>)> {
        let task = Task::QuerySyntax { file: "test:file".to_owned(), good: true };
        let test = Test { iri: "test:1".to_owned(), group: "group".to_owned(), task };
        vec![(test, Some(Outcome { ours, reference }))]
    }

    fn offences(ours: Result<(), &str>, reference: Result<(), &str>, list: &'static str) -> usize {
        let known = Known::parse(list).expect("the test's list is well-formed");
        judge(&outcomes(ours.map_err(str::to_owned), reference.map_err(str::to_owned)), &known).len()
    }

    #[test]
    fn a_failure_is_an_offence_unless_it_is_known_and_oxigraph_fails_too() {
        assert_eq!(offences(Ok(()), Err("no"), ""), 0);
        assert_eq!(offences(Err("no"), Err("no"), ""), 1);
        assert_eq!(offences(Err("no"), Err("no"), "test:1 because"), 0);
        assert_eq!(offences(Err("no"), Ok(()), "test:1 because"), 1);
        assert_eq!(offences(Ok(()), Ok(()), "test:1 because"), 1);
    }

    #[test]
    fn a_known_failure_of_no_test_is_an_offence() {
        let known = Known::parse("test:1 because\ntest:2 because\n").expect("the test's list is well-formed");
        let strange = strangers(&outcomes(Err("no".to_owned()), Err("no".to_owned())), &known);
        assert!(strange.len() == 1 && strange[0].contains("test:2"), "{strange:?}");
    }
}
