//! `changes`, and the option that keeps what it reads.

use std::io::{BufRead, BufReader};

use crate::fixture::TestDirectory;

/// A database of two commits and a load, whose log is kept.
fn kept() -> TestDirectory {
    let place = TestDirectory::new();
    let put = |arguments: &[&str]| place.run(&[&["put", "a.ful"], arguments, &["--keep-log", "16"]].concat()).ok();
    put(&["prices", "apple", "2", "--create", "--value", "u64"]);
    let import = ["import", "a.ful", "prices", "--keep-log", "16"];
    place.run_with_input(&import, b"{\"key\":\"fig\",\"value\":7}\n").ok();
    place.run(&["del", "a.ful", "prices", "apple", "--keep-log", "16"]).ok();
    place
}

#[test]
fn changes_are_printed_in_every_form_and_from_any_commit_on() {
    let place = kept();
    let all = "\
{\"sequence\":1,\"change\":\"create table\",\"table\":\"prices\",\"key\":null,\"value\":null,\"left\":0}
{\"sequence\":2,\"change\":\"put\",\"table\":\"prices\",\"key\":\"apple\",\"value\":2,\"left\":0}
{\"sequence\":3,\"change\":\"bulk load\",\"table\":\"prices\",\"key\":null,\"value\":null,\"left\":0}
{\"sequence\":4,\"change\":\"delete\",\"table\":\"prices\",\"key\":\"apple\",\"value\":null,\"left\":0}
";
    assert_eq!(place.run(&["changes", "a.ful"]).ok(), all);
    let some: String = all.lines().skip(3).map(|line| format!("{line}\n")).collect();
    assert_eq!(place.run(&["changes", "a.ful", "--after", "3"]).ok(), some);
    assert_eq!(place.run(&["changes", "a.ful", "--after", "4"]).ok(), "");
    let csv = "sequence,change,table,key,value,left\n4,delete,prices,apple,,0\n";
    assert_eq!(place.run(&["changes", "a.ful", "--after", "3", "--format", "csv"]).ok(), csv);
    let table = place.run(&["changes", "a.ful", "--after", "1", "--format", "table"]).ok();
    assert_eq!(table.lines().nth(1), Some("       2  put        prices  apple      2     0"), "{table}");
}

#[test]
fn stats_tell_what_is_kept() {
    let place = kept();
    let stats = place.run(&["stats", "a.ful"]).ok();
    assert!(stats.contains("changes from commit 1 on: "), "{stats}");
    let json = place.run(&["stats", "a.ful", "--format", "json"]).ok();
    assert!(json.contains("\"log_held_bytes\":0,") && json.contains("\"oldest_change\":1,"), "{json}");
}

#[test]
fn what_cannot_be_printed_is_said() {
    let place = kept();
    let message = place.run(&["changes", "a.ful", "--after", "5"]).fails(1);
    assert_eq!(message, "no changes can be asked for after commit 5: the newest that is durable is 4");
    let message = place.run(&["changes", "a.ful", "--follow", "--format", "table"]).fails(1);
    assert_eq!(message, "--follow never ends; print with --format ndjson or csv");
    place.run(&["put", "a.ful", "prices", "nut", "1"]).ok();
    let message = place.run(&["changes", "a.ful", "--after", "4"]).fails(1);
    let expected =
        "the log is not kept, so it has no changes; keep the log when you write (keep_log, keepLog or --keep-log)";
    assert_eq!(message, expected);
    assert_eq!(place.names(), ["a.ful"], "what was kept is gone");
    place.run(&["put", "a.ful", "prices", "nut", "2", "--keep-log", "1"]).ok();
    let message = place.run(&["changes", "a.ful", "--after", "4"]).fails(1);
    assert!(message.contains("the changes after commit 4, the oldest commit that it keeps is 6"), "{message}");
}

#[test]
fn who_follows_gets_what_comes() {
    let place = kept();
    let mut child = place.spawn(&["changes", "a.ful", "--after", "3", "--follow", "0.01"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("{\"sequence\":4,"));
    for number in 5..8 {
        place.run(&["put", "a.ful", "prices", "nut", &number.to_string(), "--keep-log", "16"]).ok();
        let expected = format!("{{\"sequence\":{number},\"change\":\"put\",\"table\":\"prices\",\"key\":\"nut\",");
        assert!(lines.next().unwrap().unwrap().starts_with(&expected), "{number}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
