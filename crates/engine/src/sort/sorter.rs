//! The sorter: fills the arena, spills it as runs, and hands out the sorted records.

use std::path::Path;

use super::arena::{Arena, HEADER_BYTES};
use super::merge::Merge;
use super::order::{Order, Walk, common_prefix};
use super::run::{Run, RunWriter};
use super::scratch::Scratch;
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::sync::Arc;

/// How to sort.
#[derive(Clone, Copy, Debug)]
pub struct SortOptions {
    /// Memory for records and for merging. Buffers of 1 MiB, and what single records need that are larger than this,
    /// come on top.
    pub memory_bytes: usize,
}

/// Takes records in any order; of those with equal keys, only the one pushed last is returned. Dropping it frees all
/// memory and disk space.
///
/// A run is written when memory is full; when [`FAN_IN`] runs of one size have gathered they are merged into one of
/// the next size. So open files and merge buffers stay few, and each record is written once more per factor of
/// [`FAN_IN`] in the amount.
#[derive(Debug)]
pub struct Sorter {
    scratch: Scratch,
    options: SortOptions,
    arena: Arena,
    /// Of what is in the arena.
    order: Order,
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
            order: Order::default(),
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
    /// [`Error::DiskFull`] or [`Error::Io`] if a run cannot be written; [`Error::KeyTooLong`] or
    /// [`Error::ValueTooLong`] from 4 GiB on. Drop the sorter after an error of the disk: records are missing.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.push_parts([key, &[]], [value, &[]])
    }

    /// Adds a record whose key and value come in two parts each.
    ///
    /// # Errors
    /// As [`Sorter::push`].
    #[inline]
    pub fn push_parts(&mut self, key: [&[u8]; 2], value: [&[u8]; 2]) -> Result<()> {
        let (key_bytes, value_bytes) = (key[0].len() + key[1].len(), value[0].len() + value[1].len());
        check_lengths(key_bytes, value_bytes)?;
        self.count += 1;
        let record_bytes = HEADER_BYTES + key_bytes + value_bytes + Order::ENTRY_BYTES;
        if self.memory_bytes() + record_bytes > self.options.memory_bytes {
            self.spill()?;
            if record_bytes > self.options.memory_bytes {
                return self.write_alone(&key.concat(), &value.concat());
            }
        }
        let place = self.arena.push(key, value, self.options.memory_bytes);
        self.order.push(self.arena.record(place).0, place);
        Ok(())
    }

    /// Ends the input.
    ///
    /// # Errors
    /// If a run cannot be written or read.
    pub fn finish(mut self) -> Result<Sorted> {
        if self.runs.is_empty() {
            self.order.sort(&self.arena);
            let walk = self.walk();
            return Ok(Sorted(Source::Memory { walk, arena: self.arena, order: self.order }));
        }
        self.spill()?;
        (self.arena, self.order) = (Arena::default(), Order::default());
        let runs = self.runs.drain(..).rev().flatten().collect();
        self.merge(runs).map(|merge| Sorted(Source::Runs(Box::new(merge))))
    }

    /// What the arena's records take, with the entries for sorting them.
    fn memory_bytes(&self) -> usize {
        self.arena.len_bytes() + self.order.count() * Order::ENTRY_BYTES
    }

    /// Sorts the arena and writes it as a run.
    fn spill(&mut self) -> Result<()> {
        if self.order.count() == 0 {
            return Ok(());
        }
        let mut writer = self.run_writer()?;
        self.order.sort(&self.arena);
        let mut walk = self.walk();
        while let Some(place) = walk.place(&self.order, &self.arena) {
            let (key, value) = self.arena.record(place);
            writer.push(key, value)?;
            walk.advance();
        }
        let prefix = self.order.shared_prefix().to_vec();
        self.arena.clear();
        self.order.clear();
        self.add_run(writer.finish()?, &prefix)
    }

    fn walk(&self) -> Walk {
        Walk::new(self.arena.len_bytes() / self.order.count().max(1))
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
        (self.arena, self.order) = (Arena::default(), Order::default());
        let mut writer = self.run_writer()?;
        let mut merge = self.merge(runs)?;
        while let Some((key, value)) = merge.peek()? {
            writer.push(key, value)?;
            merge.advance();
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
    /// Key and value of the record at hand; nothing after the last.
    ///
    /// # Errors
    /// If a run cannot be read. Records are missing then, and asking on is of no use.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        match &mut self.0 {
            Source::Runs(merge) => merge.peek(),
            Source::Memory { arena, order, walk } => Ok(walk.place(order, arena).map(|place| arena.record(place))),
        }
    }

    /// Goes on to the next record. Requires: `peek` returned one.
    #[inline]
    pub fn advance(&mut self) {
        match &mut self.0 {
            Source::Runs(merge) => merge.advance(),
            Source::Memory { walk, .. } => walk.advance(),
        }
    }
}

fn check_lengths(key_bytes: usize, value_bytes: usize) -> Result<()> {
    let limit_bytes = u64::from(u32::MAX);
    if key_bytes as u64 > limit_bytes {
        return Err(Error::KeyTooLong { length_bytes: key_bytes as u64, limit_bytes });
    }
    if value_bytes as u64 > limit_bytes {
        return Err(Error::ValueTooLong { length_bytes: value_bytes as u64, limit_bytes });
    }
    Ok(())
}

/// How many runs are merged at once, and so how many files of one size are open.
const FAN_IN: usize = 64;
/// Runs are written in calls of this size.
const WRITE_BUFFER_BYTES: usize = 1 << 20;
/// Larger reads gain nothing, and a dozen buffers of this size still fit the processor's cache.
const READ_BUFFER_MAX_BYTES: usize = 256 << 10;
/// Smaller reads cost more than they save.
const READ_BUFFER_MIN_BYTES: usize = 4 << 10;

#[cfg(test)]
pub(super) mod tests;
