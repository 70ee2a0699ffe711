//! How the numbers of a history become keys and values of the engine, and back.
//!
//! A key is its number in eight hexadecimal digits, so that sixteen neighbours share a prefix, behind a beginning
//! that all keys of a world have. A value is its number and bytes that follow from it: that it was not mixed with
//! another shows in each.

use super::super::super::history::{Key, Value};
use super::halt::Halt;
use crate::random::mix;

/// The keys of one world.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    beginning: Vec<u8>,
}

impl Keys {
    /// Keys that all begin with these bytes.
    pub fn new(beginning: Vec<u8>) -> Self {
        Self { beginning }
    }

    /// The key of this number.
    pub fn bytes(&self, number: u64) -> Vec<u8> {
        let mut bytes = self.beginning.clone();
        bytes.extend_from_slice(format!("{number:08x}").as_bytes());
        bytes
    }

    /// What the key of this number and its neighbours begin with: they are sixteen, from a multiple of sixteen on.
    pub fn prefix(&self, number: u64) -> Vec<u8> {
        let mut bytes = self.bytes(number);
        bytes.pop();
        bytes
    }

    /// The number of a key that the engine gave.
    pub fn number(&self, bytes: &[u8]) -> Result<u64, Halt> {
        let digits = bytes.strip_prefix(&*self.beginning).and_then(|digits| std::str::from_utf8(digits).ok());
        let number = digits.filter(|digits| digits.len() == 8).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        number.ok_or_else(|| Halt::Wrong(format!("a key was never put: {}", bytes.escape_ascii())))
    }
}

/// The register of this number in a table.
pub(crate) fn register(table: usize, number: u64) -> Key {
    Key(((table as u64) << TABLE_SHIFT) + number)
}

/// The register that represents a named table.
pub(crate) fn named(number: u64) -> Key {
    register(NAMED, number)
}

/// What a register of this value holds.
pub(crate) fn value_bytes(value: Value, padding_max: u64) -> Vec<u8> {
    let length = match mix(value.0) {
        _ if padding_max == 0 => 0,
        mixed if mixed % 200 == 0 => padding_max * LARGE_FACTOR,
        mixed => (mixed >> 8) % (padding_max + 1),
    };
    let mut bytes = value.0.to_le_bytes().to_vec();
    bytes.resize(bytes.len() + length as usize, filler(value));
    bytes
}

/// The value of a register that holds this.
pub(crate) fn value_of(bytes: &[u8]) -> Result<Value, Halt> {
    let wrong = || Halt::Wrong(format!("a value was never put: {} bytes, {:.40}", bytes.len(), bytes.escape_ascii()));
    let (number, padding) = bytes.split_first_chunk().ok_or_else(wrong)?;
    let value = Value(u64::from_le_bytes(*number));
    if padding.iter().all(|byte| *byte == filler(value)) { Ok(value) } else { Err(wrong()) }
}

/// What a list of these elements is.
pub(crate) fn list_bytes(elements: &[Value]) -> Vec<u8> {
    elements.iter().flat_map(|element| element.0.to_le_bytes()).collect()
}

/// The elements of a list.
pub(crate) fn elements_of(bytes: &[u8]) -> Result<Vec<Value>, Halt> {
    match bytes.as_chunks() {
        (elements, []) => Ok(elements.iter().map(|element| Value(u64::from_le_bytes(*element))).collect()),
        _ => Err(Halt::Wrong(format!("a list was never put: it has {} bytes", bytes.len()))),
    }
}

fn filler(value: Value) -> u8 {
    mix(value.0 ^ 1) as u8
}

/// Registers of one table have numbers below this power of two.
const TABLE_SHIFT: u32 = 32;
/// The table number that the registers of named tables have.
const NAMED: usize = 1000;
/// A large value has so many times the bytes beside it that others have at most.
const LARGE_FACTOR: u64 = 25;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_come_back_as_the_numbers_that_they_were() {
        let keys = Keys::new(b"beginning".to_vec());
        assert_eq!(keys.number(&keys.bytes(0xabc)).unwrap(), 0xabc);
        assert!(keys.bytes(0xaf).starts_with(&keys.prefix(0xa0)) && !keys.bytes(0xb0).starts_with(&keys.prefix(0xa0)));
        assert!(keys.number(b"beginning00").is_err() && keys.number(b"00000000").is_err());
        for padding in [0, 100] {
            let lengths: std::collections::BTreeSet<usize> =
                (0..2000).map(|number| value_bytes(Value(number), padding).len()).collect();
            assert_eq!(lengths.len() > 50, padding > 0);
            for number in 0..2000 {
                assert_eq!(value_of(&value_bytes(Value(number), padding)).unwrap(), Value(number));
            }
        }
        let elements = [Value(7), Value(1 << 40)];
        assert_eq!(elements_of(&list_bytes(&elements)).unwrap(), elements);
    }

    #[test]
    fn a_value_mixed_of_two_is_told() {
        let (one, other) = (value_bytes(Value(1), 3000), value_bytes(Value(2), 3000));
        let mixed = [&one[..8], &other[8..]].concat();
        assert!(value_of(&mixed).is_err());
        assert!(value_of(&one[..7]).is_err() && elements_of(&one[..7]).is_err());
    }
}
