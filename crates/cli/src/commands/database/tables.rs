//! `tables`: what tables there are.

use fulgurite::{MergeOperator, Read, ReadTxn};

use crate::arguments::Tables;
use crate::database::{reading, reading_as, to_read};
use crate::failure::Failure;
use crate::output::{Cell, Printer};

/// Lists the tables. Those of a file that was cut off are listed too, so that its user learns what to export, but the
/// failure stays.
pub fn run(arguments: &Tables) -> Result<(), Failure> {
    let mut is_open = false;
    let listed = reading(&arguments.file.path, |_, txn| {
        is_open = true;
        list(arguments, txn)
    });
    match listed {
        Err(failure) if failure.is_damage() && !is_open => {
            reading_as(to_read(true), &arguments.file.path, |_, txn| list(arguments, txn))?;
            Err(failure)
        }
        listed => listed,
    }
}

fn list(arguments: &Tables, txn: &ReadTxn) -> Result<(), Failure> {
    let mut printer =
        Printer::to_standard_output(arguments.format, &["table", "kind", "keys", "values", "merge", "entries"]);
    for table in txn.tables() {
        let merge = merge_name(table.merge_operator(), table.merge_function());
        printer.row(&[
            Cell::Text(table.name()),
            Cell::Text(if table.is_multimap() { "multimap" } else { "table" }),
            Cell::Text(type_name(table.key_type())),
            Cell::Text(type_name(table.value_type())),
            Cell::Text(&merge),
            Cell::Number(txn.len(&table)?),
        ])?;
    }
    printer.finish()
}

/// Plain bytes have no name in the catalog.
fn type_name(recorded: &str) -> &str {
    if recorded.is_empty() { "plain" } else { recorded }
}

/// How values of a table are merged: by an operator, or by a function of the program, which is marked as such.
pub fn merge_name(operator: Option<MergeOperator>, function: Option<&str>) -> String {
    match (operator, function) {
        (Some(operator), _) => operator.to_string(),
        (None, Some(function)) => format!("function {function}"),
        (None, None) => "none".to_owned(),
    }
}
