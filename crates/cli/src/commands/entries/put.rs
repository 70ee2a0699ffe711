//! `put`: gives a key a value.

use std::io::Read;

use fulgurite::Database;

use crate::arguments::Put;
use crate::column::{Column, Encoding, KEY, VALUE};
use crate::database::{creating, table_to_write};
use crate::entries::EntryForm;
use crate::failure::Failure;
use crate::notation::Notation;

/// Puts one entry, in a transaction of its own.
pub fn run(arguments: &Put) -> Result<(), Failure> {
    let value = Value::read(&arguments.value_text)?;
    let (key_notation, value_notation) = (arguments.key.key_notation.as_ref(), arguments.value.value_notation.as_ref());
    if arguments.create.create && !arguments.file.path.exists() {
        // What cannot be stored is found before anything is created.
        Column::new(KEY, Encoding::Key, "", key_notation)?.parse(&arguments.key_text).map_err(Failure::Message)?;
        value.parse(&Column::new(VALUE, Encoding::Value, "", value_notation)?, value_notation)?;
    }
    creating(&arguments.file.path, &arguments.create, arguments.writing, |db| put(db, arguments, &value))
}

fn put(db: &Database, arguments: &Put, value: &Value) -> Result<(), Failure> {
    let (key_notation, value_notation) = (arguments.key.key_notation.as_ref(), arguments.value.value_notation.as_ref());
    let (table, fresh) = table_to_write(db, &arguments.table, &arguments.create, key_notation, value_notation)?;
    let outcome = (|| {
        let form = EntryForm::new(&table, key_notation, value_notation)?;
        let key = form.key.parse(&arguments.key_text).map_err(Failure::Message)?;
        let value = value.parse(&form.value, value_notation)?;
        let (key, value) = form.join(key, value).map_err(Failure::Message)?;
        Ok(db.update(|txn| txn.put(&table, &key, &value))?)
    })();
    if fresh && outcome.is_err() {
        // The first error says more than that a table stays behind, which is empty.
        let _ = db.drop_table(&table);
    }
    outcome
}

/// A value as it was given.
enum Value {
    /// On the command line.
    Text(String),
    /// On standard input.
    Bytes(Vec<u8>),
}

impl Value {
    fn read(text: &str) -> Result<Self, Failure> {
        if text != "-" {
            return Ok(Self::Text(text.to_owned()));
        }
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| Failure::Message(format!("standard input cannot be read: {error}")))?;
        Ok(Self::Bytes(bytes))
    }

    /// What comes from standard input is taken byte for byte, unless a notation is asked for or the table has a type:
    /// then it is text, and the line feed at its end is none of it.
    fn parse(&self, column: &Column, asked: Option<&Notation>) -> Result<Vec<u8>, Failure> {
        let parsed = match self {
            Self::Text(text) => column.parse(text),
            Self::Bytes(bytes) if asked.is_none() && column.takes_bytes() => column.of_bytes(bytes.clone()),
            Self::Bytes(bytes) => match str::from_utf8(bytes) {
                Ok(text) => column.parse(text.strip_suffix('\n').map_or(text, |text| text.trim_end_matches('\r'))),
                Err(error) => Err(format!("the value is not UTF-8 at byte {}", error.valid_up_to())),
            },
        };
        parsed.map_err(Failure::Message)
    }
}
