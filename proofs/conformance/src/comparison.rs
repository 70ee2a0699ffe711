//! How the answer to a query is compared with the expected one: what the query itself says of that.
//!
//! If the query orders its solutions by variables that it returns, they must be in that order. Solutions with equal
//! terms for these variables may be in any order, and so may all solutions if SPARQL does not define the order of their
//! terms (a number and a text, or two blank nodes). Terms have to be the same terms, but for numbers
//! that the query computes: SPARQL leaves open how these are written, and the suites write them in several ways (`2.0`
//! and `2`, `1.0E0` and `1`). Numbers of the data are terms as all others.

use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNodeRef, Term};
use spargebra::Query;
use spargebra::algebra::{Expression, GraphPattern, OrderExpression};

/// How two answers are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// What is said of the order and number of solutions.
    pub solutions: Solutions,
    /// The variables, without question marks, whose numbers count by value.
    pub computed: Vec<String>,
}

/// What is said of the order and number of solutions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Solutions {
    /// They have no order.
    #[default]
    Bag,
    /// They have to come in the order of the file, which gives them numbers.
    Numbered,
    /// They have to come in the order of the file, but for those that have the same terms for these variables.
    OrderedBy(Vec<String>),
    /// They may occur less often than expected, but not never: REDUCED.
    Reduced,
}

impl Comparison {
    /// What the query says, and what the manifest (`reduced`) and the file with the answer (`numbered`) say.
    pub fn of(query: &Query, reduced: bool, numbered: bool) -> Self {
        let (Query::Select { pattern, .. }
        | Query::Construct { pattern, .. }
        | Query::Describe { pattern, .. }
        | Query::Ask { pattern, .. }) = query;
        let solutions = match order(pattern, None) {
            _ if reduced => Solutions::Reduced,
            _ if numbered => Solutions::Numbered,
            Some(keys) => Solutions::OrderedBy(keys),
            None => Solutions::Bag,
        };
        let mut computed = Vec::new();
        add_computed(pattern, &mut computed);
        Self { solutions, computed }
    }
}

/// The variables by which the query orders, outside of sub-selects; `None` if it does not, or by something that is not
/// to be seen in its solutions.
fn order(pattern: &GraphPattern, returned: Option<&[oxrdf::Variable]>) -> Option<Vec<String>> {
    match pattern {
        GraphPattern::Slice { inner, .. } | GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner }
            if returned.is_none() =>
        {
            order(inner, None)
        }
        GraphPattern::Project { inner, variables } if returned.is_none() => order(inner, Some(variables)),
        GraphPattern::OrderBy { expression, .. } => expression
            .iter()
            .map(|(OrderExpression::Asc(key) | OrderExpression::Desc(key))| match key {
                Expression::Variable(variable) if returned.is_some_and(|returned| returned.contains(variable)) => {
                    Some(variable.as_str().to_owned())
                }
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// The variables to which the pattern assigns what an expression or an aggregate computes. What is assigned as it
/// stands, a constant or the value of another variable, is not computed.
fn add_computed(pattern: &GraphPattern, computed: &mut Vec<String>) {
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => {}
        GraphPattern::Join { left, right }
        | GraphPattern::LeftJoin { left, right, .. }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::Union { left, right }
        | GraphPattern::Minus { left, right } => {
            add_computed(left, computed);
            add_computed(right, computed);
        }
        GraphPattern::Extend { inner, variable, expression } => {
            add_computed(inner, computed);
            let copies = |copied: &oxrdf::Variable| !computed.iter().any(|name| name == copied.as_str());
            let is_copy = match expression {
                Expression::NamedNode(_) | Expression::Literal(_) => true,
                Expression::Variable(copied) => copies(copied),
                _ => false,
            };
            if !is_copy {
                computed.push(variable.as_str().to_owned());
            }
        }
        GraphPattern::Group { inner, aggregates, .. } => {
            add_computed(inner, computed);
            computed.extend(aggregates.iter().map(|(variable, _)| variable.as_str().to_owned()));
        }
        GraphPattern::Filter { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Graph { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. }
        | GraphPattern::Service { inner, .. } => add_computed(inner, computed),
    }
}

/// Whether SPARQL puts all these in one order: nothing, one blank node, IRIs, literals of one kind that can be
/// compared.
pub fn have_order<'t>(terms: impl Iterator<Item = Option<&'t Term>>) -> bool {
    let (mut node, mut kind) = (None, None);
    for term in terms.flatten() {
        let same = match term {
            Term::NamedNode(_) => true,
            Term::BlankNode(found) => *node.get_or_insert(found) == found,
            Term::Literal(literal) => kind_of(literal).is_some_and(|found| *kind.get_or_insert(found) == found),
            Term::Triple(_) => false,
        };
        if !same {
            return false;
        }
    }
    true
}

/// The kind of literals among which `<` is defined.
fn kind_of(literal: &Literal) -> Option<NamedNodeRef<'static>> {
    match literal.datatype() {
        xsd::INTEGER | xsd::DECIMAL | xsd::FLOAT | xsd::DOUBLE => Some(xsd::DECIMAL),
        xsd::STRING => Some(xsd::STRING),
        xsd::BOOLEAN => Some(xsd::BOOLEAN),
        xsd::DATE_TIME => Some(xsd::DATE_TIME),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spargebra::SparqlParser;

    fn of(text: &str) -> Comparison {
        Comparison::of(&SparqlParser::new().parse_query(text).expect("a query"), false, false)
    }

    #[test]
    fn solutions_are_in_order_where_the_query_orders_by_what_it_returns() {
        let ordered = |keys: &[&str]| Solutions::OrderedBy(keys.iter().map(|key| (*key).to_owned()).collect());
        assert_eq!(of("SELECT ?s ?o { ?s ?p ?o } ORDER BY ?o DESC(?s) LIMIT 3").solutions, ordered(&["o", "s"]));
        assert_eq!(of("SELECT DISTINCT ?s { ?s ?p ?o } ORDER BY ?s").solutions, ordered(&["s"]));
        assert_eq!(of("SELECT ?s { ?s ?p ?o } ORDER BY ?o").solutions, Solutions::Bag);
        assert_eq!(of("SELECT ?s { { SELECT ?s { ?s ?p ?o } ORDER BY ?s } }").solutions, Solutions::Bag);
    }

    #[test]
    fn numbers_and_texts_have_no_order_among_each_other() {
        let (one, two): (Term, Term) = (Literal::from(1).into(), Literal::new_typed_literal("2", xsd::DOUBLE).into());
        let (text, iri): (Term, Term) = (Literal::from("1").into(), xsd::STRING.into_owned().into());
        let node: Term = oxrdf::BlankNode::default().into();
        assert!(have_order([Some(&one), None, Some(&two), Some(&iri), Some(&node), Some(&node)].into_iter()));
        assert!(!have_order([Some(&one), Some(&text)].into_iter()));
        let other: Term = oxrdf::BlankNode::default().into();
        assert!(!have_order([Some(&node), Some(&other)].into_iter()));
    }

    #[test]
    fn what_the_query_computes_counts_by_value() {
        let computed = |text: &str, name: &str| of(text).computed.iter().any(|computed| computed == name);
        let grouped = "SELECT ?o (?o + 1 AS ?n) (AVG(?x) AS ?m) { ?s ?p ?o } GROUP BY ?o";
        assert!(computed(grouped, "n") && computed(grouped, "m") && !computed(grouped, "o"));
        let copied = "SELECT * { ?s ?p ?o BIND(?o + 1 AS ?n) BIND(?n AS ?k) }";
        assert!(computed(copied, "n") && computed(copied, "k") && !computed(copied, "o"));
        assert!(of("SELECT * { ?s ?p ?o BIND(?o AS ?x) BIND(1 AS ?b) }").computed.is_empty());
    }
}
