//! The suite `storagebench` as a program, with small data sets.

use std::process::Command;

#[test]
fn a_quick_run_measures_every_workload_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fulgurite-bench"))
        .args(["storagebench", "--quick", "--rounds", "1", "--seed", "7", "--engines", "fulgurite,lmdb"])
        .args(["--events", "3000"])
        .args(["--format", "json", "--directory"])
        .arg(directory.path())
        .output()
        .expect("the program was built");
    let (lines, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{told}");
    for operation in ["add", "add_remove", "read", "durable"] {
        for codec in ["protobuf", "flatbuffers"] {
            for engine in ["fulgurite", "lmdb"] {
                let begin = format!("\"workload\":\"{operation}_{codec}\",\"engine\":\"{engine}\"");
                assert!(lines.contains(&begin), "{begin} is missing: {lines}");
            }
        }
    }
    let others = ["entities", "replay_protobuf", "replay_flatbuffers", "append_one", "append_many", "append_single"];
    for workload in others.into_iter().chain(["follow_here", "follow_process"]) {
        assert!(lines.contains(&format!("\"workload\":\"{workload}\"")), "{workload} is missing: {lines}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
