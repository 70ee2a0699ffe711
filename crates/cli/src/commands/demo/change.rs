//! The third act: a transaction teaches WordNet a word that it lacks, while an older snapshot goes on as before.

use std::time::Instant;

use fulgurite::Database;

use super::questions::{hypernyms, meaning};
use super::report::Report;
use super::schema::Tables;
use crate::failure::Failure;

/// Adds fulgurite, changes lightning, and looks from before and after.
pub fn change(report: &Report, db: &Database, tables: &Tables) -> Result<(), Failure> {
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
    for (name, txn) in [("the snapshot of before", &before), ("a new snapshot", &after)] {
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
            return Err(Failure::Message("a snapshot shows what it should not; please report this".into()));
        }
    }
    Ok(())
}

/// No id of WordNet, and after all of them.
const NEW_ID: &str = "n99999999";
/// The lexicographer file of what is added.
const FILE: &str = "noun.substance";
/// What the gloss of lightning begins with afterwards.
const ADDITION: &str = "makes fulgurite where it strikes sand";
