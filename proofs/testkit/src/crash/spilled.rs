//! Workloads whose transactions are larger than the memory they may take.
//!
//! Each fails unless changes were spilled.

use fulgurite::{Durability, Error, MergeOperator, Result, TableOptions};

use super::draws::{any_change, any_draft, any_level, key, long_key, value};
use super::session::Session;
use super::side_by_side::Shape;
use crate::merge_function;

/// Large commits and small ones, by turns, and checkpoints between them.
pub(super) fn commits(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    session.table("b", TableOptions::new().counted(true))?;
    for step in 0..18 {
        let level = any_level(&mut session.random);
        let changes = if step % 3 == 2 { 2 } else { 40 };
        session.commit(level, |change, random| {
            // A key in both tables or in none shows a partial transaction.
            let key = key(random.below(60));
            ["a", "b"].iter().try_for_each(|name| change.put(name, &key, &value(random, LENGTHS)))?;
            (0..changes).try_for_each(|_| any_change(change, random, ["a", "b"][random.clone().index(2)], 90, LENGTHS))
        })?;
        match step % 6 {
            1 => session.checkpoint()?,
            4 => session.recover()?,
            _ => {}
        }
    }
    session.abort(|change, random| (0..60).try_for_each(|_| any_change(change, random, "a", 90, LENGTHS)))?;
    session.checkpoint()?;
    has_spilled(session)
}

/// Returns to savepoints from before spills and between them, and tables that come and go with large commits.
pub(super) fn savepoints(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for step in 0..14 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            let mut savepoints = vec![change.savepoint()];
            for part in 0..5 {
                (0..10).try_for_each(|_| any_change(change, random, "a", 80, LENGTHS))?;
                savepoints.push(change.savepoint());
                if part > 1 && random.chance(1, 2) {
                    let to = random.index(savepoints.len());
                    change.rollback_to(savepoints.swap_remove(to))?;
                    savepoints.truncate(to);
                }
                if savepoints.is_empty() {
                    savepoints.push(change.savepoint());
                }
            }
            let name = format!("table-{}", random.below(3));
            if change.holdings().table(&name).is_some() {
                change.drop_table(&name)?;
            }
            if random.chance(2, 3) {
                change.create_table(&name, TableOptions::new())?;
                (0..20).try_for_each(|number| change.put(&name, &key(number), &value(random, LENGTHS)))?;
            }
            Ok(())
        })?;
        match step % 5 {
            2 => session.checkpoint()?,
            4 => session.reopen()?,
            _ => {}
        }
    }
    has_spilled(session)
}

/// Values in pages and extents of their own, long keys, and merges, above a table of some ranges.
pub(super) fn values(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    session.table("lists", TableOptions::new().merge(MergeOperator::Append))?;
    session.table("functioned", TableOptions::new().merge_function(merge_function::JOINED))?;
    let entries: Vec<_> = (0..300).map(|number| (key(number), value(&mut session.random, 60..300))).collect();
    session.bulk_load("a", &entries)?;
    for step in 0..8 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            for _ in 0..25 {
                let key = if random.chance(1, 6) { long_key(random.below(12)) } else { key(random.below(300)) };
                match random.below(12) {
                    0 if step % 2 == 0 => change.put("a", &key, &value(random, 64 << 10..70 << 10))?,
                    1 => change.put("a", &key, &value(random, 9_000..20_000))?,
                    2..=4 => change.delete("a", &key)?,
                    _ => change.put("a", &key, &value(random, LENGTHS))?,
                }
            }
            Ok(())
        })?;
        let shape = Shape { threads: 1, commits: 1, checkpoint_share: u64::MAX };
        session.commit_side_by_side(shape, |draft, random| {
            (0..24).try_for_each(|number| {
                let table = ["lists", "functioned"][number % 2];
                draft.append(table, &key(random.below(9)), &value(random, LENGTHS))
            })
        })?;
        if step % 4 == 3 {
            session.checkpoint()?;
        }
    }
    has_spilled(session)
}

/// Threads that commit little and much, with the log kept.
pub(super) fn side_by_side(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for _ in 0..3 {
        let shape = Shape { threads: 3, commits: 8, checkpoint_share: 8 };
        session.commit_side_by_side(shape, |draft, random| {
            let changes = if random.chance(1, 3) { 30 } else { 2 };
            (0..changes).try_for_each(|_| any_draft(draft, random, "a", 80, LENGTHS))
        })?;
        has_spilled(session)?;
        session.recover()?;
    }
    session.put(Durability::Disk, "a", b"at last", b"one")
}

/// Since the database was opened.
fn has_spilled(session: &Session) -> Result<()> {
    match session.spilled_bytes()? {
        0 => Err(Error::Invalid { message: "nothing was spilled".into() }),
        _ => Ok(()),
    }
}

/// Lengths of most values.
const LENGTHS: std::ops::Range<usize> = 40..300;
