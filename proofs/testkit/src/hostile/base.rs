//! The sound databases that mutations begin with: together they have every kind of page and record, and leftovers of
//! the past.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fulgurite::io::{Access, Disk};
use fulgurite::{Database, Durability, MergeOperator, Options, Result, TableOptions};

use super::layout::Layout;
use super::records::{Record, records};
use crate::crash_disk::CrashDisk;
use crate::holdings::Holdings;
use crate::merge_function;
use crate::random::Random;

/// A sound database as files, and what it holds.
#[derive(Debug)]
pub struct Base {
    /// What failures call it.
    pub name: &'static str,
    /// The files, to be forked and changed.
    pub disk: CrashDisk,
    /// The data file.
    pub data: Vec<u8>,
    /// The data file as it was at some earlier moments.
    pub stale: Vec<Vec<u8>>,
    /// What is where in the data file.
    pub layout: Layout,
    /// The log, in order of segments.
    pub segments: Vec<Segment>,
    /// What it held after each commit, by sequence. The last is what it holds.
    pub states: Vec<(u64, Arc<Holdings>)>,
    /// The commit that the trees end with.
    pub checkpoint: u64,
}

/// A segment of the log.
#[derive(Debug)]
pub struct Segment {
    /// Where it is.
    pub path: PathBuf,
    /// All of it.
    pub bytes: Vec<u8>,
    /// What is where in it.
    pub records: Vec<Record>,
}

/// Where the database is on its disk.
pub const PATH: &str = "hostile.ful";

/// Fills a base.
type Make = fn(&mut Maker) -> Result<()>;

/// All bases.
///
/// # Errors
/// The engine's, which should not occur on a sound disk.
pub fn bases(seed: u64) -> Result<Vec<Base>> {
    let plain: [(&'static str, u32, Make); 11] = [
        ("empty", 16384, |_| Ok(())),
        ("small", 16384, small),
        ("deep", 8192, deep),
        ("overflow", 16384, overflow),
        ("many-tables", 8192, many_tables),
        ("churned", 16384, churned),
        ("large", 16384, large),
        ("log", 16384, log),
        ("log-large", 8192, log_large),
        ("runs", 8192, runs),
        ("runs-log", 8192, runs_log),
    ];
    let mut bases = Vec::new();
    for (index, (name, page_size_bytes, make)) in plain.into_iter().enumerate() {
        // Small deltas become runs.
        let delta_bytes = match name {
            "runs" => 256 << 10,
            "runs-log" => 64 << 10,
            _ => 64 << 20,
        };
        let mut maker = Maker::new(seed + index as u64, page_size_bytes, delta_bytes)?;
        make(&mut maker)?;
        bases.push(maker.finish(name)?);
    }
    Ok(bases)
}

/// How bases are opened; the disk is still to be given.
pub fn settings() -> Options {
    merge_function::with_functions(Database::options().background(false).huge_pages(false))
}

/// A database being made.
struct Maker {
    random: Random,
    disk: CrashDisk,
    db: Option<Database>,
    holdings: Holdings,
    states: Vec<(u64, Arc<Holdings>)>,
    stale: Vec<Vec<u8>>,
    /// The newest commit that a checkpoint has merged.
    checkpoint: u64,
    clean: bool,
}

impl Maker {
    fn new(seed: u64, page_size_bytes: u32, delta_bytes: u64) -> Result<Self> {
        let disk = CrashDisk::new();
        let options = settings().create(true).page_size_bytes(page_size_bytes).delta_bytes(delta_bytes);
        let options = options.disk(Arc::new(disk.clone()));
        let db = Some(options.open(PATH)?);
        let states = vec![(0, Arc::default())];
        let (random, holdings, stale) = (Random::new(seed), Holdings::default(), Vec::new());
        Ok(Self { random, disk, db, holdings, states, stale, checkpoint: 0, clean: true })
    }

    fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open until it is finished")
    }

    fn table(&mut self, name: &str, options: TableOptions) -> Result<()> {
        let mut txn = self.db().write()?;
        txn.create_table(name, options)?;
        let sequence = txn.commit_with(Durability::Log)?;
        self.holdings.create_table(name);
        self.states.push((sequence.0, Arc::new(self.holdings.clone())));
        Ok(())
    }

    /// One commit; `None` deletes.
    fn write(&mut self, name: &str, level: Durability, entries: &[(Vec<u8>, Option<Vec<u8>>)]) -> Result<()> {
        let mut txn = self.db().write()?;
        let table = txn.open_table(name)?;
        let held = self.holdings.table_mut(name);
        for (key, value) in entries {
            match value {
                Some(value) => {
                    txn.put(&table, key, value)?;
                    held.put(key, value);
                }
                None => {
                    txn.delete(&table, key)?;
                    held.delete(key);
                }
            }
        }
        let sequence = txn.commit_with(level)?;
        self.states.push((sequence.0, Arc::new(self.holdings.clone())));
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.stale.push(read(&self.disk, Path::new(PATH)));
        self.db().checkpoint()?;
        self.checkpoint = self.states.last().map_or(0, |(sequence, _)| *sequence);
        Ok(())
    }

    /// Closes the database, unless a log is to stay.
    fn finish(mut self, name: &'static str) -> Result<Base> {
        let db = self.db.take().expect("it is open until it is finished");
        if self.clean {
            db.close()?;
            self.checkpoint = self.states.last().map_or(0, |(sequence, _)| *sequence);
        } else {
            drop(db);
        }
        let data = read(&self.disk, Path::new(PATH));
        let mut segments = Vec::new();
        for path in self.disk.list(Path::new("")).unwrap_or_default() {
            let name = path.to_string_lossy();
            // A spare segment stays beside the file: nobody may read it.
            if name.contains("-log.") && !name.ends_with(".spare") {
                let bytes = read(&self.disk, &path);
                segments.push(Segment { path: path.clone(), records: records(&bytes), bytes });
            }
        }
        assert_eq!(self.clean, segments.is_empty(), "a clean close leaves one file");
        let layout = Layout::read(&data);
        if name.starts_with("runs") {
            assert!(layout.runs.len() > 8 && layout.ranges.len() > 4, "{name} has runs");
        }
        if name == "runs" {
            assert!(layout.references.iter().any(|reference| layout.is_of_filter(reference)), "{name} has filters");
        }
        Ok(Base {
            name,
            layout,
            disk: self.disk.fork(),
            data,
            stale: self.stale,
            segments,
            states: self.states,
            checkpoint: self.checkpoint,
        })
    }

    fn value(&mut self, lengths: std::ops::Range<usize>) -> Vec<u8> {
        let length = lengths.start + self.random.index(lengths.len());
        let stamp = self.random.next_u64().to_le_bytes();
        stamp.iter().copied().cycle().take(length).collect()
    }
}

fn small(maker: &mut Maker) -> Result<()> {
    maker.table("plain", TableOptions::new())?;
    maker.table("counted", TableOptions::new().counted(true).key_type("string"))?;
    maker.table("aligned", TableOptions::new().value_align(8).value_type("u64"))?;
    maker.table("joined", TableOptions::new().merge(MergeOperator::Append))?;
    maker.table("packed", TableOptions::new().packed(true))?;
    maker.table("sums", TableOptions::new().merge(MergeOperator::Add))?;
    maker.table("functioned", TableOptions::new().merge_function(merge_function::JOINED))?;
    for (name, lengths) in [
        ("plain", 5..200),
        ("counted", 5..200),
        ("aligned", 5..200),
        ("joined", 5..200),
        ("packed", 0..20),
        ("sums", 8..9),
        ("functioned", 5..200),
    ] {
        let entries: Vec<_> = (0..200)
            .map(|number| (format!("key-{number:05}").into_bytes(), Some(maker.value(lengths.clone()))))
            .collect();
        maker.write(name, Durability::Log, &entries)?;
        maker.checkpoint()?;
    }
    maker.write("counted", Durability::Log, &[(b"key-00003".to_vec(), None), (Vec::new(), Some(Vec::new()))])
}

/// Keys so long that branches have few children: three levels of them.
fn deep(maker: &mut Maker) -> Result<()> {
    maker.table("deep", TableOptions::new())?;
    let entries: Vec<_> = (0..700u64)
        .map(|number| {
            // The digits come late, so that separators are long.
            let mut key = vec![b'a' + (number / 350) as u8; 700];
            key.extend_from_slice(&(number * 3).to_be_bytes());
            (key, Some(maker.value(5..60)))
        })
        .collect();
    for part in entries.chunks(250) {
        maker.write("deep", Durability::Log, part)?;
        maker.checkpoint()?;
    }
    Ok(())
}

fn overflow(maker: &mut Maker) -> Result<()> {
    maker.table("keys", TableOptions::new())?;
    maker.table("values", TableOptions::new())?;
    for part in 0..3u64 {
        let entries: Vec<_> = (0..40u64)
            .map(|number| {
                // Equal in what a leaf holds of them, so that separators overflow too.
                let mut key = vec![b'k'; 1_100 + 50 * (number % 7) as usize];
                key.extend_from_slice(&(number * 3 + part).to_be_bytes());
                (key, Some(maker.value(5..100)))
            })
            .collect();
        maker.write("keys", Durability::Log, &entries)?;
        let entries: Vec<_> =
            (0..12).map(|number| (vec![number * 3 + part as u8], Some(maker.value(9_000..40_000)))).collect();
        maker.write("values", Durability::Log, &entries)?;
        maker.checkpoint()?;
    }
    Ok(())
}

/// So many extents that their table has several pages, and a catalog with a branch.
fn many_tables(maker: &mut Maker) -> Result<()> {
    for number in 0..140 {
        let name = format!("a table whose name is quite long, so that the catalog grows: number {number:04}");
        maker.table(&name, TableOptions::new().key_type("u64"))?;
        let value = maker.value(5..100);
        maker.write(&name, Durability::Log, &[(vec![number as u8], Some(value))])?;
        maker.db().checkpoint()?;
    }
    maker.checkpoint()
}

/// Free space and dead pages everywhere.
fn churned(maker: &mut Maker) -> Result<()> {
    maker.table("churned", TableOptions::new())?;
    for _ in 0..8 {
        let entries: Vec<_> = (0..150)
            .map(|_| {
                let key = format!("key-{:04}", maker.random.below(500)).into_bytes();
                let value = maker.random.chance(3, 4).then(|| maker.value(50..700));
                (key, value)
            })
            .collect();
        maker.write("churned", Durability::Log, &entries)?;
        maker.checkpoint()?;
    }
    Ok(())
}

/// Near the largest that is tried, with full extents and a value of its own extent.
fn large(maker: &mut Maker) -> Result<()> {
    maker.table("large", TableOptions::new())?;
    let mut entries: Vec<_> =
        (0..4_000u64).map(|number| (number.to_be_bytes().to_vec(), Some(maker.value(200..500)))).collect();
    maker.write("large", Durability::Log, &entries.split_off(2_000))?;
    maker.checkpoint()?;
    maker.write("large", Durability::Log, &entries)?;
    let value = maker.value(900_000..900_001);
    maker.write("large", Durability::Disk, &[(b"a value of its own extent".to_vec(), Some(value))])
}

fn log(maker: &mut Maker) -> Result<()> {
    maker.clean = false;
    maker.table("log", TableOptions::new())?;
    let key = |number: u64| format!("key-{number:05}").into_bytes();
    let entries: Vec<_> = (0..300).map(|number| (key(number), Some(maker.value(20..300)))).collect();
    maker.write("log", Durability::Log, &entries)?;
    maker.checkpoint()?;
    for step in 0..25u64 {
        let level = [Durability::Log, Durability::Disk][step as usize % 2];
        let entries: Vec<_> = (0..6)
            .map(|_| (key(maker.random.below(400)), maker.random.chance(4, 5).then(|| maker.value(5..400))))
            .collect();
        maker.write("log", level, &entries)?;
        if step == 12 {
            maker.table("made in the log", TableOptions::new().counted(true))?;
        }
    }
    Ok(())
}

fn log_large(maker: &mut Maker) -> Result<()> {
    maker.clean = false;
    maker.table("log", TableOptions::new())?;
    maker.checkpoint()?;
    for step in 0..6u8 {
        let value = maker.value(66_000..140_000);
        maker.write(
            "log",
            Durability::Disk,
            &[(vec![step % 4], Some(value)), (vec![step, 1], Some(vec![step; 300]))],
        )?;
    }
    Ok(())
}

/// A table of so many entries, in some checkpoints, each of less than a delta.
fn base_of_runs(maker: &mut Maker, count: u64, options: TableOptions) -> Result<()> {
    maker.table("stacked", options)?;
    let entries: Vec<_> = (0..count).map(|number| (key_of(number), Some(maker.value(5..60)))).collect();
    for part in entries.chunks(400) {
        maker.write("stacked", Durability::Log, part)?;
    }
    maker.checkpoint()?;
    // One tree below, whatever it was made of.
    maker.db().compact().map(drop)
}

/// Changes all over the table, deletes and long values among them.
fn scatter(maker: &mut Maker, keys: u64, count: usize) -> Result<()> {
    let entries: Vec<_> = (0..count)
        .map(|step| {
            let key = key_of(maker.random.below(keys));
            let lengths = if step % 100 == 99 { 9_000..20_000 } else { 5..60 };
            (key, maker.random.chance(4, 5).then(|| maker.value(lengths)))
        })
        .collect();
    maker.write("stacked", Durability::Log, &entries)
}

fn key_of(number: u64) -> Vec<u8> {
    format!("key-{number:05}").into_bytes()
}

/// Runs above several ranges, so large that they have filters.
fn runs(maker: &mut Maker) -> Result<()> {
    base_of_runs(maker, 4_000, TableOptions::new())?;
    for _ in 0..3 {
        scatter(maker, 4_000, 1_000)?;
        maker.checkpoint()?;
    }
    Ok(())
}

/// So many runs that their description is too long for the catalog's leaf, and a log that is to become another one of
/// each.
fn runs_log(maker: &mut Maker) -> Result<()> {
    maker.clean = false;
    base_of_runs(maker, 3_000, TableOptions::new().counted(true))?;
    for _ in 0..3 {
        scatter(maker, 3_000, 120)?;
        maker.checkpoint()?;
    }
    scatter(maker, 3_000, 40)
}

fn read(disk: &CrashDisk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, Access::Read).expect("the engine has just written it");
    let mut bytes = vec![0; file.len().expect("a crash disk does not fail") as usize];
    file.read_at(0, &mut bytes).expect("a crash disk does not fail");
    bytes
}
