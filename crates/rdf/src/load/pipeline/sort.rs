//! Quads sorted for each index, in bounded memory: chunks that fit are sorted and, if there are several, kept as runs
//! and merged.
//!
//! It is done on a thread of its own, which hands sorted blocks over a short channel to the one that builds trees.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::SyncSender;

use super::progress::LoadMonitor;
use super::scratch::{Scratch, Segment, SegmentReader};
use crate::error::{Error, Result};
use crate::model::pattern::Position;
use crate::quads::packed_rows::{Ranges, Row, Sorted};

/// Keys of an index that follow each other: so many numbers each.
pub enum Block {
    One(Sorted<1>),
    Three(Sorted<3>),
    Four(Sorted<4>),
    /// No more of this index.
    End,
}

/// An index as places of a [`Row`].
#[derive(Clone)]
pub struct Columns(Vec<usize>);

impl Columns {
    pub fn of(positions: &[Position]) -> Self {
        let place = |position: &Position| match position {
            Position::Subject => 0,
            Position::Predicate => 1,
            Position::Object => 2,
            Position::Graph => 3,
        };
        Self(positions.iter().map(place).collect())
    }
}

/// Takes rows and gives them sorted, for several indexes.
pub struct RowSorter<'s> {
    scratch: &'s Scratch,
    watch: &'s LoadMonitor,
    columns: Vec<Columns>,
    rows: Vec<Row>,
    rows_max: usize,
    /// For each index its runs.
    runs: Vec<Vec<Segment>>,
}

impl<'s> RowSorter<'s> {
    pub fn new(scratch: &'s Scratch, watch: &'s LoadMonitor, columns: Vec<Columns>, memory_bytes: usize) -> Self {
        let runs = columns.iter().map(|_| Vec::new()).collect();
        // While the rows of one index are sorted, they are there twice at most.
        let rows_max = (memory_bytes / size_of::<Row>() / 2).max(ROWS_MIN);
        Self { scratch, watch, columns, rows: Vec::new(), rows_max, runs }
    }

    /// # Errors
    /// [`Error::Scratch`], [`Error::Cancelled`].
    pub fn push(&mut self, row: Row) -> Result<()> {
        if self.rows.len() == self.rows_max {
            self.spill()?;
        }
        self.rows.push(row);
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        let (rows, ranges) = (&self.rows, Ranges::of(&self.rows));
        for (columns, runs) in self.columns.iter().zip(&mut self.runs) {
            self.watch.look()?;
            runs.push(self.scratch.keep(match columns.0[..] {
                [a] => to_bytes(&Sorted::new(rows, &ranges, [a])),
                [a, b, c] => to_bytes(&Sorted::new(rows, &ranges, [a, b, c])),
                [a, b, c, d] => to_bytes(&Sorted::new(rows, &ranges, [a, b, c, d])),
                _ => unreachable!("an index has one, three or four places"),
            })?);
        }
        self.rows.clear();
        Ok(())
    }

    /// Sends the blocks of one index after the other, each ended by [`Block::End`].
    ///
    /// # Errors
    /// [`Error::Scratch`]; [`Error::Cancelled`], also if nobody takes the blocks any more.
    pub fn finish(mut self, blocks: &SyncSender<Block>) -> Result<()> {
        let is_spilled = self.runs.iter().any(|runs| !runs.is_empty());
        if is_spilled && !self.rows.is_empty() {
            self.spill()?;
        }
        if is_spilled {
            self.rows = Vec::new();
        }
        let ranges = Ranges::of(&self.rows);
        for (columns, runs) in self.columns.iter().zip(&self.runs) {
            self.watch.look()?;
            match columns.0[..] {
                [a] => self.send(runs, &ranges, [a], Block::One, blocks)?,
                [a, b, c] => self.send(runs, &ranges, [a, b, c], Block::Three, blocks)?,
                [a, b, c, d] => self.send(runs, &ranges, [a, b, c, d], Block::Four, blocks)?,
                _ => unreachable!("an index has one, three or four places"),
            }
            blocks.send(Block::End).map_err(|_| Error::Cancelled)?;
        }
        Ok(())
    }

    fn send<const N: usize>(
        &self,
        runs: &[Segment],
        ranges: &Ranges,
        columns: [usize; N],
        block: fn(Sorted<N>) -> Block,
        blocks: &SyncSender<Block>,
    ) -> Result<()> {
        let send = |keys| blocks.send(block(keys)).map_err(|_| Error::Cancelled);
        if runs.is_empty() {
            return send(Sorted::new(&self.rows, ranges, columns));
        }
        let mut merge = RunMerge::<N>::new(self.scratch, runs)?;
        let mut keys = Vec::with_capacity(BLOCK_KEYS);
        while let Some(key) = merge.next()? {
            // The same quad may be in several runs.
            if keys.last() == Some(&key) {
                continue;
            }
            if keys.len() == BLOCK_KEYS {
                let full = std::mem::replace(&mut keys, Vec::with_capacity(BLOCK_KEYS));
                let last = *full.last().expect("it is full");
                send(Sorted::Plain(full))?;
                self.watch.look()?;
                if last == key {
                    continue;
                }
            }
            keys.push(key);
        }
        send(Sorted::Plain(keys))
    }
}

fn to_bytes<const N: usize>(keys: &Sorted<N>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(keys.len() * N * size_of::<u64>());
    keys.iter().flatten().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    bytes
}

/// The keys of several runs, in order.
struct RunMerge<'s, const N: usize> {
    readers: Vec<SegmentReader<'s>>,
    heap: BinaryHeap<Reverse<([u64; N], usize)>>,
}

impl<'s, const N: usize> RunMerge<'s, N> {
    fn new(scratch: &'s Scratch, runs: &'s [Segment]) -> Result<Self> {
        let buffer_bytes = (MERGE_BYTES / runs.len()).clamp(READ_BYTES_MIN, READ_BYTES_MAX);
        let readers = runs.iter().map(|run| SegmentReader::new(scratch, run, buffer_bytes)).collect();
        let mut merge = Self { readers, heap: BinaryHeap::with_capacity(runs.len()) };
        (0..runs.len()).try_for_each(|run| merge.advance(run))?;
        Ok(merge)
    }

    fn read(&mut self, run: usize) -> Result<Option<[u64; N]>> {
        let reader = &mut self.readers[run];
        if reader.is_at_end() {
            return Ok(None);
        }
        let bytes = reader.take(8 * N)?;
        let mut key = [0; N];
        for (number, bytes) in key.iter_mut().zip(bytes.chunks_exact(8)) {
            *number = u64::from_le_bytes(bytes.try_into().expect("chunks of eight"));
        }
        Ok(Some(key))
    }

    fn advance(&mut self, run: usize) -> Result<()> {
        if let Some(key) = self.read(run)? {
            self.heap.push(Reverse((key, run)));
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<[u64; N]>> {
        let Some(&Reverse((key, run))) = self.heap.peek() else { return Ok(None) };
        match self.read(run)? {
            // To replace the top costs half of taking it away and putting another in.
            Some(next) => *self.heap.peek_mut().expect("it was there just now") = Reverse((next, run)),
            None => {
                self.heap.pop();
            }
        }
        Ok(Some(key))
    }
}

const ROWS_MIN: usize = 64;
const BLOCK_KEYS: usize = 1 << 14;
const MERGE_BYTES: usize = 32 << 20;
const READ_BYTES_MIN: usize = 4 << 10;
const READ_BYTES_MAX: usize = 256 << 10;
