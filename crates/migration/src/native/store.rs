//! [`NativeStore`]: an open data directory.

use std::path::Path;

use fulgurite_rdf::oxrdf::Term;

use super::file::StoreFile;
use super::statements::Statements;
use super::status::Unfinished;
use super::tree::Tree;
use super::values::Values;
use crate::directory::{Lock, index, namespaces};
use crate::error::{Error, Result, damaged};

/// The data directory of a `NativeStore`, open for reading. Nothing in it is changed.
#[derive(Debug)]
pub struct NativeStore {
    _lock: Lock,
    values: Values,
    /// The first index is read.
    indexes: Vec<Tree>,
    unfinished: Unfinished,
    counts: Counts,
    namespaces: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    explicit: u64,
    inferred: u64,
}

impl NativeStore {
    /// Whether a directory has values of a `NativeStore`.
    pub fn is_in(path: &Path) -> bool {
        path.join("values.dat").is_file()
    }

    /// Opens a directory, and reads its indexes: they have no numbers of their statements.
    ///
    /// # Errors
    /// As [`Rdf4jStore::open`](crate::Rdf4jStore::open).
    pub fn open(path: &Path) -> Result<Self> {
        let lock = Lock::take(path)?;
        let known = index::read(&path.join("triples.prop"), VERSION)?;
        let indexes = known.iter().map(|index| Tree::open(path, index)).collect::<Result<Vec<_>>>()?;
        let unfinished = Unfinished::read(&path.join("txn-status"))?;
        let counts = counts(&indexes, unfinished).map_err(|error| {
            // What looks like damage may be what another program is writing.
            let is_changed = indexes.iter().any(|tree| tree.file().has_changed());
            if is_changed { Error::Changed { path: path.to_path_buf() } } else { error }
        })?;
        let namespaces = namespaces::read(&path.join("namespaces.dat"))?;
        Ok(Self { _lock: lock, values: Values::open(path)?, indexes, unfinished, counts, namespaces })
    }

    /// The number of explicit statements.
    pub fn explicit_count(&self) -> u64 {
        self.counts.explicit
    }

    /// The number of inferred statements.
    pub fn inferred_count(&self) -> u64 {
        self.counts.inferred
    }

    /// The prefixes and IRIs of namespaces.
    pub fn namespaces(&self) -> &[(String, String)] {
        &self.namespaces
    }

    /// The explicit statements, or those that are only inferred.
    pub fn statements(&self, are_explicit: bool) -> Statements<'_> {
        Statements::new(self.indexes[0].records(), self.unfinished, are_explicit)
    }

    /// The file of statements.
    pub fn statements_file(&self) -> &Path {
        self.indexes[0].file().path()
    }

    /// The term of an id.
    ///
    /// # Errors
    /// As [`Values::term`].
    pub fn term(&self, id: u64) -> Result<Term> {
        self.values.term(id)
    }

    /// Whether a program has changed values or statements since the store was opened.
    pub fn has_changed(&self) -> bool {
        self.values.files().into_iter().chain(self.indexes.iter().map(Tree::file)).any(StoreFile::has_changed)
    }
}

/// The numbers of statements, which must be the same in all indexes.
fn counts(indexes: &[Tree], unfinished: Unfinished) -> Result<Counts> {
    let mut first: Option<(&Tree, Counts)> = None;
    for tree in indexes {
        let mut counts = Counts::default();
        for record in tree.records() {
            match unfinished.is_explicit(&record?) {
                Some(true) => counts.explicit += 1,
                Some(false) => counts.inferred += 1,
                None => {}
            }
        }
        let (other, expected) = *first.get_or_insert((tree, counts));
        if counts != expected {
            let told = |tree: &Tree, Counts { explicit, inferred }| {
                format!("the index {} has {explicit} explicit and {inferred} inferred statements", tree.index().name)
            };
            let offence = format!("{}, but {}", told(tree, counts), told(other, expected));
            return Err(damaged(tree.file().path(), offence));
        }
    }
    Ok(first.map(|(_, counts)| counts).unwrap_or_default())
}

/// The version of the format of statements.
const VERSION: i32 = 10;
