//! What a [`crate::CrashDisk`] was asked to do, in order, and the state that any of it leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::content::{Content, Payload};
use crate::random::mix;

/// A file of a [`Recording`], whatever its name is at the moment: files are numbered as they are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileNumber(pub(crate) usize);

/// One change or sync, as it was recorded.
#[derive(Clone, Debug)]
pub struct Operation(pub(crate) Change);

/// What an operation does; see the calls of `Disk` and `File` of the same names.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Create { path: PathBuf, file: FileNumber },
    Rename { from: PathBuf, to: PathBuf, file: FileNumber },
    Remove { path: PathBuf, file: FileNumber },
    SyncDirectory { directory: PathBuf },
    Write { file: FileNumber, payload: Arc<Payload> },
    SetLength { file: FileNumber, length: u64 },
    Allocate { file: FileNumber, end: u64 },
    SyncRange { file: FileNumber, start: u64, end: u64 },
    SyncData { file: FileNumber },
    SyncAll { file: FileNumber },
}

impl Change {
    /// Whether it names files, rather than changing one's bytes or length.
    pub fn is_of_names(&self) -> bool {
        matches!(self, Self::Create { .. } | Self::Rename { .. } | Self::Remove { .. } | Self::SyncDirectory { .. })
    }

    /// The file whose bytes or length it changes.
    pub fn file(&self) -> Option<FileNumber> {
        match self {
            Self::Write { file, .. } | Self::SetLength { file, .. } | Self::Allocate { file, .. } => Some(*file),
            _ => None,
        }
    }

    /// The directory whose sync makes it durable, if it names a file.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Create { path, .. } | Self::Rename { to: path, .. } | Self::Remove { path, .. } => path.parent(),
            _ => None,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Change::Create { path, file } => write!(out, "create {} as file {}", path.display(), file.0),
            Change::Rename { from, to, .. } => write!(out, "rename {} to {}", from.display(), to.display()),
            Change::Remove { path, .. } => write!(out, "remove {}", path.display()),
            Change::SyncDirectory { directory } => write!(out, "sync directory {}", directory.display()),
            Change::Write { file, payload } => {
                write!(out, "write {} bytes at {} of file {}", payload.length(), payload.offset(), file.0)
            }
            Change::SetLength { file, length } => write!(out, "set the length of file {} to {length}", file.0),
            Change::Allocate { file, end } => write!(out, "allocate file {} up to {end}", file.0),
            Change::SyncRange { file, start, end } => write!(out, "sync bytes {start} to {end} of file {}", file.0),
            Change::SyncData { file } => write!(out, "sync the data of file {}", file.0),
            Change::SyncAll { file } => write!(out, "sync file {}", file.0),
        }
    }
}

/// A note of the workload: the event that it names had happened when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// How many operations had been recorded.
    pub operations: usize,
    /// What it says, such as `acknowledged`.
    pub label: &'static str,
    /// What it says it of, such as the number of a commit.
    pub number: u64,
}

/// Everything that a [`crate::CrashDisk`] was asked to do until the recording was taken.
#[derive(Clone, Debug)]
pub struct Recording {
    pub(crate) start: State,
    pub(crate) operations: Vec<Operation>,
    pub(crate) marks: Vec<Mark>,
}

impl Recording {
    /// The operations in order.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The workload's notes in order.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// The notes made before more than `operations` operations were recorded.
    pub fn marks_until(&self, operations: usize) -> &[Mark] {
        &self.marks[..self.marks.partition_point(|mark| mark.operations <= operations)]
    }
}

/// The names and bytes of all files at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub names: BTreeMap<PathBuf, FileNumber>,
    /// By file number; files without a name stay for those who have them open.
    pub contents: Vec<Content>,
}

impl State {
    /// Does what an operation does, in part where it no longer fits: other operations may have been left out. Syncs
    /// change nothing.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Create { path, file } => {
                self.names.insert(path.clone(), *file);
                self.reserve(*file);
            }
            Change::Rename { from, to, file } => {
                self.remove_name(from, *file);
                self.names.insert(to.clone(), *file);
                self.reserve(*file);
            }
            Change::Remove { path, file } => self.remove_name(path, *file),
            Change::Write { file, payload } => self.content(*file).write(payload),
            Change::SetLength { file, length } => self.content(*file).set_length(*length),
            Change::Allocate { file, end } => self.content(*file).grow(*end),
            Change::SyncDirectory { .. }
            | Change::SyncRange { .. }
            | Change::SyncData { .. }
            | Change::SyncAll { .. } => {}
        }
    }

    pub fn content(&mut self, file: FileNumber) -> &mut Content {
        self.reserve(file);
        &mut self.contents[file.0]
    }

    /// Drops the bytes of files without a name.
    pub fn forget_nameless(&mut self) {
        let named: BTreeSet<FileNumber> = self.names.values().copied().collect();
        for (number, content) in self.contents.iter_mut().enumerate() {
            if !named.contains(&FileNumber(number)) {
                *content = Content::default();
            }
        }
    }

    /// A hash of all that can be reached by name.
    pub fn hash(&self) -> u64 {
        let names = self.names.iter();
        let hashes = names.map(|(path, file)| {
            mix(xxh3_64(path.as_os_str().as_encoded_bytes())).wrapping_add(self.contents[file.0].hash())
        });
        hashes.fold(0, |sum, hash| mix(sum ^ hash))
    }

    /// The files directly in a directory.
    pub fn names_in(&self, directory: &Path) -> impl Iterator<Item = &Path> {
        self.names.keys().map(PathBuf::as_path).filter(move |path| path.parent() == Some(directory))
    }

    fn reserve(&mut self, file: FileNumber) {
        if self.contents.len() <= file.0 {
            self.contents.resize_with(file.0 + 1, Content::default);
        }
    }

    fn remove_name(&mut self, path: &Path, file: FileNumber) {
        if self.names.get(path) == Some(&file) {
            self.names.remove(path);
        }
    }
}
