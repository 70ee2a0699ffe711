//! What opening says to logs that contradict the database.

use std::path::Path;

use crate::db::Database;
use crate::db::storage::metas;
use crate::error::Error;
use crate::format::RecordEncoder;
use crate::ids::{Sequence, TableId};
use crate::io::Disk;
use crate::io::{Access, MemoryDisk};
use crate::log::Log;
use crate::log::{ReplayFrom, read_back};
use crate::options::TableOptions;
use crate::sync::Arc;

/// What opening says to a log with this commit after a database with the tables `old` (which is number 1) and `gone`.
fn error_of(encode: impl Fn(&mut RecordEncoder, &[u8])) -> String {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let options = || Database::options().background(false).disk(Arc::clone(&disk));
    let db = options().create(true).open("a.ful").unwrap();
    let old = db.create_table("old", TableOptions::new()).unwrap();
    let gone = db.create_table("gone", TableOptions::new()).unwrap();
    let mut txn = db.write().unwrap();
    txn.drop_table(&gone).unwrap();
    txn.commit().unwrap();
    let descriptor = old.info.descriptor.encode();
    db.close().unwrap();
    let path = disk.canonical(Path::new("a.ful")).unwrap();
    let file = disk.open(&path, Access::Read).unwrap();
    let meta = metas::read(&*file, &path).unwrap().meta;
    let from = ReplayFrom {
        sequence: meta.sequence,
        first_segment: meta.log_first_segment,
        first_segment_exists: meta.log_exists,
    };
    let mut replay = read_back(&disk, &path, meta.uuid, from).unwrap();
    assert!(replay.next_commit().unwrap().is_none());
    let mut log = Log::create(&disk, &path, meta.uuid, replay.finish()).unwrap();
    let mut encoder = RecordEncoder::new();
    encoder.begin();
    encode(&mut encoder, &descriptor);
    encoder.finish();
    log.append(&mut encoder, Sequence(meta.sequence.0 + 1)).unwrap();
    log.write().unwrap();
    let told = [false, true].map(|read_only| options().read_only(read_only).open("a.ful").unwrap_err());
    assert!(told.iter().all(Error::is_corruption));
    assert_eq!(told[0].to_string(), told[1].to_string(), "a reader hears the same");
    told[0].to_string()
}

#[test]
fn a_log_that_contradicts_the_tables_there_are_is_refused() {
    let says = |what: &str, encode: fn(&mut RecordEncoder, &[u8])| {
        let error = error_of(encode);
        assert!(error.contains(what), "{error}");
    };
    says("it creates a table with the number of another", |commit, old| commit.put(TableId::CATALOG, b"new", old));
    says("it drops a table that is not there", |commit, _| commit.delete(TableId::CATALOG, b"gone"));
    says("it renames a table that is not there", |commit, _| commit.renamed(TableId(2), b"gone", b"new"));
    says("it renames a table that is not there", |commit, _| commit.renamed(TableId(1), b"other", b"new"));
    says("it gives a table the name of another", |commit, _| commit.renamed(TableId(1), b"old", b"old"));
    says("the name of a table is not UTF-8", |commit, _| commit.renamed(TableId(1), b"old", b"\xff"));
    says("it changes a table that is not there", |commit, _| commit.put(TableId(2), b"k", b"v"));
    says("it changes a table that is not there", |commit, _| commit.delete(TableId(77), b"k"));
    says("the name of a table has an impossible length", |commit, old| commit.put(TableId::CATALOG, b"", old));
    says("it creates a table with the number of another", |commit, old| {
        commit.delete(TableId::CATALOG, b"old");
        commit.put(TableId::CATALOG, b"new", old);
    });
}
