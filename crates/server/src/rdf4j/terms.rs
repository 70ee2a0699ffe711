//! Terms as RDF4J writes them in parameters: as in N-Triples, and triple terms as `<<s p o>>`.

use std::str::FromStr;

use fulgurite_rdf::oxrdf::{GraphName, Literal, NamedNode, NamedOrBlankNode, Term, Triple};

use crate::http::refusal::Refusal;

/// Parses a term.
///
/// # Errors
/// 400 if it is none.
pub fn term(parameter: &str, text: &str) -> Result<Term, Refusal> {
    let mut rest = text.trim();
    match take_term(&mut rest, DEPTH_MAX) {
        Some(term) if rest.is_empty() => Ok(term),
        _ => Err(Refusal::bad_request(format!(
            "{parameter}=`{text}` is not a term; write it as in N-Triples, such as <http://example.org/a>, _:b, \"c\" or \"c\"@en"
        ))),
    }
}

/// Parses an IRI, which may be without angle brackets.
///
/// # Errors
/// 400 if it is none.
pub fn iri(parameter: &str, text: &str) -> Result<NamedNode, Refusal> {
    let bare = text.trim().strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).unwrap_or(text.trim());
    crate::protocol::iris::iri(parameter, bare)
}

/// Parses the name of a graph; `null` is the default graph.
///
/// # Errors
/// 400 if it is none.
pub fn graph(parameter: &str, text: &str) -> Result<GraphName, Refusal> {
    if text.trim() == DEFAULT_GRAPH {
        return Ok(GraphName::DefaultGraph);
    }
    match term(parameter, text)? {
        Term::NamedNode(name) => Ok(name.into()),
        Term::BlankNode(name) => Ok(name.into()),
        Term::Literal(_) | Term::Triple(_) => {
            Err(Refusal::bad_request(format!("{parameter}=`{text}` is not the name of a graph; give an IRI, or null")))
        }
    }
}

/// Whether RDF4J names the default graph by this IRI.
pub fn is_default_graph(iri: &str) -> bool {
    ["http://rdf4j.org/schema/rdf4j#nil", "http://www.openrdf.org/schema/sesame#nil"].contains(&iri)
}

/// Takes a term and the white space after it.
fn take_term(rest: &mut &str, depth: usize) -> Option<Term> {
    let term = if let Some(inner) = rest.strip_prefix("<<") {
        let depth = depth.checked_sub(1)?;
        *rest = inner.trim_start();
        let is_bracketed = rest.starts_with('(');
        if is_bracketed {
            *rest = rest[1..].trim_start();
        }
        let subject = match take_term(rest, depth)? {
            Term::NamedNode(node) => NamedOrBlankNode::NamedNode(node),
            Term::BlankNode(node) => NamedOrBlankNode::BlankNode(node),
            Term::Literal(_) | Term::Triple(_) => return None,
        };
        let Term::NamedNode(predicate) = take_term(rest, depth)? else { return None };
        let object = take_term(rest, depth)?;
        *rest = rest.strip_prefix(if is_bracketed { ")>>" } else { ">>" })?;
        Triple::new(subject, predicate, object).into()
    } else {
        let length = length(rest)?;
        let (text, behind) = rest.split_at(length);
        *rest = behind;
        match label_length(text).map(|length| text.split_at(length)) {
            // RDF4J has tags that are malformed.
            Some((label, rest)) if rest.starts_with('@') && rest.len() > 1 => {
                let label = Literal::from_str(label).ok()?.destruct().0;
                Literal::new_language_tagged_literal_unchecked(label, rest[1..].to_ascii_lowercase()).into()
            }
            _ => Term::from_str(text).ok()?,
        }
    };
    *rest = rest.trim_start();
    Some(term)
}

/// The bytes of the IRI, blank node or literal at the beginning.
fn length(text: &str) -> Option<usize> {
    let to_bracket = |text: &str| Some(text.find('>')? + 1);
    let to_end = |text: &str| text.find(|char: char| char.is_whitespace() || char == '>').unwrap_or(text.len());
    match text.as_bytes().first()? {
        b'<' => to_bracket(text),
        b'_' => Some(to_end(text)),
        b'"' => {
            let label = label_length(text)?;
            let behind = &text[label..];
            Some(
                label
                    + match behind.as_bytes() {
                        [b'@', ..] => to_end(behind),
                        [b'^', b'^', b'<', ..] => to_bracket(behind)?,
                        _ => 0,
                    },
            )
        }
        _ => None,
    }
}

/// The bytes of the text in quotation marks at the beginning.
fn label_length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = text.strip_prefix('"')?.find(|char| {
        let ends = char == '"' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        ends
    });
    end.map(|end| end + 2)
}

/// The value of the parameter `context` that names the default graph.
const DEFAULT_GRAPH: &str = "null";
/// Triple terms within each other.
const DEPTH_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::BlankNode;

    use super::*;

    #[test]
    fn terms_of_parameters_are_those_of_n_triples_and_triples_in_angle_brackets() {
        let iri = NamedNode::new_unchecked("http://a/b");
        let triple: Term = Triple::new(iri.clone(), iri.clone(), Literal::from(7)).into();
        let integer = "\"7\"^^<http://www.w3.org/2001/XMLSchema#integer>";
        let nested = "<<<http://a/b> <http://a/b> <<<http://a/b> <http://a/b> \"a\">>>>";
        let inner = Triple::new(iri.clone(), iri.clone(), Literal::from("a"));
        let cases: [(&str, Term); 12] = [
            ("<http://a/b>", iri.clone().into()),
            (" _:b ", BlankNode::new_unchecked("b").into()),
            ("\"\"", Literal::from("").into()),
            ("\"@a.example\"", Literal::from("@a.example").into()),
            ("\"a \\\"b\\\\\"", Literal::from("a \"b\\").into()),
            ("\"a\"@en-GB", Literal::new_language_tagged_literal_unchecked("a", "en-gb").into()),
            ("\"a@\\\"@b\"@en_us", Literal::new_language_tagged_literal_unchecked("a@\"@b", "en_us").into()),
            (integer, Literal::from(7).into()),
            (&format!("<<<http://a/b> <http://a/b> {integer}>>"), triple.clone()),
            (&format!("<<( <http://a/b> <http://a/b> {integer} )>>"), triple),
            ("<<_:x <http://a/b> _:y>>", {
                let node = |name| BlankNode::new_unchecked(name);
                Triple::new(node("x"), iri.clone(), node("y")).into()
            }),
            (nested, Triple::new(iri.clone(), iri, inner).into()),
        ];
        for (text, expected) in cases {
            assert_eq!(term("obj", text).unwrap_or_else(|refusal| panic!("{text}: {}", refusal.message)), expected);
        }
        let deep = format!("{}_:x{}", "<<_:x <a:b> ".repeat(1000), ">>".repeat(1000));
        for text in [
            "",
            "a",
            "<a b>",
            "<http://a/b",
            "\"a",
            "\"a\"@",
            "\"a\"^^",
            "_:",
            "<http://a/b> <http://a/b>",
            "<<>>",
            "<<\"a\" <a:b> <a:b>>>",
            "<<_:a _:b _:c>>",
            "<<_:a <a:b> _:c",
            "<<(_:a <a:b> _:c>>",
            &deep,
        ] {
            let refused = term("obj", text).expect_err(text);
            assert!(refused.status == 400 && refused.message.contains("N-Triples"), "{text}");
        }
    }

    #[test]
    fn graphs_are_iris_blank_nodes_or_null() {
        assert_eq!(graph("context", "null").unwrap(), GraphName::DefaultGraph);
        assert_eq!(graph("context", "<http://a/b>").unwrap(), NamedNode::new_unchecked("http://a/b").into());
        assert!(graph("context", "\"a\"").is_err());
        assert_eq!(iri("baseURI", "<http://a/>").unwrap(), iri("baseURI", "http://a/").unwrap());
        assert!(iri("baseURI", "a").is_err());
    }
}
