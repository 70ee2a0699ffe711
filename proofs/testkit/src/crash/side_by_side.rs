//! Commits of several threads at once on the database of a [`Session`], with what each acknowledged noted as it was.
//!
//! Which thread comes first is not decided here, so a recording of the same seed is another one each time; the order
//! that came about is known from the sequences of the commits, and the states are those of that order.
//!
//! Where calls fail, each thread goes on with its next commit, and what it was told counts: a commit that was
//! acknowledged has its place among the states; one that was refused has none; one in doubt has its place too, and is
//! one of the last, which may not have come about.

use std::sync::atomic::{AtomicU64, Ordering};

use fulgurite::{Database, Durability, Error, Read, Result, Sequence, WriteTxn};

use super::history::label;
use super::session::Session;
use crate::crash_disk::CrashDisk;
use crate::holdings::Holdings;
use crate::random::Random;

/// A write transaction, and its changes in order.
#[derive(Debug)]
pub struct Draft {
    txn: WriteTxn,
    changes: Vec<Changed>,
}

/// Table, key, and what was done to it.
type Changed = (String, Vec<u8>, Done);

/// What was done to a key.
#[derive(Debug)]
enum Done {
    Put(Vec<u8>),
    Deleted,
    /// Added to what is there as a big-endian number when the transaction commits.
    Added(u64),
    /// Put behind what is there when the transaction commits.
    Appended(Vec<u8>),
}

/// What every thread does beside committing.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// How many threads.
    pub threads: usize,
    /// How often each tries to commit.
    pub commits: usize,
    /// One step in so many is a checkpoint instead.
    pub checkpoint_share: u64,
}

impl Draft {
    /// Reads a key, so that a change of it is a conflict.
    ///
    /// # Errors
    /// The engine's; so for the others.
    pub fn read(&self, table: &str, key: &[u8]) -> Result<bool> {
        self.txn.contains_key(&self.txn.open_table(table)?, key)
    }

    /// Puts an entry.
    pub fn put(&mut self, table: &str, key: &[u8], value: &[u8]) -> Result<()> {
        let handle = self.txn.open_table(table)?;
        self.txn.put(&handle, key, value)?;
        self.changes.push((table.to_owned(), key.to_vec(), Done::Put(value.to_vec())));
        Ok(())
    }

    /// Deletes an entry, which need not be there.
    pub fn delete(&mut self, table: &str, key: &[u8]) -> Result<()> {
        let handle = self.txn.open_table(table)?;
        if self.txn.delete(&handle, key)? {
            self.changes.push((table.to_owned(), key.to_vec(), Done::Deleted));
        }
        Ok(())
    }

    /// Adds to the number of a key, in a table whose merge operator is that.
    pub fn add(&mut self, table: &str, key: &[u8], number: u64) -> Result<()> {
        let handle = self.txn.open_table(table)?;
        self.txn.merge(&handle, key, &number.to_be_bytes())?;
        self.changes.push((table.to_owned(), key.to_vec(), Done::Added(number)));
        Ok(())
    }

    /// Appends to the value of a key, in a table whose merge operator is that.
    pub fn append(&mut self, table: &str, key: &[u8], tail: &[u8]) -> Result<()> {
        let handle = self.txn.open_table(table)?;
        self.txn.merge(&handle, key, tail)?;
        self.changes.push((table.to_owned(), key.to_vec(), Done::Appended(tail.to_vec())));
        Ok(())
    }
}

/// What the threads share.
struct Crew<'s> {
    db: &'s Database,
    disk: &'s CrashDisk,
    /// The number of the state that all begin with, and its sequence.
    base: (u64, Sequence),
    begun: AtomicU64,
    /// The newest state that was acknowledged to survive the process, and the newest that is to survive a power cut.
    logged: AtomicU64,
    durable: AtomicU64,
}

/// What one thread did, and was told.
#[derive(Debug, Default)]
struct Told {
    /// The commits that are there, or in doubt.
    committed: Vec<(Sequence, Vec<Changed>)>,
    in_doubt: bool,
    /// What failed, except conflicts.
    errors: Vec<Error>,
}

impl Crew<'_> {
    /// The number of the state that a commit leads to.
    fn state_of(&self, sequence: Sequence) -> u64 {
        self.base.0 + (sequence.0 - self.base.1.0)
    }

    fn mark(&self, durability: Durability, sequence: Sequence) {
        let (label, newest) = match durability {
            Durability::Disk => (label::DURABLE, &self.durable),
            Durability::Log => (label::LOGGED, &self.logged),
            _ => return,
        };
        newest.fetch_max(self.state_of(sequence), Ordering::SeqCst);
        self.disk.mark(label, self.state_of(sequence));
    }

    /// Commits what `change` does, unless that is nothing.
    fn commit(
        &self,
        durability: Durability,
        random: &mut Random,
        change: impl Fn(&mut Draft, &mut Random) -> Result<()>,
        told: &mut Told,
    ) -> Result<()> {
        let mut draft = Draft { txn: self.db.write()?, changes: Vec::new() };
        change(&mut draft, random)?;
        let Draft { txn, changes } = draft;
        if changes.is_empty() {
            return Ok(());
        }
        // Of those that were begun, as many at most have come about, in whatever order.
        let begun = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        self.disk.mark(label::BEGUN, self.base.0 + begun);
        match txn.commit_with(durability) {
            Ok(sequence) => {
                self.mark(durability, sequence);
                told.committed.push((sequence, changes));
                Ok(())
            }
            Err(error) if error.is_retryable() => Ok(()),
            Err(error) => {
                if let Error::Indeterminate { sequence, .. } = error {
                    told.in_doubt = true;
                    told.committed.push((sequence, changes));
                }
                Err(error)
            }
        }
    }

    fn checkpoint(&self) -> Result<()> {
        let before = self.db.read()?.sequence();
        self.db.checkpoint()?;
        self.mark(Durability::Disk, before);
        Ok(())
    }
}

impl Session {
    /// Lets threads commit what `change` does, each with a level of its own for each commit. All of it is over when
    /// this returns.
    ///
    /// # Errors
    /// The engine's, but for conflicts, after which the threads have gone on; [`Error::Invalid`] if the sequences of
    /// the commits have gaps.
    pub fn commit_side_by_side(
        &mut self,
        shape: Shape,
        change: impl Fn(&mut Draft, &mut Random) -> Result<()> + Sync,
    ) -> Result<()> {
        let seed = self.random.next_u64();
        let (db, disk, number) = self.parts()?;
        let crew = Crew {
            base: (number, db.read()?.sequence()),
            db: &db,
            disk: &disk,
            begun: AtomicU64::new(0),
            logged: AtomicU64::new(0),
            durable: AtomicU64::new(0),
        };
        let worker = |thread: usize| -> Told {
            let mut random = Random::for_part(seed, &[thread as u64]);
            let mut told = Told::default();
            for _ in 0..shape.commits {
                if random.chance(1, shape.checkpoint_share) {
                    told.errors.extend(crew.checkpoint().err());
                }
                let level = [Durability::Memory, Durability::Log, Durability::Disk][random.index(3)];
                let outcome = crew.commit(level, &mut random, &change, &mut told);
                told.errors.extend(outcome.err());
            }
            told
        };
        let all: Vec<Told> = std::thread::scope(|scope| {
            let worker = &worker;
            let threads: Vec<_> = (0..shape.threads).map(|thread| scope.spawn(move || worker(thread))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("what panics is caught around the workload"))
                .collect()
        });
        let in_doubt = all.iter().any(|told| told.in_doubt);
        let mut committed = Vec::new();
        let mut errors = Vec::new();
        for told in all {
            committed.extend(told.committed);
            errors.extend(told.errors);
        }
        committed.sort_unstable_by_key(|&(sequence, _)| sequence);
        let first = crew.base.1.0 + 1;
        if committed.iter().zip(first..).any(|((sequence, _), expected)| sequence.0 != expected) {
            let sequences: Vec<u64> = committed.iter().map(|(sequence, _)| sequence.0).collect();
            return Err(Error::Invalid { message: format!("commits after {} got {sequences:?}", first - 1) });
        }
        for (_, changes) in committed {
            self.add_state(after(self.holdings(), changes));
        }
        self.note_acknowledged(crew.logged.into_inner(), crew.durable.into_inner(), in_doubt);
        // A failure that no failing call explains says most.
        match errors.iter().position(|error| !is_of_the_disk(error)).or(errors.len().checked_sub(1)) {
            Some(at) => Err(errors.swap_remove(at)),
            None => self.compare(),
        }
    }
}

fn after(before: &Holdings, changes: Vec<Changed>) -> Holdings {
    let mut holdings = before.clone();
    for (table, key, done) in changes {
        let table = holdings.table_mut(&table);
        match done {
            Done::Put(value) => table.put(&key, &value),
            Done::Deleted => drop(table.delete(&key)),
            Done::Added(number) => {
                let before = table.get(&key).map_or(0, |value| {
                    u64::from_be_bytes(value.try_into().expect("a table of numbers holds only numbers"))
                });
                table.put(&key, &before.wrapping_add(number).to_be_bytes());
            }
            Done::Appended(tail) => {
                let value = [table.get(&key).unwrap_or_default(), &tail].concat();
                table.put(&key, &value);
            }
        }
    }
    holdings
}

/// Whether a failing call of the disk may lead to it.
fn is_of_the_disk(error: &Error) -> bool {
    matches!(error, Error::Io { .. } | Error::DiskFull { .. } | Error::Poisoned { .. } | Error::Indeterminate { .. })
}
