//! The diagnosis of a text: what is asked of grammar, prefixes and meaning, and in which order.

use super::advice::{Advice, advice};
use super::grammar::Grammar;
use super::meaning;
use super::message::{Wanted, error};
use super::predict::{Stop, predict};
use super::prefixes;
use super::tree::Tree;
use crate::error::Error;
use crate::sparql::parse::tokens::{Token, place, tokens};

/// What a text is parsed with, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'s> {
    pub wanted: Wanted,
    /// Prefixes that the text need not declare.
    pub prefixes: &'s [(String, String)],
    pub has_base: bool,
}

/// What is wrong with the text, which the parser has refused with `refusal`.
pub(crate) fn diagnose(text: &str, surroundings: Surroundings<'_>, refusal: Refusal) -> Error {
    let tokens = tokens(text);
    let grammar = Grammar::new();
    let start = match surroundings.wanted {
        Wanted::Query => grammar.rule("Query"),
        Wanted::Update => grammar.rule("Update"),
    };
    let prediction = predict(&grammar, start, text, &tokens);
    let stop = prediction.stop.as_ref().map_or(usize::MAX, |stop| stop.token);
    if let Some(undeclared) = prefixes::undeclared(text, &tokens, surroundings.prefixes)
        && undeclared.token <= stop
    {
        return error(text, tokens.get(undeclared.token), undeclared.message);
    }
    if let Some(stop) = &prediction.stop {
        let message = message(&grammar, surroundings.wanted, text, &tokens, stop);
        return error(text, tokens.get(stop.token), message);
    }
    let tree = Tree::new(&grammar, text, &tokens, &prediction.nodes);
    let Some(fault) = meaning::fault(&tree, surroundings.has_base) else { return refusal.into_error(text) };
    let mut error = error(text, tokens.get(fault.token), fault.message);
    if let Error::SparqlSyntax { needs_base, .. } = &mut error {
        *needs_base = fault.needs_base;
    }
    error
}

/// What is expected instead of the token, with advice for mistakes that are often made.
fn message(grammar: &Grammar, wanted: Wanted, text: &str, tokens: &[Token], stop: &Stop) -> String {
    let expected = expected(&stop.expected);
    match advice(grammar, wanted, text, tokens, stop) {
        Some(Advice::Instead(message)) => message,
        Some(Advice::Also(advice)) => format!("expected {expected}; {advice}"),
        None => format!("expected {expected}"),
    }
}

/// Things that are named at most.
const NAMED_MAX: usize = 8;

fn expected(names: &[String]) -> String {
    match names {
        [] => "the end".to_owned(),
        [name] => name.clone(),
        names if names.len() > NAMED_MAX => format!("{} or the like", names[..NAMED_MAX].join(", ")),
        [names @ .., last] => format!("{} or {last}", names.join(", ")),
    }
}

/// What the parser has said.
pub(crate) struct Refusal {
    /// 0 if it gave no place.
    pub line: u64,
    pub column: u64,
    pub message: String,
}

impl Refusal {
    /// The refusal of a text that begins at byte `start` of `text`, with its place in this one.
    pub(crate) fn behind(mut self, text: &str, start: usize) -> Self {
        if self.line > 0 {
            let (line, column) = place(text, start);
            self.column += if self.line == 1 { column - 1 } else { 0 };
            self.line += line - 1;
        }
        self
    }

    fn into_error(self, text: &str) -> Error {
        let Self { line, column, message } = self;
        let rest = (line > 0).then(|| text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)).flatten();
        let columns = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1);
        let near = rest.map_or_else(String::new, |rest| rest.chars().skip(columns).take(40).collect());
        // What the parser has tried there is in its own terms.
        let is_raw = ["expected one of", "[_]", "..="].iter().any(|raw| message.contains(raw));
        let message = if is_raw { "the text does not fit the grammar of SPARQL here".to_owned() } else { message };
        Error::SparqlSyntax { line, column, near, message, needs_base: false }
    }
}
