//! The indexes of streams, types and tags, which are derived from the log.
//!
//! Each event of the log has to be in exactly one part of the index of streams, and the parts of a stream have to end
//! where it ends. Removed events may be in a part or not: retention removes entries that have no others. If there are
//! more parts than those that were found for events, the others are looked up in the log.
//!
//! A part after the end of the log that continues its stream shows events that the log has lost. A part there whose
//! versions the log has elsewhere is damage of the index.

use std::ops::Range;

use fulgurite::Read;

use crate::error::{Error, Result};
use crate::ids::{Position, StreamId, TypeId, Version};
use crate::layout::chunk::{Chunk, Slot};
use crate::layout::keys;
use crate::layout::parts::{self, Block, Entry, Part};
use crate::reading::check::checker::{Checker, key_in_words};
use crate::reading::locate;

impl Checker<'_> {
    /// Reads the parts of all blocks.
    pub(super) fn read_blocks(&mut self) -> Result<()> {
        let (txn, tables) = (self.txn, self.tables);
        for entry in txn.range(&tables.index, parts::blocks())? {
            let (key, value) = entry?;
            let Some(block) = Block::parse(&value) else {
                self.in_index(&tables.index, key_in_words(&key), "a block of parts is malformed");
                continue;
            };
            let (mut before, mut is_in_order) = (None::<u128>, true);
            for part in block.parts() {
                is_in_order &= before.is_none_or(|before| before < part.order());
                before = Some(part.order());
                self.in_blocks.entry(part.stream).or_default().push(part);
            }
            if !is_in_order {
                self.in_index(&tables.index, key_in_words(&key), "the parts of a block are not in order");
            }
        }
        Ok(())
    }

    /// Checks that the index of streams has the events of a stream in a chunk: in one part, or in several that follow
    /// each other. The events before `first_live` were removed, all if it is none.
    pub(super) fn check_run(&mut self, run: &Part, first_live: Option<Version>) -> Result<()> {
        let (tables, end) = (self.tables, run.end().unwrap_or(run.version));
        let versions = run.version.0..end.0;
        let found = match self.parts_of(run.stream, &versions) {
            // The check of the index names it.
            Err(Error::Damaged { .. }) => Vec::new(),
            found => found?,
        };
        let begin = found.first().map_or(end, |part| part.version);
        let has_all = begin >= run.version && first_live.is_none_or(|first| begin <= first);
        let mut next = begin;
        let follow = found.iter().all(|part| {
            let follows = part.chunk == run.chunk && part.version == next;
            next = part.end().unwrap_or(next);
            follows
        });
        if has_all && follow && next == end {
            self.parts_matched += found.len() as u64;
            return Ok(());
        }
        let what = match found.is_empty() {
            true => "no part has these events of the log",
            false => "its parts do not have exactly these events of the log",
        };
        let Part { stream, version, chunk, count } = run;
        let place = format!("stream {stream}, {count} events from version {version} on, chunk {chunk}");
        self.in_index(&tables.index, place, what);
        Ok(())
    }

    /// The parts of a stream that have some of these versions, in order.
    fn parts_of(&self, stream: StreamId, versions: &Range<u64>) -> Result<Vec<Part>> {
        let (txn, tables) = (self.txn, self.tables);
        let from = locate::entry_start(txn, tables, stream, Version(versions.start))?;
        let bounds = keys::stream_part(stream, from)..keys::stream_part(stream, Version(versions.end));
        let mut found = Vec::new();
        for entry in txn.range(&tables.index, bounds)? {
            let (key, value) = entry?;
            let parts = locate::parse_entry(tables, &key, &value)?.parts();
            found.extend(parts.filter(|part| part.overlaps(versions)));
        }
        let in_blocks = self.in_blocks.get(&stream).into_iter().flatten();
        found.extend(in_blocks.filter(|part| part.overlaps(versions)).copied());
        found.sort_unstable_by_key(Part::order);
        Ok(found)
    }

    /// Checks all parts of the index of streams.
    pub(super) fn check_index(&mut self) -> Result<()> {
        let (txn, tables) = (self.txn, self.tables);
        let (mut seen, mut before) = (0_u64, None::<(StreamId, Version)>);
        for entry in txn.range(&tables.index, ..parts::blocks().start)? {
            let (key, value) = entry?;
            let Some(entry) = Entry::parse(&key, &value) else {
                self.in_index(&tables.index, key_in_words(&key), "an entry of a stream is malformed");
                continue;
            };
            let previous = before.filter(|(stream, _)| *stream == entry.stream);
            if previous.is_some_and(|(_, end)| end > entry.first) {
                self.in_index(&tables.index, key_in_words(&key), "an earlier entry has some of its versions");
            }
            if previous.is_none() && txn.get(&tables.streams, keys::number(entry.stream.0))?.is_none() {
                self.in_index(&tables.index, key_in_words(&key), "there is no such stream");
            }
            before = Some((entry.stream, entry.end));
            for part in entry.parts() {
                seen += u64::from(self.check_part(&part));
            }
        }
        let in_blocks: Vec<Part> = self.in_blocks.values().flatten().copied().collect();
        for part in &in_blocks {
            seen += u64::from(self.check_part(part));
        }
        if seen != self.parts_matched {
            self.find_strays(&in_blocks)?;
        }
        self.check_ends()
    }

    /// Checks a part. Returns whether its events have to be in the log.
    fn check_part(&mut self, part: &Part) -> bool {
        let tables = self.tables;
        let is_beyond = match (part.end(), self.kept_end(part.stream)) {
            (Some(of), Some(end)) => of > end,
            (of, _) => of.is_none(),
        };
        let place = || format!("stream {}, version {}", part.stream, part.version);
        if part.count == 0 {
            self.in_index(&tables.index, place(), "a part has no events");
        } else if is_beyond {
            self.in_index(&tables.index, place(), "a part ends after the last event of its stream");
        }
        let continues = self.kept_end(part.stream).is_none_or(|end| part.version == end);
        if part.count > 0 && continues && part.chunk >= self.start.max(self.log_end) {
            self.lost(&tables.log, place(), "the log ends before these events, which the index has");
        }
        part.chunk >= self.start
    }

    /// Finds the parts whose events are not in the log.
    fn find_strays(&mut self, in_blocks: &[Part]) -> Result<()> {
        let (txn, tables) = (self.txn, self.tables);
        for entry in txn.range(&tables.index, ..parts::blocks().start)? {
            let (key, value) = entry?;
            for part in Entry::parse(&key, &value).into_iter().flat_map(Entry::parts) {
                self.check_stray(&part)?;
            }
        }
        in_blocks.iter().try_for_each(|part| self.check_stray(part))
    }

    fn check_stray(&mut self, part: &Part) -> Result<()> {
        let tables = self.tables;
        if part.chunk >= self.start && !self.is_in_log(part)? {
            let place = format!("stream {}, version {}, chunk {}", part.stream, part.version, part.chunk);
            self.in_index(&tables.index, place, "the log does not have the events of a part");
        }
        Ok(())
    }

    fn is_in_log(&self, part: &Part) -> Result<bool> {
        let key = keys::number(part.chunk.0);
        let Some(value) = self.txn.get(&self.tables.log, key)? else { return Ok(false) };
        let (Some(chunk), Some(end)) = (Chunk::parse(&key, &value), part.end()) else { return Ok(false) };
        let versions = part.version.0..end.0;
        let events = chunk.slots().map(Slot::remains);
        let found = events.filter(|event| event.stream == part.stream && versions.contains(&event.version.0));
        Ok(found.count() as u64 == u64::from(part.count))
    }

    /// Checks that the parts of a stream end where it ends, from which its next version follows.
    fn check_ends(&mut self) -> Result<()> {
        let (txn, tables) = (self.txn, self.tables);
        let mut ends: Vec<_> = self.ends.iter().map(|(stream, end)| (*stream, end.version)).collect();
        ends.sort_unstable();
        for (stream, end) in ends {
            let in_blocks = self.in_blocks.get(&stream).into_iter().flatten().filter_map(Part::end).max();
            let in_entries = match locate::entries_end(txn, tables, stream) {
                // The check of the entries names it.
                Err(Error::Damaged { .. }) => continue,
                in_entries => in_entries?,
            };
            if in_entries.max(in_blocks.unwrap_or_default()) < end {
                let place = format!("stream {stream}, version {end}");
                self.in_index(&tables.index, place, "its parts end before the last event of the stream");
            }
        }
        Ok(())
    }

    /// Checks that the indexes of types and tags name a chunk.
    pub(super) fn check_lanes_of(&mut self, chunk: Position, kinds: &[TypeId], tags: &[u64]) -> Result<()> {
        let (txn, tables) = (self.txn, self.tables);
        for kind in kinds {
            if txn.get(&tables.by_type, keys::type_chunk(*kind, chunk))?.is_none() {
                self.in_index(&tables.by_type, format!("type {kind}, chunk {chunk}"), MISSING);
            }
        }
        for tag in tags {
            if txn.get(&tables.by_tag, keys::tag_chunk(*tag, chunk))?.is_none() {
                self.in_index(&tables.by_tag, format!("tag with hash {tag:016x}, chunk {chunk}"), MISSING);
            }
        }
        Ok(())
    }

    /// Checks that the log has all chunks that the indexes of types and tags name.
    pub(super) fn check_lanes(&mut self) -> Result<()> {
        let (txn, tables) = (self.txn, self.tables);
        for (table, key_bytes) in [(&tables.by_type, TYPE_KEY_BYTES), (&tables.by_tag, TAG_KEY_BYTES)] {
            for entry in txn.range(table, ..)? {
                let (key, _) = entry?;
                let Some(chunk) = keys::chunk_of(&key).filter(|_| key.len() == key_bytes) else {
                    self.in_index(table, key_in_words(&key), "a key is malformed");
                    continue;
                };
                if chunk >= self.start && txn.get(&tables.log, keys::number(chunk.0))?.is_none() {
                    self.in_index(table, key_in_words(&key), "the log does not have the chunk");
                }
            }
        }
        Ok(())
    }
}

const MISSING: &str = "the chunk has such events, but is not named";
/// Bytes of a key of the index of types, and of tags.
const TYPE_KEY_BYTES: usize = 12;
const TAG_KEY_BYTES: usize = 16;
