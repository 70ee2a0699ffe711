//! Terms as bytes: what is hashed, and what the dictionary stores.
//!
//! The first byte is the kind, and is stored: never renumber. [`encode`] gives one form for each term. Stored IRIs may
//! have another, in which the number of a namespace stands for its text: that form is never hashed nor compared. While
//! a document is loaded, its blank nodes have a form with its number, which is never stored.

use oxrdf::{BaseDirection, BlankNodeRef, LiteralRef, NamedNode, NamedNodeRef, Term, TermRef, Triple};
use oxrdf::{BlankNode, Literal, NamedOrBlankNode, NamedOrBlankNodeRef};

use crate::error::{Error, Result};
use crate::model::id::Tag;

/// What the first byte says.
mod kind {
    pub const IRI: u8 = 1;
    pub const IRI_IN_NAMESPACE: u8 = 2;
    pub const BLANK: u8 = 3;
    pub const STRING: u8 = 4;
    pub const LANG_STRING: u8 = 5;
    pub const LEFT_TO_RIGHT: u8 = 6;
    pub const RIGHT_TO_LEFT: u8 = 7;
    pub const TYPED_KNOWN: u8 = 8;
    pub const TYPED: u8 = 9;
    pub const TRIPLE: u8 = 10;
    /// Of a document that is loaded; never stored.
    pub const SCOPED_BLANK: u8 = 11;
}

/// The tag of a term that is in the dictionary.
pub fn tag_of(term: TermRef<'_>) -> Tag {
    match term {
        TermRef::NamedNode(_) => Tag::IRI,
        TermRef::BlankNode(_) => Tag::LABELLED_BLANK,
        TermRef::Literal(_) => Tag::LITERAL,
        TermRef::Triple(_) => Tag::TRIPLE,
    }
}

/// Appends the bytes of a term.
///
/// # Errors
/// [`Error::TooDeep`]; then something was appended all the same.
pub fn encode(term: TermRef<'_>, out: &mut Vec<u8>) -> Result<()> {
    encode_at(term, None, out, 0)
}

/// As [`encode`], with blank nodes of a document.
///
/// # Errors
/// As [`encode`].
pub fn encode_scoped(term: TermRef<'_>, document: u32, out: &mut Vec<u8>) -> Result<()> {
    encode_at(term, Some(document), out, 0)
}

fn encode_at(term: TermRef<'_>, document: Option<u32>, out: &mut Vec<u8>, depth: usize) -> Result<()> {
    match term {
        TermRef::NamedNode(node) => encode_iri(node, out),
        TermRef::BlankNode(node) => encode_blank(node, document, out),
        TermRef::Literal(literal) => encode_literal(literal, out),
        TermRef::Triple(triple) => {
            if depth == TRIPLE_DEPTH_MAX {
                return Err(Error::TooDeep { limit: TRIPLE_DEPTH_MAX });
            }
            encode_triple(triple, document, out, depth + 1)?;
        }
    }
    Ok(())
}

pub fn encode_iri(node: NamedNodeRef<'_>, out: &mut Vec<u8>) {
    out.push(kind::IRI);
    out.extend_from_slice(node.as_str().as_bytes());
}

/// The text of an IRI that [`encode`] has written.
pub fn iri_text(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(&[kind::IRI])
}

/// An IRI that begins with a numbered namespace.
pub fn encode_in_namespace(number: u32, rest: &[u8], out: &mut Vec<u8>) {
    out.push(kind::IRI_IN_NAMESPACE);
    push_number(number as usize, out);
    out.extend_from_slice(rest);
}

/// The number of the namespace and the rest of an IRI, if it is stored so.
pub fn namespace_of(mut bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes = bytes.strip_prefix(&[kind::IRI_IN_NAMESPACE])?;
    let number = take_number(&mut bytes)?;
    Some((u32::try_from(number).ok()?, bytes))
}

fn encode_blank(node: BlankNodeRef<'_>, document: Option<u32>, out: &mut Vec<u8>) {
    match document {
        None => out.push(kind::BLANK),
        Some(number) => {
            out.push(kind::SCOPED_BLANK);
            push_number(number as usize, out);
        }
    }
    out.extend_from_slice(node.as_str().as_bytes());
}

fn encode_literal(literal: LiteralRef<'_>, out: &mut Vec<u8>) {
    if let Some(language) = literal.language() {
        out.push(match literal.direction() {
            None => kind::LANG_STRING,
            Some(BaseDirection::Ltr) => kind::LEFT_TO_RIGHT,
            Some(BaseDirection::Rtl) => kind::RIGHT_TO_LEFT,
        });
        push_counted(language.as_bytes(), out);
    } else {
        let datatype = literal.datatype().as_str();
        let known = KNOWN_TYPES.iter().position(|name| *name == datatype);
        match known {
            _ if datatype == oxrdf::vocab::xsd::STRING.as_str() => out.push(kind::STRING),
            Some(index) => out.extend_from_slice(&[kind::TYPED_KNOWN, index as u8]),
            None => {
                out.push(kind::TYPED);
                push_counted(datatype.as_bytes(), out);
            }
        }
    }
    out.extend_from_slice(literal.value().as_bytes());
}

fn encode_triple(triple: &Triple, document: Option<u32>, out: &mut Vec<u8>, depth: usize) -> Result<()> {
    out.push(kind::TRIPLE);
    let mut subject = Vec::new();
    match triple.subject.as_ref() {
        NamedOrBlankNodeRef::NamedNode(node) => encode_iri(node, &mut subject),
        NamedOrBlankNodeRef::BlankNode(node) => encode_blank(node, document, &mut subject),
    }
    push_counted(&subject, out);
    push_counted(triple.predicate.as_str().as_bytes(), out);
    encode_at(triple.object.as_ref(), document, out, depth)
}

/// The term of bytes that [`encode`] has written.
///
/// # Errors
/// What is wrong with them.
pub fn decode(bytes: &[u8]) -> Result<Term, &'static str> {
    decode_scoped(bytes, &mut || None)
}

/// As [`decode`], of what [`encode_scoped`] has written: `blank` gives the nodes that stand for those of the document,
/// from left to right.
///
/// # Errors
/// As [`decode`], and if `blank` gives none.
pub fn decode_scoped(bytes: &[u8], blank: &mut dyn FnMut() -> Option<BlankNode>) -> Result<Term, &'static str> {
    let mut predicates = Vec::new();
    let mut rest = bytes;
    // Nested triples are taken apart in a loop, so that no bytes can take the stack.
    while let Some(inner) = rest.strip_prefix(&[kind::TRIPLE]) {
        if predicates.len() == TRIPLE_DEPTH_MAX {
            return Err("triple terms are nested too deep");
        }
        rest = inner;
        let subject = take_counted(&mut rest).ok_or(CUT_OFF)?;
        let predicate = take_counted(&mut rest).ok_or(CUT_OFF)?;
        let subject = match decode_plain(subject, blank)? {
            Term::NamedNode(node) => NamedOrBlankNode::NamedNode(node),
            Term::BlankNode(node) => NamedOrBlankNode::BlankNode(node),
            _ => return Err("the subject of a triple term is neither an IRI nor a blank node"),
        };
        predicates.push((subject, NamedNode::new_unchecked(text(predicate)?)));
    }
    let mut term = decode_plain(rest, blank)?;
    while let Some((subject, predicate)) = predicates.pop() {
        term = Triple::new(subject, predicate, term).into();
    }
    Ok(term)
}

fn decode_plain(bytes: &[u8], blank: &mut dyn FnMut() -> Option<BlankNode>) -> Result<Term, &'static str> {
    if bytes.first() == Some(&kind::SCOPED_BLANK) {
        return Ok(blank().ok_or(NO_KIND)?.into());
    }
    Ok(match take_apart(bytes)? {
        Stored::Iri(text) => NamedNode::new_unchecked(text).into(),
        Stored::Blank(label) => BlankNode::new_unchecked(label).into(),
        Stored::Text(text) => Literal::new_simple_literal(text).into(),
        Stored::LangText { language, value } => Literal::new_language_tagged_literal_unchecked(value, language).into(),
        Stored::DirectedText { language, value, direction } => {
            Literal::new_directional_language_tagged_literal_unchecked(value, language, direction).into()
        }
        Stored::TypedKnown { datatype, value } => Literal::new_typed_literal(value, datatype).into(),
        Stored::Typed { datatype, value } => {
            Literal::new_typed_literal(value, NamedNodeRef::new_unchecked(datatype)).into()
        }
        Stored::IriInNamespace { .. } | Stored::Triple => return Err(NO_KIND),
    })
}

/// A stored term, taken apart into its texts.
#[derive(Clone, Copy, Debug)]
pub enum Stored<'b> {
    Iri(&'b str),
    /// Begins with the text of the namespace with this number.
    IriInNamespace {
        number: u32,
        rest: &'b str,
    },
    Blank(&'b str),
    Text(&'b str),
    LangText {
        language: &'b str,
        value: &'b str,
    },
    DirectedText {
        language: &'b str,
        value: &'b str,
        direction: BaseDirection,
    },
    TypedKnown {
        datatype: NamedNodeRef<'static>,
        value: &'b str,
    },
    Typed {
        datatype: &'b str,
        value: &'b str,
    },
    /// [`decode`] takes it apart.
    Triple,
}

/// The texts of a stored term.
///
/// # Errors
/// As [`decode`].
pub fn take_apart(bytes: &[u8]) -> Result<Stored<'_>, &'static str> {
    let (&kind, mut rest) = bytes.split_first().ok_or(CUT_OFF)?;
    Ok(match kind {
        kind::IRI => Stored::Iri(text(rest)?),
        kind::IRI_IN_NAMESPACE => {
            let (number, rest) = namespace_of(bytes).ok_or(CUT_OFF)?;
            Stored::IriInNamespace { number, rest: text(rest)? }
        }
        kind::BLANK => Stored::Blank(text(rest)?),
        kind::STRING => Stored::Text(text(rest)?),
        kind::LANG_STRING | kind::LEFT_TO_RIGHT | kind::RIGHT_TO_LEFT => {
            let language = text(take_counted(&mut rest).ok_or(CUT_OFF)?)?;
            let value = text(rest)?;
            match kind {
                kind::LANG_STRING => Stored::LangText { language, value },
                kind::LEFT_TO_RIGHT => Stored::DirectedText { language, value, direction: BaseDirection::Ltr },
                _ => Stored::DirectedText { language, value, direction: BaseDirection::Rtl },
            }
        }
        kind::TYPED_KNOWN => {
            let (&index, rest) = rest.split_first().ok_or(CUT_OFF)?;
            let datatype = KNOWN_TYPES.get(index as usize).ok_or("a literal has a datatype that is not known")?;
            Stored::TypedKnown { datatype: NamedNodeRef::new_unchecked(datatype), value: text(rest)? }
        }
        kind::TYPED => {
            let datatype = text(take_counted(&mut rest).ok_or(CUT_OFF)?)?;
            Stored::Typed { datatype, value: text(rest)? }
        }
        kind::TRIPLE => Stored::Triple,
        _ => return Err(NO_KIND),
    })
}

fn text(bytes: &[u8]) -> Result<&str, &'static str> {
    std::str::from_utf8(bytes).map_err(|_| "a term is not UTF-8")
}

/// Whether the kind of stored bytes is one that terms of this tag have.
pub fn fits(tag: Tag, bytes: &[u8]) -> bool {
    match bytes.first() {
        Some(&(kind::IRI | kind::IRI_IN_NAMESPACE)) => tag == Tag::IRI,
        Some(&kind::BLANK) => tag == Tag::LABELLED_BLANK,
        Some(&kind::TRIPLE) => tag == Tag::TRIPLE,
        Some(&kind::SCOPED_BLANK) | None => false,
        Some(_) => tag == Tag::LITERAL,
    }
}

fn push_counted(bytes: &[u8], out: &mut Vec<u8>) {
    push_number(bytes.len(), out);
    out.extend_from_slice(bytes);
}

fn take_counted<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = take_number(bytes)?;
    let (counted, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(counted)
}

/// Seven bits a byte, the least significant first; the highest bit says that more follow.
fn push_number(mut number: usize, out: &mut Vec<u8>) {
    while number >= 128 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0_u64;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return usize::try_from(number).ok();
        }
    }
    None
}

const NO_KIND: &str = "a term is of no kind there is";
const CUT_OFF: &str = "a term ends too early";

/// Triple terms within triple terms are refused beyond this.
pub const TRIPLE_DEPTH_MAX: usize = 64;

/// Datatypes that are stored as one byte, by their place here: never reorder, only append; at most 256.
const KNOWN_TYPES: [&str; 40] = [
    "http://www.w3.org/2001/XMLSchema#integer",
    "http://www.w3.org/2001/XMLSchema#decimal",
    "http://www.w3.org/2001/XMLSchema#double",
    "http://www.w3.org/2001/XMLSchema#float",
    "http://www.w3.org/2001/XMLSchema#boolean",
    "http://www.w3.org/2001/XMLSchema#dateTime",
    "http://www.w3.org/2001/XMLSchema#dateTimeStamp",
    "http://www.w3.org/2001/XMLSchema#date",
    "http://www.w3.org/2001/XMLSchema#time",
    "http://www.w3.org/2001/XMLSchema#gYear",
    "http://www.w3.org/2001/XMLSchema#gYearMonth",
    "http://www.w3.org/2001/XMLSchema#gMonth",
    "http://www.w3.org/2001/XMLSchema#gMonthDay",
    "http://www.w3.org/2001/XMLSchema#gDay",
    "http://www.w3.org/2001/XMLSchema#duration",
    "http://www.w3.org/2001/XMLSchema#dayTimeDuration",
    "http://www.w3.org/2001/XMLSchema#yearMonthDuration",
    "http://www.w3.org/2001/XMLSchema#anyURI",
    "http://www.w3.org/2001/XMLSchema#base64Binary",
    "http://www.w3.org/2001/XMLSchema#hexBinary",
    "http://www.w3.org/2001/XMLSchema#long",
    "http://www.w3.org/2001/XMLSchema#int",
    "http://www.w3.org/2001/XMLSchema#short",
    "http://www.w3.org/2001/XMLSchema#byte",
    "http://www.w3.org/2001/XMLSchema#nonNegativeInteger",
    "http://www.w3.org/2001/XMLSchema#positiveInteger",
    "http://www.w3.org/2001/XMLSchema#unsignedLong",
    "http://www.w3.org/2001/XMLSchema#unsignedInt",
    "http://www.w3.org/2001/XMLSchema#unsignedShort",
    "http://www.w3.org/2001/XMLSchema#unsignedByte",
    "http://www.w3.org/2001/XMLSchema#nonPositiveInteger",
    "http://www.w3.org/2001/XMLSchema#negativeInteger",
    "http://www.w3.org/2001/XMLSchema#normalizedString",
    "http://www.w3.org/2001/XMLSchema#token",
    "http://www.w3.org/2001/XMLSchema#language",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON",
    "http://www.opengis.net/ont/geosparql#wktLiteral",
    "http://www.opengis.net/ont/geosparql#geoJSONLiteral",
];

#[cfg(test)]
mod tests {
    use oxrdf::vocab::xsd;

    use super::*;

    fn bytes_of(term: &Term) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(term.as_ref(), &mut bytes).expect("not too deep");
        bytes
    }

    fn nested(depth: usize) -> Term {
        let node = NamedNode::new_unchecked("http://a");
        let mut term = Term::from(Literal::new_simple_literal("a"));
        for _ in 0..depth {
            term = Triple::new(node.clone(), node.clone(), term).into();
        }
        term
    }

    fn terms() -> Vec<Term> {
        let long = "x".repeat(100_000);
        let directed = Literal::new_directional_language_tagged_literal_unchecked;
        let blank = BlankNode::new_unchecked("b");
        vec![
            NamedNode::new_unchecked("").into(),
            NamedNode::new_unchecked(format!("http://{long}")).into(),
            blank.clone().into(),
            Literal::new_simple_literal(long.as_str()).into(),
            Literal::new_language_tagged_literal_unchecked("a", "en-gb").into(),
            directed("a", "he", BaseDirection::Rtl).into(),
            directed("a", "he", BaseDirection::Ltr).into(),
            Literal::new_typed_literal("01", xsd::INTEGER).into(),
            Literal::new_typed_literal("", NamedNode::new_unchecked("http://type")).into(),
            Triple::new(blank, NamedNode::new_unchecked("http://p"), nested(3)).into(),
            nested(TRIPLE_DEPTH_MAX),
        ]
    }

    #[test]
    fn a_term_of_any_kind_and_length_comes_back_and_no_two_have_the_same_bytes() {
        let terms = terms();
        let bytes: Vec<_> = terms.iter().map(bytes_of).collect();
        for (term, bytes) in terms.iter().zip(&bytes) {
            assert_eq!(decode(bytes).as_ref(), Ok(term));
            assert!(fits(tag_of(term.as_ref()), bytes));
        }
        let distinct: std::collections::HashSet<_> = bytes.iter().collect();
        assert_eq!(distinct.len(), terms.len());
    }

    #[test]
    fn triples_that_are_nested_too_deep_are_refused_on_both_ways() {
        let mut out = Vec::new();
        let error = encode(nested(TRIPLE_DEPTH_MAX + 1).as_ref(), &mut out).expect_err("too deep");
        assert!(matches!(error, Error::TooDeep { limit: TRIPLE_DEPTH_MAX }));
        let one = &bytes_of(&nested(1));
        let around = &one[..one.len() - bytes_of(&nested(0)).len()];
        assert!(decode(&around.repeat(1_000_000)).is_err());
    }

    #[test]
    fn bytes_that_were_cut_or_changed_give_an_error_or_another_term_but_no_panic() {
        for term in terms() {
            let mut bytes = bytes_of(&term);
            bytes.truncate(300);
            for index in 0..bytes.len() {
                let _ = decode(&bytes[..index]);
                for change in [1, 0x80, 0xff] {
                    let mut changed = bytes.clone();
                    changed[index] ^= change;
                    let _ = decode(&changed);
                }
            }
        }
    }

    #[test]
    fn the_known_types_are_distinct() {
        let distinct: std::collections::HashSet<_> = KNOWN_TYPES.iter().collect();
        assert_eq!(distinct.len(), KNOWN_TYPES.len());
    }
}
