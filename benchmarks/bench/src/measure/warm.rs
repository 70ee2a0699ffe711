//! Warms free memory before a timed turn, so that every turn finds it alike.
//!
//! The hypervisor under a virtual machine may reclaim guest memory that has been free for some seconds, in blocks of
//! 2 MiB (free page reporting). The next touch of such a block costs ten times as much as that of one in recent use.
//! In a benchmark, that would charge the first engine, or one that asks for whole blocks, for something that is not
//! measured.

use std::hint::black_box;

use memmap2::MmapMut;

use crate::measure::machine::kibibytes_of;

/// Touches so much of the free memory, in blocks as large as the hypervisor takes, and gives it back at once. Memory
/// that is not free is left alone: it is warm.
pub fn warm_memory(bytes: u64) {
    let bytes = bytes.min(free_bytes() / FREE_DIVISOR);
    // What cannot be mapped cannot be warmed, and the figures say so by their spread.
    let Ok(mut block) = MmapMut::map_anon(usize::try_from(bytes).unwrap_or(0)) else { return };
    // Small pages would come from the rests of blocks in use, which the hypervisor does not reclaim.
    #[cfg(target_os = "linux")]
    let _ = block.advise(memmap2::Advice::HugePage);
    block.iter_mut().step_by(PAGE_BYTES).for_each(|byte| *byte = 1);
    black_box(&mut block);
}

fn free_bytes() -> u64 {
    kibibytes_of("/proc/meminfo", "MemFree") * 1024
}

/// The smallest page that a system maps.
const PAGE_BYTES: usize = 4096;

/// Half of what is free: the rest keeps the kernel from reclaiming what is in use.
const FREE_DIVISOR: u64 = 2;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::measure::machine::{MemoryWatch, private_memory_bytes};

    #[test]
    fn memory_is_touched_and_given_back() {
        // A machine in use may have little that is free, and less a moment later.
        let expected = (free_bytes() / FREE_DIVISOR).min(512 << 20) / 4;
        let watch = MemoryWatch::start();
        warm_memory(512 << 20);
        assert!(watch.finish() >= expected);
        // Other tests of this process hold memory for a while.
        let deadline = Instant::now() + Duration::from_secs(120);
        while private_memory_bytes() >= 256 << 20 {
            assert!(Instant::now() < deadline, "{} bytes are kept", private_memory_bytes());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn what_is_free_is_known() {
        let free = free_bytes();
        assert!(free > 1 << 20, "{free}");
    }
}
