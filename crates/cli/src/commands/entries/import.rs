//! `import`: loads a file of entries into a table, all of it or nothing.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use fulgurite::{Database, Error, LoadSummary, Table};

use crate::arguments::{FileFormat, Import};
use crate::database::{creating, table_to_write};
use crate::entries::EntryForm;
use crate::failure::Failure;
use crate::output::{counted, entries, grouped};
use crate::progress::{Progress, rate, time};
use crate::records::{FieldNames, Input, Records};

/// Imports, and prints the number of entries.
pub fn run(arguments: &Import) -> Result<(), Failure> {
    // A mistyped name is found before anything is created.
    let input = Input::open(arguments.input.as_deref())?;
    let format = arguments.format.unwrap_or_else(|| format_of(arguments.input.as_deref()));
    if arguments.no_header && matches!(format, FileFormat::Ndjson | FileFormat::Binary) {
        return Err(Failure::Message(
            "--no-header applies only to CSV and TSV; omit it, or give --format csv or tsv".into(),
        ));
    }
    if arguments.key_field.is_some() && format == FileFormat::Binary {
        return Err(Failure::Message("the binary format has no named fields; omit --key-field".into()));
    }
    let mut progress = Progress::new("importing");
    let (loaded, read) = creating(&arguments.file.path, &arguments.create, arguments.writing, |db| {
        let (key, value) = (arguments.key.key_notation.as_ref(), arguments.value.value_notation.as_ref());
        let (table, fresh) = table_to_write(db, &arguments.table, &arguments.create, key, value)?;
        let outcome = EntryForm::new(&table, key, value)
            .and_then(|form| load(db, &table, form, input, format, arguments, &mut progress));
        if fresh && outcome.is_err() {
            // The first error says more than that a table stays behind, which is empty.
            let _ = db.drop_table(&table);
        }
        outcome
    })?;
    let elapsed = progress.elapsed();
    drop(progress);
    let _ = writeln!(std::io::stderr(), "{}", report(loaded, read, elapsed));
    Ok(())
}

/// Loads the input. Returns what the load did, and how many records were read.
fn load(
    db: &Database,
    table: &Table,
    form: EntryForm,
    input: Input,
    format: FileFormat,
    arguments: &Import,
    progress: &mut Progress,
) -> Result<(LoadSummary, u64), Failure> {
    let fields = FieldNames {
        key: arguments.key_field.clone(),
        value: arguments.value_field.clone(),
        no_header: arguments.no_header,
    };
    let (name, length, read_bytes) = (input.name.clone(), input.length_bytes, input.read_bytes.clone());
    let mut records = Records::new(input, format, fields, form);
    let mut read = 0;
    let counted = std::iter::from_fn(|| {
        let record = records.next();
        if record.is_some() {
            read += 1;
            progress.tell(read, || length.map(|length| read_bytes.get() as f64 / length.max(1) as f64));
        } else {
            progress.last_phase("writing");
        }
        record
    });
    let outcome = if arguments.sorted {
        db.try_bulk_load(table, counted)
    } else {
        db.try_bulk_load_unsorted(table, counted, (arguments.memory as usize) << 20)
    };
    match outcome {
        Ok(loaded) => Ok((loaded, read)),
        Err(Error::OutOfOrder { index }) => Err(Failure::Message(format!(
            "nothing was loaded: {name}: the key of record {} is not above the one before it; sort the input, or omit \
             --sorted",
            index + 1
        ))),
        Err(error) => Err(error.into()),
    }
}

/// The form that a file's ending promises.
pub fn format_of(path: Option<&Path>) -> FileFormat {
    match path.and_then(Path::extension).and_then(OsStr::to_str) {
        Some("csv") => FileFormat::Csv,
        Some("tsv" | "tab") => FileFormat::Tsv,
        Some("bin") => FileFormat::Binary,
        _ => FileFormat::Ndjson,
    }
}

/// What an import did, in words.
fn report(loaded: LoadSummary, read: u64, elapsed: Duration) -> String {
    let stored = loaded.inserted + loaded.replaced;
    let repeated = match read - stored.min(read) {
        0 => String::new(),
        repeated => format!("; {} repeated, the last value was kept", counted(repeated, "key was", "keys were")),
    };
    format!(
        "{} imported in {}, {} ({} new, {} replaced{repeated})",
        entries(stored),
        time(elapsed),
        rate(read, elapsed),
        grouped(loaded.inserted),
        grouped(loaded.replaced)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_ending_tells_its_form() {
        for (name, format) in [
            ("a.csv", FileFormat::Csv),
            ("a.tsv", FileFormat::Tsv),
            ("a.bin", FileFormat::Binary),
            ("a.ndjson", FileFormat::Ndjson),
            ("a", FileFormat::Ndjson),
        ] {
            assert_eq!(format_of(Some(Path::new(name))), format);
        }
        assert_eq!(format_of(None), FileFormat::Ndjson);
    }

    #[test]
    fn the_report_counts_repeated_keys() {
        let loaded = LoadSummary { inserted: 1000, replaced: 1 };
        let text = report(loaded, 1003, Duration::from_secs(1));
        let expected = "1,001 entries imported in 1.0 s, 1,003/s (1,000 new, 1 replaced; 2 keys were repeated, the last \
                        value was kept)";
        assert_eq!(text, expected);
    }
}
