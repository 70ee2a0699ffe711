//! [`Operator`]: a node of the tree that makes rows.

use crate::quads::joined::JoinStep;
use crate::sparql::evaluation::limits::Stopped;
use crate::sparql::evaluation::value::Value;
use crate::sparql::explain::plan_node::PlanNode;
use crate::sparql::operators::condition::Conditions;
use crate::sparql::operators::context::Context;

/// Makes rows, one at a time. Each has its values at the places of its variables in `row`, which all operators of a
/// query share.
pub trait Operator: Send {
    /// Looks for the next row. After [`JoinStep::End`] it is not called again.
    ///
    /// # Errors
    /// The watch of `context` has the failure.
    fn advance(&mut self, row: &mut [Value], context: &mut Context<'_>) -> Result<JoinStep, Stopped>;

    /// The operator and its inputs, with the rows that it has made so far. Names are there if the query is explained.
    fn plan(&self) -> PlanNode;
}

/// Has no rows, because the store does not have a term of the text.
pub struct Nothing;

impl Operator for Nothing {
    fn advance(&mut self, _: &mut [Value], _: &mut Context<'_>) -> Result<JoinStep, Stopped> {
        Ok(JoinStep::End)
    }

    fn plan(&self) -> PlanNode {
        node("Nothing(the store does not have a term of the text)", 0, Vec::new())
    }
}

/// The rows that meet conditions.
pub struct Filter {
    pub input: Box<dyn Operator>,
    pub conditions: Conditions,
    pub rows: u64,
}

impl Operator for Filter {
    fn advance(&mut self, row: &mut [Value], context: &mut Context<'_>) -> Result<JoinStep, Stopped> {
        loop {
            let step = self.input.advance(row, context)?;
            if step != JoinStep::Row {
                return Ok(step);
            }
            if self.conditions.hold(row, context)? {
                self.rows += 1;
                return Ok(step);
            }
        }
    }

    fn plan(&self) -> PlanNode {
        node(&self.conditions.name(), self.rows, vec![self.input.plan()])
    }
}

/// A node of an explanation.
pub fn node(name: &str, rows: u64, children: Vec<PlanNode>) -> PlanNode {
    PlanNode { name: name.to_owned(), estimated_rows: None, rows: Some(rows), children }
}
