//! Declarations between the operations of an update.
//!
//! Each operation of an update may have a prologue (SPARQL 1.1, 19.8, rule 29), but the parser takes one at the
//! beginning of the text alone. So the text is cut before each later prologue, and each part is parsed with the base
//! and the prefixes that hold there. Called by `text` alone.

use std::collections::HashMap;
use std::ops::Range;

use oxiri::Iri;
use oxrdf::{BlankNode, NamedOrBlankNode, Term};
use spargebra::{GraphUpdateOperation, SparqlParser, Update};

use super::tokens::{Kind, Token, tokens};

/// Parts that a text may have: a later part is parsed with all prefixes of the earlier ones.
pub(crate) const PARTS_MAX: usize = 10_000;

/// The parts of an update's text, in their order. Each begins with its declarations, and has none behind them.
pub(crate) fn parts(text: &str) -> Vec<Range<usize>> {
    let mut starts = vec![0];
    if may_have_later_prologue(text) {
        let tokens = tokens(text);
        let mut depth = 0_usize;
        for (number, token) in tokens.iter().enumerate() {
            match token.text(text) {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                ";" if depth == 0 => {
                    let next = tokens.get(number + 1).filter(|next| is_declaration(next, text));
                    starts.extend(next.map(|next| next.range.start));
                }
                _ => {}
            }
        }
    }
    let ends = starts[1..].iter().copied().chain([text.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// Whether a declaration may follow a `;`. Most texts are decided here, without their tokens.
fn may_have_later_prologue(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b';', bytes).any(|semicolon| {
        let rest = bytes[semicolon + 1..].trim_ascii_start();
        let is_word =
            |word: &&str| rest.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes()));
        rest.first() == Some(&b'#') || DECLARATIONS.iter().any(is_word)
    })
}

const DECLARATIONS: [&str; 3] = ["BASE", "PREFIX", "VERSION"];

fn is_declaration(token: &Token, text: &str) -> bool {
    DECLARATIONS.iter().any(|word| token.is_word(text, word))
}

/// The parser for what follows a part: with the declarations that the part begins with. Requires: the part was parsed.
/// `base` is that in force before the part, and becomes that behind it.
pub(crate) fn behind(mut parser: SparqlParser, part: &str, base: &mut Option<Iri<String>>) -> SparqlParser {
    let mut tokens = tokens_of_prologue(part).into_iter();
    while let Some(word) = tokens.next() {
        let name = if word.is_word(part, "PREFIX") { tokens.next() } else { None };
        let Some(iri) = tokens.next().filter(|value| value.kind == Kind::Iri) else { continue };
        let Some(iri) = resolved(iri.text(part), base.as_ref()) else { continue };
        let valid = "a resolved IRI is absolute";
        parser = match name {
            Some(name) => parser.with_prefix(name.text(part).trim_end_matches(':'), iri.into_inner()).expect(valid),
            None => {
                *base = Some(iri.clone());
                parser.with_base_iri(iri.into_inner()).expect(valid)
            }
        };
    }
    parser
}

/// The tokens of the declarations that a text begins with.
fn tokens_of_prologue(text: &str) -> Vec<Token> {
    let mut prologue = Vec::new();
    let mut left = 0;
    for token in tokens(text) {
        if left == 0 {
            left = match is_declaration(&token, text) {
                true if token.is_word(text, "PREFIX") => 3,
                true => 2,
                false => break,
            };
        }
        left -= 1;
        prologue.push(token);
    }
    prologue
}

/// The IRI of a token `<…>`.
fn resolved(token: &str, base: Option<&Iri<String>>) -> Option<Iri<String>> {
    let iri = unescaped(&token[1..token.len() - 1])?;
    match base {
        Some(base) => base.resolve(&iri).ok(),
        None => Iri::parse(iri).ok(),
    }
}

/// The IRI with the characters that it gives by their numbers.
fn unescaped(iri: &str) -> Option<String> {
    let mut out = String::with_capacity(iri.len());
    let mut rest = iri;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let length = match escape.chars().next()? {
            'u' => 5,
            'U' => 9,
            _ => return None,
        };
        out.push(char::from_u32(u32::from_str_radix(escape.get(1..length)?, 16).ok()?)?);
        rest = &escape[length..];
    }
    out.push_str(rest);
    Some(out)
}

/// A label that `INSERT DATA` of two parts have: each operation has blank nodes of its own, and the parser sees one
/// part alone.
pub(crate) fn label_of_two_parts(parts: &[Update]) -> Option<&BlankNode> {
    let mut labels: HashMap<&BlankNode, usize> = HashMap::new();
    for (number, part) in parts.iter().enumerate() {
        for operation in &part.operations {
            let GraphUpdateOperation::InsertData { data } = operation else { continue };
            let mut nodes = Vec::new();
            for quad in data {
                if let NamedOrBlankNode::BlankNode(node) = &quad.subject {
                    nodes.push(node);
                }
                nodes_of(&quad.object, &mut nodes);
            }
            if let Some(node) = nodes.into_iter().find(|node| *labels.entry(node).or_insert(number) != number) {
                return Some(node);
            }
        }
    }
    None
}

fn nodes_of<'t>(term: &'t Term, nodes: &mut Vec<&'t BlankNode>) {
    match term {
        Term::BlankNode(node) => nodes.push(node),
        Term::Triple(triple) => {
            if let NamedOrBlankNode::BlankNode(node) = &triple.subject {
                nodes.push(node);
            }
            nodes_of(&triple.object, nodes);
        }
        Term::NamedNode(_) | Term::Literal(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_before_declarations_between_operations_alone() {
        let cut =
            |text: &'static str| -> Vec<&'static str> { parts(text).into_iter().map(|part| &text[part]).collect() };
        assert_eq!(cut("BASE <a:> CLEAR ALL ; CLEAR ALL"), ["BASE <a:> CLEAR ALL ; CLEAR ALL"]);
        assert_eq!(cut("CLEAR ALL; prefix : <a:> CLEAR ALL ;"), ["CLEAR ALL; ", "prefix : <a:> CLEAR ALL ;"]);
        assert_eq!(cut("CLEAR ALL;#;\n base <a:> CLEAR ALL"), ["CLEAR ALL;#;\n ", "base <a:> CLEAR ALL"]);
        for whole in ["INSERT DATA { <a:a> <a:b> 1 ; PREFIX <a:c> }", "INSERT DATA { <a:a> <a:b> '; PREFIX' }"] {
            assert_eq!(cut(whole), [whole]);
        }
    }
}
