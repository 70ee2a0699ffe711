//! Counts the instructions that operations of Fulgurite take, under valgrind, and compares them with a committed table.
//!
//! A count is the same on every machine that has the same toolchain, however busy it is: so a program can hold it,
//! where a time needs quiet and several rounds. Reading order: [`operations`] (what is counted), [`stores`] and
//! [`keys`] (on which data), [`callgrind`] (how), [`table`] (with what it is compared).

mod callgrind;
mod error;
mod keys;
mod operations;
#[cfg(feature = "quads")]
mod quads;
mod stores;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use error::{Error, Result};
use operations::Subject;
use stores::Stores;
use table::Table;

const HELP: &str = "\
Counts the instructions of operations, and compares them with a table.

Usage: fulgurite-instructions engine|quads --table FILE [--accept]

engine: gets of several shapes of key, of many keys at once and of absent ones, scans, and transactions of one put that
commit at the level Memory. quads: a SPARQL query, from its text to its solutions. Each is counted with every page search
that this machine and valgrind have; valgrind has no AVX-512.

Options:
      --table FILE   The counts to compare with
      --accept       Write the counts of this run to FILE instead
  -h, --help         Print this

Exits with 1 if a count is more than 3 % above FILE, or not in it.";

/// What the arguments ask for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Help,
    /// The program below valgrind.
    Run(Subject, PathBuf),
    Count {
        subject: Subject,
        table: PathBuf,
        accept: bool,
    },
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = parse(&arguments).and_then(|wanted| match wanted {
        Wanted::Help => {
            println!("{HELP}");
            Ok(())
        }
        Wanted::Run(subject, directory) => operations::run(subject, &Stores::below(&directory)),
        Wanted::Count { subject, table, accept } => count(subject, &table, accept),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::from(if matches!(error, Error::Usage { .. }) { 2 } else { 1 })
        }
    }
}

fn parse(arguments: &[String]) -> Result<Wanted> {
    let usage = |what: String| Error::Usage { what };
    let subject_of = |name: &str| Subject::from_name(name).ok_or_else(|| usage(format!("no subject `{name}`")));
    let (mut subject, mut table, mut accept) = (None, None, false);
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match argument {
            "-h" | "--help" => return Ok(Wanted::Help),
            "run" => {
                let (Some(name), Some(directory)) = (rest.next(), rest.next()) else {
                    return Err(usage("run needs a subject and a directory".into()));
                };
                return Ok(Wanted::Run(subject_of(name)?, directory.into()));
            }
            "--accept" => accept = true,
            "--table" => table = Some(rest.next().ok_or_else(|| usage("--table needs a file".into()))?.into()),
            name => subject = Some(subject_of(name)?),
        }
    }
    match (subject, table) {
        (Some(subject), Some(table)) => Ok(Wanted::Count { subject, table, accept }),
        (None, _) => Err(usage("engine or quads?".into())),
        (_, None) => Err(usage("which --table?".into())),
    }
}

fn count(subject: Subject, path: &Path, accept: bool) -> Result<()> {
    if subject.operations().is_empty() {
        return Err(Error::Usage { what: "this program was built without the store of quads".into() });
    }
    let mut table = Table::read(path)?;
    let mut counts = Vec::new();
    for search in callgrind::searches() {
        let directory = std::env::temp_dir().join(format!("fulgurite-instructions-{}-{search}", std::process::id()));
        fs::create_dir_all(&directory).map_err(|source| Error::io("create", &directory, source))?;
        let counted =
            subject.make(&Stores::below(&directory)).and_then(|()| callgrind::count(subject, search, &directory));
        fs::remove_dir_all(&directory).map_err(|source| Error::io("remove", &directory, source))?;
        counts.extend(counted?);
    }
    let comparison = table.compare(&counts);
    print!("{}", comparison.report);
    if accept {
        table.accept(&counts);
        return table.write(path);
    }
    if comparison.fallen > 0 {
        println!("{} counts have fallen: `cargo xtask instructions --accept` keeps them there", comparison.fallen);
    }
    if comparison.wrong > 0 {
        println!(
            "if the change is worth these instructions, `cargo xtask instructions --accept` takes them into the table"
        );
        return Err(Error::Differs { counts: comparison.wrong });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Wanted> {
        parse(&line.split_ascii_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_understood() {
        let table = PathBuf::from("a.txt");
        let expected = Wanted::Count { subject: Subject::Engine, table, accept: true };
        assert_eq!(parsed("engine --table a.txt --accept").expect("they make sense"), expected);
        let expected = Wanted::Run(Subject::Quads, PathBuf::from("/d"));
        assert_eq!(parsed("run quads /d").expect("they make sense"), expected);
    }

    #[test]
    fn arguments_that_make_no_sense_are_refused() {
        for line in ["", "engine", "--table a.txt", "engine --table", "swim --table a.txt", "run engine"] {
            assert!(matches!(parsed(line), Err(Error::Usage { .. })), "{line}");
        }
    }

    #[test]
    fn every_operation_gives_the_answers_that_it_counts() {
        for subject in [Subject::Engine, Subject::Quads] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let stores = Stores::below(directory.path());
            subject.make(&stores).expect("an empty directory takes them");
            operations::run(subject, &stores).expect("each answer is checked");
        }
    }
}
