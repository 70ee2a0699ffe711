//! A random session with a database of facts: batches, checkpoints, closing and opening, a completion, and a backup.

use std::path::Path;
use std::sync::Arc;

use fulgurite::io::Disk;
use fulgurite::{Database, Durability, Options};
use fulgurite_facts::{Result, Store};
use fulgurite_testkit::{CrashDisk, Random};

use crate::contents::{Contents, PREDICATES, predicate_id};

/// Where the database is on its disk: in a directory that no machine has.
pub const PATH: &str = "fulgurite-facts-on-no-disk/a.ful";
/// Where its backup is.
pub const BACKUP: &str = "fulgurite-facts-on-no-disk/backup.ful";

/// Marks of a recording: a batch may be there from `BEGUN` on, must survive the process from `LOGGED` on, and a power
/// cut from `DURABLE` on. The other marks have the number 1.
pub const BEGUN: &str = "begun";
pub const LOGGED: &str = "logged";
pub const DURABLE: &str = "durable";
pub const COMPLETING: &str = "completing";
pub const COMPLETE: &str = "complete";
pub const BACKED_UP: &str = "backed up";

/// Opens the database at a path of a disk, with nothing going on in the background.
///
/// # Errors
/// The store's.
pub fn open(disk: &CrashDisk, path: &str, durability: Durability) -> Result<Store> {
    Store::options().engine(engine(disk).durability(durability)).open(Path::new(path))
}

fn engine(disk: &CrashDisk) -> Options {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Database::options().background(false).disk(disk).delta_bytes(DELTA_BYTES)
}

/// A database that is written, its disk, and what it has after each batch.
pub struct Session {
    disk: CrashDisk,
    store: Option<Store>,
    durability: Durability,
    random: Random,
    states: Vec<Contents>,
}

impl Session {
    /// A session with an empty database.
    ///
    /// # Errors
    /// The store's.
    pub fn new(seed: u64) -> Result<Self> {
        let disk = CrashDisk::new();
        let durability = Durability::Log;
        let store = Store::options().engine(engine(&disk).durability(durability)).create(Path::new(PATH))?;
        store.database().expect("it is in the engine").sync()?;
        let random = Random::for_part(seed, &[1]);
        let session = Self { disk, store: Some(store), durability, random, states: vec![Contents::default()] };
        session.disk.mark(BEGUN, 0);
        session.mark(DURABLE);
        Ok(session)
    }

    /// The disk, and what the database has after each batch.
    pub fn into_parts(self) -> (CrashDisk, Vec<Contents>) {
        (self.disk, self.states)
    }

    /// Makes the steps of a session. The last ones complete the database and back it up.
    ///
    /// # Errors
    /// The store's.
    pub fn run(&mut self) -> Result<()> {
        for _ in 0..STEPS {
            match self.random.below(12) {
                0 => {
                    self.database().checkpoint()?;
                    self.mark(DURABLE);
                }
                1 => {
                    self.database().sync()?;
                    self.mark(DURABLE);
                }
                2 => self.reopen()?,
                _ => self.write()?,
            }
        }
        self.disk.mark(COMPLETING, 1);
        self.store().complete(|_, _| Ok(()))?;
        self.disk.mark(COMPLETE, 1);
        self.mark(DURABLE);
        if self.random.coin() {
            self.reopen()?;
        }
        self.store().back_up(BACKUP)?;
        self.disk.mark(BACKED_UP, 1);
        Ok(())
    }

    fn store(&self) -> &Store {
        self.store.as_ref().expect("it is open but within `reopen`")
    }

    fn database(&self) -> &Database {
        self.store().database().expect("it is in the engine")
    }

    fn mark(&self, label: &'static str) {
        self.disk.mark(label, self.states.len() as u64 - 1);
    }

    /// Fills a batch and commits it, or drops it.
    fn write(&mut self) -> Result<()> {
        let mut contents = self.states.last().expect("there is the empty one at least").clone();
        let mut batch = self.store.as_ref().expect("it is open").batch()?;
        let stamp = format!("state {}", self.states.len());
        for number in 0..=self.random.below(40) {
            let key = if number == 0 { stamp.clone().into_bytes() } else { key(&mut self.random) };
            let (predicate, value) = (self.random.below(PREDICATES), &key[..key.len().min(3)]);
            let defined = batch.define(predicate_id(predicate), &key, value);
            let fact = match (defined, contents.define(predicate, &key, value)) {
                (Ok(fact), Some(expected)) if fact.get() == expected => fact,
                (defined, expected) => panic!("{defined:?}, and the model says {expected:?}"),
            };
            if self.random.chance(1, 3) {
                let unit = format!("unit{}", self.random.below(3));
                batch.own(&unit, [fact]);
                contents.own(&unit, fact.get());
            }
        }
        if self.random.chance(1, 6) {
            return Ok(());
        }
        self.states.push(contents);
        self.mark(BEGUN);
        batch.commit(None)?;
        match self.durability {
            Durability::Disk => self.mark(DURABLE),
            Durability::Log => self.mark(LOGGED),
            _ => {}
        }
        Ok(())
    }

    fn reopen(&mut self) -> Result<()> {
        self.store.take().expect("it is open").close()?;
        self.mark(DURABLE);
        self.durability = match self.random.below(3) {
            0 => Durability::Memory,
            1 => Durability::Log,
            _ => Durability::Disk,
        };
        self.store = Some(open(&self.disk, PATH, self.durability)?);
        Ok(())
    }
}

/// Short keys, many of them alike, and now and then one that no page holds.
fn key(random: &mut Random) -> Vec<u8> {
    let length = if random.chance(1, 40) { 9_000 + random.index(9_000) } else { random.index(8) };
    (0..length).map(|at| if at < length.saturating_sub(4) { b'a' } else { b'a' + random.below(4) as u8 }).collect()
}

/// Of a session.
const STEPS: usize = 40;
/// Small, so that there are runs above the trees.
const DELTA_BYTES: u64 = 1 << 20;
