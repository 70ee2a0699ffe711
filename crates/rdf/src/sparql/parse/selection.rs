//! Variables that a `SELECT` names again: `SELECT ?s ?s` has one column, since the variables of a result are a set
//! (SPARQL 1.1, 18.2.4.4). The parser refuses such a text.
//!
//! Called by `text` alone, for texts that the parser has refused.

use std::collections::HashSet;
use std::ops::Range;

use super::tokens::{Token, tokens};

/// The text with spaces in the place of variables that a `SELECT` has named before; `None` if there are none. All other
/// tokens keep their line and column.
pub(super) fn without_repeats(text: &str) -> Option<String> {
    let tokens = tokens(text);
    let mut repeats = Vec::new();
    for (number, token) in tokens.iter().enumerate() {
        if token.is_word(text, "SELECT") {
            add_repeats(text, &tokens[number + 1..], &mut repeats);
        }
    }
    if repeats.is_empty() {
        return None;
    }
    // A `SELECT` within an expression of another one comes after it, and may be before its repeats.
    repeats.sort_by_key(|repeat| repeat.start);
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for repeat in repeats {
        out.push_str(&text[end..repeat.start]);
        out.extend(text[repeat.clone()].chars().map(|_| ' '));
        end = repeat.end;
    }
    out.push_str(&text[end..]);
    Some(out)
}

/// Adds the repeats among the columns that follow a `SELECT`. Variables after `AS` are none.
fn add_repeats(text: &str, columns: &[Token], repeats: &mut Vec<Range<usize>>) {
    let mut selected = HashSet::new();
    let mut depth = 0_usize;
    for (number, token) in columns.iter().enumerate() {
        if token.is_symbol(text, "(") {
            depth += 1;
        } else if token.is_symbol(text, ")") {
            let Some(outer) = depth.checked_sub(1) else { return };
            depth = outer;
        } else if depth == 0 {
            let is_option = number == 0 && (token.is_word(text, "DISTINCT") || token.is_word(text, "REDUCED"));
            match token.variable(text) {
                Some(name) if !selected.insert(name) => repeats.push(token.range.clone()),
                Some(_) => {}
                None if is_option => {}
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_are_selected_again_become_spaces() {
        for (text, expected) in [
            ("SELECT ?s ?s ?o { ?s ?s ?o }", "SELECT ?s    ?o { ?s ?s ?o }"),
            ("select distinct ?é $é { ?é ?p ?s }", "select distinct ?é    { ?é ?p ?s }"),
            ("SELECT ?s (COUNT(?s) AS ?n) ?s { ?s ?p ?o }", "SELECT ?s (COUNT(?s) AS ?n)    { ?s ?p ?o }"),
            ("SELECT ?a { { SELECT ?b ?b { ?a ?b ?b } } }", "SELECT ?a { { SELECT ?b    { ?a ?b ?b } } }"),
            (
                "SELECT ?a (EXISTS { SELECT ?b ?b { ?a ?b 1 } } AS ?x) ?a { ?a ?b 'SELECT ?s ?s' }",
                "SELECT ?a (EXISTS { SELECT ?b    { ?a ?b 1 } } AS ?x)    { ?a ?b 'SELECT ?s ?s' }",
            ),
        ] {
            assert_eq!(without_repeats(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["SELECT ?s ?o { ?s ?s }", "SELECT (1 AS ?x) (2 AS ?x) {}", "SELECT * { ?s ?s }", "SELECT ) ?s"] {
            assert_eq!(without_repeats(text), None, "{text}");
        }
    }
}
