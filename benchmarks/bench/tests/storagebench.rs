//! The suite `storagebench` as a program, with small data sets.

use std::process::Command;

#[test]
fn a_quick_run_measures_every_workload_and_leaves_nothing() {
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let json = other.path().join("whole.jsonl");
    let output = Command::new(env!("CARGO_BIN_EXE_fulgurite-bench"))
        .args(["storagebench", "--quick", "--rounds", "1", "--seed", "7", "--engines", "fulgurite,lmdb"])
        .args(["--events", "3000"])
        .arg("--json")
        .arg(&json)
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
    let follows = ["follow_here", "follow_process", "follow_here_disk", "follow_process_disk"];
    for workload in others.into_iter().chain(follows).chain(["replay_cold"]) {
        assert!(lines.contains(&format!("\"workload\":\"{workload}\"")), "{workload} is missing: {lines}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let whole = std::fs::read_to_string(json).unwrap();
    assert!(whole.starts_with("{\"machine\":") && whole.contains(&lines), "{whole}");
    assert!(whole.contains("{\"amount\":\"entities\"") && whole.contains("{\"rounds_of\":\"replay_cold\""), "{whole}");
}
