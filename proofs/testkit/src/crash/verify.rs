//! What has to hold of every image: the database opens, holds a state that it may hold, is sound, takes another
//! commit and keeps it.

use std::fmt;
use std::sync::Arc;

use fulgurite::{Database, Durability, Error, Options, Read, ReadTxn, TableOptions};

use super::follow::follow;
use super::history::{Expected, label};
use super::session::PATH;
use crate::crash_disk::CrashDisk;
use crate::holdings::{Holdings, digest_of};
use crate::panics;
use crate::random::Random;

/// What is wrong with an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The kind, which is counted.
    pub kind: DefectKind,
    /// All that is known about it.
    pub text: String,
}

/// The kinds of defects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefectKind {
    /// An acknowledged commit is gone, or the whole database.
    Lost,
    /// It holds what it never held, or is damaged, or does not work.
    Wrong,
    /// The engine panicked.
    Panic,
}

impl fmt::Display for Defect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            DefectKind::Lost => "lost",
            DefectKind::Wrong => "wrong",
            DefectKind::Panic => "panic",
        };
        write!(out, "{kind}: {}", self.text)
    }
}

/// Which state a disk held, and the one that it was brought to after that.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The number of the state that was found.
    pub number: usize,
    /// The state after one more commit, noted on the disk as number 1; what was found is number 0.
    pub after: Arc<Holdings>,
}

/// Recovers what is on `disk` and checks it. The random source decides how the database is used then.
///
/// # Errors
/// The first defect.
pub fn verify(
    disk: &CrashDisk,
    settings: &Options,
    expected: &Expected,
    random: &mut Random,
) -> Result<Recovered, Defect> {
    let settings = settings.clone().disk(Arc::new(disk.clone()));
    panics::catch(|| recover(disk, &settings, expected, random))
        .unwrap_or_else(|text| Err(Defect { kind: DefectKind::Panic, text }))
}

fn recover(
    disk: &CrashDisk,
    settings: &Options,
    expected: &Expected,
    random: &mut Random,
) -> Result<Recovered, Defect> {
    let shown = if random.chance(1, 4) { look(disk, settings, expected, random)? } else { None };
    let db = open(settings, expected)?;
    let number = identify(&db, expected)?;
    if shown.is_some_and(|shown| shown != number) {
        return Err(wrong(format!("opened read-only it showed state {}, then {number}", shown.unwrap_or_default())));
    }
    disk.mark(label::DURABLE, 0);
    let holdings = &expected.states[number];
    gets(&read(&db)?, holdings, random)?;
    sound(&db)?;
    follow(&db, expected, random).map_err(wrong)?;
    let after = commit_one(disk, &db, holdings, random)?;
    if random.chance(1, 2) {
        match db.close() {
            Ok(()) | Err(Error::QuotaExceeded { .. }) => {}
            Err(error) => return Err(wrong(format!("close: {error}"))),
        }
    } else {
        drop(db);
    }
    let db = open(settings, expected).map_err(|defect| Defect { text: format!("again, {}", defect.text), ..defect })?;
    same(&read(&db)?, &after, "after recovery, a commit and another opening")?;
    sound(&db)?;
    Ok(Recovered { number, after })
}

/// Opens read-only, which must not write, and answers what it shows.
fn look(
    disk: &CrashDisk,
    settings: &Options,
    expected: &Expected,
    random: &mut Random,
) -> Result<Option<usize>, Defect> {
    let before = disk.recording().operations().len();
    let db = match settings.clone().read_only(true).open(PATH) {
        Ok(db) => db,
        Err(Error::DatabaseNotFound { .. }) if expected.may_be_absent => return Ok(None),
        Err(error) => return Err(lost(format!("open read-only: {error}"))),
    };
    // It is not checked: a torn meta, which is no loss, is mended by the next writer.
    let number = identify(&db, expected)?;
    follow(&db, expected, random).map_err(wrong)?;
    drop(db);
    let after = disk.recording().operations().len();
    if before == after { Ok(Some(number)) } else { Err(wrong("opened read-only, it wrote".into())) }
}

fn open(settings: &Options, expected: &Expected) -> Result<Database, Defect> {
    match settings.clone().open(PATH) {
        Ok(db) => Ok(db),
        Err(Error::DatabaseNotFound { .. }) if expected.may_be_absent => {
            settings.clone().create(true).open(PATH).map_err(|error| wrong(format!("create: {error}")))
        }
        // What was committed up to the quota may need more room to be merged: the message says to raise it.
        Err(Error::QuotaExceeded { .. }) => {
            let raised = settings.clone().max_size_bytes(u64::MAX).open(PATH);
            raised.map_err(|error| lost(format!("open with the quota raised: {error}")))
        }
        Err(error) => Err(lost(format!("open: {error}"))),
    }
}

/// The number of the state that the database shows.
fn identify(db: &Database, expected: &Expected) -> Result<usize, Defect> {
    let txn = read(db)?;
    let digest = digest_of(&txn).map_err(unreadable)?;
    if let Some(number) = expected.find(digest) {
        return Ok(number);
    }
    let Expected { oldest, newest, .. } = expected;
    if let Some(number) = expected.find_lost(digest) {
        return Err(lost(format!("it holds state {number}, but {oldest} was acknowledged ({newest} was begun)")));
    }
    let differences = expected.states[*oldest].differences(&txn).map_err(unreadable)?;
    let text = format!("it holds no state from {oldest} to {newest}; against {oldest}: {}", differences.join("; "));
    Err(wrong(text))
}

/// Single reads, which take other ways than iteration does.
fn gets(txn: &ReadTxn, holdings: &Holdings, random: &mut Random) -> Result<(), Defect> {
    for name in holdings.names() {
        let failed = |error| wrong(format!("reading table `{name}`: {error}"));
        let table = txn.open_table(name).map_err(failed)?;
        let Some(entries) = holdings.table(name) else { continue };
        let step = 1 + random.index(20);
        for (key, value) in entries.iter().step_by(step) {
            let found = txn.get(&table, key).map_err(failed)?;
            if found.as_deref() != Some(value) {
                return Err(wrong(format!("table `{name}`: a get misses a key that iteration finds")));
            }
        }
        let count = txn.len(&table).map_err(failed)?;
        if count != entries.len() as u64 {
            return Err(wrong(format!("table `{name}`: it says that it has {count} entries")));
        }
        if txn.get(&table, b"never put anywhere").map_err(failed)?.is_some() {
            return Err(wrong(format!("table `{name}`: a get finds a key that was never put")));
        }
    }
    Ok(())
}

fn sound(db: &Database) -> Result<(), Defect> {
    let report = db.check().map_err(|error| wrong(format!("check: {error}")))?;
    if let Some(damage) = report.damages.first() {
        return Err(wrong(format!("check: {damage} ({} damages)", report.damages.len())));
    }
    let stats = db.stats().map_err(|error| wrong(format!("stats: {error}")))?;
    stats.accounts_for_every_byte().map_err(wrong)
}

/// A commit after recovery, with a table of its own if the database has none of that name.
fn commit_one(
    disk: &CrashDisk,
    db: &Database,
    holdings: &Holdings,
    random: &mut Random,
) -> Result<Arc<Holdings>, Defect> {
    let mut after = holdings.clone();
    if after.table(AFTER).is_none() {
        after.create_table(AFTER);
    }
    let (key, value) = (random.next_u64().to_be_bytes(), [7; 100]);
    after.table_mut(AFTER).put(&key, &value);
    disk.mark(label::BEGUN, 1);
    let write = || {
        let mut txn = db.write()?;
        let table = match txn.open_table(AFTER) {
            Ok(table) => table,
            Err(_) => txn.create_table(AFTER, TableOptions::new())?,
        };
        txn.put(&table, &key, &value)?;
        txn.commit_with(Durability::Disk)
    };
    write().map_err(|error| wrong(format!("a commit after recovery: {error}")))?;
    disk.mark(label::DURABLE, 1);
    same(&read(db)?, &after, "after recovery and a commit")?;
    Ok(Arc::new(after))
}

fn same(txn: &ReadTxn, holdings: &Holdings, when: &str) -> Result<(), Defect> {
    let digest = digest_of(txn).map_err(|error| wrong(format!("{when}: {error}")))?;
    if digest == holdings.digest() {
        return Ok(());
    }
    let differences = holdings.differences(txn).map_err(unreadable)?;
    Err(wrong(format!("{when}: {}", differences.join("; "))))
}

fn read(db: &Database) -> Result<ReadTxn, Defect> {
    db.read().map_err(|error| wrong(format!("read: {error}")))
}

fn unreadable(error: Error) -> Defect {
    wrong(format!("reading: {error}"))
}

fn lost(text: String) -> Defect {
    Defect { kind: DefectKind::Lost, text }
}

fn wrong(text: String) -> Defect {
    Defect { kind: DefectKind::Wrong, text }
}

/// Table of the commits made after recovery.
const AFTER: &str = "after the power cut";
