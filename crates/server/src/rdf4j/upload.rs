//! Documents that clients send, and their statements in transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Bytes;
use axum::http::HeaderMap;
use fulgurite_rdf::oxrdf::{GraphName, Term};
use fulgurite_rdf::{Error, IdQuad, RdfFormat, TermId, Transaction, parse_document};

use crate::http::content::content_type;
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::protocol::document::{CancelCheck, NewNodes};
use crate::protocol::negotiation::graph_format;
use crate::rdf4j::binary::{self, Statement};
use crate::rdf4j::pattern::{StatementPattern, graphs};
use crate::rdf4j::unpacked::{Part, read_all, unpack};
use crate::rdf4j::{failures, terms};

/// The format of a document.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    Binary,
    Text(RdfFormat),
}

/// How a document is to be read: what the request says about it.
pub struct Upload {
    format: Format,
    base: Option<String>,
    /// Replaces the graphs of the document, unless it is empty.
    pub graphs: Vec<GraphName>,
    /// Whether blank nodes are those of the store with these labels, instead of new ones.
    keeps_nodes: bool,
}

/// A document, and the blank nodes that it got.
pub struct SentDocument {
    pub upload: Upload,
    bytes: Bytes,
    /// Those of each part.
    nodes: Vec<NewNodes>,
    /// See [`SentDocument::unpacked_bytes`].
    unpacked: Arc<AtomicUsize>,
}

impl Upload {
    /// What the head of a request says.
    ///
    /// # Errors
    /// 415 for an unknown format; 400 for wrong parameters.
    pub fn of(headers: &HeaderMap, parameters: &Parameters) -> Result<Self, Refusal> {
        let format = match content_type(headers) {
            Ok(kind) if kind == binary::MEDIA_TYPE => Format::Binary,
            _ => Format::Text(graph_format(headers).map_err(failures::of_format)?),
        };
        let base = parameters.at_most_one("baseURI")?.filter(|base| !base.is_empty());
        Ok(Self {
            format,
            base: base.map(|base| terms::iri("baseURI", base)).transpose()?.map(|base| base.into_string()),
            graphs: graphs(parameters)?,
            keeps_nodes: parameters.flag("preserveNodeId")?.unwrap_or(false),
        })
    }

    /// The document with these bytes.
    pub fn document(self, bytes: Bytes) -> SentDocument {
        SentDocument { upload: self, bytes, nodes: Vec::new(), unpacked: Arc::default() }
    }

    /// Calls `each` with every statement of a part, and returns the namespaces.
    fn read(
        &self,
        part: Part,
        watch: &CancelCheck,
        mut each: impl FnMut(Statement) -> Result<(), Error>,
    ) -> Result<Vec<(String, String)>, Error> {
        let Part { name, bytes } = part;
        match self.format {
            Format::Binary => {
                let bytes = read_all(&name, bytes)?;
                let mut reader = binary::Reader::new(&bytes)?;
                for statement in reader.by_ref() {
                    watch.check()?;
                    each(statement?)?;
                }
                Ok(reader.namespaces().to_vec())
            }
            Format::Text(format) => {
                let mut quads = parse_document(&name, bytes, format, self.base.as_deref())?;
                for quad in &mut quads {
                    watch.check()?;
                    let quad = quad?;
                    each(Statement {
                        subject: quad.subject.into(),
                        predicate: quad.predicate,
                        object: quad.object,
                        graph: quad.graph_name,
                    })?;
                }
                if quads.dropped() > 0 {
                    let statements = match quads.dropped() {
                        1 => "a statement has".to_owned(),
                        count => format!("{count} statements have"),
                    };
                    let message =
                        format!("{name}: {statements} a relative IRI, and there is no base; give one by baseURI");
                    return Err(Error::Invalid { message });
                }
                Ok(quads.prefixes().map(|(prefix, iri)| (prefix.to_owned(), iri.to_owned())).collect())
            }
        }
    }

    fn insert(&self, statement: Statement, nodes: &mut NewNodes, transaction: &mut Transaction) -> Result<(), Error> {
        let Statement { mut subject, predicate, mut object, mut graph } = statement;
        if !self.keeps_nodes {
            subject = nodes.term(subject, transaction)?;
            object = nodes.term(object, transaction)?;
            if let GraphName::BlankNode(node) = graph {
                graph = nodes.node(node, transaction)?.into();
            }
        }
        let subject = transaction.intern(subject.as_ref())?;
        let predicate = transaction.intern(predicate.as_ref().into())?;
        let object = transaction.intern(object.as_ref())?;
        let own = [graph];
        for graph in if self.graphs.is_empty() { &own[..] } else { &self.graphs } {
            let graph = match graph {
                GraphName::DefaultGraph => TermId::DEFAULT_GRAPH,
                GraphName::NamedNode(name) => transaction.intern(name.as_ref().into())?,
                GraphName::BlankNode(name) => transaction.intern(name.as_ref().into())?,
            };
            transaction.insert_ids(&IdQuad { subject, predicate, object, graph })?;
        }
        Ok(())
    }

    /// The pattern that a statement of a document of removals means.
    fn removed(&self, statement: Statement) -> StatementPattern {
        let Statement { subject, predicate, object, graph } = statement;
        let is_wildcard = |term: &Term| matches!(term, Term::NamedNode(node) if node.as_str() == WILDCARD);
        let terms = [subject, predicate.into(), object].map(|term| (!is_wildcard(&term)).then_some(term));
        let graphs = match graph {
            _ if !self.graphs.is_empty() => self.graphs.clone(),
            GraphName::DefaultGraph => Vec::new(),
            GraphName::NamedNode(name) if terms::is_default_graph(name.as_str()) => vec![GraphName::DefaultGraph],
            named => vec![named],
        };
        StatementPattern { terms, graphs }
    }
}

impl SentDocument {
    /// Inserts the statements. Its prefixes become namespaces of the store, unless the store has them. A document that
    /// is inserted again, in a transaction that is repeated, gets the same blank nodes.
    ///
    /// # Errors
    /// [`Error::Syntax`], [`Error::Input`]; as [`CancelCheck::check`]; errors of the store.
    pub fn insert(&mut self, transaction: &mut Transaction, watch: &CancelCheck) -> Result<(), Error> {
        let Self { upload, bytes, nodes, unpacked } = self;
        unpacked.store(0, Ordering::Relaxed);
        for (number, part) in unpack(bytes.clone())?.enumerate() {
            if nodes.len() == number {
                nodes.push(NewNodes::default());
            }
            let nodes = &mut nodes[number];
            let part = part?.counted(unpacked);
            let namespaces = upload.read(part, watch, |statement| upload.insert(statement, nodes, transaction))?;
            transaction.note_namespaces(namespaces.iter().map(|(prefix, iri)| (prefix.as_str(), iri.as_str())))?;
        }
        Ok(())
    }

    /// Removes the explicit statements that the document names. RDF4J's client writes [`WILDCARD`] for any term, no
    /// graph for any graph, and an IRI for the default graph.
    ///
    /// # Errors
    /// As [`SentDocument::insert`].
    pub fn remove(&self, transaction: &mut Transaction, watch: &CancelCheck) -> Result<(), Error> {
        self.unpacked.store(0, Ordering::Relaxed);
        for part in unpack(self.bytes.clone())? {
            let part = part?.counted(&self.unpacked);
            self.upload.read(part, watch, |statement| self.upload.removed(statement).remove(transaction, watch))?;
        }
        Ok(())
    }

    /// The decompressed size of the document. Requires: it was inserted or removed.
    pub fn unpacked_bytes(&self) -> usize {
        self.unpacked.load(Ordering::Relaxed).max(self.bytes.len())
    }
}

/// Stands for any term in a document of statements to remove.
const WILDCARD: &str = "http://www.openrdf.org/schema/sesame#wildcard";

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use fulgurite_rdf::{CancellationToken, Store, StoreOptions};
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::protocol::sparql_request::RequestLimits;

    #[test]
    fn the_size_of_a_document_is_that_of_its_decompressed_parts() {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for name in ["a.nt", "b.nt"] {
            archive.start_file(name, SimpleFileOptions::default()).unwrap();
            archive.write_all(&[b' '; 5_000]).unwrap();
        }
        let bytes = archive.finish().unwrap().into_inner();
        let format = Format::Text(RdfFormat::NTriples);
        let upload = Upload { format, base: None, graphs: Vec::new(), keeps_nodes: false };
        let mut document = upload.document(bytes.into());
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).unwrap();
        let mut transaction = store.begin().unwrap();
        let watch = CancelCheck::begin(CancellationToken::new(), RequestLimits { timeout: None });
        document.insert(&mut transaction, &watch).unwrap();
        assert_eq!(document.unpacked_bytes(), 10_000);
        document.remove(&mut transaction, &watch).unwrap();
        assert_eq!(document.unpacked_bytes(), 10_000);
    }
}
