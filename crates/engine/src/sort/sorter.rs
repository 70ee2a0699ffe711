//! The sorter: fills the arena, spills it as runs, and hands out the sorted records.

use std::path::Path;

use super::arena::{Arena, HEADER_BYTES};
use super::merge::Merge;
use super::order::{Order, common_prefix};
use super::run::{Run, RunWriter};
use super::scratch::Scratch;
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::sync::Arc;

/// How to sort.
#[derive(Clone, Copy, Debug)]
pub struct SortOptions {
    /// Memory for records and for merging. Buffers of 1 MiB, and what single records need that are larger than this, come
    /// on top.
    pub memory_bytes: usize,
}

/// Takes records in any order; of those with equal keys, the one pushed last comes out. Dropping it gives back all memory and disk space.
///
/// A run is written when memory is full; when [`FAN_IN`] runs of one size have gathered they are merged into one of the
/// next size. So open files and merge buffers stay few, and each record is written once more per factor of [`FAN_IN`] in
/// the amount.
#[derive(Debug)]
pub struct Sorter {
    scratch: Scratch,
    options: SortOptions,
    arena: Arena,
    count: u64,
    /// The runs by size, the smallest first, and in each size from the oldest to the youngest. All runs of a size are
    /// older than those of smaller sizes.
    runs: Vec<Vec<Run>>,
    /// The beginning that all keys in runs share.
    shared_prefix: Option<Vec<u8>>,
}

impl Sorter {
    /// An empty sorter, whose runs go to `disk` beside the file `database`.
    pub fn new(disk: Arc<dyn Disk>, database: &Path, options: SortOptions) -> Self {
        Self {
            scratch: Scratch::new(disk, database),
            options,
            arena: Arena::default(),
            count: 0,
            runs: Vec::new(),
            shared_prefix: None,
        }
    }

    /// The number of records pushed.
    #[cfg(test)]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds a record.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`] if a run cannot be written; [`Error::KeyTooLong`] or [`Error::ValueTooLong`]
    /// from 4 GiB on. Drop the sorter after an error of the disk: records are missing.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_lengths(key, value)?;
        self.count += 1;
        let record_bytes = HEADER_BYTES + key.len() + value.len() + Order::ENTRY_BYTES;
        if self.memory_bytes() + record_bytes > self.options.memory_bytes {
            self.spill()?;
            if record_bytes > self.options.memory_bytes {
                return self.write_alone(key, value);
            }
        }
        self.arena.push(key, value, self.options.memory_bytes);
        Ok(())
    }

    /// Ends the input.
    ///
    /// # Errors
    /// If a run cannot be written or read.
    pub fn finish(mut self) -> Result<Sorted> {
        if self.runs.is_empty() {
            let order = Order::of(&self.arena);
            return Ok(Sorted(Source::Memory { walk: Walk::default(), arena: self.arena, order }));
        }
        self.spill()?;
        self.arena = Arena::default();
        let runs = self.runs.drain(..).rev().flatten().collect();
        self.merge(runs).map(|merge| Sorted(Source::Runs(Box::new(merge))))
    }

    /// What the arena's records take, with the entries for sorting them.
    fn memory_bytes(&self) -> usize {
        self.arena.len_bytes() + self.arena.count() * Order::ENTRY_BYTES
    }

    /// Sorts the arena and writes it as a run.
    fn spill(&mut self) -> Result<()> {
        if self.arena.count() == 0 {
            return Ok(());
        }
        let mut writer = self.run_writer()?;
        let order = Order::of(&self.arena);
        let mut walk = Walk::default();
        while let Some((key, value)) = walk.next(&self.arena, &order) {
            writer.push(key, value)?;
        }
        let prefix = self.arena.shared_prefix().to_vec();
        self.arena.clear();
        self.add_run(writer.finish()?, &prefix)
    }

    /// Writes a record that is larger than the memory as a run of its own.
    fn write_alone(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut writer = self.run_writer()?;
        writer.push(key, value)?;
        self.add_run(writer.finish()?, key)
    }

    /// Adds a run as the youngest; all its keys begin with `prefix`.
    fn add_run(&mut self, run: Run, prefix: &[u8]) -> Result<()> {
        let shared = self.shared_prefix.get_or_insert_with(|| prefix.to_vec());
        shared.truncate(common_prefix(shared, prefix));
        let mut run = run;
        for size in 0.. {
            if size == self.runs.len() {
                self.runs.push(Vec::new());
            }
            self.runs[size].push(run);
            if self.runs[size].len() < FAN_IN {
                break;
            }
            let runs = std::mem::take(&mut self.runs[size]);
            run = self.merge_into_one(runs)?;
        }
        Ok(())
    }

    fn merge_into_one(&mut self, runs: Vec<Run>) -> Result<Run> {
        // What the arena has allocated is needed for the merge's buffers; the arena is empty here.
        self.arena = Arena::default();
        let mut writer = self.run_writer()?;
        let mut merge = self.merge(runs)?;
        while let Some((key, value)) = merge.next()? {
            writer.push(key, value)?;
        }
        writer.finish()
    }

    fn merge(&self, runs: Vec<Run>) -> Result<Merge> {
        let depth = self.shared_prefix.as_ref().map_or(0, Vec::len);
        let share = self.options.memory_bytes / runs.len().max(1);
        let buffer_bytes = share.clamp(READ_BUFFER_MIN_BYTES, READ_BUFFER_MAX_BYTES);
        Merge::new(runs, depth, buffer_bytes)
    }

    fn run_writer(&mut self) -> Result<RunWriter> {
        Ok(RunWriter::new(self.scratch.create()?, WRITE_BUFFER_BYTES))
    }
}

/// Sorted records.
#[derive(Debug)]
pub struct Sorted(Source);

#[derive(Debug)]
enum Source {
    Memory { arena: Arena, order: Order, walk: Walk },
    Runs(Box<Merge>),
}

impl Sorted {
    /// The next record's key and value, and nothing at the end.
    ///
    /// # Errors
    /// If a run cannot be read. Records are missing then, and asking on is of no use.
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        match &mut self.0 {
            Source::Runs(merge) => merge.next(),
            Source::Memory { arena, order, walk } => Ok(walk.next(arena, order)),
        }
    }
}

/// A walk through an arena in its order.
///
/// Each record lies somewhere else, so each would be waited for. The walk therefore reads a little of each of the next
/// records first, in a loop so short that the processor fetches many of them at once.
#[derive(Debug, Default)]
struct Walk {
    position: usize,
    /// Records before this position were fetched.
    fetched: usize,
}

impl Walk {
    fn next<'a>(&mut self, arena: &'a Arena, order: &Order) -> Option<(&'a [u8], &'a [u8])> {
        while self.position < order.count() {
            let position = self.position;
            self.position += 1;
            // A record is looked at when the one before it is given out, to see whether its key is the same.
            if self.position >= self.fetched {
                let end = (self.position + FETCHED_AT_ONCE).min(order.count());
                arena.fetch((self.position..end).map(|position| order.offset(position)));
                self.fetched = end;
            }
            let (key, value) = arena.record(order.offset(position));
            let is_repeated = self.position < order.count() && arena.key(order.offset(self.position)) == key;
            if !is_repeated {
                return Some((key, value));
            }
        }
        None
    }
}

fn check_lengths(key: &[u8], value: &[u8]) -> Result<()> {
    let limit_bytes = u64::from(u32::MAX);
    if key.len() as u64 > limit_bytes {
        return Err(Error::KeyTooLong { length_bytes: key.len() as u64, limit_bytes });
    }
    if value.len() as u64 > limit_bytes {
        return Err(Error::ValueTooLong { length_bytes: value.len() as u64, limit_bytes });
    }
    Ok(())
}

/// How many runs are merged at once, and so how many files of one size are open.
const FAN_IN: usize = 64;
/// Enough to keep the processor busy, and few enough to stay in its first cache.
const FETCHED_AT_ONCE: usize = 32;
/// Runs are written in calls of this size.
const WRITE_BUFFER_BYTES: usize = 1 << 20;
/// Larger reads gain nothing, and a dozen buffers of this size still fit the processor's cache.
const READ_BUFFER_MAX_BYTES: usize = 256 << 10;
/// Smaller reads cost more than they save.
const READ_BUFFER_MIN_BYTES: usize = 4 << 10;

#[cfg(test)]
pub(super) mod tests;
