//! Errors in the constant patterns, flags and replacements of `REGEX` and `REPLACE`, reported with their places.

use super::engine::{CallError, Pattern};
use crate::error::{Error, Result};
use crate::sparql::parse::tokens::{Kind, Token, may_have_word, place, string_value, tokens};

/// Checks the constants of all calls. Requires: the text is one that the parser takes.
///
/// # Errors
/// [`Error::SparqlSyntax`] for the first call that can have no value.
pub(crate) fn check_constants(text: &str) -> Result<()> {
    if !may_have_word(text, &["REGEX", "REPLACE"]) {
        return Ok(());
    }
    let tokens = tokens(text);
    for (index, token) in tokens.iter().enumerate() {
        let is_replace = token.is_word(text, "REPLACE");
        if !is_replace && !token.is_word(text, "REGEX") {
            continue;
        }
        let call = Call::of(text, &tokens[index + 1..]);
        let checked = if is_replace { call.check_replace() } else { call.check_regex() };
        if let Err((error, argument)) = checked {
            let token = call.token(argument).unwrap_or(token);
            let (line, column) = place(text, token.range.start);
            let near = token.text(text).chars().take(40).collect();
            let message = error.to_string();
            return Err(Error::SparqlSyntax { line, column, near, message, needs_base: false });
        }
    }
    Ok(())
}

/// The arguments of a call: the token of each that is a constant string.
struct Call<'t> {
    text: &'t str,
    arguments: Vec<Option<&'t Token>>,
}

impl<'t> Call<'t> {
    /// Of the tokens that follow the name of the function.
    fn of(text: &'t str, tokens: &'t [Token]) -> Self {
        let mut arguments = Vec::new();
        let mut depth = 0_usize;
        let mut argument = Vec::new();
        for token in tokens {
            match (token.kind, token.text(text)) {
                (Kind::Symbol, "(" | "[" | "{" | "<<(" | "<<" | "{|") => depth += 1,
                (Kind::Symbol, ")" | "]" | "}" | ")>>" | ">>" | "|}") => depth -= usize::from(depth > 0),
                _ => {}
            }
            let is_end = depth == 0;
            if is_end || depth == 1 && token.is_symbol(text, ",") {
                arguments.push(constant(&argument));
                argument.clear();
            } else if depth > 1 || !token.is_symbol(text, "(") {
                argument.push(token);
            }
            if is_end {
                break;
            }
        }
        Self { text, arguments }
    }

    fn token(&self, argument: usize) -> Option<&'t Token> {
        self.arguments.get(argument).copied().flatten()
    }

    fn value(&self, argument: usize) -> Option<String> {
        self.token(argument).map(|token| string_value(token.text(self.text)))
    }

    /// The flags; `None` if they are no constant.
    fn flags(&self, argument: usize) -> Option<String> {
        if argument < self.arguments.len() { self.value(argument) } else { Some(String::new()) }
    }

    /// The error, and the argument that it is about.
    fn check_regex(&self) -> Result<(), (CallError, usize)> {
        self.pattern(2).map(drop)
    }

    fn check_replace(&self) -> Result<(), (CallError, usize)> {
        let Some(pattern) = self.pattern(3)? else { return Ok(()) };
        pattern.check_replaces().map_err(|error| (error, 1))?;
        let Some(replacement) = self.value(2) else { return Ok(()) };
        pattern.replacement(&replacement).map(drop).map_err(|error| (error, 2))
    }

    /// The pattern, if that and its flags are constants.
    fn pattern(&self, flags_argument: usize) -> Result<Option<Pattern>, (CallError, usize)> {
        let Some(flags) = self.flags(flags_argument) else { return Ok(None) };
        let Some(pattern) = self.value(1) else {
            return match Pattern::new("", &flags) {
                Err(error) => Err((error, flags_argument)),
                Ok(_) => Ok(None),
            };
        };
        Pattern::new(&pattern, &flags).map(Some).map_err(|error| match error {
            CallError::Flag(_) => (error, flags_argument),
            error => (error, 1),
        })
    }
}

/// The token of an argument that is one string, without language and datatype.
fn constant<'t>(argument: &[&'t Token]) -> Option<&'t Token> {
    match argument {
        [token] if token.kind == Kind::String => Some(token),
        _ => None,
    }
}
