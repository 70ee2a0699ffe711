//! `export`: writes entries to a file that `import` reads.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use fulgurite::{Read, ReadTxn, Table};

use crate::arguments::{Export, FileFormat};
use crate::commands::entries::import::format_of;
use crate::database::{reading, table};
use crate::entries::{Bounds, EntryForm};
use crate::failure::Failure;
use crate::output::{entries, standard_output};
use crate::progress::{Progress, rate, time};
use crate::records::RecordWriter;

/// Exports a range.
pub fn run(arguments: &Export) -> Result<(), Failure> {
    let path = arguments.output.as_deref().filter(|path| *path != Path::new("-"));
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

/// Writes a new file, and removes it again if that fails.
///
/// # Errors
/// If the file is there, or cannot be written; what `work` fails with.
pub fn to_file(path: &Path, work: impl FnOnce(&mut BufWriter<File>) -> Result<u64, Failure>) -> Result<u64, Failure> {
    let file = File::create_new(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::from(fulgurite::Error::FileExists { path: path.to_path_buf() }),
        _ => Failure::file(path, "cannot be created", &error),
    })?;
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
    let outcome = work(&mut out).and_then(|written| {
        out.flush().and_then(|()| out.get_ref().sync_all()).map_err(Failure::Output)?;
        Ok(written)
    });
    outcome.map_err(|failure| {
        let _ = std::fs::remove_file(path);
        match failure {
            Failure::Output(error) => Failure::file(path, "writing failed", &error),
            other => other,
        }
    })
}

/// Bytes that gather before they are written.
const BUFFER_BYTES: usize = 256 << 10;
