//! Rules on the structure of the sources: layers, circles, dependencies, sizes, `unsafe`, the file format.

mod code_paths;
pub mod cycles;
pub mod dependencies;
pub mod folders;
pub mod format_hash;
mod layer_tables;
pub mod layers;
pub mod length;
pub mod rust;
pub mod unsafety;
