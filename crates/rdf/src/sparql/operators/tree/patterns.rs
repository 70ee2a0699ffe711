//! [`Patterns`]: joins patterns of quads to each row of its input, by [`Joined`].

use super::operator::{Operator, node};
use crate::TermId;
use crate::quads::joined::{JoinStep, Joined};
use crate::sparql::evaluation::limits::Stopped;
use crate::sparql::evaluation::value::Value;
use crate::sparql::explain::plan_node::PlanNode;
use crate::sparql::operators::context::Context;

/// Patterns that are joined to a row.
pub struct Part {
    joined: Joined,
    /// Places that have values before.
    given: Vec<usize>,
    /// Places that the patterns set.
    set: Vec<usize>,
    /// The given values, by place.
    ids: Vec<TermId>,
    /// Of an explanation: the name of each pattern, and the rows that are expected after it.
    names: Vec<(String, f64)>,
}

impl Part {
    /// `joined` was made [within](Joined::within) the given places.
    pub fn new(joined: Joined, given: Vec<usize>, set: Vec<usize>, names: Vec<(String, f64)>) -> Self {
        let ids = vec![TermId::DEFAULT_GRAPH; joined.row().len()];
        Self { joined, given, set, ids, names }
    }

    /// Begins with a row. Returns whether it may have matches: quads have no computed terms.
    pub fn begin(&mut self, row: &[Value]) -> bool {
        for place in &self.given {
            match row[*place].id() {
                Some(id) => self.ids[*place] = id,
                None => return false,
            }
        }
        self.joined.begin(&self.ids);
        true
    }

    /// The next match of the row that it has begun with.
    pub fn advance(&mut self, row: &mut [Value], context: &mut Context<'_>) -> Result<JoinStep, Stopped> {
        let step = context.advance(&mut self.joined)?;
        if step == JoinStep::Row {
            let ids = self.joined.row();
            self.set.iter().for_each(|place| row[*place] = Value::stored(ids[*place]));
        }
        Ok(step)
    }

    /// Leaves the places unbound that the patterns set.
    pub fn clear(&self, row: &mut [Value]) {
        self.set.iter().for_each(|place| row[*place] = Value::UNBOUND);
    }

    /// A node for each pattern.
    pub fn plans(&self) -> Vec<PlanNode> {
        let rows = self.joined.rows_of_patterns();
        let plan = |((name, expected), rows): (&(String, f64), u64)| PlanNode {
            estimated_rows: Some(*expected),
            ..node(name, rows, Vec::new())
        };
        self.names.iter().zip(rows).map(plan).collect()
    }
}

/// See the module.
pub struct Patterns {
    /// `None`: the patterns are joined to one row without values.
    input: Option<Box<dyn Operator>>,
    part: Part,
    state: State,
    rows: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The row is to be taken from the input.
    Waiting,
    /// The matches of a row are read.
    Open,
    /// The row was the only one.
    Ended,
}

impl Patterns {
    pub fn new(input: Option<Box<dyn Operator>>, part: Part) -> Self {
        Self { input, part, state: State::Waiting, rows: 0 }
    }
}

impl Operator for Patterns {
    fn advance(&mut self, row: &mut [Value], context: &mut Context<'_>) -> Result<JoinStep, Stopped> {
        loop {
            if self.state == State::Ended {
                return Ok(JoinStep::End);
            }
            if self.state == State::Waiting {
                if let Some(input) = &mut self.input {
                    let step = input.advance(row, context)?;
                    if step != JoinStep::Row {
                        return Ok(step);
                    }
                }
                if !self.part.begin(row) {
                    continue;
                }
                self.state = State::Open;
            }
            match self.part.advance(row, context)? {
                JoinStep::End if self.input.is_none() => self.state = State::Ended,
                JoinStep::End => self.state = State::Waiting,
                step => {
                    self.rows += u64::from(step == JoinStep::Row);
                    return Ok(step);
                }
            }
        }
    }

    fn plan(&self) -> PlanNode {
        let mut children: Vec<PlanNode> = self.input.iter().map(|input| input.plan()).collect();
        children.extend(self.part.plans());
        if children.len() == 1 { children.remove(0) } else { node("Join", self.rows, children) }
    }
}
