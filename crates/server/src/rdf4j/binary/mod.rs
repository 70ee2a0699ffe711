//! RDF4J's binary RDF format, which its client prefers.
//!
//! A document is a head, records, and an end mark. The head is `BRDF`, the version as four bytes, most significant
//! first, and in version 2 the name of the character set. Numbers of version 1 are four bytes, and its strings are
//! UTF-16; numbers of version 2 have seven bits a byte, least significant first, and its strings are of the character
//! set. The length of a string counts units of two bytes in version 1, and bytes in version 2.

mod reader;
mod writer;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

pub use reader::{Reader, Statement};
pub use writer::Writer;

/// The media type.
pub const MEDIA_TYPE: &str = "application/x-binary-rdf";

/// Whether a client names the format in `Accept`. Others, such as curl with `*/*`, get a text.
pub fn is_named(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.any(|value| value.to_ascii_lowercase().contains(MEDIA_TYPE))
}

const MAGIC: &[u8; 4] = b"BRDF";

/// Marks of records.
mod record {
    pub const NAMESPACE: u8 = 0;
    pub const STATEMENT: u8 = 1;
    pub const COMMENT: u8 = 2;
    pub const VALUE: u8 = 3;
    pub const END: u8 = 127;
}

/// Marks of values.
mod value {
    pub const NONE: u8 = 0;
    pub const IRI: u8 = 1;
    pub const BLANK_NODE: u8 = 2;
    pub const PLAIN: u8 = 3;
    pub const LANGUAGE: u8 = 4;
    pub const TYPED: u8 = 5;
    pub const REFERENCE: u8 = 6;
    pub const TRIPLE: u8 = 7;
}

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{BlankNode, GraphName, Literal, NamedNode, Term, Triple};

    use super::*;

    fn iri(name: &str) -> NamedNode {
        NamedNode::new_unchecked(format!("http://a/{name}"))
    }

    #[test]
    fn statements_are_read_as_they_were_written() {
        let triple: Term = Triple::new(iri("s"), iri("p"), Literal::from("ü\u{1f600}")).into();
        let objects: Vec<Term> = vec![
            iri("o").into(),
            BlankNode::new_unchecked("b").into(),
            Literal::from("").into(),
            Literal::new_language_tagged_literal_unchecked("a", "en-gb").into(),
            Literal::from(7).into(),
            triple.clone(),
        ];
        let mut statements = Vec::new();
        for (number, object) in objects.iter().enumerate() {
            for subject in [iri("s").into(), BlankNode::new_unchecked("x").into(), triple.clone()] {
                let graph = if number % 2 == 0 { GraphName::DefaultGraph } else { iri("g").into() };
                statements.push(Statement { subject, predicate: iri("p"), object: object.clone(), graph });
            }
        }
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.namespace("a", "http://a/").unwrap();
        for Statement { subject, predicate, object, graph } in &statements {
            let graph = match graph {
                GraphName::NamedNode(name) => Some(name.as_ref().into()),
                _ => None,
            };
            writer.statement([subject.as_ref(), predicate.as_ref().into(), object.as_ref()], graph).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let mut reader = Reader::new(&bytes).unwrap();
        let read: Vec<Statement> = reader.by_ref().collect::<Result<_, _>>().unwrap();
        assert_eq!(read, statements);
        assert_eq!(reader.namespaces(), [("a".to_owned(), "http://a/".to_owned())]);
        // Every truncated document is an error.
        for end in 0..bytes.len() {
            let read = Reader::new(&bytes[..end]).and_then(|reader| reader.collect::<Result<Vec<_>, _>>());
            assert!(read.is_err(), "{end}");
        }
    }

    #[test]
    fn repeated_terms_are_written_once_or_twice() {
        let write = |count: usize| {
            let mut writer = Writer::new(Vec::new()).unwrap();
            let long = iri(&"long".repeat(25));
            for number in 0..count {
                let object = Literal::from(number as i64);
                let predicate = iri("p");
                let terms = [long.as_ref().into(), predicate.as_ref().into(), object.as_ref().into()];
                writer.statement(terms, None).unwrap();
            }
            writer.finish().unwrap().len()
        };
        assert!(write(100) - write(50) < 50 * 60, "{} {}", write(100), write(50));
    }

    #[test]
    fn version_one_is_read() {
        let mut bytes = b"BRDF\0\0\0\x01".to_vec();
        let push = |bytes: &mut Vec<u8>, text: &str| {
            let units: Vec<u16> = text.encode_utf16().collect();
            bytes.extend_from_slice(&(units.len() as u32).to_be_bytes());
            units.iter().for_each(|unit| bytes.extend_from_slice(&unit.to_be_bytes()));
        };
        bytes.push(record::COMMENT);
        push(&mut bytes, "a comment");
        bytes.extend_from_slice(&[record::VALUE, 0, 0, 0, 42, value::IRI]);
        push(&mut bytes, "http://a/s");
        bytes.extend_from_slice(&[record::STATEMENT, value::REFERENCE, 0, 0, 0, 42, value::REFERENCE, 0, 0, 0, 42]);
        bytes.push(value::PLAIN);
        push(&mut bytes, "ü\u{1f600}");
        bytes.extend_from_slice(&[value::NONE, record::END]);
        let read: Vec<Statement> = Reader::new(&bytes).unwrap().collect::<Result<_, _>>().unwrap();
        let expected = Statement {
            subject: iri("s").into(),
            predicate: iri("s"),
            object: Literal::from("ü\u{1f600}").into(),
            graph: GraphName::DefaultGraph,
        };
        assert_eq!(read, [expected]);
    }

    #[test]
    fn what_is_no_document_is_an_error_that_says_where() {
        let of = |rest: &[u8]| [&b"BRDF\0\0\0\x02\x05UTF-8"[..], rest].concat();
        let nested = [&[record::STATEMENT][..], &[value::TRIPLE; 1000]].concat();
        for (bytes, expected) in [
            (b"".to_vec(), "BRDF"),
            (b"PK\x03\x04....".to_vec(), "BRDF"),
            (b"BRDF\0\0\0\x09".to_vec(), "version 9"),
            (b"BRDF\0\0\0\x02\x05UTF-7".to_vec(), "UTF-7"),
            (of(&[99]), "byte 15"),
            (of(&[record::STATEMENT, value::PLAIN, 1, b'a', value::IRI]), "subject"),
            (of(&[record::STATEMENT, value::REFERENCE, 3]), "reference 3"),
            (of(&[record::STATEMENT, value::IRI, 1, 0xff]), "UTF-8"),
            (of(&[record::STATEMENT, value::IRI, 1, b'a']), "IRI"),
            (of(&[record::COMMENT, 0xff, 0xff, 0xff, 0xff, 0x0f]), "end"),
            (of(&[record::COMMENT, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), "number"),
            (of(&nested), "nested"),
        ] {
            let error = Reader::new(&bytes).and_then(|reader| reader.collect::<Result<Vec<_>, _>>());
            let message = error.expect_err(expected).to_string();
            assert!(message.contains(expected), "{message}: {expected}");
        }
    }
}
