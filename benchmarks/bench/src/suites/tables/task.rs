//! One engine and one workload: what a process of this program is asked for.

use std::path::PathBuf;

use fulgurite_rivals::{Level, Settings, Usage};

use crate::suites::tables::content::HASHED_BYTES;
use crate::suites::tables::definition::{CACHED_PART, Definition, Kind};

/// Engines do not take less for their caches and buffers.
const CACHE_BYTES_MIN: u64 = 16 << 20;

/// What to do.
#[derive(Clone, Debug)]
pub struct Task {
    /// The suite.
    pub suite: &'static str,
    /// The workload.
    pub definition: Definition,
    /// Whether it is a quick run.
    pub quick: bool,
    /// Records before, where there are any and not as many as the workload says.
    pub records: Option<usize>,
    /// What a commit waits for, unless the workload says.
    pub level: Level,
    /// What an engine's caches may hold.
    pub cache_bytes: u64,
    /// Seed of what is done.
    pub seed: u64,
    /// Where the store goes.
    pub directory: PathBuf,
}

/// Every level of durability.
pub const LEVELS: [Level; 3] = [Level::Memory, Level::Log, Level::Disk];

impl Task {
    /// What is done, as large as the options want it.
    pub fn kind(&self) -> Kind {
        let kind = self.records.map_or(self.definition.kind, |records| self.definition.kind.with_records(records));
        if self.quick { kind.quick() } else { kind }
    }

    /// How the engine is opened.
    pub fn settings(&self) -> Settings {
        let usage = match self.kind() {
            kind if kind.has_transactions() => Usage::Transactions,
            Kind::Cache(records) => Usage::Sustained { cache_bytes: self.cached_bytes(records) },
            _ => Usage::Sustained { cache_bytes: self.cache_bytes },
        };
        Settings { level: self.definition.level.unwrap_or(self.level), usage }
    }

    /// The size of the cache for so many records; keys that are shorter than hashed ones make it a little too large.
    fn cached_bytes(&self, records: usize) -> u64 {
        let record = HASHED_BYTES + self.definition.lengths.mean();
        ((records * record / CACHED_PART) as u64).max(CACHE_BYTES_MIN)
    }

    /// What a process of its own is started with.
    pub fn arguments(&self) -> Vec<String> {
        let numbers = [u64::from(self.quick), self.records.unwrap_or(0) as u64, self.cache_bytes, self.seed];
        let mut arguments = vec![self.suite.to_owned(), self.definition.name.to_owned(), self.level.name().to_owned()];
        arguments.extend(numbers.map(|number| number.to_string()));
        arguments.push(self.directory.to_string_lossy().into_owned());
        arguments
    }
}

#[cfg(test)]
pub mod tests {
    use std::path::Path;

    use super::*;
    use crate::suites::tables::workloads::GEAFLOW;

    /// A task that takes a moment.
    pub fn small(definition: &Definition, directory: &Path) -> Task {
        Task {
            suite: GEAFLOW.name,
            definition: *definition,
            quick: true,
            records: None,
            level: Level::Log,
            cache_bytes: 64 << 20,
            seed: 11,
            directory: directory.to_owned(),
        }
    }
}
