//! Damaged files: an error or a copy, but no panic, no hang, and no file of a failed migration.

use std::fs;

use fulgurite_migration::Error;

use crate::fixture::{STORES, Source};

/// The files of a store that have its content.
fn files(name: &str) -> &'static [&'static str] {
    if name.starts_with("lmdb") {
        &["triples/data.mdb", "values/data.mdb"]
    } else {
        &["values.dat", "values.id", "triples-posc.dat"]
    }
}

#[test]
fn a_truncated_file_is_damaged() {
    for name in STORES {
        for file in files(name) {
            let source = Source::new(name);
            let whole = fs::read(source.file(file)).unwrap();
            let lengths = [0, 1, 3, 4, 15, 100, 4096, 4200, 8192, 8193, whole.len() / 4, whole.len() / 2];
            for length in lengths.into_iter().filter(|length| *length < whole.len()) {
                fs::write(source.file(file), &whole[..length]).unwrap();
                let error = source.migrate().unwrap_err();
                assert!(matches!(&error, Error::Damaged { path, .. } if path.ends_with(file)), "{length}: {error}");
                assert!(source.others().is_empty(), "{name}, {file}, {length}");
            }
        }
    }
}

#[test]
fn a_file_of_something_else_is_damaged() {
    for name in ["lmdb-5.2.0", "native-5.2.0"] {
        for file in files(name) {
            for content in ["x".repeat(100_000), "\0".repeat(100_000)] {
                let source = Source::new(name);
                fs::write(source.file(file), content).unwrap();
                let error = source.migrate().unwrap_err();
                assert!(matches!(&error, Error::Damaged { path, .. } if path.ends_with(file)), "{file}: {error}");
            }
        }
    }
}

/// What is wrong with a file of a `NativeStore` after a change of it.
fn native_offence(file: &str, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let source = Source::new("native-5.2.0");
    let mut bytes = fs::read(source.file(file)).unwrap();
    change(&mut bytes);
    fs::write(source.file(file), bytes).unwrap();
    let error = source.migrate().unwrap_err();
    assert!(source.others().is_empty());
    match error {
        Error::Damaged { path, offence } if path.ends_with("values.dat") || path.ends_with(file) => offence,
        other => panic!("{file}: {other}"),
    }
}

/// The place of a value's kind in `values.dat`, by the bytes that it begins with, and its length before it.
fn place_of(bytes: &[u8], begin: &[u8]) -> usize {
    let at = bytes.windows(begin.len()).position(|window| window == begin);
    at.expect("the store has such a value")
}

#[test]
fn values_of_a_native_store_that_are_of_a_wrong_kind_or_length_are_damage() {
    // An IRI: its length, its kind, the number of its namespace, its local name.
    let namespace = |bytes: &[u8]| place_of(bytes, b"subject1") - 4;
    let wrong = native_offence("values.dat", |bytes| {
        let at = namespace(bytes);
        bytes[at..at + 4].copy_from_slice(&2_u32.to_be_bytes());
    });
    assert!(wrong.ends_with("its namespace is a value of another kind"), "{wrong}");
    let wrong = native_offence("values.dat", |bytes| {
        let at = namespace(bytes) - 5;
        bytes[at] = 0x80;
    });
    assert!(wrong.ends_with("its length is negative"), "{wrong}");
    let wrong = native_offence("values.dat", |bytes| {
        let at = namespace(bytes) - 1;
        bytes[at] = 9;
    });
    assert!(wrong.ends_with("it is a namespace where a statement needs a term"), "{wrong}");
    // A literal: its kind, the number of its datatype, the length of its tag, its label.
    let wrong = native_offence("values.dat", |bytes| {
        let at = place_of(bytes, b"not a number") - 5;
        bytes[at..at + 4].copy_from_slice(&1_u32.to_be_bytes());
    });
    assert!(wrong.ends_with("its datatype is not an IRI"), "{wrong}");
    let wrong = native_offence("values.dat", |bytes| {
        let at = place_of(bytes, b"not a number") - 1;
        bytes[at] = 200;
    });
    assert!(wrong.ends_with("it ends too early"), "{wrong}");
    let wrong = native_offence("values.dat", |bytes| {
        let at = place_of(bytes, b"not a number");
        bytes[at] = 0xff;
    });
    assert!(wrong.ends_with("it is not UTF-8"), "{wrong}");
    let wrong = native_offence("values.id", |bytes| bytes[16..24].fill(0xff));
    assert!(wrong.ends_with("values.id has it at byte 18446744073709551615, where the file has ended"), "{wrong}");
    let wrong = native_offence("values.id", |bytes| bytes.truncate(80));
    assert!(wrong.ends_with("it is missing"), "{wrong}");
}

#[test]
fn an_index_without_a_statement_of_another_is_damaged() {
    let source = Source::new("native-5.2.0");
    let path = source.file("triples.prop");
    fs::write(path, "version=10\ntriple-indexes=posc,spoc\n").unwrap();
    fs::write(source.file("triples-spoc.dat"), tree(&[])).unwrap();
    let error = source.migrate().unwrap_err();
    let is_expected = |offence: &str| {
        offence
            .starts_with("the index spoc has 0 explicit and 0 inferred statements, but the index posc has 398 explicit")
    };
    assert!(matches!(&error, Error::Damaged { offence, .. } if is_expected(offence)), "{error}");
}

/// A tree of a `NativeStore` with these nodes of 2,048 bytes; the first one is the root. A node is its children, or 0
/// for each, and its records.
fn tree(nodes: &[(&[u32], &[[u32; 4]])]) -> Vec<u8> {
    let mut bytes = b"btf\x01".to_vec();
    [2048, 17, u32::from(!nodes.is_empty())].iter().for_each(|number| bytes.extend_from_slice(&number.to_be_bytes()));
    for (number, (children, records)) in nodes.iter().enumerate() {
        bytes.resize(2048 * (number + 1), 0);
        bytes.extend_from_slice(&(records.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&children[0].to_be_bytes());
        for (record, child) in records.iter().zip(&children[1..]) {
            record.iter().for_each(|id| bytes.extend_from_slice(&id.to_be_bytes()));
            bytes.push(1);
            bytes.extend_from_slice(&child.to_be_bytes());
        }
    }
    bytes.resize(2048 * (nodes.len() + 1), 0);
    bytes
}

#[test]
fn a_tree_that_is_none_ends_in_an_error() {
    let source = Source::new("native-5.2.0");
    fs::write(source.file("triples.prop"), "version=10\ntriple-indexes=spoc\n").unwrap();
    let offence = |nodes: &[(&[u32], &[[u32; 4]])]| {
        fs::write(source.file("triples-spoc.dat"), tree(nodes)).unwrap();
        match source.migrate().unwrap_err() {
            Error::Damaged { path, offence } if path.ends_with("triples-spoc.dat") => offence,
            other => panic!("{other}"),
        }
    };
    let [first, second] = [[1, 2, 3, 0], [1, 2, 4, 0]];
    assert_eq!(offence(&[(&[0, 0, 0], &[second, first])]), "the statements of the index spoc are not in order");
    assert_eq!(offence(&[(&[0, 0, 0], &[first, first])]), "the statements of the index spoc are not in order");
    assert_eq!(offence(&[(&[1, 0], &[first])]), "node 1: some of its children are missing");
    assert_eq!(offence(&[(&[1, 1], &[first])]), "node 1: it is too deep in the tree");
    assert!(offence(&[(&[2, 9], &[second]), (&[0, 0], &[first])]).starts_with("it ends within"));
    assert_eq!(
        offence(&[(&[2, 2], &[second]), (&[0, 0], &[first])]),
        "the statements of the index spoc are not in order"
    );
}

#[test]
fn a_statement_of_values_that_are_not_there_is_damage() {
    // The files of two stores, each sound, whose ids do not fit.
    let (source, other) = (Source::new("lmdb-5.2.0"), Source::new("lmdb-4.0.0"));
    for file in ["triples/data.mdb", "triples/triples.prop"] {
        fs::copy(other.file(file), source.file(file)).unwrap();
    }
    let error = source.migrate().unwrap_err();
    assert!(matches!(&error, Error::Damaged { path, .. } if path.ends_with("values/data.mdb")), "{error}");
    assert!(source.others().is_empty());
}

#[test]
fn a_statement_with_a_literal_as_its_predicate_is_damage() {
    let source = Source::new("lmdb-4.0.0");
    let mut bytes = fs::read(source.file("triples/data.mdb")).unwrap();
    let places: Vec<usize> = (0..bytes.len() - 4).filter(|&at| bytes[at..].starts_with(b"posc")).collect();
    assert!(places.len() > 1, "there are tables of explicit and of inferred statements");
    for at in places {
        bytes[at..at + 4].copy_from_slice(b"opsc");
    }
    fs::write(source.file("triples/data.mdb"), bytes).unwrap();
    fs::write(source.file("triples/triples.prop"), "version=1\ntriple-indexes=opsc\n").unwrap();
    let error = source.migrate().unwrap_err();
    let is_expected = |offence: &str| offence.ends_with("has a term of a wrong kind");
    assert!(matches!(&error, Error::Damaged { offence, .. } if is_expected(offence)), "{error}");
    assert!(source.others().is_empty());
}

#[test]
fn changed_bytes_end_in_an_error_or_a_copy() {
    let mut random = Random(0x5eed);
    for round in 0..300 {
        let name = ["lmdb-5.2.0", "native-5.2.0"][round % 2];
        let source = Source::new(name);
        let file = files(name)[round / 2 % files(name).len()];
        let mut bytes = fs::read(source.file(file)).unwrap();
        for _ in 0..1 + round % 4 {
            // Headers and offsets of pages, where numbers are.
            let page_bytes = if round % 2 == 0 { 4096 } else { 2048 };
            let page = page_bytes * (random.next() as usize % bytes.len().div_ceil(page_bytes));
            let within = random.next() as usize % if round % 3 == 0 { page_bytes } else { 64 };
            let offset = (page + within).min(bytes.len() - 1);
            bytes[offset] = random.next() as u8;
        }
        fs::write(source.file(file), bytes).unwrap();
        let outcome = source.migrate();
        let expected = usize::from(outcome.is_ok());
        assert_eq!(source.others().len(), expected, "seed 0x5eed, round {round}: {outcome:?}");
        let is_expected = matches!(outcome, Ok(_) | Err(Error::Damaged { .. } | Error::Unsupported { .. }));
        assert!(is_expected, "seed 0x5eed, round {round}: {outcome:?}");
    }
}

/// Numbers by xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }
}
