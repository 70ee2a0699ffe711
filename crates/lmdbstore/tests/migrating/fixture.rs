//! The stores in `tests/stores`, unpacked, and what copies of them have.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use fulgurite_lmdbstore::{LmdbStore, Migration, MigrationReport, Result};
use fulgurite_rdf::oxrdf::{Literal, Quad, Term};
use fulgurite_rdf::oxrdfio::{RdfFormat, RdfParser};
use fulgurite_rdf::{IdPattern, Quads, StatementKinds, Store};
use tempfile::TempDir;

/// The stores, by their directories.
pub const STORES: [&str; 2] = ["rdf4j-4.0.0", "rdf4j-5.2.0"];

/// A store in a directory of its own.
pub struct Source {
    directory: TempDir,
    name: &'static str,
}

impl Source {
    pub fn new(name: &'static str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store");
        for part in ["triples", "values"] {
            fs::create_dir_all(store.join(part)).unwrap();
            fs::write(store.join(part).join("data.mdb"), unpacked(name, &format!("{part}/data.mdb.gz"))).unwrap();
        }
        for file in ["lmdbrdf.ver", "namespaces.dat", "triples/triples.prop"] {
            fs::copy(stored(name).join(file), store.join(file)).unwrap();
        }
        Self { directory, name }
    }

    /// The data directory.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    /// A file of the store.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Where to copy it to.
    pub fn target(&self) -> PathBuf {
        self.directory.path().join("copy.ful")
    }

    /// Opens and copies it.
    pub fn migrate(&self) -> Result<MigrationReport> {
        Migration::new(&LmdbStore::open(&self.path())?).run(&self.target())
    }

    /// The names of files beside the store.
    pub fn others(&self) -> BTreeSet<String> {
        let names = fs::read_dir(self.directory.path()).unwrap();
        let mut names: BTreeSet<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.remove("store");
        names
    }

    /// The statements that RDF4J exports: explicit ones, or all. Language tags are in lower case.
    pub fn exported(&self, file: &str) -> BTreeSet<String> {
        let bytes = unpacked(self.name, file);
        let parser = RdfParser::from_format(RdfFormat::NQuads).lenient().for_slice(&bytes);
        parser.map(|quad| lower(quad.unwrap()).to_string()).collect()
    }

    /// The statements of the copy.
    pub fn copied(&self, kinds: StatementKinds) -> BTreeSet<String> {
        let store = Store::open(self.target()).unwrap();
        assert!(store.check().unwrap().is_sound());
        let snapshot = store.snapshot().unwrap().of_kinds(kinds);
        let statements = snapshot.statements(&IdPattern::ALL).map(|quad| quad.unwrap().to_string()).collect();
        drop(snapshot);
        store.close().unwrap();
        statements
    }
}

fn lower(mut quad: Quad) -> Quad {
    if let Term::Literal(literal) = &quad.object
        && let Some(language) = literal.language()
    {
        let language = language.to_ascii_lowercase();
        quad.object = Literal::new_language_tagged_literal_unchecked(literal.value(), language).into();
    }
    quad
}

fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores").join(name)
}

fn unpacked(name: &str, file: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(fs::File::open(stored(name).join(file)).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}
