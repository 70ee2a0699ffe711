//! A random session with a database of facts: batches, checkpoints, closing and opening, a completion, a backup, a
//! database that is stacked on it, and an image.

use std::path::Path;
use std::sync::Arc;

use fulgurite::io::Disk;
use fulgurite::{Database, Durability, ImageOptions, Options};
use fulgurite_facts::{Batch, FactId, Result, Store};
use fulgurite_testkit::{CrashDisk, Random};

use crate::contents::{Contents, DERIVED, predicate_id};

/// Where the database is on its disk: in a directory that no machine has.
pub const PATH: &str = "fulgurite-facts-on-no-disk/a.ful";
/// Where its backup is.
pub const BACKUP: &str = "fulgurite-facts-on-no-disk/backup.ful";
/// Where the database that is stacked on it is.
const STACKED: &str = "fulgurite-facts-on-no-disk/stacked.ful";
/// Where its image is.
const IMAGE: &str = "fulgurite-facts-on-no-disk/a.image";

/// Marks of a recording: a batch may be there from `BEGUN` on, must survive the process from `LOGGED` on, and a power
/// cut from `DURABLE` on. The other marks have the number 1.
pub const BEGUN: &str = "begun";
pub const LOGGED: &str = "logged";
pub const DURABLE: &str = "durable";
pub const COMPLETING: &str = "completing";
pub const COMPLETE: &str = "complete";
pub const BACKED_UP: &str = "backed up";
pub const STACK_COMPLETE: &str = "stack complete";
pub const IMAGED: &str = "imaged";

/// Opens the database at a path of a disk, with nothing going on in the background.
///
/// # Errors
/// The store's.
pub fn open(disk: &CrashDisk, path: &str, durability: Durability) -> Result<Store> {
    Store::options().engine(engine(disk).durability(durability)).open(Path::new(path))
}

/// Opens the database that is stacked on another.
///
/// # Errors
/// The store's.
pub fn open_stacked(disk: &CrashDisk, base: &Store) -> Result<Store> {
    Store::options().engine(engine(disk)).base(base).open(Path::new(STACKED))
}

/// Opens the image.
///
/// # Errors
/// The store's.
pub fn open_image(disk: &CrashDisk) -> Result<Store> {
    Store::options().engine(engine(disk).image(true)).open(Path::new(IMAGE))
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
    stacked: Contents,
}

/// What a session has left.
pub struct Ended {
    /// The disk.
    pub disk: CrashDisk,
    /// What the database has after each batch.
    pub states: Vec<Contents>,
    /// The contents of the stack whose newest database is the stacked one.
    pub stacked: Contents,
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
        let (states, stacked) = (vec![Contents::default()], Contents::default());
        let session = Self { disk, store: Some(store), durability, random, states, stacked };
        session.disk.mark(BEGUN, 0);
        session.mark(DURABLE);
        Ok(session)
    }

    /// Ends it.
    pub fn end(self) -> Ended {
        Ended { disk: self.disk, states: self.states, stacked: self.stacked }
    }

    /// Makes the steps of a session. The last ones complete the database, back it up, stack another on it, and write an
    /// image.
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
        self.stack()?;
        // Elsewhere there are no images.
        if cfg!(target_os = "linux") {
            self.database().write_image(IMAGE, &ImageOptions::new().level(1).threads(1))?;
            self.disk.mark(IMAGED, 1);
        }
        Ok(())
    }

    /// Stacks a database on the complete one, with one batch, and completes it.
    fn stack(&mut self) -> Result<()> {
        let engine = engine(&self.disk).durability(self.durability);
        let store = Store::options().engine(engine).base(self.store()).create(Path::new(STACKED))?;
        let mut contents = self.newest().below();
        let mut batch = store.batch()?;
        fill(&mut self.random, &mut batch, &mut contents, "stacked", 20)?;
        batch.commit(None)?;
        self.stacked = contents;
        store.complete(|_, _| Ok(()))?;
        self.disk.mark(STACK_COMPLETE, 1);
        store.close()
    }

    fn newest(&self) -> Contents {
        self.states.last().expect("there is the empty one at least").clone()
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
        let mut contents = self.newest();
        let mut batch = self.store.as_ref().expect("it is open").batch()?;
        let (stamp, facts) = (format!("state {}", self.states.len()), self.random.below(40));
        fill(&mut self.random, &mut batch, &mut contents, &stamp, facts)?;
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

/// Defines facts in a batch and in what it makes of a database: one with the key `stamp`, so many more, and one that is
/// derived from others.
fn fill(random: &mut Random, batch: &mut Batch, contents: &mut Contents, stamp: &str, facts: u64) -> Result<()> {
    for number in 0..=facts {
        let key = if number == 0 { stamp.as_bytes().to_vec() } else { key(random) };
        let (predicate, value) = (random.below(DERIVED), &key[..key.len().min(3)]);
        let defined = batch.define(predicate_id(predicate), &key, value);
        let fact = match (defined, contents.define(predicate, &key, value)) {
            (Ok(fact), Some(expected)) if fact.get() == expected => fact,
            (defined, expected) => panic!("{defined:?}, and the model says {expected:?}"),
        };
        // A unit does not own facts of the database below that have no owners.
        if random.chance(1, 3) && contents.is_own(fact.get()) {
            let unit = format!("unit{}", random.below(3));
            batch.own(&unit, [fact]);
            contents.own(&unit, fact.get());
        }
    }
    let plain = contents.plain_ids();
    let sources = [(); 2].map(|()| plain[random.index(plain.len())]);
    let fact = batch.define(predicate_id(DERIVED), stamp.as_bytes(), b"")?;
    assert_eq!(contents.define(DERIVED, stamp.as_bytes(), b""), Some(fact.get()), "the model says the same");
    batch.derive(fact, sources.into_iter().filter_map(FactId::new));
    contents.derive(fact.get(), sources.to_vec());
    Ok(())
}

/// Short keys, many of them alike, and now and then one that no page holds.
fn key(random: &mut Random) -> Vec<u8> {
    let length = if random.chance(1, 40) { 9_000 + random.index(9_000) } else { random.index(8) };
    (0..length).map(|at| if at < length.saturating_sub(4) { b'a' } else { b'a' + random.below(4) as u8 }).collect()
}

/// Of a session.
const STEPS: usize = 32;
/// Small, so that there are runs above the trees.
const DELTA_BYTES: u64 = 1 << 20;
