//! Operators that make rows of other things than patterns: `VALUES`, paths from a given end, alternatives.

use std::collections::HashSet;

use super::operator::{Operator, node};
use crate::dictionary::seeded_hash::SeededHash;
use crate::quads::joined::JoinStep;
use crate::sparql::evaluation::limits::Stopped;
use crate::sparql::evaluation::value::Value;
use crate::sparql::explain::plan_node::PlanNode;
use crate::sparql::operators::context::Context;
use crate::{GraphPattern, IdPattern, QuadIds, TermId};

/// The rows of a table, joined to each row of its input. Without an input there is one row, without values.
pub struct Table {
    pub input: Option<Box<dyn Operator>>,
    pub columns: Vec<Column>,
    /// The cells, row by row. All have a value.
    pub cells: Vec<Value>,
    pub count: usize,
    /// The next row; `None`: the input's row is wanted.
    pub next: Option<usize>,
    pub has_ended: bool,
    pub rows: u64,
    pub name: String,
}

/// A column of a [`Table`].
pub struct Column {
    pub place: usize,
    /// Whether the input binds it.
    pub is_given: bool,
}

impl Table {
    /// Whether the row of the table joins the row of the input. Sets the places of the other columns.
    fn joins(&self, number: usize, row: &mut [Value]) -> bool {
        let cells = &self.cells[number * self.columns.len()..];
        self.columns.iter().zip(cells).all(|(column, cell)| {
            if column.is_given {
                return row[column.place] == *cell;
            }
            row[column.place] = *cell;
            true
        })
    }
}

impl Operator for Table {
    fn advance(&mut self, row: &mut [Value], context: &mut Context<'_>) -> Result<JoinStep, Stopped> {
        loop {
            if context.is_spent() {
                return Ok(JoinStep::Paused);
            }
            let Some(number) = self.next else {
                match &mut self.input {
                    _ if self.has_ended => return Ok(JoinStep::End),
                    None => self.has_ended = true,
                    Some(input) => {
                        let step = input.advance(row, context)?;
                        if step != JoinStep::Row {
                            return Ok(step);
                        }
                    }
                }
                self.next = Some(0);
                continue;
            };
            context.spend(1)?;
            if number == self.count {
                self.next = None;
                continue;
            }
            self.next = Some(number + 1);
            if self.joins(number, row) {
                self.rows += 1;
                return Ok(JoinStep::Row);
            }
        }
    }

    fn plan(&self) -> PlanNode {
        node(&self.name, self.rows, self.input.iter().map(|input| input.plan()).collect())
    }
}

/// One row without values.
pub struct Unit {
    pub has_ended: bool,
}

impl Operator for Unit {
    fn advance(&mut self, _: &mut [Value], context: &mut Context<'_>) -> Result<JoinStep, Stopped> {
        context.spend(1)?;
        Ok(if std::mem::replace(&mut self.has_ended, true) { JoinStep::End } else { JoinStep::Row })
    }

    fn plan(&self) -> PlanNode {
        node("Unit", self.has_ended.into(), Vec::new())
    }
}

/// The nodes that a path of steps by one predicate reaches from a given node, each once.
pub struct Closure {
    predicate: TermId,
    /// Whether the steps go from subjects to objects.
    is_forward: bool,
    /// The place of the nodes.
    place: usize,
    quads: QuadIds,
    /// The given node, if the path may have no steps and the node was not returned yet.
    first: Option<TermId>,
    reached: HashSet<TermId, SeededHash>,
    /// Nodes that were reached, and whose steps are not taken yet.
    open: Vec<TermId>,
    name: String,
}

impl Closure {
    /// The quads of a step from a node, in the default graph.
    pub fn step(predicate: TermId, node: TermId, is_forward: bool) -> IdPattern {
        let (subject, object) = if is_forward { (Some(node), None) } else { (None, Some(node)) };
        IdPattern { subject, predicate: Some(predicate), object, graph: GraphPattern::Default }
    }

    /// `quads` are those of the first step. `first` is the given node if the path may have no steps.
    pub fn new(
        predicate: TermId,
        is_forward: bool,
        place: usize,
        quads: QuadIds,
        first: Option<TermId>,
        name: String,
    ) -> Self {
        let reached = first.into_iter().collect();
        Self { predicate, is_forward, place, quads, first, reached, open: Vec::new(), name }
    }
}

impl Operator for Closure {
    fn advance(&mut self, row: &mut [Value], context: &mut Context<'_>) -> Result<JoinStep, Stopped> {
        if let Some(first) = self.first.take() {
            context.spend(1)?;
            row[self.place] = Value::stored(first);
            return Ok(JoinStep::Row);
        }
        loop {
            if context.is_spent() {
                return Ok(JoinStep::Paused);
            }
            if let Some(quad) = self.quads.next_buffered() {
                context.watch().count_quads(1)?;
                context.spend(1)?;
                let node = if self.is_forward { quad.object } else { quad.subject };
                if self.reached.insert(node) {
                    self.open.push(node);
                    row[self.place] = Value::stored(node);
                    return Ok(JoinStep::Row);
                }
                continue;
            }
            let read = self.quads.read_once();
            match context.watch().keep(read)? {
                Some(keys) => context.spend(keys)?,
                None => match self.open.pop() {
                    Some(node) => self.quads.begin_again(&Self::step(self.predicate, node, self.is_forward)),
                    None => return Ok(JoinStep::End),
                },
            }
        }
    }

    fn plan(&self) -> PlanNode {
        node(&self.name, self.reached.len() as u64, Vec::new())
    }
}

/// The rows of two inputs, one after the other.
pub struct Union {
    pub inputs: [Box<dyn Operator>; 2],
    /// The places that either input binds.
    pub places: Vec<usize>,
    pub is_first: bool,
    pub has_begun: bool,
    pub rows: u64,
}

impl Operator for Union {
    fn advance(&mut self, row: &mut [Value], context: &mut Context<'_>) -> Result<JoinStep, Stopped> {
        loop {
            if !std::mem::replace(&mut self.has_begun, true) {
                self.places.iter().for_each(|place| row[*place] = Value::UNBOUND);
            }
            let step = self.inputs[usize::from(!self.is_first)].advance(row, context)?;
            if step == JoinStep::End && self.is_first {
                (self.is_first, self.has_begun) = (false, false);
                continue;
            }
            self.rows += u64::from(step == JoinStep::Row);
            return Ok(step);
        }
    }

    fn plan(&self) -> PlanNode {
        node("Union", self.rows, self.inputs.iter().map(|input| input.plan()).collect())
    }
}
