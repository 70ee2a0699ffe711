//! Measurements that need a process of their own: because they change how the whole process searches or maps, or
//! because they are about its memory. The parent starts this same program with the arguments of a [`Task`] and reads
//! [`Finding`]s, one in a line.

use std::path::{Path, PathBuf};

use fulgurite_rivals::{Engine, Lmdb, Purpose, Reader, Store};

use crate::data::dataset::{Dataset, Spec};
use crate::data::random::Random;
use crate::data::shape::Shape;
use crate::data::values::Values;
use crate::engines::fulgurite::Fulgurite;
use crate::error::{Error, Result};
use crate::measure::child;
use crate::measure::clock::Sample;
use crate::measure::machine::{Mapped, MemoryWatch};
use crate::measure::rounds::{Turn, interleaved};
use crate::suites::core::self_test::LmdbControl;
use crate::suites::core::verify;
use crate::suites::core::workload::Read;

/// The word after the program's name that asks for a task.
pub const VERB: &str = "worker";

/// What `FULGURITE_SEARCH` calls searching with what every processor of the target has.
const PORTABLE: &str = "portable";

/// What differs from the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Gets with what every processor of the target has.
    Portable,
    /// Gets without huge pages.
    NoHugePages,
    /// Private memory of an unsorted load.
    LoadMemory,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Portable, Self::NoHugePages, Self::LoadMemory];

    fn name(self) -> &'static str {
        match self {
            Self::Portable => PORTABLE,
            Self::NoHugePages => "no-huge-pages",
            Self::LoadMemory => "load-memory",
        }
    }
}

/// A measurement in a process of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// What to measure.
    pub kind: Kind,
    /// Whether LMDB is on both sides.
    pub self_test: bool,
    /// The data set.
    pub spec: Spec,
    /// Rounds.
    pub rounds: usize,
    /// Gets in a round.
    pub gets: usize,
    /// Seed of the queries.
    pub seed: u64,
    /// The measured engine's store; for a load an empty directory.
    pub ours: PathBuf,
    /// The rival's store.
    pub theirs: PathBuf,
}

/// A line that a worker prints.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// A round of gets: 0 for the measured engine and 1 for the rival; whether the gets were serialised.
    Round {
        /// Which engine.
        engine: usize,
        /// Whether each get waited for the last.
        serialised: bool,
        /// The cost.
        sample: Sample,
    },
    /// Share of an engine's resident file that huge pages map.
    HugePercent {
        /// Which engine.
        engine: usize,
        /// The share.
        percent: u64,
    },
    /// Largest private memory.
    PrivateBytes(u64),
}

/// What the process of its own does: the arguments are the task's.
pub fn work(arguments: &[String]) -> Result<()> {
    let task = Task::parse(arguments)?;
    match task.self_test {
        true => task.run::<LmdbControl, Lmdb>(),
        false => task.run::<Fulgurite, Lmdb>(),
    }
}

impl Task {
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.kind.name().to_owned(), self.spec.shape.name().to_owned()];
        let numbers = [
            u64::from(self.self_test),
            self.spec.records as u64,
            self.spec.hashed_key_bytes as u64,
            self.spec.value_bytes as u64,
            self.rounds as u64,
            self.gets as u64,
            self.seed,
        ];
        arguments.extend(numbers.map(|number| number.to_string()));
        arguments.extend([&self.ours, &self.theirs].map(|path| path.to_string_lossy().into_owned()));
        arguments
    }

    /// Reads the arguments that the parent gave.
    fn parse(arguments: &[String]) -> Result<Self> {
        let unreadable =
            || Error::Usage(format!("`{VERB}` takes the arguments that the suite `core` passes to its own processes"));
        let [kind, shape, numbers @ .., ours, theirs] = arguments else { return Err(unreadable()) };
        let kind = Kind::ALL.into_iter().find(|candidate| candidate.name() == kind).ok_or_else(unreadable)?;
        let shape = Shape::from_name(shape).ok_or_else(unreadable)?;
        let numbers: Vec<u64> = numbers.iter().flat_map(|number| number.parse()).collect();
        let [self_test, records, hashed_key_bytes, value_bytes, rounds, gets, seed] = numbers[..] else {
            return Err(unreadable());
        };
        let spec = Spec {
            shape,
            records: records as usize,
            hashed_key_bytes: hashed_key_bytes as usize,
            value_bytes: value_bytes as usize,
        };
        let (ours, theirs) = (ours.into(), theirs.into());
        let (rounds, gets) = (rounds as usize, gets as usize);
        Ok(Self { kind, self_test: self_test != 0, spec, rounds, gets, seed, ours, theirs })
    }

    /// Runs the task in a process of its own.
    pub fn spawn(&self) -> Result<Vec<Finding>> {
        let environment = (self.kind == Kind::Portable).then_some(("FULGURITE_SEARCH", PORTABLE));
        let mut arguments = vec![VERB.to_owned()];
        arguments.extend(self.arguments());
        child::answers(self.kind.name(), &arguments, environment, Finding::parse)
    }

    /// Runs the task in this process and prints what it finds.
    fn run<F: Engine, L: Engine>(&self) -> Result<()> {
        let findings = match self.kind {
            Kind::LoadMemory => vec![self.load::<F>()?],
            Kind::Portable => self.gets::<F, L>()?,
            Kind::NoHugePages => {
                rustix::thread::disable_transparent_huge_pages(true)
                    .map_err(|error| Error::io("disable huge pages", Path::new("this process"), error.into()))?;
                self.gets::<F, L>()?
            }
        };
        findings.iter().for_each(|finding| println!("{}", finding.line()));
        Ok(())
    }

    fn gets<F: Engine, L: Engine>(&self) -> Result<Vec<Finding>> {
        let data = Dataset::new(self.spec);
        let (ours, theirs) = (F::open(&self.ours, Purpose::Read)?, L::open(&self.theirs, Purpose::Read)?);
        if self.kind == Kind::Portable
            && let Some(search) = ours.search()?
            && search != PORTABLE
        {
            return Err(Error::Wrong {
                workload: "get_hit_portable",
                what: format!("the engine searches with {search} instead"),
            });
        }
        let (our_reader, their_reader) = (ours.reader()?, theirs.reader()?);
        verify::all_content(&our_reader, &data)?;
        verify::all_content(&their_reader, &data)?;
        let mut findings = Vec::new();
        for read in [Read::Hit, Read::HitSerialised] {
            let serialised = read == Read::HitSerialised;
            let questions = |round: usize| {
                let stream = (u64::from(serialised) << 32) + round as u64;
                read.prepare(&data, self.gets, &mut Random::new(self.seed, stream))
            };
            let our_turn: Turn<'_> = Box::new(|round| read.run(&our_reader, &data, &questions(round)));
            let their_turn: Turn<'_> = Box::new(|round| read.run(&their_reader, &data, &questions(round)));
            let rounds = interleaved(self.rounds, vec![(F::NAME, our_turn), (L::NAME, their_turn)])?;
            for (engine, (_, samples)) in rounds.into_iter().enumerate() {
                findings.extend(samples.into_iter().map(|sample| Finding::Round { engine, serialised, sample }));
            }
        }
        for (engine, file) in [F::data_file(&self.ours), L::data_file(&self.theirs)].iter().enumerate() {
            findings.push(Finding::HugePercent { engine, percent: Mapped::of(file)?.huge_percent() });
        }
        Ok(findings)
    }

    /// Records are made one by one in the order of their numbers, which is none in the order of their keys, so that
    /// the memory is the engine's.
    fn load<F: Engine>(&self) -> Result<Finding> {
        let values = Values::new(self.spec.value_bytes);
        let watch = MemoryWatch::start();
        let mut store = F::create(&self.ours, Purpose::Load)?;
        store.load_unsorted((0..self.spec.records as u32).map(|id| {
            let mut key = Vec::with_capacity(self.spec.hashed_key_bytes);
            self.spec.shape.write_key(id, self.spec.hashed_key_bytes, &mut key);
            (key, values.get(id))
        }))?;
        let largest = watch.finish();
        let mut seen = 0;
        store.reader()?.scan(|_, _| seen += 1)?;
        store.close()?;
        match seen == self.spec.records {
            true => Ok(Finding::PrivateBytes(largest)),
            false => Err(Error::Wrong { workload: "load_memory", what: format!("the store has {seen} records") }),
        }
    }
}

impl Finding {
    fn line(&self) -> String {
        match self {
            Self::Round { engine, serialised, sample } => {
                format!("round {engine} {} {}", u8::from(*serialised), sample.words())
            }
            Self::HugePercent { engine, percent } => format!("huge {engine} {percent}"),
            Self::PrivateBytes(bytes) => format!("private {bytes}"),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let (kind, numbers) = line.split_once(' ')?;
        let numbers: Vec<f64> = numbers.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        match (kind, &numbers[..]) {
            ("round", &[engine, serialised, ref rest @ ..]) => Some(Self::Round {
                engine: engine as usize,
                serialised: serialised != 0.0,
                sample: Sample::from_numbers(rest)?,
            }),
            ("huge", &[engine, percent]) => {
                Some(Self::HugePercent { engine: engine as usize, percent: percent as u64 })
            }
            ("private", &[bytes]) => Some(Self::PrivateBytes(bytes as u64)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_survives_the_command_line() {
        let task = Task {
            kind: Kind::NoHugePages,
            self_test: true,
            spec: Spec { shape: Shape::Iris, records: 5, hashed_key_bytes: 32, value_bytes: 100 },
            rounds: 3,
            gets: 77,
            seed: u64::MAX,
            ours: "/a b/c".into(),
            theirs: "/d".into(),
        };
        assert_eq!(Task::parse(&task.arguments()).unwrap(), task);
        assert!(Task::parse(&["portable".to_owned()]).is_err());
    }

    #[test]
    fn findings_survive_the_pipe() {
        let sample = Sample { operations: 9, cpu_ns: 1.25, wall_ns: 2.5, p50_ns: 0.5, p99_ns: 3.0 };
        for finding in [
            Finding::Round { engine: 1, serialised: true, sample },
            Finding::HugePercent { engine: 0, percent: 98 },
            Finding::PrivateBytes(5 << 30),
        ] {
            assert_eq!(Finding::parse(&finding.line()), Some(finding));
        }
        assert_eq!(Finding::parse("round 1 2"), None);
        assert_eq!(Finding::parse("nonsense"), None);
    }
}
