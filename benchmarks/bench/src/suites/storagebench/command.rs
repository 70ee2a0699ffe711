//! The suite `storagebench` as a command: its options, its runs, and their judgement.

use std::path::Path;

use crate::error::Result;
use crate::harness::arguments::{Counted, Grammar};
use crate::harness::judge;
use crate::harness::report::Report;
use crate::harness::suite::Suite;
use crate::suites::storagebench::run::ENGINE_NAMES;
use crate::suites::storagebench::workload::{Options, ROUNDS, Workload};
use crate::suites::storagebench::{bars, run};

/// What `storagebench --help` prints.
const HELP: &str = "\
Measures the scenarios of StorageBench: an inventory in Protocol Buffers and in FlatBuffers, and logs of events.

Usage: fulgurite-bench storagebench [OPTIONS]

Each engine adds, removes and reads pieces in bins, a transaction for each operation. Fulgurite's store of events then
replays a log into a report, appends, and shows events to followers, beside Chronicle Queue if a JDK and Maven are
installed. The content of each store is checked in the end.
docs/internals/benchmarks.md says how each figure is measured. A whole run needs 19 GB of available memory and 30 GB of
disk. With less, `replay` has fewer events, and its bars are not measured.

Options:
      --quick            Use few records and transactions, replay 1M events, and judge nothing
      --full             Replay 400M events and load 200M entities, or what memory and disk have room for
      --only WORKLOADS   Run only these workloads, separated by commas; `append` means all that begin with it
      --engines ENGINES  Measure only these engines, separated by commas
      --bins NUMBER      Bins of `add`, `add_remove`, `read` and `durable` [default: 100,000]
      --events NUMBER    Events of `replay` [default: 100,000,000; with --quick 1,000,000]
      --entity-bytes NUMBER
                         Bytes of an entity of `entities`, at most 16,384 [default: those of a bin, about 130]
      --rounds NUMBER    Rounds of each workload; the median counts [default: 3]
      --seed NUMBER      Seed of content and operations, to repeat a run [default: from the clock]
      --format FORMAT    table, or json: one line for each result [default: table]
      --out FILE         Also write the lines of JSON to FILE
      --json FILE        Also write them to FILE, after a line about the machine, versions and settings
      --directory DIR    Where the stores go; use a real disk [default: target/bench]
      --keep             Keep the stores
  -h, --help             Print this
";

/// The suite of inventories and events.
#[derive(Debug)]
pub struct StorageBench;

impl Suite for StorageBench {
    type Workload = Workload;

    fn grammar(&self) -> Grammar<Workload> {
        let workloads = Workload::ALL.map(Workload::name).to_vec();
        Grammar {
            engines: &ENGINE_NAMES,
            full: true,
            counted: Counted::BinsAndEvents,
            records: 1000..=usize::MAX,
            ..Grammar::new(HELP, workloads, Workload::named, ROUNDS)
        }
    }

    fn run(&self, options: &Options, directory: &Path, seed: u64) -> Result<Report> {
        run::run(options, directory, seed)
    }

    fn judgement(&self, options: &Options, report: &Report) -> (String, bool) {
        judge::judgement(&bars::bars(), options.quick, report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::arguments::Wanted;
    use crate::harness::arguments::tests::{names_what_it_does_not_understand, parsed};

    #[test]
    fn options_are_read() {
        let only = vec![Workload::AppendOne, Workload::AppendMany, Workload::AppendSingle];
        let (records, events) = (Some(5000), Some(1_000_000));
        let expected = Options { full: true, only, engines: vec!["lmdb"], records, events, ..Options::default() };
        let expected = Options { entity_bytes: Some(1024), ..expected };
        let line = "--full --only append --engines lmdb --bins 5_000 --events 1_000_000 --entity-bytes 1_024";
        assert_eq!(parsed(&StorageBench, line).unwrap(), Wanted::Run(Box::new(expected)));
        assert_eq!(parsed(&StorageBench, "").unwrap(), Wanted::Run(Box::default()));
        assert_eq!(parsed(&StorageBench, "--only read --help").unwrap(), Wanted::Help);
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let lines = [
            ("--only swim", "`swim`"),
            ("--engines redb", "`redb`"),
            ("--shape iris", "`--shape`"),
            ("--entity-bytes many", "`many`"),
            ("--entity-bytes 16_385", "at most 16384"),
            ("--records 5000", "`--records`"),
        ];
        names_what_it_does_not_understand(&StorageBench, &lines);
    }
}
