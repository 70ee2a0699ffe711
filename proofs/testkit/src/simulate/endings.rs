//! What is checked during a life and at its end: soundness, space, what a power cut leaves, and what a recovery
//! finds.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fulgurite::planted::simulation;
use fulgurite::{CloseOutcome, Database, Durability, Error, Monitor};

use super::disk::{Cut, SimulatedDisk};
use super::reading::{Held, Wrong, lock};
use super::world::{Left, PATH, READER_PAUSE_US, World};
use crate::crash_disk::CrashDisk;
use crate::crash_images::ImageId;

impl World<'_> {
    pub(super) fn checkpoint(&mut self) -> Result<(), String> {
        self.tally.count("checkpoints asked for");
        let outcome = match self.monitor() {
            Some(monitor) => self.db().checkpoint_with(&monitor),
            None => self.db().checkpoint(),
        };
        match outcome {
            Ok(()) => {
                self.acknowledge(Durability::Disk);
                Ok(())
            }
            Err(Error::Stopped { .. }) => {
                self.tally.count("checkpoints that were stopped");
                Ok(())
            }
            Err(error) => self.excuse("a checkpoint", &error),
        }
    }

    pub(super) fn compact(&mut self) -> Result<(), String> {
        self.tally.count("compactions");
        let outcome = match self.monitor() {
            Some(monitor) => self.db().compact_with(&monitor),
            None => self.db().compact(),
        };
        match outcome {
            Ok(_) => {
                self.acknowledge(Durability::Disk);
                Ok(())
            }
            Err(Error::Stopped { .. }) => {
                self.tally.count("compactions that were stopped");
                Ok(())
            }
            Err(error) => self.excuse("a compaction", &error),
        }
    }

    /// One that lets what is long go on for a while only, if this life is such.
    fn monitor(&mut self) -> Option<Monitor> {
        let bits = self.random.below(TIMEOUT_BITS_MAX);
        let timeout = Duration::from_micros(self.random.below(1 << bits));
        self.life.hasty.then(|| Monitor::with_timeout(timeout))
    }

    pub(super) fn sync(&mut self) -> Result<(), String> {
        self.tally.count("syncs");
        match self.db().sync() {
            Ok(_) => {
                self.acknowledge(Durability::Disk);
                Ok(())
            }
            Err(error) => self.excuse("a sync", &error),
        }
    }

    /// Every page of the newest checkpoint is sound, and in exactly one place.
    pub(super) fn check(&mut self) -> Result<(), String> {
        self.tally.count("checks of all pages");
        loop {
            let failed = self.disk.plan().failed;
            let report = match self.db().check() {
                Ok(report) => report,
                Err(error) => return self.excuse("a check", &error),
            };
            let Some(damage) = report.damages.first() else { return Ok(()) };
            if self.disk.plan().failed == failed {
                return Err(format!("{} damages, the first is: {damage}", report.damages.len()));
            }
            // A page that could not be read is reported as damage, and so is everything that only it refers to. The
            // disk fails a limited number of times, so a check succeeds some time.
            self.tally.count("checks made again");
        }
    }

    /// Every byte is accounted for, and nothing grows without bound.
    pub(super) fn look_at_stats(&mut self) -> Result<(), String> {
        self.tally.count("looks at the statistics");
        let stats = match self.db().stats() {
            Ok(stats) => stats,
            Err(error) => return self.excuse("the statistics", &error),
        };
        stats.accounts_for_every_byte()?;
        let needed = stats.tree_bytes + stats.value_bytes + stats.pinned_bytes + stats.placed_bytes;
        self.needed_bytes_most = self.needed_bytes_most.max(needed);
        self.tally.most("most runs above one key", stats.tables.iter().map(|table| table.runs_deep).max().unwrap_or(0));
        self.tally.most("most entries in runs", stats.tables.iter().map(|table| table.run_entries).sum());
        self.tally.most("most descriptors", self.disk.handles());
        if self.disk.handles() > HANDLES_MAX {
            return Err(format!("{} files are open", self.disk.handles()));
        }
        let most = self.needed_bytes_most;
        self.tally.most("most percent of file per need", 100 * stats.file_bytes / most.max(4 << 20));
        if stats.file_bytes > FILE_FACTOR * most + FILE_BASE_BYTES {
            let bytes = stats.file_bytes;
            return Err(format!(
                "the file has {bytes} bytes, and never were more than {most} live or kept for snapshots"
            ));
        }
        if stats.log_bytes > LOG_FACTOR * self.life.delta_bytes + self.life.keep_log + LOG_BASE_BYTES {
            self.tally.most("most KiB of log", stats.log_bytes >> 10);
        }
        Ok(())
    }

    /// Time passes in which nothing is committed.
    pub(super) fn idle(&mut self) -> Result<(), String> {
        let (time, is_long) = match self.random.below(20) {
            0..10 => (Duration::from_millis(1 + self.random.below(50)), false),
            10..16 => (Duration::from_millis(1_500), false),
            _ => (Duration::from_secs(3 * 3_600), true),
        };
        let fails = {
            let plan = self.disk.plan();
            plan.is_full() || plan.fails.is_some()
        };
        self.tally.count(if is_long { "long idle times" } else { "short idle times" });
        // The reader asks less often meanwhile.
        self.reader_pause_us.store(time.as_micros() as u64 / 20, Ordering::Relaxed);
        simulation::with(|task| task.wait(0, Some(task.now() + time)));
        self.reader_pause_us.store(READER_PAUSE_US, Ordering::Relaxed);
        if !is_long || !self.life.background || fails || self.life.over {
            return Ok(());
        }
        // What failed before was tried again meanwhile, and everything is merged. A transaction, which shows whether
        // the database works, comes after the look: it has the deltas flushed if they are large enough.
        let stats = self.db().stats();
        let outcome = self.db().write().map(drop);
        if let Err(error) = outcome {
            self.excuse("the beginning of a transaction", &error)?;
            if self.life.over {
                return Ok(());
            }
        }
        let fails = {
            let plan = self.disk.plan();
            plan.is_full() || plan.fails.is_some()
        };
        let stats = stats.map_err(|error| format!("no statistics: {error}"))?;
        let runs: u64 = stats.tables.iter().map(|table| table.runs).sum();
        if runs > 0 && !fails {
            return Err(format!("hours after the last commit there are still {runs} runs"));
        }
        self.tally.count("settled after a long time");
        Ok(())
    }

    /// A consumer of changes gets every commit once.
    pub(super) fn consume(&mut self) -> Result<(), String> {
        if self.life.keep_log == 0 {
            return Ok(());
        }
        let changes = match self.db().changes(fulgurite::Sequence(self.consumed)) {
            Ok(changes) => changes,
            Err(Error::ChangesGone { .. } | Error::Invalid { .. }) => {
                let copied = self.db().read_durable().map_err(|error| format!("no snapshot: {error}"))?;
                self.consumed = copied.sequence().0;
                return Ok(());
            }
            Err(error) => return self.excuse("a feed of changes", &error),
        };
        let through = changes.through().0;
        for commit in changes {
            match commit {
                Ok(commit) if commit.sequence.0 == self.consumed + 1 => self.consumed += 1,
                Ok(commit) => {
                    return Err(format!("the feed goes on with commit {} after {}", commit.sequence.0, self.consumed));
                }
                Err(error) => return self.excuse("a feed of changes", &error),
            }
            self.tally.count("commits fed");
        }
        if self.consumed == through {
            Ok(())
        } else {
            Err(format!("the feed ends with {}, not {through}", self.consumed))
        }
    }

    /// If the power was cut: checks what that left. The life may end there.
    pub(super) fn look_at_cut(&mut self) -> Result<(), String> {
        let Some(cut) = self.disk.plan().cut.take() else { return Ok(()) };
        let left = self.leave(cut)?;
        self.tally.count("power cuts looked at");
        let Left { disk, acknowledged } = &left;
        self.scheduler.outside(|| self.look_at(disk.fork(), *acknowledged))?;
        if self.random.chance(1, 12) {
            self.life.over = true;
            self.life.left = Some(Arc::new(left));
        }
        Ok(())
    }

    /// One image of what may be left after a cut.
    fn leave(&mut self, cut: Cut) -> Result<Left, String> {
        let recording = self.disk.inner().recording();
        let number = self.random.below(1 << 20);
        let (kind, is_everything) = match self.random.below(8) {
            0..2 => ("everything".to_owned(), true),
            2 => ("durable".to_owned(), false),
            3..6 => (format!("subset-{number}"), false),
            _ => (format!("torn-{number}"), false),
        };
        let id: ImageId = format!("{number}:{}:{kind}", cut.operations).parse()?;
        let image = recording.image(id);
        let acknowledged = cut.acknowledged;
        let acknowledged =
            if is_everything { acknowledged.durable.max(acknowledged.logged) } else { acknowledged.durable };
        Ok(Left { disk: image.disk(), acknowledged })
    }

    /// Recovers what a cut left, outside of the simulation, and compares it with the model.
    fn look_at(&self, disk: CrashDisk, acknowledged: u64) -> Result<(), String> {
        let options = Database::options().background(false).delta_bytes(self.life.delta_bytes).disk(Arc::new(disk));
        let db = options.open(PATH).map_err(|error| format!("what a power cut left does not open: {error}"))?;
        let outcome = self.recovered_version(&db, acknowledged);
        outcome.map(drop).map_err(|wrong| format!("what a power cut left: {wrong}"))?;
        let report = db.check().map_err(|error| format!("what a power cut left cannot be checked: {error}"))?;
        match report.damages.first() {
            None => Ok(()),
            Some(damage) => Err(format!("what a power cut left: {damage}")),
        }
    }

    /// The version that a database was recovered to.
    fn recovered_version(&self, db: &Database, acknowledged: u64) -> Result<u64, String> {
        let txn = db.read().map_err(|error| format!("no snapshot: {error}"))?;
        let sequence = txn.sequence();
        let versions = {
            let mut model = lock(&self.model);
            if model.committed.is_empty() {
                model.begin(0, sequence);
            }
            model.recovered(sequence, acknowledged)
        };
        let mut wrong =
            format!("commit {} is the last, which lacks what was acknowledged as version {acknowledged}", sequence.0);
        for version in versions {
            let held = Held { txn: txn.clone(), version, since: 0, until: 0 };
            match held.everything(&self.model) {
                Ok(()) => return Ok(version),
                Err(Wrong::Answer(text)) => wrong = text,
                Err(Wrong::Failed(error)) => return Err(format!("it cannot be read: {error}")),
            }
        }
        Err(wrong)
    }

    /// Compares what was just opened, and goes on from there.
    pub(super) fn compare_recovered(&mut self, acknowledged: u64) -> Result<(), String> {
        let db = self.db().clone();
        let version = self.recovered_version(&db, acknowledged)?;
        let sequence = db.read().map_err(|error| format!("no snapshot: {error}"))?.sequence();
        if sequence.0 < self.consumed {
            return Err(format!("commit {} was fed as durable, and {} is the last", self.consumed, sequence.0));
        }
        let lost = lock(&self.model).version - version;
        self.tally.add("versions lost that were not acknowledged", lost);
        lock(&self.model).revert(version, sequence);
        Ok(())
    }

    /// Ends a life. Returns the oldest version that the next may find.
    pub(super) fn end_life(&mut self) -> Result<u64, String> {
        self.open.clear();
        let left = match self.life.left.take().and_then(Arc::into_inner) {
            Some(left) => {
                self.tally.count("lives ended by a power cut before");
                left
            }
            None if !self.life.over && self.random.chance(2, 5) => match self.close()? {
                Some(left) => left,
                None => self.cut_now(true)?,
            },
            None => {
                let by_kill = self.random.chance(1, 2);
                self.cut_now(by_kill)?
            }
        };
        self.stop_reader()?;
        self.abandon();
        self.tally.add("calls of the disk that change or sync", self.disk.plan().calls);
        if self.disk.handles() > 0 {
            return Err(format!("{} files are open after the database was dropped", self.disk.handles()));
        }
        self.disk = SimulatedDisk::new(left.disk);
        Ok(left.acknowledged)
    }

    /// What remains if the process dies now, or the power is cut.
    fn cut_now(&mut self, by_kill: bool) -> Result<Left, String> {
        let acknowledged = self.disk.plan().acknowledged;
        let operations = self.disk.inner().operations();
        if by_kill {
            self.tally.count("lives ended by a kill");
            let image = self.disk.inner().recording();
            let disk = image.image(ImageId::everything(operations)).disk();
            return Ok(Left { disk, acknowledged: acknowledged.durable.max(acknowledged.logged) });
        }
        self.tally.count("lives ended by a power cut");
        self.leave(Cut { operations, acknowledged })
    }

    /// Closes the database, with snapshots that go on reading. `None` if the disk did not let it.
    fn close(&mut self) -> Result<Option<Left>, String> {
        if self.random.coin() {
            self.stop_reader()?;
            self.held.lock().expect("one task runs").clear();
        }
        let db = self.db.take().expect("the database is open during a life");
        let monitor = self.monitor().unwrap_or_default();
        self.tally.count(match db.close_with(&monitor) {
            Ok(CloseOutcome::Clean) => "lives ended by closing",
            Ok(CloseOutcome::LogKept) => "lives ended by closing that was stopped",
            Err(error) => {
                self.excuse("closing", &error)?;
                return Ok(None);
            }
        });
        let held = self.held.lock().expect("one task runs").first().cloned();
        if let Some(held) = held {
            self.tally.count("snapshots read after closing");
            match held.ask(&self.model, &mut self.random) {
                Ok(_) => {}
                Err(Wrong::Answer(text)) => return Err(format!("after closing: {text}")),
                Err(Wrong::Failed(error)) => self.excuse("a read after closing", &error)?,
            }
        }
        let acknowledged = lock(&self.model).version;
        let operations = self.disk.inner().operations();
        // What is closed survives a power cut.
        let recording = self.disk.inner().recording();
        let disk = recording.image(ImageId::durable(operations)).disk();
        Ok(Some(Left { disk, acknowledged }))
    }

    /// After the last life: everything is merged, moved together, compared, closed, opened and compared again.
    pub(super) fn settle(&mut self, acknowledged: u64) -> Result<(), String> {
        self.life.background = self.random.coin();
        (self.life.faulty, self.life.hasty) = (false, false);
        for round in 0..2 {
            let db = self.life.options(&self.disk).open(PATH).map_err(|error| format!("it does not open: {error}"))?;
            self.db = Some(db);
            let acknowledged = if round == 0 { acknowledged } else { lock(&self.model).version };
            self.compare_recovered(acknowledged)?;
            self.reopen_tables()?;
            self.checkpoint()?;
            self.check()?;
            self.compact()?;
            self.check()?;
            let stats = self.db().stats().map_err(|error| format!("no statistics: {error}"))?;
            stats.accounts_for_every_byte()?;
            let runs: u64 = stats.tables.iter().map(|table| table.runs).sum();
            let live = stats.tree_bytes + stats.value_bytes + stats.meta_bytes + stats.extent_table_bytes;
            if runs > 0 || stats.file_bytes > live + live / SETTLED_SHARE + SETTLED_BASE_BYTES {
                return Err(format!(
                    "settled, there are {runs} runs, and {live} of {} bytes are live, {} free, {} pinned, {} reserved",
                    stats.file_bytes, stats.free_bytes, stats.pinned_bytes, stats.reserve_bytes
                ));
            }
            let held = self.snapshot(0)?;
            match held.everything(&self.model) {
                Ok(()) => {}
                Err(Wrong::Answer(text)) => return Err(format!("settled: {text}")),
                Err(Wrong::Failed(error)) => return Err(format!("settled: {error}")),
            }
            drop(held);
            let db = self.db.take().expect("it was opened above");
            db.close().map_err(|error| format!("it does not close: {error}"))?;
            if self.disk.handles() > 0 {
                return Err(format!("{} files are open after closing", self.disk.handles()));
            }
        }
        let entries = {
            let model = lock(&self.model);
            model.entries(model.version)
        };
        self.tally.add("entries at the end", entries);
        Ok(())
    }
}

/// What is ended before its time has less than so many microseconds, to the power of two.
const TIMEOUT_BITS_MAX: u64 = 12;
/// Files that may be open at once.
const HANDLES_MAX: u64 = 48;
/// The file has no more than so many times what was live at most, beside what snapshots keep and what is being written.
const FILE_FACTOR: u64 = 3;
const FILE_BASE_BYTES: u64 = 4 << 20;
const LOG_FACTOR: u64 = 8;
const LOG_BASE_BYTES: u64 = 4 << 20;
/// A compaction leaves holes that nothing fits into, among large values, up to a sixth of the file: one part in so
/// many of what is live.
const SETTLED_SHARE: u64 = 5;
const SETTLED_BASE_BYTES: u64 = 128 << 10;
