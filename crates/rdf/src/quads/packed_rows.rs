//! Rows of numbers as one number of 128 bits each, in the same order: these are sorted faster.
//!
//! At each place of the rows, the numbers of each tag have a range, and the ranges follow each other. A number is
//! packed as its position within them. Numbers of the dictionary are consecutive, so a place with only these needs few
//! bits. Inline values need up to 56 bits at one place. Rows that do not fit are sorted unpacked. Invariant: the ranges
//! were computed from all rows that are packed.

use crate::model::id::PAYLOAD_BITS;

/// Subject, predicate, object and graph as bits.
pub type Row = [u64; 4];

/// What the numbers of rows are between, at each place and for each tag.
pub struct Ranges([[Range; 256]; 4]);

/// The least and the greatest. As it begins it holds none.
#[derive(Clone, Copy)]
struct Range {
    least: u64,
    greatest: u64,
}

impl Ranges {
    pub fn of(rows: &[Row]) -> Self {
        let mut ranges = [[Range { least: u64::MAX, greatest: 0 }; 256]; 4];
        for row in rows {
            for (ranges, &number) in ranges.iter_mut().zip(row) {
                let range = &mut ranges[tag_of(number)];
                range.least = range.least.min(number);
                range.greatest = range.greatest.max(number);
            }
        }
        Self(ranges)
    }
}

/// How rows become one number: the places in the order in which they are compared, those that come first in the upper
/// bits.
pub struct Packing<const N: usize> {
    places: [PackedColumn; N],
}

/// The numbers at a place of the rows.
struct PackedColumn {
    /// Which of a row's four.
    column: usize,
    /// What is taken from a number of each tag when it is packed.
    less: Box<[u64; 256]>,
    /// Of each tag that is there: where its packed numbers begin, and what was taken from them. The highest first.
    starts: Vec<(u64, u64)>,
    /// How many bits a packed number has, and a number that has them all.
    bits: u32,
    mask: u64,
}

impl PackedColumn {
    fn new(ranges: &[Range; 256], column: usize) -> Self {
        let (mut less, mut starts, mut start) = (Box::new([0; 256]), Vec::new(), 0_u64);
        for (less, range) in less.iter_mut().zip(ranges) {
            if range.least <= range.greatest {
                *less = range.least.wrapping_sub(start);
                starts.push((start, *less));
                // Only the last tag can have the last of all numbers of 64 bits: what begins behind it does not matter.
                start = start.saturating_add(range.greatest - range.least + 1);
            }
        }
        starts.reverse();
        let bits = u64::BITS - start.saturating_sub(1).leading_zeros();
        Self { column, less, starts, bits, mask: ((1_u128 << bits) - 1) as u64 }
    }

    #[inline]
    fn pack(&self, row: &Row) -> u64 {
        let number = row[self.column];
        let packed = number.wrapping_sub(self.less[tag_of(number)]);
        debug_assert!(packed <= self.mask, "the row was none of those that the ranges were made of");
        packed
    }

    #[inline]
    fn unpack(&self, packed: u64) -> u64 {
        let less = self.starts.iter().find(|(start, _)| *start <= packed).map_or(0, |(_, less)| *less);
        packed.wrapping_add(less)
    }
}

impl<const N: usize> Packing<N> {
    /// `None` if rows take more than 128 bits.
    pub fn new(ranges: &Ranges, columns: [usize; N]) -> Option<Self> {
        let places = columns.map(|column| PackedColumn::new(&ranges.0[column], column));
        let bits: u32 = places.iter().map(|place| place.bits).sum();
        (bits <= u128::BITS).then_some(Self { places })
    }

    #[inline]
    fn pack(&self, row: &Row) -> u128 {
        self.places.iter().fold(0, |packed, place| packed << place.bits | u128::from(place.pack(row)))
    }

    #[inline]
    fn unpack(&self, mut packed: u128) -> [u64; N] {
        let mut numbers = [0; N];
        for (number, place) in numbers.iter_mut().zip(&self.places).rev() {
            *number = place.unpack(packed as u64 & place.mask);
            packed >>= place.bits;
        }
        numbers
    }
}

/// Some places of rows, in order, each once.
pub enum Sorted<const N: usize> {
    Plain(Vec<[u64; N]>),
    Packed(Vec<u128>, Packing<N>),
}

impl<const N: usize> Sorted<N> {
    /// Sorts rows by the places of `columns`, the first one most significant. `ranges` were computed from these rows.
    pub fn new(rows: &[Row], ranges: &Ranges, columns: [usize; N]) -> Self {
        match Packing::new(ranges, columns) {
            Some(packing) => Self::Packed(in_order(rows.iter().map(|row| packing.pack(row)).collect()), packing),
            None => Self::plain(rows, columns),
        }
    }

    /// As [`Sorted::new`], of rows so few that packing does not pay.
    pub fn plain(rows: &[Row], columns: [usize; N]) -> Self {
        Self::Plain(in_order(rows.iter().map(|row| columns.map(|column| row[column])).collect()))
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Plain(keys) => keys.len(),
            Self::Packed(keys, _) => keys.len(),
        }
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<[u64; N]> {
        match self {
            Self::Plain(keys) => keys.get(index).copied(),
            Self::Packed(keys, packing) => keys.get(index).map(|&packed| packing.unpack(packed)),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = [u64; N]> {
        (0..self.len()).map_while(|index| self.get(index))
    }
}

fn in_order<T: Ord>(mut keys: Vec<T>) -> Vec<T> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

#[inline]
fn tag_of(number: u64) -> usize {
    (number >> PAYLOAD_BITS) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::id::PAYLOAD_MAX;

    fn check<const N: usize>(rows: &[Row], columns: [usize; N]) -> bool {
        let sorted = Sorted::new(rows, &Ranges::of(rows), columns);
        let expected = in_order(rows.iter().map(|row| columns.map(|column| row[column])).collect::<Vec<_>>());
        assert_eq!(sorted.iter().collect::<Vec<_>>(), expected);
        assert_eq!((sorted.len(), sorted.get(expected.len())), (expected.len(), None));
        matches!(sorted, Sorted::Packed(..))
    }

    /// A number of a tag, of at most so many bits.
    fn number((tag, value): (u64, u64), bits: u32) -> u64 {
        tag << PAYLOAD_BITS | (value & ((1 << bits) - 1))
    }

    proptest! {
        #[test]
        fn rows_are_sorted_as_they_are_compared(
            rows in prop::collection::vec(prop::array::uniform4((prop::sample::select(vec![0_u64, 1, 2, 200, 255]), any::<u64>())), 1..60),
            bits in prop::array::uniform4(0..57_u32),
            repeated in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let mut rows: Vec<Row> =
                rows.iter().map(|row| std::array::from_fn(|column| number(row[column], bits[column]))).collect();
            let repeated: Vec<Row> = repeated.iter().map(|index| *index.get(&rows)).collect();
            rows.extend(repeated);
            check(&rows, [3]);
            check(&rows, [2, 0, 1]);
            check(&rows, [3, 1, 2, 0]);
            // Of each tag so many numbers at most: these rows have room.
            let narrow: Vec<Row> = rows.iter().map(|row| row.map(|number| number & !(PAYLOAD_MAX & !0xff_ffff))).collect();
            prop_assert!(check(&narrow, [0, 1, 2]));
            prop_assert!(check(&narrow, [3, 1, 2, 0]));
        }
    }

    #[test]
    fn rows_take_the_bits_of_their_ranges() {
        let all_of = |tags: std::ops::Range<u64>| -> Vec<Row> {
            tags.flat_map(|tag| [number((tag, 0), 56), number((tag, u64::MAX), 56)]).map(|number| [number; 4]).collect()
        };
        for rows in [all_of(7..8), all_of(0..255), all_of(0..256)] {
            assert!(check(&rows, [0]));
            assert!(check(&rows, [0, 1]), "two places of 56 to 64 bits");
            assert!(!check(&rows, [0, 1, 2]), "three places of 56 bits or more");
        }
        let one_bit_more: Vec<Row> =
            all_of(0..256).into_iter().zip(0..).map(|(row, n)| [row[0], row[1], n % 2, 5]).collect();
        assert!(check(&one_bit_more, [0, 1, 3]), "a place of one number takes no bits: 128 in all");
        assert!(!check(&one_bit_more, [0, 1, 2]), "129 bits");
        assert!(check(&[], [0, 1, 2]));
    }
}
