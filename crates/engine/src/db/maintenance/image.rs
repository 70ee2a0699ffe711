//! Images: a snapshot of an open database, copied to a new file in compressed blocks that is opened in place.
//!
//! Invariant: an image is a backup whose file is compressed as it is written. So all that holds of backups holds of
//! images: it gets its name when it is durable, and nothing that exists is overwritten.

use std::path::Path;
use std::thread;

use crate::db::handle::database::Database;
use crate::error::{Error, Result};
use crate::format::ImageHeader;
use crate::io::{Compressor, File, ImageWriter};
use crate::monitor::Monitor;
use crate::options::Durability;
use crate::sync::{Arc, fill_random};
use crate::txn::transaction::read_txn::ReadTxn;

/// Options of [`Database::write_image`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageOptions {
    level: i32,
    block_bytes: u32,
    threads: usize,
}

impl Default for ImageOptions {
    fn default() -> Self {
        Self { level: LEVEL_DEFAULT, block_bytes: BLOCK_BYTES_DEFAULT, threads: 0 }
    }
}

impl ImageOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the level of Zstandard, from 1 (fast) to 22 (small). Default: 8. It does not change how fast an image is
    /// read.
    #[must_use]
    pub fn level(mut self, level: i32) -> Self {
        self.level = level;
        self
    }

    /// Sets the size of the blocks, in bytes: a power of two from 4 KiB to 1 MiB. Default: 16 KiB. Larger blocks take
    /// less space, but the first read of an entry decompresses its whole block.
    #[must_use]
    pub fn block_bytes(mut self, bytes: u32) -> Self {
        self.block_bytes = bytes;
        self
    }

    /// Sets the number of threads that compress, up to 256. Default: 0, which is one for each processor.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    fn validate(&self) -> Result<()> {
        let levels = 1..=*Compressor::levels().end();
        if !levels.contains(&self.level) {
            let message = format!("the level of an image is from 1 to {}, not {}", levels.end(), self.level);
            return Err(Error::Invalid { message });
        }
        if self.threads > THREADS_MAX {
            let message = format!("an image is compressed by at most {THREADS_MAX} threads, not {}", self.threads);
            return Err(Error::Invalid { message });
        }
        if !self.block_bytes.is_power_of_two() || !ImageHeader::BLOCK_BYTES.contains(&self.block_bytes) {
            let message =
                format!("the block size of an image is a power of two from 4096 to 1048576, not {}", self.block_bytes);
            return Err(Error::Invalid { message });
        }
        Ok(())
    }
}

impl Database {
    /// Writes an image: a new file at `path` with the newest committed state of all tables, compact and compressed,
    /// concurrently with readers and writers.
    ///
    /// An image is opened in place, for reading only, with [`Database::open_image`] or
    /// [`Options::read_only`](crate::Options::read_only). It is not unpacked: opening reads a few blocks, and each read
    /// decompresses the blocks that it needs. [`Database::backup_to`] of an open image restores it to a database that
    /// can be changed. In all else an image is a backup, as [`Database::backup_to`] describes it.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let (path, image) = (directory.path().join("a.ful"), directory.path().join("a.image"));
    /// use fulgurite::{Database, ImageOptions, Read};
    ///
    /// let db = Database::create(&path)?;
    /// let fruit = db.create_table("fruit", Default::default())?;
    /// db.update(|txn| txn.put(&fruit, b"apple", b"red"))?;
    /// db.write_image(&image, &ImageOptions::new())?;
    /// let opened = Database::open_image(&image)?;
    /// assert_eq!(opened.read()?.get(&opened.open_table("fruit")?, b"apple")?.as_deref(), Some(&b"red"[..]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no such level or block size; otherwise as [`Database::backup_to`].
    pub fn write_image(&self, path: impl AsRef<Path>, options: &ImageOptions) -> Result<()> {
        self.write_image_with(path, options, &Monitor::new())
    }

    /// As [`Database::write_image`], with a monitor that receives progress and can stop it. The monitor counts bytes
    /// before compression.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the monitor stopped it; no file is left. Otherwise as [`Database::write_image`].
    pub fn write_image_with(&self, path: impl AsRef<Path>, options: &ImageOptions, monitor: &Monitor) -> Result<()> {
        self.write_snapshot_image(&self.read()?, path, options, monitor)
    }

    /// As [`Database::write_image_with`], but with the snapshot of a read transaction of this database.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the transaction belongs to another database. Otherwise as [`Database::write_image_with`].
    pub fn write_snapshot_image(
        &self,
        txn: &ReadTxn,
        path: impl AsRef<Path>,
        options: &ImageOptions,
        monitor: &Monitor,
    ) -> Result<()> {
        options.validate()?;
        let mut uuid = [0; 16];
        fill_random(&mut uuid).map_err(|error| Error::Invalid { message: format!("no random numbers: {error}") })?;
        let threads = match options.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        self.copy_to(txn, path.as_ref(), monitor, Durability::Disk, |copied, path, file| {
            let image = ImageWriter::new(file, uuid, options.block_bytes, options.level, threads);
            let image = Arc::new(image.map_err(|error| Error::io("compress", path, error))?);
            copied.write(path, Arc::clone(&image) as Arc<dyn File>)?;
            copied.look(path)?;
            image.finish().map_err(|error| Error::io("write", path, error))
        })
    }
}

const THREADS_MAX: usize = 256;
const LEVEL_DEFAULT: i32 = 8;
/// A page of the default size: a read of one entry decompresses no more than its leaf.
const BLOCK_BYTES_DEFAULT: u32 = 16 << 10;
