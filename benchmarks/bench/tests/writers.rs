//! The suite of writers as a program, with the engines that are always there: recoveries need a process to kill.

use std::process::Command;

#[test]
fn a_quick_run_kills_and_recovers_and_prints_lines_of_json() {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fulgurite-bench"))
        .args(["writers", "--quick", "--rounds", "2", "--engines", "fulgurite,lmdb", "--seed", "5"])
        .args(["--only", "recovery,put1_log", "--format", "json", "--directory"])
        .arg(directory.path())
        .output()
        .unwrap();
    let (lines, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{told}");
    assert!(told.contains("bars: not judged (--quick)"), "{told}");
    let of =
        |workload: &str| lines.lines().filter(|line| line.contains(&format!("\"workload\":\"{workload}\""))).count();
    assert_eq!([of("put1_log"), of("recovery_64"), of("recovery_1024")], [2, 1, 1], "{lines}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn the_help_names_workloads_and_engines() {
    let output = Command::new(env!("CARGO_BIN_EXE_fulgurite-bench")).args(["writers", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(["two_overlap", "recovery_1024", "rocksdb"].iter().all(|name| help.contains(name)), "{help}");
}
