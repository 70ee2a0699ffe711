//! The suite of sustained writes as a program, with the engines that are always there: each task is a process of its
//! own.

use std::path::Path;
use std::process::{Command, Output};

fn sustained(arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fulgurite-bench"));
    command.arg("sustained").args(arguments).arg("--directory").arg(directory).output().expect("the program was built")
}

#[test]
fn a_quick_run_prints_lines_of_json_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--quick", "--records", "3000", "--rounds", "2", "--engines", "fulgurite,lmdb", "--seed", "5"];
    let rest = ["--only", "ingest,sequential,idle", "--format", "json"];
    let output = sustained(&[&arguments[..], &rest[..]].concat(), directory.path());
    let (lines, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{told}");
    assert!(told.contains("bars: not judged (--quick)"), "{told}");
    let of =
        |workload: &str| lines.lines().filter(|line| line.contains(&format!("\"workload\":\"{workload}\""))).count();
    assert_eq!([of("ingest"), of("ingest_settled"), of("get_hit_during"), of("sequential")], [2, 2, 3, 2], "{lines}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn its_own_test_finds_every_planted_fault() {
    let directory = tempfile::tempdir().unwrap();
    let output = sustained(&["--self-test", "--records", "2000", "--seed", "5"], directory.path());
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}");
    assert!(told.contains("self-test: 20 of 20 planted engines judged rightly"), "{told}");
}

#[test]
fn what_cannot_be_bound_is_said_or_measured() {
    let directory = tempfile::tempdir().unwrap();
    // Little enough to take a moment, and enough for a process to live in.
    let arguments = ["--quick", "--records", "1000000", "--engines", "lmdb", "--only", "bounded", "--format", "json"];
    let output = sustained(&arguments, directory.path());
    let (lines, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{told}");
    assert!(told.contains("bounded was not measured: ") || lines.contains("\"workload\":\"bounded_mix\""), "{told}");
}

#[test]
fn the_help_names_workloads_and_engines() {
    let output = Command::new(env!("CARGO_BIN_EXE_fulgurite-bench")).args(["sustained", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(["sequential", "bounded", "rocksdb", "--self-test"].iter().all(|name| help.contains(name)), "{help}");
}
