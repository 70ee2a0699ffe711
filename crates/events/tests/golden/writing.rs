//! Writes a golden store.

use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::lines;
use crate::story::Story;

#[test]
fn a_store_that_is_written_holds_what_the_model_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("everything.ful");
    let story = Story::write(&path);
    let (found, expected) = (lines::of_store(&story.store), story.lines());
    assert_eq!(lines::without_times(&found), expected);
    let db = story.store.database().clone();
    drop(story);
    db.close().unwrap();
    if let Ok(out) = std::env::var("EVENTS_GOLDEN_OUT") {
        pack(Path::new(&out), "everything.ful", &std::fs::read(&path).unwrap());
        pack(Path::new(&out), "everything.txt", found.as_bytes());
    }
}

/// Writes a file that does not exist: what an older version wrote is not replaced.
fn pack(out: &Path, name: &str, bytes: &[u8]) {
    let file = std::fs::File::create_new(out.join(format!("{name}.gz"))).unwrap();
    let mut packed = GzEncoder::new(file, Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap().sync_all().unwrap();
}
