//! Which checkpoints stay when one is created beside those of an earlier run or of another program.

use std::collections::BTreeMap;

use fulgurite::TableOptions;
use fulgurite_graph::{CheckpointStorage, Checkpoints};

use crate::checkpoints::{change, content, filled, restored};

/// A new run began with small ids where an earlier run had left as many checkpoints as are retained. Each checkpoint of
/// the new run was removed when the next one was created, as the one with the smallest id.
#[test]
fn checkpoints_with_larger_ids_stay_and_do_not_count() {
    let (_directory, storage, db) = filled();
    let mut states = BTreeMap::new();
    for (first, end) in [(90, 93), (1, 5)] {
        let mut checkpoints = Checkpoints::new(&storage).retained(2);
        for id in first..end {
            change(&db, id);
            assert!(checkpoints.create(&db, id).unwrap().is_cleaned, "{id}");
            states.insert(id, content(&db));
        }
    }
    let ids = Checkpoints::new(&storage).ids().unwrap();
    assert_eq!(ids, [3, 4, 91, 92]);
    for id in ids {
        assert_eq!(restored(&storage, id).unwrap(), states[&id], "{id}");
    }
    // They are removed when the ids of the new run have passed them.
    change(&db, 93);
    Checkpoints::new(&storage).retained(2).create(&db, 93).unwrap();
    assert_eq!(Checkpoints::new(&storage).ids().unwrap(), [92, 93]);
}

/// The store of another program has files of the same name. They were removed as those of the oldest checkpoint, and
/// until then, reading the manifest that is not there failed, so that nothing else was removed.
#[test]
fn a_commit_without_a_manifest_stays_and_does_not_count() {
    let (directory, storage, db) = filled();
    let foreign = ["meta.5/FILES", "meta.5/_commit", "meta.9/_commit"];
    for name in foreign {
        let file = directory.path().join("foreign");
        std::fs::write(&file, "of another program").unwrap();
        storage.store(name, &file).unwrap();
    }
    let mut checkpoints = Checkpoints::new(&storage).retained(1);
    for id in 6..9 {
        change(&db, id);
        // All entries each time, so that files of the one before are left over.
        db.create_table(&format!("of {id}"), TableOptions::new()).unwrap();
        assert!(checkpoints.create(&db, id).unwrap().is_cleaned, "{id}");
    }
    let mut names = storage.names().unwrap();
    names.retain(|name| !name.starts_with("data/segment-8-"));
    names.sort_unstable();
    let own = ["meta.8/_commit", "meta.8/manifest"];
    assert_eq!(names, [foreign[0], foreign[1], own[0], own[1], foreign[2]]);
    assert_eq!(restored(&storage, 8).unwrap(), content(&db));
}
