//! Changes of one quad: which tables it comes into, and which it leaves.
//!
//! A quad is in tables of explicit quads, or in those of inferred ones, or in none; if it is explicit it may be noted
//! as inferred too (see [`crate::quads::inferred`]). (1) What a change finds in tables that it does not write is
//! guarded, so that at every isolation two changes of one quad keep that. (2) All indexes of a kind have the same
//! quads.

use std::path::Path;

use fulgurite::{Read, WriteTxn};

use crate::error::Result;
use crate::model::id::TermId;
use crate::model::pattern::IdQuad;
use crate::quads::inferred::key_of_both;
use crate::tables::{Index, Inferred};
use crate::tables::{Tables, damaged};

/// Adds an explicit quad, and its graph. Returns whether it was not there as such. If it was inferred, it is both now.
///
/// # Errors
/// What the engine reports; part of it may be done then.
pub fn insert_explicit(txn: &mut WriteTxn, tables: &Tables, path: &Path, quad: &IdQuad) -> Result<bool> {
    if !insert(txn, tables.indexes_of(quad.graph), quad)? {
        return Ok(false);
    }
    if quad.graph != TermId::DEFAULT_GRAPH {
        tables.note_graph(txn, quad.graph)?;
    }
    if let Some(inferred) = &tables.inferred {
        note_explicit(txn, inferred, path, quad)?;
    }
    Ok(true)
}

/// Notes a quad that has become explicit as both, if it was inferred.
///
/// # Errors
/// As [`insert_explicit`].
pub fn note_explicit(txn: &mut WriteTxn, inferred: &Inferred, path: &Path, quad: &IdQuad) -> Result<()> {
    guard_inferred(txn, inferred, quad)?;
    if delete(txn, inferred.indexes_of(quad), path, quad)? {
        txn.put(&inferred.both, key_of_both(quad).as_bytes(), &[])?;
    }
    Ok(())
}

/// Takes an explicit quad away. Returns whether it was there as such. If it was both, it is inferred still.
///
/// # Errors
/// [`crate::Error::Damaged`]; what the engine reports; part of it may be done then.
pub fn remove_explicit(txn: &mut WriteTxn, tables: &Tables, path: &Path, quad: &IdQuad) -> Result<bool> {
    if !delete(txn, tables.indexes_of(quad.graph), path, quad)? {
        return Ok(false);
    }
    if let Some(inferred) = &tables.inferred {
        guard_inferred(txn, inferred, quad)?;
        if txn.delete(&inferred.both, key_of_both(quad).as_bytes())? {
            insert(txn, inferred.indexes_of(quad), quad)?;
        }
    }
    Ok(true)
}

/// Adds an inferred quad, and its graph. Returns whether it was not inferred.
///
/// # Errors
/// As [`insert_explicit`].
pub fn insert_inferred(txn: &mut WriteTxn, tables: &Tables, inferred: &Inferred, quad: &IdQuad) -> Result<bool> {
    if has_explicit(txn, tables, quad)? {
        return Ok(txn.insert(&inferred.both, key_of_both(quad).as_bytes(), &[])?);
    }
    if !insert(txn, inferred.indexes_of(quad), quad)? {
        return Ok(false);
    }
    if quad.graph != TermId::DEFAULT_GRAPH {
        tables.note_graph(txn, quad.graph)?;
    }
    Ok(true)
}

/// Has a quad be inferred no more. Returns whether it was. If it was both, it is explicit still.
///
/// # Errors
/// As [`remove_explicit`].
pub fn remove_inferred(
    txn: &mut WriteTxn,
    tables: &Tables,
    inferred: &Inferred,
    path: &Path,
    quad: &IdQuad,
) -> Result<bool> {
    match has_explicit(txn, tables, quad)? {
        true => Ok(txn.delete(&inferred.both, key_of_both(quad).as_bytes())?),
        false => delete(txn, inferred.indexes_of(quad), path, quad),
    }
}

/// Takes a quad away, be it explicit, inferred, or both.
///
/// # Errors
/// As [`remove_explicit`].
pub fn remove_all_kinds(txn: &mut WriteTxn, tables: &Tables, path: &Path, quad: &IdQuad) -> Result<()> {
    let Some(inferred) = &tables.inferred else { return remove_explicit(txn, tables, path, quad).map(drop) };
    if has_explicit(txn, tables, quad)? {
        guard_inferred(txn, inferred, quad)?;
        txn.delete(&inferred.both, key_of_both(quad).as_bytes())?;
        delete(txn, tables.indexes_of(quad.graph), path, quad)?;
    } else {
        delete(txn, inferred.indexes_of(quad), path, quad)?;
    }
    Ok(())
}

fn has_explicit(txn: &mut WriteTxn, tables: &Tables, quad: &IdQuad) -> Result<bool> {
    let first = first_of(tables.indexes_of(quad.graph));
    let key = first.order.key_of(quad);
    txn.guard(&first.table, key.as_bytes())?;
    Ok(txn.contains_key(&first.table, key.as_bytes())?)
}

fn guard_inferred(txn: &mut WriteTxn, inferred: &Inferred, quad: &IdQuad) -> Result<()> {
    let first = first_of(inferred.indexes_of(quad));
    txn.guard(&first.table, first.order.key_of(quad).as_bytes())?;
    Ok(txn.guard(&inferred.both, key_of_both(quad).as_bytes())?)
}

fn first_of(indexes: &[Index]) -> &Index {
    indexes.first().expect("a store has indexes of both")
}

fn insert(txn: &mut WriteTxn, indexes: &[Index], quad: &IdQuad) -> Result<bool> {
    let first = first_of(indexes);
    if !txn.insert(&first.table, first.order.key_of(quad).as_bytes(), &[])? {
        return Ok(false);
    }
    for index in &indexes[1..] {
        txn.put(&index.table, index.order.key_of(quad).as_bytes(), &[])?;
    }
    Ok(true)
}

fn delete(txn: &mut WriteTxn, indexes: &[Index], path: &Path, quad: &IdQuad) -> Result<bool> {
    let mut delete = |index: &Index| txn.delete(&index.table, index.order.key_of(quad).as_bytes());
    if !delete(first_of(indexes))? {
        return Ok(false);
    }
    for index in &indexes[1..] {
        if !delete(index)? {
            let place = format!("table `{}`", index.table.name());
            return Err(damaged(path, &place, "it has not a quad that another index has"));
        }
    }
    Ok(true)
}
