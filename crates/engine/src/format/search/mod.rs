//! Page search with the vectors of the processor, chosen at run time.
#![allow(unsafe_code)] // Vector instructions, and entering functions that need target features after detecting them.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod dispatch;
mod isa;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
mod prefetch;
mod primitives;
#[cfg(target_arch = "x86_64")]
mod sse2;

#[cfg(test)]
pub use dispatch::{forced, with_isa, with_loops};
pub use dispatch::{look_up, selected, with_search};
pub use isa::Isa;
#[cfg(test)]
pub use isa::supported;
pub use prefetch::prefetch;
#[cfg(any(test, target_arch = "x86_64"))]
pub use primitives::BlockLines;
pub use primitives::{BLOCKS_AT_ONCE, EIGHT_HEADS, HeadLine, HintLines, Lookup, Search, TagLine, WithSearch};
