//! What the figures were measured on, and what the kernel made of the engines' files and memory.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::{Error, Result};

/// One line: processor, cores, kernel, setting of transparent huge pages, vector instructions, and the class that
/// they make.
pub fn summary(search: Option<&str>) -> String {
    let cpu_info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = field(&cpu_info, "model name").or_else(|| field(&cpu_info, "CPU part")).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let huge_pages = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let chosen = huge_pages.split(['[', ']']).nth(1).unwrap_or("unknown");
    let detected = search.is_none();
    let search = search.unwrap_or_else(|| vector_instructions());
    let class = class_of(search);
    let search = if detected { format!("{search} (detected)") } else { search.to_owned() };
    let kernel = kernel.trim();
    format!("{model}, {cores} cores, Linux {kernel}, huge pages {chosen}, search {search}, {class}")
}

/// The class of processors whose figures these are: docs/internals/benchmarks.md has some for each.
fn class_of(search: &str) -> &'static str {
    match search {
        "avx512" => "class AVX-512",
        "avx2" => "class AVX2, without AVX-512",
        "neon" => "class NEON",
        _ => "class without vectors beyond the baseline",
    }
}

/// The text behind `name` and a colon, in a file of `/proc` that has such lines.
pub fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}

fn vector_instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    let found = match () {
        // What the engine asks for: see its module `format::search`.
        () if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq") =>
        {
            "avx512"
        }
        () if is_x86_feature_detected!("avx2") => "avx2",
        () => "portable",
    };
    #[cfg(target_arch = "aarch64")]
    let found = "neon";
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let found = "portable";
    found
}

/// How much of a file this process has mapped and resident.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// Bytes with a page table entry.
    pub resident_bytes: u64,
    /// Those of them that huge pages map.
    pub huge_bytes: u64,
}

impl Mapped {
    /// Looks at every mapping of `file`.
    pub fn of(file: &Path) -> Result<Self> {
        let file = file.canonicalize().map_err(|error| Error::io("find", file, error))?;
        let source = Path::new("/proc/self/smaps");
        let text = fs::read_to_string(source).map_err(|error| Error::io("read", source, error))?;
        Ok(Self::parse(&text, &file.to_string_lossy()))
    }

    fn parse(smaps: &str, file: &str) -> Self {
        let mut found = Self::default();
        let mut inside = false;
        for line in smaps.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(first) = words.next() else { continue };
            if !first.ends_with(':') {
                inside = line.ends_with(file);
                continue;
            }
            let bytes = words.next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024;
            match first {
                "Rss:" if inside => found.resident_bytes += bytes,
                "FilePmdMapped:" | "ShmemPmdMapped:" if inside => found.huge_bytes += bytes,
                _ => {}
            }
        }
        found
    }

    /// Huge bytes in a hundred resident ones.
    pub fn huge_percent(&self) -> u64 {
        (self.huge_bytes * 100).checked_div(self.resident_bytes).unwrap_or(0)
    }
}

/// Watches this process' private memory (RssAnon) and keeps the largest amount seen.
#[derive(Debug)]
pub struct MemoryWatch {
    stop: Arc<AtomicBool>,
    largest_bytes: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl MemoryWatch {
    const INTERVAL: Duration = Duration::from_millis(2);

    /// Starts to watch.
    pub fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let largest_bytes = Arc::new(AtomicU64::new(0));
        let (seen_stop, seen) = (Arc::clone(&stop), Arc::clone(&largest_bytes));
        let thread = std::thread::spawn(move || {
            // Relaxed: the thread is joined before the amount is read, and stopping an interval late does no harm.
            while !seen_stop.load(Ordering::Relaxed) {
                seen.fetch_max(private_memory_bytes(), Ordering::Relaxed);
                std::thread::sleep(Self::INTERVAL);
            }
        });
        Self { stop, largest_bytes, thread }
    }

    /// Stops, and says what the largest amount was.
    pub fn finish(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let joined = self.thread.join();
        assert!(joined.is_ok(), "the watching thread does not panic");
        self.largest_bytes.load(Ordering::Relaxed).max(private_memory_bytes())
    }
}

/// Private memory of this process.
pub fn private_memory_bytes() -> u64 {
    kibibytes_of("/proc/self/status", "RssAnon") * 1024
}

/// Memory of the machine.
pub fn memory_bytes() -> u64 {
    kibibytes_of("/proc/meminfo", "MemTotal") * 1024
}

/// The number after `name` in a file of `/proc`; 0 if the file lacks it.
pub fn kibibytes_of(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    field(&text, name).and_then(|text| text.split(' ').next()).and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
7f0000000000-7f0000200000 r--s 00000000 fe:00 11 /data/a.ful
Size:               2048 kB
Rss:                2048 kB
FilePmdMapped:      1024 kB
7f0000400000-7f0000600000 r--s 00000000 fe:00 12 /data/b.mdb
Rss:                 100 kB
FilePmdMapped:         0 kB
7f0000800000-7f0000900000 r--s 00000000 fe:00 11 /data/a.ful
Rss:                2048 kB
7f0000a00000-7f0000b00000 rw-p 00000000 00:00 0
Rss:                   4 kB
";

    #[test]
    fn all_mappings_of_one_file_are_summed() {
        let a = Mapped::parse(SMAPS, "/data/a.ful");
        assert_eq!(a, Mapped { resident_bytes: 4096 << 10, huge_bytes: 1024 << 10 });
        assert_eq!(a.huge_percent(), 25);
        assert_eq!(Mapped::parse(SMAPS, "/data/b.mdb").huge_percent(), 0);
        assert_eq!(Mapped::parse(SMAPS, "/data/c").huge_percent(), 0);
    }

    #[test]
    fn the_summary_names_kernel_and_search() {
        let summary = summary(Some("avx2"));
        assert!(summary.contains("Linux") && summary.contains("search avx2, "), "{summary}");
    }

    #[test]
    fn the_summary_names_the_class_of_processors_that_the_search_belongs_to() {
        assert!(summary(Some("avx512")).ends_with("class AVX-512"));
        assert!(summary(Some("avx2")).ends_with("class AVX2, without AVX-512"));
        assert!(summary(Some("neon")).ends_with("class NEON"));
        assert!(summary(Some("portable")).ends_with("class without vectors beyond the baseline"));
        assert!(summary(None).contains("(detected), class "));
    }

    #[test]
    fn memory_that_is_touched_while_watched_is_seen() {
        let watch = MemoryWatch::start();
        let block = std::hint::black_box(vec![1u8; 32 << 20]);
        assert!(watch.finish() >= 32 << 20);
        drop(block);
    }
}
