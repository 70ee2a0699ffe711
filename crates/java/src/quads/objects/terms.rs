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
//! | 9 | the place of a datatype in [`DATATYPES`] (one byte), the lexical form of a literal |
//!
//! Where the default graph may stand instead of a term, it is the byte 8.
//!
//! Each text is UTF-8 after its length, which has four bytes, little-endian. The highest bit of these four bytes says
//! that the text is not ASCII, so that Java need not look: a text of ASCII is copied into a string as it is.

use fulgurite_rdf::oxrdf::{BlankNode, BlankNodeRef, Literal, LiteralRef, NamedNode, NamedNodeRef};
use fulgurite_rdf::oxrdf::{NamedOrBlankNode, Term, TermRef, Triple};

use crate::error::{Failure, Result};

const IRI: u8 = 1;
const BLANK: u8 = 2;
const TEXT: u8 = 3;
const LANGUAGE: u8 = 4;
const TYPED: u8 = 5;
const TRIPLE: u8 = 6;
const NUMBERED: u8 = 9;

/// Datatypes that cross as a byte. The Java class `Datatype` has the same ones in the same order. Common ones are
/// first, because the list is searched from its beginning.
const DATATYPES: [&str; 30] = [
    "http://www.w3.org/2001/XMLSchema#integer",
    "http://www.w3.org/2001/XMLSchema#decimal",
    "http://www.w3.org/2001/XMLSchema#double",
    "http://www.w3.org/2001/XMLSchema#date",
    "http://www.w3.org/2001/XMLSchema#dateTime",
    "http://www.w3.org/2001/XMLSchema#boolean",
    "http://www.w3.org/2001/XMLSchema#float",
    "http://www.w3.org/2001/XMLSchema#int",
    "http://www.w3.org/2001/XMLSchema#long",
    "http://www.w3.org/2001/XMLSchema#gYear",
    "http://www.w3.org/2001/XMLSchema#anyURI",
    "http://www.w3.org/2001/XMLSchema#time",
    "http://www.w3.org/2001/XMLSchema#duration",
    "http://www.w3.org/2001/XMLSchema#dayTimeDuration",
    "http://www.w3.org/2001/XMLSchema#yearMonthDuration",
    "http://www.w3.org/2001/XMLSchema#dateTimeStamp",
    "http://www.w3.org/2001/XMLSchema#gYearMonth",
    "http://www.w3.org/2001/XMLSchema#gMonth",
    "http://www.w3.org/2001/XMLSchema#gMonthDay",
    "http://www.w3.org/2001/XMLSchema#gDay",
    "http://www.w3.org/2001/XMLSchema#short",
    "http://www.w3.org/2001/XMLSchema#byte",
    "http://www.w3.org/2001/XMLSchema#nonNegativeInteger",
    "http://www.w3.org/2001/XMLSchema#positiveInteger",
    "http://www.w3.org/2001/XMLSchema#unsignedLong",
    "http://www.w3.org/2001/XMLSchema#unsignedInt",
    "http://www.w3.org/2001/XMLSchema#unsignedShort",
    "http://www.w3.org/2001/XMLSchema#unsignedByte",
    "http://www.w3.org/2001/XMLSchema#hexBinary",
    "http://www.w3.org/2001/XMLSchema#base64Binary",
];

/// In the length of a text: it is not ASCII.
const NOT_ASCII: u32 = 1 << 31;

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
    let length = (take_number(bytes)? & !NOT_ASCII) as usize;
    std::str::from_utf8(take(bytes, length)?).map_err(|_| malformed())
}

/// Takes the place of a datatype.
fn take_datatype(bytes: &mut &[u8]) -> Result<NamedNodeRef<'static>> {
    let place = take(bytes, 1)?[0];
    let datatype = DATATYPES.get(usize::from(place)).ok_or_else(malformed)?;
    Ok(NamedNodeRef::new_unchecked(datatype))
}

/// Takes a term, and calls `with` with it. Terms other than triple terms borrow their texts from the bytes, so they
/// need no memory of their own.
///
/// # Errors
/// As [`take_term`]; the errors of `with`.
pub fn with_term<R>(bytes: &mut &[u8], with: impl FnOnce(TermRef<'_>) -> Result<R>) -> Result<R> {
    let mut rest = bytes.get(1..).unwrap_or_default();
    let result = match bytes.first() {
        Some(&IRI) => with(NamedNodeRef::new_unchecked(take_text(&mut rest)?).into()),
        Some(&BLANK) => with(BlankNodeRef::new_unchecked(take_text(&mut rest)?).into()),
        Some(&TEXT) => with(LiteralRef::new_simple_literal(take_text(&mut rest)?).into()),
        Some(&LANGUAGE) => {
            let language = take_text(&mut rest)?.to_ascii_lowercase();
            with(LiteralRef::new_language_tagged_literal_unchecked(take_text(&mut rest)?, &language).into())
        }
        Some(&TYPED) => {
            let datatype = NamedNodeRef::new_unchecked(take_text(&mut rest)?);
            with(LiteralRef::new_typed_literal(take_text(&mut rest)?, datatype).into())
        }
        Some(&NUMBERED) => {
            let datatype = take_datatype(&mut rest)?;
            with(LiteralRef::new_typed_literal(take_text(&mut rest)?, datatype).into())
        }
        _ => return with(take_term(bytes)?.as_ref()),
    };
    *bytes = rest;
    result
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
        NUMBERED => {
            let datatype = take_datatype(bytes)?;
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
    bytes.reserve(size_of::<u32>() + text.len());
    bytes.extend_from_slice(&length_of(text));
    bytes.extend_from_slice(text.as_bytes());
}

/// The length of a text, and whether it is ASCII.
#[inline]
fn length_of(text: &str) -> [u8; 4] {
    // No array of Java has 2 GiB. A longer text makes the result too long for one, whatever is here.
    let flag = if text.is_ascii() { 0 } else { NOT_ASCII };
    (text.len() as u32 | flag).to_le_bytes()
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
            None => push_typed(bytes, literal.datatype().as_str(), literal.value()),
        },
        TermRef::Triple(triple) => {
            bytes.push(TRIPLE);
            push_term(bytes, triple.subject.as_ref().into());
            push_term(bytes, triple.predicate.as_ref().into());
            push_term(bytes, triple.object.as_ref());
        }
    }
}

fn push_typed(bytes: &mut Vec<u8>, datatype: &str, value: &str) {
    match DATATYPES.iter().position(|known| *known == datatype) {
        Some(place) => bytes.extend_from_slice(&[NUMBERED, place as u8]),
        None => push_kind(bytes, TYPED, datatype),
    }
    push_text(bytes, value);
}

#[inline]
fn push_kind(bytes: &mut Vec<u8>, kind: u8, text: &str) {
    let [first, second, third, fourth] = length_of(text);
    let head = [kind, first, second, third, fourth];
    bytes.reserve(head.len() + text.len());
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(text.as_bytes());
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
            Literal::new_typed_literal("", xsd::BASE_64_BINARY).into(),
            Literal::new_typed_literal("ü", NamedNode::new("http://a/type").unwrap()).into(),
            inner.clone().into(),
            Triple::new(iri.clone(), iri, inner).into(),
        ];
        let mut bytes = Vec::new();
        terms.iter().for_each(|term| push_term(&mut bytes, term.as_ref()));
        let (mut rest, mut lent) = (&bytes[..], &bytes[..]);
        for term in &terms {
            assert_eq!(&take_term(&mut rest).unwrap(), term);
            with_term(&mut lent, |read| {
                assert_eq!(read, term.as_ref());
                Ok(())
            })
            .unwrap();
            assert_eq!(lent.len(), rest.len());
        }
        assert!(rest.is_empty());
        for end in 0..bytes.len() {
            let mut cut = &bytes[..end];
            while take_term(&mut cut).is_ok() {}
            let mut cut = &bytes[..end];
            while with_term(&mut cut, |_| Ok(())).is_ok() {}
        }
    }

    #[test]
    fn a_common_datatype_is_one_byte_and_the_length_of_a_text_says_whether_it_is_ascii() {
        let bytes_of = |term: &Term| {
            let mut bytes = Vec::new();
            push_term(&mut bytes, term.as_ref());
            bytes
        };
        assert_eq!(bytes_of(&Literal::from(7).into()), [NUMBERED, 0, 1, 0, 0, 0, b'7']);
        assert_eq!(bytes_of(&Literal::new_simple_literal("a").into()), [TEXT, 1, 0, 0, 0, b'a']);
        assert_eq!(bytes_of(&Literal::new_simple_literal("ü").into()), [TEXT, 2, 0, 0, 0x80, 0xc3, 0xbc]);
        for (place, datatype) in DATATYPES.iter().enumerate() {
            let term: Term = Literal::new_typed_literal("x", NamedNode::new(*datatype).unwrap()).into();
            let bytes = bytes_of(&term);
            assert_eq!(bytes[..2], [NUMBERED, place as u8], "{datatype}");
            assert_eq!(take_term(&mut &bytes[..]).unwrap(), term);
        }
    }

    #[test]
    fn malformed_terms_are_errors() {
        let nested = [TRIPLE; 1000];
        let no_datatype = [NUMBERED, DATATYPES.len() as u8, 0, 0, 0, 0];
        let too_long = [IRI, 255, 255, 255, 255];
        let no_text = [TEXT, 1, 0, 0, 0, 0xff];
        for bytes in [&[][..], &[0], &[10, 1], &too_long, &no_text, &no_datatype, &[NUMBERED], &nested] {
            assert!(matches!(take_term(&mut &*bytes), Err(Failure::Invalid(_))), "{bytes:?}");
            assert!(matches!(with_term(&mut &*bytes, |_| Ok(())), Err(Failure::Invalid(_))), "{bytes:?}");
        }
    }
}
