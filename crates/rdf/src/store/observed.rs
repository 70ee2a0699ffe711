//! [`Observed`]: the patterns that a transaction has read.

use std::collections::HashSet;

use crate::error::Result;
use crate::model::pattern::{IdPattern, IdQuad};
use crate::quads::reading::Quads;
use crate::quads::term_pattern::TermPattern;
use crate::store::snapshot::Snapshot;
use crate::tables::StatementKinds;

/// Beyond this number, patterns are not distinguished any more: every change of another transaction is a conflict.
pub const PATTERNS_MAX: usize = 1 << 14;

/// As [`PATTERNS_MAX`], for the bytes of their texts.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// At most this many quads are compared. If the patterns have more, a change of another transaction is a conflict.
const COMPARED_MAX: u64 = 1 << 20;

/// The patterns that a transaction has read.
#[derive(Default)]
pub struct Observed {
    /// Patterns as ids of the transaction.
    patterns: HashSet<(IdPattern, StatementKinds)>,
    /// Patterns as terms.
    resolved: HashSet<(TermPattern, StatementKinds)>,
    /// The bytes of their texts.
    text_bytes: usize,
    /// Whether there were too many patterns. None is kept then.
    are_too_many: bool,
}

impl Observed {
    /// Adds a pattern.
    pub fn add(&mut self, pattern: &IdPattern, kinds: StatementKinds) {
        if !self.are_too_many {
            self.patterns.insert((*pattern, kinds));
            self.bound();
        }
    }

    /// Adds a pattern as terms.
    pub fn add_terms(&mut self, pattern: TermPattern, kinds: StatementKinds) {
        if !self.are_too_many {
            self.keep(pattern, kinds);
            self.bound();
        }
    }

    fn keep(&mut self, pattern: TermPattern, kinds: StatementKinds) {
        let text_bytes = pattern.text_bytes();
        if self.resolved.insert((pattern, kinds)) {
            self.text_bytes += text_bytes;
        }
    }

    /// Drops all patterns if they are too many.
    fn bound(&mut self) {
        let most = self.patterns.len().max(self.resolved.len());
        if most > PATTERNS_MAX || self.text_bytes > TEXT_BYTES_MAX {
            *self = Self { are_too_many: true, ..Self::default() };
        }
    }

    /// Turns ids into terms, while the transaction can still read them.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn resolve(&mut self, view: &impl Quads) -> Result<()> {
        let patterns = std::mem::take(&mut self.patterns);
        let resolved: Result<()> = patterns.iter().try_for_each(|(pattern, kinds)| {
            if self.text_bytes <= TEXT_BYTES_MAX {
                self.keep(TermPattern::of_ids(pattern, view)?, *kinds);
            }
            Ok(())
        });
        match resolved {
            Ok(()) => self.bound(),
            // All of them remain.
            Err(_) => self.patterns = patterns,
        }
        resolved
    }

    /// Whether all patterns have the same quads in both states. `None` if there is too much to compare. `after`
    /// restricts the later state to some kinds of statements. Requires: the patterns are [resolved](Self::resolve).
    ///
    /// # Errors
    /// Errors of the store.
    pub fn is_same<Q: Quads>(&self, before: &Snapshot, after: impl Fn(StatementKinds) -> Q) -> Result<Option<bool>> {
        if self.are_too_many {
            return Ok(None);
        }
        let mut compared = 0;
        for (pattern, kinds) in &self.resolved {
            let (before, after) = (before.of_kinds(*kinds), after(*kinds));
            let is_same = match (pattern.ids(&before)?, pattern.ids(&after)?) {
                (None, None) => true,
                (Some(pattern), None) => before.count(&pattern)? == 0,
                (None, Some(pattern)) => after.count(&pattern)? == 0,
                (Some(first), Some(second)) => {
                    let count = before.count(&first)?;
                    compared += count;
                    let has_same_count = count == after.count(&second)?;
                    if has_same_count && compared > COMPARED_MAX {
                        return Ok(None);
                    }
                    has_same_count && have_same_quads(&before, &after, &first)?
                }
            };
            if !is_same {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }
}

/// Whether a pattern has the same quads in both states. Terms that are in both have the same ids.
fn have_same_quads(before: &impl Quads, after: &impl Quads, pattern: &IdPattern) -> Result<bool> {
    let mut others = after.quads(pattern);
    for quad in before.quads(pattern) {
        let other: Option<IdQuad> = others.next().transpose()?;
        if other != Some(quad?) {
            return Ok(false);
        }
    }
    Ok(others.next().is_none())
}

#[cfg(test)]
mod tests {
    use oxrdf::Literal;

    use super::*;
    use crate::model::id::{Tag, TermId};
    use crate::store::database::{Store, StoreOptions};

    #[test]
    fn patterns_with_too_many_bytes_are_not_kept() {
        let pattern = |number: usize| {
            let text = format!("{number}{}", "x".repeat(TEXT_BYTES_MAX / 8));
            TermPattern { terms: [None, None, Some(Literal::from(text).into())], ..TermPattern::default() }
        };
        let mut observed = Observed::default();
        for number in 0..7 {
            // The second time is no further pattern.
            (0..2).for_each(|_| observed.add_terms(pattern(number), StatementKinds::All));
        }
        assert_eq!((observed.resolved.len(), observed.are_too_many), (7, false));
        observed.add_terms(pattern(7), StatementKinds::All);
        assert_eq!((observed.resolved.capacity(), observed.are_too_many), (0, true));
    }

    #[test]
    fn patterns_that_could_not_be_resolved_remain() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).expect("a store");
        let snapshot = store.snapshot().expect("a snapshot");
        let mut observed = Observed::default();
        let subject = Some(TermId::new(Tag::DICTIONARY[0], 1));
        observed.add(&IdPattern { subject, ..IdPattern::ALL }, StatementKinds::All);
        for _ in 0..2 {
            assert!(observed.resolve(&snapshot).is_err(), "the store has no such term");
        }
    }
}
