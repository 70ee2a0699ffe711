//! `get`: the values of keys.

use std::io::Write;

use fulgurite::{Read, ReadTxn, Table};

use crate::arguments::Get;
use crate::database::{reading, table};
use crate::entries::EntryForm;
use crate::failure::Failure;
use crate::notation::{excerpt, printable};
use crate::output::{Cell, Output, Printer, is_terminal, standard_output};

/// Prints the values. Fails at the end if a key has none.
pub fn run(arguments: &Get) -> Result<(), Failure> {
    reading(&arguments.file.path, |_, txn| {
        let table = table(txn, &arguments.table)?;
        let form =
            EntryForm::new(&table, arguments.key.key_notation.as_ref(), arguments.value.value_notation.as_ref())?;
        let keys = arguments.keys.iter().map(|text| form.key.parse(text).map_err(Failure::Message));
        let keys: Vec<Vec<u8>> = keys.collect::<Result<_, _>>()?;
        let mut sink = Sink::new(arguments, &form);
        let mut missing = Vec::new();
        for (key, text) in keys.into_iter().zip(&arguments.keys) {
            if !each_value(txn, &table, &form, key, |key, value| sink.put(key, value))? {
                missing.push(format!("`{}`", excerpt(text)));
            }
        }
        sink.finish()?;
        match missing.len() {
            0 => Ok(()),
            1 => Err(Failure::Message(format!("no key {} in table `{}`", missing[0], arguments.table))),
            _ => Err(Failure::Message(format!("no keys {} in table `{}`", missing.join(", "), arguments.table))),
        }
    })
}

/// Calls `each` with each value of a key. Returns whether there is any.
fn each_value(
    txn: &ReadTxn,
    table: &Table,
    form: &EntryForm,
    key: Vec<u8>,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    if !form.is_multimap() {
        return match txn.get(table, &key)? {
            Some(value) => each(&key, &value).map(|()| true),
            None => Ok(false),
        };
    }
    let mut any = false;
    for entry in txn.range(table, form.of_key(key).map_err(Failure::Message)?.get())? {
        let (entry, value) = entry?;
        let (key, value) = form.split(&entry, &value)?;
        each(&key, value)?;
        any = true;
    }
    Ok(any)
}

/// Where values go.
enum Sink<'a> {
    /// Bytes alone.
    Raw(Output),
    /// A line each; on a terminal without what would move its cursor.
    Lines(Output, &'a EntryForm, bool),
    /// Rows of key and value.
    Rows(Printer<Output>, &'a EntryForm),
}

impl<'a> Sink<'a> {
    fn new(arguments: &Get, form: &'a EntryForm) -> Self {
        match arguments.format {
            Some(format) => {
                Self::Rows(Printer::to_standard_output(format, &[form.key.name(), form.value.name()]), form)
            }
            None if arguments.raw => Self::Raw(standard_output()),
            None => Self::Lines(standard_output(), form, is_terminal()),
        }
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Raw(out) => out.write_all(value).map_err(Failure::Output),
            Self::Lines(out, form, terminal) => {
                let mut line = String::new();
                form.value.push_text(value, &mut line)?;
                let line = if *terminal { printable(&line) } else { line.into() };
                writeln!(out, "{line}").map_err(Failure::Output)
            }
            Self::Rows(printer, form) => printer.row(&[Cell::Stored(&form.key, key), Cell::Stored(&form.value, value)]),
        }
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Raw(mut out) | Self::Lines(mut out, ..) => out.flush().map_err(Failure::Output),
            Self::Rows(printer, _) => printer.finish(),
        }
    }
}
