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
//! | `Extend(P, ?v, e)`, if the query does not return `?v` | `Filter(Extend(P, ?w, e), sameTerm(?w, ?v))` |
//!
//! The evaluator's first row takes only variables that the query returns.
//!
//! Patterns within `EXISTS` are left as they are: what a row outside binds is not a variable there.
//!
//! Invariant: the values of the row and of the pattern are the same terms.

use oxrdf::{Term, Variable};
use spargebra::Query;
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{GroundTerm, NamedNodePattern};

use crate::sparql::expressions::aggregates;
use crate::sparql::parse::shape::{map_children, map_pattern_of_query};

/// The query with the values beside its pattern.
pub(super) fn with_bindings(query: &Query, bindings: &[(Variable, Term)]) -> Query {
    let mut row = Row::of(bindings);
    row.hidden = row.variables.iter().filter(|variable| !returns(query, variable)).cloned().collect();
    // The parser projects the variables of the pattern if the text does not say which.
    let projects_all = matches!(query, Query::Ask { .. } | Query::Construct { .. });
    map_pattern_of_query(query.clone(), &mut |pattern| row.below_projection(pattern, projects_all))
}

/// The pattern of an update with the values beside it.
pub(super) fn pattern_with_bindings(pattern: GraphPattern, bindings: &[(Variable, Term)]) -> GraphPattern {
    if bindings.is_empty() {
        return pattern;
    }
    let mut row = Row::of(bindings);
    row.hidden.clone_from(&row.variables);
    row.beside(pattern)
}

/// Whether a query returns a variable. Only then the evaluator may put its value into the first row.
pub(super) fn returns(query: &Query, variable: &Variable) -> bool {
    let (Query::Select { pattern, .. } | Query::Describe { pattern, .. }) = query else { return true };
    let mut is_returned = false;
    pattern.on_in_scope_variable(|returned| is_returned |= returned == variable);
    is_returned
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
    /// The variables that are not in the evaluator's first row.
    hidden: Vec<Variable>,
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
        let hidden = self.hidden.iter().filter(|variable| is_seen(variable)).cloned().collect();
        Self { variables, values, hidden }
    }

    /// The pattern of a query, with the values beside what its modifiers and expressions are over.
    fn below_projection(&self, pattern: GraphPattern, projects_all: bool) -> GraphPattern {
        use GraphPattern as P;
        let below = |inner: Box<GraphPattern>| Box::new(self.below_projection(*inner, projects_all));
        match pattern {
            P::Slice { inner, start, length } => P::Slice { inner: below(inner), start, length },
            P::Distinct { inner } => P::Distinct { inner: below(inner) },
            P::Reduced { inner } => P::Reduced { inner: below(inner) },
            P::Project { inner, mut variables } => {
                if projects_all {
                    let missing = self.variables.iter().filter(|variable| !variables.contains(variable));
                    variables.extend(missing.cloned().collect::<Vec<_>>());
                }
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
            P::Extend { inner, variable, expression } => self.extend(below(inner), variable, expression),
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
            P::Extend { inner, variable, expression } => seen.extend(inner, variable, expression),
            other => other,
        }
    }

    /// `Extend`, which would replace the value of a hidden variable.
    fn extend(&self, inner: Box<GraphPattern>, variable: Variable, expression: Expression) -> GraphPattern {
        if !self.hidden.contains(&variable) {
            return GraphPattern::Extend { inner, variable, expression };
        }
        // No text has a variable of this name.
        let computed = Variable::new_unchecked(format!("{} computed", variable.as_str()));
        let same =
            Expression::SameTerm(Expression::Variable(computed.clone()).into(), Expression::Variable(variable).into());
        let inner = GraphPattern::Extend { inner, variable: computed, expression };
        GraphPattern::Filter { expr: same, inner: inner.into() }
    }
}
