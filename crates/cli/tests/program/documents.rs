//! The examples of `docs/reference/cli.md`, `docs/guide/events.md` and `docs/guide/facts.md`, run as they stand there.
//!
//! In a block marked `console`, a line that begins with `$ ` is a command for a shell, and what follows is what it
//! prints, messages included. `…` at the end of a line stands for anything; paths are shown without the test's own
//! directory.

use std::path::Path;

use crate::fixture::{PROGRAM, TestDirectory};

#[test]
fn the_examples_of_the_command_line_print_what_it_says() {
    let commands = run_examples("reference/cli.md");
    assert!(commands >= 20, "only {commands} examples");
}

#[test]
#[cfg(feature = "facts")]
fn the_examples_of_the_guide_to_facts_print_what_it_says() {
    let commands = run_examples("guide/facts.md");
    assert!(commands >= 21, "only {commands} examples");
}

#[test]
#[cfg(feature = "events")]
fn the_examples_of_the_guide_to_events_print_what_it_says() {
    let commands = run_examples("guide/events.md");
    assert!(commands >= 14, "only {commands} examples");
}

/// Runs the examples of a document, and returns how many there are.
fn run_examples(document: &str) -> usize {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let document = std::fs::read_to_string(document).unwrap();
    let place = TestDirectory::new();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/shapes.scip");
    std::fs::copy(sample, place.path("shapes.scip")).unwrap();
    let mut commands = 0;
    for block in document.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for example in format!("\n{block}").split("\n$ ").skip(1) {
            let (command, expected) = example.split_once('\n').unwrap_or((example, ""));
            let printed = shell(&place, command);
            let same = expected.lines().count() == printed.lines().count()
                && expected.lines().zip(printed.lines()).all(|(expected, printed)| match expected.strip_suffix('…') {
                    Some(beginning) => printed.starts_with(beginning),
                    None => printed == expected,
                });
            assert!(same, "$ {command}\nshould print\n{expected}\nand prints\n{printed}");
            commands += 1;
        }
    }
    commands
}

fn shell(place: &TestDirectory, command: &str) -> String {
    let directory = Path::new(PROGRAM).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([directory.to_owned()].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let mut shell = place.command("sh");
    let output = shell.arg("-c").arg(format!("exec 2>&1; {command}")).env("PATH", path).output().unwrap();
    let root = format!("{}/", place.root().canonicalize().unwrap().display());
    String::from_utf8(output.stdout).unwrap().replace(&root, "")
}
