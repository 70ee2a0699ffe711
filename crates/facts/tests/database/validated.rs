//! What a database records beside its facts is compared with them.

use fulgurite::Read;
use fulgurite_facts::FactDatabase;

use crate::{create, lines, stacked, write};

/// Changes the first entry of a table, and returns what is then not valid. The entry is as before afterwards.
fn spoiled(database: &FactDatabase, table: &str, change: impl Fn(&mut Vec<u8>)) -> String {
    let db = database.store().database().expect("a database of the engine");
    let table = db.open_table(table).expect("a table of the layout");
    let txn = db.read().expect("a snapshot");
    let first = txn.first(&table).expect("sound").map(|(key, value)| (key.to_vec(), value.to_vec()));
    let (key, value) = first.expect("an entry");
    drop(txn);
    let mut changed = value.clone();
    change(&mut changed);
    db.update(|txn| txn.put(&table, &key, &changed)).expect("a commit");
    let message = database.validate().expect_err("it is not valid").to_string();
    db.update(|txn| txn.put(&table, &key, &value)).expect("a commit");
    message
}

#[test]
fn wrong_counts_units_and_owners_are_found() {
    let directory = tempfile::tempdir().expect("a directory");
    let base = create(&directory, "base.ful");
    write(&base, &lines("a.rs", 0..3), Some("a.rs"));
    write(&base, &lines("b.rs", 0..2), Some("b.rs"));
    base.complete().expect("it is incomplete");
    let top = stacked(&directory, "top.ful", &base, &["a.rs"]);
    write(&top, &lines("a.rs", 7..8), Some("a.rs"));
    top.complete().expect("it is incomplete");
    // The number of bytes, a unit with the number of another, owners of another fact, and a unit that owns too much.
    let found = [
        (spoiled(&base, "facts.statistics", |entry| entry[8] ^= 1), "facts of src."),
        (spoiled(&top, "facts.hidden", |entry| entry[0] += 1), "facts hidden of src."),
        (spoiled(&base, "facts.units", |entry| entry[0] ^= 1), "units have the same number"),
        (spoiled(&base, "facts.owners", |entry| entry[0] ^= 1), "fact 1024 is not valid: its owners"),
        (spoiled(&base, "facts.claims", |entry| entry[0] ^= 1), "is not valid: a unit or a derivation names it"),
    ];
    for (message, part) in found {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!([base, top].map(|database| database.validate().expect("it is valid again").facts), [7, 2]);
}
