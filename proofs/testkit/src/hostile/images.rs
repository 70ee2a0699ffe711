//! Images: mutated ones, and whole ones of mutated databases.

use std::path::Path;
use std::sync::Arc;

use fulgurite::io::{Access, Disk};
use fulgurite::{ImageOptions, Result};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::base::{Base, PATH, settings};
use super::layout::{u32_at, u64_at};
use super::mutate::change;
use crate::crash_disk::CrashDisk;
use crate::random::{Random, mix};

/// The image of a base, or what became of it.
#[derive(Clone, Debug)]
pub struct Image {
    /// The whole file.
    pub bytes: Vec<u8>,
}

/// What is changed, as reports name it.
pub const KINDS: [&str; 5] =
    ["image header", "image index", "image block", "image length", "image of a mutated database"];

impl Image {
    /// Writes the image of a base.
    ///
    /// # Errors
    /// The engine's, which should not occur on a sound disk.
    pub fn of(base: &Base) -> Result<Self> {
        let disk = base.disk.fork();
        let db = settings().read_only(true).disk(Arc::new(disk.clone())).open(PATH)?;
        db.write_image("image", &ImageOptions::new().block_bytes(4096).level(1).threads(1))?;
        let file = disk.open(Path::new("image"), Access::Read).expect("it was just written");
        let mut bytes = vec![0; file.len().expect("a disk in memory does not fail") as usize];
        file.read_at(0, &mut bytes).expect("a disk in memory does not fail");
        Ok(Self { bytes })
    }

    /// An image of these bytes, none compressed, as the format's document describes it.
    pub fn of_content(content: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        let mut entries = Vec::new();
        for block in content.chunks(BLOCK_BYTES) {
            entries.push((bytes.len() as u64, block.len() as u32));
            bytes.extend_from_slice(block);
        }
        let index = bytes.len();
        bytes[..8].copy_from_slice(b"FULGIMAG");
        bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
        bytes[12..16].copy_from_slice(&(BLOCK_BYTES as u32).to_le_bytes());
        bytes[16..32].copy_from_slice(&[5; 16]);
        bytes[32..40].copy_from_slice(&(content.len() as u64).to_le_bytes());
        bytes[40..48].copy_from_slice(&(index as u64).to_le_bytes());
        bytes.resize(index + entries.len().div_ceil(PAGE_ENTRIES) * PAGE_BYTES, 0);
        let mut image = Self { bytes };
        for (number, (at, length)) in entries.into_iter().enumerate() {
            let entry = image.entry_at(number);
            image.bytes[entry..entry + 8].copy_from_slice(&at.to_le_bytes());
            image.bytes[entry + 8..entry + 12].copy_from_slice(&length.to_le_bytes());
            image.seal_block(number);
        }
        (0..image.pages()).for_each(|page| image.seal_page(page));
        image.seal_header();
        image
    }

    /// Changes one thing. With `seal` its checksums are recomputed, and so is that of the index for a block. Returns
    /// the kind of the change, and what was done in words.
    pub fn mutate(&mut self, seal: bool, random: &mut Random) -> (&'static str, String) {
        match random.below(10) {
            0..=2 => {
                let (name, at, length) = HEADER_FIELDS[random.index(HEADER_FIELDS.len())];
                change(&mut self.bytes[at..at + length], random);
                if seal {
                    self.seal_header();
                }
                (KINDS[0], format!("{name} in the header of the image"))
            }
            3..=5 => {
                let number = random.index(self.blocks());
                let (name, at, length) = ENTRY_FIELDS[random.index(ENTRY_FIELDS.len())];
                let entry = self.entry_at(number);
                change(&mut self.bytes[entry + at..entry + at + length], random);
                if seal {
                    self.seal_page(number / PAGE_ENTRIES);
                }
                (KINDS[1], format!("{name} of block {number} in the index of the image"))
            }
            6..=8 => {
                let number = random.index(self.blocks());
                let (at, stored) = self.stored(number);
                if stored > 0 {
                    let length = (1 + random.index(8)).min(stored);
                    let from = at + random.index(stored - length + 1);
                    change(&mut self.bytes[from..from + length], random);
                }
                if seal {
                    self.seal_block(number);
                    self.seal_page(number / PAGE_ENTRIES);
                }
                (KINDS[2], format!("bytes of block {number} of the image"))
            }
            _ => {
                let length = random.index(self.bytes.len() + PAGE_BYTES);
                self.bytes.resize(length, 0);
                (KINDS[3], format!("the image has {length} bytes"))
            }
        }
    }

    /// A disk with the image in place of a database.
    pub fn disk(&self) -> CrashDisk {
        let disk = CrashDisk::new();
        let file = disk.open(Path::new(PATH), Access::CreateNew).expect("the disk is empty");
        file.write_at(0, &self.bytes).expect("a disk in memory does not fail");
        disk
    }

    fn index(&self) -> usize {
        u64_at(&self.bytes, 40) as usize
    }

    fn pages(&self) -> usize {
        (self.bytes.len() - self.index()) / PAGE_BYTES
    }

    fn blocks(&self) -> usize {
        u64_at(&self.bytes, 32).div_ceil(u64::from(u32_at(&self.bytes, 12))) as usize
    }

    fn entry_at(&self, block: usize) -> usize {
        self.index() + block / PAGE_ENTRIES * PAGE_BYTES + block % PAGE_ENTRIES * 16
    }

    /// First byte and length of a stored block.
    fn stored(&self, block: usize) -> (usize, usize) {
        let entry = self.entry_at(block);
        (u64_at(&self.bytes, entry) as usize, u32_at(&self.bytes, entry + 8) as usize)
    }

    fn seed(&self, number: u64) -> u64 {
        u64_at(&self.bytes, 16) ^ u64_at(&self.bytes, 24) ^ mix(number)
    }

    fn seal_block(&mut self, block: usize) {
        let (at, length) = self.stored(block);
        let sum = xxh3_64_with_seed(&self.bytes[at..at + length], self.seed(block as u64)) as u32;
        let entry = self.entry_at(block);
        if length > 0 {
            self.bytes[entry + 12..entry + 16].copy_from_slice(&sum.to_le_bytes());
        }
    }

    fn seal_page(&mut self, page: usize) {
        let start = self.index() + page * PAGE_BYTES;
        let seed = self.seed((1 << 62) + page as u64);
        let sum = xxh3_64_with_seed(&self.bytes[start..start + PAGE_BYTES - 8], seed);
        self.bytes[start + PAGE_BYTES - 8..start + PAGE_BYTES].copy_from_slice(&sum.to_le_bytes());
    }

    fn seal_header(&mut self) {
        let sum = xxh3_64(&self.bytes[..HEADER_BYTES - 8]);
        self.bytes[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    }
}

const HEADER_BYTES: usize = 512;
const PAGE_BYTES: usize = 4096;
const PAGE_ENTRIES: usize = 255;
const BLOCK_BYTES: usize = 16384;

/// Name, offset and length.
const HEADER_FIELDS: [(&str, usize, usize); 8] = [
    ("magic", 0, 8),
    ("version", 8, 4),
    ("block size", 12, 4),
    ("uuid", 16, 16),
    ("length", 32, 8),
    ("place of the index", 40, 8),
    ("reserved bytes", 48, 8),
    ("checksum", 504, 8),
];

const ENTRY_FIELDS: [(&str, usize, usize); 3] = [("place", 0, 8), ("stored length", 8, 4), ("checksum", 12, 4)];
