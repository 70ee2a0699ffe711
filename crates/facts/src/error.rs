//! [`Error`], the one error type of the crate.

use std::fmt;
use std::path::PathBuf;

use crate::angle::diagnostic::Diagnostic;
use crate::ids::{FactId, PredicateId};
use crate::state::State;
use crate::value::error::ValueError;

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The engine failed.
    Engine(Box<fulgurite::Error>),
    /// A fact has the key of another fact of its predicate, and another value.
    KeyHasOtherValue(Box<OtherValue>),
    /// There is no fact with this id, or not one that the call is about.
    NoSuchFact {
        /// The id.
        id: FactId,
    },
    /// A schema or a query is wrong.
    Angle(Box<Diagnostic>),
    /// Bytes are no value of their type.
    Value(ValueError),
    /// A query cannot be continued by these bytes, for a reason.
    Continuation(&'static str),
    /// A query took more time than it may, in a part that cannot be continued later.
    QueryTime,
    /// A query was ended by its [`CancellationToken`](crate::CancellationToken).
    Cancelled,
    /// A query needs more memory than it may.
    QueryMemory {
        /// How much it may.
        limit_bytes: usize,
    },
    /// A schema has no predicate with this id.
    NoPredicate(PredicateId),
    /// A predicate is not derived.
    NoDerivation {
        /// Its name.
        name: String,
    },
    /// A predicate is derived on demand: its facts cannot be stored.
    DerivedOnDemand {
        /// Its name.
        name: String,
    },
    /// Derivations had new facts again and again.
    DerivationLimit {
        /// A predicate that had new facts in the last round.
        name: String,
        /// How many rounds there were.
        rounds: u64,
        /// How many facts were derived.
        facts: u64,
    },
    /// A derived fact would refer to one that is derived on demand, and so not stored.
    DerivedReference {
        /// The predicate of the derived fact.
        name: String,
    },
    /// A derivation gives a key another value than a fact has that is there already.
    DerivedValue {
        /// The predicate and both values.
        message: Box<str>,
    },
    /// A fact is not what the schema says, or is not found where it must be.
    Invalid {
        /// The fact.
        fact: FactId,
        /// What is wrong.
        what: String,
    },
    /// Facts as JSON are wrong.
    Json {
        /// Where: the line and the column, or the path.
        place: Box<str>,
        /// What is wrong.
        message: Box<str>,
    },
    /// A fact refers to one with a higher id, or to itself.
    RefersForward {
        /// The fact.
        fact: FactId,
        /// The id in it.
        reference: FactId,
    },
    /// No database of the stack has a unit of this name.
    NoSuchUnit {
        /// The name.
        name: String,
    },
    /// The file is a database of the engine, but not one of facts.
    NotFacts {
        /// The file.
        path: PathBuf,
        /// The names of its tables.
        tables: Box<[String]>,
    },
    /// A newer version of Fulgurite has written the database, in a format that this one does not read.
    NewerFormat {
        /// The file.
        path: PathBuf,
    },
    /// The database has no schema: it was created as a store of bytes.
    NoSchema {
        /// The file.
        path: PathBuf,
    },
    /// The base has another schema than the database on it would have.
    OtherSchema {
        /// The file of the base.
        path: PathBuf,
    },
    /// There is a database of facts at the path already.
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The database is not in the state that the call needs.
    WrongState {
        /// The file.
        path: PathBuf,
        /// Its state, such as `complete`.
        state: State,
        /// What it cannot do in this state, such as `define facts`.
        operation: &'static str,
    },
    /// The database is stacked on another one than was given, or on none, or was opened without its base.
    WrongBase {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: &'static str,
    },
    /// Other commits came between each time that a batch was tried.
    Contended {
        /// How often it was tried.
        attempts: u32,
    },
    /// The database is complete, but its file could not be made smaller.
    NotCompacted(Box<fulgurite::Error>),
    /// More facts, units or sets than the layout has numbers for.
    TooLarge,
    /// The tables of the database contradict each other.
    Damaged {
        /// What is wrong.
        what: &'static str,
    },
    /// LMDB failed: the file, what was tried, and why it failed.
    Lmdb(Box<(PathBuf, &'static str, Box<str>)>),
    /// The database is in LMDB, or would be, and this program was built without it.
    LmdbNotBuilt {
        /// The file.
        path: PathBuf,
    },
    /// A function that the program gave failed.
    Program(Box<dyn std::error::Error + Send + Sync>),
}

/// A fact that was not defined, and the one that has its key.
#[derive(Clone, Debug)]
pub struct OtherValue {
    /// The predicate of both.
    pub predicate: PredicateId,
    /// The fact that has the key already.
    pub existing: FactId,
    /// The key of both.
    pub key: Vec<u8>,
    /// The value of the existing fact.
    pub existing_value: Vec<u8>,
    /// The value of the fact that was not defined.
    pub value: Vec<u8>,
}

impl fmt::Display for OtherValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "cannot define a fact of predicate {} with key {} and value {}: fact {} has this key and the value {}; a key \
             has one value",
            self.predicate,
            Excerpt(&self.key),
            Excerpt(&self.value),
            self.existing,
            Excerpt(&self.existing_value)
        )
    }
}

// Reads return results of facts, which would be copied once more if errors were larger than facts. Paths are larger on
// Windows.
#[cfg(unix)]
const _: () = assert!(size_of::<Error>() <= 48);

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Angle(Box::new(diagnostic))
    }
}

impl From<ValueError> for Error {
    fn from(error: ValueError) -> Self {
        Self::Value(error)
    }
}

impl From<fulgurite::Error> for Error {
    fn from(error: fulgurite::Error) -> Self {
        Self::Engine(Box::new(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(out),
            Self::KeyHasOtherValue(other) => other.fmt(out),
            Self::Angle(diagnostic) => diagnostic.fmt(out),
            Self::Value(error) => error.fmt(out),
            Self::Continuation(reason) => {
                write!(out, "the query cannot be continued: {reason}; run it from the beginning")
            }
            Self::Cancelled => out.write_str("the query was cancelled"),
            Self::QueryTime
            | Self::QueryMemory { .. }
            | Self::DerivedReference { .. }
            | Self::DerivedOnDemand { .. }
            | Self::DerivationLimit { .. } => self.write_limit(out),
            Self::NoPredicate(predicate) => {
                write!(out, "the schema has no predicate {predicate}; use the schema that the database was made with")
            }
            Self::NoDerivation { name } => {
                write!(out, "{name} has no derivation in the schema; write one: `derive {name} stored …`")
            }
            Self::DerivedValue { message } => {
                write!(out, "{message}; make the derivation in the schema give each key one value")
            }
            Self::Invalid { fact, what } => write!(out, "fact {fact} is not valid: {what}; restore a backup"),
            Self::Json { place, message } => write!(out, "{place}: {message}"),
            Self::NoSuchFact { id } => write!(
                out,
                "this snapshot has no fact {id}; ids are valid only in the database that assigned them: look the fact up again"
            ),
            Self::RefersForward { fact, reference } => write!(
                out,
                "fact {fact} refers to fact {reference}, and a fact refers only to lower ids; define facts after those \
                 that they refer to"
            ),
            Self::NoSuchUnit { .. }
            | Self::NotFacts { .. }
            | Self::NewerFormat { .. }
            | Self::NoSchema { .. }
            | Self::OtherSchema { .. }
            | Self::Exists { .. }
            | Self::WrongState { .. }
            | Self::WrongBase { .. } => self.write_file(out),
            Self::Contended { attempts } => {
                let remedy = "write larger batches, or try again";
                write!(out, "other writers committed during each of {attempts} attempts; {remedy}")
            }
            Self::NotCompacted(error) => {
                write!(out, "the database is complete, but compacting its file failed: {error}; call Database::compact")
            }
            Self::TooLarge => out.write_str(
                "the database has no numbers left for facts, units or sets; divide the facts over several databases",
            ),
            Self::Damaged { what } => write!(out, "the database is damaged: {what}; restore a backup"),
            Self::Lmdb(failure) => {
                let (path, operation, reason) = &**failure;
                write!(out, "{}: LMDB cannot {operation}: {reason}", path.display())
            }
            Self::LmdbNotBuilt { path } => write!(
                out,
                "{}: LMDB stores this database, and the program was built without it; build it with the feature `lmdb`",
                path.display()
            ),
            Self::Program(error) => error.fmt(out),
        }
    }
}

impl Error {
    /// The message about a file that is not the one that the call needs.
    fn write_file(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchUnit { name } => {
                write!(out, "no unit `{name}` owns facts; `fulgurite facts units` (Snapshot::units) lists the units")
            }
            Self::NotFacts { path, tables } => {
                write!(out, "{}: a database, but not one of facts; ", path.display())?;
                match &tables[..] {
                    [] => out.write_str("if creating it was cut off, create it again"),
                    [first, .., last] => write!(out, "it has tables from `{first}` to `{last}`; choose another file"),
                    [only] => write!(out, "it has the table `{only}`; choose another file"),
                }
            }
            Self::NewerFormat { path } => {
                write!(out, "{}: the facts have a format that this version of Fulgurite ", path.display())?;
                out.write_str("does not read; open the database with a newer version")
            }
            Self::NoSchema { path } => {
                write!(out, "{}: the database has no schema; open it as a Store", path.display())
            }
            Self::OtherSchema { path } => {
                write!(out, "{}: the base has another schema; give the same one to the database on it", path.display())
            }
            Self::Exists { path } => {
                write!(out, "{}: there is a database of facts already; open it instead", path.display())
            }
            Self::WrongState { path, state, operation } => {
                let remedy = match state {
                    State::Incomplete => "complete it first (FactDatabase::complete, `fulgurite facts finish`)",
                    State::Finalising => {
                        "its completion was stopped: end it (FactDatabase::complete, `fulgurite facts finish`), and \
                         stack a new database on it"
                    }
                    _ => "use another database, or stack a new one on a complete one",
                };
                write!(out, "{}: cannot {operation}: the database is {state}; {remedy}", path.display())
            }
            Self::WrongBase { path, reason } => write!(out, "{}: {reason}", path.display()),
            _ => Ok(()),
        }
    }

    /// The message of a query or a derivation that went beyond what it may.
    fn write_limit(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueryTime => out.write_str(
                "time ran out in checking, planning, a negation or a set, where the query or schema cannot be continued; \
                 allow more time, or make it search fewer facts",
            ),
            Self::QueryMemory { limit_bytes } => write!(
                out,
                "the query needs more than {limit_bytes} bytes of memory; ask for fewer results at a time, or allow it \
                 more memory"
            ),
            Self::DerivationLimit { name, rounds, facts } => write!(
                out,
                "{name} had new facts in each of {rounds} rounds, in which {facts} facts were derived and stored; if its \
                 query keeps computing new values, add a bound to it; otherwise raise --rounds-max or --facts-max \
                 (DerivationLimits), and derive again"
            ),
            Self::DerivedOnDemand { name } => write!(
                out,
                "{name} is derived on demand, and its facts are not stored; to store them, write `stored` before its \
                 query in the schema"
            ),
            Self::DerivedReference { name } => write!(
                out,
                "a fact of {name} would refer to a fact that is derived on demand; store that predicate too, with \
                 `stored` before its query"
            ),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Angle(diagnostic) => Some(&**diagnostic),
            Self::Value(error) => Some(error),
            Self::Engine(error) | Self::NotCompacted(error) => Some(&**error),
            Self::Program(error) => Some(&**error),
            _ => None,
        }
    }
}

/// The beginning of some bytes, for messages.
struct Excerpt<'b>(&'b [u8]);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(EXCERPT_BYTES)];
        write!(out, "\"{}\"", shown.escape_ascii())?;
        if shown.len() < self.0.len() {
            write!(out, "… ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}

/// As much as fits a line.
const EXCERPT_BYTES: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_names_both_values_and_the_existing_fact() {
        let error = Error::KeyHasOtherValue(Box::new(OtherValue {
            predicate: PredicateId::FIRST,
            existing: FactId::FIRST,
            key: vec![b'k'; 100],
            existing_value: b"old\0".to_vec(),
            value: b"new".to_vec(),
        }));
        let message = error.to_string();
        for part in ["predicate 1024", "fact 1024", "\"new\"", "\"old\\x00\"", "… (100 bytes)"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
