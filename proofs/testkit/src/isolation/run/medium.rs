//! Where the database of a world is, and what a crash leaves of it.

use std::path::PathBuf;
use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use tempfile::TempDir;

use super::super::history::{Durability, Tick};
use super::super::recorder::Clock;
use super::shapes::Place;
use crate::crash_disk::CrashDisk;
use crate::crash_images::{CrashImage, ImageId, Kinds};
use crate::crash_recording::Recording;
use crate::random::Random;

/// See the module.
#[derive(Debug)]
pub(super) enum Medium {
    Memory(MemoryDisk),
    Directory(TempDir),
    Crashing(CrashDisk),
}

/// What a disk had been asked to do at one moment.
#[derive(Debug)]
pub(super) struct Crash {
    /// What ended before this had happened.
    pub before: Tick,
    /// What began after this had not.
    pub after: Tick,
    recording: Recording,
}

impl Medium {
    pub fn new(place: Place) -> Result<Self, String> {
        Ok(match place {
            Place::Memory => Self::Memory(MemoryDisk::new()),
            Place::Directory => {
                Self::Directory(tempfile::tempdir().map_err(|error| format!("a temporary directory: {error}"))?)
            }
            Place::Crashing => Self::Crashing(CrashDisk::new()),
        })
    }

    /// Lets a database be opened here.
    pub fn options(&self, options: fulgurite::Options) -> fulgurite::Options {
        match self {
            Self::Memory(disk) => options.disk(Arc::new(disk.clone())),
            Self::Directory(_) => options,
            Self::Crashing(disk) => options.disk(Arc::new(disk.clone())),
        }
    }

    /// Where the database is.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Directory(directory) => directory.path().join("isolation.ful"),
            Self::Memory(_) | Self::Crashing(_) => PathBuf::from("isolation.ful"),
        }
    }
}

impl Crash {
    /// What `disk` was asked up to now.
    pub fn of(disk: &CrashDisk, clock: &Clock) -> Self {
        let before = clock.tick();
        let recording = disk.recording();
        Self { before, after: clock.tick(), recording }
    }

    /// One of the disks that it may leave, and the lowest level whose commits must be on it.
    pub fn leave(&self, random: &mut Random) -> (CrashDisk, Durability) {
        let operations = self.recording.operations().len();
        // In one of four cases the process dies, else the power is cut.
        if random.chance(1, 4) {
            return (self.recording.image(ImageId::everything(operations)).disk(), Durability::Log);
        }
        let images = self.recording.images(random.next_u64(), Kinds { subsets: 4, torn: 4 }).since(operations);
        let images: Vec<CrashImage<'_>> = images.collect();
        (images[random.index(images.len())].disk(), Durability::Disk)
    }
}
