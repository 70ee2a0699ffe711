//! `changes`: prints what commits did, in order.

use std::collections::HashMap;

use fulgurite::{Change, ChangedTable, Database, ReadTxn, Sequence, TableId};

use crate::arguments::{Changes, OutputFormat};
use crate::database::reading;
use crate::entries::EntryForm;
use crate::failure::Failure;
use crate::output::{Cell, Output, Printer, pause};

/// Prints the changes after a commit, and goes on with those that come if it is asked to.
pub fn run(arguments: &Changes) -> Result<(), Failure> {
    let names = ["sequence", "change", "table", "key", "value", "left"];
    if arguments.follow.is_some() && !matches!(arguments.format, OutputFormat::Ndjson | OutputFormat::Csv) {
        return Err(Failure::Message("--follow never ends; print with --format ndjson or csv".into()));
    }
    let mut printer = Printer::to_standard_output(arguments.format, &names);
    let mut after = Sequence(arguments.after);
    loop {
        reading(&arguments.file.path, |db, txn| {
            after = print(db, txn, after, &mut printer)?;
            Ok(())
        })?;
        let Some(interval) = arguments.follow else { return printer.finish() };
        printer.flush()?;
        pause(interval)?;
    }
}

/// Prints what there is now. Answers the last commit of it.
fn print(db: &Database, txn: &ReadTxn, after: Sequence, printer: &mut Printer<Output>) -> Result<Sequence, Failure> {
    let forms: Result<HashMap<TableId, EntryForm>, Failure> =
        txn.tables().iter().map(|table| Ok((table.id(), EntryForm::new(table, None, None)?))).collect();
    let (forms, unknown) = (forms?, EntryForm::plain());
    let mut last = after;
    for commit in db.changes(after)? {
        let commit = commit?;
        last = commit.sequence;
        for (index, change) in commit.changes.iter().enumerate() {
            let left = (commit.changes.len() - index - 1) as u64;
            print_change(commit.sequence, change, left, &forms, &unknown, printer)?;
        }
    }
    Ok(last)
}

fn print_change(
    sequence: Sequence,
    change: &Change,
    left: u64,
    forms: &HashMap<TableId, EntryForm>,
    unknown: &EntryForm,
    printer: &mut Printer<Output>,
) -> Result<(), Failure> {
    let (what, table, key, value): (_, &ChangedTable, Option<&[u8]>, Option<&[u8]>) = match change {
        Change::Put { table, key, value } => ("put", table, Some(key), Some(value)),
        Change::Superseded { table, key, .. } => ("superseded", table, Some(key), None),
        Change::Delete { table, key } => ("delete", table, Some(key), None),
        Change::TableCreated { table } => ("create table", table, None, None),
        Change::TableDropped { table } => ("drop table", table, None, None),
        Change::TableRenamed { table, .. } => ("rename table", table, None, None),
        Change::BulkLoaded { table } => ("bulk load", table, None, None),
        _ => {
            return Err(Failure::Message(
                "the log has a kind of change that this program does not know; upgrade it".into(),
            ));
        }
    };
    let form = table.id.and_then(|id| forms.get(&id)).unwrap_or(unknown);
    let split = key.map(|key| form.split(key, value.unwrap_or_default())).transpose()?;
    let key = split.as_ref().map_or(Cell::Nothing, |(key, _)| Cell::Stored(&form.key, key));
    let has_value = value.is_some() || form.is_multimap();
    let value = match &split {
        Some((_, value)) if has_value => Cell::Stored(&form.value, value),
        _ => Cell::Nothing,
    };
    let table = table.name.as_deref().map_or(Cell::Nothing, Cell::Text);
    printer.row(&[Cell::Number(sequence.0), Cell::Text(what), table, key, value, Cell::Number(left)])
}
