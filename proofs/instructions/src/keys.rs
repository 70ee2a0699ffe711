//! The keys of the tables: each shape turns a record's number into a key.
//!
//! Invariants: no two numbers below [`RECORDS`] give the same key in one shape, and a number gives the same key on
//! every machine.

use std::io::Write;

/// Records of each table: enough for two levels of branches above leaves of 32/100.
pub const RECORDS: u32 = 200_000;

/// A kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// 32 bytes that look random.
    Hashed,
    /// Rising `u64`, big-endian.
    Sequential,
    /// IRIs of the Lehigh University Benchmark's form, which share long prefixes.
    Iris,
    /// Short texts of one or two syllables, and a number.
    Words,
    /// Rising `u32`, big-endian, with gaps.
    U32,
}

impl Shape {
    /// The key of a record.
    pub fn key(self, record: u32) -> Vec<u8> {
        match self {
            Self::Hashed => hashed(record),
            Self::Sequential => u64::from(record).to_be_bytes().into(),
            Self::Iris => iri(record),
            Self::Words => word(record),
            Self::U32 => (record * 3).to_be_bytes().into(),
        }
    }

    /// A key that no record has.
    pub fn absent_key(self, record: u32) -> Vec<u8> {
        self.key(RECORDS + record)
    }
}

/// Scatters numbers: a bijection (the finish of splitmix64).
pub fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn hashed(record: u32) -> Vec<u8> {
    let mut word = u64::from(record);
    let mut key = Vec::with_capacity(32);
    for _ in 0..4 {
        word = mix(word);
        key.extend_from_slice(&word.to_le_bytes());
    }
    key
}

/// 20 departments in a university, 1000 students in a department.
fn iri(record: u32) -> Vec<u8> {
    let (department, student) = (record / 1000, record % 1000);
    let (university, department) = (department / 20, department % 20);
    text(format_args!("http://www.Department{department}.University{university}.edu/UndergraduateStudent{student}"))
}

fn word(record: u32) -> Vec<u8> {
    const FIRST: [&str; 16] =
        ["am", "ber", "cop", "dra", "el", "fal", "gar", "har", "is", "jun", "ker", "lan", "mar", "nee", "or", "peb"];
    const SECOND: [&str; 16] = [
        "", "ble", "chard", "den", "er", "fish", "gon", "hood", "ing", "land", "ment", "ness", "per", "ship", "tern",
        "wise",
    ];
    let (first, rest) = (record % 16, record / 16);
    let (second, number) = (rest % 16, rest / 16);
    text(format_args!("{}{}{number}", FIRST[first as usize], SECOND[second as usize]))
}

fn text(text: std::fmt::Arguments<'_>) -> Vec<u8> {
    let mut key = Vec::new();
    key.write_fmt(text).expect("writing to memory does not fail");
    key
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_of_every_shape_are_unique_the_absent_ones_too() {
        for shape in [Shape::Hashed, Shape::Sequential, Shape::Iris, Shape::Words, Shape::U32] {
            let keys: HashSet<Vec<u8>> = (0..2 * RECORDS).map(|record| shape.key(record)).collect();
            assert_eq!(keys.len(), 2 * RECORDS as usize, "{shape:?}");
        }
    }
}
