//! Workloads that merge into values, by operators of the engine and by functions.

use fulgurite::{Durability, MergeOperator, Result, TableOptions};

use super::draws::{any_draft, key, value};
use super::session::Session;
use super::side_by_side::Shape;
use crate::merge_function;

/// See [`side_by_side`].
pub(super) fn by_operators(session: &mut Session) -> Result<()> {
    session.table("counts", TableOptions::new().merge(MergeOperator::Add))?;
    session.table("lists", TableOptions::new().merge(MergeOperator::Append))?;
    side_by_side(session)
}

/// See [`side_by_side`].
pub(super) fn by_functions(session: &mut Session) -> Result<()> {
    session.table("counts", TableOptions::new().merge_function(merge_function::ADDED))?;
    session.table("lists", TableOptions::new().merge_function(merge_function::JOINED))?;
    side_by_side(session)
}

/// Threads that merge into the same few keys, in whose way some put and delete; a result lost or counted twice shows
/// in the next state.
fn side_by_side(session: &mut Session) -> Result<()> {
    for _ in 0..3 {
        let shape = Shape { threads: 4, commits: 10, checkpoint_share: 20 };
        session.commit_side_by_side(shape, |draft, random| {
            for _ in 0..1 + random.index(3) {
                let key = key(random.below(3));
                match random.below(12) {
                    0 => draft.delete("counts", &key)?,
                    1 => draft.put("counts", &key, &random.next_u64().to_be_bytes())?,
                    2 => draft.put("lists", &key, &value(random, 10..400))?,
                    3 => draft.append("lists", &key, &value(random, 10..90_000))?,
                    4..=7 => draft.append("lists", &key, &value(random, 1..60))?,
                    _ => draft.add("counts", &key, random.below(1000))?,
                }
            }
            Ok(())
        })?;
        session.recover()?;
    }
    session.put(Durability::Disk, "lists", b"at last", b"alone")
}

/// Threads that append to a list that is too large for the log: each result is written to the data file before it is
/// logged, and freed if another thread is faster.
pub(super) fn large(session: &mut Session) -> Result<()> {
    session.table("lists", TableOptions::new().merge(MergeOperator::Append))?;
    let long = value(&mut session.random, LARGE_MERGED_BYTES..LARGE_MERGED_BYTES + 1);
    session.put(Durability::Disk, "lists", b"hot", &long)?;
    let shape = Shape { threads: 2, commits: 3, checkpoint_share: 6 };
    session.commit_side_by_side(shape, |draft, random| {
        draft.append("lists", b"hot", &value(random, 1..400))?;
        any_draft(draft, random, "lists", 20, 10..300)
    })?;
    session.recover()?;
    session.put(Durability::Disk, "lists", b"at last", b"alone")
}

/// Results of merges from here on do not go through the log.
const LARGE_MERGED_BYTES: usize = 8 << 20;
