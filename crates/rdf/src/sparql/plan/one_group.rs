//! Patterns whose number of rows does not matter.
//!
//! The rows of one group decide how what is joined to it, or evaluated for each of them, is planned. Where there is
//! nothing but operators over these rows, the last step of the group need not be counted.

use spargebra::algebra::{AggregateExpression, Expression, GraphPattern, OrderExpression};

use crate::sparql::parse::shape::{Operand, visit_operands};

/// Whether the pattern is one group with operators over its rows, so that how many rows it has is of no account.
pub(super) fn is_over_one_group(pattern: &GraphPattern) -> bool {
    use GraphPattern as P;
    match pattern {
        P::Bgp { .. } | P::Path { .. } => true,
        P::Join { left, right } => is_of_joins(left) && is_of_joins(right),
        P::Graph { inner, .. } => is_of_joins(inner),
        P::Filter { expr, inner } => !looks_at_patterns(expr) && is_over_one_group(inner),
        P::Extend { inner, expression, .. } => !looks_at_patterns(expression) && is_over_one_group(inner),
        P::OrderBy { inner, expression } => {
            let key =
                |(OrderExpression::Asc(key) | OrderExpression::Desc(key)): &OrderExpression| looks_at_patterns(key);
            !expression.iter().any(key) && is_over_one_group(inner)
        }
        P::Group { inner, aggregates, .. } => {
            let looks = |(_, aggregate): &(_, AggregateExpression)| match aggregate {
                AggregateExpression::FunctionCall { expr, .. } => looks_at_patterns(expr),
                AggregateExpression::CountSolutions { .. } => false,
            };
            !aggregates.iter().any(looks) && is_over_one_group(inner)
        }
        P::Project { inner, .. } | P::Distinct { inner } | P::Reduced { inner } | P::Slice { inner, .. } => {
            is_over_one_group(inner)
        }
        _ => false,
    }
}

fn is_of_joins(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } => true,
        GraphPattern::Join { left, right } => is_of_joins(left) && is_of_joins(right),
        GraphPattern::Graph { inner, .. } => is_of_joins(inner),
        _ => false,
    }
}

/// Whether a part of the expression is a pattern.
pub(super) fn looks_at_patterns(expression: &Expression) -> bool {
    let mut looks = false;
    visit_operands(expression, &mut |operand| {
        looks = looks
            || match operand {
                Operand::Expression(operand) => looks_at_patterns(operand),
                Operand::Pattern(_) => true,
            };
    });
    looks
}
