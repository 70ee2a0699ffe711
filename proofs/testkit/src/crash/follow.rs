//! The change feed after a power cut: from every state that is kept it leads through each later one to what the
//! database shows.
//!
//! Only where the log is kept; there, each commit and each load of a workload has one number, so that the state after
//! commit N is state N. A load, or a transaction that had spilled, that the power cut off may have left its note, and
//! then a number.

use fulgurite::{Change, ChangedTable, Database, Error, Sequence};

use super::history::Expected;
use crate::holdings::{Holdings, digest_of};
use crate::random::Random;

/// Follows the changes of `db` from some of the states that led to what it shows. Does nothing if the log is not kept.
///
/// # Errors
/// What is wrong, in words.
pub fn follow(db: &Database, expected: &Expected, random: &mut Random) -> Result<(), String> {
    let failed = |error: Error| format!("changes: {error}");
    let Some(oldest) = db.stats().map_err(failed)?.oldest_change else { return Ok(()) };
    let newest = db.changes(Sequence(oldest - 1)).map_err(failed)?.through().0;
    let from = |after| db.changes(Sequence(after))?.collect::<Result<Vec<_>, _>>();
    let all = from(oldest - 1).map_err(failed)?;
    let loads = all.iter().any(|commit| matches!(commit.changes[..], [Change::BulkLoaded { .. }, ..]));
    let shows = shows(expected, newest, db).map_err(failed)?;
    if !loads && shows == Some(false) {
        return Err(format!("changes: they end at {newest}, and what is shown is not what they lead to"));
    }
    let is_numbered = !loads || (shows == Some(true) && newest <= expected.counted_through);
    for after in [oldest - 1, newest, oldest - 1 + random.below(newest + 2 - oldest)] {
        let commits = from(after).map_err(failed)?;
        if commits.iter().map(|commit| commit.sequence.0).ne(after + 1..=newest) {
            return Err(format!("changes: some are missing from {after} to {newest}"));
        }
        if !is_numbered {
            continue;
        }
        let Some(start) = expected.states.get(after as usize) else { continue };
        let mut holdings = Holdings::clone(start);
        for commit in &commits {
            let number = commit.sequence.0;
            let Some(state) = expected.states.get(number as usize) else {
                return Err(format!("changes: there never was a commit {number}"));
            };
            commit.changes.iter().try_for_each(|change| apply(&mut holdings, state, change))?;
            if holdings.digest() != state.digest() {
                return Err(format!("changes: from {after} on they lead astray at {number}"));
            }
        }
    }
    let trimmed = expected.states.iter().any(|state| state.table(TRIMMED).is_some());
    if oldest == 1 || trimmed { Ok(()) } else { Err(format!("changes: the oldest is {oldest}")) }
}

/// Whether the database shows the state of that number: not so after a load that left nothing but its note. None if
/// it shows later commits too.
fn shows(expected: &Expected, newest: u64, db: &Database) -> Result<Option<bool>, Error> {
    let txn = db.read()?;
    if txn.sequence().0 != newest {
        return Ok(None);
    }
    let shown = digest_of(&txn)?;
    Ok(Some(expected.states.get(newest as usize).is_some_and(|state| state.digest() == shown)))
}

/// Does what a change says; what it does not say is taken from the state that the commit led to.
fn apply(holdings: &mut Holdings, state: &Holdings, change: &Change) -> Result<(), String> {
    let name = |table: &ChangedTable| table.name.as_deref().map(str::to_owned);
    match change {
        Change::Put { table, key, value } => {
            // A table without a name is dropped later, and its entries with it.
            let Some(name) = name(table) else { return Ok(()) };
            holdings.table_mut(&name).put(key, value);
        }
        Change::Superseded { table, key, .. } => {
            let Some(name) = name(table) else { return Ok(()) };
            let value = state.table(&name).and_then(|entries| entries.get(key));
            holdings.table_mut(&name).put(key, value.ok_or("changes: a value is superseded that never was")?);
        }
        Change::Delete { table, key } => {
            let Some(name) = name(table) else { return Ok(()) };
            holdings.table_mut(&name).delete(key);
        }
        Change::TableCreated { table } => {
            holdings.create_table(&name(table).ok_or("changes: a new table has no name")?);
        }
        Change::TableDropped { table } => {
            holdings.drop_table(&name(table).ok_or("changes: a dropped table has no name")?);
        }
        Change::BulkLoaded { table } => {
            let Some(name) = name(table) else { return Ok(()) };
            let loaded = state.table(&name).ok_or("changes: a load of a table that is not there")?;
            // What a large transaction deleted is not told either.
            holdings.drop_table(&name);
            holdings.create_table(&name);
            let keys: Vec<Vec<u8>> = loaded.iter().map(|(key, _)| key.to_vec()).collect();
            for key in keys {
                let value = loaded.get(&key).unwrap_or_default();
                holdings.table_mut(&name).put(&key, value);
            }
        }
        other => return Err(format!("changes: an unknown one: {other:?}")),
    }
    Ok(())
}

/// A workload with a table of this name keeps less than all of its log.
pub const TRIMMED: &str = "only the newest changes are kept";
