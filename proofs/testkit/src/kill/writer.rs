//! The process that will be killed: where its database is, and how it opens it.

use std::path::PathBuf;

use fulgurite::Database;

use crate::random::Random;

/// The parameters of a writer.
#[derive(Clone, Debug)]
pub struct Writer {
    /// The directory of the database and of the acknowledgements.
    pub directory: PathBuf,
    /// The run's seed, from which what is committed follows.
    pub seed: u64,
    /// The seed of how this process goes about it.
    pub drawn: u64,
    /// Threads that write.
    pub threads: u64,
    /// The number of the fault that processes plant, or 0.
    pub fault: u64,
}

impl Writer {
    /// Where the database is.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.join("kill.ful")
    }

    /// Another name for the database, or for a copy of it.
    pub(super) fn other_path(&self) -> PathBuf {
        self.directory.join("other.ful")
    }

    /// Where the acknowledgements are.
    pub(super) fn ring_path(&self) -> PathBuf {
        self.directory.join("acknowledged")
    }

    /// Opens the database.
    ///
    /// # Errors
    /// The engine's.
    pub(super) fn open(&self) -> fulgurite::Result<Database> {
        let mut random = Random::for_part(self.drawn, &[1]);
        let options = Database::options().create(true).delta_bytes((64 << 10) << random.below(6));
        options.map(random.chance(3, 4)).background(random.chance(3, 4)).open(self.path())
    }
}
