//! Builds a [`Shortcut`] of the separators of a tree.

use crate::error::Result;
use crate::format::{CellKey, head8};
use crate::ids::PageRef;
use crate::pager::Pages;
use crate::tree::root::{Root, branch_at};

use super::shortcut::{Cut, LeafCode, Line, Shortcut};

/// The shortcut of a tree; `None` if it would be of little use, or too large.
///
/// It reads all branches.
///
/// # Errors
/// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io).
pub(in crate::tree) fn build(pages: &Pages, root: &Root) -> Result<Option<Shortcut>> {
    let (Some(lowest), Some(highest)) = (edge(pages, root, Edge::Lowest)?, edge(pages, root, Edge::Highest)?) else {
        return Ok(None);
    };
    let prefix_length = lowest.iter().zip(&highest).take_while(|(low, high)| low == high).count();
    let prefix = &lowest[..prefix_length];
    let mut leaves = Leaves { pages, prefix, first: None, separated: Vec::new(), branches: 0, buffer: Vec::new() };
    if !leaves.collect(root.page, root.level, None)? {
        return Ok(None);
    }
    let Some(first) = leaves.first else { return Ok(None) };
    Ok(best(first, &leaves.separated, prefix))
}

/// The finest shortcut that is needed for nearly all leaves.
fn best(first: LeafCode, separated: &[Separated], prefix: &[u8]) -> Option<Shortcut> {
    let (lowest, highest) = (separated.first()?.number, separated.last()?.number);
    let span = highest.checked_sub(lowest)?;
    let leaves = separated.len() as u64 + 1;
    let coarsest = (span / (leaves / LEAVES_PER_LINE_MAX).max(1)).checked_ilog2()?.min(63);
    for width_bits in (1..=coarsest).rev() {
        let (low, lines) = intervals(lowest, highest, width_bits);
        if lines > leaves.max(LINES_MIN) || lines > LINES_MAX {
            return None;
        }
        let plan = Plan::new(first, separated, low, width_bits, lines as usize)?;
        if plan.leaves_lost as u64 * 100 <= leaves * LOST_PERCENT_MAX {
            return Some(Shortcut::new(plan.lines.into(), low, width_bits, prefix.into()));
        }
    }
    None
}

/// Where the first interval begins, and how many there are: one more at each end has a part of the outermost leaves.
fn intervals(lowest: u64, highest: u64, width_bits: u32) -> (u64, u64) {
    let low = (lowest >> width_bits).saturating_sub(1) << width_bits;
    // Numbers below the first interval are above all others, for they wrap: what is not a number must have no interval.
    let last = (((highest - low) >> width_bits) + 1).min((u64::MAX - low) >> width_bits);
    (low, last + 1)
}

/// The lines of a shortcut.
struct Plan {
    lines: Vec<Line>,
    /// How many leaves they do not lead to.
    leaves_lost: usize,
}

impl Plan {
    /// None if separators are not in order: the tree is damaged.
    fn new(first: LeafCode, separated: &[Separated], low: u64, width_bits: u32, count: usize) -> Option<Self> {
        let mut plan = Self { lines: Vec::with_capacity(count), leaves_lost: 0 };
        let mut begun = first;
        let mut cuts: Vec<Cut> = Vec::new();
        let mut before = 0;
        for at in separated {
            let above = at.number.checked_sub(low).filter(|&above| above >= before)?;
            before = above;
            let interval = (above >> width_bits) as usize;
            if interval < plan.lines.len() {
                // It is in the last unit of the interval before, which leads nowhere.
                begun = at.leaf;
                continue;
            }
            plan.fill_up_to(interval, &mut begun, &mut cuts);
            let exact_head = (above << (64 - width_bits)) >> 32;
            let cut_off = if width_bits > 32 { above & ((1 << (width_bits - 32)) - 1) } else { 0 };
            // Only the separator itself could decide for keys with this head: they lead nowhere.
            if at.is_whole && cut_off == 0 {
                plan.leaves_lost += cut(&mut cuts, &mut begun, exact_head as u32, at.leaf);
                continue;
            }
            plan.leaves_lost += cut(&mut cuts, &mut begun, exact_head as u32, LeafCode::NOWHERE);
            match (exact_head as u32).checked_add(1) {
                Some(next) => plan.leaves_lost += cut(&mut cuts, &mut begun, next, at.leaf),
                None => {
                    plan.fill_up_to(plan.lines.len() + 1, &mut begun, &mut cuts);
                    begun = at.leaf;
                }
            }
        }
        plan.fill_up_to(count, &mut begun, &mut cuts);
        Some(plan)
    }

    /// Ends the interval that is being cut, and begins those up to the one of this number.
    fn fill_up_to(&mut self, number: usize, begun: &mut LeafCode, cuts: &mut Vec<Cut>) {
        while self.lines.len() < number {
            if cuts.len() >= Shortcut::LINE_LEAVES_MAX {
                self.leaves_lost += cuts.iter().filter(|cut| cut.leaf != LeafCode::NOWHERE).count();
            }
            self.lines.push(Line::new(*begun, cuts));
            *begun = cuts.last().map_or(*begun, |cut| cut.leaf);
            cuts.clear();
        }
    }
}

/// A leaf begins at `head`. Cuts at that head and above are dropped: returns how many leaves they were.
fn cut(cuts: &mut Vec<Cut>, begun: &mut LeafCode, head: u32, leaf: LeafCode) -> usize {
    let mut lost = 0;
    while let Some(last) = cuts.pop_if(|last| last.head >= head) {
        lost += usize::from(last.leaf != LeafCode::NOWHERE);
    }
    match head {
        0 => *begun = leaf,
        _ => cuts.push(Cut { head, leaf }),
    }
    lost
}

/// A leaf, and the separator before it.
struct Separated {
    leaf: LeafCode,
    /// The first eight bytes of the separator behind the prefix of all.
    number: u64,
    /// Whether a key is at least the separator if its number is at least that of the separator.
    is_whole: bool,
}

/// All leaves of a tree, in order.
struct Leaves<'b> {
    pages: &'b Pages,
    prefix: &'b [u8],
    first: Option<LeafCode>,
    separated: Vec<Separated>,
    /// Branches that were read.
    branches: usize,
    buffer: Vec<u8>,
}

impl Leaves<'_> {
    /// Collects those below a page, given the separator before it. `false` if one cannot be named, or they are too
    /// many.
    fn collect(&mut self, at: PageRef, level: u8, before: Option<(u64, bool)>) -> Result<bool> {
        if level == 0 {
            let Some(leaf) = LeafCode::new(at) else { return Ok(false) };
            match before {
                None => self.first = Some(leaf),
                Some((number, is_whole)) => self.separated.push(Separated { leaf, number, is_whole }),
            }
            return Ok(self.separated.len() <= LEAVES_MAX);
        }
        self.branches += 1;
        if self.branches > BRANCHES_MAX {
            return Ok(false);
        }
        let page = self.pages.page(at)?;
        let branch = branch_at(self.pages, &page, at, level)?;
        for index in 0..branch.children() {
            let before = match index.checked_sub(1) {
                None => before,
                Some(separator) => {
                    self.buffer.clear();
                    let number = match branch.separator(separator, &mut self.buffer) {
                        CellKey::Inline(key) => number_of(key, self.prefix),
                        CellKey::Overflow { prefix: part, .. } => number_of_long(part, self.prefix),
                    };
                    let Some(number) = number else { return Ok(false) };
                    Some(number)
                }
            };
            if !self.collect(branch.child(index).page, level - 1, before)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The number of a separator, and whether it is the whole separator; none if it does not begin with the prefix.
fn number_of(separator: &[u8], prefix: &[u8]) -> Option<(u64, bool)> {
    let rest = separator.strip_prefix(prefix)?;
    // A key that ends where the separator has a zero has the same number, and is below.
    let is_whole = rest.len() <= 8 && rest.last().is_some_and(|&last| last != 0);
    Some((head8(rest, 0), is_whole))
}

/// As [`number_of`], for a long separator, given the part that is stored in the branch. The separator goes on behind
/// this part: it is never whole, and if the part ends within the number, there is none.
fn number_of_long(part: &[u8], prefix: &[u8]) -> Option<(u64, bool)> {
    let number = part.strip_prefix(prefix)?.first_chunk()?;
    Some((u64::from_be_bytes(*number), false))
}

/// An end of a tree.
#[derive(Clone, Copy)]
enum Edge {
    Lowest,
    Highest,
}

/// The lowest or the highest separator of a tree, as much of it as is stored in branches.
fn edge(pages: &Pages, root: &Root, edge: Edge) -> Result<Option<Vec<u8>>> {
    let mut found = None;
    let mut at = root.page;
    for level in (1..=root.level).rev() {
        let page = pages.page(at)?;
        let branch = branch_at(pages, &page, at, level)?;
        let (separator, child) = match edge {
            Edge::Lowest => (branch.separator_count().checked_sub(1).map(|_| 0), 0),
            Edge::Highest => (branch.separator_count().checked_sub(1), branch.children() - 1),
        };
        if let Some(separator) = separator {
            let mut buffer = Vec::new();
            found = Some(match branch.separator(separator, &mut buffer) {
                CellKey::Inline(key) => key.to_vec(),
                CellKey::Overflow { prefix, .. } => prefix.to_vec(),
            });
        }
        at = branch.child(child).page;
    }
    Ok(found)
}

/// Leaves for each line, on average, at most: a line has room for eight, and intervals have some more than others.
const LEAVES_PER_LINE_MAX: u64 = 6;
/// A shortcut need not lead to this many of a hundred leaves.
const LOST_PERCENT_MAX: u64 = 2;
/// Intervals that are no waste, however few leaves there are.
const LINES_MIN: u64 = 8;
/// 32 MiB of lines.
const LINES_MAX: u64 = (32 << 20) / size_of::<Line>() as u64;
/// A sound tree of [`LEAVES_MAX`] leaves has fewer branches. A forged one could share pages, and be walked for years.
const BRANCHES_MAX: usize = LEAVES_MAX / 8;
/// No more fit into so many lines.
const LEAVES_MAX: usize = LEAVES_PER_LINE_MAX as usize * LINES_MAX as usize;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Search, WithSearch, supported, with_isa, with_loops};
    use crate::ids::ExtentId;
    use crate::tree::tests::store::Random;

    fn leaf(number: usize) -> PageRef {
        PageRef { extent: ExtentId(number as u32 / 128), slot: number as u32 % 128 }
    }

    fn code(number: usize) -> LeafCode {
        LeafCode::new(leaf(number)).expect("it is small")
    }

    struct LeafOf<'a>(&'a Shortcut, &'a [u8]);

    impl WithSearch for LeafOf<'_> {
        type Output = PageRef;

        fn run<S: Search>(self) -> PageRef {
            self.0.leaf_of::<S>(self.1)
        }
    }

    /// Separators that rise, and what all begin with.
    fn separated(separators: &[Vec<u8>]) -> (Vec<Separated>, &[u8]) {
        let (first, last) = (&separators[0], &separators[separators.len() - 1]);
        let prefix = &first[..first.iter().zip(last).take_while(|(low, high)| low == high).count()];
        let separated = |(index, separator): (usize, &Vec<u8>)| {
            let (number, is_whole) = number_of(separator, prefix).expect("all have it");
            Separated { leaf: code(index + 1), number, is_whole }
        };
        (separators.iter().enumerate().map(separated).collect(), prefix)
    }

    /// Asks for keys by every instruction set; returns how many of a hundred were told.
    fn compare(shortcut: &Shortcut, separators: &[Vec<u8>], keys: &[Vec<u8>]) -> usize {
        let mut told = 0;
        for key in keys {
            let expected = leaf(separators.partition_point(|separator| separator <= key));
            let by_all = supported().map(|isa| with_isa(isa, LeafOf(shortcut, key)).expect("it is supported"));
            let found: Vec<_> = by_all.chain([with_loops(LeafOf(shortcut, key))]).collect();
            assert!(found.iter().all(|at| *at == found[0]), "instruction sets differ for {}", key.escape_ascii());
            assert!(found[0].is_nowhere() || found[0] == expected, "{} is led astray", key.escape_ascii());
            told += usize::from(found[0] == expected);
        }
        told * 100 / keys.len()
    }

    /// Byte strings of all kinds: few letters, zeros and largest bytes, few lengths, so that many tie and are near to
    /// others.
    fn strings(random: &mut Random, kind: u64, count: usize) -> Vec<Vec<u8>> {
        let string = |random: &mut Random| match kind {
            0 => random.next().to_be_bytes()[..1 + random.below(8) as usize].to_vec(),
            1 => (0..1 + random.below(12)).map(|_| [0, 0, 1, 0xFE, 0xFF, 0xFF][random.below(6) as usize]).collect(),
            2 => [b"prefix".as_slice(), &random.next().to_be_bytes(), b"rest"].concat(),
            3 => (random.below(1 << 14) * 3).to_be_bytes().to_vec(),
            4 => [vec![0xFF; 6], (random.below(1 << 16) as u16).to_be_bytes().to_vec()].concat(),
            _ => [[7; 8].as_slice(), &random.below(1000).to_be_bytes(), &[random.below(3) as u8 * 127]].concat(),
        };
        let mut strings: Vec<_> = (0..count).map(|_| string(random)).collect();
        strings.sort();
        strings.dedup();
        strings
    }

    /// The separators, keys just before and after them, and others.
    fn keys_near(random: &mut Random, separators: &[Vec<u8>], kind: u64) -> Vec<Vec<u8>> {
        let mut keys = strings(random, kind, separators.len());
        for separator in separators {
            keys.push(separator.clone());
            keys.push([separator, b"\0".as_slice()].concat());
            keys.push(separator[..separator.len() - 1].to_vec());
            let mut below = separator.clone();
            *below.last_mut().expect("none is empty") = below.last().expect("none is empty").wrapping_sub(1);
            keys.push(below.clone());
            keys.push([&*below, &[0xFF; 9]].concat());
        }
        keys
    }

    #[test]
    fn no_shortcut_leads_astray_whatever_the_separators_and_the_width() {
        const SEPARATORS: usize = if cfg!(miri) { 12 } else { 400 };
        for seed in 1..=if cfg!(miri) { 1 } else { 6 } {
            println!("seed {seed}");
            let mut random = Random(seed);
            for kind in 0..6 {
                let separators = strings(&mut random, kind, SEPARATORS);
                let keys = keys_near(&mut random, &separators, kind);
                let (separated, prefix) = separated(&separators);
                let (lowest, highest) = (separated[0].number, separated[separated.len() - 1].number);
                for width_bits in 1..64 {
                    let (low, lines) = intervals(lowest, highest, width_bits);
                    if lines > 1 << 16 {
                        continue;
                    }
                    let plan = Plan::new(code(0), &separated, low, width_bits, lines as usize).expect("they rise");
                    let shortcut = Shortcut::new(plan.lines.into(), low, width_bits, prefix.into());
                    compare(&shortcut, &separators, &keys);
                }
            }
        }
    }

    #[test]
    fn separators_that_are_spread_evenly_have_a_shortcut_of_few_lines_which_tells_nearly_all_keys() {
        let mut random = Random(1);
        for kind in [0, 2, 3] {
            // Keys are many more than leaves, so that these begin at even distances.
            let all = strings(&mut random, kind, if cfg!(miri) { 400 } else { 40_000 });
            let separators: Vec<_> = all.iter().skip(50).step_by(100).cloned().collect();
            let (separated, prefix) = separated(&separators);
            let shortcut = best(code(0), &separated, prefix).expect("they are even");
            assert!(shortcut.line_count() <= (separators.len() + 1).max(8), "{} lines", shortcut.line_count());
            let told = compare(&shortcut, &separators, &all);
            assert!(told >= 95, "kind {kind}: {told} of a hundred");
        }
    }

    #[test]
    fn separators_that_crowd_have_no_shortcut() {
        let crowd = |number: u32| format!("http://{}.example/{}", number % 7, number / 7).into_bytes();
        let mut separators: Vec<_> = (0..500).map(crowd).collect();
        separators.sort();
        let (separated, prefix) = separated(&separators);
        assert!(best(code(0), &separated, prefix).is_none());
    }

    #[test]
    fn separators_that_fall_have_no_shortcut() {
        let at = |number, index| Separated { leaf: code(index), number, is_whole: true };
        let falling = [at(1 << 40, 1), at(3 << 40, 2), at(2 << 40, 3), at(4 << 40, 4)];
        assert!(best(code(0), &falling, b"").is_none());
    }

    #[test]
    fn a_leaf_whose_number_is_too_large_has_no_code() {
        let at = |extent, slot| LeafCode::new(PageRef { extent: ExtentId(extent), slot });
        assert!(at(0, 127).is_some() && at((1 << 24) - 1, 127).is_some());
        assert_eq!(at(0, 128), None);
        assert_eq!(at(1 << 24, 0), None);
        assert_eq!(at(u32::MAX, 0), None);
    }
}
