//! For tests: what every adapter of a writing engine has to do.

use crate::interface::writing::{Level, Refusal, Settings, Snapshot, Transaction, Usage, WritingEngine, WritingStore};

/// Runs every check at every level that the engine offers.
pub fn all<E: WritingEngine>() {
    for level in [Level::Memory, Level::Log, Level::Disk] {
        for usage in [Usage::SingleOperations, Usage::Transactions, Usage::LongLog, SUSTAINED] {
            let settings = Settings { level, usage };
            if E::unfit(settings).is_some() {
                continue;
            }
            let directory = tempfile::tempdir().unwrap();
            let store = E::open(directory.path(), settings).unwrap();
            loads_and_single_operations(&store);
            batches_and_snapshots(&store);
            scans_both_ways_and_of_prefixes::<E>(&store);
            if usage == Usage::Transactions {
                transactions(&store);
                concurrent_additions_are_not_lost(&store);
            }
            store.sync().unwrap();
            store.settle().unwrap();
            let before = contents(&store);
            store.close().unwrap();
            let store = E::open(directory.path(), settings).unwrap();
            assert_eq!(contents(&store), before);
            store.close().unwrap();
        }
        counters::<E>(Settings { level, usage: Usage::Counters });
    }
}

const SUSTAINED: Usage = Usage::Sustained { cache_bytes: 64 << 20 };

fn counters<E: WritingEngine>(settings: Settings) {
    if E::unfit(settings).is_some() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let store = E::open(directory.path(), settings).unwrap();
    let records = [(&b"a"[..], &300_u64.to_le_bytes()[..]), (b"b", &[255; 8])];
    store.load_sorted(records.into_iter()).unwrap();
    for _ in 0..2 {
        let mut txn = store.begin().unwrap();
        for key in [b"a", b"b", b"c"] {
            assert!(txn.add(key, 1).is_ok() && txn.add(key, 256).is_ok());
        }
        txn.commit().map_err(|_| "a transaction alone is refused").unwrap();
    }
    let number = |key| value(&store, key).map(|value| u64::from_le_bytes(value.try_into().unwrap()));
    assert_eq!([number(b"a"), number(b"b"), number(b"c")], [Some(814), Some(513), Some(514)]);
    store.close().unwrap();
}

fn value<S: WritingStore>(store: &S, key: &[u8]) -> Option<Vec<u8>> {
    store.get(key, |value| value.map(<[u8]>::to_vec)).unwrap()
}

fn contents<S: WritingStore>(store: &S) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut contents = Vec::new();
    store.scan(|key, value| contents.push((key.to_vec(), value.to_vec()))).unwrap();
    contents
}

fn loads_and_single_operations<S: WritingStore>(store: &S) {
    let records: Vec<(Vec<u8>, Vec<u8>)> =
        (0..3000u32).map(|i| (i.to_be_bytes().to_vec(), vec![i as u8; 20])).collect();
    store.load_sorted(records.iter().map(|(key, value)| (&key[..], &value[..]))).unwrap();
    assert_eq!(contents(store), records);
    store.put(&7u32.to_be_bytes(), b"seven").unwrap();
    assert_eq!(value(store, &7u32.to_be_bytes()).unwrap(), b"seven");
    assert_eq!(value(store, b"absent"), None);
}

fn batches_and_snapshots<S: WritingStore>(store: &S) {
    let keys: Vec<[u8; 4]> = (1000..1010u32).map(u32::to_be_bytes).collect();
    let replaced = keys.iter().map(|key| (&key[..], &b"replaced"[..]));
    store.put_all(replaced.chain(keys.iter().rev().map(|key| (&key[..], &key[..])))).unwrap();
    {
        let snapshot = store.snapshot().unwrap();
        let get = |key: &[u8]| snapshot.get(key, |value| value.map(<[u8]>::to_vec)).unwrap();
        assert!(keys.iter().all(|key| get(key).as_deref() == Some(key)));
        assert_eq!(get(b"absent"), None);
        let mut seen = Vec::new();
        snapshot.scan_from(&keys[8], 3, |key, value| seen.push((key.to_vec(), value.to_vec()))).unwrap();
        let after = (1010u32.to_be_bytes().to_vec(), vec![1010u32 as u8; 20]);
        assert_eq!(seen, [(keys[8].into(), keys[8].into()), (keys[9].into(), keys[9].into()), after]);
        let mut end = 0;
        snapshot.scan_from(&2998u32.to_be_bytes(), 9, |_, _| end += 1).unwrap();
        assert_eq!(end, 2);
    }
    store.put(&keys[0], b"newer").unwrap();
    assert_eq!(store.snapshot().unwrap().get(&keys[0], |value| value.map(<[u8]>::to_vec)).unwrap().unwrap(), b"newer");
}

/// The records that a scan hands out.
fn seen(scan: impl FnOnce(&mut dyn FnMut(&[u8], &[u8]))) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut seen = Vec::new();
    scan(&mut |key, value| seen.push((key.to_vec(), value.to_vec())));
    seen
}

fn scans_both_ways_and_of_prefixes<E: WritingEngine>(store: &E::Store) {
    let all = contents(store);
    let snapshot = store.snapshot().unwrap();
    let prefix = |prefix: &[u8]| seen(|each| snapshot.scan_prefix(prefix, each).unwrap());
    assert!(prefix(&[0, 0, 1]) == all[256..512], "a prefix of 256 keys");
    assert!(prefix(&[0, 0, 11]) == all[2816..], "the last prefix");
    assert!(prefix(&[0, 0]) == all, "a prefix of all keys");
    assert!(prefix(&[0, 0, 12]).is_empty() && prefix(&[255]).is_empty());
    let back = |from: &[u8], count| snapshot.scan_back_from(from, count, |_, _| {});
    if !E::SCANS_BACK {
        assert!(back(&[1], 1).is_err());
        return;
    }
    let back = |from: &[u8], count| seen(|each| snapshot.scan_back_from(from, count, each).unwrap());
    let falling = |range: std::ops::Range<usize>| all[range].iter().rev().cloned().collect::<Vec<_>>();
    assert_eq!(back(&700u32.to_be_bytes(), 3), falling(698..701));
    // Between two keys, above all of them, at the end, below all of them.
    assert_eq!(back(&[0, 0, 2, 188, 0], 2), falling(699..701));
    assert_eq!(back(&[9], 2), falling(2998..3000));
    assert_eq!(back(&1u32.to_be_bytes(), 9), falling(0..2));
    assert!(back(&[0, 0, 0], 9).is_empty());
}

fn transactions<S: WritingStore>(store: &S) {
    let mut txn = store.begin().unwrap();
    assert_eq!(txn.get(&8u32.to_be_bytes(), |value| value.map(<[u8]>::len)).ok().flatten(), Some(20));
    assert!(txn.put(&8u32.to_be_bytes(), b"eight").is_ok());
    assert_eq!(txn.get(&8u32.to_be_bytes(), |value| value.map(<[u8]>::to_vec)).ok().flatten().unwrap(), b"eight");
    assert!(txn.delete(&9u32.to_be_bytes()).is_ok());
    txn.commit().map_err(|_| "a transaction alone is refused").unwrap();
    assert_eq!(value(store, &8u32.to_be_bytes()).unwrap(), b"eight");
    assert_eq!(value(store, &9u32.to_be_bytes()), None);
    let mut txn = store.begin().unwrap();
    assert!(txn.put(&8u32.to_be_bytes(), b"never").is_ok());
    txn.abort();
    assert_eq!(value(store, &8u32.to_be_bytes()).unwrap(), b"eight");
}

fn add_one<S: WritingStore>(store: &S, key: &[u8]) -> Result<(), Refusal> {
    let mut txn = store.begin()?;
    let count = txn.get(key, |value| value.map_or(0, |value| value[0]))?;
    txn.put(key, &[count + 1])?;
    txn.commit()
}

fn concurrent_additions_are_not_lost<S: WritingStore>(store: &S) {
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..50 {
                    while let Err(refusal) = add_one(store, b"count") {
                        assert!(matches!(refusal, Refusal::Conflict), "{refusal:?}");
                    }
                }
            });
        }
    });
    assert_eq!(value(store, b"count").unwrap(), [150]);
}
