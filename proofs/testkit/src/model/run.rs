//! The run itself: a world of a database and its truth, changed step by step.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fulgurite::io::{Disk, MemoryDisk, RealDisk};
use fulgurite::{
    CloseOutcome, Database, Durability, MergeOperator, Monitor, Read, ReadTxn, Savepoint, Table, TableOptions, WriteTxn,
};

use super::backups::Backups;
use super::check::{Difference, Reads, same, sound, whole};
use super::coverage::{Call, Coverage, Situation};
use super::edits::Edits;
use super::feed::{Past, RENAMED};
use super::keys::{Pool, tail, value_of};
use super::runs::{Marks, Runs, Standing};
use super::truth::{Truth, within};
use super::typed::{self, Step, Typed};
use crate::merge_function;
use crate::random::Random;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed that decides everything.
    pub seed: u64,
    /// Steps to make; each is one call of the API, or a few.
    pub steps: u64,
    /// A directory for a database on the real disk; `None` for one in memory.
    pub directory: Option<PathBuf>,
}

/// What a run found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Calls made, by kind.
    pub coverage: Coverage,
}

/// Runs, and fails at the first difference.
///
/// # Errors
/// The difference, after the step at which it showed.
pub fn run(options: &Options) -> Result<Report, Difference> {
    let mut world = World::new(options)?;
    for step in 0..options.steps {
        world.step().map_err(|difference| format!("step {step}: {difference}"))?;
    }
    world.finish()
}

struct World {
    random: Random,
    coverage: Coverage,
    settings: fulgurite::Options,
    disk: Arc<dyn Disk>,
    path: PathBuf,
    db: Option<Database>,
    truth: Truth,
    pools: BTreeMap<String, Pool>,
    kept: Vec<Kept>,
    typed_counted: bool,
    past: Past,
    runs: Runs,
    /// Whether tables are large from the beginning, many times a delta, so that deltas become runs in many ranges.
    preloads: bool,
}

/// A snapshot, what it shows, and the runs that it reads.
struct Kept {
    txn: Arc<ReadTxn>,
    truth: Truth,
    runs: BTreeMap<String, Standing>,
}

const TABLES_MAX: usize = 5;
const KEPT_MAX: usize = 4;
/// With the little ones, a few changes make a transaction spill.
const WRITE_SET_BYTES: [u64; 8] = [1 << 10, 2 << 10, 4 << 10, 64 << 20, 64 << 20, 64 << 20, 64 << 20, 64 << 20];
const KEEP_LOG_BYTES: [u64; 4] = [0, 64 << 10, 1 << 20, 1 << 30];

impl World {
    fn new(options: &Options) -> Result<Self, Difference> {
        let mut random = Random::new(options.seed);
        let preloads = random.below(4) == 0;
        let background = random.coin();
        let mut settings = Database::options()
            .create(true)
            .page_size_bytes([8192, 16384][random.index(2)])
            .cache_bytes(1 << 20)
            .delta_bytes([64 << 10, 256 << 10, 4 << 20][if preloads { 0 } else { random.index(3) }])
            .background(background)
            .write_set_bytes(WRITE_SET_BYTES[random.index(WRITE_SET_BYTES.len())])
            .keep_log(KEEP_LOG_BYTES[random.index(KEEP_LOG_BYTES.len())]);
        let (path, disk): (_, Arc<dyn Disk>) = match &options.directory {
            Some(directory) => {
                settings = settings.map(random.below(4) != 0);
                (directory.join(format!("model-{}.ful", options.seed)), Arc::new(RealDisk))
            }
            None => (PathBuf::from("model.ful"), Arc::new(MemoryDisk::new())),
        };
        settings = merge_function::with_functions(settings).disk(Arc::clone(&disk));
        let db = sound("create", settings.clone().open(&path))?;
        let (truth, pools, kept, typed_counted) = (Truth::default(), BTreeMap::new(), Vec::new(), random.coin());
        let mut coverage = Coverage::default();
        Typed::open(&db, typed_counted, &mut Step { random: &mut random, coverage: &mut coverage })?;
        Ok(Self {
            random,
            coverage,
            settings,
            disk,
            path,
            db: Some(db),
            truth,
            pools,
            kept,
            typed_counted,
            past: Past::default(),
            runs: Runs::new(background),
            preloads,
        })
    }

    fn db(&self) -> &Database {
        self.db.as_ref().expect("the database is open between steps")
    }

    fn step(&mut self) -> Result<(), Difference> {
        self.one_step()?;
        let sequence = sound("read", self.db().read())?.sequence();
        self.past.note(sequence, &self.truth);
        if self.random.below(4) == 0 { self.look() } else { Ok(()) }
    }

    /// Looks what runs there are.
    fn look(&mut self) -> Result<(), Difference> {
        let db = self.db.as_ref().expect("the database is open between steps");
        self.runs.look(db, &mut self.coverage)
    }

    fn one_step(&mut self) -> Result<(), Difference> {
        match self.random.below(1000) {
            0..=2 => self.close(),
            3..=5 => self.recover(),
            6..=9 => self.checkpoint(),
            10 => self.compact(),
            11..=14 => self.bulk_load(),
            15..=19 => self.check(),
            20..=39 => self.keep_snapshot(),
            40..=199 => self.read_kept(),
            200..=211 => self.one_table_more_or_less(),
            212..=399 => self.write(),
            400..=479 => self.typed_read(),
            480..=549 => self.typed_write(),
            550..=552 => self.typed_load(),
            553..=559 => self.follow(),
            560..=561 => self.back_up(),
            _ => self.read(),
        }
    }

    fn finish(mut self) -> Result<Report, Difference> {
        self.kept.clear();
        self.close()?;
        self.check()?;
        Ok(Report { coverage: self.coverage })
    }

    fn table(&mut self) -> Result<Option<(String, Table)>, Difference> {
        if self.truth.table_count() == 0 {
            return Ok(None);
        }
        let at = self.random.index(self.truth.table_count());
        let name = self.truth.names().nth(at).expect("drawn below the count").clone();
        self.coverage.note(Call::OpenTable);
        let table = sound("open_table", self.db().open_table(&name))?;
        Ok(Some((name, table)))
    }

    fn read(&mut self) -> Result<(), Difference> {
        let Some((name, table)) = self.table()? else { return self.one_table_more_or_less() };
        let txn = Arc::new(sound("read", self.db().read())?);
        let (entries, pool) = (self.truth.entries(&name), &self.pools[&name]);
        for _ in 0..8 {
            self.runs.of(&name).meet(&mut self.coverage);
            let (random, coverage) = (&mut self.random, &mut self.coverage);
            Reads { table: &table, entries, pool, random, coverage }.read(&*txn)?;
        }
        if self.random.below(10) == 0 {
            let (random, coverage) = (&mut self.random, &mut self.coverage);
            Reads { table: &table, entries, pool, random, coverage }.read_shared(&txn)?;
        }
        Ok(())
    }

    fn keep_snapshot(&mut self) -> Result<(), Difference> {
        self.coverage.note(Call::Snapshot);
        let txn = Arc::new(sound("read", self.db().read())?);
        self.coverage.note(Call::Tables);
        let names: Vec<String> = txn.tables().iter().map(|table| table.name().to_owned()).collect();
        let mut expected: Vec<String> = self.truth.names().cloned().chain(typed::NAMES.map(String::from)).collect();
        expected.sort();
        same("tables", &names, &expected)?;
        if self.kept.len() == KEPT_MAX {
            let at = self.random.index(KEPT_MAX);
            self.kept.swap_remove(at);
        }
        self.look()?;
        self.kept.push(Kept { txn, truth: self.truth.clone(), runs: self.runs.standing() });
        Ok(())
    }

    fn read_kept(&mut self) -> Result<(), Difference> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let at = self.random.index(self.kept.len());
        let Kept { txn, truth, runs } = &self.kept[at];
        for name in truth.names() {
            let table = sound("open_table of a kept snapshot", txn.open_table(name))?;
            let entries = truth.entries(name);
            let pool = &self.pools[name];
            if let Some(then) = runs.get(name).filter(|then| then.runs > 0) {
                self.coverage.meet(Situation::SnapshotOverRuns, true);
                self.coverage.meet(Situation::SnapshotOverMerge, self.runs.of(name).merges > then.merges);
            }
            let (random, coverage) = (&mut self.random, &mut self.coverage);
            let mut reads = Reads { table: &table, entries, pool, random, coverage };
            reads.read(&**txn)?;
            if reads.random.below(20) == 0 {
                reads.read_shared(txn)?;
            }
        }
        let typed = Typed::of(txn, &mut self.coverage)?;
        typed.read(&**txn, &truth.typed, &mut Step { random: &mut self.random, coverage: &mut self.coverage })
    }

    fn typed(&mut self) -> Result<Typed, Difference> {
        let db = self.db.as_ref().expect("the database is open between steps");
        Typed::open(db, self.typed_counted, &mut Step { random: &mut self.random, coverage: &mut self.coverage })
    }

    fn typed_read(&mut self) -> Result<(), Difference> {
        let typed = self.typed()?;
        let txn = sound("read", self.db().read())?;
        let over_runs = typed::NAMES.iter().any(|name| self.runs.of(name).runs > 0);
        self.coverage.meet(Situation::TypedReadOverRuns, over_runs);
        let mut step = Step { random: &mut self.random, coverage: &mut self.coverage };
        (0..8).try_for_each(|_| typed.read(&txn, &self.truth.typed, &mut step))
    }

    fn typed_write(&mut self) -> Result<(), Difference> {
        let typed = self.typed()?;
        let mut txn = sound("write", self.db().write())?;
        let mut truth = self.truth.typed.clone();
        let mut step = Step { random: &mut self.random, coverage: &mut self.coverage };
        for _ in 0..1 + step.random.index(19) {
            match step.random.below(5) {
                0 => typed.read(&txn, &truth, &mut step)?,
                _ => typed.change(&mut txn, &mut truth, &mut step)?,
            }
        }
        self.coverage.meet(Situation::TypedSpilled, txn.spilled_bytes() > 0);
        if self.random.below(6) == 0 {
            return Ok(());
        }
        let durability = [Durability::Memory, Durability::Log, Durability::Disk][self.random.index(3)];
        sound("commit", txn.commit_with(durability))?;
        self.truth.typed = truth;
        Ok(())
    }

    fn typed_load(&mut self) -> Result<(), Difference> {
        let typed = self.typed()?;
        let db = self.db.as_ref().expect("the database is open between steps");
        let mut step = Step { random: &mut self.random, coverage: &mut self.coverage };
        typed.load(db, &mut self.truth.typed, &mut step)
    }

    fn one_table_more_or_less(&mut self) -> Result<(), Difference> {
        if self.random.below(3) == 0 {
            return self.rename_table();
        }
        let more = self.truth.table_count() < 2 || (self.random.coin() && self.truth.table_count() < TABLES_MAX);
        if more {
            self.coverage.note(Call::CreateTable);
            let name = format!("table {}", self.random.below(1000));
            let options = TableOptions::new().counted(self.random.coin());
            let options = match self.random.index(6) {
                form @ 0..4 => options.value_align([1, 4, 8, 16][form]),
                _ => options.packed(true),
            };
            let options = self.with_merges(options);
            match self.db().create_table(&name, options) {
                Ok(table) => {
                    self.truth.create(&name);
                    let large = self.preloads && self.random.below(4) != 0;
                    let make = if large { Pool::large } else { Pool::new };
                    let pool = self.pools.entry(name.clone()).or_insert_with(|| make(&mut self.random));
                    if large {
                        let count = pool.spread() as usize * 2;
                        self.load(&name, &table, count)?;
                    }
                }
                Err(fulgurite::Error::TableExists { .. }) if self.truth.names().any(|known| *known == name) => {}
                Err(error) => return Err(format!("create_table: {error}")),
            }
        } else if let Some((name, table)) = self.table()? {
            self.coverage.note(Call::DropTable);
            self.look()?;
            sound("drop_table", self.db().drop_table(&table))?;
            self.coverage.meet(Situation::DropTableWithRuns, self.runs.of(&name).runs > 0);
            self.runs.forget(&name);
            self.truth.drop_table(&name);
        }
        Ok(())
    }

    /// Options of a table that merges in any way, or in none.
    fn with_merges(&mut self, options: TableOptions) -> TableOptions {
        if self.random.chance(1, 6) {
            return options.merge_function(merge_function::BOUNDED);
        }
        // A checked sum fails, which is for other tests.
        let operators = MergeOperator::ALL.into_iter().filter(|&operator| operator != MergeOperator::AddChecked);
        match operators.take(self.random.index(14) + 1).nth(self.random.index(14)) {
            Some(operator) => options.merge(operator),
            None => options,
        }
    }

    /// Renames a table; a handle from before, and all that was kept of it, works on.
    fn rename_table(&mut self) -> Result<(), Difference> {
        let Some((name, table)) = self.table()? else { return Ok(()) };
        self.coverage.note(Call::RenameTable);
        let new = format!("{RENAMED} {}", self.random.below(6));
        let is_taken = name != new && self.truth.names().any(|known| *known == new);
        let renamed = match self.db().rename_table(&table, &new) {
            Err(fulgurite::Error::TableExists { .. }) if is_taken => return Ok(()),
            renamed => sound("rename_table", renamed)?,
        };
        same("the renamed table", &(renamed.name(), renamed.id(), is_taken), &(&*new, table.id(), false))?;
        if name != new {
            self.truth.rename(&name, &new);
            self.runs.forget(&name);
            let pool = self.pools[&name].clone();
            self.pools.insert(new.clone(), pool);
        }
        let txn = sound("read", self.db().read())?;
        same("len by a handle from before", &sound("len", txn.len(&table))?, &(self.truth.entries(&new).len() as u64))?;
        let is_gone = matches!(txn.open_table(&name), Err(fulgurite::Error::TableNotFound { .. }));
        same("whether the old name is gone", &is_gone, &(name != new))
    }

    fn write(&mut self) -> Result<(), Difference> {
        let Some((name, table)) = self.table()? else { return self.one_table_more_or_less() };
        let mut txn = sound("write", self.db().write())?;
        let mut truth = self.truth.clone();
        let mut savepoints: Vec<(Savepoint, Truth)> = Vec::new();
        let mut marks = Marks::default();
        let over_runs = self.runs.of(&name).runs > 0;
        self.coverage.meet(Situation::WriteOverRuns, over_runs);
        for _ in 0..1 + self.random.index(39) {
            match self.random.below(30) {
                0 => {
                    self.coverage.note(Call::Savepoint);
                    savepoints.push((txn.savepoint(), truth.clone()));
                }
                1 if !savepoints.is_empty() => {
                    self.coverage.note(Call::RollbackTo);
                    self.coverage.meet(Situation::RollbackOverSpill, txn.spilled_bytes() > 0);
                    let at = self.random.index(savepoints.len());
                    savepoints.truncate(at + 1);
                    sound("rollback_to", txn.rollback_to(savepoints[at].0))?;
                    truth = savepoints[at].1.clone();
                }
                2..=5 => {
                    self.coverage.note(Call::ReadOwnWrites);
                    self.coverage.meet(Situation::ReadOwnOverRuns, over_runs);
                    self.coverage.meet(Situation::ReadOwnSpilled, txn.spilled_bytes() > 0);
                    let (entries, pool) = (truth.entries(&name), &self.pools[&name]);
                    let (random, coverage) = (&mut self.random, &mut self.coverage);
                    Reads { table: &table, entries, pool, random, coverage }.read(&txn)?;
                }
                _ => self.change(&mut txn, &table, &name, &mut truth, &mut marks)?,
            }
        }
        let has_spilled = txn.spilled_bytes() > 0;
        self.coverage.meet(Situation::SpilledTwice, txn.spilled_bytes() > 40 << 10);
        if self.random.below(6) == 0 {
            self.coverage.note(Call::Abort);
            self.coverage.meet(Situation::AbortSpilled, has_spilled);
            if self.random.coin() {
                txn.abort()
            } else {
                drop(txn)
            }
            return Ok(());
        }
        let (call, durability) = [
            (Call::CommitMemory, Durability::Memory),
            (Call::CommitLog, Durability::Log),
            (Call::CommitDisk, Durability::Disk),
        ][self.random.index(3)];
        self.coverage.note(call);
        self.coverage.meet(Situation::CommitSpilled, has_spilled);
        self.coverage.meet(Situation::CommitSpilledOverRuns, has_spilled && over_runs);
        self.coverage.meet(Situation::CommitSpilledMerges, has_spilled && merges(&table));
        sound("commit", txn.commit_with(durability))?;
        self.truth = truth;
        self.runs.note(&name, marks);
        Ok(())
    }

    fn change(
        &mut self,
        txn: &mut WriteTxn,
        table: &Table,
        name: &str,
        truth: &mut Truth,
        marks: &mut Marks,
    ) -> Result<(), Difference> {
        let entries = truth.entries_mut(name);
        let key = self.pools[name].key(&mut self.random);
        match (self.random.below(20), merges(table)) {
            (0..=6, true) => self.merge(txn, table, key, entries)?,
            (0..=9, _) => {
                self.coverage.note(Call::Put);
                let value = value_of(table, &mut self.random);
                sound("put", txn.put(table, &key, &value))?;
                marks.put(&key, value.len());
                entries.insert(key, value.into());
            }
            (10, _) => {
                self.coverage.note(Call::Reserve);
                let value = value_of(table, &mut self.random);
                sound("reserve", txn.reserve(table, &key, value.len(), |place| place.copy_from_slice(&value)))?;
                entries.insert(key, value.into());
            }
            (11..=12, _) => {
                self.coverage.note(Call::Insert);
                let value = value_of(table, &mut self.random);
                let absent = !entries.contains_key(&key);
                same("insert", &sound("insert", txn.insert(table, &key, &value))?, &absent)?;
                if absent {
                    entries.insert(key, value.into());
                }
            }
            (13, _) => self.compare_and_set(txn, table, key, entries)?,
            (15..=16, _) => {
                let (random, coverage) = (&mut self.random, &mut self.coverage);
                Edits { table, entries, random, coverage }.change(txn, &key)?;
            }
            (14, _) => {
                self.coverage.note(Call::DeleteRange);
                let mut high = key.clone();
                high.push(self.random.next_u64() as u8);
                if let Some(last) = high.first_mut().filter(|_| self.random.below(10) == 0) {
                    *last = last.saturating_add(1);
                }
                let bounds = (Bound::Included(&*key), Bound::Excluded(&*high));
                let gone: Vec<Vec<u8>> = within(entries, bounds.0, bounds.1).map(|(key, _)| key.to_vec()).collect();
                let deleted = sound("delete_range", txn.delete_range(table, bounds))?;
                same("delete_range", &deleted, &(gone.len() as u64))?;
                for key in gone {
                    entries.remove(&key);
                }
            }
            _ => {
                self.coverage.note(Call::Delete);
                let is_there = entries.remove(&key).is_some();
                same("delete", &sound("delete", txn.delete(table, &key))?, &is_there)?;
                marks.deletes |= is_there;
            }
        }
        Ok(())
    }

    fn merge(
        &mut self,
        txn: &mut WriteTxn,
        table: &Table,
        key: Vec<u8>,
        entries: &mut super::truth::Entries,
    ) -> Result<(), Difference> {
        self.coverage.note(if table.merge_function().is_some() { Call::MergeByFunction } else { Call::Merge });
        let operand = match table.merge_operator() {
            None | Some(MergeOperator::Append) => tail(&mut self.random),
            _ => value_of(table, &mut self.random),
        };
        sound("merge", txn.merge(table, &key, &operand))?;
        let before = entries.get(&key).map(|before| &**before);
        let merged = match table.merge_operator() {
            Some(operator) => merged(operator, before, &operand),
            None => merge_function::bounded(before, [&operand[..]]),
        };
        entries.insert(key, merged.into());
        Ok(())
    }

    fn compare_and_set(
        &mut self,
        txn: &mut WriteTxn,
        table: &Table,
        key: Vec<u8>,
        entries: &mut super::truth::Entries,
    ) -> Result<(), Difference> {
        self.coverage.note(Call::CompareAndSet);
        let present = entries.get(&key).cloned();
        let expected = if self.random.coin() { present.as_deref() } else { Some(&b"something else"[..]) };
        let new = self.random.coin().then(|| value_of(table, &mut self.random));
        let done = sound("compare_and_set", txn.compare_and_set(table, &key, expected, new.as_deref()))?;
        same("compare_and_set", &done, &(expected == present.as_deref()))?;
        match new {
            Some(new) if done => drop(entries.insert(key, new.into())),
            None if done => drop(entries.remove(&key)),
            _ => {}
        }
        Ok(())
    }

    fn bulk_load(&mut self) -> Result<(), Difference> {
        let Some((name, table)) = self.table()? else { return Ok(()) };
        self.look()?;
        self.coverage.meet(Situation::BulkLoadOverRuns, self.runs.of(&name).runs > 0);
        let count = self.random.index(500);
        self.load(&name, &table, count)
    }

    fn load(&mut self, name: &str, table: &Table, count: usize) -> Result<(), Difference> {
        let pool = &self.pools[name];
        let loaded: Vec<(Vec<u8>, Vec<u8>)> =
            (0..count).map(|_| (pool.key(&mut self.random), value_of(table, &mut self.random))).collect();
        let entries = self.truth.entries_mut(name);
        entries.extend(loaded.iter().map(|(key, value)| (key.clone(), value.as_slice().into())));
        if self.random.coin() {
            self.coverage.note(Call::BulkLoad);
            let sorted: BTreeMap<Vec<u8>, Vec<u8>> = loaded.into_iter().collect();
            sound("bulk_load", self.db().bulk_load(table, sorted))?;
        } else {
            self.coverage.note(Call::BulkLoadUnsorted);
            sound("bulk_load_unsorted", self.db().bulk_load_unsorted(table, loaded))?;
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), Difference> {
        if self.random.coin() {
            self.coverage.note(Call::Sync);
            sound("sync", self.db().sync())?;
        }
        self.look()?;
        self.coverage.note(Call::Checkpoint);
        sound("checkpoint", self.db().checkpoint())?;
        self.look()
    }

    fn compact(&mut self) -> Result<(), Difference> {
        self.look()?;
        self.coverage.meet(Situation::CompactOverRuns, self.runs.entries() > 0);
        self.coverage.note(Call::Compact);
        sound("compact", self.db().compact())?;
        self.look()?;
        same("entries of runs after a compaction", &self.runs.entries(), &0)
    }

    fn follow(&mut self) -> Result<(), Difference> {
        let db = self.db.as_ref().expect("the database is open between steps");
        self.past.follow(db, &mut self.random, &mut self.coverage)
    }

    /// Copies the newest state, or that of a kept snapshot.
    fn back_up(&mut self) -> Result<(), Difference> {
        let kept = self.kept.first().filter(|_| self.random.coin());
        let (txn, truth) = kept.map_or((None, &self.truth), |kept| (Some(&*kept.txn), &kept.truth));
        let db = self.db.as_ref().expect("the database is open between steps");
        let (settings, path, coverage) = (&self.settings, &self.path, &mut self.coverage);
        Backups { disk: &*self.disk, settings, path, coverage }.compare(db, txn, truth)
    }

    fn check(&mut self) -> Result<(), Difference> {
        self.coverage.note(Call::Check);
        let report = sound("check", self.db().check())?;
        self.coverage.meet(Situation::CheckWithRuns, report.run_entries > 0);
        same("check", &report.damages, &Vec::new())?;
        self.coverage.note(Call::Stats);
        sound("stats", self.db().stats())?.accounts_for_every_byte()?;
        self.compare_all()
    }

    fn compare_all(&mut self) -> Result<(), Difference> {
        let txn = sound("read", self.db().read())?;
        for name in self.truth.names() {
            let table = sound("open_table", txn.open_table(name))?;
            whole(&txn, &table, self.truth.entries(name)).map_err(|difference| format!("{name}: {difference}"))?;
        }
        Typed::of(&txn, &mut self.coverage)?.whole(&txn, &self.truth.typed, &mut self.coverage)
    }

    fn close(&mut self) -> Result<(), Difference> {
        self.coverage.note(Call::Close);
        self.kept.clear();
        let db = self.db.take().expect("the database is open between steps");
        if self.random.below(2) == 0 {
            self.coverage.note(Call::CloseWith);
            let outcome = sound("close_with", db.close_with(&Monitor::with_timeout(Duration::ZERO)))?;
            self.coverage.meet(Situation::CloseWithoutTime, outcome == CloseOutcome::LogKept);
        } else {
            sound("close", db.close())?;
        }
        self.open("a clean close")?;
        self.coverage.meet(Situation::CloseWithRuns, self.runs.entries() > 0);
        Ok(())
    }

    /// Drops every handle, so that the next open finds the log; nothing was lost, for nothing crashed.
    fn recover(&mut self) -> Result<(), Difference> {
        self.coverage.note(Call::Recover);
        self.kept.clear();
        self.look()?;
        let before = self.runs.entries();
        self.db = None;
        if self.random.coin() {
            self.coverage.note(Call::ReadOnly);
            let settings = self.settings.clone().create(false).read_only(true);
            self.db = Some(sound("open read-only", settings.open(&self.path))?);
            self.look()?;
            self.coverage.meet(Situation::ReadOnlyWithRuns, self.runs.entries() > 0);
            self.compare_all().map_err(|difference| format!("read-only over a log: {difference}"))?;
            self.db = None;
        }
        self.open("a drop")?;
        self.coverage.meet(Situation::RecoverWithRuns, self.runs.entries() > 0);
        self.coverage.meet(Situation::RecoverIntoRuns, self.runs.entries() > before);
        Ok(())
    }

    fn open(&mut self, after: &str) -> Result<(), Difference> {
        let settings = self.settings.clone().create(false);
        self.db = Some(sound("open", settings.open(&self.path))?);
        self.look()?;
        self.compare_all().map_err(|difference| format!("after {after}: {difference}"))
    }
}

fn merges(table: &Table) -> bool {
    table.merge_operator().is_some() || table.merge_function().is_some()
}

/// What a key holds after a merge.
fn merged(operator: MergeOperator, before: Option<&[u8]>, operand: &[u8]) -> Vec<u8> {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte));
    match (before, operator) {
        (Some(before), MergeOperator::Add) => number(before).wrapping_add(number(operand)).to_be_bytes().to_vec(),
        (Some(before), MergeOperator::AddSaturating) => {
            number(before).saturating_add(number(operand)).to_be_bytes().to_vec()
        }
        (Some(before), MergeOperator::And) => (number(before) & number(operand)).to_be_bytes().to_vec(),
        (Some(before), MergeOperator::Or) => (number(before) | number(operand)).to_be_bytes().to_vec(),
        (Some(before), MergeOperator::Xor) => (number(before) ^ number(operand)).to_be_bytes().to_vec(),
        (Some(before), MergeOperator::Max) => before.max(operand).to_vec(),
        (Some(before), MergeOperator::Min) => before.min(operand).to_vec(),
        (before, MergeOperator::Append) => [before.unwrap_or_default(), operand].concat(),
        _ => operand.to_vec(),
    }
}
