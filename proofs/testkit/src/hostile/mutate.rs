//! The mutations: where they strike, and what they do there.

use super::base::Base;
use super::fields::{self, Field};
use super::layout::{META_BYTES, META_SLOTS, Page, PageKind, cells, separators, u16_at};
use super::records::{RECORD_BYTES, SEGMENT_BYTES};
use super::work::Work;
use crate::random::Random;

/// Changes a base in one to four places. The same random source makes the same changes.
pub fn mutate<'b>(base: &'b Base, random: &mut Random) -> Work<'b> {
    let mut work = Work::new(base);
    let count = if random.chance(2, 3) { 1 } else { 1 + random.below(4) };
    for _ in 0..count {
        if !base.segments.is_empty() && random.chance(1, 2) {
            log(&mut work, random);
            continue;
        }
        if !base.layout.runs.is_empty() && random.chance(1, 4) {
            run(&mut work, random);
            continue;
        }
        match random.below(100) {
            0..=17 => meta(&mut work, random),
            18..=49 => field(&mut work, random),
            50..=76 => bytes(&mut work, random),
            77..=83 => zeros(&mut work, random),
            84..=88 => swap(&mut work, random),
            89..=93 => stale(&mut work, random),
            94..=96 => length(&mut work, random),
            _ => anywhere(&mut work, random),
        }
    }
    work
}

fn meta(work: &mut Work<'_>, random: &mut Random) {
    let field = pick(fields::META, random);
    let newest = work.base.layout.newest_slot;
    let slots: &[usize] = match random.below(5) {
        0 => &[0, 1],
        1 => &[1 - newest],
        _ => &[newest],
    };
    let style = random.next_u64();
    for slot in slots {
        let meta = work.bytes_mut(META_SLOTS[*slot], META_BYTES);
        // Both slots alike, so that neither helps the other.
        change(&mut meta[field.at as usize..][..field.size], &mut Random::new(style));
    }
    note(work, field.name, true, format!("{} of slots {slots:?}", field.name));
}

/// One field of one structure of a live page.
fn field(work: &mut Work<'_>, random: &mut Random) {
    let Some(page) = any_live(work, random) else { return meta(work, random) };
    let size = work.base.layout.page_bytes;
    let start = page.number * size;
    let (list, at) = match (page.kind, random.below(10)) {
        (PageKind::Values, _) => return reference(work, random),
        (_, 0) => (fields::TRAILER, start + size),
        (PageKind::Table, 1..=3) => (fields::TABLE, start),
        (PageKind::Table, _) => {
            let count = u64::from(u16_at(&work.base.data, start + 2));
            (fields::ENTRY, start + 64 + 64 * random.below(count) as usize)
        }
        (PageKind::Leaf, 1..=2) if !work.base.layout.descriptions.is_empty() => {
            let descriptions = &work.base.layout.descriptions;
            (fields::DESCRIPTION, descriptions[random.index(descriptions.len())])
        }
        (PageKind::Leaf, 3..=4) => {
            let cells = cells(&work.base.data[start..start + size]);
            (fields::CELL, start + cells[random.index(cells.len())].at)
        }
        (PageKind::Leaf, 5) | (PageKind::Branch, 1) => return reference(work, random),
        (PageKind::Leaf, _) => (fields::LEAF, start),
        (PageKind::Branch, 2..=4) => {
            let count = u64::from(u16_at(&work.base.data, start + 2)) + 1;
            let children = usize::from(u16_at(&work.base.data, start + 10));
            (fields::CHILD, start + children + 8 * random.below(count) as usize)
        }
        (PageKind::Branch, _) => (fields::BRANCH, start),
    };
    strike(work, list, at, random);
}

/// What the catalog says of a range or a run, or bytes of a run's filter.
fn run(work: &mut Work<'_>, random: &mut Random) {
    let layout = &work.base.layout;
    match random.below(8) {
        0..=1 => strike(work, fields::RANGE, layout.ranges[random.index(layout.ranges.len())], random),
        2..=6 => strike(work, fields::RUN, layout.runs[random.index(layout.runs.len())], random),
        _ => {
            let filters = layout.references.iter().filter(|reference| layout.is_of_filter(reference));
            let filters: Vec<_> = filters.copied().collect();
            if filters.is_empty() {
                return reference(work, random);
            }
            let filter = filters[random.index(filters.len())];
            let length = [1, 8, 64][random.index(3)].min(filter.length);
            let at = filter.start + random.index(filter.length - length + 1);
            let length = length.min(layout.page_bytes - at % layout.page_bytes);
            change(work.bytes_mut(at, length), random);
            note(work, FILTER, true, format!("{length} bytes at {at}, of a filter"));
        }
    }
}

fn reference(work: &mut Work<'_>, random: &mut Random) {
    let references = &work.base.layout.references;
    if references.is_empty() {
        return bytes(work, random);
    }
    let at = references[random.index(references.len())].at;
    strike(work, fields::REFERENCE, at, random);
}

/// Changes one field of the structure at `at` of the data file, or before it, where fields count from the end.
fn strike(work: &mut Work<'_>, list: &'static [Field], at: usize, random: &mut Random) {
    let field = pick(list, random);
    let place = at.wrapping_add_signed(field.at);
    // A long description may go on in the next page.
    let size = field.size.min(work.base.layout.page_bytes - place % work.base.layout.page_bytes);
    change(work.bytes_mut(place, size), random);
    note(work, field.name, true, format!("{} at byte {place}", field.name));
}

/// Bytes of a live page: a bit, or a few bytes, or many.
fn bytes(work: &mut Work<'_>, random: &mut Random) {
    let Some(page) = any_live(work, random) else { return meta(work, random) };
    let size = work.base.layout.page_bytes;
    let used = used_bytes(work, page);
    let length = [1, 1, 2, 4, 8, 64, 600][random.index(7)].min(used);
    let within = random.index(used - length + 1);
    let at = page.number * size + within;
    change(work.bytes_mut(at, length), random);
    note(work, name_of(page.kind), true, format!("{length} bytes at {within} of {}", told(page)));
}

fn zeros(work: &mut Work<'_>, random: &mut Random) {
    let Some(page) = any_live(work, random) else { return meta(work, random) };
    let size = work.base.layout.page_bytes;
    let (within, length) = match random.below(4) {
        0 => (0, size),
        1 => (random.index(size / 512) * 512, 512),
        2 => (0, size / 2),
        _ => (random.index(size - 64), 64),
    };
    let byte = if random.chance(3, 4) { 0 } else { 0xff };
    work.bytes_mut(page.number * size + within, length).fill(byte);
    note(work, name_of(page.kind), true, format!("{length} bytes of {byte} at {within} of {}", told(page)));
}

/// Two pages exchanged, or one written over the other: a misdirected write.
fn swap(work: &mut Work<'_>, random: &mut Random) {
    let (Some(first), Some(second)) = (any_live(work, random), any_live(work, random)) else {
        return meta(work, random);
    };
    let (one, other) = (work.page(first.number).to_vec(), work.page(second.number).to_vec());
    work.page_mut(second.number).copy_from_slice(&one);
    let both = random.chance(1, 2);
    if both {
        work.page_mut(first.number).copy_from_slice(&other);
    }
    let verb = if both { "exchanged with" } else { "written over" };
    note(work, "swapped", true, format!("{} {verb} {}", told(first), told(second)));
}

/// A live page as it was at an earlier time: a lost write.
fn stale(work: &mut Work<'_>, random: &mut Random) {
    let (base, size) = (work.base, work.base.layout.page_bytes);
    let Some(page) = any_live(work, random) else { return meta(work, random) };
    let old = base.stale.iter().filter_map(|data| data.get(page.number * size..(page.number + 1) * size));
    let old: Vec<&[u8]> = old.filter(|old| *old != work.page(page.number)).collect();
    if old.is_empty() {
        return bytes(work, random);
    }
    let chosen = old[random.index(old.len())];
    work.page_mut(page.number).copy_from_slice(chosen);
    note(work, "stale", true, format!("{} as it was before", told(page)));
}

fn length(work: &mut Work<'_>, random: &mut Random) {
    let (size, data) = (work.base.layout.page_bytes, work.base.data.len());
    work.data_length = match random.below(5) {
        0 => random.index(data),
        1 => random.index(data / size) * size,
        2 => data - 1 - random.index(size),
        3 => random.index(META_SLOTS[1] + META_BYTES + 1),
        _ => data + 1 + random.index(4 * size),
    };
    let now = work.data_length;
    note(work, "length", now < data, format!("a length of {now} instead of {data}"));
}

fn anywhere(work: &mut Work<'_>, random: &mut Random) {
    let size = work.base.layout.page_bytes;
    let at = random.index(work.base.data.len());
    let length = (1 + random.index(32)).min(size - at % size);
    change(work.bytes_mut(at, length), random);
    let reachable = work.base.layout.page(at / size).is_some();
    note(work, "anywhere", reachable, format!("{length} bytes at {at} of the file"));
}

fn log(work: &mut Work<'_>, random: &mut Random) {
    let base = work.base;
    let index = random.index(base.segments.len());
    let known = &base.segments[index];
    if known.records.is_empty() {
        return meta(work, random);
    }
    let record = known.records[random.index(known.records.len())];
    let end = known.bytes.len();
    let segment = work.segment_mut(index);
    let (name, story) = match random.below(12) {
        0 => {
            let cut = random.index(end);
            segment.truncate(cut);
            ("log length", format!("a length of {cut} instead of {end}"))
        }
        1 => {
            let from = random.index(end);
            let to = (from + [8, 512, 4096, end][random.index(4)]).min(segment.len());
            if let Some(bytes) = segment.get_mut(from..to) {
                bytes.fill(0);
            }
            ("log zeros", format!("zeros from {from} to {to}"))
        }
        2 => {
            let other = known.records[random.index(known.records.len())];
            let bytes = known.bytes[other.at..other.at + other.length].to_vec();
            if let Some(place) = segment.get_mut(record.at..) {
                let room = place.len().min(bytes.len());
                place[..room].copy_from_slice(&bytes[..room]);
            }
            ("log swapped", format!("record {} over record {}", other.sequence, record.sequence))
        }
        3..=4 => {
            let field = pick(fields::SEGMENT, random);
            change_within(segment, field.at as usize, field.size.min(SEGMENT_BYTES), random);
            (field.name, field.name.to_owned())
        }
        5..=8 => {
            let field = pick(fields::RECORD, random);
            change_within(segment, record.at + field.at as usize, field.size, random);
            (field.name, format!("{} of commit {}", field.name, record.sequence))
        }
        _ => {
            let within = RECORD_BYTES + random.index((record.length - RECORD_BYTES).max(1));
            change_within(segment, record.at + within, 1 + random.index(8), random);
            ("log payload", format!("bytes at {within} of commit {}", record.sequence))
        }
    };
    note(work, name, true, format!("segment {index}: {story}"));
}

fn change_within(bytes: &mut [u8], at: usize, size: usize, random: &mut Random) {
    let end = (at + size).min(bytes.len());
    if at < end {
        change(&mut bytes[at..end], random);
    }
}

/// Changes a number, or some of several bytes.
pub fn change(bytes: &mut [u8], random: &mut Random) {
    if bytes.len() > 8 {
        let count = if random.chance(1, 2) { 1 } else { bytes.len() };
        for _ in 0..count {
            let at = random.index(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        return;
    }
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let number = u64::from_le_bytes(word);
    let bits = 8 * bytes.len() as u64;
    let new = match random.below(10) {
        0..=3 => number ^ 1 << random.below(bits),
        4 => number.wrapping_add(1),
        5 => number.wrapping_sub(1),
        6 => 0,
        7 => u64::MAX >> (64 - bits) >> random.below(2),
        8 => number.wrapping_add(random.below(300)),
        _ => random.next_u64(),
    };
    bytes.copy_from_slice(&new.to_le_bytes()[..bytes.len()]);
}

/// Any live page, every kind as likely as another.
fn any_live(work: &Work<'_>, random: &mut Random) -> Option<Page> {
    let kinds = [PageKind::Leaf, PageKind::Branch, PageKind::Table, PageKind::Values];
    let start = random.index(kinds.len());
    (0..kinds.len()).find_map(|step| {
        let kind = kinds[(start + step) % kinds.len()];
        let pages = work.base.layout.pages.iter().filter(|page| page.kind == kind);
        let count = pages.clone().count();
        if count == 0 { None } else { pages.clone().nth(random.index(count)).copied() }
    })
}

/// Bytes of a page from its start to where its contents end, so that not all that is tried is free space.
fn used_bytes(work: &Work<'_>, page: Page) -> usize {
    let size = work.base.layout.page_bytes;
    let bytes = &work.base.data[page.number * size..][..size];
    let used = match page.kind {
        PageKind::Leaf => cells(bytes).last().map(|cell| cell.value.0 + cell.value.1),
        PageKind::Branch => separators(bytes).last().map(|(at, length)| at + length),
        PageKind::Table => Some(64 + 64 * usize::from(u16_at(bytes, 2))),
        PageKind::Values => None,
    };
    used.unwrap_or(size)
}

fn pick(list: &'static [Field], random: &mut Random) -> Field {
    list[random.index(list.len())]
}

fn note(work: &mut Work<'_>, hit: &'static str, reachable: bool, story: String) {
    work.hits.push(hit);
    work.reachable.push(reachable);
    work.story.push(story);
}

fn told(page: Page) -> String {
    format!("{} {} (extent {}, slot {})", name_of(page.kind), page.number, page.extent as i32, page.slot)
}

fn name_of(kind: PageKind) -> &'static str {
    match kind {
        PageKind::Leaf => "leaf page",
        PageKind::Branch => "branch page",
        PageKind::Table => "table page",
        PageKind::Values => "value page",
    }
}

/// What can be hit of a filter.
const FILTER: &str = "filter";

/// What can be hit beside the fields.
pub const KINDS: &[&str] = &[
    FILTER,
    "leaf page",
    "branch page",
    "table page",
    "value page",
    "swapped",
    "stale",
    "length",
    "anywhere",
    "log length",
    "log zeros",
    "log swapped",
    "log payload",
];
