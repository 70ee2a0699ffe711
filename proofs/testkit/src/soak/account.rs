//! What a key holds: a value that says which key it is of, which version it is, and whether it is whole.

use xxhash_rust::xxh3::xxh3_64;

use crate::random::mix;

/// The key with this number. Neighbouring numbers are far apart in the table.
pub fn key(number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mix(number).to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The value of a version of a key. Its length is anything from a few bytes to some hundreds, and sometimes 100 KB.
pub fn value(number: u64, version: u32) -> Vec<u8> {
    let draw = mix(number ^ u64::from(version).rotate_left(32));
    let filling = if draw.is_multiple_of(LONG_SHARE) { LONG_BYTES } else { (draw >> 32) as usize % SHORT_BYTES_MAX };
    let mut value = Vec::with_capacity(HEAD_BYTES + filling);
    value.extend_from_slice(&[0; 8]);
    value.extend_from_slice(&number.to_le_bytes());
    value.extend_from_slice(&version.to_le_bytes());
    value.resize(HEAD_BYTES + filling, draw as u8);
    let checksum = xxh3_64(&value[8..]);
    value[..8].copy_from_slice(&checksum.to_le_bytes());
    value
}

/// The version that a value of the key with this number is of.
///
/// # Errors
/// What is wrong with it.
pub fn version_of(number: u64, value: &[u8]) -> Result<u32, String> {
    let Some((head, _)) = value.split_first_chunk::<HEAD_BYTES>() else {
        return Err(format!("key {number}: a value of {} bytes", value.len()));
    };
    let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("the head is longer"));
    if word(0) != xxh3_64(&value[8..]) {
        return Err(format!("key {number}: a value whose checksum does not match"));
    }
    if word(8) != number {
        return Err(format!("key {number}: the value of key {}", word(8)));
    }
    Ok(u32::from_le_bytes(head[16..20].try_into().expect("the head is longer")))
}

/// Checksum, number and version.
const HEAD_BYTES: usize = 20;
const SHORT_BYTES_MAX: usize = 300;
const LONG_BYTES: usize = 100_000;
/// One value in so many is long.
const LONG_SHARE: u64 = 4000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_tells_its_version_and_any_change_of_it_is_seen() {
        for (number, version) in [(0, 0), (7, 1), (u64::MAX, u32::MAX)] {
            let value = value(number, version);
            assert_eq!(version_of(number, &value), Ok(version));
            assert!(version_of(number ^ 1, &value).is_err());
            for at in 0..value.len() {
                let mut changed = value.clone();
                changed[at] ^= 1;
                assert!(version_of(number, &changed).is_err(), "byte {at}");
            }
        }
        assert!(version_of(1, b"short").is_err());
    }
}
