//! `del`: deletes keys.

use std::io::Write;

use fulgurite::{Database, WriteTxn};

use crate::arguments::{Del, RangeArguments};
use crate::database::{changing_tables, refuse_table_of_events, table};
use crate::entries::EntryForm;
use crate::failure::Failure;
use crate::notation::excerpt;
use crate::output::entries;

/// Deletes all that is named, in one transaction, and fails without deleting anything if a key is not there.
pub fn run(arguments: &Del) -> Result<(), Failure> {
    let deleted = changing_tables(&arguments.file.path, arguments.writing, |db| delete(db, arguments))?;
    if arguments.prefix.is_some() {
        let _ = writeln!(std::io::stderr(), "{} deleted", entries(deleted));
    }
    Ok(())
}

fn delete(db: &Database, arguments: &Del) -> Result<u64, Failure> {
    let txn = db.read()?;
    refuse_table_of_events(&txn, &arguments.table)?;
    let table = table(&txn, &arguments.table)?;
    drop(txn);
    let form = EntryForm::new(&table, arguments.key.key_notation.as_ref(), arguments.value.value_notation.as_ref())?;
    if arguments.only.is_some() && !form.is_multimap() {
        let message = format!("table `{}` is not a multimap, so a key has one value; omit --only", arguments.table);
        return Err(Failure::Message(message));
    }
    if arguments.prefix.is_some() {
        let range = RangeArguments { prefix: arguments.prefix.clone(), ..RangeArguments::default() };
        let bounds = form.bounds(&range)?;
        return Ok(db.update(|txn| txn.delete_range(&table, bounds.get()))?);
    }
    let only = arguments.only.as_deref().map(|text| form.value.parse(text)).transpose().map_err(Failure::Message)?;
    let mut txn = db.write()?;
    let mut deleted = 0;
    for text in &arguments.keys {
        let key = form.key.parse(text).map_err(Failure::Message)?;
        let here = one(&mut txn, &table, &form, key, only.as_deref())?;
        if here == 0 {
            let value = arguments.only.as_ref().map(|value| format!(" with the value `{}`", excerpt(value)));
            let (key, value) = (excerpt(text), value.unwrap_or_default());
            let message = format!("no key `{key}`{value} in table `{}`; nothing was deleted", arguments.table);
            return Err(Failure::Message(message));
        }
        deleted += here;
    }
    txn.commit()?;
    Ok(deleted)
}

/// Deletes one key, or one value of it. Returns how many entries that were.
fn one(
    txn: &mut WriteTxn,
    table: &fulgurite::Table,
    form: &EntryForm,
    key: Vec<u8>,
    only: Option<&[u8]>,
) -> Result<u64, Failure> {
    match only {
        Some(value) => {
            let (entry, _) = form.join(key, value.to_vec()).map_err(Failure::Message)?;
            Ok(u64::from(txn.delete(table, &entry)?))
        }
        None if form.is_multimap() => Ok(txn.delete_range(table, form.of_key(key).map_err(Failure::Message)?.get())?),
        None => Ok(u64::from(txn.delete(table, &key)?)),
    }
}
