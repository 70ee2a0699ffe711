//! Tables, transactions, snapshots and ranges.

use fulgurite::{Database, Read, Result, TableOptions};

fn main() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let db = Database::options().create(true).open(directory.path().join("shop.ful"))?;
    let stock = db.open_or_create_table("stock", TableOptions::new())?;

    // `update` commits the changes of the closure. If another writer was in conflict, it runs the closure again.
    db.update(|txn| {
        txn.put(&stock, "apple", "12")?;
        txn.put(&stock, "apricot", "3")?;
        txn.put(&stock, "banana", "7")
    })?;

    // A snapshot shows one state for as long as it lives. It blocks no writer.
    let before = db.read()?;
    db.update(|txn| txn.delete(&stock, "banana"))?;
    let after = db.read()?;
    println!("before: {} entries, after: {}", before.len(&stock)?, after.len(&stock)?);

    for entry in after.prefix(&stock, "ap")? {
        let (key, value) = entry?;
        println!("{}: {}", String::from_utf8_lossy(&key), String::from_utf8_lossy(&value));
    }
    db.close()
}
