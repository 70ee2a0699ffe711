//! The machine's floors as a program prints them: by their own suite, and around the run of another.

use std::path::Path;
use std::process::{Command, Output};

fn run(suite: &str, arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fulgurite-bench"));
    command.arg(suite).args(arguments).arg("--directory").arg(directory).output().expect("the program was built")
}

fn texts(output: Output) -> (String, String) {
    let (lines, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}");
    (lines.into_owned(), told.into_owned())
}

/// What follows the JSON value that `text` begins with; `None` if it begins with none.
fn after_value(text: &str) -> Option<&str> {
    match text.chars().next()? {
        '{' => after_list(&text[1..], '}', |text| after_value(after_string(text)?.strip_prefix(':')?)),
        '[' => after_list(&text[1..], ']', after_value),
        '"' => after_string(text),
        'n' => text.strip_prefix("null"),
        _ => {
            let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit() || "+-.e".contains(letter));
            text[..text.len() - rest.len()].parse::<f64>().ok().map(|_| rest)
        }
    }
}

fn after_list(mut text: &str, end: char, after_item: impl Fn(&str) -> Option<&str>) -> Option<&str> {
    if let Some(rest) = text.strip_prefix(end) {
        return Some(rest);
    }
    loop {
        text = after_item(text)?;
        match text.strip_prefix(',') {
            Some(rest) => text = rest,
            None => return text.strip_prefix(end),
        }
    }
}

fn after_string(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('"')?;
    let mut escaped = false;
    for (place, letter) in inner.char_indices() {
        match letter {
            '"' if !escaped => return Some(&inner[place + 1..]),
            _ => escaped = letter == '\\' && !escaped,
        }
    }
    None
}

fn assert_is_json(line: &str) {
    assert_eq!(after_value(line), Some(""), "{line}");
}

#[test]
fn the_floors_that_are_wanted_are_lines_of_json_and_rows_of_a_table() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("lines");
    let arguments = ["--quick", "--rounds", "2", "--only", "page_cache,fdatasync_p99,clock"];
    let files = ["--json", json.to_str().unwrap()];
    let (table, told) = texts(run("limits", &[&arguments[..], &files[..]].concat(), directory.path()));
    assert!(table.starts_with("page_cache ") && table.ends_with("of 5 floors measured\n"), "{table}");
    assert!(told.contains("write_64k: ") && !told.contains("before the run"), "{told}");
    let lines = std::fs::read_to_string(&json).unwrap();
    lines.lines().for_each(assert_is_json);
    assert!(lines.lines().next().unwrap().contains(",\"limits\":null,"), "{lines}");
    let named = |line: &str| line.split('"').nth(7).unwrap().to_owned();
    let names: Vec<String> = lines.lines().skip(1).map(named).collect();
    assert_eq!(names, ["write_4k", "write_64k", "store_4k", "fdatasync_p99", "clock"]);
    std::fs::remove_file(json).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let (lines, told) = texts(run("limits", &[&arguments[..], &["--format", "json"]].concat(), directory.path()));
    lines.lines().for_each(assert_is_json);
    assert!(lines.lines().count() == 5 && told.contains("of 5 floors measured"), "{lines}{told}");
}

#[test]
fn the_report_of_another_suite_has_six_floors_from_before_and_after_its_run() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("lines");
    let arguments = ["--quick", "--rounds", "1", "--only", "put1_log", "--engines", "fulgurite"];
    let files = ["--json", json.to_str().unwrap()];
    let (table, told) = texts(run("writers", &[&arguments[..], &files[..]].concat(), directory.path()));
    for when in ["limits before the run: dependent_memory ", "limits after the run: dependent_memory "] {
        assert!(table.contains(when) && told.contains(when), "{table}{told}");
    }
    let lines = std::fs::read_to_string(&json).unwrap();
    lines.lines().for_each(assert_is_json);
    let object = lines.lines().next().unwrap();
    let (_, limits) = object.split_once(",\"limits\":{\"before\":{").unwrap();
    let (before, rest) = limits.split_once("},\"after\":{").unwrap();
    let after = rest.split('}').next().unwrap();
    let names = [
        "dependent_memory_ns",
        "dependent_memory_huge_ns",
        "overlapped_8_ns",
        "write_4k_ns",
        "fdatasync_p50_ns",
        "first_touch_ns",
    ];
    for floors in [before, after] {
        let found: Vec<&str> = floors.split(',').map(|field| field.split('"').nth(1).unwrap()).collect();
        assert_eq!(found, names, "{object}");
    }
}
