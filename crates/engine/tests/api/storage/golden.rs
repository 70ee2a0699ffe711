//! Files written by earlier versions open, are sound, and hold what they held: the promise of the file format.
//!
//! They are in `golden/format-N/`, N the version of their format, with NDJSON of their contents beside them. The test
//! kit's program `golden` writes new ones; existing files stay as they are.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use fulgurite::{Change, Database, Options, Read, Sequence, Table};

/// Names of the golden databases.
const NAMES: [&str; 9] = ["empty", "closed", "crashed", "merging", "kept", "runs", "counted", "packed", "operators"];

#[test]
fn a_golden_file_is_of_format_version_1() {
    for name in NAMES {
        let (directory, _) = unpacked(name);
        let file = std::fs::read(path(directory.path(), name)).unwrap();
        for slot in [0, 4096] {
            assert_eq!(file[slot..slot + 8], *b"FULGURIT", "{name}");
            assert_eq!(file[slot + 8..slot + 12], 1_u32.to_le_bytes(), "{name}");
        }
    }
}

#[test]
fn a_golden_file_opens_for_reading_holds_what_it_held_and_stays_as_it_is() {
    for name in NAMES {
        for map in [true, false] {
            let (directory, lines) = unpacked(name);
            let before = files(directory.path());
            let db = options().read_only(true).map(map).open(path(directory.path(), name)).unwrap();
            expect_sound(&db, name);
            expect_lines(&db, name, &lines);
            drop(db);
            let mut after = files(directory.path());
            after.retain(|name, _| !name.ends_with("-lock"));
            assert!(after == before, "{name}: reading changed a file");
        }
    }
}

#[test]
fn a_golden_file_opens_for_writing_holds_what_it_held_and_can_be_changed() {
    for name in NAMES {
        let (directory, lines) = unpacked(name);
        let db = options().open(path(directory.path(), name)).unwrap();
        expect_sound(&db, name);
        expect_lines(&db, name, &lines);
        db.update(|txn| {
            for table in txn.tables() {
                // Where values are numbers that are merged, all have one length.
                let length = table.merge_operator().and(txn.first(&table)?).map_or(5_000, |(_, value)| value.len());
                txn.put(&table, b"a key that is written later", &vec![1; length])?;
            }
            Ok(())
        })
        .unwrap();
        db.close().unwrap();
        let db = options().open(path(directory.path(), name)).unwrap();
        expect_sound(&db, name);
        db.update(|txn| {
            for table in txn.tables() {
                assert!(txn.delete(&table, b"a key that is written later")?, "{name}: {}", table.name());
            }
            Ok(())
        })
        .unwrap();
        expect_lines(&db, name, &lines);
        db.close().unwrap();
    }
}

#[test]
fn the_log_of_a_golden_file_is_needed_and_gone_once_it_was_recovered() {
    let (directory, lines) = unpacked("crashed");
    let log = |number: u32| directory.path().join(format!("crashed.ful-log.{number}"));
    assert!(log(2).exists() && log(3).exists());
    let db = options().open(path(directory.path(), "crashed")).unwrap();
    assert_ne!(db.stats().unwrap().checkpoint_sequence, 0);
    db.close().unwrap();
    assert!(!log(2).exists() && !log(3).exists());
    expect_lines(&options().open(path(directory.path(), "crashed")).unwrap(), "crashed", &lines);
}

#[test]
fn the_log_that_a_golden_file_keeps_tells_all_that_happened() {
    let (directory, _) = unpacked("kept");
    let db = options().keep_log(1 << 20).open(path(directory.path(), "kept")).unwrap();
    let told: Vec<String> = db
        .changes(Sequence(0))
        .unwrap()
        .map(|commit| {
            let changes = commit.unwrap().changes.into_iter().map(|change| match change {
                Change::TableCreated { .. } => "+table".to_owned(),
                Change::Put { key, value, .. } => format!("{}:{}", key.escape_ascii(), value.len()),
                Change::Delete { key, .. } => format!("-{}", key.escape_ascii()),
                Change::BulkLoaded { .. } => "load".to_owned(),
                other => panic!("{other:?}"),
            });
            changes.collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(told, ["+table", "first:20 of its own extent:66000", "load", "-first second:40"]);
}

#[test]
fn the_runs_of_a_golden_file_are_seen_by_every_read_and_merged_by_a_compaction() {
    let (directory, lines) = unpacked("runs");
    let db = options().open(path(directory.path(), "runs")).unwrap();
    let before = &db.stats().unwrap().tables[0];
    assert!(before.runs > before.runs_deep && before.runs_deep > 1 && before.run_entries > 100, "{before:?}");
    assert_eq!(db.check().unwrap().run_entries, before.run_entries);
    expect_lines(&db, "runs", &lines);
    db.compact().unwrap();
    let after = &db.stats().unwrap().tables[0];
    assert_eq!((after.runs, after.runs_deep, after.run_entries), (0, 0, 0));
    assert_eq!(after.entries, db.read().unwrap().len(&db.open_table("runs").unwrap()).unwrap());
    expect_sound(&db, "runs");
    expect_lines(&db, "runs", &lines);
}

fn options() -> Options {
    Database::options().background(false).huge_pages(false)
}

fn path(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.ful"))
}

/// A directory with the files of a golden database, and what it holds.
fn unpacked(name: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let mut lines = String::new();
    for entry in std::fs::read_dir(golden()).unwrap() {
        let packed = entry.unwrap().path();
        let file_name = packed.file_stem().unwrap().to_str().unwrap();
        let Some(rest) = file_name.strip_prefix(name) else { continue };
        let mut bytes = Vec::new();
        GzDecoder::new(std::fs::File::open(&packed).unwrap()).read_to_end(&mut bytes).unwrap();
        if rest == ".ndjson" {
            lines = String::from_utf8(bytes).unwrap();
        } else {
            std::fs::write(directory.path().join(file_name), bytes).unwrap();
        }
    }
    (directory, lines)
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1")
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.to_str().unwrap().to_owned(), std::fs::read(path).unwrap())).collect()
}

fn expect_sound(db: &Database, name: &str) {
    let report = db.check().unwrap();
    assert!(report.is_sound(), "{name}: {:?}", report.damages);
}

fn expect_lines(db: &Database, name: &str, expected: &str) {
    let mut expected = expected.lines();
    for line in lines_of(db).lines() {
        assert_eq!(Some(line), expected.next(), "{name}");
    }
    assert_eq!(expected.next(), None, "{name}");
}

fn lines_of(db: &Database) -> String {
    let mut lines = String::new();
    let txn = db.read().unwrap();
    for table in txn.tables() {
        lines += &description(&table, txn.len(&table).unwrap());
        for entry in txn.range(&table, ..).unwrap() {
            let (key, value) = entry.unwrap();
            let (key, value) = (hexadecimal(&key), hexadecimal(&value));
            writeln!(lines, r#"{{"table": "{}", "key": "{key}", "value": "{value}"}}"#, table.name()).unwrap();
        }
    }
    lines
}

fn description(table: &Table, entries: u64) -> String {
    let (multimap, counted, align) = (table.is_multimap(), table.is_counted(), table.value_align());
    let (key_type, value_type) = (table.key_type(), table.value_type());
    let packed = if table.is_packed() { "\"packed\": true, " } else { "" };
    let merge = match (table.merge_operator(), table.merge_function()) {
        (Some(operator), _) => format!("\"merge\": \"{operator}\", "),
        (None, Some(function)) => format!("\"merge_function\": \"{function}\", "),
        (None, None) => String::new(),
    };
    format!(
        "{{\"table\": \"{}\", \"multimap\": {multimap}, \"counted\": {counted}, {packed}\"value_align\": {align}, \
         \"key_type\": \"{key_type}\", \"value_type\": \"{value_type}\", {merge}\"entries\": {entries}}}\n",
        table.name()
    )
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}
