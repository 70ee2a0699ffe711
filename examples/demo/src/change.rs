//! The third act: a transaction adds a word to WordNet; an older snapshot does not change.

use std::time::Instant;

use fulgurite::Database;

use crate::error::Result;
use crate::questions::{hypernyms, meaning};
use crate::report::Report;
use crate::schema::Tables;

/// Adds the word fulgurite, changes lightning, and compares a snapshot from before with one from after.
pub fn change(report: &Report, db: &Database, tables: &Tables) -> Result<()> {
    let before = db.read()?;
    let lightning = meaning(&before, tables, "lightning", "noun.phenomenon")?;
    let glass = meaning(&before, tables, "glass", FILE)?;
    let begun = Instant::now();
    db.update(|txn| {
        if let Some((words, file, gloss)) = tables.synsets.get(txn, lightning.as_str())? {
            tables.synsets.put(txn, lightning.as_str(), (words, file, format!("{ADDITION}; {gloss}")))?;
        }
        tables.synsets.put(txn, NEW_ID, ("fulgurite", FILE, "glass that lightning leaves in sand"))?;
        tables.words.insert(txn, "fulgurite", NEW_ID)?;
        tables.pointers.put(txn, (NEW_ID, "@", 0), (glass.as_str(), 0, 0))
    })?;
    report.done("commit", "4 entries in 3 tables, on the disk when it returned", begun.elapsed())?;

    let after = db.read()?;
    for (name, txn) in [("the older snapshot", &before), ("a new snapshot", &after)] {
        let known = tables.words.count(txn, "fulgurite")?;
        let changed =
            tables.synsets.get(txn, lightning.as_str())?.is_some_and(|(.., gloss)| gloss.starts_with(ADDITION));
        let fulgurite = if known == 0 {
            "no fulgurite".to_owned()
        } else {
            hypernyms(txn, tables, "fulgurite", FILE)?.join(" → ")
        };
        report.line(format!("{name}: {fulgurite}; lightning {}", if changed { "changed" } else { "as it was" }))?;
        if changed != std::ptr::eq(txn, &after) || (known > 0) != changed {
            return Err("a snapshot shows a wrong state; please report this".into());
        }
    }
    Ok(())
}

/// Above every id of WordNet.
const NEW_ID: &str = "n99999999";
/// The lexicographer file of the new synset.
const FILE: &str = "noun.substance";
/// The transaction puts this before the gloss of lightning.
const ADDITION: &str = "makes fulgurite where it strikes sand";
