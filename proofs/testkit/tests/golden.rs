//! The golden databases use every part of the format. Written again, they hold what the files of earlier versions hold.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use fulgurite::Database;
use fulgurite_testkit::golden::{self, Golden};

#[test]
fn written_anew_a_golden_database_holds_what_the_one_of_an_earlier_version_holds() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/engine/tests/golden/format-1");
    for golden in all() {
        let path = directory.join(format!("{}.ndjson.gz", golden.name));
        let mut lines = String::new();
        let packed = std::fs::File::open(path).expect("it is in the repository");
        GzDecoder::new(packed).read_to_string(&mut lines).expect("it is text");
        assert!(golden.lines == lines, "{}: its model holds something else", golden.name);
        let files = tempfile::tempdir().expect("a temporary directory");
        let db = open(&golden, files.path());
        let found = golden::lines_of(&db).expect("it is sound");
        assert!(found == lines, "{}: it holds something else than its model", golden.name);
        assert!(db.check().expect("it can be read").is_sound(), "{}", golden.name);
    }
}

#[test]
fn a_golden_database_has_deep_trees_and_every_kind_of_page() {
    let all = all();
    let closed = all.iter().find(|golden| golden.name == "closed").expect("there is one");
    let files = tempfile::tempdir().expect("a temporary directory");
    let stats = open(closed, files.path()).stats().expect("it is sound");
    let levels = |name: &str| stats.tables.iter().find(|table| table.name == name).map(|table| table.levels);
    assert_eq!([levels("empty"), levels("deep"), levels("long keys")], [Some(0), Some(2), Some(1)]);
    assert!(stats.value_bytes > 100_000 && stats.free_bytes > 0, "{stats:?}");
    let kinds: BTreeSet<u8> = closed.files["closed.ful"].chunks(8192).skip(1).map(|page| page[0]).collect();
    assert!(kinds.is_superset(&BTreeSet::from([1, 2, 6])), "{kinds:?}");
}

#[test]
fn a_golden_database_has_several_runs_above_a_tree() {
    let all = all();
    let runs = all.iter().find(|golden| golden.name == "runs").expect("there is one");
    let files = tempfile::tempdir().expect("a temporary directory");
    let stats = open(runs, files.path()).stats().expect("it is sound");
    let table = &stats.tables[0];
    assert!(table.runs > table.runs_deep && table.runs_deep > 1 && table.run_entries > 100, "{table:?}");
    assert!(table.levels > 0 && table.entries > 2 * table.run_entries, "{table:?}");
}

#[test]
fn a_golden_database_that_was_closed_has_the_same_bytes_each_time() {
    for (first, second) in all().iter().zip(&all()) {
        assert!(first.files.keys().eq(second.files.keys()) && first.lines == second.lines, "{}", first.name);
        assert!(first.files.len() > 1 || first.files == second.files, "{}", first.name);
    }
}

fn all() -> Vec<Golden> {
    golden::all().expect("a memory disk")
}

fn open(golden: &Golden, directory: &Path) -> Database {
    for (name, bytes) in &golden.files {
        std::fs::write(directory.join(name), bytes).expect("a temporary directory");
    }
    let path = directory.join(format!("{}.ful", golden.name));
    Database::options().background(false).open(path).expect("it is sound")
}
