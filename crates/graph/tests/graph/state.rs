//! Lists and maps, beside those in memory.

use std::collections::BTreeMap;

use fulgurite_graph::{ListState, MapState};
use proptest::prelude::*;

use crate::database;

#[derive(Debug, Clone)]
enum Op {
    Push(Vec<u8>, u16),
    RemoveList(Vec<u8>),
    Put(Vec<u8>, Vec<u8>, u16),
    RemoveEntry(Vec<u8>, Vec<u8>),
    RemoveMap(Vec<u8>),
    Commit,
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![&b""[..], b"a", b"a\0", b"a\0\0b", b"ab", b"\xff", b"\xff\xff"]).prop_map(<[u8]>::to_vec)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (key(), any::<u16>()).prop_map(|(key, element)| Op::Push(key, element)),
        1 => key().prop_map(Op::RemoveList),
        4 => (key(), key(), any::<u16>()).prop_map(|(key, entry, value)| Op::Put(key, entry, value)),
        2 => (key(), key()).prop_map(|(key, entry)| Op::RemoveEntry(key, entry)),
        1 => key().prop_map(Op::RemoveMap),
        1 => Just(Op::Commit),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn lists_and_maps_are_the_same_as_in_memory(ops in prop::collection::vec(op(), 0..80)) {
        let (_directory, db) = database();
        let lists: ListState<Vec<u8>, u16> = ListState::open(&db, "lists").unwrap();
        let maps: MapState<Vec<u8>, Vec<u8>, u16> = MapState::open(&db, "maps").unwrap();
        let mut list_model: BTreeMap<Vec<u8>, Vec<u16>> = BTreeMap::new();
        let mut map_model: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, u16>> = BTreeMap::new();
        let mut txn = db.write().unwrap();
        for op in ops {
            match op {
                Op::Push(key, element) => {
                    lists.push(&mut txn, &key[..], element).unwrap();
                    list_model.entry(key).or_default().push(element);
                }
                Op::RemoveList(key) => {
                    let removed = lists.remove(&mut txn, &key[..]).unwrap();
                    prop_assert_eq!(removed, list_model.remove(&key).unwrap_or_default().len() as u64);
                }
                Op::Put(key, entry, value) => {
                    maps.put(&mut txn, &key[..], &entry[..], value).unwrap();
                    map_model.entry(key).or_default().insert(entry, value);
                }
                Op::RemoveEntry(key, entry) => {
                    let existed = maps.remove_entry(&mut txn, &key[..], &entry[..]).unwrap();
                    let expected = map_model.get_mut(&key).and_then(|map| map.remove(&entry));
                    prop_assert_eq!(existed, expected.is_some());
                }
                Op::RemoveMap(key) => {
                    let removed = maps.remove(&mut txn, &key[..]).unwrap();
                    prop_assert_eq!(removed, map_model.remove(&key).unwrap_or_default().len() as u64);
                }
                Op::Commit => {
                    txn.commit().unwrap();
                    txn = db.write().unwrap();
                }
            }
        }
        txn.commit().unwrap();
        let snapshot = db.read().unwrap();
        for key in [&b""[..], b"a", b"a\0", b"a\0\0b", b"ab", b"\xff", b"\xff\xff"] {
            let list = list_model.get(key).cloned().unwrap_or_default();
            prop_assert_eq!(lists.len(&snapshot, key).unwrap(), list.len() as u64);
            prop_assert_eq!(lists.get(&snapshot, key).unwrap(), list);
            let map = map_model.get(key).cloned().unwrap_or_default();
            prop_assert_eq!(maps.len(&snapshot, key).unwrap(), map.len() as u64);
            for entry in map.keys() {
                prop_assert_eq!(maps.get(&snapshot, key, &entry[..]).unwrap(), map.get(entry).copied());
            }
            prop_assert_eq!(maps.get(&snapshot, key, &b"absent"[..]).unwrap(), None);
            prop_assert_eq!(maps.entries(&snapshot, key).unwrap(), map.into_iter().collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_list_is_extended_in_order() {
    let (_directory, db) = database();
    let lists: ListState<String, String> = ListState::open(&db, "lists").unwrap();
    db.update(|txn| lists.extend(txn, "k", ["c", "a", "b"])).unwrap();
    db.update(|txn| lists.push(txn, "k", "a")).unwrap();
    assert_eq!(lists.get(&db.read().unwrap(), "k").unwrap(), ["c", "a", "b", "a"]);
}
