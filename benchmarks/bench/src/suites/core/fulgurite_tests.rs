//! Fulgurite, as the core suite uses it, keeps what it is given.

use fulgurite_rivals::{Engine, Purpose, Store};

use crate::data::dataset::tests::small;
use crate::data::random::Random;
use crate::engines::fulgurite::Fulgurite;
use crate::suites::core::verify;
use crate::suites::core::writes::{self, Versions};

#[test]
fn a_store_loaded_in_any_order_has_all_content_when_reopened() {
    let data = small(3000, 100);
    for sorted in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Fulgurite::create(directory.path(), Purpose::Load).unwrap();
        match sorted {
            true => store.load_sorted(data.stored.records(&data.values)).unwrap(),
            false => {
                let mut records: Vec<_> = data.stored.records(&data.values).collect();
                records.sort_by_key(|(_, value)| *value);
                store.load_unsorted(records.into_iter()).unwrap();
            }
        }
        store.close().unwrap();
        let store = Fulgurite::open(directory.path(), Purpose::Read).unwrap();
        verify::all_content(&store.reader().unwrap(), &data).unwrap();
        assert!(store.used_bytes().unwrap() >= data.content_bytes());
        assert!(store.search().unwrap().is_some());
    }
}

#[test]
fn single_puts_are_settled_by_a_checkpoint_that_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let data = small(500, 100);
    let mut store = Fulgurite::create(directory.path(), Purpose::SinglePuts).unwrap();
    store.load_sorted(data.stored.records(&data.values)).unwrap();
    let mut versions = Versions::new(&data);
    let before = store.checkpoints().unwrap();
    let puts = versions.draw(&data, 1000, &mut Random::new(1, 1));
    assert_eq!(writes::put1(&mut store, &puts).unwrap().checkpoints, 0);
    assert_eq!(store.checkpoints().unwrap(), before + 1);
    versions.verify(&store.reader().unwrap(), &data).unwrap();
}

#[test]
fn what_is_put_above_a_loaded_tree_stays_in_the_delta() {
    let directory = tempfile::tempdir().unwrap();
    let data = small(2000, 100);
    writes::bulk_load::<Fulgurite>(directory.path(), &data).unwrap();
    let mut store = Fulgurite::open(directory.path(), Purpose::ReadAboveDelta).unwrap();
    // The first commit after a clean close writes a meta page that names the new log, which counts as a checkpoint.
    store.put(data.absent.key(0), data.values.get(data.absent.id(0))).unwrap();
    let before = store.checkpoints().unwrap();
    writes::put_absent(&mut store, &data, &mut Random::new(1, 1)).unwrap();
    assert_eq!(store.checkpoints().unwrap(), before);
    verify::gets(&store.reader().unwrap(), writes::all_records(&data)).unwrap();
}
