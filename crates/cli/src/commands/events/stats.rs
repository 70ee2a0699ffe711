//! `events stats`: the size of a store.

use fulgurite::Read as _;

use super::opened::reading_store;
use crate::arguments::events::EventStats;
use crate::failure::Failure;
use crate::output::{Cell, Printer};

/// Prints a row for each number.
pub fn run(arguments: &EventStats) -> Result<(), Failure> {
    reading_store(&arguments.store, |db, snapshot| {
        let entries = |table: &str| -> Result<u64, Failure> {
            let txn = snapshot.txn();
            Ok(txn.len(&txn.open_table(&format!("{}.{table}", arguments.store.store))?)?)
        };
        let rows = [
            ("next position", snapshot.head()?.0),
            ("first position kept", snapshot.start()?.0),
            ("streams", entries("streams")?),
            ("types", snapshot.event_types().len() as u64),
            ("consumers", entries("consumers")?),
            ("chunks", entries("log")?),
            ("bytes of the file", db.stats()?.file_bytes),
        ];
        let mut printer = Printer::to_standard_output(arguments.format, &["what", "number"]);
        for (what, number) in rows {
            printer.row(&[Cell::Text(what), Cell::Number(number)])?;
        }
        printer.finish()
    })
}
