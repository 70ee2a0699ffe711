//! What is measured.

/// The suite's name.
pub const SUITE: &str = "rdf4j";

/// The contest of bulk loads with the default orders beside the same rivals.
pub const BULK_LOAD_DEFAULT: &str = "bulk_load_default";

/// Space of the settled store.
pub const SPACE: &str = "bytes_per_statement";

/// The same after loads in transactions.
pub const SPACE_OF_TRANSACTIONS: &str = "bytes_per_statement_transactional";

/// One measurement: a process of its own for each engine in each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// All statements from a file into a new store, by the engine's fastest way, until it is closed.
    BulkLoad,
    /// The same in transactions of [`BATCH_STATEMENTS`].
    TransactionalLoad,
    /// All statements, every byte of them. Not a figure.
    Verify,
    /// All statements as numbers of terms.
    ScanIds,
    /// All statements as terms.
    ScanTerms,
    /// The statements of a subject, about ten.
    BySubject,
    /// The statements of a predicate and an object.
    ByPredicateObject,
    /// The statements of subjects, by so many threads.
    Threads(usize),
    /// Opening a store, until it has answered a question.
    Open,
    /// Every query.
    Sparql,
}

use Measure::{
    BulkLoad, ByPredicateObject, BySubject, Open, ScanIds, ScanTerms, Sparql, Threads, TransactionalLoad, Verify,
};

/// Statements of a transaction of [`Measure::TransactionalLoad`].
pub const BATCH_STATEMENTS: usize = 100_000;

impl Measure {
    /// Those that options can choose, in the order in which they are done. The first one fills the stores of the
    /// others.
    pub const ALL: [Self; 12] = [
        BulkLoad,
        TransactionalLoad,
        ScanIds,
        ScanTerms,
        BySubject,
        ByPredicateObject,
        Threads(1),
        Threads(2),
        Threads(4),
        Threads(8),
        Open,
        Sparql,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            BulkLoad => "bulk_load",
            TransactionalLoad => "transactional_load",
            Verify => "verify",
            ScanIds => "scan_ids",
            ScanTerms => "scan_terms",
            BySubject => "by_subject",
            ByPredicateObject => "by_predicate_object",
            Threads(1) => "threads_1",
            Threads(2) => "threads_2",
            Threads(4) => "threads_4",
            Threads(_) => "threads_8",
            Open => "open",
            Sparql => "sparql",
        }
    }

    /// Its name on the command line of a process, which also gets the number of threads.
    pub fn verb(self) -> &'static str {
        match self {
            Threads(_) => "threads",
            other => other.name(),
        }
    }

    /// Threads that ask.
    pub fn threads(self) -> usize {
        match self {
            Threads(count) => count,
            _ => 1,
        }
    }

    /// Reads [`Measure::verb`].
    pub fn of_verb(verb: &str, threads: usize) -> Option<Self> {
        if verb == "threads" {
            return [1, 2, 4, 8].contains(&threads).then_some(Threads(threads));
        }
        Self::ALL.into_iter().chain([Verify]).find(|measure| measure.name() == verb && measure.threads() == 1)
    }

    /// Whether it writes a new store.
    pub fn loads(self) -> bool {
        matches!(self, BulkLoad | TransactionalLoad)
    }

    /// The measurements that a name means; `threads` means all of these.
    pub fn named(name: &str) -> Option<Vec<Self>> {
        let found: Vec<Self> =
            Self::ALL.into_iter().filter(|measure| measure.name() == name || measure.verb() == name).collect();
        (!found.is_empty()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_measurements_and_verbs_are_read_back() {
        for measure in Measure::ALL {
            assert!(Measure::named(measure.name()).unwrap().contains(&measure));
            assert_eq!(Measure::of_verb(measure.verb(), measure.threads()), Some(measure));
        }
        assert_eq!(Measure::named("threads").unwrap().len(), 4);
        assert_eq!(Measure::named("verify"), None);
        assert_eq!(Measure::of_verb("verify", 1), Some(Verify));
        assert_eq!(Measure::of_verb("threads", 3), None);
    }
}
