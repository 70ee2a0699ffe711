//! Where what is in a database's files: a decoder of its own, written from `docs/reference/file-format.md`, so that
//! mutations can be aimed and checksums recomputed without the engine's help.
//!
//! It reads sound files only, and panics at anything else: the files are made just before.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What is in a data file.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Size of the pages.
    pub page_bytes: usize,
    /// Seed of hashes.
    pub tag_seed: u64,
    /// The slot of the newest meta.
    pub newest_slot: usize,
    /// Live pages, in order of extent and slot.
    pub pages: Vec<Page>,
    /// References to bytes outside of leaves and branches.
    pub references: Vec<Reference>,
    /// Where the catalog's descriptions are.
    pub descriptions: Vec<usize>,
    /// Where in them the ranges of tables begin.
    pub ranges: Vec<usize>,
    /// Where in them runs are described.
    pub runs: Vec<usize>,
}

/// A live page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its place in the file.
    pub number: usize,
    /// What it is.
    pub kind: PageKind,
    /// The extent it belongs to, as its checksum names it.
    pub extent: u32,
    /// Its slot in that.
    pub slot: u32,
}

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageKind {
    /// Entries.
    Leaf,
    /// Separators and children.
    Branch,
    /// A part of the extent table.
    Table,
    /// Bytes of long keys and values.
    Values,
}

/// A reference to bytes outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Where it is in the file.
    pub at: usize,
    /// Where the bytes begin in the file.
    pub start: usize,
    /// How many there are.
    pub length: usize,
}

/// A cell of a leaf, by offsets in its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Where it begins: with the fields of key and value, u16 each.
    pub at: usize,
    /// Where the key begins, and how much is stored of it.
    pub key: (usize, usize),
    /// Where the value begins, and how much is stored of it.
    pub value: (usize, usize),
}

/// Bytes of a meta.
pub const META_BYTES: usize = 512;
/// Where the slots of the metas are.
pub const META_SLOTS: [usize; 2] = [0, 4096];
/// Where the checksum of a meta is in it.
pub const META_CHECKSUM: usize = 504;
/// Where the first page, and the checksum, of the extent table are in a meta.
pub const META_TABLE: (usize, usize) = (136, 160);
/// Bytes of an extent table entry.
pub const ENTRY_BYTES: usize = 64;
/// Bytes of an overflow reference.
pub const REFERENCE_BYTES: usize = 24;
/// Bytes of a description before the names of its types.
const DESCRIPTION_BYTES: usize = 28;
/// The merge operator of a description that names a function behind the types.
const MERGES_BY_FUNCTION: u8 = 10;
/// The flag of a description that ranges follow.
const DESCRIBES_RUNS: u8 = 4;
/// Bytes of a root, and of a run, which adds the reference to its filter.
const ROOT_BYTES: usize = 20;
const RUN_BYTES: usize = ROOT_BYTES + REFERENCE_BYTES;

impl Layout {
    /// Reads a sound data file.
    ///
    /// # Panics
    /// If it is not.
    pub fn read(data: &[u8]) -> Self {
        let newest_slot = usize::from(u64_at(data, META_SLOTS[1] + 56) > u64_at(data, 56));
        let meta = &data[META_SLOTS[newest_slot]..][..META_BYTES];
        let tag_seed = u64_at(meta, 16) ^ u64_at(meta, 24);
        let page_bytes = u32_at(meta, 12) as usize;
        let mut layout = Self {
            page_bytes,
            tag_seed,
            newest_slot,
            pages: Vec::new(),
            references: Vec::new(),
            descriptions: Vec::new(),
            ranges: Vec::new(),
            runs: Vec::new(),
        };
        let (first, count) = (u64_at(meta, META_TABLE.0) as usize, u32_at(meta, 144));
        let mut entries = Vec::new();
        for index in 0..count {
            let number = first + index as usize;
            layout.pages.push(Page { number, kind: PageKind::Table, extent: u32::MAX, slot: index });
            let page = &data[number * page_bytes..][..page_bytes];
            let in_page = usize::from(u16_at(page, 2));
            entries.extend((0..in_page).map(|entry| page[64 + ENTRY_BYTES * entry..][..ENTRY_BYTES].to_vec()));
        }
        for (extent, entry) in entries.iter().enumerate() {
            layout.add_extent(data, extent as u32, entry);
        }
        let firsts: Vec<usize> = entries.iter().map(|entry| u64_at(entry, 0) as usize).collect();
        layout.find_references(data, &firsts);
        if meta[121] == 1 {
            let root = firsts[u32_at(meta, 112) as usize] + u32_at(meta, 116) as usize;
            layout.find_descriptions(data, root, &firsts);
            layout.runs.sort_unstable();
        }
        layout
    }

    /// The live page of that number.
    pub fn page(&self, number: usize) -> Option<&Page> {
        self.pages.iter().find(|page| page.number == number)
    }

    /// Whether a reference leads to the filter of a run.
    pub fn is_of_filter(&self, reference: &Reference) -> bool {
        reference.at.checked_sub(ROOT_BYTES).is_some_and(|run| self.runs.binary_search(&run).is_ok())
    }

    /// Seed of the checksum of a page.
    pub fn page_seed(&self, page: &Page) -> u64 {
        self.tag_seed ^ crate::random::mix(u64::from(page.extent) << 32 | u64::from(page.slot))
    }

    /// XXH3 of the bytes with the database's seed.
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        xxh3_64_with_seed(bytes, self.tag_seed)
    }

    fn add_extent(&mut self, data: &[u8], extent: u32, entry: &[u8]) {
        let (first, count) = (u64_at(entry, 0) as usize, u32_at(entry, 8));
        let single = entry[13] & 1 != 0;
        for slot in 0..count {
            let bit = if single { 0 } else { slot as usize };
            if entry[24 + bit / 8] >> (bit % 8) & 1 == 0 {
                continue;
            }
            let number = first + slot as usize;
            let kind = match (entry[12], data[number * self.page_bytes]) {
                (1, 1) => PageKind::Leaf,
                (1, 2) => PageKind::Branch,
                (2, _) => PageKind::Values,
                // The pages of the table itself are known already.
                _ => continue,
            };
            self.pages.push(Page { number, kind, extent, slot });
        }
    }

    fn find_references(&mut self, data: &[u8], firsts: &[usize]) {
        let mut places = Vec::new();
        for page in &self.pages {
            let start = page.number * self.page_bytes;
            let bytes = &data[start..start + self.page_bytes];
            match page.kind {
                PageKind::Leaf => {
                    for cell in cells(bytes) {
                        let long = |field: usize| u16_at(bytes, field) & OVERFLOW != 0;
                        places.extend(long(cell.at).then_some(start + cell.key.0 + cell.key.1 - REFERENCE_BYTES));
                        places.extend(long(cell.at + 2).then_some(start + cell.value.0));
                    }
                }
                PageKind::Branch => {
                    for (at, length) in separators(bytes) {
                        let long = u16_at(bytes, at - 2) & OVERFLOW != 0;
                        places.extend(long.then_some(start + at + length - REFERENCE_BYTES));
                    }
                }
                PageKind::Table | PageKind::Values => {}
            }
        }
        for at in places {
            let (start, length) = self.place(data, at, firsts);
            self.references.push(Reference { at, start, length });
        }
    }

    /// Where the bytes are that a reference leads to, and how many.
    fn place(&self, data: &[u8], at: usize, firsts: &[usize]) -> (usize, usize) {
        let first = firsts[u32_at(data, at) as usize] + u32_at(data, at + 4) as usize;
        (first * self.page_bytes, u32_at(data, at + 8) as usize)
    }

    /// The ranges and runs of a description, and the references to their filters.
    fn find_runs(&mut self, data: &[u8], (start, end): (usize, usize), firsts: &[usize]) {
        if data[start + 1] & DESCRIBES_RUNS == 0 {
            return;
        }
        let mut at = start + DESCRIPTION_BYTES;
        let names = if data[start + 3] == MERGES_BY_FUNCTION { 3 } else { 2 };
        for _ in 0..names {
            at += 2 + usize::from(u16_at(data, at));
        }
        while at < end {
            self.ranges.push(at);
            at += 4 + u32_at(data, at) as usize;
            let count = usize::from(data[at]);
            at += 1;
            for run in (0..count).map(|run| at + run * RUN_BYTES) {
                self.runs.push(run);
                let filter = run + ROOT_BYTES;
                if data[filter..filter + REFERENCE_BYTES].iter().any(|byte| *byte != 0) {
                    let (start, length) = self.place(data, filter, firsts);
                    // Before the reference to the description itself, whose checksum is over this one's.
                    self.references.insert(0, Reference { at: filter, start, length });
                }
            }
            at += count * RUN_BYTES;
        }
        assert!(at == end, "ranges end where their description does");
    }

    fn find_descriptions(&mut self, data: &[u8], number: usize, firsts: &[usize]) {
        let start = number * self.page_bytes;
        let page = &data[start..start + self.page_bytes];
        if page[0] == 1 {
            for cell in cells(page) {
                let is_long = u16_at(page, cell.at + 2) & OVERFLOW != 0;
                let (at, length) = match is_long {
                    true => self.place(data, start + cell.value.0, firsts),
                    false => (start + cell.value.0, cell.value.1),
                };
                self.descriptions.push(at);
                self.find_runs(data, (at, at + length), firsts);
            }
            return;
        }
        let children = usize::from(u16_at(page, 10));
        for child in 0..=usize::from(u16_at(page, 2)) {
            let child = u64_at(page, children + 8 * child);
            let slot = (child >> 32) as usize & 0xff_ffff;
            self.find_descriptions(data, firsts[child as u32 as usize] + slot, firsts);
        }
    }
}

/// The cells of a leaf.
pub fn cells(page: &[u8]) -> Vec<Cell> {
    let count = usize::from(u16_at(page, 2));
    let blocks = usize::from(u16_at(page, 8));
    let align = 1 << page[14];
    (0..count)
        .map(|index| {
            let at = usize::from(u16_at(page, blocks + 64 * (index / 16) + 32 + 2 * (index % 16)) & 0x3fff);
            let (key, value) =
                (usize::from(u16_at(page, at) & !OVERFLOW), usize::from(u16_at(page, at + 2) & !OVERFLOW));
            Cell { at, key: (at + 4, key), value: ((at + 4 + key).next_multiple_of(align), value) }
        })
        .collect()
}

/// The separators of a branch: where each one's bytes begin in the page, and how many are stored. Its field stands
/// before it.
pub fn separators(page: &[u8]) -> Vec<(usize, usize)> {
    let slots = usize::from(u16_at(page, 14));
    (0..usize::from(u16_at(page, 2)))
        .map(|index| {
            let at = usize::from(u16_at(page, slots + 2 * index));
            (at + 2, usize::from(u16_at(page, at) & !OVERFLOW))
        })
        .collect()
}

/// The u16 at an offset.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The u32 at an offset.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

/// The u64 at an offset.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Bit of a length field: what is stored is a reference, or ends with one.
const OVERFLOW: u16 = 1 << 15;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::golden;

    #[test]
    fn every_live_page_and_every_reference_of_a_golden_file_is_found_and_its_checksum_computed() {
        let all = golden::all().expect("a memory disk");
        let closed = all.iter().find(|golden| golden.name == "closed").expect("there is one");
        let data = &closed.files["closed.ful"];
        let layout = Layout::read(data);
        let mut kinds = BTreeMap::new();
        for page in &layout.pages {
            *kinds.entry(page.kind).or_insert(0) += 1;
            let bytes = &data[page.number * layout.page_bytes..][..layout.page_bytes];
            if page.kind != PageKind::Values {
                let (body, checksum) = bytes.split_at(layout.page_bytes - 8);
                assert_eq!(xxh3_64_with_seed(body, layout.page_seed(page)), u64_at(checksum, 0), "{page:?}");
            }
            assert_eq!(layout.page(page.number), Some(page), "no two live pages share a place");
        }
        for reference in &layout.references {
            let bytes = &data[reference.start..][..reference.length];
            assert_eq!(layout.hash(bytes), u64_at(data, reference.at + 16), "{reference:?}");
        }
        // 16 long keys and the separators between them, and the values that are longer than half a page.
        assert_eq!(layout.descriptions.len(), closed.lines.lines().filter(|line| line.contains("key_type")).count());
        assert!(layout.references.len() > 16 + 5, "{} references", layout.references.len());
        assert!(kinds.len() == 4 && kinds[&PageKind::Branch] >= 5 && kinds[&PageKind::Values] > 20, "{kinds:?}");
    }
}
