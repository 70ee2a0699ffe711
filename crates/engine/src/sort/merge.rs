//! Merges sorted runs by a tree of losers: each inner node keeps the reader that lost the comparison there, so that the
//! next record takes one comparison per level, along one path.

use std::cmp::Ordering;

use super::order::head;
use super::run::{Run, RunReader};
use crate::error::Result;

/// A reader's place in the tree, with eight bytes of its key beside it.
#[derive(Clone, Copy, Debug)]
struct Contender {
    head: u64,
    reader: usize,
}

/// The records of several runs, in order.
///
/// Invariants: (1) `tree[0]` has the least key of all readers, `tree[1..]` the losers. (2) All keys begin with the same
/// `depth` bytes.
#[derive(Debug)]
pub(super) struct Merge {
    /// From the oldest run to the youngest.
    readers: Vec<RunReader>,
    tree: Vec<Contender>,
    depth: usize,
    /// Whether the winner's record is done with, and must be passed before the next.
    passing: bool,
    /// Its key: records that have it too are passed over.
    last_key: Vec<u8>,
    /// Value of the winner's record, if it is too large for its reader's buffer and was asked for.
    large_value: Vec<u8>,
}

impl Merge {
    /// Merges `runs`, which are in order of age, the oldest first, and whose keys all begin with the same `depth`
    /// bytes.
    pub fn new(runs: Vec<Run>, depth: usize, buffer_bytes: usize) -> Result<Self> {
        assert!(!runs.is_empty(), "a tree of losers has a winner");
        let readers: Vec<RunReader> =
            runs.into_iter().map(|run| RunReader::new(run, buffer_bytes)).collect::<Result<_>>()?;
        let count = readers.len();
        let tree = Vec::with_capacity(count);
        let (passing, last_key, large_value) = (false, Vec::new(), Vec::new());
        let mut merge = Self { readers, tree, depth, passing, last_key, large_value };
        // Node n has the children 2n and 2n + 1; the leaves, one for each reader, are the nodes from `count` on.
        let mut winners = vec![merge.contender(0); 2 * count];
        for reader in 0..count {
            winners[count + reader] = merge.contender(reader);
        }
        merge.tree = vec![winners[0]; count];
        for node in (1..count).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let right_wins = merge.precedes(right, left);
            winners[node] = if right_wins { right } else { left };
            merge.tree[node] = if right_wins { left } else { right };
        }
        merge.tree[0] = winners[1];
        Ok(merge)
    }

    /// The record at hand; nothing after the last.
    pub fn peek(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.passing {
            self.pass()?;
            while self.winner() == Some(&self.last_key) {
                self.pass()?;
            }
            self.passing = false;
        }
        let reader = self.tree[0].reader;
        if self.readers[reader].key().is_none() {
            return Ok(None);
        }
        self.readers[reader].record(&mut self.large_value).map(Some)
    }

    /// Goes on to the next record. Requires: `peek` returned one.
    pub fn advance(&mut self) {
        let key = self.readers[self.tree[0].reader].key().expect("there is a record at hand");
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.passing = true;
    }

    fn winner(&self) -> Option<&[u8]> {
        self.readers[self.tree[0].reader].key()
    }

    /// Passes the winner's record and finds the next winner.
    fn pass(&mut self) -> Result<()> {
        let reader = self.tree[0].reader;
        self.large_value.clear();
        self.readers[reader].advance()?;
        let mut winner = self.contender(reader);
        let mut node = (reader + self.tree.len()) / 2;
        while node > 0 {
            if self.precedes(self.tree[node], winner) {
                std::mem::swap(&mut self.tree[node], &mut winner);
            }
            node /= 2;
        }
        self.tree[0] = winner;
        Ok(())
    }

    fn contender(&self, reader: usize) -> Contender {
        let head = self.readers[reader].key().map_or(u64::MAX, |key| head(key, self.depth));
        Contender { head, reader }
    }

    #[inline]
    fn precedes(&self, a: Contender, b: Contender) -> bool {
        if a.head == b.head { self.precedes_by_key(a.reader, b.reader) } else { a.head < b.head }
    }

    /// Which comes first by whole keys. Of equal keys the youngest does; the others are passed over.
    fn precedes_by_key(&self, a: usize, b: usize) -> bool {
        match (self.readers[a].key(), self.readers[b].key()) {
            (Some(key_a), Some(key_b)) => match key_a[self.depth..].cmp(&key_b[self.depth..]) {
                Ordering::Equal => a > b,
                order => order.is_lt(),
            },
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}
