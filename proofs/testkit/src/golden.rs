//! The golden databases: small files with everything that the format has, written once by one version and read by
//! every later one.
//!
//! What they hold is said twice, by the files and by lines of NDJSON, which come from a model and not from reading
//! the files. The same content every time; the bytes may differ, for the salts of a log are random.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use fulgurite::io::{Access, Disk, MemoryDisk};
use fulgurite::{Database, Durability, Error, MergeOperator, Options, Read, Result, Table, TableOptions, WriteTxn};
use fulgurite_keys::{AsKey, AsValue};
use xxhash_rust::xxh3::xxh3_64;

use crate::holdings::Holdings;
use crate::random::Random;

/// A golden database.
#[derive(Debug)]
pub struct Golden {
    /// Its name, without the ending `.ful`.
    pub name: &'static str,
    /// Its files, by name: the database, and the log if it was not closed.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What it holds: a line for each table and, after it, one for each of its entries, in order.
    pub lines: String,
}

/// Writes all of them again.
///
/// # Errors
/// The engine's, which should not occur on a disk in memory.
pub fn all() -> Result<Vec<Golden>> {
    let pages_of = |page_size_bytes: u32| Database::options().page_size_bytes(page_size_bytes);
    let empty = Maker::new("empty", pages_of(16384))?;
    let mut closed = Maker::new("closed", pages_of(8192))?;
    closed.fill_every_kind_of_page()?;
    let mut crashed = Maker::new("crashed", pages_of(16384))?;
    let before = crashed.fill_two_segments()?;
    let mut merging = Maker::new("merging", pages_of(8192))?;
    merging.fill_merging()?;
    let mut kept = Maker::new("kept", pages_of(8192).keep_log(1 << 20))?;
    kept.fill_kept_segments()?;
    let now = kept.files();
    let mut runs = Maker::new("runs", pages_of(8192).delta_bytes(1 << 20))?;
    runs.fill_runs(TableOptions::new())?;
    let mut counted = Maker::new("counted", pages_of(8192).delta_bytes(1 << 20))?;
    counted.fill_runs(TableOptions::new().counted(true))?;
    let mut packed = Maker::new("packed", pages_of(8192))?;
    packed.fill_packed()?;
    let mut operators = Maker::new("operators", pages_of(8192))?;
    operators.fill_operators()?;
    let (kept, crashed) = (kept.crash(now), crashed.crash(before));
    Ok(vec![
        empty.close()?,
        closed.close()?,
        crashed,
        merging.close()?,
        kept,
        runs.close()?,
        counted.close()?,
        packed.close()?,
        operators.crash(BTreeMap::new()),
    ])
}

/// Lines that say what a database holds.
///
/// # Errors
/// What kept it from reading.
pub fn lines_of(db: &Database) -> Result<String> {
    let mut lines = String::new();
    let txn = db.read()?;
    for table in txn.tables() {
        describe(&mut lines, &table, txn.len(&table)?);
        for entry in txn.range(&table, ..)? {
            let (key, value) = entry?;
            entry_line(&mut lines, table.name(), &key, &value);
        }
    }
    Ok(lines)
}

impl Golden {
    /// Writes its files and its lines to a directory, compressed.
    ///
    /// # Errors
    /// The system's; if one of the files is there already, for what an older version wrote is not to be replaced.
    pub fn write_to(&self, directory: &Path) -> io::Result<()> {
        let lines = (format!("{}.ndjson", self.name), self.lines.as_bytes());
        let files = self.files.iter().map(|(name, bytes)| (name.clone(), &bytes[..]));
        for (name, bytes) in files.chain([lines]) {
            let file = std::fs::File::create_new(directory.join(format!("{name}.gz")))?;
            let mut compressed = GzEncoder::new(file, Compression::best());
            compressed.write_all(bytes)?;
            compressed.finish()?.sync_all()?;
        }
        Ok(())
    }
}

/// A golden database being made.
struct Maker {
    name: &'static str,
    disk: MemoryDisk,
    db: Database,
    random: Random,
    holdings: Holdings,
    tables: BTreeMap<String, Table>,
}

impl Maker {
    fn new(name: &'static str, options: Options) -> Result<Self> {
        let disk = MemoryDisk::new();
        let path = format!("{name}.ful");
        let options = options.create(true).background(false).disk(Arc::new(disk.clone()));
        options.clone().open(&path)?.close()?;
        stamp(&disk, &path).map_err(|source| Error::Input { source: Box::new(source) })?;
        let db = options.open(&path)?;
        let (random, holdings, tables) = (Random::new(1), Holdings::default(), BTreeMap::new());
        Ok(Self { name, disk, db, random, holdings, tables })
    }

    fn create(&mut self, name: &str, options: TableOptions) -> Result<()> {
        let table = self.db.create_table(name, options)?;
        self.tables.insert(name.to_owned(), table);
        self.holdings.create_table(name);
        Ok(())
    }

    /// Renames a table that is empty.
    fn rename(&mut self, name: &str, after: &str) -> Result<()> {
        let table = self.tables.remove(name).expect("it was created before");
        self.tables.insert(after.to_owned(), self.db.rename_table(&table, after)?);
        self.holdings.drop_table(name);
        self.holdings.create_table(after);
        Ok(())
    }

    fn drop_table(&mut self, name: &str) -> Result<()> {
        let table = self.tables.remove(name).expect("it was created before");
        self.holdings.drop_table(name);
        self.db.drop_table(&table)
    }

    /// One commit; `None` deletes.
    fn write(&mut self, name: &str, entries: &[(Vec<u8>, Option<Vec<u8>>)]) -> Result<()> {
        let table = &self.tables[name];
        let held = self.holdings.table_mut(name);
        let mut txn = self.db.write()?;
        for (key, value) in entries {
            match value {
                Some(value) => {
                    txn.put(table, key, value)?;
                    held.put(key, value);
                }
                None => {
                    txn.delete(table, key)?;
                    held.delete(key);
                }
            }
        }
        txn.commit_with(Durability::Disk).map(drop)
    }

    /// Bytes that compress well and are different each time.
    fn value(&mut self, length: usize) -> Option<Vec<u8>> {
        let stamp = self.random.next_u64().to_le_bytes();
        Some(stamp.into_iter().cycle().take(length).collect())
    }

    fn fill_every_kind_of_page(&mut self) -> Result<()> {
        self.create("empty", TableOptions::new())?;
        self.fill_rows()?;
        self.fill_typed()?;
        self.fill_deep()?;
        self.fill_overflow()
    }

    /// Entries that come, change and go over several checkpoints, so that pages die and extents are reused.
    fn fill_rows(&mut self) -> Result<()> {
        self.create("plain", TableOptions::new())?;
        self.create("counted", TableOptions::new().counted(true))?;
        self.create("aligned", TableOptions::new().value_align(8).value_type("u64"))?;
        for round in 0..4 {
            for name in ["plain", "counted", "aligned"] {
                let entries: Vec<_> = (0..150)
                    .map(|_| {
                        let key = format!("key-{:04}", self.random.below(400)).into_bytes();
                        let length = if name == "aligned" { 8 } else { self.random.index(120) };
                        let value = self.value(length).filter(|_| self.random.chance(4, 5));
                        (key, value)
                    })
                    .collect();
                self.write(name, &entries)?;
            }
            if round < 3 {
                self.db.checkpoint()?;
            }
        }
        let longest_inline = self.value(5);
        self.write("plain", &[(Vec::new(), Some(Vec::new())), (vec![0xFF; 1024], longest_inline)])
    }

    fn fill_typed(&mut self) -> Result<()> {
        let cities = self.db.typed_table_with::<(String, u32), i64>("größe", TableOptions::new().counted(true))?;
        let words = self.db.multimap_table::<String, u64>("words")?;
        for (name, table) in [("größe", cities.as_bytes()), ("words", words.as_bytes())] {
            self.tables.insert(name.to_owned(), table.clone());
            self.holdings.create_table(name);
        }
        let holdings = &mut self.holdings;
        self.db.update(|txn: &mut WriteTxn| {
            for number in 0..60_u32 {
                let (key, value) = ((["a", "b", "cd"][number as usize % 3], number / 3), -i64::from(number));
                cities.put(txn, key, value)?;
                holdings
                    .table_mut("größe")
                    .put(&AsKey::<(String, u32)>::encode(&key), &AsValue::<i64>::encode_value(&value));
                let (word, meaning) = (["bank", "banker", ""][number as usize % 3], u64::from(number % 7));
                words.insert(txn, word, meaning)?;
                holdings.table_mut("words").put(&words.entry(word, meaning)?, &[]);
            }
            Ok(())
        })
    }

    /// Packed leaves with values of one length, of none, and of many; with short keys and long; beside one with an
    /// overflow.
    fn fill_packed(&mut self) -> Result<()> {
        self.create("pairs", TableOptions::new().packed(true).counted(true))?;
        self.create("numbers", TableOptions::new().packed(true).value_type("u64"))?;
        self.create("mixed", TableOptions::new().packed(true))?;
        let pairs: Vec<_> = (0..3_000_u32)
            .map(|number| ([(number / 7).to_be_bytes(), (number * 77).to_be_bytes()].concat(), Some(Vec::new())))
            .collect();
        self.write("pairs", &pairs)?;
        let numbers: Vec<_> = (0..200_u32).map(|number| (number.to_be_bytes().to_vec(), self.value(8))).collect();
        self.write("numbers", &numbers)?;
        for round in 0..3_usize {
            let mixed: Vec<_> = (0..120_usize)
                .map(|_| {
                    let (number, length) = (self.random.index(300), [0, 3, 130, 700][self.random.index(4)]);
                    let key = format!("{}-{number:03}", "k".repeat(number % 9 * 40)).into_bytes();
                    (key, self.value(length + round).filter(|_| self.random.chance(4, 5)))
                })
                .collect();
            self.write("mixed", &mixed)?;
            self.db.checkpoint()?;
        }
        let (large, beside) = (self.value(6_000), self.value(9));
        self.write("mixed", &[(Vec::new(), beside.clone()), (b"large".to_vec(), large), (vec![b'k'; 1_100], beside)])?;
        self.db.checkpoint()
    }

    /// Keys so long, and separators too, that a few leaves have two levels of branches above them.
    fn fill_deep(&mut self) -> Result<()> {
        self.create("deep", TableOptions::new())?;
        let entries: Vec<_> = (0..170_u8)
            .map(|number| {
                let mut key = vec![b'a' + number / 85; 900];
                key.push(number);
                (key, self.value(usize::from(number % 40)))
            })
            .collect();
        self.write("deep", &entries)?;
        self.db.checkpoint()
    }

    /// Keys that differ past what a page holds of them, so that separators overflow too; long values; one of its own
    /// extent.
    fn fill_overflow(&mut self) -> Result<()> {
        self.create("long keys", TableOptions::new())?;
        self.create("long values", TableOptions::new().value_align(16))?;
        let keys: Vec<_> = (0..16_u8)
            .map(|number| {
                let mut key = vec![b'k'; 1_100 + 500 * usize::from(number % 3)];
                key.push(number);
                (key, self.value(3))
            })
            .collect();
        self.write("long keys", &keys)?;
        let values: Vec<_> = (0..8_u8).map(|number| (vec![number], self.value(3_000 * usize::from(number)))).collect();
        self.write("long values", &values)?;
        let large = self.value(100_000);
        self.write("long values", &[(b"of its own extent".to_vec(), large)])
    }

    /// A base, and commits above it in two segments of the log. Returns the files as they were before the checkpoint
    /// that began the second segment: had the power failed then, they would be there with it.
    fn fill_two_segments(&mut self) -> Result<BTreeMap<String, Vec<u8>>> {
        let key = |number: u64| format!("key-{number:03}").into_bytes();
        self.create("log", TableOptions::new())?;
        self.create("gone", TableOptions::new())?;
        let entries: Vec<_> = (0..80).map(|number| (key(number), self.value(20))).collect();
        self.write("log", &entries)?;
        self.write("gone", &entries)?;
        self.db.checkpoint()?;
        self.create("made in the log", TableOptions::new().counted(true).value_align(4).key_type("string"))?;
        self.drop_table("gone")?;
        self.create("gone", TableOptions::new().value_type("u32"))?;
        let (large, long) = (self.value(66_000), self.value(20_000));
        self.write("log", &[(b"of its own extent".to_vec(), large)])?;
        self.write("log", &[(vec![b'k'; 1_500], long), (key(5), None), (key(6), None)])?;
        let before = self.files();
        self.db.checkpoint()?;
        for _ in 0..10 {
            let (name, number) = (["log", "made in the log", "gone"][self.random.index(3)], self.random.below(120));
            let (first, second) = (self.value(30).filter(|_| self.random.chance(3, 4)), self.value(40));
            self.write(name, &[(key(number), first), (key(number + 1), second)])?;
        }
        Ok(before)
    }

    /// Tables with merge operators, and values that came about by them.
    fn fill_merging(&mut self) -> Result<()> {
        self.create("counts", TableOptions::new().merge(MergeOperator::Add))?;
        self.create("sums", TableOptions::new().value_type("i32").merge(MergeOperator::Add))?;
        self.create("greatest", TableOptions::new().value_type("u16").merge(MergeOperator::Max))?;
        self.db.checkpoint()?;
        self.create("lists", TableOptions::new().counted(true).value_type("bytes").merge(MergeOperator::Append))?;
        for round in 0..3_u8 {
            let operands: [(&str, &[u8], &[u8]); 4] = [
                ("counts", &(200 * u64::from(round) + 100).to_be_bytes(), &900_u64.to_be_bytes()),
                ("sums", &(-300_i32).to_le_bytes(), &(-900_i32).to_le_bytes()),
                ("greatest", &[0x200_u16, 0x300, 0x1FF][usize::from(round)].to_le_bytes(), &0x300_u16.to_le_bytes()),
                ("lists", &[round; 2], &[0, 0, 1, 1, 2, 2]),
            ];
            for (name, operand, result) in operands {
                self.db.update(|txn| txn.merge(&self.tables[name], b"key", operand))?;
                if round == 2 {
                    self.holdings.table_mut(name).put(b"key", result);
                }
            }
        }
        Ok(())
    }

    /// Tables of each merge operator that came later, and with functions of a program, in the file and in the log,
    /// and a table that was renamed there.
    fn fill_operators(&mut self) -> Result<()> {
        use MergeOperator::{AddChecked, AddSaturating, And, Min, Or, Xor};
        let one = |value: &[u8]| [(b"key".to_vec(), Some(value.to_vec()))];
        for (operator, number) in [AddSaturating, AddChecked, Min, And, Or, Xor].into_iter().zip(1_u64..) {
            self.create(&operator.to_string(), TableOptions::new().merge(operator))?;
            self.write(&operator.to_string(), &one(&number.to_be_bytes()))?;
        }
        self.create("words", TableOptions::new().key_type("string").merge_function("word set"))?;
        self.write("words", &one(b"island sea"))?;
        self.db.checkpoint()?;
        self.create("least", TableOptions::new().value_type("i16").merge(Min))?;
        self.write("least", &one(&(-3_i16).to_le_bytes()))?;
        self.create("later words", TableOptions::new().counted(true).merge_function("W\u{f6}rter"))?;
        self.rename("later words", "renamed words")?;
        self.write("renamed words", &one(b"Insel Meer"))
    }

    /// A segment that is kept, and one that is needed: with the note of a load in it, and commits before and after
    /// that.
    fn fill_kept_segments(&mut self) -> Result<()> {
        self.create("log", TableOptions::new())?;
        let (first, large) = (self.value(20), self.value(66_000));
        self.write("log", &[(b"first".to_vec(), first), (b"of its own extent".to_vec(), large)])?;
        self.db.checkpoint()?;
        let loaded: Vec<_> = (0..30_u8).map(|number| (vec![number], self.value(9).unwrap_or_default())).collect();
        self.db.bulk_load(&self.tables["log"], loaded.iter().map(|(key, value)| (key, value)))?;
        loaded.iter().for_each(|(key, value)| self.holdings.table_mut("log").put(key, value));
        let second = self.value(40);
        self.write("log", &[(b"second".to_vec(), second), (b"first".to_vec(), None)])
    }

    /// A tree many times as large as a delta, and scattered changes of all kinds in runs above it. Some ranges have
    /// several runs.
    fn fill_runs(&mut self, options: TableOptions) -> Result<()> {
        self.create("runs", options)?;
        let key = |number: u64| {
            let mut key = format!("key-{number:05}").into_bytes();
            // Sometimes a value whose cell has only its beginning.
            key.resize(if number.is_multiple_of(251) { 1_200 } else { key.len() }, b'k');
            key
        };
        let loaded: Vec<_> = (0..RUNS_KEYS).map(|number| (key(number), self.value(60).unwrap_or_default())).collect();
        self.db.bulk_load(&self.tables["runs"], loaded.iter().map(|(key, value)| (key, value)))?;
        loaded.iter().for_each(|(key, value)| self.holdings.table_mut("runs").put(key, value));
        for round in 0..3 {
            let changes: BTreeMap<_, _> = (0..RUNS_CHANGES >> round)
                .map(|number| {
                    let length = match number % 64 {
                        0 => 5_000,
                        1 if number == 1 => 70_000,
                        _ => 10,
                    };
                    let value = self.value(length).filter(|_| length > 10 || self.random.chance(3, 4));
                    (key(self.random.below(RUNS_KEYS)), value)
                })
                .collect();
            self.write("runs", &changes.into_iter().collect::<Vec<_>>())?;
            self.db.checkpoint()?;
        }
        Ok(())
    }

    fn close(self) -> Result<Golden> {
        let (name, lines) = (self.name, self.lines());
        let disk = self.disk.clone();
        self.db.close()?;
        Ok(Golden { name, files: files(&disk), lines })
    }

    /// The files that a crash leaves whose disk has the data file of `before` still, and all segments.
    fn crash(self, before: BTreeMap<String, Vec<u8>>) -> Golden {
        let mut files = self.files();
        files.extend(before);
        Golden { name: self.name, files, lines: self.lines() }
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        files(&self.disk)
    }

    fn lines(&self) -> String {
        let mut lines = String::new();
        for (name, table) in &self.tables {
            let entries = self.holdings.table(name).expect("tables are created in both");
            describe(&mut lines, table, entries.len() as u64);
            for (key, value) in entries.iter() {
                entry_line(&mut lines, name, key, value);
            }
        }
        lines
    }
}

/// All files but locks.
fn files(disk: &MemoryDisk) -> BTreeMap<String, Vec<u8>> {
    let paths = disk.list(Path::new("")).expect("a memory disk lists its files");
    let names = paths.iter().map(|path| path.to_string_lossy().into_owned());
    names.filter(|name| !name.ends_with("-lock")).map(|name| (name.clone(), read(disk, &name))).collect()
}

fn read(disk: &MemoryDisk, name: &str) -> Vec<u8> {
    let file = disk.open(Path::new(name), Access::Read).expect("it was listed just before");
    let mut bytes = vec![0; file.len().expect("a memory disk knows lengths") as usize];
    file.read_at(0, &mut bytes).expect("the file is that long");
    bytes
}

/// Gives an empty database the uuid and the time of creation of all golden ones; nothing else in it depends on them.
fn stamp(disk: &MemoryDisk, path: &str) -> io::Result<()> {
    let file = disk.open(Path::new(path), Access::Write)?;
    for slot in [0, 4096] {
        let mut meta = [0; 512];
        file.read_at(slot, &mut meta)?;
        meta[16..32].copy_from_slice(&UUID);
        meta[168..176].copy_from_slice(&CREATED_UNIX_MS.to_le_bytes());
        let checksum = xxh3_64(&meta[..504]);
        meta[504..].copy_from_slice(&checksum.to_le_bytes());
        file.write_at(slot, &meta)?;
    }
    Ok(())
}

fn describe(lines: &mut String, table: &Table, entries: u64) {
    let (multimap, counted, align) = (table.is_multimap(), table.is_counted(), table.value_align());
    let (name, key_type, value_type) = (table.name(), table.key_type(), table.value_type());
    let packed = if table.is_packed() { r#""packed": true, "# } else { "" };
    let merge = match (table.merge_operator(), table.merge_function()) {
        (Some(operator), _) => format!(r#""merge": "{operator}", "#),
        (None, Some(function)) => format!(r#""merge_function": "{function}", "#),
        (None, None) => String::new(),
    };
    writeln!(
        lines,
        r#"{{"table": "{name}", "multimap": {multimap}, "counted": {counted}, {packed}"value_align": {align}, "key_type": "{key_type}", "value_type": "{value_type}", {merge}"entries": {entries}}}"#
    )
    .expect("a string takes everything");
}

fn entry_line(lines: &mut String, table: &str, key: &[u8], value: &[u8]) {
    let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    writeln!(lines, r#"{{"table": "{table}", "key": "{}", "value": "{}"}}"#, hex(key), hex(value))
        .expect("a string takes everything");
}

/// Keys of the golden database with runs, and changes of them in its first round.
const RUNS_KEYS: u64 = 1_500;
const RUNS_CHANGES: u64 = 300;
const UUID: [u8; 16] = *b"Fulgurite golden";
/// The first moment of 2026.
const CREATED_UNIX_MS: u64 = 1_767_225_600_000;
