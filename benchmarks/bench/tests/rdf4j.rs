//! The suite of quads as a program, with the engine that is always there: each measurement is a process of its own.

use std::path::Path;
use std::process::{Command, Output};

fn rdf4j(arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fulgurite-bench"));
    command.arg("rdf4j").args(arguments).arg("--directory").arg(directory).output().expect("the program was built")
}

#[test]
fn a_quick_run_measures_everything_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--quick", "--rounds", "2", "--engines", "fulgurite,fulgurite-default", "--seed", "5"];
    let output = rdf4j(&[&arguments[..], &["--format", "json"]].concat(), directory.path());
    let (lines, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{told}");
    assert!(told.contains("bars: not judged (--quick)\nanswers: all are the same\n"), "{told}");
    // Ten contests of one engine, one of the default orders, and twenty queries.
    assert_eq!(lines.lines().count(), 12 + 20, "{lines}");
    let of = |name: &str| lines.lines().filter(|line| line.contains(&format!("\"workload\":\"{name}\""))).count();
    assert_eq!(["bulk_load", "bulk_load_default", "scan_ids", "threads_8", "snowflake_2"].map(of), [1; 5], "{lines}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn its_own_test_finds_every_planted_fault() {
    let directory = tempfile::tempdir().unwrap();
    let output = rdf4j(&["--self-test", "--seed", "5"], directory.path());
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}");
    assert!(told.contains("self-test: 28 of 28 planted engines judged rightly"), "{told}");
}

#[test]
fn data_can_be_written_alone_and_are_the_same_twice() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let file = directory.path().join(name);
        let arguments = ["--generate", file.to_str().unwrap(), "--statements", "12_345"];
        assert!(rdf4j(&arguments, directory.path()).status.success());
        std::fs::read(file).unwrap()
    };
    let data = write("a.nt");
    assert_eq!(data.iter().filter(|&&byte| byte == b'\n').count(), 12_345);
    assert_eq!(data, write("b.nt"));
}

#[test]
fn an_engine_that_is_not_there_is_named_with_what_would_help() {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fulgurite-bench"))
        .args([
            "rdf4j",
            "--quick",
            "--rounds",
            "1",
            "--engines",
            "fulgurite,lmdbstore",
            "--only",
            "open",
            "--directory",
        ])
        .arg(directory.path())
        .env_remove("FULGURITE_RDF4J")
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.contains("lmdbstore was not measured: its program in Java"), "{told}");
}
