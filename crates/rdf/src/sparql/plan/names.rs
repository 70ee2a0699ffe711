//! Which variables a pattern binds, and which an expression reads.

use std::collections::HashSet;

use oxrdf::{BlankNode, Variable};
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

use crate::dictionary::seeded_hash::SeededHash;
use crate::sparql::parse::shape::{Operand, visit_operands};

/// A variable, or a blank node of a pattern, which is a variable without a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Variable(Variable),
    Blank(BlankNode),
}

/// A set of variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names(HashSet<Name, SeededHash>);

impl Names {
    pub(super) fn contains(&self, name: &Name) -> bool {
        self.0.contains(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn shares_with(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    pub(super) fn are_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    pub(super) fn with(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    pub(super) fn without(mut self, other: &Self) -> Self {
        self.0.retain(|name| !other.contains(name));
        self
    }

    fn only(mut self, variables: &[Variable]) -> Self {
        self.0.retain(|name| matches!(name, Name::Variable(variable) if variables.contains(variable)));
        self
    }

    fn in_both(mut self, other: &Self) -> Self {
        self.0.retain(|name| other.contains(name));
        self
    }

    /// Those of `outer` that a sub-select with these variables can see.
    pub(super) fn visible_through(outer: &Self, variables: &[Variable]) -> Self {
        outer.clone().only(variables)
    }

    fn variable(&mut self, variable: &Variable) {
        self.0.insert(Name::Variable(variable.clone()));
    }

    pub(super) fn term(&mut self, pattern: &TermPattern) {
        match pattern {
            TermPattern::Variable(variable) => self.variable(variable),
            TermPattern::BlankNode(node) => {
                self.0.insert(Name::Blank(node.clone()));
            }
            TermPattern::Triple(triple) => self.triple(triple),
            TermPattern::NamedNode(_) | TermPattern::Literal(_) => {}
        }
    }

    pub(super) fn named_node(&mut self, pattern: &NamedNodePattern) {
        if let NamedNodePattern::Variable(variable) = pattern {
            self.variable(variable);
        }
    }

    /// Adds what the expression reads outside of patterns. Returns whether it looks at no pattern.
    fn expression(&mut self, expression: &Expression) -> bool {
        if let Expression::Variable(variable) | Expression::Bound(variable) = expression {
            self.variable(variable);
        }
        let mut is_without_patterns = true;
        visit_operands(expression, &mut |operand| match operand {
            Operand::Pattern(_) => is_without_patterns = false,
            Operand::Expression(operand) => is_without_patterns &= self.expression(operand),
        });
        is_without_patterns
    }

    pub(super) fn triple(&mut self, triple: &TriplePattern) {
        self.term(&triple.subject);
        self.named_node(&triple.predicate);
        self.term(&triple.object);
    }
}

/// The variables that every solution of the pattern binds.
pub(super) fn certain(pattern: &GraphPattern) -> Names {
    let mut names = Names::default();
    match pattern {
        GraphPattern::Bgp { patterns } => patterns.iter().for_each(|triple| names.triple(triple)),
        GraphPattern::Path { subject, object, .. } => {
            names.term(subject);
            names.term(object);
        }
        GraphPattern::Values { variables, bindings } => {
            for (column, variable) in variables.iter().enumerate() {
                if bindings.iter().all(|row| row.get(column).is_some_and(Option::is_some)) {
                    names.variable(variable);
                }
            }
        }
        GraphPattern::Join { left, right } | GraphPattern::Lateral { left, right } => {
            names = certain(left).with(&certain(right));
        }
        GraphPattern::Union { left, right } => names = certain(left).in_both(&certain(right)),
        GraphPattern::Graph { name, inner } => {
            names = certain(inner);
            names.named_node(name);
        }
        GraphPattern::LeftJoin { left: inner, .. }
        | GraphPattern::Minus { left: inner, .. }
        | GraphPattern::Filter { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. } => names = certain(inner),
        GraphPattern::Project { inner, variables } | GraphPattern::Group { inner, variables, .. } => {
            names = certain(inner).only(variables);
        }
        // A silent service that fails binds nothing.
        GraphPattern::Service { .. } => {}
    }
    names
}

/// Whether every solution of the pattern binds a variable: whether [`certain`] has one, mostly without listing them.
pub(super) fn binds_any(pattern: &GraphPattern) -> bool {
    let is_named = |triple: &TriplePattern| {
        let mut names = Names::default();
        names.triple(triple);
        !names.is_empty()
    };
    match pattern {
        GraphPattern::Bgp { patterns } => patterns.iter().any(is_named),
        GraphPattern::Join { left, right } | GraphPattern::Lateral { left, right } => {
            binds_any(left) || binds_any(right)
        }
        GraphPattern::LeftJoin { left: inner, .. }
        | GraphPattern::Minus { left: inner, .. }
        | GraphPattern::Filter { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. } => binds_any(inner),
        _ => !certain(pattern).is_empty(),
    }
}

/// Whether joining the pattern to rows is the same as evaluating it for each row with the row's bindings.
pub(super) fn joins_by_substitution(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => true,
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::Union { left, right } => joins_by_substitution(left) && joins_by_substitution(right),
        GraphPattern::Graph { inner, .. } => joins_by_substitution(inner),
        // Its endpoint has to be bound before it is asked, so there is no other way.
        GraphPattern::Service { name, .. } => matches!(name, NamedNodePattern::Variable(_)),
        GraphPattern::Filter { expr, inner } => joins_by_substitution(inner) && reads_only(expr, &certain(inner)),
        _ => false,
    }
}

/// The variables that name endpoints which a pattern that [joins by substitution](joins_by_substitution) asks.
pub(super) fn endpoints(pattern: &GraphPattern) -> Names {
    match pattern {
        GraphPattern::Service { name, .. } => {
            let mut names = Names::default();
            names.named_node(name);
            names
        }
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::Union { left, right } => endpoints(left).with(&endpoints(right)),
        GraphPattern::Graph { inner, .. } | GraphPattern::Filter { inner, .. } => endpoints(inner),
        _ => Names::default(),
    }
}

/// Whether the expression reads variables of `names` alone, and no patterns.
pub(super) fn reads_only(expression: &Expression, names: &Names) -> bool {
    read_by(expression).is_some_and(|read| read.are_within(names))
}

/// What each condition of a conjunction reads; conditions that look at patterns are left out.
pub(super) fn read_by_conjuncts(expression: &Expression, conditions: &mut Vec<Names>) {
    match expression {
        Expression::And(left, right) => {
            read_by_conjuncts(left, conditions);
            read_by_conjuncts(right, conditions);
        }
        condition => conditions.extend(read_by(condition)),
    }
}

/// The variables that the expression reads; `None` if it looks at patterns.
fn read_by(expression: &Expression) -> Option<Names> {
    let mut names = Names::default();
    names.expression(expression).then_some(names)
}
