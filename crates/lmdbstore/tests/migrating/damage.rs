//! Damaged files: an error or a copy, but no panic, no hang, and no file of a failed migration.

use std::fs;

use fulgurite_lmdbstore::Error;

use crate::fixture::{STORES, Source};

const FILES: [&str; 2] = ["triples/data.mdb", "values/data.mdb"];

#[test]
fn a_truncated_file_is_damaged() {
    for name in STORES {
        for file in FILES {
            let source = Source::new(name);
            let whole = fs::read(source.file(file)).unwrap();
            let lengths = [0, 1, 100, 4096, 4200, 8192, 8193, whole.len() / 4, whole.len() / 2];
            for length in lengths {
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
    for file in FILES {
        for content in ["x".repeat(100_000), "\0".repeat(100_000)] {
            let source = Source::new("rdf4j-5.2.0");
            fs::write(source.file(file), content).unwrap();
            let error = source.migrate().unwrap_err();
            let expected = "it is not a file of LMDB";
            assert!(matches!(&error, Error::Damaged { offence, .. } if offence == expected), "{error}");
        }
    }
}

#[test]
fn a_statement_of_values_that_are_not_there_is_damage() {
    // The files of two stores, each sound, whose ids do not fit.
    let (source, other) = (Source::new("rdf4j-5.2.0"), Source::new("rdf4j-4.0.0"));
    for file in ["triples/data.mdb", "triples/triples.prop"] {
        fs::copy(other.file(file), source.file(file)).unwrap();
    }
    let error = source.migrate().unwrap_err();
    assert!(matches!(&error, Error::Damaged { path, .. } if path.ends_with("values/data.mdb")), "{error}");
    assert!(source.others().is_empty());
}

#[test]
fn a_statement_with_a_literal_as_its_predicate_is_damage() {
    let source = Source::new("rdf4j-4.0.0");
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
    for round in 0..150 {
        let source = Source::new("rdf4j-5.2.0");
        let file = FILES[round % 2];
        let mut bytes = fs::read(source.file(file)).unwrap();
        for _ in 0..1 + round % 4 {
            // Headers and offsets of pages, where numbers are.
            let page = 4096 * (random.next() as usize % (bytes.len() / 4096));
            let offset = page + random.next() as usize % if round % 3 == 0 { 4096 } else { 64 };
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
