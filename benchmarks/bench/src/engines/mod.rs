//! Fulgurite in the place of a measured engine, the list of all engines, and engines with planted faults.

pub mod counting_disk;
pub mod fulgurite;
pub mod fulgurite_writing;
pub mod known;
pub mod not_built;
pub mod planted;
pub mod sustained;
