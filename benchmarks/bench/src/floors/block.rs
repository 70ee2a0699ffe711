//! Arrays that are loaded from: memory of one size of page, whose lines form one chain that visits each of them once,
//! in no order.

use std::hint::black_box;

use memmap2::{Advice, MmapMut};

use crate::floors::probe::Unavailable;
use crate::measure::machine::kibibytes_of;

/// A line of memory.
pub const LINE_BYTES: usize = 64;

/// The smallest page that a system maps.
pub const PAGE_BYTES: usize = 4096;

/// A huge page.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// By which pages memory is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Of 4 KiB.
    Small,
    /// Of 2 MiB.
    Huge,
}

/// Memory that was never touched, aligned for huge pages.
#[derive(Debug)]
pub struct Fresh {
    map: MmapMut,
    start: usize,
    length: usize,
}

impl Fresh {
    /// Asks for so many bytes, mapped so.
    pub fn new(length: usize, pages: Pages) -> Result<Self, Unavailable> {
        let lack = |error: std::io::Error| {
            Unavailable(format!("the system cannot reserve {} MiB of memory: {error}", length >> 20))
        };
        // Room for whole huge pages, wherever the system lets it begin.
        let map = MmapMut::map_anon(length.next_multiple_of(HUGE_PAGE_BYTES) + HUGE_PAGE_BYTES).map_err(lack)?;
        let (advice, name) = match pages {
            Pages::Small => (Advice::NoHugePage, "small"),
            Pages::Huge => (Advice::HugePage, "huge"),
        };
        let advised = map.advise(advice);
        // A kernel that has no huge pages refuses both, and gives small ones.
        if pages == Pages::Huge {
            advised.map_err(|error| Unavailable(format!("the kernel refuses {name} pages: {error}")))?;
        }
        let start = map.as_ptr().align_offset(HUGE_PAGE_BYTES);
        Ok(Self { map, start, length })
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map[self.start..self.start + self.length]
    }

    /// Its bytes, to be stored to.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map[self.start..self.start + self.length]
    }
}

/// Bytes of this process' memory that huge pages map.
pub fn anonymous_huge_bytes() -> u64 {
    kibibytes_of("/proc/self/smaps_rollup", "AnonHugePages") * 1024
}

/// Does `fill` with fresh memory for huge pages, and says how much of it in a hundred bytes they map then.
pub fn huge_percent(memory: &mut Fresh, fill: impl FnOnce(&mut [u8])) -> f64 {
    let before = anonymous_huge_bytes();
    fill(memory.bytes_mut());
    let mapped = anonymous_huge_bytes().saturating_sub(before);
    (100.0 * mapped as f64 / memory.length as f64).min(100.0)
}

/// Less in a hundred bytes is no memory of huge pages.
const HUGE_PERCENT_MIN: f64 = 90.0;

/// An array of lines; each holds the number of the next one.
#[derive(Debug)]
pub struct Block {
    memory: Fresh,
}

impl Block {
    /// Requires: `length` is a power of two, of two lines at least.
    pub fn new(length: usize, pages: Pages) -> Result<Self, Unavailable> {
        assert!(length.is_power_of_two() && length >= 2 * LINE_BYTES, "lines are numbered by a mask");
        let mut memory = Fresh::new(length, pages)?;
        match pages {
            Pages::Small => link(memory.bytes_mut()),
            Pages::Huge => {
                let percent = huge_percent(&mut memory, link);
                if percent < HUGE_PERCENT_MIN {
                    let reason = format!("the kernel gives huge pages to {percent:.0} % of the memory asked for");
                    return Err(Unavailable(reason));
                }
            }
        }
        Ok(Self { memory })
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// Where `CHAINS` chains can begin, apart from each other.
    pub fn starts<const CHAINS: usize>(&self) -> [usize; CHAINS] {
        std::array::from_fn(|chain| chain * (self.memory.length / LINE_BYTES) / CHAINS)
    }

    /// Goes on `steps` lines in each chain, one step of each after the other.
    #[inline]
    pub fn follow<const CHAINS: usize>(&self, chains: &mut [usize; CHAINS], steps: usize) {
        let (lines, _) = self.bytes().as_chunks::<LINE_BYTES>();
        let mut places = *chains;
        for _ in 0..steps {
            for place in &mut places {
                *place = next_of(&lines[*place]);
            }
        }
        *chains = black_box(places);
    }
}

#[inline]
fn next_of(line: &[u8; LINE_BYTES]) -> usize {
    let [word, ..] = line.as_chunks::<8>().0 else { return 0 };
    u64::from_le_bytes(*word) as usize
}

/// Writes to each line the number of the next one: all lines are one cycle.
///
/// The cycle is that of a linear congruential generator, which is full where the factor less one is a multiple of
/// four and the summand odd, seen through a bijection that is its own inverse: so it is written in the order of the
/// memory, without a table of all lines.
fn link(bytes: &mut [u8]) {
    const FACTOR: usize = 0x5851_f42d_4c95_7f2d;
    const SUMMAND: usize = 0x1405_7b7e_f767_814f;
    let (lines, _) = bytes.as_chunks_mut::<LINE_BYTES>();
    let mask = lines.len() - 1;
    let shift = lines.len().ilog2().div_ceil(2);
    let mirrored = |number: usize| number ^ (number >> shift);
    for (number, line) in lines.iter_mut().enumerate() {
        let next = mirrored(mirrored(number).wrapping_mul(FACTOR).wrapping_add(SUMMAND) & mask);
        line[..8].copy_from_slice(&(next as u64).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_visits_every_line_once_and_jumps_about() {
        for lines in [2, 64, 4096, 8192] {
            let block = Block::new(lines * LINE_BYTES, Pages::Small).unwrap();
            let (mut seen, mut place, mut near) = (vec![false; lines], [0], 0);
            for _ in 0..lines {
                assert!(!std::mem::replace(&mut seen[place[0]], true), "{} again", place[0]);
                let before = place[0];
                block.follow(&mut place, 1);
                near += usize::from(before.abs_diff(place[0]) < 64);
            }
            assert_eq!(place, [0]);
            assert!(lines <= 64 || near < lines / 10, "{near} of {lines} steps are short");
        }
    }

    #[test]
    fn chains_go_on_by_themselves() {
        let block = Block::new(1 << 16, Pages::Small).unwrap();
        let mut together: [usize; 8] = block.starts();
        let starts = together;
        assert!(starts.is_sorted_by(|a, b| a < b));
        block.follow(&mut together, 5);
        for (start, end) in starts.into_iter().zip(together) {
            let mut alone = [start];
            block.follow(&mut alone, 5);
            assert_eq!(alone, [end]);
        }
    }

    #[test]
    fn memory_begins_where_a_huge_page_can_and_holds_what_was_asked_for() {
        let mut memory = Fresh::new(3 << 20, Pages::Small).unwrap();
        assert_eq!((memory.bytes_mut().as_ptr().addr() % HUGE_PAGE_BYTES, memory.bytes().len()), (0, 3 << 20));
    }
}
