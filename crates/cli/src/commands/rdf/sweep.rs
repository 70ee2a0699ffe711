//! `rdf sweep`: takes terms that no quad uses out of the dictionary.

use std::io::Write;
use std::sync::{Arc, Mutex};

use fulgurite_rdf::{SweepOptions, SweepProgress, SweepReport};

use super::store::changing;
use crate::arguments::rdf::Sweep;
use crate::failure::Failure;
use crate::output::{counted, grouped};
use crate::progress::{Progress, time};

/// Sweeps, and prints a summary.
pub fn run(arguments: &Sweep) -> Result<(), Failure> {
    let progress = Arc::new(Mutex::new(Progress::new("sweeping")));
    let shown = Arc::clone(&progress);
    let options = SweepOptions::new().progress(move |now| {
        if let Ok(mut progress) = shown.try_lock() {
            progress.show(|| line(now));
        }
    });
    let swept = changing(&arguments.store.path, None, arguments.writing, |store| Ok(store.sweep(&options)?));
    drop((options, progress));
    let _ = writeln!(std::io::stderr(), "{}", report(&swept?));
    Ok(())
}

/// How far a sweep is, in a line.
fn line(now: &SweepProgress) -> String {
    let part = match now.total {
        0 => String::new(),
        total => format!(", {:.0}%", 100.0 * now.done.min(total) as f64 / total as f64),
    };
    format!("sweeping: {}{part}, {} removed", now.stage, grouped(now.removed))
}

/// What a sweep did, in words.
fn report(swept: &SweepReport) -> String {
    let kept = match swept.kept {
        0 => String::new(),
        kept => format!("; {} used again meanwhile", counted(kept, "term", "terms")),
    };
    let namespaces = match swept.namespaces_removed {
        0 => String::new(),
        namespaces => format!(" and {}", counted(namespaces, "namespace", "namespaces")),
    };
    let removed = counted(swept.removed, "term", "terms");
    format!("{removed} of {}{namespaces} removed in {}{kept}", grouped(swept.terms), time(swept.elapsed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_tells_what_was_removed_and_what_was_left() {
        let mut swept = SweepReport::default();
        (swept.terms, swept.removed) = (4000, 1);
        assert!(report(&swept).starts_with("1 term of 4,000 removed in "), "{}", report(&swept));
        (swept.removed, swept.kept, swept.namespaces_removed) = (1500, 2, 1);
        let told = report(&swept);
        assert!(told.starts_with("1,500 terms of 4,000 and 1 namespace removed in "), "{told}");
        assert!(told.ends_with("; 2 terms used again meanwhile"), "{told}");
    }

    #[test]
    fn progress_tells_the_stage_and_the_part_that_was_done() {
        let now = SweepProgress { stage: "removing terms", done: 50, total: 200, removed: 7 };
        assert_eq!(line(&now), "sweeping: removing terms, 25%, 7 removed");
    }
}
