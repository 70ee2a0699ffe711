//! XML literals of RDF/XML in exclusive canonical form (RDF 1.1 XML Syntax, 7.2.17; Exclusive XML Canonicalization 1.0).
//!
//! The parser writes elements out, and declares on the outermost ones all namespaces that the document has there. The canonical form
//! declares those that an element or its attributes use, where they are not declared around it already, and has attributes in order.
//!
//! Invariant: text that is no such literal is left alone. What was written with `rdf:parseType="Literal"` is told by the namespace of RDF, which
//! is declared wherever that can be written.

use oxrdf::vocab::rdf;
use oxrdf::{Literal, Quad, Term};

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// Brings the object into canonical form if it is an XML literal.
pub fn canonicalize(quad: &mut Quad) {
    let Term::Literal(literal) = &quad.object else { return };
    if literal.datatype() != rdf::XML_LITERAL || !literal.value().contains(RDF) {
        return;
    }
    if let Some(text) = canonical(literal.value()) {
        quad.object = Literal::new_typed_literal(text, rdf::XML_LITERAL).into();
    }
}

/// An element that is open.
struct Element<'x> {
    /// Prefixes that are declared here, and their namespaces.
    declared: Vec<(&'x str, &'x str)>,
    /// Those that are written here.
    written: Vec<(&'x str, &'x str)>,
}

/// The canonical form; `None` if the text is not what the parser makes of a literal.
fn canonical(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut open: Vec<Element<'_>> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = end_of_markup(rest)?;
        let markup = &rest[..end];
        rest = &rest[end..];
        if markup.starts_with("<!--") || markup.starts_with("<?") {
            out.push_str(markup);
        } else if markup.starts_with("</") {
            open.pop()?;
            out.push_str(markup);
        } else {
            let element = start(markup, &open, &mut out)?;
            open.push(element);
        }
    }
    out.push_str(rest);
    open.is_empty().then_some(out)
}

/// The length of the tag, comment or instruction that the text begins with.
fn end_of_markup(text: &str) -> Option<usize> {
    for (start, end) in [("<!--", "-->"), ("<?", "?>")] {
        if let Some(inner) = text.strip_prefix(start) {
            return Some(start.len() + inner.find(end)? + end.len());
        }
    }
    if text.starts_with("<!") {
        return None;
    }
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// Writes a start tag, within the elements that are open.
fn start<'x>(tag: &'x str, open: &[Element<'x>], out: &mut String) -> Option<Element<'x>> {
    let inner = tag.strip_prefix('<')?.strip_suffix('>')?;
    // The parser writes empty elements out.
    if inner.ends_with('/') {
        return None;
    }
    let (name, attributes) = inner.split_once(|byte: char| byte.is_ascii_whitespace()).unwrap_or((inner, ""));
    let (mut declared, mut plain) = (Vec::new(), Vec::new());
    for (name, value) in attributes_of(attributes)? {
        match name.strip_prefix("xmlns") {
            Some("") => declared.push(("", value)),
            Some(prefix) if prefix.starts_with(':') => declared.push((&prefix[1..], value)),
            _ => plain.push((name, value)),
        }
    }
    // What the first declares tells whether the parser has made this.
    if open.is_empty() && !declared.iter().any(|(_, namespace)| *namespace == RDF) {
        return None;
    }
    let namespace = |prefix: &str| in_scope(prefix, &declared, open.iter().map(|element| &element.declared));
    let mut used: Vec<&str> = plain.iter().filter_map(|(name, _)| Some(name.split_once(':')?.0)).collect();
    used.push(name.split_once(':').map_or("", |(prefix, _)| prefix));
    used.sort_unstable();
    used.dedup();
    let mut written = Vec::new();
    for prefix in used.into_iter().filter(|prefix| *prefix != "xml") {
        let namespace = namespace(prefix).or((prefix.is_empty()).then_some(""))?;
        let around = in_scope(prefix, &[], open.iter().map(|element| &element.written));
        if around.unwrap_or_default() != namespace {
            written.push((prefix, namespace));
        }
    }
    let key = |name: &'x str| match name.split_once(':') {
        None => Some(("", name)),
        Some(("xml", local)) => Some((XML, local)),
        Some((prefix, local)) => Some((namespace(prefix)?, local)),
    };
    let mut ordered =
        plain.iter().map(|(name, value)| Some((key(name)?, *name, *value))).collect::<Option<Vec<_>>>()?;
    ordered.sort_unstable();
    out.push('<');
    out.push_str(name);
    for (prefix, namespace) in &written {
        let colon = if prefix.is_empty() { "" } else { ":" };
        out.push_str(&format!(" xmlns{colon}{prefix}=\"{namespace}\""));
    }
    for (_, name, value) in ordered {
        out.push_str(&format!(" {name}=\"{}\"", value.replace('"', "&quot;")));
    }
    out.push('>');
    Some(Element { declared, written })
}

/// The namespace that the innermost declaration gives a prefix.
fn in_scope<'x: 'e, 'e>(
    prefix: &str,
    here: &[(&'x str, &'x str)],
    around: impl DoubleEndedIterator<Item = &'e Vec<(&'x str, &'x str)>>,
) -> Option<&'x str> {
    let find = |declared: &[(&'x str, &'x str)]| {
        declared.iter().find(|(name, _)| *name == prefix).map(|(_, namespace)| *namespace)
    };
    find(here).or_else(|| around.rev().find_map(|declared| find(declared)))
}

fn attributes_of(mut text: &str) -> Option<Vec<(&str, &str)>> {
    let mut attributes = Vec::new();
    loop {
        text = text.trim_start();
        if text.is_empty() {
            return Some(attributes);
        }
        let (name, rest) = text.split_once('=')?;
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let (value, after) = rest[1..].split_once(quote)?;
        attributes.push((name.trim_end(), value));
        text = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        canonical(&text.replace("RDF", &format!("xmlns:rdf=\"{RDF}\"")))
    }

    #[test]
    fn namespaces_that_are_not_used_are_not_declared() {
        assert_eq!(of("<br RDF xmlns:eg=\"http://e/\"></br>").as_deref(), Some("<br></br>"));
        assert_eq!(
            of("a <eg:x RDF xmlns:eg=\"http://e/\" xmlns=\"http://d/\"><y><eg:z></eg:z></y></eg:x> <!-- <b> -->")
                .as_deref(),
            Some("a <eg:x xmlns:eg=\"http://e/\"><y xmlns=\"http://d/\"><eg:z></eg:z></y></eg:x> <!-- <b> -->")
        );
        assert_eq!(
            of("<x RDF xmlns=\"http://d/\"><y xmlns=\"\"><z></z></y></x>").as_deref(),
            Some("<x xmlns=\"http://d/\"><y xmlns=\"\"><z></z></y></x>")
        );
    }

    #[test]
    fn attributes_are_in_order_of_namespace_and_name() {
        assert_eq!(
            of("<x RDF xmlns:b=\"http://a/\" xmlns:a=\"http://b/\" a:k='\"' b:z=\"1\" xml:lang=\"en\" n=\"&gt;\" m=\"\"></x>").as_deref(),
            Some(
                "<x xmlns:a=\"http://b/\" xmlns:b=\"http://a/\" m=\"\" n=\"&gt;\" b:z=\"1\" a:k=\"&quot;\" xml:lang=\"en\"></x>"
            )
        );
    }

    #[test]
    fn other_texts_are_left_alone() {
        for text in [
            "<br/>",
            "<br RDF/>",
            "<x RDF>",
            "<x RDF><![CDATA[<]]></x>",
            "<x RDF b:c=\"1\"></x>",
            "</x RDF>",
            "<x></x>",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
