//! The dictionary: terms that are not inline in their ids, and their ids.
//!
//! (1) A term is found by its hash, and verified: chains have the ids of terms with the same hash. (2) A committed id
//! identifies its term until a sweep removes the term because no quad uses it, and never identifies another term. A
//! transaction that refers to an existing term guards its row of `terms` ([`guard`]), so that it conflicts with such a
//! sweep. (3) Ids are reserved in blocks, in separate transactions, so that transactions that add different terms do
//! not conflict. Transactions that add the same term conflict, by its hash.

pub mod bytes;
mod namespaces;
mod numbers;
pub(crate) mod predicates;
mod removal;
pub(crate) mod seeded_hash;
pub(crate) mod term_batch;
pub(crate) mod term_batches;
pub(crate) mod term_usage;

use std::path::Path;

use fulgurite::WriteTxn;
use oxrdf::{NamedNode, Term};

use crate::dictionary::term_usage::{Probe, is_used};
use crate::error::{Error, Result};
use crate::model::id::{Tag, TermId};
use crate::tables::{Reads, Tables, damaged};

pub use namespaces::{
    IriNamespaces, NAMESPACE_NUMBER_MAX, NAMESPACES_MAX, Numbered as NumberedNamespaces,
    numbers_of as numbers_of_namespaces, split as split_namespace,
};
pub use numbers::{Numbers, check as check_numbers, end as end_of_numbers};
pub use removal::remove;

/// The number of the term with these [bytes](bytes::encode).
///
/// # Errors
/// [`crate::Error::Damaged`]; what the engine reports.
pub fn find(
    reads: &impl Reads,
    tables: &Tables,
    namespaces: &IriNamespaces,
    path: &Path,
    hash: u128,
    bytes: &[u8],
) -> Result<Option<TermId>> {
    let Some(chain) = reads.get(&tables.ids, &hash.to_be_bytes())? else { return Ok(None) };
    find_in_chain(reads, tables, namespaces, path, &chain, bytes)
}

/// As [`find`], where `chain` is what the table `ids` has of its hash.
///
/// # Errors
/// As [`find`].
pub fn find_in_chain(
    reads: &impl Reads,
    tables: &Tables,
    namespaces: &IriNamespaces,
    path: &Path,
    chain: &[u8],
    bytes: &[u8],
) -> Result<Option<TermId>> {
    let mut rest = chain;
    while !rest.is_empty() {
        let id = TermId::take(&mut rest).filter(|id| id.tag().is_of_dictionary());
        let id = id.ok_or_else(|| damaged(path, "table `ids`", "a hash has what is not a number of a term"))?;
        let stored = reads.get(&tables.terms, id.key().as_bytes())?;
        let stored = stored.ok_or_else(|| damaged(path, "table `terms`", "a number that a hash has is not there"))?;
        if is_same(reads, tables, namespaces, path, &stored, bytes)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn is_same(
    reads: &impl Reads,
    tables: &Tables,
    namespaces: &IriNamespaces,
    path: &Path,
    stored: &[u8],
    bytes: &[u8],
) -> Result<bool> {
    let Some((number, rest)) = bytes::namespace_of(stored) else { return Ok(stored == bytes) };
    let Some(text) = bytes::iri_text(bytes).and_then(|text| text.strip_suffix(rest)) else { return Ok(false) };
    Ok(namespaces.text(reads, tables, path, number)?.as_bytes() == text)
}

/// The term of a number that is in the dictionary. Requires: the tables are all that there are.
///
/// # Errors
/// [`crate::Error::NoSuchTerm`] if there is no such number, and no quad has it; [`crate::Error::Damaged`], also if a
/// quad has the number, or if the store lacks the indexes to find that out; errors of the engine.
pub fn term(reads: &impl Reads, tables: &Tables, namespaces: &IriNamespaces, path: &Path, id: TermId) -> Result<Term> {
    let stored = reads.get(&tables.terms, id.key().as_bytes())?;
    if stored.is_none()
        && let Some(probes) = Probe::all(tables)
        && !is_used(reads, tables, &probes, id)?
    {
        return Err(Error::NoSuchTerm { path: path.to_path_buf(), number: id.to_bits() });
    }
    let stored = checked(path, id, stored.as_deref())?;
    let wrong = |offence: &str| damaged_term(path, id, offence);
    if bytes::namespace_of(stored).is_none() {
        return bytes::decode(stored).map_err(wrong);
    }
    let bytes::Stored::IriInNamespace { number, rest } = bytes::take_apart(stored).map_err(wrong)? else {
        unreachable!("it has a namespace");
    };
    let namespace = namespaces.text(reads, tables, path, number)?;
    let mut iri = String::with_capacity(namespace.len() + rest.len());
    iri.push_str(&namespace);
    iri.push_str(rest);
    Ok(NamedNode::new_unchecked(iri).into())
}

/// What the table `terms` has of a number, if that can be its term.
///
/// # Errors
/// [`crate::Error::Damaged`].
pub fn checked<'s>(path: &Path, id: TermId, stored: Option<&'s [u8]>) -> Result<&'s [u8]> {
    match stored {
        None => Err(damaged_term(path, id, "it is not there")),
        Some(stored) if !bytes::fits(id.tag(), stored) => {
            Err(damaged_term(path, id, "it is of another kind than its number"))
        }
        Some(stored) => Ok(stored),
    }
}

/// A number that stands for what cannot be its term.
#[cold]
pub fn damaged_term(path: &Path, id: TermId, offence: &str) -> Error {
    damaged(path, &format!("term {:#x}", id.to_bits()), offence)
}

/// Lets the transaction commit only if nobody has taken this term away since it began.
///
/// # Errors
/// What the engine reports.
pub fn guard(txn: &mut WriteTxn, tables: &Tables, id: TermId) -> Result<()> {
    Ok(txn.guard(&tables.terms, id.key().as_bytes())?)
}

/// Adds a term that is not there. Requires: the transaction has [refreshed](IriNamespaces::refresh) the namespaces, if
/// it is an IRI.
///
/// # Errors
/// What the engine reports.
pub fn add(
    txn: &mut WriteTxn,
    tables: &Tables,
    namespaces: &IriNamespaces,
    hash: u128,
    bytes: &[u8],
    id: TermId,
) -> Result<()> {
    debug_assert!(id.tag().is_of_dictionary());
    let hash = hash.to_be_bytes();
    let mut chain = txn.get(&tables.ids, &hash)?.map_or_else(Vec::new, |chain| chain.to_vec());
    chain.extend_from_slice(id.key().as_bytes());
    let mut short = Vec::new();
    let stored = if id.tag() == Tag::IRI && namespaces.shorten(bytes, &mut short) { &short } else { bytes };
    // In this order: if the second fails and the caller goes on, a term is left that no hash leads to, not a hash that
    // leads nowhere.
    txn.put(&tables.terms, id.key().as_bytes(), stored)?;
    Ok(txn.put(&tables.ids, &hash, &chain)?)
}
