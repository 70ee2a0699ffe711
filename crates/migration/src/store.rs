//! [`Rdf4jStore`]: the data directory of a store of RDF4J, whatever its kind.

use std::path::{Path, PathBuf};

use fulgurite_rdf::oxrdf::Term;

use crate::directory::StatementIds;
use crate::error::{Error, Result, damaged};
use crate::lmdb::{self, LmdbStore};
use crate::native::{self, NativeStore};

/// The data directory of an `LmdbStore` or a `NativeStore`, open for reading. Nothing in it is changed.
#[derive(Debug)]
pub struct Rdf4jStore {
    path: PathBuf,
    files: Files,
}

#[derive(Debug)]
enum Files {
    Lmdb(LmdbStore),
    Native(NativeStore),
}

impl Rdf4jStore {
    /// Opens a directory. The indexes of a `NativeStore` are read whole, because they do not say how many statements
    /// they have.
    ///
    /// # Errors
    /// [`Error::NotAStore`]; [`Error::InUse`] if a process has the store open; [`Error::Changed`]; [`Error::Damaged`]
    /// if a file is damaged or missing; [`Error::Unsupported`] if its format is not known; [`Error::Read`].
    pub fn open(path: &Path) -> Result<Self> {
        let not_a_store = |found| Error::NotAStore { path: path.to_path_buf(), found };
        let metadata = path.metadata().map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
        if !metadata.is_dir() {
            return Err(not_a_store("it is a file"));
        }
        let files = if LmdbStore::is_in(path) {
            Files::Lmdb(LmdbStore::open(path)?)
        } else if NativeStore::is_in(path) {
            Files::Native(NativeStore::open(path)?)
        } else {
            return Err(not_a_store("it has neither triples/data.mdb nor values.dat"));
        };
        Ok(Self { path: path.to_path_buf(), files })
    }

    /// The number of explicit statements.
    pub fn explicit_count(&self) -> u64 {
        match &self.files {
            Files::Lmdb(store) => store.explicit_count(),
            Files::Native(store) => store.explicit_count(),
        }
    }

    /// The number of inferred statements. An `LmdbStore` may count statements that are explicit too.
    pub fn inferred_count(&self) -> u64 {
        match &self.files {
            Files::Lmdb(store) => store.inferred_count(),
            Files::Native(store) => store.inferred_count(),
        }
    }

    /// The prefixes and IRIs of namespaces.
    pub fn namespaces(&self) -> &[(String, String)] {
        match &self.files {
            Files::Lmdb(store) => store.namespaces(),
            Files::Native(store) => store.namespaces(),
        }
    }

    /// The explicit statements.
    pub fn explicit(&self) -> Statements<'_> {
        Statements(match &self.files {
            Files::Lmdb(store) => Reading::Lmdb(store.explicit()),
            Files::Native(store) => Reading::Native(store.statements(true)),
        })
    }

    /// The inferred statements. Those of an `LmdbStore` may be [explicit](Rdf4jStore::is_explicit) too.
    pub fn inferred(&self) -> Statements<'_> {
        Statements(match &self.files {
            Files::Lmdb(store) => Reading::Lmdb(store.inferred()),
            Files::Native(store) => Reading::Native(store.statements(false)),
        })
    }

    /// Whether one of the inferred statements is explicit too.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Damaged`].
    pub fn is_explicit(&self, statement: &StatementIds) -> Result<bool> {
        match &self.files {
            Files::Lmdb(store) => store.is_explicit(statement),
            Files::Native(_) => Ok(false),
        }
    }

    /// The term of an id. Language tags are in lower case.
    ///
    /// # Errors
    /// [`Error::Read`]; [`Error::Damaged`], also if there is no such term.
    pub fn term(&self, id: u64) -> Result<Term> {
        match &self.files {
            Files::Lmdb(store) => store.term(id),
            Files::Native(store) => store.term(id),
        }
    }

    /// Damage of a statement: one of its terms is of a kind that does not belong there.
    pub(crate) fn damaged_statement(&self, statement: &StatementIds) -> Error {
        let file = match &self.files {
            Files::Lmdb(store) => store.statements_file(),
            Files::Native(store) => store.statements_file(),
        };
        let StatementIds { subject, predicate, object, context } = statement;
        let offence = format!("the statement ({subject}, {predicate}, {object}, {context}) has a term of a wrong kind");
        damaged(file, offence)
    }

    /// Checks that no program has changed the store since it was opened. All that was read is of one state then.
    ///
    /// # Errors
    /// [`Error::Changed`]; [`Error::Read`], [`Error::Damaged`].
    pub fn check_unchanged(&self) -> Result<()> {
        let has_changed = match &self.files {
            Files::Lmdb(store) => store.has_changed()?,
            Files::Native(store) => store.has_changed(),
        };
        if has_changed { Err(Error::Changed { path: self.path.clone() }) } else { Ok(()) }
    }
}

/// Reads statements.
#[derive(Debug)]
pub struct Statements<'s>(Reading<'s>);

#[derive(Debug)]
enum Reading<'s> {
    Lmdb(lmdb::Statements<'s>),
    Native(native::Statements<'s>),
}

impl Iterator for Statements<'_> {
    type Item = Result<StatementIds>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Reading::Lmdb(statements) => statements.next(),
            Reading::Native(statements) => statements.next(),
        }
    }
}
