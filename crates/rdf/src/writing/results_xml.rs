//! SPARQL results as XML (SPARQL Query Results XML Format; triple terms and directions as in SPARQL 1.2).

use oxrdf::vocab::xsd;
use oxrdf::{BaseDirection, LiteralRef, TermRef, Variable};

use super::unwritable::unwritable;
use super::xml_text::{illegal_character, push_value};
use crate::error::Result;
use crate::xml::push_text;

/// Appends what stands before the solutions.
pub fn push_head(variables: &[Variable], out: &mut String) {
    out.push_str("<?xml version=\"1.0\"?><sparql xmlns=\"http://www.w3.org/2005/sparql-results#\"><head>");
    for variable in variables {
        out.push_str("<variable name=");
        push_value(variable.as_str(), out);
        out.push_str("/>");
    }
    out.push_str("</head><results>");
}

/// Appends what stands behind the solutions.
pub fn push_end(out: &mut String) {
    out.push_str("</results></sparql>");
}

/// Appends a solution.
///
/// # Errors
/// [`Error::Unwritable`](crate::Error::Unwritable). What was appended is to be dropped then.
pub fn push_solution<'t>(bindings: impl Iterator<Item = (&'t Variable, TermRef<'t>)>, out: &mut String) -> Result<()> {
    out.push_str("<result>");
    for (variable, term) in bindings {
        out.push_str("<binding name=");
        push_value(variable.as_str(), out);
        out.push('>');
        push_term(term, out)?;
        out.push_str("</binding>");
    }
    out.push_str("</result>");
    Ok(())
}

/// Goes as deep as triple terms are nested.
fn push_term(term: TermRef<'_>, out: &mut String) -> Result<()> {
    match term {
        TermRef::NamedNode(node) => push_element("uri", node.as_str(), out),
        TermRef::BlankNode(node) => push_element("bnode", node.as_str(), out),
        TermRef::Literal(literal) => match illegal_character(literal.value()) {
            Some(character) => {
                let reason = format!("XML has no way to write U+{:04X}", u32::from(character));
                return Err(unwritable(term, "the XML of SPARQL results", &reason));
            }
            None => push_literal(literal, out),
        },
        TermRef::Triple(triple) => {
            out.push_str("<triple><subject>");
            push_term(triple.subject.as_ref().into(), out)?;
            out.push_str("</subject><predicate>");
            push_term(triple.predicate.as_ref().into(), out)?;
            out.push_str("</predicate><object>");
            push_term(triple.object.as_ref(), out)?;
            out.push_str("</object></triple>");
        }
    }
    Ok(())
}

fn push_element(name: &str, text: &str, out: &mut String) {
    out.push('<');
    out.push_str(name);
    out.push('>');
    push_text(text, out);
    out.push_str("</");
    out.push_str(name);
    out.push('>');
}

fn push_literal(literal: LiteralRef<'_>, out: &mut String) {
    out.push_str("<literal");
    if let Some(language) = literal.language() {
        out.push_str(" xml:lang=");
        push_value(language, out);
        if let Some(direction) = literal.direction() {
            out.push_str(" xmlns:its=\"http://www.w3.org/2005/11/its\" its:version=\"2.0\" its:dir=");
            push_value(if direction == BaseDirection::Ltr { "ltr" } else { "rtl" }, out);
        }
    } else if literal.datatype() != xsd::STRING {
        out.push_str(" datatype=");
        push_value(literal.datatype().as_str(), out);
    }
    out.push('>');
    push_bound_text(literal.value(), out);
    out.push_str("</literal>");
}

/// White space at the ends by reference: readers that trim text leave it.
fn push_bound_text(text: &str, out: &mut String) {
    let is_space = |character: char| matches!(character, ' ' | '\t' | '\n' | '\r');
    let inner = text.trim_matches(is_space);
    let begin = text.len() - text.trim_start_matches(is_space).len();
    let end = begin + inner.len();
    let references = |spaces: &str, out: &mut String| {
        spaces.bytes().for_each(|byte| out.push_str(&format!("&#x{byte:X};")));
    };
    references(&text[..begin], out);
    push_text(inner, out);
    references(&text[end.min(text.len())..], out);
}
