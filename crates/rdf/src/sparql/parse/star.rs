//! The columns of `SELECT *`, in the order in which the text names their variables first. The parser has them in the
//! order of the alphabet.

use std::collections::HashMap;

use spargebra::Query;
use spargebra::algebra::GraphPattern;

use super::tokens::{Token, tokens};

/// The query with the columns of its outermost `SELECT *` in that order. What is selected within it is seen by name
/// alone.
pub(crate) fn in_order_of_text(query: Query, text: &str) -> Query {
    match query {
        Query::Select { dataset, pattern, base_iri } if text.contains('*') => {
            Query::Select { dataset, pattern: ordered(pattern, text), base_iri }
        }
        other => other,
    }
}

fn ordered(mut pattern: GraphPattern, text: &str) -> GraphPattern {
    let tokens = tokens(text);
    let Some(select) = tokens.iter().position(|token| token.is_word(text, "SELECT")) else { return pattern };
    let is_option = |token: &Token| token.is_word(text, "DISTINCT") || token.is_word(text, "REDUCED");
    let star = select + 1 + usize::from(tokens.get(select + 1).is_some_and(is_option));
    if !tokens.get(star).is_some_and(|token| token.is_symbol(text, "*")) {
        return pattern;
    }
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, token) in tokens.iter().enumerate().skip(star) {
        if let Some(name) = token.variable(text) {
            places.entry(name).or_insert(place);
        }
    }
    let mut projected = &mut pattern;
    loop {
        match projected {
            GraphPattern::Slice { inner, .. } | GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => {
                projected = inner;
            }
            GraphPattern::Project { variables, .. } => {
                variables.sort_by_key(|variable| places.get(variable.as_str()).copied().unwrap_or(usize::MAX));
                return pattern;
            }
            _ => return pattern,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::{Prologue, parse_query};
    use super::*;

    fn columns(text: &str) -> String {
        let prefixes = [(String::new(), "http://example.org/".to_owned())];
        let query =
            parse_query(text, &Prologue { base: None, prefixes: &prefixes, quotes_triples: false }).expect(text);
        let Query::Select { mut pattern, .. } = query else { panic!("{text}") };
        loop {
            pattern = match pattern {
                GraphPattern::Slice { inner, .. }
                | GraphPattern::Distinct { inner }
                | GraphPattern::Reduced { inner } => *inner,
                GraphPattern::Project { variables, .. } => {
                    return variables.iter().map(|variable| variable.as_str()).collect::<Vec<_>>().join(" ");
                }
                other => panic!("{other}"),
            };
        }
    }

    #[test]
    fn all_variables_come_in_the_order_in_which_they_are_written() {
        for (text, expected) in [
            ("SELECT * { ?z :p ?a . ?m :q $b }", "z a m b"),
            ("select distinct * { ?z :p ?a }", "z a"),
            ("SELECT REDUCED * { ?z :p ?a } ORDER BY ?a LIMIT 3", "z a"),
            ("SELECT*{ ?z ?y ?x }", "z y x"),
            ("SELECT * { ?z :p+/^:q ?a }", "z a"),
            ("SELECT * { BIND(1 AS ?z) VALUES (?y ?b) { (1 2) } ?a :p ?y }", "z y b a"),
            ("SELECT * { ?z :p ?x } VALUES ?a { 1 }", "z x a"),
            ("SELECT * { { SELECT * { ?z :p ?a } } ?m :q ?a }", "z a m"),
            ("SELECT * { { SELECT ?z (COUNT(?x) AS ?a) { ?z :p ?x } GROUP BY ?z } ?b :q ?a }", "z a b"),
            ("SELECT * { FILTER(?b > 1) ?z :p ?b }", "b z"),
            ("SELECT * { ?z :p ?y MINUS { ?z :q ?c } OPTIONAL { ?y :r ?b } GRAPH ?a { ?y :s 1 } }", "z y b a"),
            ("SELECT * # ?c\n{ ?z :p '?b' , ?a }", "z a"),
            ("SELECT ?a ?z { ?z :p ?a }", "a z"),
            ("SELECT ?a (?z * 2 AS ?b) { ?z :p ?a }", "a b"),
            ("SELECT ?a ?b ?c { ?c :p ?b . ?a ?b ?c { SELECT * { ?c ?b ?a } } }", "a b c"),
        ] {
            assert_eq!(columns(text), expected, "{text}");
        }
    }
}
