//! The suites of tables as a program, with the engines that are always there: each workload of each engine is a process
//! of its own.

use std::path::Path;
use std::process::{Command, Output};

fn run(suite: &str, arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fulgurite-bench"));
    command.arg(suite).args(arguments).arg("--directory").arg(directory).output().expect("the program was built")
}

fn texts(output: Output) -> (String, String) {
    let (lines, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{lines}{told}");
    (lines.into_owned(), told.into_owned())
}

#[test]
fn a_quick_run_names_versions_settings_and_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("lines");
    let arguments =
        ["--quick", "--rounds", "2", "--seed", "5", "--only", "sequential_write,checkpoint,value_100k_read"];
    let rest = ["--engines", "fulgurite,lmdb,redb", "--json", json.to_str().unwrap()];
    let (table, told) = texts(run("geaflow", &[&arguments[..], &rest[..]].concat(), directory.path()));
    assert!(table.contains("the report claims: lmdb 658,812 ops/s"), "{table}");
    assert!(table.contains("ms to make a checkpoint") && table.contains("\nlmdb 0.9."), "{table}");
    assert!(table.contains("bars: this suite has none; every answer was checked"), "{table}");
    let missing = "redb was not measured: it was not built in; use `cargo xtask bench`, or the feature `redb`";
    assert!(cfg!(feature = "redb") || told.contains(missing) && table.contains(missing), "{told}");
    let lines = std::fs::read_to_string(&json).unwrap();
    assert!(lines.starts_with("{\"machine\":\""), "{lines}");
    assert!(lines.lines().next().unwrap().contains("{\"name\":\"lmdb\",\"version\":\"0.9."), "{lines}");
    let of = |kind: &str, engine: &str| {
        let engine = format!("\"engine\":\"{engine}\"");
        lines.lines().filter(|line| line.starts_with(kind) && line.contains(&engine)).count()
    };
    for kind in ["{\"suite\":\"geaflow\"", "{\"rounds_of\":"] {
        assert_eq!([of(kind, "fulgurite"), of(kind, "lmdb")], [3, 3], "{lines}");
    }
    std::fs::remove_file(json).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn every_level_and_workload_of_ycsb_runs() {
    let directory = tempfile::tempdir().unwrap();
    let arguments =
        ["--quick", "--records", "2000", "--rounds", "1", "--engines", "fulgurite,lmdb", "--format", "json"];
    let (lines, _) = texts(run("ycsb", &arguments, directory.path()));
    assert_eq!(lines.lines().count(), 12, "{lines}");
    let (lines, _) =
        texts(run("ycsb", &[&arguments[..], &["--only", "a", "--level", "disk"]].concat(), directory.path()));
    assert!(lines.lines().all(|line| line.contains("\"level\":\"Disk\"")) && lines.lines().count() == 2, "{lines}");
    let (lines, told) =
        texts(run("ycsb", &[&arguments[..], &["--only", "a", "--level", "memory"]].concat(), directory.path()));
    assert_eq!(lines.lines().count(), 1, "{told}");
}

#[test]
fn an_engine_that_cannot_do_a_workload_has_a_row_that_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--records", "2000", "--rounds", "1", "--quick", "--engines", "fulgurite,lmdb"];
    let only = ["--only", "bank,scan_reverse,write_without_log"];
    let (table, _) = texts(run("lightning", &[&arguments[..], &only].concat(), directory.path()));
    assert!(table.contains("% of transactions refused") && table.contains("M records/s"), "{table}");
    assert!(table.contains("write_without_log  lmdb       it has no level of its own like Memory"), "{table}");
    assert!(table.contains("the report claims: lightning 687,234 transactions/s"), "{table}");
    let (lines, _) = texts(run("lightning", &["--only", "encryption", "--format", "json"], directory.path()));
    assert!(lines.lines().count() == 1 && lines.contains("\"not_measured\":\"not yet: "), "{lines}");
}

/// The figure of this name in each line.
fn figures(lines: &str, name: &str) -> Vec<f64> {
    let of = |line: &str| line.split_once(&format!("\"{name}\":"))?.1.split(',').next()?.parse().ok();
    lines.lines().map(|line| of(line).expect("every line has the figure")).collect()
}

#[test]
fn what_a_killed_writer_had_acknowledged_is_there_where_that_is_promised() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--quick", "--rounds", "1", "--only", "recovery,kills", "--records", "20000", "--format", "json"];
    let (lines, _) =
        texts(run("lightning", &[&arguments[..], &["--engines", "fulgurite,lmdb"]].concat(), directory.path()));
    assert_eq!(lines.lines().count(), 4, "{lines}");
    let kills: String =
        lines.lines().filter(|line| line.contains("\"kills\"")).map(|line| format!("{line}\n")).collect();
    assert_eq!(figures(&kills, "kills"), [2.0, 2.0]);
    assert_eq!(figures(&kills, "acknowledged commits lost"), [0.0, 0.0]);
    assert_eq!(figures(&kills, "records corrupted"), [0.0, 0.0]);
    // Nothing is promised for commits that stay in the process. A kill may come when all are written, but not all ten
    // do; the first that loses one is the last.
    let unpromised = ["--rounds", "1", "--only", "kills", "--records", "2000", "--format", "json", "--level", "memory"];
    let (lines, _) =
        texts(run("lightning", &[&unpromised[..], &["--engines", "fulgurite"]].concat(), directory.path()));
    assert!(figures(&lines, "acknowledged commits lost")[0] > 0.0, "{lines}");
    assert!(figures(&lines, "kills")[0] < 10.0, "{lines}");
    assert_eq!(figures(&lines, "records corrupted"), [0.0]);
}

#[test]
fn their_own_tests_find_every_planted_fault() {
    let directory = tempfile::tempdir().unwrap();
    for (suite, all) in [("geaflow", 64), ("lightning", 141), ("ycsb", 24)] {
        let (told, _) = texts(run(suite, &["--self-test", "--seed", "5"], directory.path()));
        assert!(told.contains(&format!("self-test: {all} of {all} planted engines judged rightly")), "{told}");
    }
}
