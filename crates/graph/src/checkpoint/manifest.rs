//! [`Manifest`]: the files of a checkpoint.
//!
//! A manifest is a text:
//!
//! ```text
//! fulgurite-checkpoint 1
//! id 42
//! base data/base-40-77f2c1b93a0de541 8126464 77f2c1b93a0de541
//! delta data/delta-41-0a3c5be4d1f2a716 5120 0a3c5be4d1f2a716
//! delta data/delta-42-9c0e61f44b7d3a20 4988 9c0e61f44b7d3a20
//! end
//! ```
//!
//! Each line of a file has its kind, its name, its length in bytes and its XXH3-64 hash in hexadecimal.

use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::hashing::Content;

/// A file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its name in the storage.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its XXH3-64 hash.
    pub hash: u64,
}

/// The files of a checkpoint, which earlier and later checkpoints may share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The id of the checkpoint.
    pub id: u64,
    /// A whole database.
    pub base: StoredFile,
    /// Changes after it, oldest first.
    pub deltas: Vec<StoredFile>,
}

const HEAD: &str = "fulgurite-checkpoint 1";
const END: &str = "end";

impl StoredFile {
    pub(crate) fn new(name: String, content: Content) -> Self {
        Self { name, bytes: content.bytes, hash: content.hash }
    }

    pub(crate) fn content(&self) -> Content {
        Content { bytes: self.bytes, hash: self.hash }
    }

    fn line(&self, kind: &str) -> String {
        format!("{kind} {} {} {:016x}\n", self.name, self.bytes, self.hash)
    }

    /// The kind and file of a line.
    fn of_line(line: &str) -> Option<(&str, Self)> {
        let mut parts = line.split(' ');
        let (kind, name) = (parts.next()?, parts.next()?.to_owned());
        let (bytes, hash) = (parts.next()?.parse().ok()?, u64::from_str_radix(parts.next()?, 16).ok()?);
        (parts.next().is_none() && !name.is_empty()).then_some((kind, Self { name, bytes, hash }))
    }
}

impl Manifest {
    /// All files.
    pub fn files(&self) -> impl Iterator<Item = &StoredFile> {
        std::iter::once(&self.base).chain(&self.deltas)
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("{HEAD}\nid {}\n{}", self.id, self.base.line("base"));
        self.deltas.iter().for_each(|delta| text.push_str(&delta.line("delta")));
        text + END + "\n"
    }

    pub(crate) fn parse(name: &str, text: &[u8]) -> Result<Self, CheckpointError> {
        let damaged = |reason: &str| CheckpointError::damaged(name, reason);
        let text = std::str::from_utf8(text).map_err(|_| damaged("it is not a text"))?;
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err(damaged(&format!("its first line is not `{HEAD}`")));
        }
        let id = lines.next().and_then(|line| line.strip_prefix("id ")?.parse().ok());
        let id = id.ok_or_else(|| damaged("its second line has no id"))?;
        let base = lines.next().and_then(StoredFile::of_line).filter(|(kind, _)| *kind == "base");
        let (_, base) = base.ok_or_else(|| damaged("its third line has no base"))?;
        let mut deltas = Vec::new();
        for line in lines {
            if line == END {
                return Ok(Self { id, base, deltas });
            }
            let delta = StoredFile::of_line(line).filter(|(kind, _)| *kind == "delta");
            deltas.push(delta.ok_or_else(|| damaged(&format!("`{line}` is not a line of a manifest")))?.1);
        }
        Err(damaged("it has no end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written_and_every_part_of_it_is_an_error() {
        let file = |name: &str| StoredFile { name: format!("data/{name}"), bytes: 7, hash: 0xabc };
        let manifest = Manifest { id: 42, base: file("base-40"), deltas: vec![file("delta-41"), file("delta-42")] };
        let text = manifest.to_text();
        assert_eq!(Manifest::parse("m", text.as_bytes()).unwrap(), manifest);
        for end in 0..text.len() - 1 {
            assert!(Manifest::parse("m", &text.as_bytes()[..end]).is_err(), "{end}");
        }
        for (wrong, expected) in [
            (text.replace("checkpoint 1", "checkpoint 2"), "first line"),
            (text.replace("id 42", "id x"), "second line"),
            (text.replace("base d", "delta d"), "third line"),
            (text.replace("delta-42 7", "delta-42 -7"), "delta-42"),
        ] {
            let error = Manifest::parse("m", wrong.as_bytes()).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
