//! `rdf migrate`: what it prints and leaves, and its exit codes. What a copy has is tested in `crates/migration`.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use fulgurite::{Database, TableOptions};

use crate::fixture::TestDirectory;

/// A directory with a store of RDF4J 5.2.0 in `old`.
fn with_store() -> TestDirectory {
    let place = TestDirectory::new();
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migration/tests/stores/lmdb-5.2.0");
    for part in ["triples", "values"] {
        fs::create_dir_all(place.path("old").join(part)).unwrap();
        let mut bytes = Vec::new();
        let packed = fs::File::open(stored.join(part).join("data.mdb.gz")).unwrap();
        GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
        fs::write(place.path("old").join(part).join("data.mdb"), bytes).unwrap();
    }
    for file in ["lmdbrdf.ver", "namespaces.dat", "triples/triples.prop"] {
        fs::copy(stored.join(file), place.path("old").join(file)).unwrap();
    }
    place
}

const MIGRATE: [&str; 4] = ["rdf", "migrate", "old", "new.ful"];

#[test]
fn a_migration_reports_what_it_copied_and_leaves_a_sound_store() {
    let place = with_store();
    let run = place.run(&MIGRATE);
    assert_eq!((run.code, run.text()), (0, ""), "{run:?}");
    let expected = "copied and verified 397 explicit statements, 3 inferred statements and 4 namespaces in ";
    assert!(run.messages.starts_with(expected), "{run:?}");
    let merged = "; 1 statement left out, equal to others but for the case of language tags\n";
    assert!(run.messages.ends_with(merged), "{run:?}");
    assert_eq!(place.names(), ["new.ful", "old"]);
    assert!(place.run(&["rdf", "check", "new.ful"]).ok().starts_with("sound: 400 quads, "));
    let query = "SELECT ?o { <http://example.org/late> ?p ?o }";
    let answer = place.run(&["rdf", "query", "new.ful", query, "--format", "csv"]).ok();
    assert_eq!(answer, "o\r\nadded after others were removed\r\n");
}

#[test]
fn a_native_store_is_copied_too() {
    let place = TestDirectory::new();
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migration/tests/stores/native-5.2.0");
    fs::create_dir(place.path("old")).unwrap();
    for entry in fs::read_dir(stored).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let mut bytes = fs::read(&path).unwrap();
        if name.ends_with(".gz") {
            let packed = std::mem::take(&mut bytes);
            GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
        }
        fs::write(place.path("old").join(name.trim_end_matches(".gz")), bytes).unwrap();
    }
    let run = place.run(&MIGRATE);
    let expected = "copied and verified 397 explicit statements, 3 inferred statements and 4 namespaces in ";
    assert!(run.code == 0 && run.messages.starts_with(expected), "{run:?}");
    assert!(place.run(&["rdf", "check", "new.ful"]).ok().starts_with("sound: 400 quads, "));
}

#[test]
fn what_an_interrupted_migration_left_does_not_matter() {
    let place = with_store();
    place.run(&["rdf", "update", "new.ful-migrating", "INSERT DATA { <x:s> <x:p> 1 }", "--create"]).ok();
    place.run(&MIGRATE).ok();
    assert_eq!(place.names(), ["new.ful", "old"]);
    assert!(place.run(&["rdf", "check", "new.ful"]).ok().starts_with("sound: 400 quads, "));
}

#[test]
fn a_file_that_another_migration_fills_is_left_alone() {
    let place = with_store();
    let other = Database::options().create(true).open(place.path("new.ful-migrating")).unwrap();
    other.update(|txn| txn.create_table("t", TableOptions::new()).map(drop)).unwrap();
    place.run(&MIGRATE).fails(4);
    other.close().unwrap();
    assert_eq!(place.names(), ["new.ful-migrating", "old"]);
}

#[test]
fn sources_that_cannot_be_copied_are_told_by_exit_codes_and_leave_nothing() {
    type Change = fn(&Path);
    let cases: [(Change, i32, &str); 7] = [
        (|old| fs::rename(old, old.with_extension("elsewhere")).unwrap(), 1, "old: cannot be read: "),
        (
            |old| fs::write(old.join("triples/triples.prop"), "version=2").unwrap(),
            1,
            "old/triples/triples.prop: it has version 2 of the format of statements; export the store as N-Quads",
        ),
        (
            |old| {
                fs::remove_dir_all(old.join("triples")).unwrap();
                fs::write(old.join("values.dat"), "").unwrap();
            },
            3,
            "old/triples.prop is damaged: it is missing; restore a backup of the store",
        ),
        (
            |old| fs::remove_dir_all(old.join("triples")).unwrap(),
            3,
            "old is not the data directory of an LmdbStore or a NativeStore: it has neither triples/data.mdb nor values.dat; check the path",
        ),
        (
            |old| {
                fs::remove_dir_all(old).unwrap();
                fs::write(old, "text").unwrap();
            },
            3,
            "old is not the data directory of an LmdbStore or a NativeStore: it is a file; check the path",
        ),
        (|old| fs::remove_dir_all(old.join("values")).unwrap(), 3, "old/values/data.mdb is damaged: it is missing;"),
        (
            |old| fs::File::options().write(true).open(old.join("values/data.mdb")).unwrap().set_len(70_000).unwrap(),
            3,
            "old/values/data.mdb is damaged: page ",
        ),
    ];
    for (change, code, expected) in cases {
        let place = with_store();
        change(&place.path("old"));
        let message = place.run(&MIGRATE).fails(code);
        assert!(message.starts_with(expected), "{message}");
        assert!(!place.names().iter().any(|name| name.starts_with("new")), "{:?}", place.names());
    }
}

#[test]
fn targets_that_exist_are_not_changed() {
    let place = with_store();
    place.file("new.ful", "precious");
    let message = place.run(&MIGRATE).fails(1);
    assert_eq!(message, "new.ful exists already; name a new file");
    assert_eq!(place.read("new.ful"), b"precious");
    let message = place.run(&["rdf", "migrate", "old", "old"]).fails(1);
    assert_eq!(message, "old is a directory; name a new file, such as old/store.ful for a FulguriteStore");
    let message = place.run(&["rdf", "migrate", "old", "no/new.ful"]).fails(1);
    assert!(message.contains("no/new.ful-migrating") && message.contains("directory"), "{message}");
    assert_eq!(place.run(&["rdf", "migrate", "old"]).code, 2);
}

#[test]
#[cfg(unix)]
fn a_source_that_a_process_has_open_is_refused() {
    use rustix::fs::{FlockOperation, fcntl_lock};

    let place = with_store();
    fs::create_dir(place.path("old/lock")).unwrap();
    fs::write(place.path("old/lock/process"), "4711@host").unwrap();
    let locked = fs::File::create(place.path("old/lock/locked")).unwrap();
    // As RDF4J holds it.
    fcntl_lock(&locked, FlockOperation::NonBlockingLockExclusive).unwrap();
    let message = place.run(&MIGRATE).fails(4);
    assert_eq!(message, "old is open in the process 4711@host; stop the programs that use it");
    assert_eq!(place.names(), ["old"]);
    drop(locked);
    place.run(&MIGRATE).ok();
}

#[test]
fn the_help_shows_an_example() {
    let help = TestDirectory::new().run(&["rdf", "migrate", "--help"]).ok();
    assert!(help.contains("Example:\n  fulgurite rdf migrate "), "{help}");
}
