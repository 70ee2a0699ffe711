//! Files of LMDB, read page by page: no map, no library, no lock. Every number of a file is checked before it is used.

mod bytes;
mod cursor;
mod file;
mod meta;
mod page;

pub use cursor::Cursor;
pub use file::PageFile;
pub use meta::Tree;
