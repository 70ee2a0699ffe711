//! Tests of the engine through its public API, grouped by subject: one program, which is built and linked once.

mod changes;
mod disks;
mod failures;
mod merging;
mod schema;
mod smoke;
mod storage;
mod writing;
