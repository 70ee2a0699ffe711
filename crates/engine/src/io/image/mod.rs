//! Images: files that hold a database in compressed blocks.
//!
//! - [`ImageFile`] shows the blocks of an image as the file that they were made of.
//! - [`ImageWriter`] takes what is written to it as a file, and makes blocks of it.
//!
//! `docs/reference/file-format.md` specifies the bytes.

mod blocks;
mod file;
mod writer;

pub use file::ImageFile;
pub use writer::ImageWriter;
