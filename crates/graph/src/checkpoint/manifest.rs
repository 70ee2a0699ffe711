//! [`Manifest`]: the files of a checkpoint.
//!
//! A manifest is a text:
//!
//! ```text
//! fulgurite-checkpoint 2
//! id 42
//! page-size 16384
//! segment data/segment-40-0d9b…41c2 4126464 0d9b…41c2
//! segment data/segment-31-f003…8e11 3895020 f003…8e11
//! delta data/delta-41-0a3c5be4d1f2a716 5120 0a3c5be4d1f2a716
//! delta data/delta-42-9c0e61f44b7d3a20 4988 9c0e61f44b7d3a20
//! end 1f7a90c2e4b8d635
//! ```
//!
//! Each line of a file has its kind, its name, and the length in bytes and the XXH3 hash of its content. Hashes are in
//! hexadecimal: 128 bits for segments, 64 bits for others. Segments are in their order, and deltas are applied to them
//! in theirs. The last line has the XXH3-64 hash of the text before it.
//!
//! Version 3 is the same text. A manifest has it if it names a compressed file, so that earlier versions of Fulgurite
//! refuse the manifest: they would call such a file damaged. Names of compressed files end with `.zst`.
//!
//! Version 1 has a copy of the database instead of segments, and neither a page size nor a hash at the end:
//!
//! ```text
//! fulgurite-checkpoint 1
//! id 42
//! base data/base-40-77f2c1b93a0de541 8126464 77f2c1b93a0de541
//! delta data/delta-41-0a3c5be4d1f2a716 5120 0a3c5be4d1f2a716
//! end
//! ```
//!
//! Checkpoints of a database that was restored from a copy are written in version 1 until all of it is sent again.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::hashing::FileHash;
use crate::checkpoint::names::is_compressed;

/// A file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its name in the storage.
    pub name: String,
    /// The length of its content: of the file itself unless it is compressed.
    pub bytes: u64,
    /// The hash of its content.
    pub hash: FileHash,
}

/// What the changes of a checkpoint are applied to: a whole database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// A file of a database.
    Copy(StoredFile),
    /// Its entries.
    Segments {
        /// The page size of the database.
        page_size_bytes: u32,
        /// The segments, in order. Manifests of one object share them.
        files: Arc<[StoredFile]>,
    },
}

/// The files of a checkpoint, which earlier and later checkpoints may share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The id of the checkpoint.
    pub id: u64,
    /// A whole database.
    pub base: Base,
    /// Changes after it, oldest first.
    pub deltas: Vec<StoredFile>,
}

const HEAD_OF_COPY: &str = "fulgurite-checkpoint 1";
const HEAD: &str = "fulgurite-checkpoint 2";
const HEAD_OF_COMPRESSED: &str = "fulgurite-checkpoint 3";
const END: &str = "end";

impl StoredFile {
    fn line(&self, kind: &str) -> String {
        format!("{kind} {} {} {}\n", self.name, self.bytes, self.hash)
    }

    /// The file of a line of this kind.
    fn of_line(line: &str, kind: &str) -> Option<Self> {
        let mut parts = line.strip_prefix(kind)?.strip_prefix(' ')?.split(' ');
        let (name, bytes) = (parts.next()?.to_owned(), parts.next()?.parse().ok()?);
        let hash = parts.next()?.parse().ok()?;
        (parts.next().is_none() && !name.is_empty()).then_some(Self { name, bytes, hash })
    }
}

impl Base {
    /// Its files.
    pub fn files(&self) -> &[StoredFile] {
        match self {
            Self::Copy(copy) => std::slice::from_ref(copy),
            Self::Segments { files, .. } => files,
        }
    }

    /// The segments, if it consists of them.
    pub fn segments(&self) -> &[StoredFile] {
        match self {
            Self::Copy(_) => &[],
            Self::Segments { files, .. } => files,
        }
    }

    /// The length of the content of all files.
    pub fn bytes(&self) -> u64 {
        self.files().iter().map(|file| file.bytes).sum()
    }
}

impl Manifest {
    /// All files.
    pub fn files(&self) -> impl Iterator<Item = &StoredFile> {
        self.base.files().iter().chain(&self.deltas)
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = match &self.base {
            Base::Copy(copy) => format!("{HEAD_OF_COPY}\nid {}\n{}", self.id, copy.line("base")),
            Base::Segments { page_size_bytes, files } => {
                let is_any_compressed = self.files().any(|file| is_compressed(&file.name));
                let head = if is_any_compressed { HEAD_OF_COMPRESSED } else { HEAD };
                let mut text = format!("{head}\nid {}\npage-size {page_size_bytes}\n", self.id);
                files.iter().for_each(|file| text.push_str(&file.line("segment")));
                text
            }
        };
        self.deltas.iter().for_each(|delta| text.push_str(&delta.line("delta")));
        match &self.base {
            Base::Copy(_) => text + END + "\n",
            Base::Segments { .. } => {
                let hash = FileHash::Short(xxh3_64(text.as_bytes()));
                format!("{text}{END} {hash}\n")
            }
        }
    }

    pub(crate) fn parse(name: &str, text: &[u8]) -> Result<Self, CheckpointError> {
        let damaged = |reason: &str| CheckpointError::damaged(name, reason);
        let text = std::str::from_utf8(text).map_err(|_| damaged("it is not a text"))?;
        let mut lines = text.lines();
        let head = lines.next().filter(|head| [HEAD_OF_COPY, HEAD, HEAD_OF_COMPRESSED].contains(head));
        let head = head.ok_or_else(|| damaged("its first line is not `fulgurite-checkpoint` and 1, 2 or 3"))?;
        let id = lines.next().and_then(|line| line.strip_prefix("id ")?.parse().ok());
        let id = id.ok_or_else(|| damaged("its second line has no id"))?;
        let mut lines = lines.peekable();
        let base = if head != HEAD_OF_COPY {
            check_end(text).map_err(damaged)?;
            let page_size_bytes = lines.next().and_then(|line| line.strip_prefix("page-size ")?.parse().ok());
            let page_size_bytes = page_size_bytes.ok_or_else(|| damaged("its third line has no page size"))?;
            let files = std::iter::from_fn(|| lines.next_if(|line| line.starts_with("segment ")));
            let files = files.map(|line| StoredFile::of_line(line, "segment").ok_or_else(|| damaged(&no_line(line))));
            Base::Segments { page_size_bytes, files: files.collect::<Result<_, _>>()? }
        } else {
            let copy = lines.next().and_then(|line| StoredFile::of_line(line, "base"));
            Base::Copy(copy.ok_or_else(|| damaged("its third line has no base"))?)
        };
        let mut deltas = Vec::new();
        for line in lines {
            if line.split(' ').next() == Some(END) {
                return Ok(Self { id, base, deltas });
            }
            deltas.push(StoredFile::of_line(line, "delta").ok_or_else(|| damaged(&no_line(line)))?);
        }
        Err(damaged("it has no end"))
    }
}

fn no_line(line: &str) -> String {
    format!("`{line}` is not a line of a manifest")
}

/// Checks that the last line has the hash of the text before it.
fn check_end(text: &str) -> Result<(), &'static str> {
    let before = text.strip_suffix('\n').and_then(|text| text.rsplit_once('\n'));
    let (before, end) = before.ok_or("it has no end")?;
    let hash = end.strip_prefix(END).and_then(|rest| rest.strip_prefix(' '));
    let hash: FileHash = hash.and_then(|hash| hash.parse().ok()).ok_or("it has no end")?;
    // The line break belongs to what is hashed.
    let hashed = text.get(..before.len() + 1).unwrap_or(text);
    if hash == FileHash::Short(xxh3_64(hashed.as_bytes())) { Ok(()) } else { Err("its text is not what was stored") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, hash: FileHash) -> StoredFile {
        StoredFile { name: format!("data/{name}"), bytes: 7, hash }
    }

    fn deltas() -> Vec<StoredFile> {
        vec![file("delta-41", FileHash::Short(0xabc)), file("delta-42", FileHash::Short(1))]
    }

    fn segments(files: Vec<StoredFile>) -> Manifest {
        Manifest { id: 42, base: Base::Segments { page_size_bytes: 8192, files: files.into() }, deltas: deltas() }
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written_and_every_part_of_it_is_an_error() {
        let segment = |name: &str| file(name, FileHash::Long(0xabc << 100));
        let copy = Base::Copy(file("base-40", FileHash::Short(0xabc)));
        for (manifest, version) in [
            (segments(vec![segment("segment-40"), segment("segment-31")]), 2),
            (segments(vec![segment("segment-40.zst"), segment("segment-31")]), 3),
            (segments(Vec::new()), 2),
            (Manifest { id: 42, base: copy, deltas: deltas() }, 1),
        ] {
            let text = manifest.to_text();
            assert!(text.starts_with(&format!("fulgurite-checkpoint {version}\nid 42\n")), "{text}");
            assert_eq!(Manifest::parse("m", text.as_bytes()).unwrap(), manifest);
            for end in 0..text.len() - 1 {
                assert!(Manifest::parse("m", &text.as_bytes()[..end]).is_err(), "{end}");
            }
        }
    }

    #[test]
    fn a_manifest_whose_text_was_changed_is_refused() {
        let copy = Base::Copy(file("base-40", FileHash::Short(0xabc)));
        let text = Manifest { id: 42, base: copy, deltas: deltas() }.to_text();
        let segment = |(name, hash)| file(name, FileHash::Long(hash));
        let later = segments([("segment-40", 1), ("segment-31", 2)].map(segment).to_vec()).to_text();
        for (wrong, expected) in [
            (text.replace("checkpoint 1", "checkpoint 4"), "first line"),
            (text.replace("id 42", "id x"), "second line"),
            (text.replace("base d", "delta d"), "third line"),
            (text.replace("delta-42 7", "delta-42 -7"), "delta-42"),
            (later.replace("segment-31 7", "segment-31 8"), "not what was stored"),
            (later.replace("segment-31", "segment-40"), "not what was stored"),
            (later.replace("end ", "end"), "no end"),
        ] {
            let error = Manifest::parse("m", wrong.as_bytes()).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
