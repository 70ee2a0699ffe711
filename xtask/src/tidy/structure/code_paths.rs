//! The paths that Rust code names: in `use` in all its forms, and in expressions, macros and attributes.

use proc_macro2::{Delimiter, TokenTree};

use crate::tidy::tree;

/// A path that a file names: its parts, and the line of the first one.
pub struct Named {
    /// Its parts.
    pub parts: Vec<String>,
    /// The line of the first part.
    pub line: usize,
}

/// Collects the absolute paths under `tokens`, the content of module `home`.
pub fn collect(tokens: &[TokenTree], home: &[String], named: &mut Vec<Named>) {
    let mut index = 0;
    while index < tokens.len() {
        let token = &tokens[index];
        if let (true, Some(TokenTree::Ident(name))) = (tree::is_word(Some(token), "mod"), tokens.get(index + 1))
            && let Some(body) = tree::within(tokens.get(index + 2), Delimiter::Brace)
        {
            let mut inner = home.to_vec();
            inner.push(name.to_string());
            collect(&body, &inner, named);
            index += 3;
            continue;
        }
        // `use<'a>` in a type is not an import.
        if tree::is_word(Some(token), "use") && !tree::is_sign(tokens.get(index + 1), '<') {
            let mut leaves = Vec::new();
            index += 1 + expand_use(&tokens[index + 1..], &[], &mut leaves);
            for (parts, _, line) in leaves {
                named.extend(absolute(parts, home).map(|parts| Named { parts, line }));
            }
            continue;
        }
        if let TokenTree::Group(group) = token {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            collect(&inner, home, named);
        } else if matches!(token, TokenTree::Ident(_)) && tree::begins_with_colons(&tokens[index + 1..]) {
            let line = tree::line_of(token);
            let (parts, length) = path_at(&tokens[index..]);
            named.extend(absolute(parts, home).map(|parts| Named { parts, line }));
            index += length;
            continue;
        }
        index += 1;
    }
}

/// The path that `tokens` begin with, and how many tokens it takes.
pub fn path_at(tokens: &[TokenTree]) -> (Vec<String>, usize) {
    let mut parts = Vec::new();
    let mut index = 0;
    while let Some(TokenTree::Ident(part)) = tokens.get(index) {
        parts.push(part.to_string());
        index += 1;
        if !tree::begins_with_colons(&tokens[index..]) || !matches!(tokens.get(index + 2), Some(TokenTree::Ident(_))) {
            break;
        }
        index += 2;
    }
    (parts, index)
}

/// Expands the tree of a `use`, from after that word (or after `prefix::`) to the `;`, `,` or end, into
/// (parts, visible name, line); returns how many tokens it took.
pub fn expand_use(tokens: &[TokenTree], prefix: &[String], leaves: &mut Vec<(Vec<String>, String, usize)>) -> usize {
    let mut parts = prefix.to_vec();
    let mut index = 0;
    let mut line = tokens.first().map_or(0, tree::line_of);
    if tree::begins_with_colons(tokens) {
        index += 2;
    }
    let mut visible = None;
    while let Some(token) = tokens.get(index) {
        index += 1;
        match token {
            TokenTree::Ident(word) if *word == "as" => visible = tokens.get(index).map(ToString::to_string),
            TokenTree::Ident(_) if visible.is_some() => {}
            TokenTree::Ident(word) => {
                // `a::{self}` names `a`.
                if *word != "self" || parts.is_empty() {
                    parts.push(word.to_string());
                }
                line = tree::line_of(token);
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut at = 0;
                while at < inner.len() {
                    at += expand_use(&inner[at..], &parts, leaves).max(1);
                }
                parts.clear();
            }
            TokenTree::Punct(punct) if matches!(punct.as_char(), ';' | ',') => break,
            TokenTree::Punct(punct) if punct.as_char() == '*' => visible = Some("*".into()),
            _ => {}
        }
    }
    if let Some(last) = parts.last() {
        let name = visible.unwrap_or_else(|| last.clone());
        leaves.push((parts, name, line));
    }
    index
}

/// The path from `crate` or `std` on, if `parts`, named in module `home`, is such a path.
pub fn absolute(parts: Vec<String>, home: &[String]) -> Option<Vec<String>> {
    let mut base = home.to_vec();
    let mut rest = parts.as_slice();
    match parts[0].as_str() {
        "crate" | "std" => return Some(parts),
        "core" | "alloc" => return Some(std::iter::once("std".into()).chain(parts[1..].iter().cloned()).collect()),
        "self" | "super" => {}
        _ => return None,
    }
    while let Some((first, after)) = rest.split_first() {
        match first.as_str() {
            "self" => {}
            "super" => drop(base.pop()),
            _ => break,
        }
        rest = after;
    }
    Some(std::iter::once("crate".into()).chain(base).chain(rest.iter().cloned()).collect())
}
