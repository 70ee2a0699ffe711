//! A run of the suite: which workloads, with which engines.

use std::path::Path;

use fulgurite_rivals::{Level, Lmdb, RocksDb, Settings, Usage};

use crate::engines::fulgurite::Fulgurite;
use crate::engines::known::{self, EngineNote};
use crate::error::Result;
use crate::harness::judge::MEASURED;
use crate::harness::report::Report;
use crate::measure::places::Places;
use crate::suites::storagebench::contestant::{Entry, entry};
use crate::suites::storagebench::events::{append, follow, queue, replay};
use crate::suites::storagebench::suite::Suite;
use crate::suites::storagebench::workload::{Options, Workload};
use crate::suites::storagebench::{entities, inventory};

/// Names of the engines, the measured one first.
pub const ENGINE_NAMES: [&str; 5] = ["fulgurite", "lmdb", "rocksdb", "sqlite", queue::NAME];

/// Runs the workloads that the options choose.
///
/// # Errors
/// A wrong answer; what an engine answered.
pub fn run(options: &Options, directory: &Path, seed: u64) -> Result<Report> {
    let mut report = Report::default();
    let mut engines = vec![entry::<Fulgurite>(), entry::<Lmdb>(), entry::<RocksDb>()];
    #[cfg(feature = "sqlite")]
    engines.push(entry::<fulgurite_rivals::Sqlite>());
    #[cfg(not(feature = "sqlite"))]
    if let (true, Some(reason)) = (options.wants_engine("sqlite"), crate::engines::not_built::sqlite()) {
        report.notes.push(format!("sqlite was not measured: {reason}"));
    }
    engines.retain(|entry| options.wants_engine(entry.engine.name));
    let missing = |entry: &Entry| (entry.engine.name, (entry.engine.missing)());
    let engines = known::present(&engines, missing, &mut report.notes);
    let names: Vec<&str> = engines.iter().map(|entry| entry.engine.name).collect();
    report.engines = known::notes(&names, Settings { level: Level::Log, usage: Usage::SingleOperations });
    if options.wants(&Workload::Durable) {
        let settings = Settings { level: Level::Disk, usage: Usage::Transactions };
        let durable = Workload::Durable.name();
        let note = |note: &EngineNote| format!("{durable}: {} is opened with: {}", note.name, note.settings);
        report.notes.extend(known::notes(&names, settings).iter().map(note));
    }
    let places = Places::new(directory, options.keep)?;
    let logs = logs(options, &mut report);
    known::refuse_none(&[&names[..], &logs[..]].concat(), &report.notes)?;
    let mut suite = Suite::new(options, places, seed, engines, report);
    suite.logs = logs;
    for workload in Workload::ALL.into_iter().filter(|workload| options.wants(workload)) {
        match workload {
            Workload::Add | Workload::AddRemove | Workload::Read | Workload::Durable => {
                inventory::measure(&mut suite, workload)?;
            }
            Workload::Entities => entities::measure(&mut suite)?,
            Workload::Replay => replay::measure(&mut suite)?,
            Workload::AppendOne | Workload::AppendMany | Workload::AppendSingle => {
                append::measure(&mut suite, workload)?;
            }
            Workload::FollowHere | Workload::FollowProcess | Workload::FollowHereDisk | Workload::FollowProcessDisk => {
                follow::measure(&mut suite, workload)?
            }
        }
    }
    suite.progress("done");
    Ok(suite.report)
}

/// The logs of events that are asked for and can be measured.
fn logs(options: &Options, report: &mut Report) -> Vec<&'static str> {
    let asked: Vec<&'static str> =
        [MEASURED, queue::NAME].into_iter().filter(|name| options.wants_engine(name)).collect();
    let missing = |name: &&'static str| (*name, if *name == queue::NAME { queue::missing() } else { None });
    let logs = known::present(&asked, missing, &mut report.notes);
    if logs.contains(&queue::NAME) {
        report.engines.push(queue::note());
    }
    logs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_runs_and_every_engine_has_its_rows() {
        let directory = tempfile::tempdir().unwrap();
        let engines = vec!["fulgurite", "lmdb"];
        let options = Options { quick: true, rounds: 2, events: Some(3_000), engines, ..Options::default() };
        // The other process is this program's, which no unit test has: tests/storagebench.rs runs it.
        let elsewhere = [Workload::FollowProcess, Workload::FollowProcessDisk];
        let only = Workload::ALL.into_iter().filter(|workload| !elsewhere.contains(workload));
        let options = Options { only: only.collect(), ..options };
        let report = run(&options, directory.path(), 7).unwrap();
        let rows = |name: &str| report.rows.iter().filter(|row| row.workload == name).count();
        for name in ["add_protobuf", "add_remove_flatbuffers", "read_protobuf", "durable_flatbuffers"] {
            assert_eq!(rows(name), 2, "{name}");
        }
        assert_eq!((rows("entities"), rows("replay_protobuf"), rows("replay_cold")), (8, 1, 1));
        assert_eq!((rows("append_many"), rows("follow_here"), rows("follow_here_disk")), (1, 1, 1));
        for begin in ["durable: lmdb is opened with: ", "entities: a read of ", "entities: a change of fulgurite "] {
            assert!(report.notes.iter().any(|note| note.starts_with(begin)), "{begin}: {:?}", report.notes);
        }
        assert!(report.amounts.len() == 6 && report.amounts.iter().all(|amount| amount.rival.is_some()));
        assert!(report.rows.iter().all(|row| row.rounds.len() == 2));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
