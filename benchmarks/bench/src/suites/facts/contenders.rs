//! The stores that are measured.

use std::path::{Path, PathBuf};

use fulgurite::{Database, Durability};
use fulgurite_facts::{FactId, PredicateId, Snapshot, Store};
use fulgurite_rivals::{Failure, LmdbFacts, LmdbFactsReader};

/// A fact to write: predicate, key and value.
pub type NewFact<'f> = (u64, &'f [u8], &'f [u8]);

/// Any error of a store.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// A store of facts that is measured.
pub trait Contender: Sized {
    /// Its name in reports.
    const NAME: &'static str;
    /// A snapshot of it.
    type Reader<'s>: Reads
    where
        Self: 's;

    /// Creates an empty store in an empty directory.
    fn create(directory: &Path) -> Result<Self, Failed>;

    /// Adds facts in one transaction, which survives the process.
    fn add(&self, facts: &[NewFact<'_>]) -> Result<(), Failed>;

    /// Makes the store as small as it can be. Returns its file.
    fn finish(self, directory: &Path) -> Result<(Self, PathBuf), Failed>;

    /// Writes a copy that holds the same facts.
    fn back_up(&self, to: &Path) -> Result<(), Failed>;

    /// Takes a snapshot.
    fn reader(&self) -> Result<Self::Reader<'_>, Failed>;
}

/// What is asked of a snapshot.
pub trait Reads {
    /// The id of a fact.
    fn id_by_key(&self, predicate: u64, key: &[u8]) -> Result<Option<u64>, Failed>;

    /// The bytes of the key and the value of a fact.
    fn fact_bytes(&self, id: u64) -> Result<Option<usize>, Failed>;

    /// The bytes of the keys and values of at most `most` facts whose keys begin with `prefix`, and their number.
    fn seek(&self, predicate: u64, prefix: &[u8], most: u64) -> Result<(u64, usize), Failed>;

    /// The same of all facts of a predicate, in the fastest way that the store has.
    fn scan(&self, predicate: u64) -> Result<(u64, usize), Failed>;
}

/// The store of `fulgurite-facts`.
pub struct FulguriteFacts(Store);

impl Contender for FulguriteFacts {
    const NAME: &'static str = "fulgurite";
    type Reader<'s> = Snapshot;

    fn create(directory: &Path) -> Result<Self, Failed> {
        let engine = Database::options().durability(Durability::Log);
        Ok(Self(Store::options().engine(engine).create(directory.join("facts.ful"))?))
    }

    fn add(&self, facts: &[NewFact<'_>]) -> Result<(), Failed> {
        let mut batch = self.0.batch()?;
        for (predicate, key, value) in facts {
            batch.define(predicate_id(*predicate)?, key, value)?;
        }
        batch.commit(None)?;
        Ok(())
    }

    fn finish(self, directory: &Path) -> Result<(Self, PathBuf), Failed> {
        self.0.complete(|_, _| Ok(()))?;
        Ok((self, directory.join("facts.ful")))
    }

    fn back_up(&self, to: &Path) -> Result<(), Failed> {
        self.0.database().backup_to(to)?;
        Ok(())
    }

    fn reader(&self) -> Result<Snapshot, Failed> {
        Ok(self.0.snapshot()?)
    }
}

impl Reads for Snapshot {
    fn id_by_key(&self, predicate: u64, key: &[u8]) -> Result<Option<u64>, Failed> {
        Ok(Snapshot::id_by_key(self, predicate_id(predicate)?, key)?.map(FactId::get))
    }

    fn fact_bytes(&self, id: u64) -> Result<Option<usize>, Failed> {
        let Some(id) = FactId::new(id) else { return Ok(None) };
        Ok(self.fact_by_id(id)?.map(|fact| fact.key().len() + fact.value().len()))
    }

    fn seek(&self, predicate: u64, prefix: &[u8], most: u64) -> Result<(u64, usize), Failed> {
        let (mut count, mut bytes) = (0, 0);
        for fact in Snapshot::seek(self, predicate_id(predicate)?, prefix)? {
            let fact = fact?;
            bytes += fact.key().len() + fact.value().len();
            count += 1;
            if count == most {
                break;
            }
        }
        Ok((count, bytes))
    }

    fn scan(&self, predicate: u64) -> Result<(u64, usize), Failed> {
        let (mut count, mut bytes) = (0, 0);
        Snapshot::scan(self, predicate_id(predicate)?, b"", |_, key, value| {
            count += 1;
            bytes += key.len() + value.len();
        })?;
        Ok((count, bytes))
    }
}

fn predicate_id(predicate: u64) -> Result<PredicateId, Failed> {
    PredicateId::new(predicate).ok_or_else(|| "predicate 0 does not exist".into())
}

impl Contender for LmdbFacts {
    const NAME: &'static str = "lmdb";
    type Reader<'s> = LmdbFactsReader<'s>;

    fn create(directory: &Path) -> Result<Self, Failed> {
        Ok(Self::open(directory)?)
    }

    fn add(&self, facts: &[NewFact<'_>]) -> Result<(), Failed> {
        Ok(LmdbFacts::add(self, facts.iter().copied())?)
    }

    fn finish(self, directory: &Path) -> Result<(Self, PathBuf), Failed> {
        let compact = directory.join("compact");
        std::fs::create_dir(&compact)?;
        self.copy_compact(&compact.join("data.mdb"))?;
        let file = directory.join("compact.mdb");
        // Opening a store that is mapped writable makes its file as long as the map.
        std::fs::copy(compact.join("data.mdb"), &file)?;
        Ok((Self::open(&compact)?, file))
    }

    fn back_up(&self, to: &Path) -> Result<(), Failed> {
        Ok(self.copy_compact(to)?)
    }

    fn reader(&self) -> Result<LmdbFactsReader<'_>, Failed> {
        Ok(LmdbFacts::reader(self)?)
    }
}

impl Reads for LmdbFactsReader<'_> {
    fn id_by_key(&self, predicate: u64, key: &[u8]) -> Result<Option<u64>, Failed> {
        Ok(LmdbFactsReader::id_by_key(self, predicate, key)?)
    }

    fn fact_bytes(&self, id: u64) -> Result<Option<usize>, Failed> {
        Ok(self.fact_by_id(id)?.map(|(_, key, value)| key.len() + value.len()))
    }

    fn seek(&self, predicate: u64, prefix: &[u8], most: u64) -> Result<(u64, usize), Failed> {
        let (mut count, mut bytes) = (0, 0);
        let sought: Result<(), Failure> = LmdbFactsReader::seek(self, predicate, prefix, |_, key, value| {
            bytes += key.len() + value.len();
            count += 1;
            count < most
        });
        sought?;
        Ok((count, bytes))
    }

    fn scan(&self, predicate: u64) -> Result<(u64, usize), Failed> {
        Reads::seek(self, predicate, b"", u64::MAX)
    }
}
