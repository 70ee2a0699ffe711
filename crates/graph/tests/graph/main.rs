//! Graphs, lists, maps and checkpoints through the public interface.

mod checkpoints;
mod compression;
mod disks;
mod model;
mod power_cuts;
mod queries;
mod retention;
mod segments;
mod state;
mod torn;
mod versioned;

use fulgurite::Database;
use tempfile::TempDir;

/// An empty database, and the directory that it is in.
fn database() -> (TempDir, Database) {
    let directory = tempfile::tempdir().expect("a directory");
    let db = Database::options().create(true).open(directory.path().join("a.ful")).expect("a database");
    (directory, db)
}
