//! Numbers of variable length, as SQLite 4 wrote them: the first byte says how many follow.
//!
//! | first byte | number |
//! |---|---|
//! | 0–240 | the byte |
//! | 241–248 | 240 + 256 × (byte − 241) + the next byte |
//! | 249 | 2288 + the next two bytes, big-endian |
//! | 250–255 | the next 3 to 8 bytes, big-endian |

/// Takes a number from the front of bytes. `None` if they end within it.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    let count = match first {
        0..=240 => 0,
        241..=248 => 1,
        249 => 2,
        250..=255 => usize::from(first - 247),
    };
    let (digits, rest) = rest.split_at_checked(count)?;
    *bytes = rest;
    let number = digits.iter().fold(0, |number, &digit| number << 8 | u64::from(digit));
    Some(match first {
        0..=240 => u64::from(first),
        241..=248 => 240 + (u64::from(first - 241) << 8) + number,
        249 => 2288 + number,
        250..=255 => number,
    })
}

/// Appends a number.
pub fn push(bytes: &mut Vec<u8>, number: u64) {
    match number {
        0..=240 => bytes.push(number as u8),
        241..=2287 => bytes.extend_from_slice(&((number - 240) as u16 + (241 << 8)).to_be_bytes()),
        2288..=67_823 => {
            bytes.push(249);
            bytes.extend_from_slice(&((number - 2288) as u16).to_be_bytes());
        }
        _ => {
            let digits = number.to_be_bytes();
            let skipped = (number.leading_zeros() / 8) as usize;
            bytes.push(255 - skipped as u8);
            bytes.extend_from_slice(&digits[skipped..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_every_limit_are_read_as_they_were_written() {
        let limits = [0, 1, 240, 241, 495, 496, 2287, 2288, 67_823, 67_824, 0xff_ffff, 0x100_0000, u64::MAX >> 8];
        for number in limits.into_iter().chain((4..64).map(|bits| 1 << bits)).chain([u64::MAX]) {
            let mut bytes = Vec::new();
            push(&mut bytes, number);
            let mut rest = bytes.as_slice();
            assert_eq!((take(&mut rest), rest), (Some(number), [].as_slice()), "{bytes:x?}");
            for length in 0..bytes.len() {
                assert_eq!(take(&mut &bytes[..length]), None, "{bytes:x?}");
            }
        }
    }

    #[test]
    fn bytes_are_those_of_sqlites_specification() {
        let cases: [(u64, &[u8]); 5] =
            [(240, &[240]), (241, &[241, 1]), (2287, &[248, 255]), (2288, &[249, 0, 0]), (67_824, &[250, 1, 8, 240])];
        for (number, expected) in cases {
            let mut bytes = Vec::new();
            push(&mut bytes, number);
            assert_eq!(bytes, expected, "{number}");
        }
    }
}
