//! What this process has written, as the system counts it.

use std::fs;

use crate::measure::machine::field;

/// Counters of `/proc/self/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes that calls wrote to files, whether anything reached a device or not. Stores through a map are not among
    /// them.
    pub by_calls: u64,
    /// Bytes of pages that became dirty, by calls or through a map, and so have to be written to a device, less those
    /// of files that were cut or removed before. A page counts again when it becomes dirty after it was written.
    pub for_device: u64,
}

impl Written {
    /// What this process has written so far; `None` where the system does not count.
    pub fn so_far() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/self/io").ok()?)
    }

    /// What was written since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            by_calls: self.by_calls - before.by_calls,
            for_device: self.for_device.saturating_sub(before.for_device),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let number = |name| field(text, name)?.parse::<u64>().ok();
        let cancelled = number("cancelled_write_bytes").unwrap_or(0);
        let for_device = number("write_bytes")?.saturating_sub(cancelled);
        Some(Self { by_calls: number("wchar")?, for_device })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_their_names() {
        let text =
            "rchar: 9\nwchar: 70\nsyscr: 1\nsyscw: 2\nread_bytes: 3\nwrite_bytes: 8192\ncancelled_write_bytes: 4096\n";
        assert_eq!(Written::parse(text), Some(Written { by_calls: 70, for_device: 4096 }));
        assert_eq!(Written::parse("rchar: 9\n"), None);
    }

    #[test]
    fn what_a_call_writes_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        // A kernel without these counters has none for anybody.
        let Some(before) = Written::so_far() else { return };
        fs::write(directory.path().join("file"), vec![1; 1 << 20]).unwrap();
        let written = Written::so_far().unwrap().since(before);
        assert!(written.by_calls >= 1 << 20, "{written:?}");
    }
}
