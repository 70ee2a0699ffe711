//! How a file of LMDB is recognised.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Whether the file at `path` is one of LMDB: its first page has LMDB's magic number, in the order of bytes of the
/// machine.
pub fn is_lmdb(path: &Path) -> bool {
    let mut header = [0; MAGIC_AT + 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header[MAGIC_AT..] == MAGIC.to_ne_bytes()
}

/// LMDB's magic number, and where it is in the first page.
const MAGIC: u32 = 0xBEEF_C0DE;
const MAGIC_AT: usize = size_of::<usize>() + 8;
