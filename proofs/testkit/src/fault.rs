//! Which calls of a [`crate::FaultDisk`] fail, and how.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What a call asks for. All calls of `Disk`, `File` and the locks are counted under one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Call {
    /// Open or create a file.
    Open,
    /// Remove a name.
    Remove,
    /// Rename a file.
    Rename,
    /// Make the names in a directory durable.
    SyncDirectory,
    /// List a directory, find a canonical path, or see whether a file exists.
    Look,
    /// Take, give up, or use a lock between processes.
    Lock,
    /// Read bytes.
    Read,
    /// Write bytes.
    Write,
    /// Ask for a length.
    Length,
    /// Set a length.
    SetLength,
    /// Allocate space.
    Allocate,
    /// Make a file's bytes durable.
    Sync,
    /// Map a file.
    Map,
}

impl Call {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Open,
        Self::Remove,
        Self::Rename,
        Self::SyncDirectory,
        Self::Look,
        Self::Lock,
        Self::Read,
        Self::Write,
        Self::Length,
        Self::SetLength,
        Self::Allocate,
        Self::Sync,
        Self::Map,
    ];
}

/// Which calls fail, and how.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Only these are counted and fail.
    pub calls: &'static [Call],
    /// The first to fail, counted from 1 since the fault was armed.
    pub nth: u64,
    /// Whether all later ones fail too.
    pub persistence: Persistence,
    /// The answer.
    pub error: FaultError,
    /// What a failed sync does.
    pub unsynced: Unsynced,
}

impl Default for Fault {
    /// The first call of any kind fails once, with a medium error; failed syncs keep what was written.
    fn default() -> Self {
        Self {
            calls: Call::ALL,
            nth: 1,
            persistence: Persistence::Once,
            error: FaultError::Medium,
            unsynced: Unsynced::Kept,
        }
    }
}

/// How long a fault lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// One call fails.
    Once,
    /// That call and all later ones fail.
    Forever,
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultError {
    /// The medium failed: `EIO`.
    Medium,
    /// No space is left: `ENOSPC`.
    NoSpace,
}

/// What becomes of bytes that were written before a failed sync and after the last good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced {
    /// They stay.
    Kept,
    /// They are gone at once, lengths too.
    Dropped,
}

/// The first call that a fault made fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCall {
    /// What it asked for.
    pub call: Call,
    /// The file or directory.
    pub path: PathBuf,
}

impl fmt::Display for FailedCall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?} of {}", self.call, self.path.display())
    }
}

impl From<FaultError> for io::Error {
    fn from(error: FaultError) -> Self {
        match error {
            FaultError::Medium => Self::from_raw_os_error(5),
            FaultError::NoSpace => Self::from_raw_os_error(28),
        }
    }
}
