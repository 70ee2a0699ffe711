//! Aggregates in places where SPARQL has none.
//!
//! The parser accepts an aggregate in a `FILTER`, `BIND` or `GROUP BY` of a `SELECT` that has aggregates, and computes
//! it over no rows. So these places are checked after parsing.

use super::message::error;
use crate::error::Error;
use crate::sparql::parse::tokens::{Kind, Token, may_have_word, tokens};

/// The error for an aggregate in another place.
pub(crate) const MISPLACED: &str = "aggregates are allowed in SELECT, HAVING and ORDER BY alone; compute this one in a \
                                    sub-select: `{ SELECT (COUNT(?x) AS ?n) { … } }`";

const AGGREGATES: [&str; 7] = ["COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"];

/// Words that begin a part of a query in which expressions are.
const CLAUSES: [&str; 8] = ["SELECT", "HAVING", "ORDER", "GROUP", "FILTER", "BIND", "INSERT", "DELETE"];

/// The first aggregate outside `SELECT`, `HAVING` and `ORDER BY`. Requires: the parser takes the text.
pub(crate) fn misplaced_aggregate(text: &str) -> Option<Error> {
    if !may_have_word(text, &AGGREGATES) {
        return None;
    }
    let tokens = tokens(text);
    // For each brace that is open, and for the text: the clause in which the tokens are.
    let mut clauses = vec![""];
    for (number, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Symbol if token.is_symbol(text, "{") => clauses.push(""),
            Kind::Symbol if token.is_symbol(text, "}") => drop(clauses.pop()),
            Kind::Word => {
                if let Some(clause) = CLAUSES.into_iter().find(|clause| token.is_word(text, clause)) {
                    *clauses.last_mut()? = clause;
                } else if matches!(*clauses.last()?, "FILTER" | "BIND" | "GROUP") && is_aggregate(text, token) {
                    let is_call = tokens.get(number + 1).is_some_and(|next| next.is_symbol(text, "("));
                    if is_call {
                        return Some(error(text, Some(token), MISPLACED.to_owned()));
                    }
                }
            }
            _ => {}
        }
    }
    None
}

fn is_aggregate(text: &str, token: &Token) -> bool {
    AGGREGATES.iter().any(|word| token.is_word(text, word))
}
