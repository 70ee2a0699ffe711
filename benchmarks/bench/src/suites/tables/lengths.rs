//! How long the values of a workload are.

use crate::data::random::mix;

/// Lengths of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// All equally long.
    Fixed(usize),
    /// From 1 KiB to 1 MiB, 64 KiB on average: many short ones and few long ones, by record and version.
    Documents,
}

const DOCUMENT_BYTES_MIN: usize = 1 << 10;
const DOCUMENT_BYTES_MAX: usize = 1 << 20;
const DOCUMENT_BYTES_MEAN: usize = 64 << 10;

/// A document has 2 to the power of 10 uᵏ KiB, where u is uniform from 0 to 1: with this k that is 64 KiB on average.
const DOCUMENT_SKEW: f64 = 2.606;

impl Lengths {
    /// Length of the value of a record that was put so often.
    #[inline]
    pub fn of(self, id: u32, version: u32) -> usize {
        match self {
            Self::Fixed(length) => length,
            Self::Documents => document_bytes(id, version),
        }
    }

    /// The longest length.
    pub const fn max(self) -> usize {
        match self {
            Self::Fixed(length) => length,
            Self::Documents => DOCUMENT_BYTES_MAX,
        }
    }

    /// The average.
    pub const fn mean(self) -> usize {
        match self {
            Self::Fixed(length) => length,
            Self::Documents => DOCUMENT_BYTES_MEAN,
        }
    }
}

fn document_bytes(id: u32, version: u32) -> usize {
    let uniform = (mix(u64::from(version) << 32 | u64::from(id)) >> 11) as f64 / (1u64 << 53) as f64;
    let bytes = DOCUMENT_BYTES_MIN as f64 * (10.0 * uniform.powf(DOCUMENT_SKEW)).exp2();
    (bytes as usize).clamp(DOCUMENT_BYTES_MIN, DOCUMENT_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_the_lengths_and_the_average_of_the_report() {
        const COUNT: u32 = 200_000;
        let lengths: Vec<usize> = (0..COUNT).map(|id| Lengths::Documents.of(id, 1)).collect();
        assert!(lengths.iter().all(|length| (1 << 10..=1 << 20).contains(length)));
        let mean = lengths.iter().sum::<usize>() as f64 / f64::from(COUNT);
        assert!((mean / Lengths::Documents.mean() as f64 - 1.0).abs() < 0.02, "{mean}");
        assert!(lengths.iter().filter(|&&length| length > 900 << 10).count() > 500);
        assert!(lengths.iter().filter(|&&length| length < 2 << 10).count() > 60_000);
        assert_ne!(Lengths::Documents.of(7, 1), Lengths::Documents.of(7, 2));
    }
}
