//! A base under mutation: an overlay of changed pages and segments, which can be sealed (its checksums recomputed)
//! and turned into a disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fulgurite::io::{Access, Disk};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::base::{Base, PATH};
use super::layout::{
    META_BYTES, META_CHECKSUM, META_SLOTS, META_TABLE, Page, PageKind, Reference, u16_at, u32_at, u64_at,
};
use super::records::{RECORD_BYTES, reseal};
use crate::crash_disk::CrashDisk;

/// See the module.
#[derive(Debug)]
pub struct Work<'b> {
    /// What it began with.
    pub base: &'b Base,
    /// Pages that differ, by number.
    pages: BTreeMap<usize, Vec<u8>>,
    /// Length of the data file.
    pub data_length: usize,
    /// Segments that differ.
    segments: BTreeMap<usize, Vec<u8>>,
    /// Whether each change so far was to bytes that something refers to.
    pub reachable: Vec<bool>,
    /// The fields and kinds of pages that were hit.
    pub hits: Vec<&'static str>,
    /// What was done, in words.
    pub story: Vec<String>,
}

impl<'b> Work<'b> {
    /// Nothing is changed yet.
    pub fn new(base: &'b Base) -> Self {
        Self {
            base,
            pages: BTreeMap::new(),
            data_length: base.data.len(),
            segments: BTreeMap::new(),
            reachable: Vec::new(),
            hits: Vec::new(),
            story: Vec::new(),
        }
    }

    /// A page of the data file as it is now; it may be shorter at the file's end.
    pub fn page(&self, number: usize) -> &[u8] {
        let size = self.base.layout.page_bytes;
        let original = || self.base.data.get(number * size..).map_or(&[][..], |rest| &rest[..rest.len().min(size)]);
        self.pages.get(&number).map_or_else(original, |page| &page[..])
    }

    /// The same, to be changed.
    pub fn page_mut(&mut self, number: usize) -> &mut [u8] {
        let page = self.page(number).to_vec();
        self.pages.entry(number).or_insert(page)
    }

    /// Some bytes of the data file, within one page, to be changed.
    pub fn bytes_mut(&mut self, at: usize, length: usize) -> &mut [u8] {
        let size = self.base.layout.page_bytes;
        &mut self.page_mut(at / size)[at % size..][..length]
    }

    /// A segment of the log as it is now.
    pub fn segment(&self, index: usize) -> &[u8] {
        self.segments.get(&index).unwrap_or(&self.base.segments[index].bytes)
    }

    /// The same, to be changed.
    pub fn segment_mut(&mut self, index: usize) -> &mut Vec<u8> {
        self.segments.entry(index).or_insert_with(|| self.base.segments[index].bytes.clone())
    }

    /// Whether a live node or table page differs: `check` must find it.
    pub fn live_page_differs(&self) -> bool {
        let layout = &self.base.layout;
        let cut = self.data_length / layout.page_bytes;
        self.pages.iter().any(|(number, page)| {
            let live = layout.page(*number).is_some_and(|live| live.kind != PageKind::Values && *number < cut);
            live && page[..] != self.base.data[number * layout.page_bytes..][..layout.page_bytes]
        })
    }

    /// The commit that the log now ends with, by the rules of `docs/reference/file-format.md`; `None` if it must be
    /// refused.
    pub fn log_end(&self) -> Option<u64> {
        let mut last = self.base.checkpoint;
        let mut broken = false;
        for (index, known) in self.base.segments.iter().enumerate() {
            let now = self.segment(index);
            let same =
                |from: usize, length: usize| now.get(from..from + length) == Some(&known.bytes[from..from + length]);
            if !same(0, 64) {
                return None;
            }
            for record in &known.records {
                broken |= !same(record.at, record.length);
                if !broken {
                    last = last.max(record.sequence);
                } else if same(record.at, RECORD_BYTES) && record.synced_up_to > last {
                    return None;
                }
            }
        }
        Some(last)
    }

    /// Recomputes the checksums of everything that was changed, so that it is believed for longer.
    pub fn seal(&mut self) {
        let layout = &self.base.layout;
        let mut touched: BTreeSet<usize> = self.pages.keys().copied().collect();
        let references: Vec<Reference> = layout.references.clone();
        for reference in references {
            let size = layout.page_bytes;
            let pages = reference.start / size..(reference.start + reference.length.max(1)).div_ceil(size);
            if pages.clone().any(|page| touched.contains(&page)) {
                let bytes: Vec<u8> = pages.flat_map(|page| self.page(page).to_vec()).collect();
                let sum = layout.hash(&bytes[..reference.length.min(bytes.len())]);
                self.bytes_mut(reference.at + 16, 8).copy_from_slice(&sum.to_le_bytes());
                touched.insert(reference.at / size);
            }
        }
        for number in &touched {
            match layout.page(*number) {
                Some(page) if page.kind != PageKind::Values => self.seal_page(*page),
                _ => {}
            }
        }
        if layout.pages.iter().any(|page| page.kind == PageKind::Table && touched.contains(&page.number)) {
            self.seal_table();
            touched.insert(0);
        }
        if touched.contains(&0) {
            for slot in META_SLOTS {
                let meta = self.bytes_mut(slot, META_BYTES);
                let sum = xxh3_64(&meta[..META_CHECKSUM]);
                meta[META_CHECKSUM..].copy_from_slice(&sum.to_le_bytes());
            }
        }
        let known = &self.base.segments;
        for (index, segment) in &mut self.segments {
            reseal(segment, &known[*index].records);
        }
    }

    fn seal_page(&mut self, page: Page) {
        let layout = &self.base.layout;
        let (seed, tag_seed) = (layout.page_seed(&page), layout.tag_seed);
        let bytes = self.page_mut(page.number);
        if bytes.len() < layout.page_bytes {
            return;
        }
        if page.kind == PageKind::Leaf {
            retag(bytes, tag_seed);
        }
        let end = bytes.len() - 8;
        let sum = xxh3_64_with_seed(&bytes[..end], seed);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
    }

    /// The checksum over all entries of the extent table, in the metas that refer to it.
    fn seal_table(&mut self) {
        let layout = &self.base.layout;
        let mut entries = Vec::new();
        for page in layout.pages.iter().filter(|page| page.kind == PageKind::Table) {
            let bytes = self.page(page.number);
            let count = usize::from(u16_at(bytes, 2)).min((bytes.len() - 112) / 64);
            entries.extend_from_slice(&bytes[64..64 + 64 * count]);
        }
        let sum = layout.hash(&entries);
        let first = u64_at(&self.base.data, META_SLOTS[layout.newest_slot] + META_TABLE.0);
        for slot in META_SLOTS {
            if u64_at(self.page(0), slot + META_TABLE.0) == first {
                self.bytes_mut(slot + META_TABLE.1, 8).copy_from_slice(&sum.to_le_bytes());
            }
        }
    }

    /// The data file as it is now.
    pub fn data(&self) -> Vec<u8> {
        let pages = self.data_length.div_ceil(self.base.layout.page_bytes);
        let mut data: Vec<u8> = (0..pages).flat_map(|number| self.page(number).iter().copied()).collect();
        data.resize(self.data_length, 0);
        data
    }

    /// The files as they are now, on a disk of their own.
    pub fn disk(&self) -> CrashDisk {
        let disk = self.base.disk.fork();
        let data = disk.open(Path::new(PATH), Access::Write).expect("every base has a data file");
        for (number, page) in &self.pages {
            data.write_at((number * self.base.layout.page_bytes) as u64, page).expect("a crash disk does not fail");
        }
        data.set_len(self.data_length as u64).expect("a crash disk does not fail");
        for (index, bytes) in &self.segments {
            let file = disk.open(&self.base.segments[*index].path, Access::Write).expect("every segment is a file");
            file.set_len(bytes.len() as u64).expect("a crash disk does not fail");
            file.write_at(0, bytes).expect("a crash disk does not fail");
        }
        disk.fork()
    }
}

/// Recomputes the tags of a leaf's inline keys, as far as its fields lead anywhere.
fn retag(page: &mut [u8], tag_seed: u64) {
    let (count, blocks) = (usize::from(u16_at(page, 2)), usize::from(u16_at(page, 8)));
    for index in 0..count {
        let tag = blocks + 64 * (index / 16) + 2 * (index % 16);
        if tag + 34 > page.len() {
            return;
        }
        let at = usize::from(u16_at(page, tag + 32) & 0x3fff);
        if at + 4 > page.len() {
            continue;
        }
        let field = u32_at(page, at) as u16;
        let Some(key) = page.get(at + 4..at + 4 + usize::from(field & 0x7fff)) else { continue };
        if field >> 15 == 0 {
            let hash = xxh3_64_with_seed(key, tag_seed);
            page[tag..tag + 2].copy_from_slice(&((hash >> 48) as u16).to_le_bytes());
        }
    }
}
