//! The stores in `tests/stores`, unpacked, and what copies of them have.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use fulgurite_migration::{Migration, MigrationReport, Rdf4jStore, Result};
use fulgurite_rdf::oxrdf::{Literal, Quad, Term};
use fulgurite_rdf::oxrdfio::{RdfFormat, RdfParser};
use fulgurite_rdf::{IdPattern, Quads, StatementKinds, Store};
use tempfile::TempDir;

/// The stores, by their directories.
pub const STORES: [&str; 4] = ["lmdb-4.0.0", "lmdb-5.2.0", "native-4.0.0", "native-5.2.0"];

/// A store in a directory of its own.
pub struct Source {
    directory: TempDir,
    name: &'static str,
}

impl Source {
    pub fn new(name: &'static str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        unpack(&stored(name), &directory.path().join("store"));
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
        Migration::new(&Rdf4jStore::open(&self.path())?).run(&self.target())
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
        let bytes = unpacked(&stored(self.name).join(file));
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

/// Copies the files of a store, unpacked, without what RDF4J exported.
fn unpack(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            unpack(&path, &to.join(name));
        } else if let Some(name) = name.strip_suffix(".gz").filter(|name| !name.ends_with(".nq")) {
            fs::write(to.join(name), unpacked(&path)).unwrap();
        } else if !name.ends_with(".gz") {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

fn unpacked(file: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(fs::File::open(file).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}
