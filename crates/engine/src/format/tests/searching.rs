//! Search primitives: every instruction set of this machine against plain loops.

use crate::format::search::{BLOCKS_AT_ONCE, BlockLines, HeadLine, HintLines, TagLine, forced};
use crate::format::tests::shapes::{Check, Random, on_every_isa};
use crate::format::{Isa, Search, WithSearch, key_start, selected, supported, with_search};

/// Numbers that lie close together, so that equal ones are common, at either end of the range or in the middle.
fn number(random: &mut Random) -> u32 {
    let base = [0u32, 1 << 31, u32::MAX][random.below(3)];
    base.wrapping_add(random.below(5) as u32).wrapping_sub(2)
}

fn line_of(heads: [u32; 16]) -> HeadLine {
    let bytes: Vec<u8> = heads.into_iter().flat_map(u32::to_le_bytes).collect();
    bytes.try_into().expect("16 numbers of 4 bytes")
}

#[derive(Default)]
struct Lines {
    heads: Vec<(HeadLine, u32)>,
    after_4: Vec<(HeadLine, u32)>,
    hints: Vec<(HintLines, usize, u32)>,
    tags: Vec<(TagLine, u16)>,
    blocks: Vec<(Box<BlockLines>, usize, u16)>,
    long_heads: Vec<([u64; 8], u64)>,
}

impl Check for Lines {
    fn check<S: Search>(&self) {
        for (line, head) in &self.heads {
            let heads = line.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
            assert_eq!(S::count_below(line, *head), heads.clone().filter(|other| other < head).count());
            assert_eq!(S::count_at_most(line, *head), heads.filter(|other| other <= head).count());
        }
        for (line, head) in &self.after_4 {
            let hints: Vec<u32> = line.as_chunks::<4>().0[4..].iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
            assert_eq!(S::count_below_after_4(line, *head), hints.iter().filter(|other| *other < head).count());
            let tied = hints[..BLOCKS_AT_ONCE].windows(2).any(|pair| pair[0] == pair[1] && pair[0] != u32::MAX);
            assert_eq!(S::has_tied_hints(line), tied);
        }
        for (hints, count, head) in &self.hints {
            let used = &hints.as_chunks::<4>().0[..*count];
            let below = used.iter().filter(|bytes| u32::from_le_bytes(**bytes) < *head).count();
            assert_eq!(S::hints_below(hints, *count, *head), below);
        }
        for (line, tag) in &self.tags {
            let tags = line.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
            let mask = tags.enumerate().map(|(lane, other)| u32::from(other == *tag) << lane).sum::<u32>();
            assert_eq!(S::tags_equal(line, *tag), mask);
            let first = (mask != 0).then(|| 2 * mask.trailing_zeros() as usize);
            assert_eq!(S::first_tag(line, *tag), first);
        }
        for (blocks, count, tag) in &self.blocks {
            let words = |bytes: &[u8]| -> Vec<u16> {
                bytes.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect()
            };
            let slots = blocks.as_chunks::<64>().0[..*count].iter().flat_map(|block| {
                let (tags, slots) = (words(&block[..32]), words(&block[32..]));
                slots.into_iter().zip(tags).filter(|(_, other)| other == tag).map(|(slot, _)| slot)
            });
            assert_eq!(S::slot_of(blocks, *count, *tag), slots.max().unwrap_or(0) as usize);
        }
        for (line, head) in &self.long_heads {
            let below = line.iter().filter(|other| *other < head).count();
            assert_eq!(S::long_heads_below(line, *head), (below, line.contains(head)));
        }
    }
}

#[test]
fn lines_are_searched_as_by_plain_loops() {
    let mut random = Random(1);
    let count = if cfg!(miri) { 6 } else { 5000 };
    let mut lines = Lines::default();
    for _ in 0..count {
        // Heads rise, except for the header before the first hints of a leaf.
        let mut heads: [u32; 16] = std::array::from_fn(|_| number(&mut random));
        let head = number(&mut random);
        heads[4..].sort_unstable();
        lines.after_4.push((line_of(heads), head));
        heads.sort_unstable();
        lines.heads.push((line_of(heads), head));
        // As in a page: the slots after the last hint of a line hold the largest number; the bytes after the line are
        // arbitrary.
        let count = random.below(64) + 1;
        let line_end = count.next_multiple_of(16);
        let mut hints: [u32; 64] = std::array::from_fn(|_| number(&mut random));
        hints[..count].sort_unstable();
        hints[count..line_end].fill(u32::MAX);
        let hints = hints.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<_>>();
        lines.hints.push((hints.try_into().expect("64 numbers of 4 bytes"), count, number(&mut random)));
        let tags = (0..16).flat_map(|_| (number(&mut random) as u16).to_le_bytes()).collect::<Vec<_>>();
        lines.tags.push((tags.try_into().expect("16 numbers of 2 bytes"), number(&mut random) as u16));
        // Few of the tags are the one that is wanted, so that there are none, one and several.
        let mut blocks = Box::new([0; 64 * BLOCKS_AT_ONCE]);
        for word in blocks.as_chunks_mut::<2>().0 {
            let range = [2, 100, 65_535][random.below(3)];
            *word = (1 + random.below(range) as u16).to_le_bytes();
        }
        // Signed numbers would be in another order.
        let mut long = || u64::from(number(&mut random)).rotate_right(32 * (random.below(2) as u32));
        lines.long_heads.push((std::array::from_fn(|_| long()), long()));
        lines.blocks.push((blocks, 1 + random.below(BLOCKS_AT_ONCE), 1 + random.below(100) as u16));
    }
    on_every_isa(&lines);
}

struct Heads(Vec<Vec<u8>>);

impl Check for Heads {
    fn check<S: Search>(&self) {
        for key in &self.0 {
            assert_eq!(key_start(key).swap_bytes(), S::head8(key, 0));
            for skip in 0..key.len() + 10 {
                let padded: Vec<u8> = key.iter().copied().skip(skip).chain([0; 8]).take(8).collect();
                let head = u64::from_be_bytes(padded.try_into().expect("eight bytes"));
                let skip = skip as u16;
                assert_eq!((S::head4(key, skip), S::head8(key, skip)), ((head >> 32) as u32, head), "{key:?} {skip}");
            }
        }
    }
}

#[test]
fn heads_are_the_bytes_after_a_prefix_and_zeros() {
    let mut random = Random(3);
    // Each in an allocation of its own, so that an interpreter sees reads past its end.
    let keys = (0..if cfg!(miri) { 20 } else { 70 }).map(|length| (0..length).map(|_| random.next() as u8).collect());
    on_every_isa(&Heads(keys.collect()));
}

struct Pairs(Vec<(Vec<u8>, Vec<u8>)>);

impl Check for Pairs {
    fn check<S: Search>(&self) {
        for (left, right) in &self.0 {
            assert_eq!(S::at_most(left, right), left <= right, "{left:?} {right:?}");
            if left.len() == right.len() {
                assert_eq!(S::equal(left, right), left == right, "{left:?} {right:?}");
                if left.len() <= 64 {
                    assert_eq!(S::equal_short(left, right), left == right, "{left:?} {right:?}");
                }
            }
        }
    }
}

#[test]
fn strings_are_compared_as_slices_are_at_every_length_and_difference() {
    let mut random = Random(2);
    let mut pairs = Vec::new();
    let lengths: Vec<usize> = if cfg!(miri) { (0..20).chain([63, 64, 65, 129]).collect() } else { (0..200).collect() };
    for length in lengths {
        let left: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        pairs.push((left.clone(), left.clone()));
        for at in (0..length).filter(|at| !cfg!(miri) || at % 13 == 0) {
            let mut right = left.clone();
            right[at] ^= 1 << random.below(8);
            pairs.push((left.clone(), right.clone()));
            right.truncate(at + random.below(length - at));
            pairs.push((left.clone(), right.clone()));
            pairs.push((right, left.clone()));
            let cut = left[..at].to_vec();
            pairs.push((cut.clone(), [&cut[..], &vec![0; random.below(10)]].concat()));
            pairs.push(([&cut[..], &vec![0; random.below(10)]].concat(), cut));
        }
    }
    on_every_isa(&Pairs(pairs));
}

#[test]
fn a_search_that_is_asked_for_is_used_or_refused_with_the_remedy() {
    for isa in supported() {
        assert_eq!(forced(isa.name()).expect("it is supported"), isa);
    }
    let message = |name| forced(name).expect_err("it must be refused").to_string();
    assert!(
        message("sse9").starts_with("FULGURITE_SEARCH=sse9 names no instruction set; unset it, or set it to one of: ")
    );
    assert!(message("").contains("portable"));
    let missing = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
    assert!(message(missing).contains("is not supported by this machine"));
}

struct Which;

impl WithSearch for Which {
    type Output = Isa;

    fn run<S: Search>(self) -> Isa {
        S::ISA
    }
}

#[test]
fn work_runs_with_what_was_selected() {
    let used = with_search(Which);
    assert_eq!(selected().unwrap_or(Isa::Portable), used);
    assert!(used.is_supported());
}
