//! Makes an image of what is written to it as a file.
//!
//! Invariants: (1) The header is written last: without it the file is not an image. (2) Each block is in one place: in
//! the index, among the open blocks, or among those that wait to be compressed. (3) What is kept in memory, apart from
//! the index, is bounded: [`OPEN_BYTES_MAX`], and [`BATCH_BYTES`] for each thread.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::thread;

use crate::format::{ImageBlock, ImageHeader};
use crate::io::disk::{File, FileLocks, FreeSpace};
use crate::io::{Compressor, Map, decompress};
use crate::sync::{Arc, Mutex};

/// An image that is being written. It is a file as long as what it holds; [`ImageWriter::finish`] completes it.
#[derive(Debug)]
pub struct ImageWriter {
    file: Arc<dyn File>,
    /// No lock of the engine is taken under it, except by the disk.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Without the place of the index, which is known at the end. Its length grows.
    header: ImageHeader,
    /// The blocks that are in the file.
    index: Vec<ImageBlock>,
    /// Where the next stored block goes.
    end: u64,
    /// Blocks that were written in part.
    open: BTreeMap<u64, Open>,
    /// Blocks that were written as a whole.
    full: Vec<(u64, Vec<u8>)>,
    /// One for each thread.
    compressors: Vec<Compressor>,
}

/// A block that was written in part; the rest is zeros, or what it was when it was stored before.
#[derive(Debug)]
struct Open {
    bytes: Vec<u8>,
    /// Bytes that were written since it was opened, those twice that were written twice.
    written: usize,
}

impl ImageWriter {
    /// An image without content, in an empty file.
    ///
    /// # Errors
    /// `InvalidInput` if Zstandard has no such level.
    pub fn new(file: Arc<dyn File>, uuid: [u8; 16], block_bytes: u32, level: i32, threads: usize) -> io::Result<Self> {
        let compressors = (0..threads.max(1)).map(|_| Compressor::new(level)).collect::<Result<_, _>>();
        let compressors = compressors.map_err(|what| io::Error::new(io::ErrorKind::InvalidInput, what))?;
        let state = State {
            header: ImageHeader { uuid, block_bytes, content_bytes: 0, index_at: 0 },
            index: Vec::new(),
            end: ImageHeader::BYTES as u64,
            open: BTreeMap::new(),
            full: Vec::new(),
            compressors,
        };
        Ok(Self { file, state: Mutex::new(state) })
    }

    /// Writes the remaining blocks, the index and the header. The caller syncs the file.
    ///
    /// # Errors
    /// The disk's.
    pub fn finish(&self) -> io::Result<()> {
        let file = &*self.file;
        let mut state = self.state.lock();
        let blocks = state.header.blocks();
        assert!(blocks > 0, "a database has a page at least");
        state.forget_from(blocks);
        let last = state.header.length_of(blocks - 1);
        if last < state.header.block_bytes as usize {
            state.open_block(file, blocks - 1)?;
        }
        while let Some((block, mut open)) = state.open.pop_first() {
            open.bytes.truncate(state.header.length_of(block));
            state.full.push((block, open.bytes));
        }
        state.store(file)?;
        state.index.resize(blocks as usize, ImageBlock::default());
        state.header.index_at = state.end;
        let pages = state.index.chunks(ImageHeader::INDEX_PAGE_BLOCKS as usize);
        let mut bytes = Vec::new();
        let mut at = state.end;
        for (page, blocks) in pages.enumerate() {
            bytes.extend_from_slice(&state.header.encode_index(page as u64, blocks));
            if bytes.len() >= BATCH_BYTES {
                file.write_at(at, &bytes)?;
                at += bytes.len() as u64;
                bytes.clear();
            }
        }
        file.write_at(at, &bytes)?;
        file.write_at(0, &state.header.encode())
    }
}

impl State {
    /// Takes the bytes of one block, from `skipped` within it on.
    fn write(&mut self, file: &dyn File, block: u64, skipped: usize, bytes: &[u8]) -> io::Result<()> {
        let is_whole = bytes.len() == self.header.block_bytes as usize;
        if is_whole && !self.is_known(block) {
            self.full.push((block, bytes.to_vec()));
        } else {
            self.open_block(file, block)?;
            let open = self.open.get_mut(&block).ok_or(io::ErrorKind::NotFound)?;
            open.bytes[skipped..skipped + bytes.len()].copy_from_slice(bytes);
            open.written += bytes.len();
            if open.written >= open.bytes.len()
                && let Some(open) = self.open.remove(&block)
            {
                self.full.push((block, open.bytes));
            }
        }
        let block_bytes = self.header.block_bytes as usize;
        if self.open.len() * block_bytes > OPEN_BYTES_MAX {
            // They are opened in the order of a file that grows: no more comes for those below this one, mostly.
            let kept = self.open.split_off(&block);
            let closed = std::mem::replace(&mut self.open, kept);
            self.full.extend(closed.into_iter().map(|(block, open)| (block, open.bytes)));
        }
        if self.full.len() * block_bytes >= BATCH_BYTES * self.compressors.len() { self.store(file) } else { Ok(()) }
    }

    /// Whether the block is anywhere already.
    fn is_known(&self, block: u64) -> bool {
        self.is_stored(block) || self.open.contains_key(&block) || self.is_waiting(block)
    }

    fn is_stored(&self, block: u64) -> bool {
        self.index.get(block as usize).is_some_and(|entry| entry.stored_bytes > 0)
    }

    fn is_waiting(&self, block: u64) -> bool {
        self.full.iter().any(|(waiting, _)| *waiting == block)
    }

    /// Opens a block, with what it holds so far.
    fn open_block(&mut self, file: &dyn File, block: u64) -> io::Result<()> {
        if self.open.contains_key(&block) {
            return Ok(());
        }
        let mut bytes = vec![0; self.header.block_bytes as usize];
        self.copy_of(file, block, &mut bytes)?;
        self.full.retain(|(waiting, _)| *waiting != block);
        if let Some(entry) = self.index.get_mut(block as usize) {
            *entry = ImageBlock::default();
        }
        self.open.insert(block, Open { bytes, written: 0 });
        Ok(())
    }

    /// Copies what a block holds, zeros if it was not written.
    fn copy_of(&self, file: &dyn File, block: u64, into: &mut [u8]) -> io::Result<()> {
        if let Some(open) = self.open.get(&block) {
            into.copy_from_slice(&open.bytes);
        } else if let Some((_, bytes)) = self.full.iter().find(|(waiting, _)| *waiting == block) {
            into.copy_from_slice(bytes);
        } else if let Some(entry) = self.index.get(block as usize).filter(|entry| entry.stored_bytes > 0) {
            let mut stored = vec![0; entry.stored_bytes as usize];
            file.read_at(entry.at, &mut stored)?;
            if stored.len() == into.len() {
                into.copy_from_slice(&stored);
            } else {
                let length = decompress(&stored, into)?;
                assert!(length == into.len(), "it was compressed here");
            }
        } else {
            into.fill(0);
        }
        Ok(())
    }

    /// Forgets blocks that were written and are past the end now.
    fn forget_from(&mut self, block: u64) {
        self.open.split_off(&block);
        self.full.retain(|(waiting, _)| *waiting < block);
        self.index.truncate(block as usize);
    }

    /// Compresses the blocks that wait, several at once, and appends them to the file in their order.
    fn store(&mut self, file: &dyn File) -> io::Result<()> {
        let full = std::mem::take(&mut self.full);
        let stored = compress_shares(&mut self.compressors, &full);
        let mut bytes = Vec::new();
        let highest = full.iter().map(|(block, _)| block + 1).max().unwrap_or(0) as usize;
        if self.index.len() < highest {
            self.index.resize(highest, ImageBlock::default());
        }
        for ((block, _), stored) in full.iter().zip(&stored) {
            let at = self.end + bytes.len() as u64;
            let checksum = self.header.block_checksum(*block, stored);
            self.index[*block as usize] = match stored.len() as u32 {
                0 => ImageBlock::default(),
                stored_bytes => ImageBlock { at, stored_bytes, checksum },
            };
            bytes.extend_from_slice(stored);
        }
        if !bytes.is_empty() {
            file.write_at(self.end, &bytes)?;
        }
        self.end += bytes.len() as u64;
        Ok(())
    }
}

impl File for ImageWriter {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.state.lock();
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > state.header.content_bytes) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let block_bytes = u64::from(state.header.block_bytes);
        let mut whole = vec![0; block_bytes as usize];
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            let skipped = (at % block_bytes) as usize;
            let length = (whole.len() - skipped).min(buffer.len() - done);
            state.copy_of(&*self.file, at / block_bytes, &mut whole)?;
            buffer[done..done + length].copy_from_slice(&whole[skipped..skipped + length]);
            done += length;
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        let end = offset.checked_add(bytes.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        state.header.content_bytes = state.header.content_bytes.max(end);
        let block_bytes = u64::from(state.header.block_bytes);
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let skipped = (at % block_bytes) as usize;
            let (part, after) = rest.split_at((block_bytes as usize - skipped).min(rest.len()));
            state.write(&*self.file, at / block_bytes, skipped, part)?;
            at += part.len() as u64;
            rest = after;
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().header.content_bytes)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        state.header.content_bytes = length;
        let blocks = state.header.blocks();
        state.forget_from(blocks);
        let kept = (length % u64::from(state.header.block_bytes)) as usize;
        if kept > 0 {
            // What was cut is zeros if the file grows again.
            state.open_block(&*self.file, blocks - 1)?;
            if let Some(open) = state.open.get_mut(&(blocks - 1)) {
                open.bytes[kept..].fill(0);
            }
        }
        Ok(())
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        let end = offset.checked_add(length).ok_or(io::ErrorKind::FileTooLarge)?;
        state.header.content_bytes = state.header.content_bytes.max(end);
        Ok(())
    }

    fn prepare(&self, length: u64) -> io::Result<()> {
        self.allocate(0, length)
    }

    /// What is written later counts as used: blocks that are not stored, and the index.
    fn free_space(&self) -> io::Result<Option<FreeSpace>> {
        let state = self.state.lock();
        let waiting = (state.open.len() + state.full.len()) as u64 * u64::from(state.header.block_bytes);
        let later = waiting + state.header.index_pages() * ImageHeader::INDEX_PAGE_BYTES as u64;
        let space = self.file.free_space()?;
        Ok(space.map(|space| FreeSpace { available_bytes: space.available_bytes.saturating_sub(later), ..space }))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn locks(&self) -> &dyn FileLocks {
        self.file.locks()
    }

    fn is_named(&self, path: &Path) -> io::Result<bool> {
        self.file.is_named(path)
    }

    fn map(&self, _reserve_bytes: u64) -> io::Result<Option<Map>> {
        Ok(None)
    }
}

/// The stored form of each block. Threads take shares; if no thread can be started, the calling one takes all.
fn compress_shares(compressors: &mut [Compressor], blocks: &[(u64, Vec<u8>)]) -> Vec<Vec<u8>> {
    let share = blocks.len().div_ceil(compressors.len()).max(1);
    let shares = blocks.chunks(share);
    let threads = shares.len().saturating_sub(1);
    let stored = Mutex::new(vec![Vec::new(); shares.len()]);
    let left = Mutex::new(compressors.iter_mut().zip(shares).enumerate());
    let work = || {
        loop {
            let taken = left.lock().next();
            let Some((number, (compressor, blocks))) = taken else { return };
            let compressed = compress_all(compressor, blocks);
            stored.lock()[number] = compressed;
        }
    };
    thread::scope(|scope| {
        let is_started = |_: usize| thread::Builder::new().spawn_scoped(scope, work).is_ok();
        let _ = (0..threads).all(is_started);
        work();
    });
    let stored = std::mem::take(&mut *stored.lock());
    stored.into_iter().flatten().collect()
}

/// The stored form of each block: empty if it is all zeros, as it is if it does not become shorter.
fn compress_all(compressor: &mut Compressor, blocks: &[(u64, Vec<u8>)]) -> Vec<Vec<u8>> {
    let compress = |(_, bytes): &(u64, Vec<u8>)| {
        if bytes.iter().all(|byte| *byte == 0) {
            return Vec::new();
        }
        let mut stored = vec![0; bytes.len() - 1];
        match compressor.compress(bytes, &mut stored) {
            Some(length) => {
                stored.truncate(length);
                stored
            }
            None => bytes.clone(),
        }
    };
    blocks.iter().map(compress).collect()
}

/// What each thread compresses between two writes of the file.
const BATCH_BYTES: usize = 1 << 20;
/// Blocks that were written in part take so much memory at most.
const OPEN_BYTES_MAX: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{Access, Disk, ImageFile, MemoryDisk};

    /// Random writes, of any place and length, again and again, and cuts: the image is what a plain file would be.
    #[test]
    fn an_image_holds_what_was_written_whatever_the_order() {
        let mut state = 0x1234_5678_9abc_def1_u64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        for round in 0..30 {
            let disk = MemoryDisk::new();
            let file = disk.open(Path::new("image"), Access::CreateNew).unwrap();
            let writer = ImageWriter::new(Arc::clone(&file), [round; 16], 4096, 3, 1 + usize::from(round % 3)).unwrap();
            let mut plain = Vec::new();
            for _ in 0..random(60) {
                let (offset, length) = (random(200_000), 1 + random(30_000));
                let noise = random(2) * 255;
                let bytes: Vec<u8> = (0..length).map(|at| (random(1 + noise) + at / 99) as u8).collect();
                writer.write_at(offset, &bytes).unwrap();
                let end = (offset + length) as usize;
                plain.resize(plain.len().max(end), 0);
                plain[offset as usize..end].copy_from_slice(&bytes);
                if random(9) == 0 {
                    writer.state.lock().store(&*file).unwrap();
                }
                if random(20) == 0 {
                    let length = random(plain.len() as u64 + 1) as usize;
                    plain.truncate(length);
                    writer.set_len(length as u64).unwrap();
                }
                let from = random(plain.len() as u64 + 1) as usize;
                let mut read = vec![0; random((plain.len() - from) as u64 + 1) as usize];
                writer.read_at(from as u64, &mut read).unwrap();
                assert_eq!(read, plain[from..from + read.len()]);
            }
            plain.resize(plain.len().max(100), 0);
            writer.allocate(0, plain.len() as u64).unwrap();
            writer.finish().unwrap();
            let image = ImageFile::open(&file).unwrap().unwrap().unwrap();
            assert_eq!(image.len().unwrap(), plain.len() as u64);
            let mut read = vec![0; plain.len()];
            image.read_at(0, &mut read).unwrap();
            assert!(read == plain, "round {round}");
            let at = random(plain.len() as u64) as usize;
            image.read_at(at as u64, &mut read[at..]).unwrap();
            assert!(read == plain, "round {round}");
            assert!(image.read_at(1, &mut read).is_err());
        }
    }
}
