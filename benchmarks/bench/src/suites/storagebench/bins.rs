//! Which bins there are, and the order in which operations ask for them.

use fulgurite_inventory::{Bin, BinCodec, Stock};

use crate::data::random::{Random, mix};

/// Bins of an inventory. A bin follows from the seed and its number, so none is kept.
#[derive(Clone, Copy, Debug)]
pub struct Bins {
    /// How many there are.
    pub count: u64,
    /// The seed of their content.
    pub seed: u64,
    /// Bytes that are added to the name of each.
    pub padding: usize,
}

/// One operation: a bin and an item in it.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The number of the bin.
    pub bin: u64,
    /// The number of the item.
    pub item: u64,
}

impl Bins {
    /// The bin of a number.
    pub fn bin(&self, number: u64) -> Bin {
        let stock = |place| {
            let item = self.item(number, place);
            Stock { item, quantity: 1 + (mix(item) % 1000).cast_signed() }
        };
        let mut name = format!("{:02}-{:03}-{:03}", number / 1_000_000 % 100, number / 1000 % 1000, number % 1000);
        name.extend(std::iter::repeat_n('x', self.padding));
        Bin { location: number, name, stocks: (0..STOCKS).map(stock).collect() }
    }

    fn item(&self, number: u64, place: u64) -> u64 {
        mix(self.seed ^ mix(number)).wrapping_add(place * 7919) % 1_000_000
    }

    /// The key of a bin.
    #[inline]
    pub fn key(number: u64) -> [u8; 8] {
        number.to_be_bytes()
    }

    /// The encoding of every bin, in the order of keys, from `from` on and before `to`.
    pub fn encoded<C: BinCodec>(self, from: u64, to: u64) -> impl Iterator<Item = ([u8; 8], Vec<u8>)> {
        let mut codec = C::default();
        (from..to).map(move |number| {
            let mut bytes = Vec::new();
            codec.encode(&self.bin(number), &mut bytes);
            (Self::key(number), bytes)
        })
    }

    /// Random operations.
    pub fn choices(&self, random: &mut Random, count: usize) -> Vec<Choice> {
        let choice = |random: &mut Random| {
            let bin = random.below(self.count as usize) as u64;
            Choice { bin, item: self.item(bin, random.below(STOCKS as usize) as u64) }
        };
        (0..count).map(|_| choice(random)).collect()
    }

    /// Pieces of all items in all bins, as they are loaded.
    pub fn pieces(&self) -> i64 {
        (0..self.count).flat_map(|number| self.bin(number).stocks).map(|stock| stock.quantity).sum()
    }
}

/// Items of a bin.
const STOCKS: u64 = 4;

#[cfg(test)]
mod tests {
    use fulgurite_events::FlatTable;
    use fulgurite_inventory::FlatBufferBins;

    use super::*;

    #[test]
    fn a_bin_has_the_items_that_operations_ask_for_once_each() {
        let bins = Bins { count: 1000, seed: 5, padding: 0 };
        for choice in bins.choices(&mut Random::new(7, 0), 1000) {
            let bin = bins.bin(choice.bin);
            assert_eq!(bin.stocks.iter().filter(|stock| stock.item == choice.item).count(), 1);
        }
    }

    /// The codec of the scenarios changes a quantity at its place, as a view of events does by [`FlatTable`].
    #[test]
    fn a_quantity_that_is_changed_at_its_place_has_the_bytes_that_the_codec_writes() {
        let bins = Bins { count: 100, seed: 5, padding: 0 };
        let (mut codec, mut expected) = (FlatBufferBins::default(), Vec::new());
        for (number, (_, before)) in (0..).zip(bins.encoded::<FlatBufferBins>(0, bins.count)) {
            let item = bins.item(number, number % STOCKS);
            codec.add(&before, item, 7, &mut expected).unwrap();
            let mut bytes = before;
            let mut bin = FlatTable::root(&mut bytes).unwrap();
            for stock in bin.vector::<16>(2).unwrap() {
                let [of, quantity] = stock.as_chunks_mut::<8>().0 else { panic!("it has two fields") };
                if *of == item.to_le_bytes() {
                    *quantity = (i64::from_le_bytes(*quantity) + 7).to_le_bytes();
                }
            }
            assert_eq!(bytes, expected, "bin {number}");
        }
    }
}
