//! The operations whose instructions are counted, in the order in which they run.
//!
//! Each runs once uncounted, which verifies pages and fills caches, and then once within [`counted`]. valgrind counts
//! what that function does, and writes the count when it returns: so the order of operations is the order of counts.

use fulgurite::{Database, Durability, Read, ReadTxn, Table, Value};

use crate::error::{Error, Result};
use crate::keys::{RECORDS, mix};
#[cfg(feature = "quads")]
use crate::quads;
use crate::stores::{Stores, TABLES, TableOf, engine_options};

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its name in the table of counts.
    pub name: &'static str,
    /// How often it is counted.
    pub times: u64,
    work: Work,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Get(TableOf),
    GetAbsent(TableOf),
    GetMany(TableOf),
    Scan(TableOf),
    Seek(TableOf),
    Put(TableOf),
    #[cfg(feature = "quads")]
    Query,
}

/// Operations of the engine. The one that changes the database comes last.
const OF_ENGINE: &[Operation] = &[
    get("get_hashed", TABLES[0]),
    get("get_sequential", TABLES[1]),
    get("get_iris", TABLES[2]),
    get("get_words", TABLES[3]),
    get("get_packed_u32", TABLES[4]),
    get("get_packed_u64", TABLES[5]),
    Operation { name: "get_absent", times: GETS, work: Work::GetAbsent(TABLES[0]) },
    Operation { name: "get_many32", times: GETS, work: Work::GetMany(TABLES[0]) },
    Operation { name: "scan", times: RECORDS as u64, work: Work::Scan(TABLES[0]) },
    Operation { name: "seek100", times: SEEKS, work: Work::Seek(TABLES[0]) },
    Operation { name: "put", times: PUTS, work: Work::Put(TABLES[0]) },
];

/// Operations of the store of quads.
#[cfg(feature = "quads")]
const OF_QUADS: &[Operation] = &[Operation { name: "sparql_lookup", times: QUERIES, work: Work::Query }];
#[cfg(not(feature = "quads"))]
const OF_QUADS: &[Operation] = &[];

const fn get(name: &'static str, table: TableOf) -> Operation {
    Operation { name, times: GETS, work: Work::Get(table) }
}

const GETS: u64 = 20_000;
const SEEKS: u64 = 1_000;
const PUTS: u64 = 5_000;
#[cfg(feature = "quads")]
const QUERIES: u64 = 200;
/// Records of a scan from a random place.
const SCANNED: usize = 100;
/// Keys of a call for many.
const KEYS_AT_ONCE: usize = 32;

/// Whose operations are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The engine's.
    Engine,
    /// The store of quads'.
    Quads,
}

impl Subject {
    /// The subject of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Engine, Self::Quads].into_iter().find(|subject| subject.name() == name)
    }

    /// Its name on the command line and in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Quads => "quads",
        }
    }

    /// Its operations; none of the store of quads if this program was built without it.
    pub fn operations(self) -> &'static [Operation] {
        match self {
            Self::Engine => OF_ENGINE,
            Self::Quads => OF_QUADS,
        }
    }

    /// Makes what its operations read.
    pub fn make(self, stores: &Stores) -> Result<()> {
        match self {
            Self::Engine => stores.make_tables(),
            #[cfg(feature = "quads")]
            Self::Quads => quads::make(&stores.quads),
            #[cfg(not(feature = "quads"))]
            Self::Quads => Ok(()),
        }
    }
}

/// The name by which valgrind knows [`counted`].
pub const COUNTED: &str = "fulgurite_instructions::operations::counted";

/// Does `work`; valgrind counts its instructions.
#[inline(never)]
fn counted(work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    let done = work();
    // Work is not the last that happens here, or a jump to it would take the place of the call.
    std::hint::black_box(&done);
    done
}

/// Runs all operations of `subject`.
pub fn run(subject: Subject, stores: &Stores) -> Result<()> {
    subject.operations().iter().try_for_each(|operation| operation.run(stores))
}

impl Operation {
    fn run(&self, stores: &Stores) -> Result<()> {
        #[cfg(feature = "quads")]
        if matches!(self.work, Work::Query) {
            let store = quads::open(&stores.quads)?;
            let (snapshot, texts) = (store.snapshot()?, quads::texts(self.times));
            self.twice(|| quads::answers_all(&snapshot, &texts))?;
            drop(snapshot);
            store.close()?;
            return Ok(());
        }
        let db = engine_options().open(&stores.tables)?;
        match self.work {
            Work::Get(of) => self.gets(&db, of, &self.keys(|record| of.shape.key(record)), true)?,
            Work::GetAbsent(of) => self.gets(&db, of, &self.keys(|record| of.shape.absent_key(record)), false)?,
            Work::GetMany(of) => self.gets_of_many(&db, of)?,
            Work::Scan(of) => self.scan(&db, of)?,
            Work::Seek(of) => self.seeks(&db, of)?,
            Work::Put(of) => self.puts(&db, of)?,
            #[cfg(feature = "quads")]
            Work::Query => {}
        }
        db.close()?;
        Ok(())
    }

    /// Keys of random records, the same each time.
    fn keys(&self, key: impl Fn(u32) -> Vec<u8>) -> Vec<Vec<u8>> {
        (0..self.times).map(|number| key((mix(number) % u64::from(RECORDS)) as u32)).collect()
    }

    /// Runs `work` twice, and has the second time counted.
    fn twice(&self, mut work: impl FnMut() -> Result<bool>) -> Result<()> {
        let mut checked = || if work()? { Ok(()) } else { Err(Error::Wrong { operation: self.name }) };
        checked()?;
        counted(&mut checked)
    }

    fn gets(&self, db: &Database, of: TableOf, keys: &[Vec<u8>], are_there: bool) -> Result<()> {
        let (table, txn) = (db.open_table(of.name)?, db.read()?);
        self.twice(|| all_are(&txn, &table, keys, are_there))
    }

    fn gets_of_many(&self, db: &Database, of: TableOf) -> Result<()> {
        let (table, txn) = (db.open_table(of.name)?, db.read()?);
        let keys = self.keys(|record| of.shape.key(record));
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        self.twice(|| {
            let mut found = 0;
            for keys in keys.chunks(KEYS_AT_ONCE) {
                txn.get_many_with(&table, keys, |value: Option<Value<'_>>| found += usize::from(value.is_some()))?;
            }
            Ok(found == keys.len())
        })
    }

    fn scan(&self, db: &Database, of: TableOf) -> Result<()> {
        let (table, txn) = (db.open_table(of.name)?, db.read()?);
        self.twice(|| {
            let (mut records, mut bytes) = (0, 0);
            let mut batches = txn.leaf_batches(&table, ..)?;
            while let Some(batch) = batches.next().transpose()? {
                for (key, value) in &batch {
                    records += 1;
                    bytes += key.len() + value.len();
                }
            }
            Ok(records == self.times && bytes > 0)
        })
    }

    fn seeks(&self, db: &Database, of: TableOf) -> Result<()> {
        let (table, txn) = (db.open_table(of.name)?, db.read()?);
        let keys = self.keys(|record| of.shape.key(record));
        self.twice(|| {
            let mut found = 0;
            for key in &keys {
                for entry in txn.range(&table, &key[..]..)?.take(SCANNED) {
                    found += usize::from(!entry?.1.is_empty());
                }
            }
            Ok(found > keys.len())
        })
    }

    /// Transactions of one put each. Half of them put new keys.
    fn puts(&self, db: &Database, of: TableOf) -> Result<()> {
        let table = db.open_table(of.name)?;
        let keys = self.keys(|record| if record % 2 == 0 { of.shape.key(record) } else { of.shape.absent_key(record) });
        self.twice(|| {
            for key in &keys {
                let mut txn = db.write()?;
                txn.put(&table, key, b"another value of some bytes")?;
                txn.commit_with(Durability::Memory)?;
            }
            Ok(true)
        })
    }
}

/// Whether all keys have values, or none has.
fn all_are(txn: &ReadTxn, table: &Table, keys: &[Vec<u8>], there: bool) -> Result<bool> {
    let mut all = true;
    for key in keys {
        all &= txn.get(table, key)?.is_some() == there;
    }
    Ok(all)
}
