//! [`Optional`]: the rows of its input, each with the matches of patterns, or without if it has none.

use super::operator::{Operator, node};
use super::patterns::Part;
use crate::quads::joined::JoinStep;
use crate::sparql::evaluation::limits::Stopped;
use crate::sparql::evaluation::value::Value;
use crate::sparql::explain::plan_node::PlanNode;
use crate::sparql::operators::condition::Conditions;
use crate::sparql::operators::context::Context;

/// See the module.
pub struct Optional {
    input: Box<dyn Operator>,
    part: Part,
    /// What a match has to meet.
    conditions: Conditions,
    /// Whether a row of the input is at hand.
    has_row: bool,
    /// Whether that row has had a match.
    has_match: bool,
    rows: u64,
}

impl Optional {
    pub fn new(input: Box<dyn Operator>, part: Part, conditions: Conditions) -> Self {
        Self { input, part, conditions, has_row: false, has_match: false, rows: 0 }
    }
}

impl Operator for Optional {
    fn advance(&mut self, row: &mut [Value], context: &mut Context<'_>) -> Result<JoinStep, Stopped> {
        loop {
            if !self.has_row {
                let step = self.input.advance(row, context)?;
                if step != JoinStep::Row {
                    return Ok(step);
                }
                if !self.part.begin(row) {
                    self.part.clear(row);
                    self.rows += 1;
                    return Ok(step);
                }
                (self.has_row, self.has_match) = (true, false);
            }
            match self.part.advance(row, context)? {
                JoinStep::Paused => return Ok(JoinStep::Paused),
                JoinStep::Row => {
                    if self.conditions.hold(row, context)? {
                        self.has_match = true;
                        self.rows += 1;
                        return Ok(JoinStep::Row);
                    }
                }
                JoinStep::End => {
                    self.has_row = false;
                    if !self.has_match {
                        self.part.clear(row);
                        self.rows += 1;
                        return Ok(JoinStep::Row);
                    }
                }
            }
        }
    }

    fn plan(&self) -> PlanNode {
        let mut children = vec![self.input.plan()];
        children.extend(self.part.plans());
        let name = if self.conditions.is_empty() {
            "Optional".to_owned()
        } else {
            self.conditions.name().replacen("Filter", "Optional", 1)
        };
        node(&name, self.rows, children)
    }
}
