//! `facts write`: facts from JSON files.

use std::fs::File;
use std::io::{BufReader, Read, Write as _};
use std::path::Path;
use std::time::Instant;

use super::database::changing;
use crate::arguments::facts::Write;
use crate::failure::Failure;
use crate::output::counted;
use crate::progress::{rate, time};

/// Writes, and prints a line for each file.
pub fn run(arguments: &Write) -> Result<(), Failure> {
    if arguments.inputs.iter().filter(|path| *path == Path::new("-")).count() > 1 {
        return Err(Failure::Message("standard input (-) can be read once only".into()));
    }
    // A mistyped name is found before anything is written.
    let inputs = arguments.inputs.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    changing(&arguments.database, arguments.writing, |database| {
        for (path, input) in arguments.inputs.iter().zip(inputs) {
            let begun = Instant::now();
            let written = database.write_json(input, arguments.unit.as_deref());
            let written = written.map_err(|error| nothing_written(path, error))?;
            let elapsed = begun.elapsed();
            let _ = writeln!(
                std::io::stderr(),
                "{}: {} read in {}, {} ({} new)",
                path.display(),
                counted(written.listed, "fact", "facts"),
                time(elapsed),
                rate(written.listed, elapsed),
                counted(written.new as u64, "fact", "facts"),
            );
        }
        Ok(())
    })
}

fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    let failed = |error| Failure::file(path, "cannot be read", &error);
    if std::fs::metadata(path).map_err(failed)?.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
    }
    Ok(Box::new(BufReader::new(File::open(path).map_err(failed)?)))
}

/// The failure of a file. Its exit code is that of `error`.
fn nothing_written(path: &Path, error: fulgurite_facts::Error) -> Failure {
    let failure = Failure::from(error);
    let what = match failure {
        Failure::Engine(fulgurite::Error::Indeterminate { .. }) => "it is not known whether this file was written",
        _ => "nothing of this file was written",
    };
    let message = format!("{}: {what}: {failure}", path.display());
    failure.reworded(message)
}
