//! What a copy has.

use std::fs;
use std::io::{Seek, SeekFrom, Write};

use fulgurite_migration::{Error, Migration, Rdf4jStore, Stage};
use fulgurite_rdf::{Quads, StatementKinds, Store};

use crate::fixture::{STORES, Source};

#[test]
fn a_copy_has_the_statements_that_rdf4j_exports() {
    for name in STORES {
        let source = Source::new(name);
        let report = source.migrate().unwrap();
        let (explicit, all) = (source.exported("explicit.nq.gz"), source.exported("all.nq.gz"));
        assert_eq!(source.copied(StatementKinds::Explicit), explicit, "{name}");
        assert_eq!(source.copied(StatementKinds::All), all, "{name}");
        let inferred = all.difference(&explicit).count() as u64;
        assert_eq!((report.explicit, report.inferred), (explicit.len() as u64, inferred), "{name}");
        // `colour` in British English, whose tag has capitals or not.
        assert_eq!(report.merged, 1, "{name}");
        assert_eq!(source.others().into_iter().collect::<Vec<_>>(), ["copy.ful"], "{name}");
    }
}

#[test]
fn a_copy_has_the_namespaces() {
    for name in STORES {
        let source = Source::new(name);
        assert_eq!(source.migrate().unwrap().namespaces, 4, "{name}");
        let store = Store::open(source.target()).unwrap();
        let expected = [
            ("", "http://example.org/vocabulary#"),
            ("ex", "http://example.org/"),
            ("größe", "http://example.org/größe/"),
            ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
        ];
        let expected = expected.map(|(prefix, iri)| (prefix.to_owned(), iri.to_owned()));
        assert_eq!(store.snapshot().unwrap().namespaces().unwrap(), expected, "{name}");
        store.close().unwrap();
    }
}

#[test]
fn a_store_without_a_file_of_namespaces_has_none() {
    let source = Source::new("lmdb-5.2.0");
    fs::remove_file(source.file("namespaces.dat")).unwrap();
    assert_eq!(source.migrate().unwrap().namespaces, 0);
}

#[test]
fn every_index_has_the_statements() {
    for (name, file, version) in [("lmdb-5.2.0", "triples/triples.prop", 1), ("native-5.2.0", "triples.prop", 10)] {
        let whole = Source::new(name);
        whole.migrate().unwrap();
        let expected = whole.copied(StatementKinds::Explicit);
        for index in ["spoc", "posc", "ospc", "cspo"] {
            let source = Source::new(name);
            fs::write(source.file(file), format!("version={version}\ntriple-indexes={index}\n")).unwrap();
            source.migrate().unwrap();
            assert_eq!(source.copied(StatementKinds::Explicit), expected, "{name}, {index}");
        }
    }
}

#[test]
fn literals_and_files_as_sesame_wrote_them_are_read() {
    let source = Source::new("native-5.2.0");
    for index in ["spoc", "posc", "ospc", "cspo"] {
        let path = source.file(&format!("triples-{index}.dat"));
        let mut bytes = fs::read(&path).unwrap();
        bytes[..3].fill(0);
        fs::write(path, bytes).unwrap();
    }
    let mut bytes = fs::read(source.file("values.dat")).unwrap();
    let label = b"not a number";
    let at = bytes.windows(label.len()).position(|window| window == label).unwrap();
    bytes[at - 5..at - 1].fill(0xff);
    fs::write(source.file("values.dat"), bytes).unwrap();
    source.migrate().unwrap();
    let copied = source.copied(StatementKinds::Explicit);
    assert!(copied.iter().any(|statement| statement.ends_with("\"not a number\"")), "{copied:?}");
}

#[test]
fn the_source_is_not_changed() {
    let source = Source::new("native-5.2.0");
    let files = ["values.dat", "values.id", "triples-spoc.dat", "triples.prop", "namespaces.dat", "txn-status"];
    let before = files.map(|file| fs::read(source.file(file)).unwrap());
    source.migrate().unwrap();
    assert!(files.map(|file| fs::read(source.file(file)).unwrap()) == before);

    let source = Source::new("lmdb-5.2.0");
    let files = ["triples/data.mdb", "values/data.mdb", "triples/triples.prop", "namespaces.dat"];
    let content = || files.map(|file| fs::read(source.file(file)).unwrap());
    let before = content();
    source.migrate().unwrap();
    assert!(content() == before);
    let mut names: Vec<_> =
        fs::read_dir(source.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["lmdbrdf.ver", "namespaces.dat", "triples", "values"]);
}

#[test]
fn a_transaction_that_did_not_end_is_left_out_unless_its_commit_had_begun() {
    // As if a transaction had added or removed one statement, or made it explicit or only inferred.
    let migrated = |flags: u8, status: &[u8]| {
        let source = Source::new("native-5.2.0");
        for index in ["spoc", "posc", "ospc", "cspo"] {
            let path = source.file(&format!("triples-{index}.dat"));
            let mut bytes = fs::read(&path).unwrap();
            set_flags_of_first(&mut bytes, flags);
            fs::write(path, bytes).unwrap();
        }
        fs::write(source.file("txn-status"), status).unwrap();
        let report = source.migrate().unwrap();
        (report.explicit, report.inferred)
    };
    let whole = migrated(EXPLICIT, b"");
    let (less, inferred) = ((whole.0 - 1, whole.1), (whole.0 - 1, whole.1 + 1));
    for (flags, rolled_back, committed) in
        [(EXPLICIT | 2, less, whole), (EXPLICIT | 4, whole, less), (EXPLICIT | 8, whole, whole), (8, inferred, whole)]
    {
        assert_eq!(migrated(flags, b"\x02"), rolled_back, "{flags}");
        assert_eq!(migrated(flags, b"\x04"), committed, "{flags}");
    }
}

const EXPLICIT: u8 = 1;

/// Sets the flags of the one explicit statement whose ids are the least, in a tree of a `NativeStore`.
fn set_flags_of_first(bytes: &mut [u8], flags: u8) {
    let nodes = (2048..bytes.len()).step_by(2048);
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let records = nodes.flat_map(|node| (0..number(node) as usize).map(move |record| node + 8 + 21 * record));
    let ids = |at: usize| [0, 4, 8, 12].map(|offset| number(at + offset));
    let first = records.filter(|&at| bytes[at + 16] == EXPLICIT).min_by_key(|&at| ids(at)).unwrap();
    bytes[first + 16] = flags;
}

#[test]
fn progress_tells_each_stage_and_how_much_there_is() {
    for name in STORES {
        progress_is_told(name);
    }
}

fn progress_is_told(name: &'static str) {
    let source = Source::new(name);
    let store = Rdf4jStore::open(&source.path()).unwrap();
    let mut last = Vec::new();
    let report = Migration::new(&store)
        .progress(|now| {
            last.retain(|(stage, _, _)| *stage != now.stage);
            last.push((now.stage, now.statements, now.total));
        })
        .run(&source.target())
        .unwrap();
    let (read, copied) = (store.explicit_count() + store.inferred_count(), report.explicit + report.inferred);
    assert_eq!(last, [(Stage::Copying, read, read), (Stage::Verifying, copied, read)]);
}

#[test]
fn a_native_store_that_changes_meanwhile_is_no_copy() {
    let source = Source::new("native-5.2.0");
    let store = Rdf4jStore::open(&source.path()).unwrap();
    let append =
        || fs::File::options().append(true).open(source.file("values.dat")).unwrap().write_all(b"more").unwrap();
    let mut has_changed = false;
    let outcome = Migration::new(&store)
        .progress(|_| {
            if !std::mem::replace(&mut has_changed, true) {
                append();
            }
        })
        .run(&source.target());
    assert!(matches!(outcome, Err(Error::Changed { .. })), "{outcome:?}");
    assert!(source.others().is_empty());
}

#[test]
fn a_source_that_changes_meanwhile_is_no_copy() {
    let source = Source::new("lmdb-5.2.0");
    let store = Rdf4jStore::open(&source.path()).unwrap();
    // As a commit would: the older of the two meta pages gets the number of the next commit.
    let commit = || {
        let path = source.file("values/data.mdb");
        let bytes = fs::read(&path).unwrap();
        let number = |meta: usize| u64::from_le_bytes(bytes[meta + 144..meta + 152].try_into().unwrap());
        let (older, newest) = if number(0) < number(4096) { (0, number(4096)) } else { (4096, number(0)) };
        let mut file = fs::File::options().write(true).open(path).unwrap();
        file.seek(SeekFrom::Start(older + 144)).unwrap();
        file.write_all(&(newest + 1).to_le_bytes()).unwrap();
    };
    let mut has_changed = false;
    let outcome = Migration::new(&store)
        .progress(|_| {
            if !std::mem::replace(&mut has_changed, true) {
                commit();
            }
        })
        .run(&source.target());
    assert!(matches!(outcome, Err(Error::Changed { .. })), "{outcome:?}");
    assert!(source.others().is_empty());
}
