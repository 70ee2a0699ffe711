//! Taking terms out of the dictionary.

use std::path::Path;

use fulgurite::WriteTxn;
use oxrdf::NamedNodeRef;

use super::{IriNamespaces, bytes};
use crate::error::Result;
use crate::model::id::TermId;
use crate::tables::TermHasher;
use crate::tables::{Reads, Tables, damaged};

/// The bytes by which a term is looked for, of those that are stored.
///
/// # Errors
/// [`crate::Error::Damaged`]; what the engine reports.
fn encoded(
    reads: &impl Reads,
    tables: &Tables,
    namespaces: &IriNamespaces,
    path: &Path,
    stored: &[u8],
) -> Result<Vec<u8>> {
    let Some((number, rest)) = bytes::namespace_of(stored) else { return Ok(stored.to_vec()) };
    let rest = std::str::from_utf8(rest).map_err(|_| damaged(path, "table `terms`", "a term is not UTF-8"))?;
    let text = namespaces.text(reads, tables, path, number)?;
    let mut encoded = Vec::new();
    bytes::encode_iri(NamedNodeRef::new_unchecked(&[&*text, rest].concat()), &mut encoded);
    Ok(encoded)
}

/// Takes a term away in both directions. Returns whether it was there. Its number is never given to another.
///
/// # Errors
/// [`crate::Error::Damaged`]; what the engine reports; part of it may be done then.
pub fn remove(
    txn: &mut WriteTxn,
    tables: &Tables,
    namespaces: &IriNamespaces,
    path: &Path,
    hasher: TermHasher,
    id: TermId,
) -> Result<bool> {
    let Some(stored) = txn.get(&tables.terms, id.key().as_bytes())?.map(|stored| stored.to_vec()) else {
        return Ok(false);
    };
    let hash = hasher.hash(&encoded(txn, tables, namespaces, path, &stored)?).to_be_bytes();
    let chain = txn.get(&tables.ids, &hash)?.map_or_else(Vec::new, |chain| chain.to_vec());
    let (mut kept, mut rest) = (Vec::with_capacity(chain.len()), &chain[..]);
    while !rest.is_empty() {
        let other = TermId::take(&mut rest).filter(|id| id.tag().is_of_dictionary());
        let other = other.ok_or_else(|| damaged(path, "table `ids`", "a hash has what is not a number of a term"))?;
        if other != id {
            kept.extend_from_slice(other.key().as_bytes());
        }
    }
    if kept.len() == chain.len() {
        return Err(damaged(path, "table `terms`", "a term is there that no hash leads to"));
    }
    txn.delete(&tables.terms, id.key().as_bytes())?;
    match kept.is_empty() {
        true => txn.delete(&tables.ids, &hash).map(drop)?,
        false => txn.put(&tables.ids, &hash, &kept)?,
    }
    Ok(true)
}
