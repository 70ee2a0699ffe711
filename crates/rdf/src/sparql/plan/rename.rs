//! Another name for a variable of a pattern.

use oxrdf::Variable;
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

use crate::sparql::parse::shape::{Operand, map_children, map_operands, visit_operands};

/// The pattern with `to` in place of the variable `from`. A sub-select that does not return `from` keeps its own
/// variable of that name. The text that another endpoint is asked keeps its variables.
pub(super) fn renamed(pattern: GraphPattern, from: &Variable, to: &Variable) -> GraphPattern {
    Renaming { from, to }.pattern(pattern)
}

/// Whether an expression reads the variable, in its patterns too.
pub(super) fn reads(expression: &Expression, variable: &Variable) -> bool {
    if matches!(expression, Expression::Variable(read) | Expression::Bound(read) if read == variable) {
        return true;
    }
    let mut found = false;
    visit_operands(expression, &mut |operand| {
        found = found
            || match operand {
                Operand::Expression(operand) => reads(operand, variable),
                Operand::Pattern(pattern) => mentions(pattern, variable),
            };
    });
    found
}

/// Whether the pattern has the variable anywhere but in sub-selects that do not return it.
pub(super) fn mentions(pattern: &GraphPattern, variable: &Variable) -> bool {
    // A name that no text has: the pattern is changed if, and only if, it has the variable.
    let unused = super::hidden::hidden_variable("unused");
    renamed(pattern.clone(), variable, &unused) != *pattern
}

struct Renaming<'v> {
    from: &'v Variable,
    to: &'v Variable,
}

impl Renaming<'_> {
    fn pattern(&self, pattern: GraphPattern) -> GraphPattern {
        use GraphPattern as P;
        match pattern {
            P::Project { inner, variables } if !variables.contains(self.from) => P::Project { inner, variables },
            P::Service { name, inner, silent } => P::Service { name: self.name(name), inner, silent },
            other => {
                let on_pattern = &mut |inner| self.pattern(inner);
                self.own_variables(map_children(other, on_pattern, &mut |expression| self.expression(expression)))
            }
        }
    }

    /// The variables of the pattern's outermost operator.
    fn own_variables(&self, pattern: GraphPattern) -> GraphPattern {
        use GraphPattern as P;
        match pattern {
            P::Bgp { patterns } => {
                P::Bgp { patterns: patterns.into_iter().map(|triple| self.triple(triple)).collect() }
            }
            P::Path { subject, path, object } => {
                P::Path { subject: self.term(subject), path, object: self.term(object) }
            }
            P::Graph { name, inner } => P::Graph { name: self.name(name), inner },
            P::Extend { inner, variable, expression } => {
                P::Extend { inner, variable: self.variable(variable), expression }
            }
            P::Values { variables, bindings } => P::Values { variables: self.variables(variables), bindings },
            P::Project { inner, variables } => P::Project { inner, variables: self.variables(variables) },
            P::Group { inner, variables, aggregates } => {
                let aggregates = aggregates.into_iter().map(|(variable, of)| (self.variable(variable), of)).collect();
                P::Group { inner, variables: self.variables(variables), aggregates }
            }
            other => other,
        }
    }

    fn expression(&self, expression: Expression) -> Expression {
        match expression {
            Expression::Variable(variable) => Expression::Variable(self.variable(variable)),
            Expression::Bound(variable) => Expression::Bound(self.variable(variable)),
            other => map_operands(other, &mut |pattern| self.pattern(pattern), &mut |operand| self.expression(operand)),
        }
    }

    fn triple(&self, TriplePattern { subject, predicate, object }: TriplePattern) -> TriplePattern {
        TriplePattern { subject: self.term(subject), predicate: self.name(predicate), object: self.term(object) }
    }

    fn term(&self, term: TermPattern) -> TermPattern {
        match term {
            TermPattern::Variable(variable) => TermPattern::Variable(self.variable(variable)),
            TermPattern::Triple(triple) => TermPattern::Triple(Box::new(self.triple(*triple))),
            other => other,
        }
    }

    fn name(&self, name: NamedNodePattern) -> NamedNodePattern {
        match name {
            NamedNodePattern::Variable(variable) => NamedNodePattern::Variable(self.variable(variable)),
            other => other,
        }
    }

    fn variables(&self, variables: Vec<Variable>) -> Vec<Variable> {
        variables.into_iter().map(|variable| self.variable(variable)).collect()
    }

    fn variable(&self, variable: Variable) -> Variable {
        if variable == *self.from { self.to.clone() } else { variable }
    }
}
