//! Readers of a database's newest state: they cost less than a snapshot of LevelDB's or RocksDB's.

use crate::c_interface::status::Status;
use crate::interface::engine::Failure;
use crate::interface::walk::Walk;
use crate::interface::writing::Snapshot;

/// A database that is read through a C interface.
pub trait Readable {
    /// Name of the engine in errors.
    const NAME: &'static str;

    /// Hands the newest value of `key` to `read`.
    ///
    /// # Errors
    /// What the library answered.
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Status>;

    /// Hands the records of a walk to `each`.
    ///
    /// # Errors
    /// What the library answered.
    fn scan(&self, walk: Walk<'_>, each: impl FnMut(&[u8], &[u8])) -> Result<(), Status>;

    /// Wraps an error of `operation`.
    fn failed(operation: &'static str) -> impl Fn(Status) -> Failure {
        move |status| Failure::new(Self::NAME, operation, status)
    }
}

/// A reader of the newest state of a database.
pub struct NewestState<'s, D> {
    /// The database.
    pub database: &'s D,
}

impl<D: Readable> Snapshot for NewestState<'_, D> {
    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        self.database.get(key, read).map_err(D::failed("get"))
    }

    fn scan_from(&self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.database.scan(Walk::Forward(from, count), each).map_err(D::failed("seek"))
    }

    fn scan_back_from(&self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.database.scan(Walk::Back(from, count), each).map_err(D::failed("seek"))
    }

    fn scan_prefix(&self, prefix: &[u8], each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.database.scan(Walk::Prefix(prefix), each).map_err(D::failed("seek"))
    }
}
