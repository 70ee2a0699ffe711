//! Fills the tables: terms first, and beside it, on another thread, quads are sorted.
//!
//! Where trees are filled, entries are made when the load is committed, one table after the other in the order in which
//! they were given. So one table passes values to the next in places that are filled in between.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use fulgurite::{Read, ReadTxn};

use super::merge::{Known, Numbered, Numbering, TermMerge, number_blanks, resolve_scoped, unscoped};
use super::prefixes::Prefixes;
use super::progress::{LoadMonitor, Stage};
use super::scratch::{Scratch, Segment, SegmentReader};
use super::sink::Sink;
use super::sort::{Block, Columns, RowSorter};
use super::stash::{Entry, Stashed, next_in_order};
use crate::dictionary::{self, NumberedNamespaces};
use crate::error::{Error, Result};
use crate::model::id::{IdKey, Tag, TermId};
use crate::model::pattern::Position;
use crate::quads::packed_rows::Row;
use crate::quads::shared::Shared;
use crate::tables::Index;
use crate::tables::{NEXT_NUMBER_KEY, Tables, next_number};

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
    pub watch: &'b LoadMonitor,
    pub batches: &'b [Stashed],
    /// Namespaces that are worth a number, the best first.
    pub namespaces: &'b [&'b str],
    /// What the documents declare.
    pub prefixes: &'b Prefixes,
    pub memory_bytes: usize,
}

/// What is done before others are kept from writing.
pub struct Prepared {
    numberings: Vec<Numbering>,
    /// See [`resolve_scoped`].
    scoped: Vec<(usize, Segment)>,
}

/// What the sources of tables hand to each other.
struct Between {
    numbered: OnceLock<Arc<Numbered>>,
    namespaces: NumberedNamespaces,
    /// Prefixes that the store has not, in their order, and their IRIs.
    prefixes: Vec<(String, String)>,
    scoped: Vec<(usize, Segment)>,
}

impl Builder<'_> {
    /// Numbers blank nodes, and what hangs on them.
    ///
    /// # Errors
    /// [`Error::Scratch`], [`Error::Cancelled`].
    pub fn prepare(&self) -> Result<Prepared> {
        let first_blank = TermId::new_blanks(self.places()).payload();
        let mut numberings = Numbering::of_all(self.batches, first_blank);
        number_blanks(self.scratch, self.batches, &mut numberings, self.watch, self.memory_bytes / 8)?;
        let scoped = resolve_scoped(self.scratch, self.batches, &numberings, self.shared)?;
        Ok(Prepared { numberings, scoped })
    }

    /// How many numbers are set aside.
    fn places(&self) -> u64 {
        self.batches.iter().map(|batch| u64::from(batch.terms)).sum()
    }

    /// Fills all tables, and commits.
    ///
    /// # Errors
    /// [`Error::Scratch`], [`Error::Cancelled`]; what the engine reports. Nothing is loaded then.
    pub fn build(&self, prepared: Prepared, sink: Sink<'_>) -> Result<Built> {
        self.watch.stage(Stage::Numbering)?;
        // Nobody commits any more: this stays the newest.
        let read = self.shared.database.read()?;
        self.shared.iri_namespaces.refresh_from(&read, self.tables, self.shared.path())?;
        let namespaces = NumberedNamespaces::of(&read, self.tables, self.shared.path(), self.namespaces)?;
        let Prepared { mut numberings, scoped } = prepared;
        let first = next_number(&read, &self.tables.meta, self.shared.path())?;
        let end = dictionary::end_of_numbers(first, self.places())?;
        Numbering::start_at(&mut numberings, self.batches, first);
        let prefixes = self.new_prefixes(&read)?;
        let between = Between { numbered: OnceLock::new(), namespaces, prefixes, scoped };
        let (start, started) = sync_channel::<Arc<Numbered>>(1);
        let (sender, blocks) = sync_channel(1);
        let built = std::thread::scope(|scope| {
            // Moved in, so that the other thread ends if this one panics.
            let blocks = blocks;
            let sorting = std::thread::Builder::new().spawn_scoped(scope, move || {
                let sorted = started.recv().map_err(|_| Error::Cancelled).and_then(|numbered| {
                    let sorters = self.sort(&numbered.numberings)?;
                    drop(numbered);
                    sorters.into_iter().try_for_each(|sorter| sorter.finish(&sender))
                });
                sorted.map_err(|error| self.watch.fail(error))
            });
            let sorting = sorting.map_err(|source| Error::Thread { source })?;
            let terms = self.merge(read, numberings, &between, start)?;
            let filled = self.fill(sink, terms, end, &between, &blocks);
            let filled = filled.map_err(|error| self.watch.fail(error));
            // So that the other thread ends, if it still has something to send.
            drop(blocks);
            let sorted = sorting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (filled, sorted) {
                (Ok(built), Ok(())) => Ok(built),
                _ => Err(self.watch.cause()),
            }
        })?;
        self.shared.iri_namespaces.learn(&between.namespaces);
        Ok(built)
    }

    /// The entries of the table `ids`. When they have all been taken, the thread that sorts starts.
    fn merge<'f>(
        &'f self,
        read: ReadTxn,
        numberings: Vec<Numbering>,
        between: &'f Between,
        start: SyncSender<Arc<Numbered>>,
    ) -> Result<TermMerge<'f>> {
        let (tables, shared) = (self.tables, self.shared);
        let known = if read.is_empty(&tables.ids)? { None } else { Some(Known { read, tables, shared }) };
        let on_end = move |numbered| hand_over(numbered, &between.numbered, start);
        let watched = (self.scratch, self.watch);
        let merge = TermMerge::new(watched, self.batches, &between.scoped, numberings, self.memory_bytes / 8)?;
        Ok(merge.looking_in(known).on_end(on_end))
    }

    /// Gives every table its entries, and commits. Requires: there is a quad at least.
    fn fill<'f>(
        &'f self,
        sink: Sink<'f>,
        terms: TermMerge<'f>,
        next_number: u64,
        between: &'f Between,
        blocks: &'f Receiver<Block>,
    ) -> Result<Built> {
        let (mut sink, tables) = (sink, self.tables);
        sink.put(&tables.meta, std::iter::once(Ok((NEXT_NUMBER_KEY, next_number.to_be_bytes()))))?;
        sink.put(&tables.iri_namespaces, between.namespaces.entries().into_iter().map(Ok))?;
        sink.put(&tables.ids, terms)?;
        sink.put(&tables.terms, self.terms(between))?;
        let (mut given, mut firsts) = (4, Vec::new());
        let keys = || Keys::new(blocks, self.watch, self.scratch);
        for indexes in self.indexes() {
            firsts.push(given);
            for (place, index) in indexes.iter().enumerate() {
                match place {
                    0 => sink.put_quads(self.shared, index, keys())?,
                    _ => sink.put(&index.table, keys())?,
                }
                given += 1;
            }
        }
        if self.has_named() {
            sink.put(&tables.graphs, keys())?;
        }
        // A table to which nothing is added is not loaded, lest those be in conflict who have changed it.
        if !between.prefixes.is_empty() {
            sink.put(&tables.namespaces, between.prefixes.iter().map(|(prefix, iri)| Ok((prefix, iri))))?;
        }
        let inserted = sink.commit()?;
        let terms = between.numbered.get().map_or(0, |numbered| numbered.terms);
        Ok(Built { quads: firsts.iter().map(|&first| inserted[first]).sum(), terms })
    }

    /// The prefixes that the store has not. Requires: nobody commits after `read`.
    fn new_prefixes(&self, read: &ReadTxn) -> Result<Vec<(String, String)>> {
        let mut new = Vec::new();
        for (prefix, iri) in self.prefixes.iter() {
            if !read.contains_key(&self.tables.namespaces, prefix.as_bytes())? {
                new.push((prefix.to_owned(), iri.to_owned()));
            }
        }
        Ok(new)
    }

    fn has_named(&self) -> bool {
        self.batches.iter().any(|batch| batch.has_named)
    }

    /// The indexes that get quads: those of the default graph, and those of named graphs.
    fn indexes(&self) -> Vec<&[Index]> {
        let has_default = self.batches.iter().any(|batch| batch.has_default);
        let default_graph = has_default.then_some(&self.tables.default_graph[..]);
        let named_graphs = self.has_named().then_some(&self.tables.named_graphs[..]);
        default_graph.into_iter().chain(named_graphs).collect()
    }

    /// Puts all quads into sorters: those of the default graph, and those of named graphs with the graphs themselves.
    fn sort(&self, numberings: &[Numbering]) -> Result<Vec<RowSorter<'_>>> {
        let memory_bytes = self.memory_bytes / 3;
        let mut sorters: Vec<_> = Vec::new();
        for indexes in self.indexes() {
            let mut columns: Vec<_> = indexes.iter().map(|index| Columns::of(index.order.positions())).collect();
            if indexes[0].order.is_of_named_graphs() {
                columns.push(Columns::of(&[Position::Graph]));
            }
            sorters.push(RowSorter::new(self.scratch, self.watch, columns, memory_bytes));
        }
        let has_default = self.batches.iter().any(|batch| batch.has_default);
        for (batch, numbering) in self.batches.iter().zip(numberings) {
            self.watch.look()?;
            let ids: Vec<TermId> = numbering.ids(batch, self.scratch)?.into_iter().map(|(id, _)| id).collect();
            batch.quads(self.scratch, |quad| {
                let mut row: Row = [0; 4];
                for (number, slot) in row.iter_mut().zip(quad) {
                    let id = slot.resolve(&ids);
                    *number =
                        id.ok_or_else(|| self.scratch.damaged("a quad has a term that its batch has not"))?.to_bits();
                }
                let sorter = match row[3] {
                    0 if has_default => sorters.first_mut(),
                    0 => None,
                    _ => sorters.get_mut(usize::from(has_default)),
                };
                sorter.ok_or_else(|| self.scratch.damaged("a quad is of a graph that none was of"))?.push(row)
            })?;
        }
        Ok(sorters)
    }

    /// The entries of the table `terms`, in order.
    fn terms<'t>(&'t self, between: &'t Between) -> impl Iterator<Item = Result<(IdKey, Vec<u8>)>> + 't {
        Tag::DICTIONARY.into_iter().flat_map(move |tag| Terms::new(self, between, tag))
    }
}

fn hand_over(numbered: Numbered, place: &OnceLock<Arc<Numbered>>, start: SyncSender<Arc<Numbered>>) {
    let numbered = Arc::clone(place.get_or_init(|| Arc::new(numbered)));
    // If the thread that sorts has failed, it has said so.
    let _ = start.send(numbered);
}

/// The entries of the table `terms` that have one tag, in order. Requires: terms are numbered when it is first asked.
struct Terms<'t> {
    builder: &'t Builder<'t>,
    between: &'t Between,
    tag: Tag,
    /// The batch that is read, or is to be.
    batch: usize,
    reader: Option<SegmentReader<'t>>,
    ids: Vec<(TermId, bool)>,
    index: usize,
    entry: Entry,
}

impl<'t> Terms<'t> {
    fn new(builder: &'t Builder<'t>, between: &'t Between, tag: Tag) -> Self {
        Self { builder, between, tag, batch: 0, reader: None, ids: Vec::new(), index: 0, entry: Entry::default() }
    }

    fn read(&mut self) -> Result<Option<(IdKey, Vec<u8>)>> {
        let Builder { batches, scratch, watch, .. } = *self.builder;
        loop {
            let Some(batch) = batches.get(self.batch) else { return Ok(None) };
            let Some(reader) = &mut self.reader else {
                if !batch.has(self.tag) {
                    self.batch += 1;
                    continue;
                }
                watch.stage(Stage::Terms)?;
                let numbered = self.between.numbered.get().ok_or(Error::Cancelled)?;
                self.ids = numbered.numberings[self.batch].ids(batch, scratch)?;
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
            let &(id, is_new) = self.ids.get(index).ok_or_else(|| scratch.damaged("a term is too many"))?;
            if id.tag() == self.tag && is_new {
                return Ok(Some((id.key(), self.stored(batch, index as u32)?)));
            }
        }
    }

    /// The bytes of the term at hand.
    fn stored(&self, batch: &Stashed, index: u32) -> Result<Vec<u8>> {
        let bytes = &self.entry.bytes;
        let scoped = &batch.scoped;
        if self.tag == Tag::TRIPLE
            && let Ok(place) = scoped.binary_search_by_key(&index, |(triple, _)| *triple)
        {
            return unscoped(bytes, &scoped[place].1, &self.ids, self.builder.scratch);
        }
        let mut short = Vec::with_capacity(bytes.len());
        let is_short = self.tag == Tag::IRI
            && (self.between.namespaces.shorten(bytes, &mut short)
                || self.builder.shared.iri_namespaces.shorten(bytes, &mut short));
        if !is_short {
            short.extend_from_slice(bytes);
        }
        Ok(short)
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
    watch: &'k LoadMonitor,
    scratch: &'k Scratch,
    block: Block,
    next: usize,
    has_begun: bool,
    is_at_end: bool,
}

impl<'k> Keys<'k> {
    fn new(blocks: &'k Receiver<Block>, watch: &'k LoadMonitor, scratch: &'k Scratch) -> Self {
        Self { blocks, watch, scratch, block: Block::End, next: 0, has_begun: false, is_at_end: false }
    }

    fn key(&mut self) -> Option<Result<IdKey>> {
        let key = match &self.block {
            Block::One(keys) => key_of(keys.get(self.next)?),
            Block::Three(keys) => key_of(keys.get(self.next)?),
            Block::Four(keys) => key_of(keys.get(self.next)?),
            Block::End => return None,
        };
        self.next += 1;
        Some(key.ok_or_else(|| self.scratch.damaged("a number is that of no term")))
    }

    fn read(&mut self) -> Result<Option<IdKey>> {
        if !self.has_begun {
            self.has_begun = true;
            self.watch.stage(Stage::Indexes)?;
        }
        while !self.is_at_end {
            if let Some(key) = self.key() {
                if self.next.is_multiple_of(KEYS_PER_LOOK) {
                    self.watch.look()?;
                }
                return key.map(Some);
            }
            self.next = 0;
            // If it sends no more, the thread that sorts has failed.
            match self.blocks.recv().map_err(|_| Error::Cancelled)? {
                Block::End => self.is_at_end = true,
                block => self.block = block,
            }
        }
        Ok(None)
    }
}

impl Iterator for Keys<'_> {
    type Item = Result<(IdKey, [u8; 0])>;

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.read().transpose()?;
        // After an error there is no more.
        self.is_at_end |= key.is_err();
        Some(key.map(|key| (key, [])))
    }
}

/// `None` if a number is that of no term.
#[inline]
fn key_of<const N: usize>(numbers: [u64; N]) -> Option<IdKey> {
    let mut key = IdKey::default();
    for number in numbers {
        key.push(TermId::from_bits(number)?);
    }
    Some(key)
}

const KEYS_PER_LOOK: usize = 1 << 13;
