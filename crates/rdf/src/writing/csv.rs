//! SPARQL results as CSV (SPARQL 1.1 Query Results CSV and TSV Formats, 3; RFC 4180).

use oxrdf::{TermRef, Variable};

/// Appends the line of the variables.
pub fn push_head(variables: &[Variable], out: &mut String) {
    push_line(variables.iter().map(|variable| variable.as_str().to_owned()), out);
}

/// Appends a line of terms.
pub fn push_solution<'t>(terms: impl Iterator<Item = Option<TermRef<'t>>>, out: &mut String) {
    push_line(terms.map(|term| term.map_or_else(String::new, text_of)), out);
}

fn push_line(fields: impl Iterator<Item = String>, out: &mut String) {
    for (index, field) in fields.enumerate() {
        if index > 0 {
            out.push(',');
        }
        let is_quoted = field.bytes().any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r'));
        match is_quoted {
            true => {
                out.push('"');
                out.push_str(&field.replace('"', "\"\""));
                out.push('"');
            }
            false => out.push_str(&field),
        }
    }
    out.push_str("\r\n");
}

/// What a field says of a term. A triple term is its three terms, with spaces between them.
fn text_of(term: TermRef<'_>) -> String {
    match term {
        TermRef::NamedNode(node) => node.as_str().to_owned(),
        TermRef::BlankNode(node) => format!("_:{}", node.as_str()),
        TermRef::Literal(literal) => literal.value().to_owned(),
        TermRef::Triple(triple) => {
            let object = text_of(triple.object.as_ref());
            format!("{} {} {object}", text_of(triple.subject.as_ref().into()), triple.predicate.as_str())
        }
    }
}
