//! [`LmdbStore`]: an open data directory.

use std::path::{Path, PathBuf};

use fulgurite_rdf::oxrdf::Term;

use super::index::{self, Index};
use super::lock::Lock;
use super::namespaces;
use super::statements::{StatementIds, Statements};
use super::values::Values;
use crate::error::{Error, Result, damaged};
use crate::pages::{PageFile, Tree};

/// The data directory of an `LmdbStore`, open for reading. Nothing in it is changed.
#[derive(Debug)]
pub struct LmdbStore {
    path: PathBuf,
    _lock: Lock,
    values: Values,
    triples: PageFile,
    /// The index that is read.
    index: Index,
    explicit: Tree,
    inferred: Tree,
    namespaces: Vec<(String, String)>,
}

impl LmdbStore {
    /// Opens a directory.
    ///
    /// # Errors
    /// [`Error::NotAnLmdbStore`], [`Error::NativeStore`]; [`Error::InUse`] if a process has the store open;
    /// [`Error::Damaged`] if a file is damaged or missing; [`Error::Unsupported`] if its format is newer;
    /// [`Error::Read`].
    pub fn open(path: &Path) -> Result<Self> {
        check_kind(path)?;
        let lock = Lock::take(path)?;
        let properties = path.join("triples").join("triples.prop");
        let indexes = index::read(&properties)?;
        let triples = PageFile::open(&path.join("triples").join("data.mdb"))?;
        let trees = indexes.iter().map(|index| trees(&triples, index)).collect::<Result<Vec<_>>>()?;
        let (index, explicit, inferred) = choose(&triples, &indexes, &trees)?;
        let values = path.join("values").join("data.mdb");
        if !values.is_file() {
            return Err(damaged(&values, "it is missing"));
        }
        Ok(Self {
            path: path.to_path_buf(),
            _lock: lock,
            values: Values::open(&values)?,
            namespaces: namespaces::read(&path.join("namespaces.dat"))?,
            index: index.clone(),
            triples,
            explicit,
            inferred,
        })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of explicit statements.
    pub fn explicit_count(&self) -> u64 {
        self.explicit.entries
    }

    /// The number of inferred statements.
    pub fn inferred_count(&self) -> u64 {
        self.inferred.entries
    }

    /// The prefixes and IRIs of namespaces.
    pub fn namespaces(&self) -> &[(String, String)] {
        &self.namespaces
    }

    /// The explicit statements.
    pub fn explicit(&self) -> Statements<'_> {
        Statements::new(&self.triples, &self.index, self.explicit)
    }

    /// The inferred statements.
    pub fn inferred(&self) -> Statements<'_> {
        Statements::new(&self.triples, &self.index, self.inferred)
    }

    /// Whether a statement is explicit.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Damaged`].
    pub fn is_explicit(&self, statement: &StatementIds) -> Result<bool> {
        self.triples.contains(&self.explicit, &statement.key(&self.index))
    }

    /// The term of an id. Language tags are in lower case.
    ///
    /// # Errors
    /// [`Error::Read`]; [`Error::Damaged`], also if there is no such term.
    pub fn term(&self, id: u64) -> Result<Term> {
        self.values.term(id)
    }

    /// Damage of a statement: one of its terms is of a kind that does not belong there.
    pub(crate) fn damaged_statement(&self, statement: &StatementIds) -> Error {
        let StatementIds { subject, predicate, object, context } = statement;
        let offence = format!("the statement ({subject}, {predicate}, {object}, {context}) has a term of a wrong kind");
        damaged(self.triples.path(), offence)
    }

    /// Checks that no program has changed the store since it was opened. All that was read is of one state then.
    ///
    /// # Errors
    /// [`Error::Changed`]; [`Error::Read`], [`Error::Damaged`].
    pub fn check_unchanged(&self) -> Result<()> {
        if self.triples.has_changed()? || self.values.file().has_changed()? {
            return Err(Error::Changed { path: self.path.clone() });
        }
        Ok(())
    }
}

/// Refuses what is not the directory of an `LmdbStore`.
fn check_kind(path: &Path) -> Result<()> {
    let not_a_store = |found| Error::NotAnLmdbStore { path: path.to_path_buf(), found };
    let metadata = path.metadata().map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    if !metadata.is_dir() {
        return Err(not_a_store("it is a file"));
    }
    if path.join("triples").join("data.mdb").is_file() {
        return Ok(());
    }
    if path.join("values.dat").is_file() {
        return Err(Error::NativeStore { path: path.to_path_buf() });
    }
    Err(not_a_store("it has no triples/data.mdb"))
}

/// The index to read, and its tables.
///
/// All indexes have the same explicit statements. When an inferred statement becomes explicit, RDF4J 5.2 removes it
/// from the inferred ones of one index only, which it then reads: the one with the fewest.
fn choose<'i>(triples: &PageFile, indexes: &'i [Index], trees: &[(Tree, Tree)]) -> Result<(&'i Index, Tree, Tree)> {
    let pairs = || indexes.iter().zip(trees);
    let (index, (explicit, inferred)) =
        pairs().min_by_key(|(_, (_, inferred))| inferred.entries).expect("a store has an index");
    match pairs().find(|(_, (other, _))| other.entries != explicit.entries) {
        None => Ok((index, *explicit, *inferred)),
        Some((other, (tree, _))) => {
            let (name, count, other, other_count) = (&index.name, explicit.entries, &other.name, tree.entries);
            let offence = format!("the index {name} has {count} statements, and {other} has {other_count}");
            Err(damaged(triples.path(), offence))
        }
    }
}

/// The tables of an index.
fn trees(triples: &PageFile, index: &Index) -> Result<(Tree, Tree)> {
    let tree = |is_inferred| {
        let name = index.table(is_inferred);
        let tree = triples.named(&name)?;
        tree.ok_or_else(|| damaged(triples.path(), format!("the table `{name}` is missing")))
    };
    Ok((tree(false)?, tree(true)?))
}
