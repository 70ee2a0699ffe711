//! Workloads whose deltas become runs above a table many times their size, and in which ranges of them are merged.
//!
//! Each fails unless runs were there, and unless some of them were merged.

use fulgurite::{Durability, Error, Result, TableOptions};

use super::draws::{any_change, any_draft, any_level, key, long_key, value};
use super::session::Session;
use super::side_by_side::Shape;

/// The runs that were seen in a workload.
#[derive(Debug, Default)]
struct Seen {
    now: u64,
    most: u64,
    merges: u64,
}

impl Seen {
    fn look(&mut self, session: &Session) -> Result<()> {
        let now = session.runs()?;
        self.merges += u64::from(now < self.now);
        self.most = self.most.max(now);
        self.now = now;
        Ok(())
    }

    /// Makes a checkpoint, which makes runs, and merges ranges where several are.
    fn checkpoint(&mut self, session: &mut Session) -> Result<()> {
        session.checkpoint()?;
        self.look(session)
    }

    fn conclude(self, most: u64, merges: u64) -> Result<()> {
        if self.most >= most && self.merges >= merges {
            return Ok(());
        }
        Err(Error::Invalid { message: format!("at most {} runs were seen, and {} merges", self.most, self.merges) })
    }
}

/// Creates a table with `count` entries in its tree.
fn load(session: &mut Session, name: &str, count: u64) -> Result<()> {
    load_with(session, name, count, TableOptions::new())
}

/// Creates a table with `count` entries in its tree, whose runs count.
fn load_counted(session: &mut Session, name: &str, count: u64) -> Result<()> {
    load_with(session, name, count, TableOptions::new().counted(true))
}

fn load_with(session: &mut Session, name: &str, count: u64, options: TableOptions) -> Result<()> {
    session.table(name, options)?;
    let entries: Vec<_> = (0..count).map(|number| (key(number), value(&mut session.random, LENGTHS))).collect();
    session.bulk_load(name, &entries)
}

/// A commit of changes everywhere in a table.
fn scatter(session: &mut Session, name: &str, changes: usize) -> Result<()> {
    let level = any_level(&mut session.random);
    session
        .commit(level, |change, random| (0..changes).try_for_each(|_| any_change(change, random, name, KEYS, LENGTHS)))
}

/// Runs, and little else; some of them above long keys.
pub(super) fn runs(session: &mut Session) -> Result<()> {
    let mut seen = Seen::default();
    load(session, "a", KEYS)?;
    for step in 0..24 {
        scatter(session, "a", 8)?;
        let level = any_level(&mut session.random);
        session
            .commit(level, |change, random| change.put("a", &long_key(random.below(12)), &value(random, LENGTHS)))?;
        if step % 3 == 2 {
            seen.checkpoint(session)?;
        }
    }
    seen.conclude(4, 1)
}

/// Nearly all checkpoints only merge ranges: many runs are made at once, over a snapshot that is kept.
pub(super) fn merged(session: &mut Session) -> Result<()> {
    let mut seen = Seen::default();
    load(session, "a", KEYS)?;
    for step in 0..8 {
        if step % 3 == 0 {
            session.keep_snapshot()?;
        }
        scatter(session, "a", 40)?;
        seen.checkpoint(session)?;
        if step % 4 == 3 {
            session.end_snapshot()?;
        }
    }
    (0..4).try_for_each(|_| session.end_snapshot())?;
    scatter(session, "a", 3)?;
    seen.checkpoint(session)?;
    seen.conclude(4, 1)
}

/// Deletes keys and ranges of the tree and of older runs, until nothing is left.
pub(super) fn deletes(session: &mut Session) -> Result<()> {
    let mut seen = Seen::default();
    load_counted(session, "a", KEYS)?;
    for step in 0..20 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            (0..8).try_for_each(|_| change.delete("a", &key(random.below(KEYS))))?;
            (0..2).try_for_each(|_| change.put("a", &key(random.below(KEYS)), &value(random, LENGTHS)))?;
            let low = random.below(KEYS);
            if random.chance(1, 3) { change.delete_range("a", &key(low)[..]..&key(low + 12)[..]) } else { Ok(()) }
        })?;
        if step % 2 == 1 {
            seen.checkpoint(session)?;
        }
    }
    session.commit(Durability::Disk, |change, _| change.delete_range("a", &key(0)[..]..&key(KEYS)[..]))?;
    seen.checkpoint(session)?;
    session.compact()?;
    seen.look(session)?;
    seen.conclude(4, 1)
}

/// Values in pages and extents of their own, which later runs replace and delete before the tree has them.
pub(super) fn large_values(session: &mut Session) -> Result<()> {
    let mut seen = Seen::default();
    load_counted(session, "a", KEYS)?;
    for step in 0..20 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            let key = key(random.below(6) * 60);
            match random.below(6) {
                0 => change.delete("a", &key)?,
                1 => change.put("a", &key, b"small now")?,
                2..=3 => change.put("a", &key, &value(random, 9_000..40_000))?,
                _ => change.put("a", &key, &value(random, 64 << 10..90 << 10))?,
            }
            (0..3).try_for_each(|_| any_change(change, random, "a", KEYS, LENGTHS))
        })?;
        if step % 2 == 1 {
            seen.checkpoint(session)?;
        }
    }
    seen.conclude(4, 1)
}

/// What is replayed becomes runs too, above those that are there.
pub(super) fn recovered(session: &mut Session) -> Result<()> {
    let mut seen = Seen::default();
    load_counted(session, "a", KEYS)?;
    for step in 0..14 {
        scatter(session, "a", 10)?;
        let large = value(&mut session.random, 64 << 10..80 << 10);
        session.put(Durability::Log, "a", &key(step % 3 * 100), &large)?;
        match step % 7 {
            0 | 3 => seen.checkpoint(session)?,
            6 => session.reopen()?,
            _ => session.recover()?,
        }
        seen.look(session)?;
    }
    (0..4).try_for_each(|_| {
        scatter(session, "a", 10)?;
        seen.checkpoint(session)
    })?;
    seen.conclude(4, 1)
}

/// Tables with runs are loaded into, compacted, dropped and created again.
pub(super) fn replaced(session: &mut Session) -> Result<()> {
    let mut seen = Seen::default();
    for round in 0..2 {
        load(session, "a", KEYS)?;
        for step in 0..6 {
            scatter(session, "a", 20)?;
            seen.checkpoint(session)?;
            if step == 2 + round {
                let entries: Vec<_> =
                    (0..60).map(|number| (key(number * 9 + round), value(&mut session.random, LENGTHS))).collect();
                session.failed_load("a", &entries)?;
                session.bulk_load("a", &entries)?;
                seen.look(session)?;
            }
        }
        if round == 0 {
            session.compact()?;
            seen.look(session)?;
            scatter(session, "a", 20)?;
            seen.checkpoint(session)?;
        }
        session.commit(Durability::Log, |change, _| change.drop_table("a"))?;
        seen.checkpoint(session)?;
    }
    seen.conclude(4, 1)
}

/// Threads that commit while another one makes runs of that and merges ranges.
pub(super) fn side_by_side(session: &mut Session) -> Result<()> {
    let mut seen = Seen::default();
    load(session, "a", KEYS)?;
    for _ in 0..3 {
        let shape = Shape { threads: 3, commits: 14, checkpoint_share: 8 };
        session.commit_side_by_side(shape, |draft, random| {
            (0..6).try_for_each(|_| any_draft(draft, random, "a", KEYS, LENGTHS))
        })?;
        seen.look(session)?;
        session.recover()?;
        seen.look(session)?;
    }
    // How many are merged meanwhile is up to the threads.
    seen.conclude(4, 0)
}

/// Keys of the tables: so many that a delta has no large part of them, and that they are cut into some ranges.
const KEYS: u64 = 400;
/// Lengths of most values.
const LENGTHS: std::ops::Range<usize> = 60..300;
