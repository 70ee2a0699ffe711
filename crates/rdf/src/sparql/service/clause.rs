//! The `SERVICE` clauses of a query, each with its number and with what its endpoint is asked.
//!
//! The evaluator's handler is given a pattern alone, and as the optimizer left it. So before it is planned the pattern
//! of each clause binds a hidden variable, whose name has the clause's number.

use oxiri::Iri;
use oxrdf::{Literal, Variable};
use spargebra::Query;
use spargebra::algebra::{Expression, GraphPattern};

use crate::sparql::parse::shape::{map_children, map_operands};
use crate::sparql::plan::hidden_variable;

/// What an endpoint is asked for one clause.
#[derive(Clone, Debug)]
pub(crate) struct Clause {
    /// In the words of SPARQL.
    pub query: String,
    /// What the clause binds, in the order of the query.
    pub variables: Vec<Variable>,
    pub is_silent: bool,
}

/// The query with its clauses numbered.
pub(crate) fn number_query(query: Query) -> (Query, Vec<Clause>) {
    let mut clauses = Vec::new();
    let mut number = |pattern, base: &Option<Iri<String>>| numbered(pattern, base.as_ref(), &mut clauses);
    let query = match query {
        Query::Select { dataset, pattern, base_iri } => {
            Query::Select { dataset, pattern: number(pattern, &base_iri), base_iri }
        }
        Query::Construct { template, dataset, pattern, base_iri } => {
            Query::Construct { template, dataset, pattern: number(pattern, &base_iri), base_iri }
        }
        Query::Describe { dataset, pattern, base_iri } => {
            Query::Describe { dataset, pattern: number(pattern, &base_iri), base_iri }
        }
        Query::Ask { dataset, pattern, base_iri } => {
            Query::Ask { dataset, pattern: number(pattern, &base_iri), base_iri }
        }
    };
    (query, clauses)
}

/// The pattern of an update with its clauses numbered.
pub(crate) fn number_pattern(pattern: GraphPattern, base: Option<&Iri<String>>) -> (GraphPattern, Vec<Clause>) {
    let mut clauses = Vec::new();
    let pattern = numbered(pattern, base, &mut clauses);
    (pattern, clauses)
}

fn numbered(pattern: GraphPattern, base: Option<&Iri<String>>, clauses: &mut Vec<Clause>) -> GraphPattern {
    if let GraphPattern::Service { name, inner, silent } = pattern {
        // What is within is the endpoint's: services that it is to ask too.
        let number = clauses.len();
        clauses.push(clause(&inner, base, silent));
        let marked = GraphPattern::Extend { inner, variable: mark(number), expression: Literal::from(true).into() };
        return GraphPattern::Service { name, inner: marked.into(), silent };
    }
    // Both parts of a pattern add clauses, one after the other.
    let clauses = std::cell::RefCell::new(clauses);
    map_children(pattern, &mut |inner| numbered(inner, base, &mut clauses.borrow_mut()), &mut |expression| {
        numbered_expression(expression, base, &mut clauses.borrow_mut())
    })
}

fn numbered_expression(expression: Expression, base: Option<&Iri<String>>, clauses: &mut Vec<Clause>) -> Expression {
    let clauses = std::cell::RefCell::new(clauses);
    map_operands(expression, &mut |pattern| numbered(pattern, base, &mut clauses.borrow_mut()), &mut |operand| {
        numbered_expression(operand, base, &mut clauses.borrow_mut())
    })
}

fn clause(inner: &GraphPattern, base: Option<&Iri<String>>, is_silent: bool) -> Clause {
    let mut variables = Vec::new();
    inner.on_in_scope_variable(|variable| {
        if !variables.contains(variable) {
            variables.push(variable.clone());
        }
    });
    let inner = Box::new(inner.clone());
    let pattern = match (&*inner, variables.is_empty()) {
        (GraphPattern::Project { .. }, _) | (_, true) => *inner,
        // Named, so that blank nodes and what expressions need within are no columns of the answer.
        _ => GraphPattern::Project { inner, variables: variables.clone() },
    };
    let query = Query::Select { dataset: None, pattern, base_iri: base.cloned() }.to_string();
    Clause { query, variables, is_silent }
}

fn mark(number: usize) -> Variable {
    hidden_variable(&format!("{MARK}{number}"))
}

/// The number of the clause that has this pattern.
pub(crate) fn number_of(pattern: &GraphPattern) -> Option<usize> {
    match pattern {
        GraphPattern::Extend { variable, inner, .. } => {
            let digits = variable.as_str().split_once(MARK).map(|(_, digits)| digits);
            digits.and_then(|digits| digits.parse().ok()).or_else(|| number_of(inner))
        }
        GraphPattern::Filter { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Graph { inner, .. } => number_of(inner),
        _ => None,
    }
}

const MARK: &str = "service·";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparql::parse::text::{Prologue, parse_query};

    fn clauses(text: &str) -> Vec<Clause> {
        let prologue = Prologue { base: Some("http://base/"), prefixes: &[], quotes_triples: false };
        number_query(parse_query(text, &prologue).expect("a query")).1
    }

    #[test]
    fn clauses_are_numbered_wherever_they_are_but_within_each_other() {
        let text = "SELECT * { SERVICE <x:1> { ?a ?b ?c SERVICE <x:no> { ?d ?e ?f } } OPTIONAL { SERVICE SILENT <x:2> { } }
                    FILTER EXISTS { SERVICE ?c { ?g ?h ?i } } { SELECT (COUNT(*) AS ?n) { SERVICE <x:3> { ?j ?k ?l } } } }";
        let found = clauses(text);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found.iter().filter(|clause| clause.is_silent).count(), 1);
        let first = found.iter().find(|clause| clause.variables.len() == 6).expect("the first has the inner one");
        assert!(first.query.contains("SERVICE <x:no>"), "{first:?}");
    }

    #[test]
    fn what_is_sent_is_a_query_that_parses_to_the_same_pattern() {
        for inner in [
            "?s <p> ?o ; <q> [ <r> ?x ] . FILTER(?o > 3 && REGEX(?x, \"a\\\"b\"))",
            "?s (<p>/<q>)* ?o OPTIONAL { ?s <r> ?t FILTER(?t != ?o) } MINUS { ?s <no> ?o }",
            "{ ?s <p> ?o } UNION { ?s <q> ?o } BIND(STR(?o) AS ?text)",
            "{ SELECT ?s (SUM(?o) AS ?sum) { ?s <p> ?o } GROUP BY ?s HAVING(SUM(?o) > 1) ORDER BY ?s LIMIT 3 }",
            "VALUES (?s ?o) { (<a> 1) (UNDEF \"x\"@en) } GRAPH ?g { ?s ?p ?o }",
            "SELECT DISTINCT ?s { ?s <p> ?o } LIMIT 2",
        ] {
            let found = clauses(&format!("SELECT * {{ SERVICE <x:1> {{ {inner} }} }}"));
            let sent = &found[0].query;
            let again = parse_query(sent, &Prologue::default()).unwrap_or_else(|error| panic!("{sent}: {error}"));
            assert!(sent.contains("<http://base/p>") || inner.starts_with("VALUES"), "{sent}");
            let spargebra::Query::Select { pattern, .. } = again else { panic!("{sent} is not a SELECT") };
            let mut variables = Vec::new();
            pattern.on_in_scope_variable(|variable| variables.push(variable.clone()));
            assert_eq!(variables, found[0].variables, "{sent}");
        }
    }

    #[test]
    fn the_number_of_a_clause_is_in_its_pattern() {
        let text = "SELECT * { SERVICE <x:1> { ?a ?b ?c } SERVICE <x:2> { ?a ?b ?d } }";
        let query = parse_query(text, &Prologue::default()).expect("a query");
        let (spargebra::Query::Select { pattern: GraphPattern::Project { inner, .. }, .. }, _) = number_query(query)
        else {
            panic!("no SELECT");
        };
        let GraphPattern::Join { left, right } = *inner else { panic!("no join: {inner}") };
        for (number, service) in [left, right].into_iter().enumerate() {
            let GraphPattern::Service { inner, .. } = *service else { panic!("no service: {service}") };
            assert_eq!(number_of(&inner), Some(number));
        }
    }
}
