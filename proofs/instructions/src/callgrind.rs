//! Runs this program below valgrind, and reads the counts that it writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::operations::{COUNTED, Subject};

/// What one operation took, on average.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// Which page search was used.
    pub search: &'static str,
    /// The operation.
    pub operation: &'static str,
    /// Instructions.
    pub instructions: f64,
    /// Branches that valgrind's model of a processor guesses wrongly.
    pub mispredicted: f64,
}

/// Searches that valgrind can run, best first: it knows no AVX-512.
pub fn searches() -> &'static [&'static str] {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        return &["avx2", "portable"];
    }
    &["portable"]
}

/// Counts the operations of `subject` with one search, on stores below `directory`, which changes.
pub fn count(subject: Subject, search: &'static str, directory: &Path) -> Result<Vec<Count>> {
    let program = std::env::current_exe().map_err(|source| Error::io("find", Path::new("this program"), source))?;
    let out = directory.join("callgrind");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--branch-sim=yes", "--collect-atstart=no"]);
    command.arg(format!("--toggle-collect={COUNTED}")).arg(format!("--dump-after={COUNTED}"));
    command.arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(program).args(["run", subject.name()]).arg(directory);
    command.env("FULGURITE_SEARCH", search).env("GLIBC_TUNABLES", PLAIN_COPIES);
    let output = command.output().map_err(|source| Error::io("start", Path::new("valgrind"), source))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Error::Valgrind { what: format!("{}\n{complaint}", output.status) });
    }
    let operations = subject.operations().iter().zip(1..);
    let counts = operations.map(|(operation, number)| {
        let totals = totals(&PathBuf::from(format!("{}.{number}", out.display())))?;
        let times = operation.times as f64;
        let [instructions, mispredicted] = [totals[0], totals[2] + totals[4]].map(|total| total as f64 / times);
        Ok(Count { search, operation: operation.name, instructions, mispredicted })
    });
    counts.collect()
}

/// Instructions, conditional branches, wrong guesses of these, indirect branches, wrong guesses of these.
fn totals(path: &Path) -> Result<[u64; 5]> {
    let text = fs::read_to_string(path).map_err(|source| Error::io("read", path, source))?;
    parse(&text)
        .ok_or_else(|| Error::Valgrind { what: format!("{} has no summary of the events expected", path.display()) })
}

/// Events that are zero at the end of the line are left out there.
fn parse(text: &str) -> Option<[u64; 5]> {
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    if line("events:")?.split_ascii_whitespace().ne(["Ir", "Bc", "Bcm", "Bi", "Bim"]) {
        return None;
    }
    let mut totals = [0; 5];
    for (place, number) in line("summary:")?.split_ascii_whitespace().enumerate() {
        *totals.get_mut(place)? = number.parse().ok()?;
    }
    (totals[0] > 0).then_some(totals)
}

/// The C library chooses how to copy by the processor. One choice makes the counts of all machines the same.
const PLAIN_COPIES: &str =
    "glibc.cpu.hwcaps=-AVX2_Usable,-AVX_Fast_Unaligned_Load,-AVX2,-ERMS,-FSRM,-Prefer_ERMS,-SSSE3";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_from_what_callgrind_writes() {
        let text = "version: 1\nevents: Ir Bc Bcm Bi Bim\nfn=(1) a\n0 5\nsummary: 10201975 1213403 42555 4 1\n";
        assert_eq!(parse(text), Some([10_201_975, 1_213_403, 42_555, 4, 1]));
        assert_eq!(parse("events: Ir Bc Bcm Bi Bim\nsummary: 7 3\n"), Some([7, 3, 0, 0, 0]));
    }

    #[test]
    fn a_file_without_counts_or_with_other_events_is_refused() {
        for text in ["", "events: Ir\nsummary: 5\n", "events: Ir Bc Bcm Bi Bim\nsummary: 0\n", "summary: 1 2 3 4 5\n"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
