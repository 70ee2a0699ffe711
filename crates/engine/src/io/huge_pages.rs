//! Whether a map is backed by huge pages, according to `/proc/self/smaps`: a benchmark without them is another
//! benchmark.

#[cfg(any(target_os = "linux", test))]
use std::ops::Range;

/// How a range of addresses is backed at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HugePages {
    /// Bytes that are in memory and mapped by pages of any size.
    pub resident_bytes: u64,
    /// Bytes of these that are mapped by huge pages.
    pub huge_bytes: u64,
}

/// Sums up the mappings in `smaps` that begin inside `range`.
#[cfg(any(target_os = "linux", test))]
pub(in crate::io) fn parse(smaps: &str, range: Range<u64>) -> HugePages {
    let mut sum = HugePages::default();
    let mut inside = false;
    for line in smaps.lines() {
        let Some((name, rest)) = line.split_once(char::is_whitespace) else { continue };
        if let Some((start, _)) = name.split_once('-') {
            inside = u64::from_str_radix(start, 16).is_ok_and(|start| range.contains(&start));
        } else if inside {
            match name {
                "Rss:" => sum.resident_bytes += kilobytes(rest),
                "FilePmdMapped:" | "ShmemPmdMapped:" | "AnonHugePages:" => sum.huge_bytes += kilobytes(rest),
                _ => {}
            }
        }
    }
    sum
}

#[cfg(any(target_os = "linux", test))]
fn kilobytes(field: &str) -> u64 {
    let number = field.split_whitespace().next().and_then(|number| number.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_in_the_range_are_summed_and_others_left_out() {
        let smaps = "\
7f0000000000-7f0000400000 r--s 00000000 08:01 42   /data/x.ful
Size:               4096 kB
Rss:                3072 kB
FilePmdMapped:      2048 kB
ShmemPmdMapped:        0 kB
VmFlags: rd sh mr
7f0000400000-7f0000600000 r--s 00400000 08:01 42   /data/x.ful
Rss:                 512 kB
7f0000600000-7f0000800000 r--p 00000000 08:01 43   /data/other
Rss:                1024 kB
FilePmdMapped:      1024 kB
";
        let found = parse(smaps, 0x7f00_0000_0000..0x7f00_0060_0000);
        assert_eq!(found, HugePages { resident_bytes: 3584 << 10, huge_bytes: 2048 << 10 });
    }
}
