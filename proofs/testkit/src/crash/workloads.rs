//! The named workloads: each uses the database in one way that has its own places to go wrong, with checkpoints,
//! growth and deletes among it.

use fulgurite::{Database, Durability, Error, Options, Result, TableOptions};

use super::draws::{LEVELS, any_change, any_draft, any_level, key, long_key, value};
use super::follow::TRIMMED;
use super::session::Session;
use super::side_by_side::Shape;
use super::{merging, spilled, stacked};
use crate::merge_function;

/// One way to use a database.
pub struct Workload {
    /// What `--workload` takes.
    pub name: &'static str,
    /// Page size of its database.
    page_size_bytes: u32,
    /// Quota of its database.
    max_size_bytes: Option<u64>,
    /// How much of its log is kept.
    keep_log_bytes: u64,
    /// Whether a thread makes checkpoints and merges runs while it is recorded. While images are verified none does.
    background: bool,
    /// Memory of a transaction, if that is less than usual.
    write_set_bytes: Option<u64>,
    run: fn(&mut Session) -> Result<()>,
}

impl Workload {
    /// All of them.
    pub const ALL: &[Self] = &[
        plain("put-disk", |session| single_puts(session, &[Durability::Disk])),
        plain("put-log", |session| single_puts(session, &[Durability::Log])),
        plain("put-memory", |session| single_puts(session, &[Durability::Memory, Durability::Memory, Durability::Log])),
        plain("put-levels", |session| single_puts(session, &LEVELS)),
        plain("transactions", transactions),
        plain("several-tables", several_tables),
        plain("create-drop", create_drop),
        plain("growth", growth),
        plain("deletes", deletes),
        plain("delete-ranges", delete_ranges),
        plain("overwrites", overwrites),
        plain("large-values", large_values),
        plain("large-values-replaced", large_values_replaced),
        plain("values-over-a-page", values_over_a_page),
        plain("long-keys", long_keys),
        plain("bulk-sorted", bulk_sorted),
        plain("bulk-unsorted", bulk_unsorted),
        plain("bulk-several", bulk_several),
        Self { keep_log_bytes: 1 << 30, ..plain("kept-bulk-several", bulk_several) },
        plain("compact", compact),
        plain("close-reopen", close_reopen),
        plain("recover-recover", recover_recover),
        plain("savepoints", savepoints),
        plain("snapshots", snapshots),
        Self { max_size_bytes: Some(448 << 10), ..plain("quota", quota) },
        Self { page_size_bytes: 8192, ..plain("small-pages", mixed) },
        plain("full-delta", full_delta),
        plain("grow-shrink", grow_shrink),
        plain("options", options),
        plain("mixed", mixed),
        Self { keep_log_bytes: 1 << 30, ..plain("kept", kept) },
        Self { keep_log_bytes: 1 << 30, ..plain("kept-loads", kept_loads) },
        Self { keep_log_bytes: 40 << 10, ..plain("kept-little", kept_little) },
        plain("side-by-side", side_by_side),
        plain("side-by-side-large", side_by_side_large),
        plain("side-by-side-hot", side_by_side_hot),
        plain("side-by-side-merges", merging::by_operators),
        plain("side-by-side-functions", merging::by_functions),
        plain("large-merges", merging::large),
        plain("runs", stacked::runs),
        plain("runs-merged", stacked::merged),
        plain("runs-deletes", stacked::deletes),
        plain("runs-large-values", stacked::large_values),
        plain("runs-recovered", stacked::recovered),
        plain("runs-replaced", stacked::replaced),
        Self { background: true, ..plain("runs-side-by-side", stacked::side_by_side) },
        Self { write_set_bytes: Some(4 << 10), ..plain("spilled", spilled::commits) },
        Self { write_set_bytes: Some(2 << 10), ..plain("spilled-savepoints", spilled::savepoints) },
        Self { write_set_bytes: Some(2 << 10), ..plain("spilled-values", spilled::values) },
        Self {
            write_set_bytes: Some(2 << 10),
            keep_log_bytes: 1 << 30,
            ..plain("spilled-side-by-side", spilled::side_by_side)
        },
    ];

    /// The workload of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|workload| workload.name == name)
    }

    /// Runs it on a fresh disk.
    ///
    /// # Errors
    /// An engine error that the workload did not ask for, with what was recorded until then.
    pub fn run(&self, seed: u64) -> (Session, Result<()>) {
        // While images are verified, no function is there, and none is needed.
        let settings = merge_function::with_functions(self.settings().background(self.background));
        let mut session = Session::new(seed, settings);
        let outcome = session.create().and_then(|()| (self.run)(&mut session));
        (session, outcome)
    }

    /// How its database is opened; the disk is still to be given.
    pub fn settings(&self) -> Options {
        let settings = Database::options().page_size_bytes(self.page_size_bytes);
        let settings = settings.background(false).delta_bytes(DELTA_BYTES).cache_bytes(4 << 20);
        let settings = settings.keep_log(self.keep_log_bytes);
        let settings = match self.write_set_bytes {
            Some(bytes) => settings.write_set_bytes(bytes),
            None => settings,
        };
        match self.max_size_bytes {
            Some(bytes) => settings.max_size_bytes(bytes),
            None => settings,
        }
    }
}

const fn plain(name: &'static str, run: fn(&mut Session) -> Result<()>) -> Workload {
    let (max_size_bytes, keep_log_bytes, background, write_set_bytes) = (None, 0, false, None);
    Workload { name, page_size_bytes: 16384, max_size_bytes, keep_log_bytes, background, write_set_bytes, run }
}

fn single_puts(session: &mut Session, levels: &[Durability]) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for step in 0..90 {
        let level = levels[session.random.index(levels.len())];
        let (key, value) = (key(session.random.below(60)), value(&mut session.random, 10..700));
        session.put(level, "a", &key, &value)?;
        match step % 15 {
            14 => session.checkpoint()?,
            7 => session.sync()?,
            _ => {}
        }
    }
    Ok(())
}

fn transactions(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for step in 0..40 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            for _ in 0..1 + random.index(12) {
                any_change(change, random, "a", 80, 10..600)?;
            }
            Ok(())
        })?;
        if step % 8 == 7 {
            session.checkpoint()?;
        }
    }
    Ok(())
}

fn several_tables(session: &mut Session) -> Result<()> {
    let names = ["a", "b", "c", "a table with a longer name"];
    session.commit(Durability::Disk, |change, _| {
        names.iter().try_for_each(|name| change.create_table(name, TableOptions::new()))
    })?;
    for step in 0..40 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            // A key in all tables or in none reveals a partial transaction.
            let key = key(random.below(30));
            names.iter().try_for_each(|name| change.put(name, &key, &value(random, 10..300)))?;
            any_change(change, random, names[random.clone().index(names.len())], 30, 10..300)
        })?;
        if step % 9 == 8 {
            session.checkpoint()?;
        }
    }
    Ok(())
}

fn create_drop(session: &mut Session) -> Result<()> {
    for step in 0..45 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            let name = format!("table-{}", random.below(5));
            if change.holdings().table(&name).is_none() {
                change.create_table(&name, TableOptions::new())?;
            } else if random.chance(1, 2) {
                change.drop_table(&name)?;
                if random.chance(1, 3) {
                    change.create_table(&name, TableOptions::new())?;
                    change.put(&name, b"first", b"of the new one")?;
                }
                return Ok(());
            }
            for _ in 0..random.index(25) {
                change.put(&name, &key(random.below(100)), &value(random, 10..400))?;
            }
            Ok(())
        })?;
        match step % 12 {
            5 => session.checkpoint()?,
            11 => session.recover()?,
            _ => {}
        }
    }
    Ok(())
}

fn growth(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for step in 0..24u64 {
        session.commit(Durability::Disk, |change, random| {
            (0..16).try_for_each(|number| change.put("a", &key(step * 16 + number), &value(random, 500..3000)))
        })?;
        if step % 3 == 2 {
            session.checkpoint()?;
        }
    }
    session.commit(Durability::Disk, |change, _| change.delete_range("a", &key(40)[..]..&key(300)[..]))?;
    session.checkpoint()?;
    session.checkpoint()
}

fn deletes(session: &mut Session) -> Result<()> {
    fill(session, "a", 120, 50..400)?;
    session.checkpoint()?;
    for step in 0..50 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            (0..3).try_for_each(|_| change.delete("a", &key(random.below(120))))?;
            if random.chance(1, 4) { change.put("a", &key(random.below(120)), b"again") } else { Ok(()) }
        })?;
        if step % 10 == 9 {
            session.checkpoint()?;
        }
    }
    Ok(())
}

fn delete_ranges(session: &mut Session) -> Result<()> {
    fill(session, "a", 200, 50..500)?;
    session.checkpoint()?;
    for step in 0..30 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            let low = random.below(200);
            change.delete_range("a", &key(low)[..]..&key(low + random.below(40))[..])?;
            for _ in 0..10 {
                change.put("a", &key(random.below(200)), &value(random, 50..500))?;
            }
            Ok(())
        })?;
        if step % 6 == 5 {
            session.checkpoint()?;
        }
    }
    session.commit(Durability::Disk, |change, _| change.delete_range("a", &key(0)[..]..&key(200)[..]))?;
    session.checkpoint()
}

fn overwrites(session: &mut Session) -> Result<()> {
    fill(session, "a", 30, 300..900)?;
    for _ in 0..30 {
        session.commit(Durability::Disk, |change, random| {
            (0..4).try_for_each(|_| change.put("a", &key(random.below(30)), &value(random, 300..900)))
        })?;
        session.checkpoint()?;
    }
    Ok(())
}

fn large_values(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for step in 0..14 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            change.put("a", &key(random.below(6)), &value(random, 64 << 10..130 << 10))?;
            change.put("a", &key(100 + random.below(20)), &value(random, 10..200))
        })?;
        match step % 5 {
            2 => session.checkpoint()?,
            4 => session.recover()?,
            _ => {}
        }
    }
    Ok(())
}

/// Large values whose extents die before, or just after, a tree has them.
fn large_values_replaced(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for step in 0..16 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            let key = key(random.below(3));
            change.put("a", &key, &value(random, 64 << 10..100 << 10))?;
            match random.below(4) {
                0 => change.delete("a", &key),
                1 => change.put("a", &key, &value(random, 64 << 10..90 << 10)),
                2 => change.put("a", &key, b"small now"),
                _ => Ok(()),
            }
        })?;
        if step % 4 == 1 {
            session.abort(|change, random| change.put("a", b"never", &value(random, 70 << 10..80 << 10)))?;
        }
        if step % 5 == 4 {
            session.checkpoint()?;
        }
    }
    Ok(())
}

fn values_over_a_page(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for step in 0..30 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            change.put("a", &key(random.below(12)), &value(random, 5_000..40_000))?;
            if random.chance(1, 3) { change.delete("a", &key(random.below(12))) } else { Ok(()) }
        })?;
        if step % 5 == 4 {
            session.checkpoint()?;
        }
    }
    Ok(())
}

fn long_keys(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for step in 0..32 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            for _ in 0..3 {
                let key = long_key(random.below(40));
                if random.chance(1, 3) {
                    change.delete("a", &key)?;
                } else {
                    change.put("a", &key, &value(random, 10..300))?;
                }
            }
            Ok(())
        })?;
        if step % 6 == 5 {
            session.checkpoint()?;
        }
    }
    Ok(())
}

fn bulk_sorted(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for round in 0..5u64 {
        let entries: Vec<_> =
            (0..120).map(|number| (key(number * 5 + round), value(&mut session.random, 50..400))).collect();
        session.bulk_load("a", &entries)?;
        for _ in 0..3 {
            let level = any_level(&mut session.random);
            session.commit(level, |change, random| any_change(change, random, "a", 600, 50..400))?;
        }
        session.failed_load("a", &entries[..60])?;
        if round % 2 == 1 {
            session.recover()?;
        }
    }
    Ok(())
}

fn bulk_unsorted(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for round in 0..4 {
        let entries: Vec<_> =
            (0..150).map(|_| (key(session.random.below(400)), value(&mut session.random, 100..1500))).collect();
        // So little memory that runs are spilled to scratch files, which a crash leaves behind.
        session.bulk_load_unsorted("a", &entries, 64 << 10)?;
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| any_change(change, random, "a", 400, 50..400))?;
        if round == 2 {
            session.reopen()?;
        }
    }
    Ok(())
}

/// Loads into three tables as one, beside commits that are not in the trees yet, and loads that fail in the last of
/// two.
fn bulk_several(session: &mut Session) -> Result<()> {
    let names = ["a", "b", "c"];
    names.iter().try_for_each(|name| session.table(name, TableOptions::new()))?;
    for round in 0..5u64 {
        let random = &mut session.random;
        let of_tables = [1, 7, 60].map(|count| -> Vec<_> {
            (0..count).map(|number| (key(number * 4 + round), value(random, 20..300))).collect()
        });
        let loads: Vec<_> = names.iter().copied().zip(of_tables.iter().map(Vec::as_slice)).collect();
        session.bulk_load_several(&loads)?;
        for _ in 0..2 {
            let level = any_level(&mut session.random);
            session.commit(level, |change, random| {
                names.iter().try_for_each(|name| any_change(change, random, name, 240, 20..300))
            })?;
        }
        session.failed_load_of_two("c", "a", &of_tables[2])?;
        match round {
            1 => session.recover()?,
            3 => session.reopen()?,
            _ => {}
        }
    }
    Ok(())
}

fn compact(session: &mut Session) -> Result<()> {
    session.table("b", TableOptions::new())?;
    fill(session, "a", 300, 100..600)?;
    for _ in 0..4 {
        session.commit(Durability::Disk, |change, random| {
            let low = random.below(250);
            change.delete_range("a", &key(low)[..]..&key(low + 60)[..])?;
            change.put("b", &key(random.below(10)), &value(random, 5_000..30_000))
        })?;
        session.checkpoint()?;
        session.put(Durability::Log, "a", &key(1), b"beside the compaction")?;
        session.compact()?;
    }
    Ok(())
}

fn close_reopen(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for step in 0..10 {
        for _ in 0..4 {
            let level = any_level(&mut session.random);
            session.commit(level, |change, random| any_change(change, random, "a", 60, 50..900))?;
        }
        if step % 3 == 2 {
            session.checkpoint()?;
        }
        session.reopen()?;
        if step % 4 == 3 {
            // Nothing was written since it was opened.
            session.reopen()?;
        }
    }
    Ok(())
}

fn recover_recover(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for step in 0..10 {
        for _ in 0..5 {
            let level = any_level(&mut session.random);
            session.commit(level, |change, random| any_change(change, random, "a", 60, 50..900))?;
        }
        if step % 4 == 3 {
            session.checkpoint()?;
        }
        session.recover()?;
        session.recover()?;
    }
    Ok(())
}

fn savepoints(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for step in 0..36 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            any_change(change, random, "a", 60, 10..500)?;
            let start = change.savepoint();
            change.put("a", &key(random.below(60)), b"may be undone")?;
            if random.chance(1, 3) {
                change.create_table("undone", TableOptions::new())?;
                change.put("undone", b"k", b"v")?;
                change.rollback_to(start)?;
            } else if random.chance(1, 2) {
                change.delete_range("a", &key(10)[..]..&key(30)[..])?;
                change.rollback_to(start)?;
            }
            any_change(change, random, "a", 60, 10..500)
        })?;
        if step % 9 == 8 {
            session.checkpoint()?;
        }
        if step % 7 == 6 {
            session.abort(|change, random| any_change(change, random, "a", 60, 10..500))?;
        }
    }
    Ok(())
}

fn snapshots(session: &mut Session) -> Result<()> {
    fill(session, "a", 100, 100..500)?;
    for step in 0..24 {
        if step % 3 == 0 {
            session.keep_snapshot()?;
        }
        session.commit(Durability::Disk, |change, random| {
            (0..8).try_for_each(|_| any_change(change, random, "a", 100, 100..500))
        })?;
        if step % 2 == 1 {
            session.checkpoint()?;
        }
        if step % 5 == 4 {
            session.end_snapshot()?;
        }
    }
    (0..8).try_for_each(|_| session.end_snapshot())?;
    session.checkpoint()
}

/// Writes until the quota says no, makes room, and goes on.
fn quota(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    let mut refused = 0;
    for step in 0..60u64 {
        let written = session.commit(Durability::Disk, |change, random| {
            change.put("a", &key(step % 40), &value(random, 9_000..20_000))?;
            change.put("a", &key(step + 100), &value(random, 100..400))
        });
        match written.and_then(|()| if step % 4 == 3 { session.checkpoint() } else { Ok(()) }) {
            Ok(()) => {}
            Err(Error::QuotaExceeded { .. }) => {
                refused += 1;
                session.commit(Durability::Log, |change, _| change.delete_range("a", &key(0)[..]..&key(1000)[..]))?;
                match session.checkpoint() {
                    Err(Error::QuotaExceeded { .. }) => session.recover_beyond_quota()?,
                    outcome => outcome?,
                }
            }
            Err(error) => return Err(error),
        }
        if refused == 3 {
            break;
        }
    }
    if refused > 0 { Ok(()) } else { Err(Error::Invalid { message: "the quota was never reached".into() }) }
}

/// Commits until checkpoints happen by themselves.
fn full_delta(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for _ in 0..60 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            (0..8).try_for_each(|_| change.put("a", &key(random.below(300)), &value(random, 300..900)))
        })?;
    }
    Ok(())
}

fn grow_shrink(session: &mut Session) -> Result<()> {
    for _ in 0..3 {
        fill(session, "a", 150, 200..1200)?;
        session.checkpoint()?;
        session.commit(Durability::Disk, |change, _| change.delete_range("a", &key(5)[..]..&key(150)[..]))?;
        session.checkpoint()?;
        session.put(Durability::Log, "a", &key(3), b"between")?;
        session.commit(Durability::Disk, |change, _| change.drop_table("a"))?;
        session.checkpoint()?;
    }
    Ok(())
}

fn options(session: &mut Session) -> Result<()> {
    session.table("counted", TableOptions::new().counted(true))?;
    session.table("aligned", TableOptions::new().value_align(16))?;
    session.table("typed", TableOptions::new().key_type("u64").value_type("string"))?;
    session.table("packed", TableOptions::new().packed(true))?;
    for step in 0..36 {
        let level = any_level(&mut session.random);
        session.commit(level, |change, random| {
            any_change(change, random, "counted", 60, 10..400)?;
            any_change(change, random, "aligned", 60, 10..400)?;
            any_change(change, random, "packed", 60, 10..400)?;
            any_change(change, random, "typed", 60, 10..400)
        })?;
        match step % 10 {
            4 => session.checkpoint()?,
            9 => session.reopen()?,
            _ => {}
        }
    }
    Ok(())
}

fn mixed(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    session.table("b", TableOptions::new())?;
    for _ in 0..45 {
        match session.random.below(14) {
            0 => session.checkpoint()?,
            1 => session.sync()?,
            2 => session.reopen()?,
            3 => session.recover()?,
            4 => session.keep_snapshot()?,
            5 => session.end_snapshot()?,
            6 if session.random.chance(1, 3) => session.compact()?,
            7 => {
                let count = session.random.below(60);
                let entries: Vec<_> =
                    (0..count).map(|number| (key(number * 3), value(&mut session.random, 10..500))).collect();
                session.bulk_load("b", &entries)?;
            }
            _ => {
                let level = any_level(&mut session.random);
                session.commit(level, |change, random| {
                    (0..1 + random.index(6)).try_for_each(|_| {
                        let name = if random.chance(1, 2) { "a" } else { "b" };
                        let longest = if random.chance(1, 10) { 30_000 } else { 500 };
                        any_change(change, random, name, 120, 10..longest)
                    })
                })?;
            }
        }
    }
    Ok(())
}

/// A log that is kept over checkpoints, closing and recovery; with tables that come and go, and large values.
fn kept(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for _ in 0..40 {
        match session.random.below(12) {
            0..=1 => session.checkpoint()?,
            2 => session.reopen()?,
            3 => session.recover()?,
            4 => session.sync()?,
            5 if session.random.chance(1, 3) => session.compact()?,
            _ => kept_commit(session)?,
        }
    }
    Ok(())
}

/// The same with bulk loads, which leave notes.
fn kept_loads(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for round in 0..6u64 {
        for _ in 0..1 + session.random.index(4) {
            kept_commit(session)?;
        }
        let entries: Vec<_> =
            (0..40).map(|number| (key(number * 3 + round), value(&mut session.random, 50..400))).collect();
        session.bulk_load("a", &entries)?;
        match session.random.below(4) {
            0 => session.checkpoint()?,
            1 => session.reopen()?,
            2 => session.recover()?,
            _ => {}
        }
    }
    Ok(())
}

/// So little is kept that segments are removed, and used again.
fn kept_little(session: &mut Session) -> Result<()> {
    session.table(TRIMMED, TableOptions::new())?;
    session.table("a", TableOptions::new())?;
    for step in 0..50 {
        kept_commit(session)?;
        match step % 8 {
            2 | 5 => session.checkpoint()?,
            7 => session.recover()?,
            _ => {}
        }
    }
    Ok(())
}

fn kept_commit(session: &mut Session) -> Result<()> {
    let level = any_level(&mut session.random);
    session.commit(level, |change, random| {
        if random.chance(1, 8) {
            let name = format!("table-{}", random.below(2));
            match change.holdings().table(&name) {
                Some(_) => change.drop_table(&name)?,
                None => change.create_table(&name, TableOptions::new())?,
            }
        }
        // Every commit has a change, and so a number.
        change.put("a", b"number", &value(random, 8..9))?;
        let longest = if random.chance(1, 6) { 90_000 } else { 900 };
        (0..random.index(4)).try_for_each(|_| any_change(change, random, "a", 12, 10..longest))
    })
}

/// Threads that commit at all levels, with checkpoints among them.
fn side_by_side(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    session.table("b", TableOptions::new())?;
    for _ in 0..3 {
        let shape = Shape { threads: 4, commits: 8, checkpoint_share: 12 };
        session.commit_side_by_side(shape, |draft, random| {
            (0..1 + random.index(6)).try_for_each(|_| {
                let name = if random.coin() { "a" } else { "b" };
                any_draft(draft, random, name, 200, 10..600)
            })
        })?;
        session.recover()?;
    }
    session.put(Durability::Disk, "a", b"at last", b"alone")
}

/// The same with values in extents of their own, some of them over a bulk load.
fn side_by_side_large(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for round in 0..3 {
        let entries: Vec<_> =
            (0..30).map(|number| (key(number * 2 + round), value(&mut session.random, 10..300))).collect();
        session.bulk_load("a", &entries)?;
        let shape = Shape { threads: 3, commits: 5, checkpoint_share: 10 };
        session.commit_side_by_side(shape, |draft, random| {
            let longest = if random.chance(1, 3) { 150_000 } else { 500 };
            any_draft(draft, random, "a", 60, 10..longest)
        })?;
        session.sync()?;
    }
    Ok(())
}

/// Threads that read and write the same few keys, so that many are refused.
fn side_by_side_hot(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())?;
    for _ in 0..4 {
        let shape = Shape { threads: 4, commits: 10, checkpoint_share: 25 };
        session.commit_side_by_side(shape, |draft, random| {
            let (from, to) = (key(random.below(5)), key(random.below(5)));
            draft.read("a", &from)?;
            draft.put("a", &to, &value(random, 10..400))
        })?;
        session.reopen()?;
    }
    Ok(())
}

/// Creates a table with `count` entries, in a few commits.
fn fill(session: &mut Session, name: &str, count: u64, lengths: std::ops::Range<usize>) -> Result<()> {
    session.table(name, TableOptions::new())?;
    let mut next = 0;
    while next < count {
        let end = count.min(next + 50);
        session.commit(Durability::Disk, |change, random| {
            (next..end).try_for_each(|number| change.put(name, &key(number), &value(random, lengths.clone())))
        })?;
        next = end;
    }
    Ok(())
}

/// The smallest that is allowed, so that checkpoints happen by themselves.
const DELTA_BYTES: u64 = 64 << 10;
