//! The patterns that a transaction has read.

use std::collections::HashSet;

use fulgurite_rdf::oxrdf::Term;
use fulgurite_rdf::{GraphPattern, IdPattern, Quads, StatementKinds, TermId};

use super::pattern::{Graphs, pattern};
use crate::error::{Failure, Result};

/// Beyond this number, patterns are not distinguished any more: every change of another transaction is a conflict.
const PATTERNS_MAX: usize = 1 << 14;

/// At most this many quads are compared. If the patterns have more, a change of another transaction is a conflict.
const COMPARED_MAX: u64 = 1 << 20;

/// A pattern as terms.
struct OfTerms {
    terms: Box<[Option<Term>; 3]>,
    graphs: Graphs,
    kinds: StatementKinds,
}

/// The patterns that a transaction has read.
#[derive(Default)]
pub struct Observed {
    /// Patterns as ids of the transaction.
    patterns: HashSet<([TermId; 3], Option<TermId>, u8)>,
    /// Patterns as terms.
    resolved: Vec<OfTerms>,
}

impl Observed {
    /// Adds a pattern.
    pub fn add(&mut self, pattern: &IdPattern, kinds: StatementKinds) {
        if self.patterns.len() <= PATTERNS_MAX {
            let id = |id: Option<TermId>| id.unwrap_or(TermId::DEFAULT_GRAPH);
            let graph = match pattern.graph {
                GraphPattern::Any | GraphPattern::AnyNamed => None,
                GraphPattern::Default => Some(TermId::DEFAULT_GRAPH),
                GraphPattern::Named(graph) => Some(graph),
            };
            let ids = [id(pattern.subject), id(pattern.predicate), id(pattern.object)];
            self.patterns.insert((ids, graph, number(kinds)));
        }
    }

    /// Adds a pattern with a term that the transaction lacks.
    pub fn add_unknown(&mut self, terms: Box<[Option<Term>; 3]>, graphs: Graphs) {
        if self.resolved.len() <= PATTERNS_MAX {
            self.resolved.push(OfTerms { terms, graphs, kinds: StatementKinds::All });
        }
    }

    /// Turns ids into terms, while the transaction can still read them.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn resolve(&mut self, view: &impl Quads) -> Result<()> {
        for (ids, graph, kinds) in self.patterns.drain() {
            let mut terms = Box::new([None, None, None]);
            for (term, id) in terms.iter_mut().zip(ids) {
                if id != TermId::DEFAULT_GRAPH {
                    *term = Some(view.term(id)?);
                }
            }
            let graphs = match graph {
                None => Graphs::All,
                Some(TermId::DEFAULT_GRAPH) => Graphs::Default,
                Some(graph) => Graphs::Named(view.term(graph)?),
            };
            let kinds = [StatementKinds::All, StatementKinds::Explicit, StatementKinds::Inferred][usize::from(kinds)];
            self.resolved.push(OfTerms { terms, graphs, kinds });
        }
        Ok(())
    }

    /// Checks that all patterns have the same quads in both states. They must be [resolved](Self::resolve).
    ///
    /// # Errors
    /// A conflict if they have not, or if there are too many to compare; errors of the store.
    pub fn check(&self, before: &impl Restricted, after: &impl Restricted) -> Result<()> {
        let mut compared = 0;
        let mut is_same = self.resolved.len() <= PATTERNS_MAX;
        for OfTerms { terms, graphs, kinds } in &self.resolved {
            is_same = is_same
                && match (pattern(before, terms, graphs)?, pattern(after, terms, graphs)?) {
                    (None, None) => true,
                    (Some(pattern), None) => before.restricted(*kinds).count(&pattern)? == 0,
                    (None, Some(pattern)) => after.restricted(*kinds).count(&pattern)? == 0,
                    (Some(first), Some(second)) => {
                        let (before, after) = (before.restricted(*kinds), after.restricted(*kinds));
                        let count = before.count(&first)?;
                        compared += count;
                        count == after.count(&second)?
                            && compared <= COMPARED_MAX
                            && have_same_quads(&before, &after, &first)?
                    }
                };
        }
        if is_same { Ok(()) } else { Err(Failure::Changed) }
    }
}

/// Whether a pattern has the same quads in both states. Terms that are in both have the same ids.
fn have_same_quads(before: &impl Quads, after: &impl Quads, pattern: &IdPattern) -> Result<bool> {
    let mut others = after.quads(pattern);
    for quad in before.quads(pattern) {
        let quad = quad?;
        match others.next() {
            Some(other) if other.as_ref().is_ok_and(|other| *other == quad) => {}
            Some(Err(error)) => return Err(error.into()),
            _ => return Ok(false),
        }
    }
    Ok(others.next().is_none())
}

/// A view that can be restricted to some kinds of statements.
pub trait Restricted: Quads {
    /// The view with statements of these kinds only.
    fn restricted(&self, kinds: StatementKinds) -> impl Quads;
}

impl Restricted for fulgurite_rdf::Snapshot {
    fn restricted(&self, kinds: StatementKinds) -> impl Quads {
        self.of_kinds(kinds)
    }
}

impl Restricted for fulgurite_rdf::TransactionView {
    fn restricted(&self, kinds: StatementKinds) -> impl Quads {
        self.of_kinds(kinds)
    }
}

fn number(kinds: StatementKinds) -> u8 {
    match kinds {
        StatementKinds::All => 0,
        StatementKinds::Explicit => 1,
        StatementKinds::Inferred => 2,
    }
}
