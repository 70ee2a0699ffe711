//! Documents become quads, statement by statement, whatever their form.
//!
//! RDF/XML has a reader of its own ([`rdf_xml`]). Statements of JSON-LD that need a base where there is none are
//! dropped, as its specification asks, and counted: they are recognised by a base that no document has. So are those
//! that are not valid ([`super::json_invalid`]), where there is a report to name them; elsewhere they are an error.

use std::io::{self, Read};
use std::sync::Arc;

use oxrdf::{BlankNode, GraphName, NamedOrBlankNode, Quad, Term};
use oxrdfio::{
    JsonLdProfileSet, LoadedDocument, RdfFormat, RdfParseError, RdfParser, RdfSyntaxError, ReaderQuadParser,
};

use super::input::Document;
use super::json_base::{self, JsonBase};
use super::json_invalid::{Copies, Counting, Invalid};
use super::rdf_xml;
use crate::error::{Error, Result};
use crate::load::formats::byte_order_mark::WithoutMark;
use crate::load::formats::json_depth::{Depth, JsonDepth, Shallow};
use crate::load::formats::triple_nesting::Nesting;
use crate::load::options::DocumentLoader;
use crate::model::base_iri;

/// Parses a document.
pub enum QuadParser {
    RdfXml { parser: Box<rdf_xml::Parser<Bytes>>, graph: GraphName },
    Json(Box<JsonParser>),
    Other(Box<ReaderQuadParser<Bytes>>),
}

/// Parses JSON-LD.
pub struct JsonParser {
    parser: ReaderQuadParser<Bytes>,
    no_base: Option<NoBase>,
    counting: Option<Counting>,
    treatment: InvalidStatements,
    invalid: Invalid,
}

/// What becomes of statements of JSON-LD that are not valid. A second parser finds them, on a thread of its own; it
/// needs as much time and memory as the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidStatements {
    /// They are dropped and counted.
    Counted,
    /// They are an error behind the last statement.
    Refused,
}

type Bytes = Box<dyn Read + Send>;

/// Why a document, or one of its statements, cannot be parsed.
#[derive(Debug)]
pub enum ParseFailure {
    Read(io::Error),
    /// Line and column are from 1, and 0 if they are not known.
    Malformed {
        line: u64,
        column: u64,
        message: String,
        /// Whether an IRI is relative, and there is no base.
        needs_base: bool,
    },
    /// The document asks for more memory than any may. It goes no further, however lenient the load.
    TooLarge {
        line: u64,
        column: u64,
        message: String,
    },
}

impl QuadParser {
    /// Requires: `parser` is [`parser_of`] the document, and possibly more.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the document's base is not an absolute IRI.
    pub fn new(
        document: &Document,
        parser: RdfParser,
        bytes: Bytes,
        loader: Option<&DocumentLoader>,
        is_lenient: bool,
        treatment: InvalidStatements,
    ) -> Result<Self> {
        if document.format == RdfFormat::RdfXml {
            let parser = rdf_xml::Parser::new(bytes, document.base.as_deref());
            let parser = parser.map_err(|error| bad_base(document, &error))?;
            return Ok(Self::RdfXml { parser: Box::new(parser), graph: document.graph.clone() });
        }
        let bytes = shallow(bytes, document.format, is_lenient);
        if matches!(document.format, RdfFormat::JsonLd { .. }) {
            let parser = JsonParser::new(document, parser, bytes, loader, treatment)?;
            return Ok(Self::Json(Box::new(parser)));
        }
        Ok(Self::Other(Box::new(with_loader(parser.for_reader(bytes), loader))))
    }

    /// The prefixes that are known so far, with their IRIs.
    pub fn prefixes(&self) -> Box<dyn Iterator<Item = (&str, &str)> + '_> {
        match self {
            Self::RdfXml { parser, .. } => Box::new(parser.prefixes()),
            Self::Json(json) => Box::new(json.parser.prefixes()),
            Self::Other(parser) => Box::new(parser.prefixes()),
        }
    }

    /// Statements that were dropped because they need a base.
    pub fn dropped(&self) -> u64 {
        match self {
            Self::Json(json) => json.no_base.as_ref().map_or(0, |no_base| no_base.dropped),
            _ => 0,
        }
    }

    /// Statements that were dropped because they are not valid. They are known after the last statement.
    pub fn invalid(&self) -> Invalid {
        match self {
            Self::Json(json) => json.invalid.clone(),
            _ => Invalid::default(),
        }
    }
}

impl Iterator for QuadParser {
    type Item = Result<Quad, ParseFailure>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::RdfXml { parser, graph } => {
                let triple = parser.next()?;
                Some(triple.map(|triple| triple.in_graph(graph.clone())).map_err(ParseFailure::from))
            }
            Self::Json(json) => json.next(),
            Self::Other(parser) => Some(parser.next()?.map_err(ParseFailure::from)),
        }
    }
}

impl JsonParser {
    fn new(
        document: &Document,
        parser: RdfParser,
        bytes: Bytes,
        loader: Option<&DocumentLoader>,
        treatment: InvalidStatements,
    ) -> Result<Self> {
        let no_base = document.base.is_none().then(NoBase::new);
        let parser = match &no_base {
            Some(no_base) => {
                parser.with_base_iri(&no_base.iri).map_err(|error| bad_base(document, &error.to_string()))?
            }
            None => parser,
        };
        let unchecked = |copies: Copies| with_loader(parser.clone().lenient().for_reader(copies), loader);
        let (counting, bytes) = Counting::begin(bytes, unchecked).map_err(|source| Error::Thread { source })?;
        let parser = with_loader(parser.for_reader(Box::new(bytes) as Bytes), loader);
        Ok(Self { parser, no_base, counting: Some(counting), treatment, invalid: Invalid::default() })
    }

    /// Ends the count of statements that are not valid. Returns a failure if there are some and they are refused.
    fn end_count(&mut self) -> Option<ParseFailure> {
        let Some(invalid) = self.counting.take()?.end() else {
            let message = "the parser that looks for terms that are not valid has failed".to_owned();
            return Some(ParseFailure::Malformed { line: 0, column: 0, message, needs_base: false });
        };
        self.invalid = invalid;
        // Relative IRIs are named as the document has them.
        if let Some(no_base) = &self.no_base {
            let first = &mut self.invalid.first;
            first.iter_mut().for_each(|message| *message = message.replacen(&no_base.iri, "", 1));
        }
        let message = self.invalid.message().filter(|_| self.treatment == InvalidStatements::Refused)?;
        Some(ParseFailure::Malformed { line: 0, column: 0, message, needs_base: false })
    }
}

impl Iterator for JsonParser {
    type Item = Result<Quad, ParseFailure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(quad) = self.parser.next() else {
                return self.end_count().map(Err);
            };
            let is_dropped = match (&quad, &mut self.no_base) {
                (Ok(quad), Some(no_base)) => no_base.drops(quad),
                // The rest is not read, so it is not known how many more there are.
                (Err(_), _) => {
                    self.counting = None;
                    false
                }
                _ => false,
            };
            if !is_dropped {
                return Some(quad.map_err(ParseFailure::from));
            }
        }
    }
}

impl From<rdf_xml::Failure> for ParseFailure {
    fn from(failure: rdf_xml::Failure) -> Self {
        match failure {
            rdf_xml::Failure::Read(source) => Self::Read(source),
            rdf_xml::Failure::Malformed { place, message, needs_base } => {
                Self::Malformed { line: place.line, column: place.column, message, needs_base }
            }
            rdf_xml::Failure::TooLarge { place, message } => {
                Self::TooLarge { line: place.line, column: place.column, message }
            }
        }
    }
}

impl From<RdfParseError> for ParseFailure {
    fn from(error: RdfParseError) -> Self {
        match error {
            RdfParseError::Io(source) => Self::Read(source),
            RdfParseError::Syntax(error) => error.into(),
        }
    }
}

impl From<RdfSyntaxError> for ParseFailure {
    fn from(error: RdfSyntaxError) -> Self {
        let (line, column) =
            error.location().map_or((0, 0), |location| (location.start.line + 1, location.start.column + 1));
        let mut message = plain_message(&error);
        let needs_base = message.contains(NO_SCHEME);
        if needs_base {
            message.push_str("; it is relative, and the document has no base");
        }
        Self::Malformed { line, column, message, needs_base }
    }
}

/// What is wrong, without the place, which is relative to a block.
fn plain_message(error: &RdfSyntaxError) -> String {
    let message = error.to_string();
    let is_place = ["Parser error at line ", "Parser error between line "].iter().any(|at| message.starts_with(at));
    match message.split_once(": ") {
        Some((_, rest)) if is_place => rest.to_owned(),
        _ => message,
    }
}

/// The parser of a document, with its base.
///
/// # Errors
/// [`Error::Invalid`] if the document's base is not an absolute IRI.
pub fn parser_of(document: &Document) -> Result<RdfParser> {
    let parser = RdfParser::from_format(document.format);
    let Some(base) = &document.base else { return Ok(parser) };
    parser.with_base_iri(base_iri::without_dots(base)).map_err(|error| bad_base(document, &error.to_string()))
}

fn bad_base(document: &Document, error: &str) -> Error {
    let base = document.base.as_deref().unwrap_or_default();
    Error::Invalid {
        message: format!("{}: its base `{base}` is not an IRI ({error}); give an absolute one", document.name),
    }
}

/// With the documents that JSON-LD refers to, if there is a loader.
fn with_loader<R: Read>(parser: ReaderQuadParser<R>, loader: Option<&DocumentLoader>) -> ReaderQuadParser<R> {
    let Some(loader) = loader.map(Arc::clone) else { return parser };
    parser.with_document_loader(move |iri| {
        let format = RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() };
        let content = loader(iri)?;
        let mut depth = JsonDepth::default();
        if depth.is_too_deep(&content) {
            return Err(depth.message().into());
        }
        Ok(LoadedDocument { url: iri.to_owned(), content: json_base::rewritten(&content), format })
    })
}

/// A text without its byte order mark, that does not take the parser too deep.
fn shallow(bytes: Bytes, format: RdfFormat, is_lenient: bool) -> Bytes {
    let bytes = WithoutMark::new(bytes);
    match format {
        RdfFormat::JsonLd { .. } => Box::new(JsonBase::new(Shallow::new(bytes, JsonDepth::default()))),
        _ => Box::new(Shallow::new(bytes, Nesting::new(is_lenient))),
    }
}

/// A base that no document has. What is resolved against it was relative.
pub struct NoBase {
    iri: String,
    /// The scheme, with its colon.
    scheme: String,
    dropped: u64,
}

impl NoBase {
    fn new() -> Self {
        // Documents cannot know it: it is a new one each time.
        let scheme = format!("x-{}:", BlankNode::default().as_str());
        Self { iri: format!("{scheme}//d/"), scheme, dropped: 0 }
    }

    /// Whether a statement has an IRI that needs a base. If so, it is counted.
    fn drops(&mut self, quad: &Quad) -> bool {
        let is_dropped = is_relative(quad, &self.scheme);
        self.dropped += u64::from(is_dropped);
        is_dropped
    }
}

/// Whether an IRI of a statement was resolved against a base of this scheme.
fn is_relative(quad: &Quad, scheme: &str) -> bool {
    let is_relative = |iri: &str| iri.starts_with(scheme);
    is_relative(quad.predicate.as_str())
        || matches!(&quad.subject, NamedOrBlankNode::NamedNode(node) if is_relative(node.as_str()))
        || matches!(&quad.graph_name, GraphName::NamedNode(node) if is_relative(node.as_str()))
        || match &quad.object {
            Term::NamedNode(node) => is_relative(node.as_str()),
            Term::Literal(literal) => is_relative(literal.datatype().as_str()),
            Term::BlankNode(_) | Term::Triple(_) => false,
        }
}

/// How the parsers say that an IRI is relative and has no base.
const NO_SCHEME: &str = "No scheme found in an absolute IRI";
