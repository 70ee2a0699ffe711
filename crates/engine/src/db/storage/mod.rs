//! The parts of a database on disk except its trees and its log: the file and its names, the metas, the catalog, the
//! locks.

pub mod catalog;
pub mod create;
pub mod metas;
pub mod presence;
pub mod stored;
