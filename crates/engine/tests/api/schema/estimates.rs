//! Estimates of counts: all committed entries count, wherever they are stored.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Durability, Read, TableOptions};

#[test]
fn an_estimate_counts_what_is_in_the_delta() {
    for counted in [false, true] {
        let options = Database::options().create(true).background(false).durability(Durability::Memory);
        let db = options.disk(Arc::new(MemoryDisk::new())).open("a.ful").unwrap();
        let table = db.create_table("t", TableOptions::new().counted(counted)).unwrap();
        let put = |keys: std::ops::Range<u32>| {
            db.update(|txn| keys.clone().try_for_each(|key| txn.put(&table, key.to_be_bytes(), b"v"))).unwrap();
        };
        let estimate = || db.read().unwrap().estimate_count(&table, ..).unwrap();
        let exact = || db.read().unwrap().len(&table).unwrap();
        put(0..200);
        assert_eq!((estimate().entries, estimate().low, estimate().high), (200, 200, 200), "few are counted");
        put(200..20_000);
        assert_eq!(estimate().entries, 20_000);
        assert_eq!(db.check().unwrap().delta_entries, 20_000);
        db.checkpoint().unwrap();
        assert_eq!((estimate().entries, estimate().low), (20_000, 20_000));
        // Half of the changes replace, half of them are new.
        db.update(|txn| (0..20_000u32).try_for_each(|key| txn.put(&table, (key * 2).to_be_bytes(), b"w"))).unwrap();
        let (found, truth) = (estimate(), exact());
        assert!(found.low <= truth && truth <= found.high, "{found:?}, not {truth}");
        assert_eq!(
            db.read().unwrap().estimate_count(&table, 5u32.to_be_bytes()..9u32.to_be_bytes()).unwrap().entries,
            4
        );
        db.update(|txn| txn.delete_range(&table, ..)).unwrap();
        assert_eq!(exact(), 0);
        let gone = estimate();
        assert!(gone.low == 0 && gone.entries < 10_000, "{gone:?}");
    }
}
