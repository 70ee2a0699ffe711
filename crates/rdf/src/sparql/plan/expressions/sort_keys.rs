//! `ORDER BY` in the form in which the evaluator sorts by the total order.
//!
//! | written | evaluated |
//! |---|---|
//! | `OrderBy(P, ASC(?v), …)` | `OrderBy(Extend(P, k := key of ?v), ASC(k), …)` |
//!
//! `k` is a variable that no text can name; comparing two of its values compares ranks: see
//! [`SortTables`](crate::sparql::evaluation::sort_keys::SortTables). The last key is ranked by value and form, all
//! others by value, so that a later key decides between `1` and `1.0`.

use oxrdf::Variable;
use spargebra::algebra::{Expression, GraphPattern, OrderExpression};

use super::forms::in_form;
use crate::sparql::evaluation::evaluation_term::{Form, RankBy, Slot};
use crate::sparql::parse::shape::{map_children, map_operands};
use crate::sparql::plan::hidden::hidden_variable;

/// The pattern with what its rows are sorted by. Each key has a slot of its own.
pub(crate) fn with_sort_keys(pattern: GraphPattern) -> GraphPattern {
    Keys::default().pattern(pattern)
}

#[derive(Default)]
struct Keys {
    slots: u32,
}

impl Keys {
    fn pattern(&mut self, pattern: GraphPattern) -> GraphPattern {
        match pattern {
            GraphPattern::Project { inner, variables } => {
                let inner = match *inner {
                    GraphPattern::OrderBy { inner, expression } => self.sorted(*inner, expression),
                    other => self.pattern(other),
                };
                GraphPattern::Project { inner: inner.into(), variables }
            }
            GraphPattern::OrderBy { inner, expression } => {
                let mut variables = Vec::new();
                inner.on_in_scope_variable(|variable| {
                    if !variables.contains(variable) {
                        variables.push(variable.clone());
                    }
                });
                GraphPattern::Project { inner: self.sorted(*inner, expression).into(), variables }
            }
            other => {
                let keys = std::cell::RefCell::new(self);
                map_children(other, &mut |inner| keys.borrow_mut().pattern(inner), &mut |expression| {
                    keys.borrow_mut().expression(expression)
                })
            }
        }
    }

    fn expression(&mut self, expression: Expression) -> Expression {
        let keys = std::cell::RefCell::new(self);
        map_operands(expression, &mut |pattern| keys.borrow_mut().pattern(pattern), &mut |operand| {
            keys.borrow_mut().expression(operand)
        })
    }

    fn sorted(&mut self, inner: GraphPattern, expression: Vec<OrderExpression>) -> GraphPattern {
        let mut inner = self.pattern(inner);
        let mut keys = Vec::with_capacity(expression.len());
        let last = expression.len().saturating_sub(1);
        for (place, order) in expression.into_iter().enumerate() {
            let (key, direction): (_, fn(Expression) -> OrderExpression) = match order {
                OrderExpression::Asc(key) => (key, OrderExpression::Asc),
                OrderExpression::Desc(key) => (key, OrderExpression::Desc),
            };
            let by = if place == last { RankBy::Form } else { RankBy::Value };
            let number = self.slots;
            self.slots += 1;
            let key = match self.expression(key) {
                variable @ Expression::Variable(_) => variable,
                computed => {
                    let value = hidden_variable(&format!("value{number}"));
                    inner = extended(inner, value.clone(), computed);
                    value.into()
                }
            };
            let hidden = hidden_variable(&format!("key{number}"));
            // The operator keeps the evaluator from taking the term itself, in place of what the dataset makes of it.
            let added = Expression::UnaryPlus(in_form(key, Form::Sort(Slot { number, by })).into());
            inner = extended(inner, hidden.clone(), added);
            keys.push(direction(hidden.into()));
        }
        GraphPattern::OrderBy { inner: inner.into(), expression: keys }
    }
}

fn extended(inner: GraphPattern, variable: Variable, expression: Expression) -> GraphPattern {
    GraphPattern::Extend { inner: inner.into(), variable, expression }
}
