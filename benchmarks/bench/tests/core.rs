//! The core suite as a program, with small data sets.

use std::process::Command;

#[test]
fn a_quick_run_measures_every_workload_of_a_data_set() {
    let directory = tempfile::tempdir().unwrap();
    // Sizes of programs are left out: they need a build of the command line.
    let workloads = "get_hit,get_hit_delta,get_miss,get_many32,scan,scan_reverse,seek100,bulk_load,put1,open";
    let output = Command::new(env!("CARGO_BIN_EXE_fulgurite-bench"))
        .args(["core", "--quick", "--shape", "hashed", "--only", workloads, "--rounds", "1", "--seed", "7"])
        .args(["--format", "json", "--directory"])
        .arg(directory.path())
        .output()
        .expect("the program was built");
    let (lines, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{told}");
    for workload in workloads.split(',') {
        assert!(lines.contains(&format!("\"workload\":\"{workload}\"")), "{workload} is missing: {lines}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
