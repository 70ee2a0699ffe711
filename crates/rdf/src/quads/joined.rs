//! [`Joined`]: the rows of ids that match several patterns together.
//!
//! It is an index nested-loop join: each row of the earlier patterns selects a range of an index for the next pattern.
//! If two rows in succession select the same range, and it is short, its quads are not read again.

use crate::error::Result;
use crate::model::id::TermId;
use crate::model::pattern::{GraphPattern, IdPattern, IdQuad};
use crate::quads::quad_ids::QuadIds;

/// A subject, predicate or object of a [`JoinPattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinTerm {
    /// This term.
    Term(TermId),
    /// The term of this variable, below [`JoinTerm::VARIABLES_MAX`].
    Variable(usize),
}

impl JoinTerm {
    /// The numbers of variables are below this.
    pub const VARIABLES_MAX: usize = 1 << 12;
}

/// The graphs of a [`JoinPattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinGraph {
    /// These graphs.
    Graphs(GraphPattern),
    /// The named graph of this variable.
    Variable(usize),
}

/// A pattern of quads with variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinPattern {
    /// The subject, the predicate and the object.
    pub terms: [JoinTerm; 3],
    /// The graphs.
    pub graph: JoinGraph,
}

impl JoinPattern {
    fn variables(&self) -> impl Iterator<Item = usize> {
        let of_graph = match self.graph {
            JoinGraph::Graphs(_) => None,
            JoinGraph::Variable(variable) => Some(variable),
        };
        let of_terms = self.terms.into_iter().filter_map(|term| match term {
            JoinTerm::Term(_) => None,
            JoinTerm::Variable(variable) => Some(variable),
        });
        of_terms.chain(of_graph)
    }
}

/// The result of [`Joined::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinStep {
    /// A row: see [`Joined::row`].
    Row,
    /// The keys that it may look at are used up, and there may be more rows.
    Paused,
    /// There are no more rows.
    End,
}

/// The rows that match several patterns together. Each row has the id of every variable. Rows repeat if quads of
/// different graphs give the same row, as in SPARQL.
///
/// The patterns are read in the order in which they are given: begin with the one that has the fewest quads, and let
/// each one share a variable with those before it.
pub struct Joined {
    levels: Vec<Level>,
    row: Vec<TermId>,
    /// The level whose next quad is read.
    depth: usize,
    has_ended: bool,
    /// The quads that were looked at since [`Joined::take_quads_read`].
    quads_read: u64,
}

/// A pattern and its quads for the row of the levels before it.
struct Level {
    slots: [Slot; 4],
    quads: QuadIds,
    /// The rows that its quads have made.
    rows: u64,
}

/// What a position of a quad means for the row.
#[derive(Clone, Copy)]
enum Slot {
    /// It is given, or any graph will do.
    Given,
    /// It is the value of a variable that an earlier pattern set.
    Known(usize),
    /// It sets a variable.
    New(usize),
    /// It must be equal to a variable that the same pattern sets.
    Same(usize),
}

impl Joined {
    /// `quads` returns the quads of a pattern. Requires: there is a pattern, and the numbers of variables are below
    /// [`JoinTerm::VARIABLES_MAX`].
    pub(crate) fn new(patterns: &[JoinPattern], quads: impl Fn(&IdPattern) -> QuadIds) -> Self {
        Self { has_ended: false, ..Self::within(patterns, Vec::new(), quads) }
    }

    /// As [`Joined::new`], with variables that have values before the first pattern is read: those whose element of
    /// `is_set` is true. It has no rows before [`Joined::begin`].
    pub(crate) fn within(
        patterns: &[JoinPattern],
        mut is_set: Vec<bool>,
        quads: impl Fn(&IdPattern) -> QuadIds,
    ) -> Self {
        assert!(!patterns.is_empty(), "a join needs a pattern");
        let variables = || patterns.iter().flat_map(JoinPattern::variables);
        assert!(
            variables().all(|variable| variable < JoinTerm::VARIABLES_MAX),
            "the number of a variable is too large"
        );
        let levels = patterns
            .iter()
            .map(|pattern| Level { slots: slots(pattern, &mut is_set), quads: quads(&widest(pattern)), rows: 0 })
            .collect();
        let row = vec![TermId::DEFAULT_GRAPH; is_set.len()];
        Self { levels, row, depth: 0, has_ended: true, quads_read: 0 }
    }

    /// Begins again with a row that has the variables that were set before the first pattern. Variables beyond those of
    /// the patterns are left out.
    pub(crate) fn begin(&mut self, row: &[TermId]) {
        self.row.iter_mut().zip(row).for_each(|(place, id)| *place = *id);
        self.depth = 0;
        self.has_ended = false;
        self.levels[0].begin(&self.row);
    }

    /// The number of quads that it has looked at since this was asked last.
    pub(crate) fn take_quads_read(&mut self) -> u64 {
        std::mem::take(&mut self.quads_read)
    }

    /// The number of rows after each pattern, over all times that the join was begun.
    pub(crate) fn rows_of_patterns(&self) -> impl Iterator<Item = u64> + '_ {
        self.levels.iter().map(|level| level.rows)
    }

    /// Looks for the next row. Looks at about `keys_max` keys of indexes at most, and subtracts them.
    ///
    /// # Errors
    /// As the items of [`QuadIds`]. An error ends the rows.
    pub fn advance(&mut self, keys_max: &mut usize) -> Result<JoinStep> {
        let last = self.levels.len() - 1;
        while !self.has_ended {
            if *keys_max == 0 {
                return Ok(JoinStep::Paused);
            }
            let level = &mut self.levels[self.depth];
            let Some(quad) = level.quads.next_buffered() else {
                match level.quads.read_once().inspect_err(|_| self.has_ended = true)? {
                    Some(keys) => *keys_max = keys_max.saturating_sub(keys),
                    None => {
                        self.has_ended = self.depth == 0;
                        self.depth = self.depth.saturating_sub(1);
                    }
                }
                continue;
            };
            *keys_max -= 1;
            self.quads_read += 1;
            if !set(&mut self.row, &level.slots, &quad) {
                continue;
            }
            level.rows += 1;
            if self.depth == last {
                return Ok(JoinStep::Row);
            }
            self.depth += 1;
            self.levels[self.depth].begin(&self.row);
        }
        Ok(JoinStep::End)
    }

    /// The ids of the variables of the last row that [`Joined::advance`] found. A number below the largest one that no
    /// pattern uses has [`TermId::DEFAULT_GRAPH`].
    pub fn row(&self) -> &[TermId] {
        &self.row
    }
}

impl Iterator for Joined {
    type Item = Result<Vec<TermId>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.advance(&mut usize::MAX.clone()) {
                Ok(JoinStep::Row) => return Some(Ok(self.row.clone())),
                Ok(JoinStep::Paused) => {}
                Ok(JoinStep::End) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Level {
    /// Begins to read the pattern again, with the terms of a row.
    fn begin(&mut self, row: &[TermId]) {
        let mut pattern = *self.quads.pattern();
        for (slot, place) in self.slots.iter().zip([&mut pattern.subject, &mut pattern.predicate, &mut pattern.object])
        {
            if let Slot::Known(variable) = *slot {
                *place = Some(row[variable]);
            }
        }
        if let Slot::Known(variable) = self.slots[GRAPH] {
            pattern.graph = GraphPattern::Named(row[variable]);
        }
        self.quads.begin_again(&pattern);
    }
}

/// The position of the graph.
const GRAPH: usize = 3;

/// The pattern without its variables.
fn widest(pattern: &JoinPattern) -> IdPattern {
    let [subject, predicate, object] = pattern.terms.map(|term| match term {
        JoinTerm::Term(id) => Some(id),
        JoinTerm::Variable(_) => None,
    });
    let graph = match pattern.graph {
        JoinGraph::Graphs(graphs) => graphs,
        JoinGraph::Variable(_) => GraphPattern::AnyNamed,
    };
    IdPattern { subject, predicate, object, graph }
}

/// The slots of a pattern. Notes the variables that it sets.
fn slots(pattern: &JoinPattern, is_set: &mut Vec<bool>) -> [Slot; 4] {
    let before = is_set.clone();
    let mut slot = |variable: Option<usize>| {
        let Some(variable) = variable else { return Slot::Given };
        if is_set.len() <= variable {
            is_set.resize(variable + 1, false);
        }
        if before.get(variable) == Some(&true) {
            return Slot::Known(variable);
        }
        if std::mem::replace(&mut is_set[variable], true) { Slot::Same(variable) } else { Slot::New(variable) }
    };
    let variable = |term: JoinTerm| match term {
        JoinTerm::Term(_) => None,
        JoinTerm::Variable(variable) => Some(variable),
    };
    let [subject, predicate, object] = pattern.terms.map(|term| slot(variable(term)));
    let graph = match pattern.graph {
        JoinGraph::Graphs(_) => Slot::Given,
        JoinGraph::Variable(variable) => slot(Some(variable)),
    };
    [subject, predicate, object, graph]
}

/// Sets the variables of a quad. Returns false if one of them has two values in it.
fn set(row: &mut [TermId], slots: &[Slot; 4], quad: &IdQuad) -> bool {
    let ids = [quad.subject, quad.predicate, quad.object, quad.graph];
    slots.iter().zip(ids).all(|(slot, id)| match *slot {
        Slot::Given | Slot::Known(_) => true,
        Slot::New(variable) => {
            row[variable] = id;
            true
        }
        Slot::Same(variable) => row[variable] == id,
    })
}
