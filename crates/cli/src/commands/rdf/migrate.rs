//! `rdf migrate`: copies the data directory of a store of RDF4J into a new store.

use std::io::Write;
use std::time::{Duration, Instant};

use fulgurite_migration::{Migration, MigrationReport, Rdf4jStore, Stage};

use crate::arguments::rdf::Migrate;
use crate::failure::Failure;
use crate::output::counted;
use crate::progress::{Progress, rate, time};

/// Copies and verifies, and prints a summary.
pub fn run(arguments: &Migrate) -> Result<(), Failure> {
    let begun = Instant::now();
    let source = Rdf4jStore::open(&arguments.source)?;
    let (mut stage, mut progress) = (Stage::Copying, Progress::new("copying"));
    let migration = Migration::new(&source).progress(|now| {
        if now.stage != stage {
            (stage, progress) = (now.stage, Progress::new("verifying"));
        }
        progress.tell(now.statements, || Some(now.statements as f64 / now.total.max(1) as f64));
    });
    let copied = migration.run(&arguments.target);
    drop(progress);
    let _ = writeln!(std::io::stderr(), "{}", report(&copied?, begun.elapsed()));
    Ok(())
}

/// What was copied, in words.
fn report(copied: &MigrationReport, elapsed: Duration) -> String {
    let merged = match copied.merged {
        0 => String::new(),
        merged => format!(
            "; {} left out, equal to others but for the case of language tags",
            counted(merged, "statement", "statements")
        ),
    };
    format!(
        "copied and verified {}, {} and {} in {}, {}{merged}",
        counted(copied.explicit, "explicit statement", "explicit statements"),
        counted(copied.inferred, "inferred statement", "inferred statements"),
        counted(copied.namespaces, "namespace", "namespaces"),
        time(elapsed),
        rate(copied.explicit + copied.inferred, elapsed),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_counts_what_was_copied_and_what_was_left_out() {
        let copied = MigrationReport { explicit: 3004, inferred: 269, namespaces: 1, merged: 0 };
        let told =
            "copied and verified 3,004 explicit statements, 269 inferred statements and 1 namespace in 1.0 s, 3,273/s";
        assert_eq!(report(&copied, Duration::from_secs(1)), told);
        let told = format!("{told}; 1 statement left out, equal to others but for the case of language tags");
        assert_eq!(report(&MigrationReport { merged: 1, ..copied }, Duration::from_secs(1)), told);
    }
}
