//! LMDB under another name: the test of the harness itself.
//!
//! With the same engine on both sides every ratio should be 1; its distance from 1 is the error of the harness.

use std::path::{Path, PathBuf};

use fulgurite_rivals::{Engine, Failure, Lmdb, Purpose};

use crate::harness::contest::Contest;
use crate::harness::report::Report;
use crate::suites::core::workload::Workload;

/// LMDB in the place of the measured engine.
#[derive(Debug)]
pub struct LmdbControl;

impl Engine for LmdbControl {
    const NAME: &'static str = "lmdb-control";
    type Store = <Lmdb as Engine>::Store;

    fn create(directory: &Path, purpose: Purpose) -> Result<Self::Store, Failure> {
        Lmdb::create(directory, purpose)
    }

    fn open(directory: &Path, purpose: Purpose) -> Result<Self::Store, Failure> {
        Lmdb::open(directory, purpose)
    }

    fn data_file(directory: &Path) -> PathBuf {
        Lmdb::data_file(directory)
    }
}

/// How far from 1 a ratio of equals may be.
const TOLERANCE: f64 = 0.15;

/// Workloads that are not judged: opening takes microseconds, and with a delta the two stores were filled differently.
const UNEQUAL: [Workload; 2] = [Workload::Open, Workload::GetHitDelta];

/// A line for every ratio that is too far from 1, and a last line that counts; and whether all are near 1.
pub fn judgement(report: &Report) -> (String, bool) {
    let unequal = |contest: &&Contest| UNEQUAL.iter().any(|workload| workload.name() == contest.workload);
    let judged = || report.contests.iter().filter(|contest| !unequal(contest));
    let off: Vec<&Contest> = judged().filter(|contest| (contest.ratio() - 1.0).abs() > TOLERANCE).collect();
    let mut text = String::new();
    for contest in &off {
        text.push_str(&format!("OFF {} {}: {:.2} ×\n", contest.workload, contest.data_name(), contest.ratio()));
    }
    let all = judged().count();
    text.push_str(&format!("self-test: {} of {all} ratios within {TOLERANCE} of 1\n", all - off.len()));
    (text, off.is_empty())
}
