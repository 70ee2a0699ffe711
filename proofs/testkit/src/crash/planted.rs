//! Proof that the power-cut test finds what it is for: faults planted in the engine, each with the workload that it
//! shows in.

use fulgurite::planted::{Fault, plant};

use super::run::{Failure, Report, run_workload};
use super::workloads::Workload;

/// A fault that power cuts must reveal.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// What `--plant` takes.
    pub name: &'static str,
    fault: Fault,
    workload: &'static str,
}

impl Planted {
    /// All of them.
    pub const ALL: [Self; Fault::OF_POWER_CUTS.len()] = [
        Self { name: "no-sync-before-meta", fault: Fault::NoSyncBeforeMeta, workload: "overwrites" },
        Self { name: "meta-before-data", fault: Fault::MetaBeforeData, workload: "overwrites" },
        Self { name: "log-past-bad-record", fault: Fault::LogPastBadRecord, workload: "values-over-a-page" },
        Self { name: "space-reused-too-early", fault: Fault::SpaceReusedTooEarly, workload: "overwrites" },
        Self { name: "torn-meta-unchecked", fault: Fault::TornMetaUnchecked, workload: "overwrites" },
        Self { name: "no-directory-sync", fault: Fault::NoDirectorySync, workload: "put-disk" },
        Self { name: "not-flushed", fault: Fault::NotFlushed, workload: "side-by-side" },
        Self { name: "acknowledged-unwritten", fault: Fault::AcknowledgedUnwritten, workload: "side-by-side" },
        Self { name: "segment-named-too-early", fault: Fault::SegmentNamedTooEarly, workload: "put-disk" },
        Self { name: "kept-log-unsynced", fault: Fault::KeptLogUnsynced, workload: "kept" },
        Self { name: "load-before-note", fault: Fault::LoadBeforeNote, workload: "kept-loads" },
        Self { name: "runs-unsynced", fault: Fault::RunsUnsynced, workload: "runs" },
        Self { name: "range-merge-unsynced", fault: Fault::RangeMergeUnsynced, workload: "runs-merged" },
        Self { name: "spilled-unsynced", fault: Fault::SpilledUnsynced, workload: "spilled" },
    ];

    /// The fault of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|planted| planted.name == name)
    }

    /// Plants it, and looks for it in up to so many images. Answers the first failure, if it was found, and the
    /// images tried.
    ///
    /// Plants in the whole process: nothing else may use the engine meanwhile.
    pub fn search(self, seed: u64, images: u64) -> (Option<Failure>, u64) {
        let workload = Workload::named(self.workload).expect("the table names workloads");
        plant(Some(self.fault));
        let mut report = Report::default();
        for round in 0..ROUNDS_MAX {
            let missing = images.saturating_sub(report.images);
            if missing == 0 || !report.is_sound() {
                break;
            }
            report += run_workload(workload, seed + round, missing, true);
        }
        plant(None);
        (report.failures.into_iter().next(), report.images)
    }
}

/// Seeds to try.
const ROUNDS_MAX: u64 = 8;
