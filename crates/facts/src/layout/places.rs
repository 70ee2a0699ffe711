//! Places: where the record of each fact is, by id.

use crate::error::{Error, Result};
use crate::layout::records::PIECE_BYTES;

/// Where a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of its piece.
    pub piece: u64,
    /// Where it begins in the piece.
    pub at: usize,
}

impl Place {
    /// As a number of 40 bits.
    ///
    /// # Errors
    /// If there are more than 2²⁴ pieces.
    pub fn number(self) -> Result<u64> {
        let number = self.piece * PIECE_BYTES as u64 + self.at as u64;
        // The last number marks a slot without a place.
        if number < NO_PLACE { Ok(number) } else { Err(Error::TooLarge) }
    }

    /// The place with this number.
    pub fn of(number: u64) -> Self {
        Self { piece: number / PIECE_BYTES as u64, at: (number % PIECE_BYTES as u64) as usize }
    }

    /// As it is stored.
    pub fn encode(self) -> Result<[u8; PLACE_BYTES]> {
        let [a, b, c, d, e, ..] = self.number()?.to_le_bytes();
        Ok([a, b, c, d, e])
    }

    /// The place at `index` of a list of places.
    pub fn read(list: &[u8], index: usize) -> Result<Self> {
        let Some(&[a, b, c, d, e]) = list.get(index * PLACE_BYTES..(index + 1) * PLACE_BYTES) else {
            return Err(Error::Damaged { what: "a fact has no place" });
        };
        Ok(Self::of(u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])))
    }
}

/// The number of the entry with the place of the fact with this rank, and the place's index in it.
pub fn entry_of(rank: u64) -> (u64, usize) {
    (rank / ENTRY_PLACES as u64, (rank % ENTRY_PLACES as u64) as usize)
}

/// A place that no record has.
pub const NO_PLACE: u64 = (1 << 40) - 1;
/// A place, as it is stored.
pub const PLACE_BYTES: usize = 5;
/// Places of an entry: as many as 64 KiB hold.
pub const ENTRY_PLACES: usize = (1 << 16) / PLACE_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_read_as_it_was_written() {
        let places = [Place { piece: (1 << 24) - 1, at: 65_534 }, Place { piece: 7, at: 8 }];
        let list = places.map(|place| place.encode().expect("it fits")).concat();
        assert_eq!([0, 1].map(|index| Place::read(&list, index).expect("a place")), places);
        assert!(Place::read(&list, 2).is_err());
        assert!(Place { piece: 1 << 24, at: 0 }.encode().is_err());
        assert_eq!(entry_of(13_107), (1, 0));
    }
}
