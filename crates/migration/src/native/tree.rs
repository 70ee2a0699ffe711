//! [`Tree`]: the statements of an index, in a B-tree whose nodes have records of four ids and a byte of flags.
//!
//! A node has one block of the file: the number of its records, the number of its first child, and then each record
//! with the number of the child behind it. Inner nodes have records too. Leaves have 0 for each child.

use std::path::Path;

use super::file::StoreFile;
use crate::directory::{Index, StatementIds};
use crate::error::{Error, Result, damaged};

/// A tree.
#[derive(Debug)]
pub struct Tree {
    file: StoreFile,
    index: Index,
    block_bytes: u64,
    /// The most records of a node.
    records_max: usize,
    /// The number of the root; 0 if there are no records.
    root: u32,
}

/// A record of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The statement.
    pub statement: StatementIds,
    /// What else is stored of it.
    pub flags: u8,
}

impl Tree {
    /// Opens the file of an index.
    ///
    /// # Errors
    /// As [`StoreFile::open`].
    pub fn open(directory: &Path, index: &Index) -> Result<Self> {
        let path = directory.join(format!("triples-{}.dat", index.name));
        let file = StoreFile::open(&path, &MAGICS)?;
        let [block_bytes, record_bytes, root] = [4, 8, 12].map(|offset| file.array(offset).map(u32::from_be_bytes));
        let (block_bytes, root) = (u64::from(block_bytes?), root?);
        if record_bytes? != RECORD_BYTES as u32 {
            return Err(damaged(&path, "its records have another length than statements"));
        }
        let records_max = block_bytes.saturating_sub(HEADER_BYTES as u64) / SLOT_BYTES as u64;
        if !(1..=RECORDS_MAX).contains(&records_max) {
            return Err(damaged(&path, format!("its nodes have {block_bytes} bytes")));
        }
        Ok(Self { file, index: index.clone(), block_bytes, records_max: records_max as usize, root })
    }

    /// The file.
    pub fn file(&self) -> &StoreFile {
        &self.file
    }

    /// The index.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// All records, in the order of the index.
    pub fn records(&self) -> Records<'_> {
        Records { tree: self, path: Vec::new(), last: None, state: State::Begins }
    }

    fn node(&self, number: u32, depth: usize) -> Result<Node> {
        let failed = |offence: &str| damaged(self.file.path(), format!("node {number}: {offence}"));
        if depth >= DEPTH_MAX {
            return Err(failed("it is too deep in the tree"));
        }
        let bytes =
            self.file.read(u64::from(number) * self.block_bytes, HEADER_BYTES + self.records_max * SLOT_BYTES)?;
        let count = number_at(&bytes, 0) as usize;
        if count > self.records_max {
            return Err(failed("it has more records than fit"));
        }
        let node = Node { bytes, count, next: 0, has_descended: false };
        let children = (0..=count).filter(|&child| node.child(child) != 0).count();
        match children {
            0 => Ok(node),
            _ if count > 0 && children == count + 1 => Ok(node),
            _ => Err(failed("some of its children are missing")),
        }
    }
}

/// A node on the way to the next record.
#[derive(Debug)]
struct Node {
    bytes: Vec<u8>,
    count: usize,
    /// The next record.
    next: usize,
    /// Whether the records of the child before it have been read.
    has_descended: bool,
}

impl Node {
    /// The number of a child; 0 if there is none.
    fn child(&self, index: usize) -> u32 {
        number_at(&self.bytes, 4 + index * SLOT_BYTES)
    }

    fn record(&self, index: usize) -> &[u8] {
        &self.bytes[HEADER_BYTES + index * SLOT_BYTES..][..RECORD_BYTES]
    }
}

/// Reads records in order.
#[derive(Debug)]
pub struct Records<'t> {
    tree: &'t Tree,
    /// The nodes from the root to the one whose record is next.
    path: Vec<Node>,
    /// The last record's ids, in the order of the index.
    last: Option<[u64; 4]>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Begins,
    Reads,
    HasFailed,
}

impl Records<'_> {
    fn read(&mut self) -> Result<Option<Record>> {
        if self.state == State::Begins {
            self.state = State::Reads;
            if self.tree.root != 0 {
                self.path.push(self.tree.node(self.tree.root, 0)?);
            }
        }
        loop {
            let depth = self.path.len();
            let Some(node) = self.path.last_mut() else { return Ok(None) };
            let child = node.child(node.next);
            if child != 0 && !node.has_descended {
                node.has_descended = true;
                let child = self.tree.node(child, depth)?;
                self.path.push(child);
            } else if node.next < node.count {
                let (ids, flags) = self.tree.ids(node.record(node.next));
                node.next += 1;
                node.has_descended = false;
                return self.in_order(ids, flags).map(Some);
            } else {
                self.path.pop();
            }
        }
    }

    /// The record, if it comes behind the last one: then no node is read twice, and the reading ends.
    fn in_order(&mut self, ids: [u64; 4], flags: u8) -> Result<Record> {
        let sorted = self.tree.index.places.map(|place| ids[place]);
        if self.last.is_some_and(|last| last >= sorted) {
            let index = &self.tree.index.name;
            return Err(damaged(
                self.tree.file.path(),
                format!("the statements of the index {index} are not in order"),
            ));
        }
        self.last = Some(sorted);
        Ok(Record { statement: StatementIds::new(ids), flags })
    }
}

impl Tree {
    /// The ids and the flags of a record.
    fn ids(&self, record: &[u8]) -> ([u64; 4], u8) {
        ([0, 4, 8, 12].map(|offset| u64::from(number_at(record, offset))), record[16])
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::HasFailed {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.state = State::HasFailed;
        }
        read.transpose()
    }
}

/// The number at an offset that is within the bytes.
fn number_at(bytes: &[u8], offset: usize) -> u32 {
    bytes[offset..offset + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Sesame 2.3 and later write the first one.
const MAGICS: [[u8; 3]; 2] = [*b"btf", [0; 3]];
/// Four ids and the flags.
const RECORD_BYTES: usize = 17;
/// A record, and the child behind it.
const SLOT_BYTES: usize = RECORD_BYTES + 4;
/// The number of records, and the first child.
const HEADER_BYTES: usize = 8;
/// RDF4J has 97 in a node.
const RECORDS_MAX: u64 = 1 << 12;
/// Deeper than any tree of 2^32 nodes, each with two children or more.
const DEPTH_MAX: usize = 33;
