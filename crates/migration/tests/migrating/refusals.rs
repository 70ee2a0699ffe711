//! What is refused before anything is created.

use std::fs;

use fulgurite_migration::{Error, Rdf4jStore};

use crate::fixture::Source;

/// The error of a store of 5.2.0 after a change.
fn refusal(change: impl FnOnce(&Source)) -> Error {
    let source = Source::new("lmdb-5.2.0");
    change(&source);
    let error = source.migrate().unwrap_err();
    assert!(source.others().is_empty());
    error
}

#[test]
fn a_path_that_is_no_directory_of_a_store_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let refused = |name: &str| Rdf4jStore::open(&path.join(name)).unwrap_err();
    fs::create_dir(path.join("empty")).unwrap();
    fs::write(path.join("file"), "text").unwrap();
    assert!(matches!(refused("missing"), Error::Read { .. }));
    let cases = [("empty", "it has neither triples/data.mdb nor values.dat"), ("file", "it is a file")];
    for (name, expected) in cases {
        assert!(matches!(refused(name), Error::NotAStore { found, .. } if found == expected), "{name}");
    }
}

/// The error of a `NativeStore` after a change.
fn native_refusal(change: impl FnOnce(&Source)) -> Error {
    let source = Source::new("native-5.2.0");
    change(&source);
    let error = source.migrate().unwrap_err();
    assert!(source.others().is_empty());
    error
}

#[test]
fn a_native_store_without_one_of_its_files_is_damaged_and_newer_formats_are_refused() {
    for file in ["values.id", "triples-ospc.dat", "triples.prop"] {
        let error = native_refusal(|source| fs::remove_file(source.file(file)).unwrap());
        let is_missing =
            matches!(&error, Error::Damaged { path, offence } if path.ends_with(file) && offence == "it is missing");
        assert!(is_missing, "{file}: {error}");
    }
    for file in ["values.id", "values.dat", "triples-ospc.dat", "namespaces.dat"] {
        let error = native_refusal(|source| {
            let mut bytes = fs::read(source.file(file)).unwrap();
            bytes[3] = 2;
            fs::write(source.file(file), bytes).unwrap();
        });
        assert!(matches!(&error, Error::Unsupported { path, .. } if path.ends_with(file)), "{file}: {error}");
    }
    let text = "version=11\ntriple-indexes=spoc\n";
    let error = native_refusal(|source| fs::write(source.file("triples.prop"), text).unwrap());
    assert!(matches!(&error, Error::Unsupported { found, .. } if found.contains("version 11")), "{error}");
}

#[test]
fn a_store_without_its_values_or_its_properties_is_damaged() {
    let missing = |error: &Error, file: &str| match error {
        Error::Damaged { path, offence } => path.ends_with(file) && offence == "it is missing",
        _ => false,
    };
    let error = refusal(|source| fs::remove_dir_all(source.file("values")).unwrap());
    assert!(missing(&error, "values/data.mdb"), "{error}");
    let error = refusal(|source| fs::remove_file(source.file("triples/triples.prop")).unwrap());
    assert!(missing(&error, "triples/triples.prop"), "{error}");
}

#[test]
fn properties_that_rdf4j_has_not_written_are_damage() {
    for (text, expected) in [
        ("version=1\ntriple-indexes=spoc,spox\n", "`spox` is not an index"),
        ("version=1\ntriple-indexes=\n", "it names no index"),
        ("version=1\n", "it names no index"),
        ("triple-indexes=spoc\n", "it has no version of the format"),
        ("version=one\ntriple-indexes=spoc\n", "it has no version of the format"),
        ("version=1\ntriple-indexes=spoc,sopc\n", "the table `sopc` is missing"),
    ] {
        let error = refusal(|source| fs::write(source.file("triples/triples.prop"), text).unwrap());
        assert!(matches!(&error, Error::Damaged { offence, .. } if offence == expected), "{text}: {error}");
    }
}

#[test]
fn newer_formats_are_refused_by_name() {
    let text = "version=2\ntriple-indexes=spoc\n";
    let error = refusal(|source| fs::write(source.file("triples/triples.prop"), text).unwrap());
    assert!(matches!(&error, Error::Unsupported { found, .. } if found.contains("version 2")), "{error}");
    let error = refusal(|source| fs::write(source.file("namespaces.dat"), b"nnf\x02").unwrap());
    assert!(matches!(&error, Error::Unsupported { found, .. } if found.contains("version 2")), "{error}");
    // The version of LMDB's own format, in both meta pages.
    let error = refusal(|source| {
        let mut bytes = fs::read(source.file("values/data.mdb")).unwrap();
        (bytes[20], bytes[4096 + 20]) = (2, 2);
        fs::write(source.file("values/data.mdb"), bytes).unwrap();
    });
    assert!(matches!(&error, Error::Unsupported { found, .. } if found.contains("LMDB's format")), "{error}");
}

#[test]
fn a_target_that_exists_is_left_as_it_is() {
    let source = Source::new("lmdb-5.2.0");
    fs::write(source.target(), "precious").unwrap();
    assert!(matches!(source.migrate(), Err(Error::TargetExists { is_directory: false, .. })));
    assert_eq!(fs::read(source.target()).unwrap(), b"precious");
    fs::remove_file(source.target()).unwrap();
    fs::create_dir(source.target()).unwrap();
    let error = source.migrate().unwrap_err();
    assert!(matches!(error, Error::TargetExists { is_directory: true, .. }));
    assert!(error.to_string().contains("store.ful"), "{error}");
    assert_eq!(source.others().into_iter().collect::<Vec<_>>(), ["copy.ful"]);
}

#[test]
fn the_lock_of_a_process_that_is_gone_does_not_matter() {
    let source = Source::new("lmdb-5.2.0");
    fs::create_dir(source.file("lock")).unwrap();
    fs::write(source.file("lock/locked"), "").unwrap();
    fs::write(source.file("lock/process"), "4711@host").unwrap();
    source.migrate().unwrap();
    assert!(source.file("lock/locked").exists());
}
