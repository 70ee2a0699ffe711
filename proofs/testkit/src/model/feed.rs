//! The change feed, compared with what the model held after each of the last commits.

use std::collections::VecDeque;
use std::time::Duration;

use fulgurite::{Change, ChangedTable, Commit, Database, Error, Sequence};

use super::check::{Difference, same, sound};
use super::coverage::{Call, Coverage};
use super::truth::Truth;
use super::typed;
use crate::random::Random;

/// What the tables held after each of the last commits.
#[derive(Debug, Default)]
pub struct Past {
    states: VecDeque<(Sequence, Truth)>,
}

impl Past {
    /// Notes what is held after the newest commit.
    pub fn note(&mut self, newest: Sequence, truth: &Truth) {
        if self.states.back().is_some_and(|(sequence, _)| *sequence == newest) {
            // A load may have come, and none is numbered where the log is not kept.
            self.states.pop_back();
        }
        self.states.push_back((newest, truth.clone()));
        if self.states.len() > STATES_MAX {
            self.states.pop_front();
        }
    }

    /// Reads the changes after one of these commits, and compares them.
    pub fn follow(&self, db: &Database, random: &mut Random, coverage: &mut Coverage) -> Result<(), Difference> {
        if self.states.is_empty() {
            return Ok(());
        }
        let (after, _) = self.states[random.index(self.states.len())];
        let (newest, _) = self.states[self.states.len() - 1];
        coverage.note(Call::WaitDurable);
        let durable = sound("wait_durable", db.wait_durable(after, Duration::ZERO))?;
        if durable <= after && after < newest {
            return Err(format!("wait_durable: {} is durable, {} is after {}", durable.0, newest.0, after.0));
        }
        coverage.note(Call::Changes);
        let oldest = sound("stats", db.stats())?.oldest_change;
        let changes = match db.changes(after) {
            Ok(changes) => changes,
            Err(Error::Invalid { .. }) if oldest.is_none() || durable < after => return Ok(()),
            Err(Error::ChangesGone { oldest: told, .. }) => {
                // More may have gone since the statistics were made.
                let is_so = told.0 > after.0 + 1 && (told > durable || oldest.is_none_or(|oldest| told.0 >= oldest));
                return same("that changes are gone", &is_so, &true);
            }
            Err(error) => return Err(format!("changes: {error}")),
        };
        let (mut last, through) = (after, changes.through());
        for commit in changes {
            let commit = sound("changes", commit)?;
            same("the sequence of a commit", &commit.sequence.0, &(last.0 + 1))?;
            last = commit.sequence;
            self.compare(&commit)?;
        }
        same("the end of the changes", &last, &through)?;
        same("what is durable", &(through >= durable && through <= newest), &true)
    }

    /// The state after a commit has what the commit put, and lacks what it deleted.
    fn compare(&self, commit: &Commit) -> Result<(), Difference> {
        let Some((_, truth)) = self.states.iter().find(|(sequence, _)| *sequence == commit.sequence) else {
            return Ok(());
        };
        for change in &commit.changes {
            let (table, key, expected) = match change {
                Change::Put { table, key, value } => (table, key, Some(value.len())),
                Change::Superseded { table, key, value_bytes } => (table, key, Some(*value_bytes as usize)),
                Change::Delete { table, key } => (table, key, None),
                Change::TableCreated { table } | Change::BulkLoaded { table } | Change::TableRenamed { table, .. } => {
                    exists(truth, table, true)?;
                    continue;
                }
                Change::TableDropped { table } => {
                    exists(truth, table, false)?;
                    continue;
                }
                other => return Err(format!("an unknown change: {other:?}")),
            };
            let Some(name) = compared(table) else { continue };
            exists(truth, table, true)?;
            let held = truth.entries(name).get(key);
            same("a changed value's length", &expected, &held.map(|value| value.len()))?;
            if let Change::Put { value, .. } = change {
                same("a changed value", &Some(&value[..]), &held.map(|value| &value[..]))?;
            }
        }
        Ok(())
    }
}

/// The name by which a table is compared: not of typed ones, nor of those that a feed may call so before they were
/// renamed.
fn compared(table: &ChangedTable) -> Option<&str> {
    table.name.as_deref().filter(|name| !typed::NAMES.contains(name) && !name.starts_with(RENAMED))
}

/// How names begin that tables are renamed to.
pub const RENAMED: &str = "renamed";

fn exists(truth: &Truth, table: &ChangedTable, expected: bool) -> Result<(), Difference> {
    let Some(name) = compared(table) else { return Ok(()) };
    same(&format!("whether table `{name}` exists"), &truth.names().any(|known| known == name), &expected)
}

/// States that are remembered: each may be a copy of a table.
const STATES_MAX: usize = 40;
