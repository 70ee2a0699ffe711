//! Terms as bytes.
//!
//! | first byte | then |
//! |---|---|
//! | 1 | an IRI |
//! | 2 | the label of a blank node |
//! | 3 | a text without a language |
//! | 4 | a language tag, a text |
//! | 5 | a datatype, the lexical form of a literal |
//! | 6 | a triple term: subject, predicate and object, as terms |
//!
//! Where the default graph may stand instead of a term, it is the byte 8.
//!
//! Each text is UTF-8 after its length, which has four bytes, little-endian.

use fulgurite_rdf::oxrdf::{BlankNode, Literal, NamedNode, NamedOrBlankNode, Term, TermRef, Triple};

use crate::error::{Failure, Result};

const IRI: u8 = 1;
const BLANK: u8 = 2;
const TEXT: u8 = 3;
const LANGUAGE: u8 = 4;
const TYPED: u8 = 5;
const TRIPLE: u8 = 6;

/// Stands for the default graph.
pub const DEFAULT_GRAPH: u8 = 8;

/// Triple terms may nest this deep. The store has a lower limit, and reports it.
const DEPTH_MAX: usize = 200;

fn malformed() -> Failure {
    Failure::Invalid("terms in an array are malformed".to_owned())
}

/// Takes the first `count` bytes.
///
/// # Errors
/// [`Failure::Invalid`] if there are fewer.
pub fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Result<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or_else(malformed)?;
    *bytes = rest;
    Ok(taken)
}

/// Takes a number of four bytes.
///
/// # Errors
/// [`Failure::Invalid`] if there are fewer bytes.
pub fn take_number(bytes: &mut &[u8]) -> Result<u32> {
    let number = take(bytes, 4)?.try_into().map_err(|_| malformed())?;
    Ok(u32::from_le_bytes(number))
}

/// Takes a text.
///
/// # Errors
/// [`Failure::Invalid`] if the bytes are no text.
pub fn take_text<'b>(bytes: &mut &'b [u8]) -> Result<&'b str> {
    let length = take_number(bytes)? as usize;
    std::str::from_utf8(take(bytes, length)?).map_err(|_| malformed())
}

/// Takes a term.
///
/// # Errors
/// [`Failure::Invalid`] if the bytes are no term.
pub fn take_term(bytes: &mut &[u8]) -> Result<Term> {
    term_within(bytes, DEPTH_MAX)
}

fn term_within(bytes: &mut &[u8], depth: usize) -> Result<Term> {
    Ok(match take(bytes, 1)?[0] {
        IRI => NamedNode::new_unchecked(take_text(bytes)?).into(),
        BLANK => BlankNode::new_unchecked(take_text(bytes)?).into(),
        TEXT => Literal::new_simple_literal(take_text(bytes)?).into(),
        LANGUAGE => {
            let language = take_text(bytes)?.to_ascii_lowercase();
            Literal::new_language_tagged_literal_unchecked(take_text(bytes)?, language).into()
        }
        TYPED => {
            let datatype = NamedNode::new_unchecked(take_text(bytes)?);
            Literal::new_typed_literal(take_text(bytes)?, datatype).into()
        }
        TRIPLE => {
            let depth = depth.checked_sub(1).ok_or_else(malformed)?;
            let subject = match term_within(bytes, depth)? {
                Term::NamedNode(node) => NamedOrBlankNode::NamedNode(node),
                Term::BlankNode(node) => NamedOrBlankNode::BlankNode(node),
                Term::Literal(_) | Term::Triple(_) => return Err(of_triple("subject", "an IRI or a blank node")),
            };
            let Term::NamedNode(predicate) = term_within(bytes, depth)? else {
                return Err(of_triple("predicate", "an IRI"));
            };
            Triple::new(subject, predicate, term_within(bytes, depth)?).into()
        }
        _ => return Err(malformed()),
    })
}

fn of_triple(place: &str, allowed: &str) -> Failure {
    Failure::Invalid(format!("the {place} of a triple term must be {allowed}"))
}

/// Appends a text.
pub fn push_text(bytes: &mut Vec<u8>, text: &str) {
    // A term has less than 4 GiB, like every value of the engine.
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Appends a term.
pub fn push_term(bytes: &mut Vec<u8>, term: TermRef<'_>) {
    match term {
        TermRef::NamedNode(node) => push_kind(bytes, IRI, node.as_str()),
        TermRef::BlankNode(node) => push_kind(bytes, BLANK, node.as_str()),
        TermRef::Literal(literal) => match literal.language() {
            Some(language) => {
                push_kind(bytes, LANGUAGE, language);
                push_text(bytes, literal.value());
            }
            None if literal.datatype() == fulgurite_rdf::oxrdf::vocab::xsd::STRING => {
                push_kind(bytes, TEXT, literal.value());
            }
            None => {
                push_kind(bytes, TYPED, literal.datatype().as_str());
                push_text(bytes, literal.value());
            }
        },
        TermRef::Triple(triple) => {
            bytes.push(TRIPLE);
            push_term(bytes, triple.subject.as_ref().into());
            push_term(bytes, triple.predicate.as_ref().into());
            push_term(bytes, triple.object.as_ref());
        }
    }
}

fn push_kind(bytes: &mut Vec<u8>, kind: u8, text: &str) {
    bytes.push(kind);
    push_text(bytes, text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use fulgurite_rdf::oxrdf::vocab::xsd;

    #[test]
    fn every_kind_of_term_is_read_as_it_was_written() {
        let iri = NamedNode::new("http://a/b").unwrap();
        let blank = BlankNode::new("n1").unwrap();
        let inner = Triple::new(blank.clone(), iri.clone(), Literal::from(7));
        let terms: Vec<Term> = vec![
            iri.clone().into(),
            blank.into(),
            Literal::new_simple_literal("a\0ü").into(),
            Literal::new_language_tagged_literal("a", "de-at").unwrap().into(),
            Literal::new_typed_literal("007", xsd::INTEGER).into(),
            inner.clone().into(),
            Triple::new(iri.clone(), iri, inner).into(),
        ];
        let mut bytes = Vec::new();
        terms.iter().for_each(|term| push_term(&mut bytes, term.as_ref()));
        let mut rest = &bytes[..];
        for term in &terms {
            assert_eq!(&take_term(&mut rest).unwrap(), term);
        }
        assert!(rest.is_empty());
        for end in 0..bytes.len() {
            let mut cut = &bytes[..end];
            while take_term(&mut cut).is_ok() {}
        }
    }

    #[test]
    fn malformed_terms_are_errors() {
        let nested = [TRIPLE; 1000];
        for bytes in [&[][..], &[0], &[9, 1], &[IRI, 255, 255, 255, 255], &[TEXT, 1, 0, 0, 0, 0xff], &nested] {
            assert!(matches!(take_term(&mut &*bytes), Err(Failure::Invalid(_))), "{bytes:?}");
        }
    }
}
