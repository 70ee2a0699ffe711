//! [`Migration`]: copies a store into a new file, verifies the copy, and then gives it its name.

use std::fmt;
use std::path::Path;

use super::copying::copy;
use super::target::Target;
use super::verifying::verify;
use crate::error::{Error, Result};
use crate::store::Rdf4jStore;

/// A copy of a store that is to be made.
///
/// The statements, values and namespaces are written to a file beside the target. The file is closed, opened again and
/// read, and must have the same statements by their number and the sum of their hashes. Then it gets the name of the
/// target. If the migration fails, it is removed; if the process is killed, the next migration removes it.
pub struct Migration<'s> {
    source: &'s Rdf4jStore,
    progress: Box<dyn FnMut(&Progress) + 's>,
}

/// What a migration does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It copies the statements.
    Copying,
    /// It reads the copy.
    Verifying,
}

impl fmt::Display for Stage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Copying => "copying",
            Self::Verifying => "verifying",
        })
    }
}

/// The progress of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The current stage.
    pub stage: Stage,
    /// Statements that the stage has processed.
    pub statements: u64,
    /// Statements of the source.
    pub total: u64,
}

/// What a migration has copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigrationReport {
    /// The number of explicit statements.
    pub explicit: u64,
    /// The number of statements that are only inferred.
    pub inferred: u64,
    /// The number of namespaces.
    pub namespaces: u64,
    /// Statements that were left out, because they differ from another one only in the case of a language tag.
    pub merged: u64,
}

impl<'s> Migration<'s> {
    /// Creates a migration.
    pub fn new(source: &'s Rdf4jStore) -> Self {
        Self { source, progress: Box::new(|_| {}) }
    }

    /// Sets a function that is called after each statement.
    #[must_use]
    pub fn progress(mut self, progress: impl FnMut(&Progress) + 's) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Copies and verifies. The target must not exist.
    ///
    /// # Errors
    /// [`Error::TargetExists`], [`Error::Target`]; [`Error::Damaged`] and [`Error::Read`] for the source;
    /// [`Error::Changed`]; [`Error::Differs`]; [`Error::Store`]. There is no target then.
    pub fn run(mut self, target: &Path) -> Result<MigrationReport> {
        let target = Target::reserve(target)?;
        let outcome = self.fill(&target);
        // What looks like damage may be what another program is writing.
        let unchanged = match outcome {
            Ok(_) | Err(Error::Damaged { .. }) => self.source.check_unchanged(),
            Err(_) => Ok(()),
        };
        let report = unchanged.and(outcome)?;
        target.publish()?;
        Ok(report)
    }

    fn fill(&mut self, target: &Target) -> Result<MigrationReport> {
        let total = self.source.explicit_count() + self.source.inferred_count();
        let mut told = |stage, statements| (self.progress)(&Progress { stage, statements, total });
        let store = target.create()?;
        let copied = copy(self.source, &store, &mut |statements| told(Stage::Copying, statements));
        let closed = store.close();
        let copied = copied?;
        closed?;
        let store = target.open()?;
        let verified = verify(&store, self.source, &copied, &mut |statements| told(Stage::Verifying, statements));
        // Nothing was changed, so closing loses nothing.
        let _ = store.close();
        verified?;
        Ok(MigrationReport {
            explicit: copied.explicit.count,
            inferred: copied.inferred.count,
            namespaces: self.source.namespaces().len() as u64,
            merged: copied.merged,
        })
    }
}
