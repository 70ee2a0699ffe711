//! C libraries of the system that are found at run time (`dynamic`), and what the C interfaces of LevelDB and RocksDB
//! share: errors (`status`), batches and scans (`records`), and readers of the newest state (`reader`).

pub mod dynamic;
pub mod reader;
pub mod records;
pub mod status;
