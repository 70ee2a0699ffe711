//! [`LmdbStore`]: an open data directory.

use std::path::Path;

use fulgurite_rdf::oxrdf::Term;

use super::pages::{PageFile, Tree};
use super::statements::{self, Statements};
use super::values::Values;
use crate::directory::{Index, Lock, StatementIds, index, namespaces};
use crate::error::{Result, damaged};

/// The data directory of an `LmdbStore`, open for reading. Nothing in it is changed.
#[derive(Debug)]
pub struct LmdbStore {
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
    /// Whether a directory has statements of an `LmdbStore`.
    pub fn is_in(path: &Path) -> bool {
        path.join("triples").join("data.mdb").is_file()
    }

    /// Opens a directory.
    ///
    /// # Errors
    /// As [`Rdf4jStore::open`](crate::Rdf4jStore::open).
    pub fn open(path: &Path) -> Result<Self> {
        let lock = Lock::take(path)?;
        let properties = path.join("triples").join("triples.prop");
        let indexes = index::read(&properties, VERSION)?;
        let triples = PageFile::open(&path.join("triples").join("data.mdb"))?;
        let trees = indexes.iter().map(|index| trees(&triples, index)).collect::<Result<Vec<_>>>()?;
        let (index, explicit, inferred) = choose(&triples, &indexes, &trees)?;
        let values = path.join("values").join("data.mdb");
        if !values.is_file() {
            return Err(damaged(&values, "it is missing"));
        }
        Ok(Self {
            _lock: lock,
            values: Values::open(&values)?,
            namespaces: namespaces::read(&path.join("namespaces.dat"))?,
            index: index.clone(),
            triples,
            explicit,
            inferred,
        })
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
    /// [`Error::Read`](crate::Error::Read), [`Error::Damaged`](crate::Error::Damaged).
    pub fn is_explicit(&self, statement: &StatementIds) -> Result<bool> {
        self.triples.contains(&self.explicit, &statements::key(statement, &self.index))
    }

    /// The term of an id. Language tags are in lower case.
    ///
    /// # Errors
    /// [`Error::Read`](crate::Error::Read); [`Error::Damaged`](crate::Error::Damaged), also if there is no such term.
    pub fn term(&self, id: u64) -> Result<Term> {
        self.values.term(id)
    }

    /// The file of statements.
    pub fn statements_file(&self) -> &Path {
        self.triples.path()
    }

    /// Whether a program has changed the store since it was opened.
    ///
    /// # Errors
    /// [`Error::Read`](crate::Error::Read), [`Error::Damaged`](crate::Error::Damaged).
    pub fn has_changed(&self) -> Result<bool> {
        Ok(self.triples.has_changed()? || self.values.file().has_changed()?)
    }
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
        let name = if is_inferred { format!("{}-inf", index.name) } else { index.name.clone() };
        let tree = triples.named(&name)?;
        tree.ok_or_else(|| damaged(triples.path(), format!("the table `{name}` is missing")))
    };
    Ok((tree(false)?, tree(true)?))
}

/// The version of the format of statements that RDF4J 4.0 to 5.2 write.
const VERSION: i32 = 1;
