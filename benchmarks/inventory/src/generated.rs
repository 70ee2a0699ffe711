//! The code of the schemas, as it was generated.

/// Messages of `inventory.proto`.
#[allow(missing_docs)]
pub mod messages {
    include!(concat!(env!("OUT_DIR"), "/inventory.rs"));
}

/// Tables of `inventory.fbs`. planus answers for the unsafe code that it writes.
#[allow(dead_code, missing_docs, unsafe_code)]
#[allow(clippy::all, clippy::multiple_unsafe_ops_per_block, clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]
pub mod tables {
    include!(concat!(env!("OUT_DIR"), "/inventory_tables.rs"));
}
