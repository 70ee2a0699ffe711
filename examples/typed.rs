//! Typed keys and values. Encoded keys sort as their values do, so ranges over numbers and tuples work.

use fulgurite::{Database, Result};

fn main() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let db = Database::create(directory.path().join("weather.ful"))?;

    // The key is a station and a time in seconds, the value a temperature.
    let readings = db.typed_table::<(String, u64), f64>("readings")?;
    db.update(|txn| {
        readings.put(txn, ("oslo", 1_000_u64), -3.5)?;
        readings.put(txn, ("oslo", 2_000_u64), -1.0)?;
        readings.put(txn, ("rome", 1_500_u64), 11.0)
    })?;
    let txn = db.read()?;
    for entry in readings.range(&txn, ("oslo", 1_500_u64)..("oslo", u64::MAX))? {
        let ((station, time), degrees) = entry?;
        println!("{station} at {time}: {degrees}");
    }

    // A multimap has several values for a key, sorted.
    let tags = db.multimap_table::<String, String>("tags")?;
    db.update(|txn| {
        tags.insert(txn, "oslo", "north")?;
        tags.insert(txn, "oslo", "coast")
    })?;
    let txn = db.read()?;
    for tag in tags.get(&txn, "oslo")? {
        println!("oslo is tagged {}", tag?);
    }
    drop(txn);
    db.close()
}
