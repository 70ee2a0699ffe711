//! The options that all suites share, and the one parser of them. A suite says by its [`Grammar`] which of them it
//! understands.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use fulgurite_rivals::Level;

use crate::data::shape::Shape;
use crate::error::{Error, Result};

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Options of a suite whose workloads are `W`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options<W> {
    /// Small data sets; nothing is judged.
    pub quick: bool,
    /// The largest data sets that the machine has room for.
    pub full: bool,
    /// Workloads to run; empty for all.
    pub only: Vec<W>,
    /// Shapes to run; empty for all.
    pub shapes: Vec<Shape>,
    /// Names of the engines to run; empty for all.
    pub engines: Vec<&'static str>,
    /// Records of a data set, or that a store begins with.
    pub records: Option<usize>,
    /// Events of a log, in a suite that counts them apart from records.
    pub events: Option<usize>,
    /// Bytes of an entity, in a suite that has entities.
    pub entity_bytes: Option<usize>,
    /// Rounds of each workload.
    pub rounds: usize,
    /// Seed of queries and changes.
    pub seed: Option<u64>,
    /// How results are printed.
    pub format: Format,
    /// What a commit survives.
    pub level: Level,
    /// A file for lines of JSON.
    pub out: Option<PathBuf>,
    /// A file for the same behind a line about machine, versions and settings.
    pub json: Option<PathBuf>,
    /// Where stores go.
    pub directory: Option<PathBuf>,
    /// Whether they stay there.
    pub keep: bool,
    /// The suite's test of itself instead.
    pub self_test: bool,
    /// A file that gets the suite's data, instead.
    pub generate: Option<PathBuf>,
}

impl<W: PartialEq> Options<W> {
    /// Everything the suite has, in so many rounds.
    pub fn all(rounds: usize) -> Self {
        Self {
            quick: false,
            full: false,
            only: Vec::new(),
            shapes: Vec::new(),
            engines: Vec::new(),
            records: None,
            events: None,
            entity_bytes: None,
            rounds,
            seed: None,
            format: Format::Table,
            level: Level::Log,
            out: None,
            json: None,
            directory: None,
            keep: false,
            self_test: false,
            generate: None,
        }
    }

    /// Whether the workload is asked for.
    pub fn wants(&self, workload: &W) -> bool {
        self.only.is_empty() || self.only.contains(workload)
    }

    /// Whether the engine of this name is asked for.
    pub fn wants_engine(&self, name: &str) -> bool {
        self.engines.is_empty() || self.engines.contains(&name)
    }
}

/// What the arguments of a suite ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted<W> {
    /// The help.
    Help,
    /// A run.
    Run(Box<Options<W>>),
}

/// The workloads that a name means, if it is known.
type Named<W> = Box<dyn Fn(&str) -> Option<Vec<W>>>;

/// Which options a suite understands, and its help.
pub struct Grammar<W: 'static> {
    /// What `--help` prints first: what the suite does, and each option.
    pub help: String,
    /// Names of all workloads.
    pub workloads: Vec<&'static str>,
    /// The workloads that a name means.
    pub named: Named<W>,
    /// Names of all engines; none if there is no choice.
    pub engines: &'static [&'static str],
    /// Whether shapes of key can be chosen.
    pub shapes: bool,
    /// Whether the level of durability can be chosen.
    pub levels: bool,
    /// Whether it can test itself.
    pub self_test: bool,
    /// Whether it has data sets that only `--full` runs.
    pub full: bool,
    /// What its data sets consist of.
    pub counted: Counted,
    /// Rounds of each workload if nothing is said.
    pub rounds: usize,
    /// Bounds that numbers of records and events are kept within; empty where there are no records.
    pub records: RangeInclusive<usize>,
}

/// What a suite counts, and so by which options their number is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Records: `--records`.
    Records,
    /// Statements, which it writes to a file if asked to: `--statements`, `--generate`.
    Statements,
    /// Bins, events of a log, and bytes of an entity: `--bins`, `--events`, `--entity-bytes`.
    BinsAndEvents,
}

impl Counted {
    /// The option that sets the number of records.
    fn option(self) -> &'static str {
        match self {
            Self::Records => "--records",
            Self::Statements => "--statements",
            Self::BinsAndEvents => "--bins",
        }
    }
}

impl<W: PartialEq> Grammar<W> {
    /// What a suite understands that has these workloads and this many rounds, any number of records, and no choice of
    /// engines, shapes or levels.
    pub fn new(
        help: impl Into<String>,
        workloads: Vec<&'static str>,
        named: impl Fn(&str) -> Option<Vec<W>> + 'static,
        rounds: usize,
    ) -> Self {
        Self {
            help: help.into(),
            workloads,
            named: Box::new(named),
            engines: &[],
            shapes: false,
            levels: false,
            self_test: false,
            full: false,
            counted: Counted::Records,
            rounds,
            records: 0..=usize::MAX,
        }
    }

    /// Reads the arguments that follow the suite's name.
    ///
    /// # Errors
    /// [`Error::Usage`], which names what is not understood.
    pub fn parse(&self, arguments: impl Iterator<Item = String>) -> Result<Wanted<W>> {
        let mut options = Options::all(self.rounds);
        let help = each(arguments, |name, value| {
            match name {
                "--quick" => options.quick = true,
                "--full" if self.full => options.full = true,
                "--keep" => options.keep = true,
                "--self-test" if self.self_test => options.self_test = true,
                "--only" => options.only = list("workload", &value()?, &self.named)?.into_iter().flatten().collect(),
                "--shape" if self.shapes => options.shapes = list("shape", &value()?, Shape::from_name)?,
                "--engines" if !self.engines.is_empty() => {
                    options.engines = list("engine", &value()?, |name| self.engine(name))?;
                }
                "--generate" if self.counted == Counted::Statements => options.generate = Some(value()?.into()),
                "--events" if self.counted == Counted::BinsAndEvents => options.events = Some(self.count(name, value)?),
                "--entity-bytes" if self.counted == Counted::BinsAndEvents => {
                    options.entity_bytes = Some(entity_bytes(name, &value()?)?);
                }
                _ if name == self.counted.option() && !self.records.is_empty() => {
                    options.records = Some(self.count(name, value)?);
                }
                "--rounds" => options.rounds = number(name, &value()?)?.max(1) as usize,
                "--seed" => options.seed = Some(number(name, &value()?)?),
                "--format" => options.format = format(&value()?)?,
                "--level" if self.levels => options.level = level(&value()?)?,
                "--json" => options.json = Some(value()?.into()),
                "--out" => options.out = Some(value()?.into()),
                "--directory" => options.directory = Some(value()?.into()),
                _ => return Err(Error::Usage(format!("unknown option `{name}`"))),
            }
            Ok(())
        })?;
        Ok(if help { Wanted::Help } else { Wanted::Run(Box::new(options)) })
    }

    /// Reads a number of records or events.
    fn count(&self, option: &str, value: &mut dyn FnMut() -> Result<String>) -> Result<usize> {
        Ok((number(option, &value()?)? as usize).clamp(*self.records.start(), *self.records.end()))
    }

    fn engine(&self, name: &str) -> Option<&'static str> {
        self.engines.iter().copied().find(|known| *known == name)
    }

    /// The help with the names of all workloads, shapes and engines that can be chosen.
    pub fn full_help(&self) -> String {
        let mut text = format!("{}\nWorkloads: {}\n", self.help, self.workloads.join(", "));
        if self.shapes {
            text.push_str(&format!("\nShapes: {}\n", Shape::ALL.map(Shape::name).join(", ")));
        }
        if !self.engines.is_empty() {
            text.push_str(&format!("\nEngines: {}\n", self.engines.join(", ")));
        }
        text
    }
}

/// Passes every option to `apply`, with a function that returns its value, which follows a space or an equals sign.
/// Other arguments are passed as they are. Returns whether the help was asked for.
pub fn each(
    mut arguments: impl Iterator<Item = String>,
    mut apply: impl FnMut(&str, &mut dyn FnMut() -> Result<String>) -> Result<()>,
) -> Result<bool> {
    while let Some(argument) = arguments.next() {
        let (name, inline) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value.to_owned())),
            _ => (argument, None),
        };
        if matches!(name.as_str(), "-h" | "--help") {
            return Ok(true);
        }
        apply(&name, &mut || {
            let found = inline.clone().or_else(|| arguments.next());
            found.ok_or_else(|| Error::Usage(format!("{name} needs a value")))
        })?;
    }
    Ok(false)
}

/// Larger entities would be too many bytes for the transactions of a load.
const ENTITY_BYTES_MAX: u64 = 16_384;

/// Reads a number of bytes of an entity.
fn entity_bytes(option: &str, text: &str) -> Result<usize> {
    match number(option, text)? {
        bytes @ ..=ENTITY_BYTES_MAX => Ok(bytes as usize),
        _ => Err(Error::Usage(format!("{option} is at most {ENTITY_BYTES_MAX}; it is `{text}`"))),
    }
}

/// Reads names separated by commas.
fn list<T>(kind: &str, text: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>> {
    text.split(',').map(|name| read(name).ok_or_else(|| Error::Usage(format!("unknown {kind} `{name}`")))).collect()
}

/// Reads a number, in which underscores may group digits.
pub fn number(option: &str, text: &str) -> Result<u64> {
    text.replace('_', "").parse().map_err(|_| Error::Usage(format!("{option} needs a number; it is `{text}`")))
}

/// Reads the name of a level of durability.
fn level(text: &str) -> Result<Level> {
    match text {
        "memory" => Ok(Level::Memory),
        "log" => Ok(Level::Log),
        "disk" => Ok(Level::Disk),
        _ => Err(Error::Usage(format!("unknown level `{text}`: use memory, log or disk"))),
    }
}

/// Reads the name of a format.
pub fn format(text: &str) -> Result<Format> {
    match text {
        "table" => Ok(Format::Table),
        "json" => Ok(Format::Json),
        _ => Err(Error::Usage(format!("unknown format `{text}`: use table or json"))),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::harness::suite::Suite;

    /// What a suite makes of a line.
    pub fn parsed<S: Suite>(suite: &S, line: &str) -> Result<Wanted<S::Workload>> {
        suite.grammar().parse(line.split_ascii_whitespace().map(str::to_owned))
    }

    /// Each line must be refused with a message that names what is wrong.
    pub fn names_what_it_does_not_understand<S: Suite>(suite: &S, lines: &[(&str, &str)]) {
        for (line, named) in lines {
            match parsed(suite, line) {
                Err(Error::Usage(message)) => assert!(message.contains(named), "{message}"),
                _ => panic!("`{line}` is understood"),
            }
        }
    }
}
