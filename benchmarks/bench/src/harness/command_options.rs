//! The options of commands that print a report of their own, and the parser of them.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::floors::around::{Around, Floors};
use crate::harness::arguments::{each, number};
use crate::harness::report::Report;
use crate::harness::suite::{default_directory, ensure_writable, seed_of_the_clock};
use crate::measure::machine;

/// What every such command understands.
#[derive(Clone, Debug)]
pub struct CommandOptions {
    /// Small data sets; nothing is judged.
    pub quick: bool,
    /// The seed of data and questions.
    pub seed: u64,
    /// Where files go.
    pub directory: PathBuf,
    /// A file for results as lines of JSON.
    pub json: Option<PathBuf>,
}

impl CommandOptions {
    /// Reads the arguments that follow the command's name. `own` gets each option that is not among the shared ones,
    /// with a function that reads its value, a number from 1 on; it returns whether the command has such an option.
    /// None if the help was asked for.
    ///
    /// # Errors
    /// [`Error::Usage`], which names what is not understood.
    pub fn parse(
        arguments: Vec<String>,
        mut own: impl FnMut(&str, &mut dyn FnMut() -> Result<u64>) -> Result<bool>,
    ) -> Result<Option<Self>> {
        let (mut quick, mut seed, mut directory, mut json) = (false, None, None, None);
        let help = each(arguments.into_iter(), |name, value| {
            match name {
                "--quick" => quick = true,
                "--seed" => seed = Some(number(name, &value()?)?),
                "--directory" => directory = Some(PathBuf::from(value()?)),
                "--json" => json = Some(PathBuf::from(value()?)),
                _ => {
                    if !own(name, &mut || count(name, &value()?))? {
                        return Err(Error::Usage(format!("unknown option `{name}`")));
                    }
                }
            }
            Ok(())
        })?;
        if help {
            return Ok(None);
        }
        let directory = directory.map_or_else(default_directory, Ok)?;
        Ok(Some(Self { quick, seed: seed.unwrap_or_else(seed_of_the_clock), directory, json }))
    }

    /// Begins a run: shows the machine and the seed, and measures the floors.
    ///
    /// # Errors
    /// If the file of `--json` cannot be written.
    pub fn begin(&self) -> Result<Floors> {
        self.json.iter().try_for_each(|path| ensure_writable(path))?;
        eprintln!("{}; --seed {}", machine::summary(None), self.seed);
        let floors = Floors::measure(&self.directory, self.seed, self.quick);
        eprintln!("limits: {}", floors.in_words());
        Ok(floors)
    }

    /// Writes what was found to the file of `--json`, with the machine and, of a whole run, its floors before and after
    /// the run. Does nothing without that option.
    ///
    /// # Errors
    /// What the disk answers.
    pub fn write(&self, before: Floors, mut report: Report) -> Result<()> {
        let Some(path) = &self.json else { return Ok(()) };
        if !self.quick {
            let around = Around { before, after: Floors::measure(&self.directory, self.seed, false) };
            report.notes.extend(around.notes());
            report.limits = Some(around);
        }
        let text = report.json_with_machine(&machine::summary(report.search), self.seed);
        std::fs::write(path, text).map_err(|error| Error::io("write", path, error))
    }
}

/// Reads a number from 1 on.
fn count(option: &str, text: &str) -> Result<u64> {
    match number(option, text)? {
        0 => Err(Error::Usage(format!("{option} needs a number from 1 on; it is `{text}`"))),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<(Option<CommandOptions>, u64)> {
        let mut records = 0;
        let arguments = line.split_whitespace().map(str::to_owned).collect();
        let options = CommandOptions::parse(arguments, |name, value| {
            let is_known = name == "--records";
            if is_known {
                records = value()?;
            }
            Ok(is_known)
        })?;
        Ok((options, records))
    }

    #[test]
    fn options_are_read_and_what_is_not_understood_is_named() {
        let (options, records) = parsed("--records 7_000 --seed=3 --directory /d --quick --json /j").unwrap();
        let options = options.unwrap();
        assert!(records == 7000 && options.seed == 3 && options.quick && options.directory == *"/d");
        assert_eq!(options.json, Some("/j".into()));
        assert!(parsed("--quick --help").unwrap().0.is_none());
        for (line, named) in
            [("--swim", "`--swim`"), ("--seed", "--seed"), ("--records 0", "`0`"), ("--records x", "`x`")]
        {
            let error = parsed(line).expect_err(line).to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
