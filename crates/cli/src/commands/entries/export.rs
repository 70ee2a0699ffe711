//! `export`: writes entries to a file that `import` reads.

use std::io::Write;
use std::path::Path;

use fulgurite::{Read, ReadTxn, Table};

use crate::arguments::{Export, FileFormat};
use crate::commands::entries::import::format_of;
use crate::commands::unfinished::{refuse_packed_name, to_file};
use crate::database::{reading, table};
use crate::entries::{Bounds, EntryForm};
use crate::failure::Failure;
use crate::output::{entries, standard_output};
use crate::progress::{Progress, rate, time};
use crate::records::RecordWriter;

/// Exports a range.
pub fn run(arguments: &Export) -> Result<(), Failure> {
    let path = arguments.output.as_deref().filter(|path| *path != Path::new("-"));
    if let (None, Some(path)) = (arguments.format, path) {
        refuse_packed_name(path)?;
    }
    let format = arguments.format.unwrap_or_else(|| format_of(path));
    reading(&arguments.file.path, |_, txn| {
        let table = table(txn, &arguments.table)?;
        let form =
            EntryForm::new(&table, arguments.key.key_notation.as_ref(), arguments.value.value_notation.as_ref())?;
        let bounds = form.bounds(&arguments.range)?;
        let mut progress = Progress::new("exporting");
        let Some(path) = path else {
            return write(txn, &table, &form, &bounds, format, standard_output(), &mut progress).map(drop);
        };
        let written = to_file(path, |file| write(txn, &table, &form, &bounds, format, file, &mut progress))?;
        let elapsed = progress.elapsed();
        drop(progress);
        let (written, time, rate) = (entries(written), time(elapsed), rate(written, elapsed));
        let _ = writeln!(std::io::stderr(), "{written} exported in {time}, {rate}");
        Ok(())
    })
}

fn write<W: Write>(
    txn: &ReadTxn,
    table: &Table,
    form: &EntryForm,
    bounds: &Bounds,
    format: FileFormat,
    out: W,
    progress: &mut Progress,
) -> Result<u64, Failure> {
    let total = txn.estimate_count(table, bounds.get())?.entries.max(1);
    let mut writer = RecordWriter::new(out, format);
    let mut written = 0;
    for entry in txn.range(table, bounds.get())? {
        let (key, value) = entry?;
        let (key, value) = form.split(&key, &value)?;
        writer.write(form, &key, value)?;
        written += 1;
        progress.tell(written, || Some(written as f64 / total as f64));
    }
    writer.finish()?;
    Ok(written)
}
