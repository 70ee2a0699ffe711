//! One engine and one workload, or a part of it: what a process of this program is asked for, and what it answers.

use std::path::PathBuf;

use crate::measure::clock::Sample;
use crate::suites::sustained::workload::{Figure, Measure, Size, Workload};

/// Which part of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it, or the part that is measured.
    Measure,
    /// What the base of the bars is measured on: everything loaded in order.
    AtRest,
    /// Loading.
    Load,
    /// Comparing.
    Verify,
}

impl Part {
    const ALL: [Self; 4] = [Self::Measure, Self::AtRest, Self::Load, Self::Verify];

    fn name(self) -> &'static str {
        match self {
            Self::Measure => "measure",
            Self::AtRest => "at-rest",
            Self::Load => "load",
            Self::Verify => "verify",
        }
    }
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// What is measured.
    pub workload: Workload,
    /// Which part of it.
    pub part: Part,
    /// How much of it.
    pub size: Size,
    /// What an engine's caches may hold.
    pub cache_bytes: u64,
    /// Seed of puts and reads.
    pub seed: u64,
    /// Whether free memory is touched before it is needed.
    pub warm: bool,
    /// Steps that an earlier part has made.
    pub steps: u64,
    /// Where the store is.
    pub directory: PathBuf,
    /// A control group to enter.
    pub group: Option<PathBuf>,
}

/// A line that a task prints.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// What something cost.
    Time(Measure, Sample),
    /// A figure that is not a time.
    Amount(Figure, f64),
    /// Steps that were made, for the part that comes after.
    Steps(u64),
    /// The engine answered wrongly; nothing else counts.
    Wrong(String),
}

impl Task {
    /// The arguments of the process.
    pub fn arguments(&self) -> Vec<String> {
        let Size { base, puts, gets, seeks, databases, span_ms } = self.size;
        let sizes = [base, puts, gets, seeks, databases, span_ms].map(|number| number as u64);
        let rest = [self.cache_bytes, self.seed, u64::from(self.warm), self.steps];
        let mut arguments = vec![self.workload.name().to_owned(), self.part.name().to_owned()];
        arguments.extend(sizes.into_iter().chain(rest).map(|number| number.to_string()));
        let paths = [Some(&self.directory), self.group.as_ref()];
        arguments.extend(paths.into_iter().flatten().map(|path| path.to_string_lossy().into_owned()));
        arguments
    }

    /// Reads [`Task::arguments`].
    pub fn parse(arguments: &[String]) -> Option<Self> {
        let [workload, part, rest @ ..] = arguments else { return None };
        let (numbers, paths) = rest.split_at_checked(10)?;
        let numbers: Vec<u64> = numbers.iter().map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let &[base, puts, gets, seeks, databases, span_ms, cache_bytes, seed, warm, steps] = &numbers[..] else {
            return None;
        };
        let [base, puts, gets, seeks, databases, span_ms] =
            [base, puts, gets, seeks, databases, span_ms].map(|number| number as usize);
        let (directory, group) = match paths {
            [directory] => (directory.into(), None),
            [directory, group] => (directory.into(), Some(group.into())),
            _ => return None,
        };
        Some(Self {
            workload: Workload::from_name(workload)?,
            part: Part::ALL.into_iter().find(|candidate| candidate.name() == part)?,
            size: Size { base, puts, gets, seeks, databases, span_ms },
            cache_bytes,
            seed,
            warm: warm != 0,
            steps,
            directory,
            group,
        })
    }
}

impl Finding {
    /// The line that a process prints.
    pub fn line(&self) -> String {
        match self {
            Self::Time(measure, sample) => format!("time {} {}", measure.name(), sample.words()),
            Self::Amount(figure, value) => format!("amount {} {value}", figure.name()),
            Self::Steps(steps) => format!("steps - {steps}"),
            Self::Wrong(what) => format!("wrong - {what}"),
        }
    }

    /// Reads [`Finding::line`].
    pub fn parse(line: &str) -> Option<Self> {
        let (kind, rest) = line.split_once(' ')?;
        let (name, rest) = rest.split_once(' ')?;
        if kind == "wrong" {
            return Some(Self::Wrong(rest.to_owned()));
        }
        let numbers: Vec<f64> = rest.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        match (kind, &numbers[..]) {
            ("time", numbers) => {
                let measure = Measure::ALL.into_iter().find(|measure| measure.name() == name)?;
                Some(Self::Time(measure, Sample::from_numbers(numbers)?))
            }
            ("amount", &[value]) => {
                let figure = Figure::ALL.into_iter().find(|figure| figure.name() == name)?;
                Some(Self::Amount(figure, value))
            }
            ("steps", &[steps]) => Some(Self::Steps(steps as u64)),
            _ => None,
        }
    }
}

#[cfg(test)]
pub mod tests {
    use std::path::Path;

    use super::*;

    /// A task that takes a moment.
    pub fn small(workload: Workload, directory: &Path) -> Task {
        Task {
            workload,
            part: Part::Measure,
            size: Size { base: 2000, puts: 4000, gets: 640, seeks: 70, databases: 3, span_ms: 20 },
            cache_bytes: 64 << 20,
            seed: 11,
            warm: false,
            steps: 0,
            directory: directory.to_owned(),
            group: None,
        }
    }

    #[test]
    fn a_task_survives_the_command_line() {
        let task = Task {
            seed: u64::MAX,
            warm: true,
            steps: 9,
            part: Part::Verify,
            group: Some("/sys/fs/cgroup/a b".into()),
            ..small(Workload::Bounded, Path::new("/a b/c"))
        };
        assert_eq!(Task::parse(&task.arguments()), Some(task.clone()));
        let without = Task { group: None, ..task };
        assert_eq!(Task::parse(&without.arguments()), Some(without.clone()));
        assert_eq!(Task::parse(&without.arguments()[..5]), None);
    }

    #[test]
    fn findings_survive_the_pipe() {
        let sample = Sample { operations: 9, cpu_ns: 1.25, wall_ns: 2.5, p50_ns: 0.5, p99_ns: 3.0 };
        for finding in [
            Finding::Time(Measure::SeekDebt, sample),
            Finding::Amount(Figure::SpacePeak, 2.5),
            Finding::Steps(77),
            Finding::Wrong("put1: a get is wrong".to_owned()),
        ] {
            assert_eq!(Finding::parse(&finding.line()), Some(finding));
        }
        assert_eq!(Finding::parse("time get_hit_rest 1"), None);
        assert_eq!(Finding::parse("amount beauty 1"), None);
        assert_eq!(Finding::parse("nonsense"), None);
    }
}
