//! Images: files that hold a database in compressed blocks.
//!
//! - [`ImageFile`] presents the blocks of an image as the original file.
//! - [`ImageWriter`] is written to as a file, and writes its content as compressed blocks.
//!
//! `docs/reference/file-format.md` specifies the bytes.

mod blocks;
mod file;
mod writer;

pub use file::ImageFile;
pub use writer::ImageWriter;
