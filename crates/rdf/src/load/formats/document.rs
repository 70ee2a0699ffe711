//! One document, statement by statement, for callers that do something else with it than a load.

use std::io::Read;

use oxrdf::Quad;
use oxrdfio::{RdfFormat, RdfParser};

use super::input::Document;
use super::quad_parser::{InvalidStatements, QuadParser, parser_of};
use crate::error::Result;
use crate::load::pipeline::parse::failure_error;
use crate::load::pipeline::prefixes::Prefixes;

/// Parses a document, and returns an iterator over its quads. `name` appears in error messages. The input must not be
/// compressed. The first error ends the iterator. Documents that nest too deeply, or whose entities would use too much
/// memory, are errors. So are IRIs, blank node labels and language tags that are not valid; those of JSON-LD are
/// reported at its end.
///
/// ```
/// use fulgurite_rdf::{RdfFormat, parse_document};
///
/// let text: &[u8] = b"<s> <p> 1, 2 .";
/// let quads = parse_document("text", text, RdfFormat::Turtle, Some("http://example.org/"))?;
/// assert_eq!(quads.count(), 2);
/// # Ok::<(), fulgurite_rdf::Error>(())
/// ```
///
/// # Errors
/// [`crate::Error::Invalid`] if `base` is not an absolute IRI. The iterator returns [`crate::Error::Syntax`] and
/// [`crate::Error::Input`].
pub fn parse_document(
    name: &str,
    bytes: impl Read + Send + 'static,
    format: RdfFormat,
    base: Option<&str>,
) -> Result<DocumentQuads> {
    let (name, base) = (name.to_owned(), base.map(str::to_owned));
    let graph = oxrdf::GraphName::DefaultGraph;
    let document = Document { number: 0, name, format, graph, base, is_packed: false };
    let parser = parser_of(&document)?;
    DocumentQuads::new(document, parser, Box::new(bytes))
}

/// An iterator over the quads of a document: see [`parse_document`].
pub struct DocumentQuads {
    document: Document,
    parser: QuadParser,
    prefixes: Prefixes,
    is_begun: bool,
    is_ended: bool,
}

impl DocumentQuads {
    /// Requires: the parser is of the document's format.
    pub(crate) fn new(document: Document, parser: RdfParser, bytes: Box<dyn Read + Send>) -> Result<Self> {
        let parser = QuadParser::new(&document, parser, bytes, None, false, InvalidStatements::Refused)?;
        Ok(Self { document, parser, prefixes: Prefixes::default(), is_begun: false, is_ended: false })
    }

    /// The prefixes that the document has declared so far, with their IRIs. All are known after the last quad.
    pub fn prefixes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.prefixes.iter()
    }

    /// The number of JSON-LD statements dropped so far because they contain a relative IRI and the document has no
    /// base.
    pub fn dropped(&self) -> u64 {
        self.parser.dropped()
    }
}

impl Iterator for DocumentQuads {
    type Item = Result<Quad>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_ended {
            return None;
        }
        let quad = self.parser.next();
        self.is_ended = !matches!(quad, Some(Ok(_)));
        if self.is_ended || !self.is_begun {
            self.prefixes.note(self.document.number, self.parser.prefixes());
            self.is_begun = true;
        }
        quad.map(|quad| quad.map_err(|failure| failure_error(&self.document, failure)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn outcomes(text: impl Into<Vec<u8>>, format: RdfFormat) -> Vec<Result<Quad>> {
        parse_document("text", std::io::Cursor::new(text.into()), format, None).unwrap().collect()
    }

    #[test]
    fn a_document_ends_with_its_first_error_which_says_where_it_is() {
        let outcomes = outcomes(
            "<http://a/s> <http://a/p> 1 .\n<http://a/s> oops 2 .\n<http://a/s> <http://a/p> 3 .",
            RdfFormat::Turtle,
        );
        assert_eq!(outcomes.len(), 2);
        assert!(outcomes[0].is_ok());
        assert!(matches!(&outcomes[1], Err(Error::Syntax { line: 2, .. })), "{:?}", outcomes[1]);
    }

    #[test]
    fn a_relative_iri_without_a_base_is_an_error_that_says_what_to_give() {
        let xml = "<e:C xmlns:e='http://e/' xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' rdf:about='x'/>";
        for (text, format) in [("<x> <http://a/p> 1 .", RdfFormat::Turtle), (xml, RdfFormat::RdfXml)] {
            let outcomes = outcomes(text, format);
            let Some(Err(error @ Error::Syntax { needs_base: true, .. })) = outcomes.last() else {
                panic!("{outcomes:?}")
            };
            assert!(error.to_string().ends_with(" base; give a base IRI"), "{error}");
        }
    }

    /// They were dropped, and nothing said so.
    #[test]
    fn terms_of_json_ld_that_are_not_valid_are_an_error_at_the_end() {
        let json_ld = RdfFormat::JsonLd { profile: oxrdfio::JsonLdProfileSet::empty() };
        for (text, expected) in [
            (r#"{"@id":"http://a/a b","http://a/p":"v"}"#, "`http://a/a b` is not a valid IRI"),
            (r#"{"@id":"http://a/s","http://a/p q":"v"}"#, "`http://a/p q` is not a valid IRI"),
            (r#"{"@id":"x:s","x:p":{"@value":"x","@language":"a b"}}"#, "`a b` is not a valid language tag"),
            (r#"{"@id":"http://a/s","http://a/p":[{"@id":"x:<"},{"@id":"x:>"}]}"#, "2 statements are not valid"),
        ] {
            let outcomes = outcomes(text, json_ld);
            let Some(Err(error @ Error::Syntax { line: 0, .. })) = outcomes.last() else {
                panic!("{text}: {outcomes:?}")
            };
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
        let without = outcomes(r#"{"@id":"http://a/s","http://a/p":"v","note":"x"}"#, json_ld);
        assert!(matches!(without[..], [Ok(_)]), "{without:?}");
    }

    #[test]
    fn entities_that_would_fill_the_memory_are_an_error() {
        let doubled: String = (1..31).map(|n| format!("<!ENTITY e{n} \"&e{0};&e{0};\">\n", n - 1)).collect();
        let bomb =
            format!("<!DOCTYPE rdf:RDF [\n<!ENTITY e0 \"12\">\n{doubled}]>\n<a xmlns='http://a/'><b>&e30;</b></a>");
        let outcomes = outcomes(bomb, RdfFormat::RdfXml);
        let Some(Err(error @ Error::Syntax { line: 34, column: 25, .. })) = outcomes.last() else {
            panic!("{outcomes:?}")
        };
        assert!(error.to_string().contains("entities"), "{error}");
    }

    #[test]
    fn names_that_would_fill_the_memory_are_an_error() {
        let attributes: String = (0..100_000).map(|number| format!(" n:a{number}='x'")).collect();
        let namespace = "n".repeat(1_000_000);
        let rdf = "xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'";
        let bombs = [
            format!("<rdf:RDF {rdf}\n xmlns:n='http://a/{namespace}'><rdf:Description{attributes}/></rdf:RDF>"),
            format!(
                "<rdf:RDF {rdf}\n xmlns:n='http://a/{namespace}'><n:s><n:p rdf:parseType='Literal'>{}</n:p></n:s></rdf:RDF>",
                "<n:a/>".repeat(100_000)
            ),
        ];
        for bomb in bombs {
            let outcomes = outcomes(bomb, RdfFormat::RdfXml);
            let Some(Err(error @ Error::Syntax { line: 2, .. })) = outcomes.last() else {
                panic!("no error in line 2")
            };
            assert!(outcomes.len() <= 2, "{} outcomes", outcomes.len());
            assert!(error.to_string().contains("too much memory"), "{error}");
        }
    }

    #[test]
    fn triple_terms_that_would_overflow_the_stack_are_an_error_in_every_form() {
        let deep = |open: &str, close: &str| {
            let depth = 100_000;
            format!("<http://a/s> <http://a/p> {}<http://a/o>{} .", open.repeat(depth), close.repeat(depth))
        };
        let text = deep("<<( <http://a/s> <http://a/p> ", " )>>");
        for format in [RdfFormat::Turtle, RdfFormat::TriG, RdfFormat::NTriples, RdfFormat::NQuads] {
            let outcomes = outcomes(text.as_str(), format);
            assert!(matches!(outcomes[..], [Err(Error::Input { .. })]), "{format:?}: {outcomes:?}");
        }
    }
}
