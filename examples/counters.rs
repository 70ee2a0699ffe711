//! Counters that threads increment side by side. Merges into the same key never conflict.

use std::thread;

use fulgurite::{Database, MergeOperator, Result, TableOptions};

fn main() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let db = Database::create(directory.path().join("hits.ful"))?;
    let hits = db.create_table("hits", TableOptions::new().merge(MergeOperator::Add))?;

    let outcomes: Vec<Result<()>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        db.update(|txn| txn.merge(&hits, "/index.html", 1_u64.to_be_bytes()))?;
                    }
                    Ok(())
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("the thread does not panic")).collect()
    });
    outcomes.into_iter().collect::<Result<()>>()?;

    let total = db.read()?.get(&hits, "/index.html")?.map(|value| value.to_vec());
    let total = total.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes);
    println!("/index.html: {total} hits");
    db.close()
}
