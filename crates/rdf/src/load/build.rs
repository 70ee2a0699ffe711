//! Fills the tables of an empty store: terms first, and beside it, on another thread, quads are sorted.

use std::sync::mpsc::{Receiver, sync_channel};

use fulgurite::{Table, WriteTxn};

use super::merge::{Numbering, TermMerge};
use super::progress::Watch;
use super::scratch::Scratch;
use super::sort::{Block, Columns, Row, RowSorter};
use super::stash::{Entry, Stashed, blank_node, next_in_order};
use crate::dictionary::{self, bytes};
use crate::error::{Error, Result};
use crate::id::{IdKey, Tag, TermId};
use crate::pattern::Position;
use crate::shared::Shared;
use crate::tables::{Tables, damaged};

/// What was filled in.
#[derive(Default)]
pub struct Built {
    pub quads: u64,
    pub terms: u64,
}

/// Batches, and where they go.
pub struct Builder<'b> {
    pub shared: &'b Shared,
    pub tables: &'b Tables,
    pub scratch: &'b Scratch,
    pub watch: &'b Watch,
    pub batches: &'b [Stashed],
    pub memory_bytes: usize,
}

impl Builder<'_> {
    /// Fills all tables. Each is durable when the next begins; nothing tells that all are but what the caller does then.
    ///
    /// # Errors
    /// [`Error::Scratch`], [`Error::Cancelled`]; what the engine reports. Some tables are filled then.
    pub fn build(&self) -> Result<(Built, Vec<Numbering>)> {
        let places: u64 = self.batches.iter().map(|batch| u64::from(batch.terms)).sum();
        let mut first = dictionary::reserve(&self.shared.database, self.tables, places)?.start;
        let mut first_blank = TermId::new_blanks(places).payload();
        let mut numberings = Vec::with_capacity(self.batches.len());
        for batch in self.batches {
            numberings.push(Numbering::new(first, first_blank));
            first += u64::from(batch.terms);
            first_blank += u64::from(batch.terms);
        }
        let mut built = Built::default();
        self.watch.stage("numbering terms")?;
        if places > 0 {
            let merge_bytes = self.memory_bytes / 8;
            let mut merge = TermMerge::new(self.scratch, self.batches, &mut numberings, self.watch, merge_bytes)?;
            self.fill(&self.tables.ids, &mut merge)?;
            built.terms = merge.terms;
        }
        built.quads = self.fill_with_quads(&numberings)?;
        Ok((built, numberings))
    }

    fn fill_with_quads(&self, numberings: &[Numbering]) -> Result<u64> {
        let (sender, blocks) = sync_channel(1);
        std::thread::scope(|scope| {
            let sorting = scope.spawn(move || {
                let sorted = self
                    .sort(numberings)
                    .and_then(|sorters| sorters.into_iter().try_for_each(|sorter| sorter.finish(&sender)));
                if sorted.is_err() {
                    self.watch.fail();
                }
                sorted
            });
            let filled = self.fill_from(numberings, &blocks);
            // So that the other thread ends, if it still has something to send.
            drop(blocks);
            if filled.is_err() {
                self.watch.fail();
            }
            let sorted = sorting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (filled, sorted) {
                // The other thread has ended because this one failed, or the other way round.
                (Err(error), Ok(()) | Err(Error::Cancelled)) | (_, Err(error)) => Err(error),
                (filled, Ok(())) => filled,
            }
        })
    }

    fn fill_from(&self, numberings: &[Numbering], blocks: &Receiver<Block>) -> Result<u64> {
        self.watch.stage("building terms")?;
        for tag in Tag::DICTIONARY {
            let mut terms = Terms::new(self, numberings, tag).peekable();
            if terms.peek().is_some() {
                self.fill(&self.tables.terms, terms)?;
            }
        }
        let mut quads = 0;
        for indexes in [&self.tables.default_graph, &self.tables.named_graphs] {
            for (place, index) in indexes.iter().enumerate() {
                self.watch.stage("building indexes")?;
                let inserted = self.fill_index(&index.table, blocks)?;
                quads += if place == 0 { inserted } else { 0 };
            }
        }
        self.fill_index(&self.tables.graphs, blocks)?;
        Ok(quads)
    }

    /// Fills an index from the blocks up to the next end.
    fn fill_index(&self, table: &Table, blocks: &Receiver<Block>) -> Result<u64> {
        let mut keys = Keys { blocks, watch: self.watch, block: Block::End, next: 0, is_at_end: false }.peekable();
        if keys.peek().is_none() { Ok(0) } else { self.fill(table, keys) }
    }

    fn fill<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        table: &Table,
        entries: impl Iterator<Item = Result<(K, V)>>,
    ) -> Result<u64> {
        match self.shared.database.try_bulk_load(table, entries) {
            Ok(summary) => Ok(summary.inserted),
            Err(fulgurite::Error::Input { source }) => Err(match source.downcast::<Error>() {
                Ok(error) => *error,
                Err(source) => fulgurite::Error::Input { source }.into(),
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts all quads into sorters: that of the default graph, and that of named graphs with the graphs themselves.
    fn sort(&self, numberings: &[Numbering]) -> Result<[RowSorter<'_>; 2]> {
        let columns = |indexes: &[crate::tables::Index]| -> Vec<Columns> {
            indexes.iter().map(|index| Columns::of(index.order.positions())).collect()
        };
        let mut named = columns(&self.tables.named_graphs);
        named.push(Columns::of(&[Position::Graph]));
        let memory_bytes = self.memory_bytes / 3;
        let sorter = |columns| RowSorter::new(self.scratch, self.watch, columns, memory_bytes);
        let mut sorters = [sorter(columns(&self.tables.default_graph)), sorter(named)];
        for (batch, numbering) in self.batches.iter().zip(numberings) {
            self.watch.look()?;
            let ids: Vec<TermId> = numbering.ids(batch, self.scratch)?.into_iter().map(|(id, _)| id).collect();
            batch.quads(self.scratch, |quad| {
                let mut row: Row = [0; 4];
                for (number, slot) in row.iter_mut().zip(quad) {
                    *number = slot.resolve(&ids).expect("a slot has a number or a term of its batch").to_bits();
                }
                sorters[usize::from(row[3] != 0)].push(row)
            })?;
        }
        Ok(sorters)
    }

    /// Adds the triple terms that have blank nodes in them: these have their numbers now.
    ///
    /// # Errors
    /// [`Error::Scratch`]; what the engine reports.
    pub fn add_scoped(&self, txn: &mut WriteTxn, numberings: &[Numbering]) -> Result<()> {
        for (batch, numbering) in self.batches.iter().zip(numberings).filter(|(batch, _)| !batch.scoped.is_empty()) {
            let ids = numbering.ids(batch, self.scratch)?;
            let (mut reader, mut entry, mut index) = (batch.in_order(self.scratch), Entry::default(), 0);
            let mut scoped = batch.scoped.iter().peekable();
            while next_in_order(&mut reader, &mut entry)? {
                if let Some((_, blanks)) = scoped.next_if(|(triple, _)| *triple == index)
                    && ids[index as usize].1
                {
                    let mut blanks = blanks.iter().map(|&blank| ids[blank as usize].0);
                    let encoded = unscoped(&entry.bytes, &mut blanks, self.shared.path())?;
                    let (namespaces, hash) = (&self.shared.iri_namespaces, self.shared.hasher.hash(&encoded));
                    dictionary::add(txn, self.tables, namespaces, hash, &encoded, ids[index as usize].0)?;
                }
                index += 1;
            }
        }
        Ok(())
    }
}

/// The bytes of a triple term of a document whose blank nodes have these numbers.
///
/// # Errors
/// None, unless memory is damaged.
pub fn unscoped(scoped: &[u8], blanks: &mut dyn Iterator<Item = TermId>, path: &std::path::Path) -> Result<Vec<u8>> {
    let term = bytes::decode_scoped(scoped, &mut || blanks.next().and_then(blank_node));
    let term = term.map_err(|offence| damaged(path, "a triple term that is loaded", offence))?;
    let mut encoded = Vec::new();
    bytes::encode(term.as_ref(), &mut encoded)?;
    Ok(encoded)
}

/// The entries of the table `terms` that have one tag, in order.
struct Terms<'t> {
    builder: &'t Builder<'t>,
    numberings: &'t [Numbering],
    tag: Tag,
    batch: usize,
    reader: Option<super::scratch::SegmentReader<'t>>,
    ids: Vec<(TermId, bool)>,
    index: usize,
    entry: Entry,
    short: Vec<u8>,
}

impl<'t> Terms<'t> {
    fn new(builder: &'t Builder<'t>, numberings: &'t [Numbering], tag: Tag) -> Self {
        let (ids, entry, short) = (Vec::new(), Entry::default(), Vec::new());
        Self { builder, numberings, tag, batch: 0, reader: None, ids, index: 0, entry, short }
    }

    fn read(&mut self) -> Result<Option<(IdKey, Vec<u8>)>> {
        let Builder { batches, scratch, shared, watch, .. } = self.builder;
        loop {
            let Some(reader) = &mut self.reader else {
                let Some(batch) = batches.get(self.batch) else { return Ok(None) };
                watch.look()?;
                self.ids = self.numberings[self.batch].ids(batch, scratch)?;
                self.index = 0;
                self.reader = Some(batch.in_order(scratch));
                continue;
            };
            if !next_in_order(reader, &mut self.entry)? {
                self.reader = None;
                self.batch += 1;
                continue;
            }
            let index = self.index;
            self.index += 1;
            let (id, is_first) = self.ids[index];
            let scoped = &batches[self.batch].scoped;
            let is_scoped = || scoped.binary_search_by_key(&(index as u32), |(triple, _)| *triple).is_ok();
            if id.tag() != self.tag || !is_first || is_scoped() {
                continue;
            }
            self.short.clear();
            let is_short = self.tag == Tag::IRI && shared.iri_namespaces.shorten(&self.entry.bytes, &mut self.short);
            let stored = if is_short { &self.short } else { &self.entry.bytes };
            return Ok(Some((id.key(), stored.clone())));
        }
    }
}

impl Iterator for Terms<'_> {
    type Item = Result<(IdKey, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// The keys of one index, from the blocks of the thread that sorts.
struct Keys<'k> {
    blocks: &'k Receiver<Block>,
    watch: &'k Watch,
    block: Block,
    next: usize,
    is_at_end: bool,
}

impl Keys<'_> {
    fn key(&mut self) -> Option<IdKey> {
        let bits: &[u64] = match &self.block {
            Block::One(keys) => keys.get(self.next)?,
            Block::Three(keys) => keys.get(self.next)?,
            Block::Four(keys) => keys.get(self.next)?,
            Block::End => return None,
        };
        self.next += 1;
        let mut key = IdKey::default();
        bits.iter().for_each(|&bits| key.push(TermId::from_bits(bits).expect("it was a number's")));
        Some(key)
    }
}

impl Iterator for Keys<'_> {
    type Item = Result<(IdKey, [u8; 0])>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.is_at_end {
                return None;
            }
            if let Some(key) = self.key() {
                if self.next.is_multiple_of(KEYS_PER_LOOK)
                    && let Err(error) = self.watch.look()
                {
                    self.is_at_end = true;
                    return Some(Err(error));
                }
                return Some(Ok((key, [])));
            }
            self.next = 0;
            match self.blocks.recv() {
                Ok(Block::End) => self.is_at_end = true,
                Ok(block) => self.block = block,
                // The thread that sorts has failed.
                Err(_) => {
                    self.is_at_end = true;
                    return Some(Err(Error::Cancelled));
                }
            }
        }
    }
}

const KEYS_PER_LOOK: usize = 1 << 13;
