//! `export`: writes entries to a file that `import` reads.

use std::io::Write;
use std::path::Path;

use fulgurite::{Read, ReadTxn, Table, Value};

use crate::arguments::{Export, FileFormat};
use crate::commands::entries::import::format_of;
use crate::commands::skipped::{Skipped, with_advice};
use crate::commands::unfinished::{refuse_packed_name, to_file};
use crate::database::{reading_as, table, to_read, warn_of_lacking};
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
    reading_as(to_read(arguments.skip_damaged), &arguments.file.path, |db, txn| {
        warn_of_lacking(db);
        let table = table(txn, &arguments.table)?;
        let form =
            EntryForm::new(&table, arguments.key.key_notation.as_ref(), arguments.value.value_notation.as_ref())?;
        let bounds = form.bounds(&arguments.range)?;
        let exported = Exported { txn, table: &table, form: &form, bounds: &bounds, format };
        let mut skipped = arguments.skip_damaged.then(Skipped::default);
        let mut progress = Progress::new("exporting");
        let written = match path {
            None => exported.write(standard_output(), skipped.as_mut(), &mut progress).map(|_| None),
            Some(path) => to_file(path, |file| exported.write(file, skipped.as_mut(), &mut progress)).map(Some),
        };
        let written = written.map_err(|failure| with_advice(failure, skipped.as_ref(), "export", "entries"))?;
        let elapsed = progress.elapsed();
        drop(progress);
        if let Some(written) = written {
            let (written, time, rate) = (entries(written), time(elapsed), rate(written, elapsed));
            let _ = writeln!(std::io::stderr(), "{written} exported in {time}, {rate}");
        }
        skipped.map_or(Ok(()), |skipped| skipped.end(&arguments.file.path))
    })
}

/// The entries to export, and the form to write them in.
struct Exported<'e> {
    txn: &'e ReadTxn,
    table: &'e Table,
    form: &'e EntryForm,
    bounds: &'e Bounds,
    format: FileFormat,
}

impl Exported<'_> {
    /// Writes them, and returns how many they are. With `skipped`, passes over damage, and notes it there.
    fn write<W: Write>(&self, out: W, skipped: Option<&mut Skipped>, progress: &mut Progress) -> Result<u64, Failure> {
        let estimate = match self.txn.estimate_count(self.table, self.bounds.get()) {
            Err(error) if skipped.is_none() => return Err(error.into()),
            estimate => estimate.ok(),
        };
        let total = estimate.map(|estimate| estimate.entries.max(1));
        let mut writer = RecordWriter::new(out, self.format);
        let mut written = 0;
        let mut write = |(key, value): (Value<'_>, Value<'_>)| {
            let (key, value) = self.form.split(&key, &value)?;
            writer.write(self.form, &key, value)?;
            written += 1;
            progress.tell(written, || Some((written as f64 / total? as f64).min(1.0)));
            Ok::<_, Failure>(())
        };
        match skipped {
            None => {
                for entry in self.txn.range(self.table, self.bounds.get())? {
                    write(entry?)?;
                }
            }
            Some(skipped) => {
                for entry in self.txn.salvage(self.table, self.bounds.get())? {
                    match entry {
                        Ok(entry) => write(entry)?,
                        Err(error) => skipped.note(error)?,
                    }
                }
                if let Some(estimate) = estimate {
                    let about = if estimate.low == estimate.high { "" } else { "about " };
                    let missing = estimate.entries.saturating_sub(written);
                    skipped.note_missing(missing, format!("{about}{}", entries(missing)));
                }
            }
        }
        writer.finish()?;
        Ok(written)
    }
}
