//! The sets of instructions that page search can use, and whether this machine has them.

use std::fmt;

/// A set of instructions that page search can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Isa {
    /// Any processor. On x86-64, where all have them, with the vectors of SSE2.
    Portable = 1,
    /// x86-64 with AVX2, BMI, LZCNT, MOVBE and POPCNT.
    Avx2 = 2,
    /// x86-64 with AVX-512 F, BW, VL and DQ, and all that AVX2 comes with.
    Avx512 = 3,
    /// aarch64.
    Neon = 4,
}

impl Isa {
    /// Best first.
    pub(super) const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::Neon, Self::Portable];

    /// The name that `FULGURITE_SEARCH` takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    /// Whether this machine has it.
    pub fn is_supported(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => has_avx512(),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            _ => false,
        }
    }

    #[inline(always)]
    pub(super) fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Portable),
            2 => Some(Self::Avx2),
            3 => Some(Self::Avx512),
            4 => Some(Self::Neon),
            _ => None,
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe")
        && is_x86_feature_detected!("popcnt")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
}

/// What this machine supports, best first.
pub fn supported() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_supported())
}
