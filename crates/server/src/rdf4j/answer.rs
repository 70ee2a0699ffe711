//! Answers of queries. Clients of RDF4J prefer its binary format for triples.

use axum::http::request::Parts;
use fulgurite_rdf::sparql::{QueryForm, QueryResults, Triples};
use fulgurite_rdf::{CancellationToken, Error, Quads};

use crate::http::answer::AnswerWriter;
use crate::http::refusal::Refusal;
use crate::protocol::failures::written;
use crate::protocol::negotiation::{GRAPHS, Offer, negotiate};
use crate::protocol::query;
use crate::protocol::service::ServedStore;
use crate::rdf4j::binary::{self, Writer};
use crate::rdf4j::queries::{self, Text};
use crate::rdf4j::upload::Format;

/// A query and how it was sent.
pub struct QueryRequest<'r> {
    pub text: &'r Text,
    pub served: &'r ServedStore,
    pub url: &'r str,
    pub parts: &'r Parts,
}

impl QueryRequest<'_> {
    /// Evaluates the query, and writes the answer.
    ///
    /// # Errors
    /// As [`queries::query`] and [`query::write`].
    pub fn answer(&self, quads: &impl Quads, token: CancellationToken, out: &mut AnswerWriter) -> Result<(), Refusal> {
        let namespaces = quads.namespaces()?;
        let query = queries::query(self.text, self.served, self.url, &namespaces, token)?;
        let headers = &self.parts.headers;
        let returns_triples = matches!(query.form(), QueryForm::Construct | QueryForm::Describe);
        if !returns_triples || !binary::is_named(headers) {
            return query::write(&query, quads, &namespaces, headers, out);
        }
        let binary = [(binary::MEDIA_TYPE, &[][..], Format::Binary)];
        let texts = GRAPHS.iter().map(|&(media_type, names, format)| (media_type, names, Format::Text(format)));
        let offers: Vec<Offer<Format>> = binary.into_iter().chain(texts).collect();
        match negotiate(headers, &offers)? {
            (media_type, Format::Binary) => {
                out.media_type(media_type);
                let QueryResults::Triples(triples) = query.evaluate(quads)? else {
                    return Err(Refusal::failure("a CONSTRUCT or DESCRIBE without triples".into()));
                };
                written(write_binary(triples, out))
            }
            _ => query::write(&query, quads, &namespaces, headers, out),
        }
    }
}

fn write_binary(triples: Triples, out: &mut AnswerWriter) -> Result<u64, Error> {
    let failed = |source| Error::Output { source };
    let mut writer = Writer::new(out).map_err(failed)?;
    let mut written = 0;
    for triple in triples {
        let triple = triple?;
        let terms = [triple.subject.as_ref().into(), triple.predicate.as_ref().into(), triple.object.as_ref()];
        writer.statement(terms, None).map_err(failed)?;
        written += 1;
    }
    writer.finish().map_err(failed)?;
    Ok(written)
}
