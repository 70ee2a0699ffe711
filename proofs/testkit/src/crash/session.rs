//! A database on a crash disk under a workload: does what the workload asks for, notes in the recording what was
//! acknowledged, and keeps the states that the database went through.
//!
//! Engine errors pass through to the workload; nothing here expects any, except where a method says so.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use fulgurite::io::Disk;
use fulgurite::{Database, Durability, Error, Options, ReadTxn, Result, Savepoint, TableOptions, WriteTxn};

use super::history::{History, label};
use crate::crash_disk::CrashDisk;
use crate::crash_recording::Recording;
use crate::holdings::{Holdings, digest_of};
use crate::random::Random;

/// Keys and values for a load.
pub type Entries = [(Vec<u8>, Vec<u8>)];

/// See the module.
#[derive(Debug)]
pub struct Session {
    /// Draws what the workload leaves to chance.
    pub random: Random,
    disk: CrashDisk,
    settings: Options,
    /// Absent before it was created, and between closing and opening.
    db: Option<Database>,
    /// Whether it was created.
    exists: bool,
    history: History,
    /// Whether the newest state may not have come about: its commit failed, and the database was poisoned by that.
    in_doubt: bool,
    /// What calls of the disk may do beside succeeding.
    trouble: Trouble,
    /// The newest state that survives the process.
    safe: u64,
    /// The newest state that survives a power cut.
    durable: u64,
    snapshots: Vec<(ReadTxn, Arc<Holdings>)>,
}

/// What the disk of a [`Session`] may do beside what it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    None,
    /// Calls fail.
    Failures,
    /// Calls fail, and a failed sync loses what it should have made durable.
    Losses,
}

impl Session {
    /// A session on an empty crash disk.
    pub fn new(seed: u64, settings: Options) -> Self {
        let disk = CrashDisk::new();
        Self::behind(disk.clone(), Arc::new(disk), Trouble::None, seed, settings)
    }

    /// A session on a crash disk, whose database reaches it through another disk.
    pub fn behind(disk: CrashDisk, front: Arc<dyn Disk>, trouble: Trouble, seed: u64, settings: Options) -> Self {
        Self {
            random: Random::new(seed),
            disk,
            settings: settings.disk(front),
            db: None,
            exists: false,
            history: History::default(),
            in_doubt: false,
            trouble,
            safe: 0,
            durable: 0,
            snapshots: Vec::new(),
        }
    }

    /// Creates the database.
    ///
    /// # Errors
    /// The engine's.
    pub fn create(&mut self) -> Result<()> {
        self.disk.mark(label::BEGUN, 0);
        self.open()
    }

    /// The recording, and the states. The database is dropped after the recording was taken.
    pub fn into_parts(self) -> (Recording, History) {
        let Self { disk, history, db, snapshots, .. } = self;
        let recording = disk.recording();
        drop((db, snapshots));
        (recording, history)
    }

    /// What the database should hold now.
    pub fn holdings(&self) -> &Arc<Holdings> {
        self.history.newest()
    }

    /// The open database, its disk, and the number of the newest state.
    pub(super) fn parts(&self) -> Result<(Database, CrashDisk, u64)> {
        Ok((self.db()?.clone(), self.disk.clone(), self.history.newest_number()))
    }

    /// Adds the state that a commit led to; its changes are noted already.
    pub(super) fn add_state(&mut self, holdings: Holdings) {
        self.history.push(holdings);
    }

    /// Notes what threads know of the added states: the newest that must survive the process, the newest that must
    /// survive a power cut, and whether the newest of all are in doubt. All of them are marked already.
    pub(super) fn note_acknowledged(&mut self, logged: u64, durable: u64, in_doubt: bool) {
        self.durable = self.durable.max(durable);
        self.safe = self.safe.max(durable);
        if self.trouble != Trouble::Losses {
            self.safe = self.safe.max(logged);
        }
        self.in_doubt |= in_doubt;
    }

    /// Commits what `change` does.
    ///
    /// # Errors
    /// The engine's, or those of `change`: nothing is committed then.
    pub fn commit(
        &mut self,
        durability: Durability,
        change: impl FnOnce(&mut Change, &mut Random) -> Result<()>,
    ) -> Result<()> {
        let txn = self.db()?.write()?;
        let mut changed = Change { txn, holdings: Holdings::clone(self.holdings()) };
        change(&mut changed, &mut self.random)?;
        let Change { txn, holdings } = changed;
        if holdings.digest() == self.holdings().digest() {
            self.history.stop_counting();
        }
        let number = self.history.push(holdings);
        self.disk.mark(label::BEGUN, number);
        if let Err(error) = txn.commit_with(durability) {
            match error {
                Error::Indeterminate { .. } => self.in_doubt = true,
                // Whatever else it says: it has no effect.
                _ => self.history.pop(),
            }
            return Err(error);
        }
        match durability {
            Durability::Disk => self.durable(),
            Durability::Log => self.logged(),
            _ => {}
        }
        Ok(())
    }

    /// Does what `change` does, and drops it.
    ///
    /// # Errors
    /// The engine's, or those of `change`.
    pub fn abort(&mut self, change: impl FnOnce(&mut Change, &mut Random) -> Result<()>) -> Result<()> {
        let txn = self.db()?.write()?;
        let mut changed = Change { txn, holdings: Holdings::clone(self.holdings()) };
        change(&mut changed, &mut self.random)
    }

    /// Creates a table, durably.
    ///
    /// # Errors
    /// The engine's.
    pub fn table(&mut self, name: &str, options: TableOptions) -> Result<()> {
        self.commit(Durability::Disk, |change, _| change.create_table(name, options))
    }

    /// Puts one entry in a commit of its own.
    ///
    /// # Errors
    /// The engine's.
    pub fn put(&mut self, durability: Durability, table: &str, key: &[u8], value: &[u8]) -> Result<()> {
        self.commit(durability, |change, _| change.put(table, key, value))
    }

    /// Loads sorted entries.
    ///
    /// # Errors
    /// The engine's.
    pub fn bulk_load(&mut self, name: &str, entries: &Entries) -> Result<()> {
        self.load(&[(name, entries)], |db| {
            db.bulk_load(&db.open_table(name)?, entries.iter().map(|(key, value)| (key, value))).map(drop)
        })
    }

    /// Loads sorted entries into several tables as one.
    ///
    /// # Errors
    /// The engine's.
    pub fn bulk_load_several(&mut self, loads: &[(&str, &Entries)]) -> Result<()> {
        self.load(loads, |db| {
            let load = db.begin_bulk_load(Duration::ZERO)?;
            let mut load = load.ok_or(Error::Invalid { message: "nobody else writes, and yet it waits".into() })?;
            for (name, entries) in loads {
                let sound = entries.iter().map(|(key, value)| Ok::<_, std::io::Error>((key, value)));
                load.sorted(&db.open_table(name)?, sound)?;
            }
            load.commit().map(drop)
        })
    }

    /// Loads entries in any order, sorted in so little memory that runs go to files.
    ///
    /// # Errors
    /// The engine's.
    pub fn bulk_load_unsorted(&mut self, name: &str, entries: &Entries, memory_bytes: usize) -> Result<()> {
        let sound = entries.iter().map(|(key, value)| Ok::<_, std::io::Error>((key, value)));
        self.load(&[(name, entries)], |db| {
            db.try_bulk_load_unsorted(&db.open_table(name)?, sound, memory_bytes).map(drop)
        })
    }

    fn load(&mut self, loads: &[(&str, &Entries)], load: impl FnOnce(&Database) -> Result<()>) -> Result<()> {
        if self.is_poisoned() {
            // It must refuse; there is nothing in doubt about this load.
            return self.db().and_then(load);
        }
        let mut holdings = Holdings::clone(self.holdings());
        for (name, entries) in loads {
            let table = holdings.table_mut(name);
            entries.iter().for_each(|(key, value)| table.put(key, value));
        }
        let number = self.history.push(holdings);
        self.disk.mark(label::BEGUN, number);
        if let Err(error) = self.db().and_then(load) {
            self.failed();
            return Err(error);
        }
        self.durable();
        Ok(())
    }

    /// A bulk load whose input fails after some entries, so that nothing of it may stay.
    ///
    /// # Errors
    /// Whatever but the input's error the engine answers.
    pub fn failed_load(&mut self, name: &str, entries: &Entries) -> Result<()> {
        self.history.stop_counting();
        let sound = entries.iter().map(|(key, value)| Ok((key, value)));
        let failing = sound.chain([Err(std::io::Error::other("the input breaks off"))]);
        let db = self.db()?;
        match db.try_bulk_load(&db.open_table(name)?, failing) {
            Err(Error::Input { .. }) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(Error::Invalid { message: "a load whose input failed succeeded".into() }),
        }
    }

    /// A load into two tables. The input of the second fails, so nothing of the first may stay either.
    ///
    /// # Errors
    /// Whatever but the input's error the engine answers.
    pub fn failed_load_of_two(&mut self, first: &str, second: &str, entries: &Entries) -> Result<()> {
        self.history.stop_counting();
        let sound = entries.iter().map(|(key, value)| Ok((key, value)));
        let failing = sound.clone().chain([Err(std::io::Error::other("the input breaks off"))]);
        let db = self.db()?;
        let load = db.begin_bulk_load(Duration::ZERO)?;
        let mut load = load.ok_or(Error::Invalid { message: "nobody else writes, and yet it waits".into() })?;
        load.sorted(&db.open_table(first)?, sound)?;
        load.sorted(&db.open_table(second)?, failing)?;
        match load.commit() {
            Err(Error::Input { .. }) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(Error::Invalid { message: "a load whose input failed succeeded".into() }),
        }
    }

    /// Merges everything into the trees.
    ///
    /// # Errors
    /// The engine's.
    pub fn checkpoint(&mut self) -> Result<()> {
        self.db()?.checkpoint()?;
        self.durable();
        Ok(())
    }

    /// Makes everything durable.
    ///
    /// # Errors
    /// The engine's.
    pub fn sync(&mut self) -> Result<()> {
        self.db()?.sync()?;
        self.durable();
        Ok(())
    }

    /// Makes the file as small as it gets.
    ///
    /// # Errors
    /// The engine's.
    pub fn compact(&mut self) -> Result<()> {
        self.db()?.compact()?;
        self.durable();
        Ok(())
    }

    /// Closes the database.
    ///
    /// # Errors
    /// The engine's.
    pub fn close(&mut self) -> Result<()> {
        self.snapshots.clear();
        let Some(db) = self.db.take() else { return Ok(()) };
        db.close()?;
        self.durable();
        Ok(())
    }

    /// Drops the handle without closing, which makes all commits durable in the log.
    pub fn drop_handle(&mut self) {
        self.snapshots.clear();
        self.db = None;
    }

    /// Opens the database, unless it is open. One that was never opened may have to be created.
    ///
    /// # Errors
    /// The engine's.
    pub fn open(&mut self) -> Result<()> {
        if self.db.is_some() {
            return Ok(());
        }
        let db = self.settings.clone().create(!self.exists).open(PATH)?;
        self.exists = true;
        if self.trouble != Trouble::None {
            self.find_again(&db)?;
        }
        self.db = Some(db);
        // What is shown after opening is on the disk.
        self.durable();
        Ok(())
    }

    /// Finds out which state is there, after calls have failed.
    fn find_again(&mut self, db: &Database) -> Result<()> {
        let digest = digest_of(&db.read()?)?;
        let states = &self.history.states()[self.safe as usize..];
        let Some(found) = states.iter().rposition(|state| state.digest() == digest) else {
            let message = format!("opened again, it shows none of the states from {} on", self.safe);
            return Err(Error::Invalid { message });
        };
        (found + 1..states.len()).for_each(|_| self.history.pop());
        self.durable = self.durable.min(self.history.newest_number());
        self.in_doubt = false;
        Ok(())
    }

    /// Closes and opens again.
    ///
    /// # Errors
    /// The engine's.
    pub fn reopen(&mut self) -> Result<()> {
        self.close()?;
        self.open()
    }

    /// Drops the handle and opens again: the log is replayed.
    ///
    /// # Errors
    /// The engine's.
    pub fn recover(&mut self) -> Result<()> {
        self.drop_handle();
        if self.trouble == Trouble::None {
            self.durable();
        }
        self.open()
    }

    /// As [`Session::recover`]; with a larger quota, as the error advises, if what the log holds cannot be merged
    /// within the present one.
    ///
    /// # Errors
    /// The engine's.
    pub fn recover_beyond_quota(&mut self) -> Result<()> {
        match self.recover() {
            Err(Error::QuotaExceeded { needed_bytes, .. }) => {
                self.settings = self.settings.clone().max_size_bytes(2 * needed_bytes);
                self.open()
            }
            outcome => outcome,
        }
    }

    /// Whether the database refuses writes until it is opened again.
    pub fn is_poisoned(&self) -> bool {
        self.db().is_ok_and(|db| matches!(db.write(), Err(Error::Poisoned { .. })))
    }

    /// How far it has come, in words.
    pub fn progress(&self) -> String {
        let operations = self.disk.recording().operations().len();
        let doubt = if self.in_doubt { ", the newest in doubt" } else { "" };
        format!("{} states{doubt}, {} safe, {operations} operations", self.history.states().len(), self.safe)
    }

    /// Compares what the open database shows with what it should hold.
    ///
    /// # Errors
    /// The engine's; [`Error::Invalid`] with the differences.
    pub fn compare(&self) -> Result<()> {
        let txn = self.db()?.read()?;
        let digest = digest_of(&txn)?;
        let states = self.history.states().len();
        let before = match (self.is_poisoned(), self.in_doubt) {
            // After a failed sync, snapshots begin at the last commit that is durable for certain.
            (true, _) => states - self.durable as usize,
            (false, true) => 2,
            (false, false) => 1,
        };
        if self.history.states().iter().rev().take(before).any(|state| state.digest() == digest) {
            return Ok(());
        }
        let differences = self.holdings().differences(&txn)?;
        Err(Error::Invalid { message: format!("it shows what it should not: {}", differences.join("; ")) })
    }

    /// Bytes that transactions have spilled since the database was opened.
    ///
    /// # Errors
    /// The engine's.
    pub fn spilled_bytes(&self) -> Result<u64> {
        Ok(self.db()?.stats()?.spilled_bytes)
    }

    /// The runs that lie above the trees of all tables.
    ///
    /// # Errors
    /// The engine's.
    pub fn runs(&self) -> Result<u64> {
        Ok(self.db()?.stats()?.tables.iter().map(|table| table.runs).sum())
    }

    /// Checks the file: that nothing is damaged, and that every byte is used for something or free.
    ///
    /// # Errors
    /// The engine's; [`Error::Invalid`] with what is wrong.
    pub fn check(&self) -> Result<()> {
        let report = self.db()?.check()?;
        if let Some(damage) = report.damages.first() {
            return Err(Error::Invalid { message: format!("check: {damage} ({} damages)", report.damages.len()) });
        }
        self.db()?.stats()?.accounts_for_every_byte().map_err(|message| Error::Invalid { message })
    }

    /// Keeps a snapshot of now.
    ///
    /// # Errors
    /// The engine's.
    pub fn keep_snapshot(&mut self) -> Result<()> {
        let txn = self.db()?.read()?;
        self.snapshots.push((txn, Arc::clone(self.holdings())));
        Ok(())
    }

    /// Reads the oldest snapshot that is kept once more, and ends it.
    ///
    /// # Errors
    /// The engine's, and if it does not show what it showed before.
    pub fn end_snapshot(&mut self) -> Result<()> {
        if self.snapshots.is_empty() {
            return Ok(());
        }
        let (txn, holdings) = self.snapshots.remove(0);
        if digest_of(&txn)? == holdings.digest() {
            return Ok(());
        }
        let differences = holdings.differences(&txn)?;
        Err(Error::Invalid { message: format!("a snapshot has changed: {}", differences.join("; ")) })
    }

    /// The newest load failed. Unless that poisoned the database, it has no effect.
    fn failed(&mut self) {
        if self.is_poisoned() {
            self.in_doubt = true;
        } else {
            self.history.pop();
        }
    }

    /// Everything so far survives a power cut.
    fn durable(&mut self) {
        self.safe = self.history.newest_number();
        self.durable = self.safe;
        self.disk.mark(label::DURABLE, self.safe);
    }

    /// Everything so far survives the process.
    fn logged(&mut self) {
        let number = self.history.newest_number();
        self.disk.mark(label::LOGGED, number);
        if self.trouble != Trouble::Losses {
            self.safe = number;
        }
    }

    fn db(&self) -> Result<&Database> {
        self.db.as_ref().ok_or_else(|| Error::Closed { path: PATH.into() })
    }
}

/// A write transaction, and what the database will hold after it.
#[derive(Debug)]
pub struct Change {
    txn: WriteTxn,
    holdings: Holdings,
}

impl Change {
    /// What the transaction shows.
    pub fn holdings(&self) -> &Holdings {
        &self.holdings
    }

    /// See [`WriteTxn::create_table`]; the others likewise.
    ///
    /// # Errors
    /// The engine's.
    pub fn create_table(&mut self, name: &str, options: TableOptions) -> Result<()> {
        self.txn.create_table(name, options)?;
        self.holdings.create_table(name);
        Ok(())
    }

    /// Drops a table.
    ///
    /// # Errors
    /// The engine's.
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        let table = self.txn.open_table(name)?;
        self.txn.drop_table(&table)?;
        self.holdings.drop_table(name);
        Ok(())
    }

    /// Puts an entry.
    ///
    /// # Errors
    /// The engine's.
    pub fn put(&mut self, name: &str, key: &[u8], value: &[u8]) -> Result<()> {
        let table = self.txn.open_table(name)?;
        self.txn.put(&table, key, value)?;
        self.holdings.table_mut(name).put(key, value);
        Ok(())
    }

    /// Deletes an entry, which need not be there.
    ///
    /// # Errors
    /// The engine's.
    pub fn delete(&mut self, name: &str, key: &[u8]) -> Result<()> {
        let table = self.txn.open_table(name)?;
        self.txn.delete(&table, key)?;
        self.holdings.table_mut(name).delete(key);
        Ok(())
    }

    /// Deletes the keys from the range's start on and below its end.
    ///
    /// # Errors
    /// The engine's.
    pub fn delete_range(&mut self, name: &str, keys: Range<&[u8]>) -> Result<()> {
        let table = self.txn.open_table(name)?;
        self.txn.delete_range(&table, keys.start..keys.end)?;
        self.holdings.table_mut(name).delete_range(keys.start, keys.end);
        Ok(())
    }

    /// Marks this moment.
    pub fn savepoint(&mut self) -> (Savepoint, Holdings) {
        (self.txn.savepoint(), self.holdings.clone())
    }

    /// Goes back to a moment that was marked.
    ///
    /// # Errors
    /// The engine's.
    pub fn rollback_to(&mut self, (savepoint, holdings): (Savepoint, Holdings)) -> Result<()> {
        self.txn.rollback_to(savepoint)?;
        self.holdings = holdings;
        Ok(())
    }
}

/// Where the database is on its disk.
pub const PATH: &str = "crash.ful";
