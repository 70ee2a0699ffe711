//! Values that the caller gives variables before the evaluation begins.
//!
//! The evaluator puts such values into the first row, and hands that row down to every part that sees the variables.
//! Its optimizer does not know of them: it takes a variable that no pattern binds for unbound, so that `BOUND` of it is
//! false and `MINUS` compares nothing. The values are therefore written into the pattern too, beside what is evaluated
//! for them:
//!
//! | written | evaluated |
//! |---|---|
//! | `Project(P, ?v …)` | `Project(Lateral(VALUES ?v { value }, P), ?v …)` |
//! | `Minus(P, Q)` in `P` | `Minus(Lateral(VALUES ?v { value }, P), Q)` |
//!
//! Patterns within `EXISTS` are left as they are: what a row outside binds is no variable there.
//!
//! Invariant: the values of the row and of the pattern are the same terms.

use oxrdf::{Term, Variable};
use spargebra::Query;
use spargebra::algebra::GraphPattern;
use spargebra::term::{GroundTerm, NamedNodePattern};

use crate::error::{Error, Result};
use crate::sparql::expressions::aggregates;
use crate::sparql::parse::shape::{map_children, map_pattern_of_query};

/// The query with the values beside its pattern.
///
/// # Errors
/// [`Error::Invalid`] if a variable is none of the results.
pub(super) fn with_bindings(query: &Query, bindings: &[(Variable, Term)]) -> Result<Query> {
    if let Query::Select { pattern, .. } | Query::Describe { pattern, .. } = query {
        let mut returned = Vec::new();
        pattern.on_in_scope_variable(|variable| returned.push(variable));
        if let Some((variable, _)) = bindings.iter().find(|(variable, _)| !returned.contains(&variable)) {
            let message = format!("{variable} has a value given, and the query does not return it; add it to SELECT");
            return Err(Error::Invalid { message });
        }
    }
    let row = Row::of(bindings);
    Ok(map_pattern_of_query(query.clone(), &mut |pattern| row.below_projection(pattern)))
}

/// The term as `VALUES` have it. Blank nodes are none of those, so they and triple terms with them have their names.
fn ground(term: Term) -> GroundTerm {
    GroundTerm::try_from(term.clone()).unwrap_or_else(|()| aggregates::name_of_term(&term).into())
}

/// The values, as one row.
#[derive(Clone, Default)]
struct Row {
    variables: Vec<Variable>,
    values: Vec<Option<GroundTerm>>,
}

impl Row {
    /// Of values for one variable, the last counts.
    fn of(bindings: &[(Variable, Term)]) -> Self {
        let mut row = Self::default();
        for (variable, value) in bindings.iter().rev() {
            if !row.variables.contains(variable) {
                row.variables.push(variable.clone());
                row.values.push(Some(ground(value.clone())));
            }
        }
        row
    }

    fn only(&self, is_seen: impl Fn(&Variable) -> bool) -> Self {
        let seen =
            self.variables.iter().cloned().zip(self.values.iter().cloned()).filter(|(variable, _)| is_seen(variable));
        let (variables, values) = seen.unzip();
        Self { variables, values }
    }

    /// The pattern of a query, with the values beside what its modifiers and expressions are over.
    fn below_projection(&self, pattern: GraphPattern) -> GraphPattern {
        use GraphPattern as P;
        let below = |inner: Box<GraphPattern>| Box::new(self.below_projection(*inner));
        match pattern {
            P::Slice { inner, start, length } => P::Slice { inner: below(inner), start, length },
            P::Distinct { inner } => P::Distinct { inner: below(inner) },
            P::Reduced { inner } => P::Reduced { inner: below(inner) },
            P::Project { inner, mut variables } => {
                // The parser projects the variables of the pattern where the text does not say which.
                let missing = self.variables.iter().filter(|variable| !variables.contains(variable));
                variables.extend(missing.cloned().collect::<Vec<_>>());
                P::Project { inner: self.below_expressions(*inner).into(), variables }
            }
            other => self.beside(other),
        }
    }

    fn below_expressions(&self, pattern: GraphPattern) -> GraphPattern {
        use GraphPattern as P;
        let below = |inner: Box<GraphPattern>| Box::new(self.below_expressions(*inner));
        match pattern {
            P::OrderBy { inner, expression } => P::OrderBy { inner: below(inner), expression },
            P::Extend { inner, variable, expression } => P::Extend { inner: below(inner), variable, expression },
            P::Filter { expr, inner } => P::Filter { expr, inner: below(inner) },
            P::Group { inner, variables, aggregates } => P::Group { inner: below(inner), variables, aggregates },
            other => self.beside(other),
        }
    }

    fn beside(&self, pattern: GraphPattern) -> GraphPattern {
        self.evaluated_first(self.within(pattern))
    }

    fn evaluated_first(&self, pattern: GraphPattern) -> GraphPattern {
        let values = GraphPattern::Values { variables: self.variables.clone(), bindings: vec![self.values.clone()] };
        GraphPattern::Lateral { left: values.into(), right: pattern.into() }
    }

    /// The pattern with the values beside what each `MINUS` in it takes solutions from.
    fn within(&self, pattern: GraphPattern) -> GraphPattern {
        use GraphPattern as P;
        let seen = match &pattern {
            P::Project { variables, .. } => self.only(|variable| variables.contains(variable)),
            // The variable is not bound in there: see `plan::graphs`.
            P::Graph { name: NamedNodePattern::Variable(graph), .. } => self.only(|variable| variable != graph),
            P::Service { .. } => return pattern,
            _ => self.clone(),
        };
        if seen.variables.is_empty() {
            return pattern;
        }
        match map_children(pattern, &mut |inner| seen.within(inner), &mut |expression| expression) {
            P::Minus { left, right } => P::Minus { left: seen.evaluated_first(*left).into(), right },
            other => other,
        }
    }
}
