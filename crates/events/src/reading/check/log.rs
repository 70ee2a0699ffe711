//! The log: positions, times and versions, and whether the indexes have its events.

use fulgurite::Read;

use crate::error::Result;
use crate::event::Event;
use crate::ids::{Position, Timestamp, TypeId, Version};
use crate::layout::chunk::Chunk;
use crate::layout::keys;
use crate::layout::parts::Part;
use crate::reading::check::checker::{Checker, End, key_in_words};

impl Checker<'_> {
    /// Checks every chunk, and looks for its events in the indexes.
    pub(super) fn check_log(&mut self) -> Result<()> {
        let (txn, tables) = (self.txn, self.tables);
        let (mut end, mut time) = (None, Timestamp::default());
        for entry in txn.range(&tables.log, ..)? {
            let (key, value) = entry?;
            let Some(chunk) = Chunk::parse(&key, &value) else {
                self.lost(&tables.log, key_in_words(&key), "a chunk of events is malformed");
                continue;
            };
            self.check_place(&chunk, end, time);
            (end, time) = (Some(chunk.end()), chunk.time);
            self.check_chunk(&chunk)?;
        }
        self.log_end = end.unwrap_or_default();
        if self.log_end < self.start {
            self.lost(&tables.log, format!("position {}", self.start), "the log ends before its start");
        }
        Ok(())
    }

    /// Checks where a chunk begins: at the end of the chunk before it, unless retention has removed what is between.
    fn check_place(&mut self, chunk: &Chunk<'_>, before: Option<Position>, time: Timestamp) {
        let (tables, place) = (self.tables, format!("position {}", chunk.first));
        if before.is_some_and(|end| end > chunk.first) {
            self.lost(&tables.log, place.clone(), "an earlier chunk has this position too");
        } else if chunk.first > self.start && before != Some(chunk.first) {
            self.lost(&tables.log, place.clone(), "positions before it are missing");
        }
        if (chunk.first.0 + 1..chunk.end().0).contains(&self.start.0) {
            self.lost(&tables.meta, place.clone(), "the log begins within a chunk");
        }
        if chunk.time < time {
            self.lost(&tables.log, place, "its time is before that of an earlier chunk");
        }
    }

    fn check_chunk(&mut self, chunk: &Chunk<'_>) -> Result<()> {
        let (tables, is_kept) = (self.tables, chunk.first >= self.start);
        let (mut runs, mut live) = (Vec::new(), Vec::new());
        let (mut kinds, mut tags) = (Vec::<TypeId>::new(), Vec::<u64>::new());
        let mut slots = chunk.slots();
        for slot in slots.by_ref() {
            let event = slot.remains();
            self.check_event(&event, is_kept)?;
            let part = Part { stream: event.stream, version: event.version, chunk: chunk.first, count: 1 };
            runs.push(part);
            if slot.event().is_some() {
                self.report.events += u64::from(is_kept);
                live.push(part);
                kinds.push(event.kind);
                tags.extend(event.tags.map(keys::tag_hash));
            }
        }
        self.report.chunks += 1;
        if !slots.is_whole() {
            self.lost(&tables.log, format!("position {}", chunk.first), "an event is malformed");
        }
        if !is_kept {
            return Ok(());
        }
        live.sort_unstable_by_key(Part::order);
        // Events of a stream may be between those of others.
        runs.sort_unstable_by_key(Part::order);
        runs.dedup_by(|next: &mut Part, run: &mut Part| run.join(next));
        for run in &runs {
            let first = live.get(live.partition_point(|part| part.order() < run.order()));
            let versions = run.version.0..run.version.0.saturating_add(u64::from(run.count));
            let is_in_run = |part: &&Part| part.stream == run.stream && versions.contains(&part.version.0);
            self.check_run(run, first.filter(is_in_run).map(|part| part.version))?;
        }
        kinds.sort_unstable();
        kinds.dedup();
        tags.sort_unstable();
        tags.dedup();
        self.check_lanes_of(chunk.first, &kinds, &tags)
    }

    /// Checks that an event has the next version of its stream, and a type and a stream that exist.
    fn check_event(&mut self, event: &Event<'_>, is_kept: bool) -> Result<()> {
        let tables = self.tables;
        let place = || format!("position {}", event.position);
        let known = self.ends.get(&event.stream).copied();
        let is_next = match known {
            Some(end) if end.is_kept => event.version == end.version,
            // Retention has removed chunks between those whose ids it has kept.
            Some(end) => event.version >= end.version,
            None => event.version == Version(0) || self.start > Position::START,
        };
        if !is_next {
            self.lost(&tables.log, place(), "a version of its stream is missing or repeated");
        }
        if known.is_none() && self.txn.get(&tables.streams, keys::number(event.stream.0))?.is_none() {
            self.lost(&tables.streams, format!("stream {}", event.stream), "the log has events of it, but no record");
        }
        if event.kind.0 as usize >= self.types {
            self.lost(&tables.types, format!("type {}", event.kind), "the log has events of it, but no name");
        }
        let version = Version(event.version.0.saturating_add(1));
        self.ends.insert(event.stream, End { version, is_kept });
        Ok(())
    }
}
