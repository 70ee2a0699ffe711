//! Rule: the document of errors names every variant of the enums that users meet.
//!
//! A variant is named if the part of its enum's crate has it as code, in backticks.

use proc_macro2::{Delimiter, TokenTree};

use crate::tidy::finding::Finding;
use crate::tidy::tree::{self, Tree};

const DOCUMENT: &str = "docs/reference/errors.md";

/// Source, enum, and the heading of the document's part that names the variants.
const ENUMS: &[(&str, &str, &str)] = &[
    ("crates/engine/src/error.rs", "Error", "## Errors of the engine"),
    ("crates/engine/src/error.rs", "ConflictReason", "## Errors of the engine"),
    ("crates/rdf/src/error.rs", "Error", "## Errors of the RDF store"),
    ("crates/migration/src/error.rs", "Error", "## Errors of migrations from RDF4J"),
];

pub fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let document = tree.file(DOCUMENT).map_or("", |file| &file.text);
    for (path, name, heading) in ENUMS {
        let Some((_, tokens)) = tree.rust_files().find(|(file, _)| file.path == *path) else { continue };
        let part = part(document, heading);
        for (line, variant) in variants(tokens, name) {
            if !part.contains(&format!("`{variant}`")) {
                let offence = format!("{DOCUMENT} does not name `{variant}` under `{heading}`");
                findings.push(Finding::new(path, line, offence, "say there what failed, and what to do"));
            }
        }
    }
}

/// The text from a heading to the next one of its level; empty without the heading.
fn part<'d>(document: &'d str, heading: &str) -> &'d str {
    let begun = document.split_once(&format!("{heading}\n")).map_or("", |(_, after)| after);
    begun.split("\n## ").next().unwrap_or_default()
}

/// The variants of an enum, with their lines.
fn variants(tokens: &[TokenTree], name: &str) -> Vec<(usize, String)> {
    let at = tokens.windows(2).position(|pair| tree::is_word(pair.first(), "enum") && tree::is_word(pair.get(1), name));
    let body = at.and_then(|at| tree::within(tokens.get(at + 2), Delimiter::Brace)).unwrap_or_default();
    // An attribute is a sign and a group, and so are the fields of a variant: all other words are names.
    let words = body.iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some((tree::line_of(token), word.to_string())),
        _ => None,
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::{DOCUMENT, check};
    use crate::tidy::planted::places;

    const SOURCE: &str = "pub enum Place { Page }\n\
                          pub enum ConflictReason { Read }\n\
                          pub enum Error {\n    /// Full.\n    #[doc(hidden)]\n    Full { path: PathBuf },\n    Gone(u8),\n    Lost,\n}\n";

    #[test]
    fn a_variant_that_the_document_does_not_name_is_found_at_its_line() {
        let document =
            "# Errors\n`Lost`\n## Errors of the engine\n`Full`, Gone and `Read`\n## Errors of the RDF store\n`Lost`\n";
        let files = [("crates/engine/src/error.rs", SOURCE), (DOCUMENT, document)];
        assert_eq!(places(check, &files), ["crates/engine/src/error.rs:7", "crates/engine/src/error.rs:8"]);
    }

    #[test]
    fn without_the_document_every_variant_is_found() {
        let found = places(check, &[("crates/rdf/src/error.rs", SOURCE)]);
        assert_eq!(found, ["crates/rdf/src/error.rs:6", "crates/rdf/src/error.rs:7", "crates/rdf/src/error.rs:8"]);
    }
}
