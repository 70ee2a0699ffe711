//! The statements of the repository: read, added, replaced and removed.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use fulgurite_rdf::oxrdf::Term;
use fulgurite_rdf::{Error, Quads, RdfFormat, TermId, dump_patterns};

use crate::http::answer::{AnswerWriter, compute, stream};
use crate::http::content::content_type;
use crate::http::parameters::Parameters;
use crate::http::refusal::{Answer, Refusal};
use crate::protocol::document::CancelCheck;
use crate::protocol::failures::written;
use crate::protocol::negotiation::{DATASETS, GRAPHS, Offer, negotiate};
use crate::protocol::sparql_request::{RequestLimits, limits};
use crate::rdf4j::binary::{self, Writer};
use crate::rdf4j::pattern::{StatementPattern, kinds};
use crate::rdf4j::repository::Repository;
use crate::rdf4j::upload::Format;
use crate::rdf4j::{failures, queries};

/// `GET` of statements.
pub async fn read(State(repository): State<Arc<Repository>>, Path(id): Path<String>, request: Request) -> Answer {
    repository.check_id(&id)?;
    let (parts, _) = request.into_parts();
    let parameters = Parameters::of_url(&parts.uri)?;
    let (pattern, kinds) = (StatementPattern::of(&parameters)?, kinds(&parameters)?);
    let bounds = RequestLimits::new(&repository.service.served.options, &parameters)?;
    let served = Arc::clone(&repository.service.served);
    stream(&repository.service.admission, move |token, out| {
        let watch = CancelCheck::begin(token, bounds);
        let snapshot = served.store.snapshot()?.of_kinds(kinds);
        write(&snapshot, &pattern, &parts.headers, &watch, out)
    })
    .await
}

/// `POST`: an update, or statements to add.
pub async fn add(State(repository): State<Arc<Repository>>, Path(id): Path<String>, request: Request) -> Answer {
    repository.check_id(&id)?;
    let (parts, body) = request.into_parts();
    let service = &repository.service;
    service.check_writable()?;
    let kind = content_type(&parts.headers)?;
    if kind == TRANSACTION {
        let message = "transactions as documents were replaced in version 7 of the protocol; use a newer client";
        return Err(Refusal::of(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let is_update = kind == UPDATE || kind == FORM || Parameters::of_url(&parts.uri)?.has("update");
    if !is_update {
        return change(&repository, &parts.uri, &parts.headers, body, false).await;
    }
    let text = queries::receive(service, &parts, body, "update", UPDATE).await?;
    let url = repository.url(&parts)?;
    let served = Arc::clone(&service.served);
    let done = compute(&service.admission, move |token| {
        let namespaces = served.store.snapshot()?.namespaces()?;
        let bounds = RequestLimits::new(&served.options, &text.parameters)?;
        let update = queries::update(&text, &served, &url, &namespaces)?.with_limits(limits(&served, bounds, token));
        update.execute(&served.store).map_err(failures::of_query)?;
        Ok(StatusCode::NO_CONTENT)
    });
    Ok(done.await?.into_response())
}

/// `PUT`: statements that replace those of their graphs.
pub async fn replace(State(repository): State<Arc<Repository>>, Path(id): Path<String>, request: Request) -> Answer {
    repository.check_id(&id)?;
    let (parts, body) = request.into_parts();
    repository.service.check_writable()?;
    change(&repository, &parts.uri, &parts.headers, body, true).await
}

async fn change(
    repository: &Repository,
    uri: &axum::http::Uri,
    headers: &HeaderMap,
    body: axum::body::Body,
    replaces: bool,
) -> Answer {
    let parameters = Parameters::of_url(uri)?;
    parameters.refuse_others(DOCUMENT)?;
    let bounds = RequestLimits::new(&repository.service.served.options, &parameters)?;
    let (mut document, _upload) = repository.document(headers, &parameters, body).await?;
    let served = Arc::clone(&repository.service.served);
    let done = compute(&repository.service.admission, move |token| {
        let watch = CancelCheck::begin(token, bounds);
        let changed = served.store.update(|transaction| {
            if replaces {
                let replaced = StatementPattern { graphs: document.upload.graphs.clone(), ..Default::default() };
                replaced.remove(transaction, &watch)?;
            }
            document.insert(transaction, &watch)?;
            watch.check()
        });
        changed.map_err(failures::of_document)?;
        Ok(StatusCode::NO_CONTENT)
    });
    Ok(done.await?.into_response())
}

/// `DELETE`: removes the statements of a pattern.
pub async fn remove(State(repository): State<Arc<Repository>>, Path(id): Path<String>, request: Request) -> Answer {
    repository.check_id(&id)?;
    repository.service.check_writable()?;
    let parameters = Parameters::of_url(request.uri())?;
    parameters.refuse_others(&["subj", "pred", "obj", "context", "infer", "timeout"])?;
    let pattern = StatementPattern::of(&parameters)?;
    let bounds = RequestLimits::new(&repository.service.served.options, &parameters)?;
    let served = Arc::clone(&repository.service.served);
    let done = compute(&repository.service.admission, move |token| {
        let watch = CancelCheck::begin(token, bounds);
        served.store.update(|transaction| {
            pattern.remove(transaction, &watch)?;
            watch.check()
        })?;
        Ok(StatusCode::NO_CONTENT)
    });
    Ok(done.await?.into_response())
}

/// Writes the statements of a pattern in the format that the client wants.
///
/// # Errors
/// 406 if it wants none that there is; as [`CancelCheck::check`]; errors of the store and of writing.
pub fn write(
    quads: &impl Quads,
    pattern: &StatementPattern,
    headers: &HeaderMap,
    watch: &CancelCheck,
    out: &mut AnswerWriter,
) -> Result<(), Refusal> {
    let offers: Vec<Offer<Format>> = std::iter::once((binary::MEDIA_TYPE, &[][..], Format::Binary))
        .chain(text_formats().map(|&(media_type, names, format)| (media_type, names, Format::Text(format))))
        .collect();
    let (media_type, format) = match binary::is_named(headers) {
        true => negotiate(headers, &offers)?,
        false => negotiate(headers, &offers[1..])?,
    };
    out.media_type(media_type);
    let patterns = pattern.ids(quads)?;
    match format {
        Format::Text(format) => written(dump_patterns(quads, &patterns, format, out, |_| watch.check())),
        Format::Binary => written(write_binary(quads, &patterns, watch, out)),
    }
}

/// Formats that keep the graphs come first.
fn text_formats() -> impl Iterator<Item = &'static Offer<RdfFormat>> {
    let is_dataset = |offer: &&Offer<RdfFormat>| DATASETS.iter().any(|dataset| dataset.0 == offer.0);
    DATASETS.iter().chain(GRAPHS.iter().filter(move |offer| !is_dataset(offer)))
}

fn write_binary(
    quads: &impl Quads,
    patterns: &[fulgurite_rdf::IdPattern],
    watch: &CancelCheck,
    out: &mut AnswerWriter,
) -> Result<u64, Error> {
    let failed = |source| Error::Output { source };
    let mut writer = Writer::new(out).map_err(failed)?;
    for (prefix, iri) in quads.namespaces()? {
        writer.namespace(&prefix, &iri).map_err(failed)?;
    }
    let mut statements = 0;
    for pattern in patterns {
        let mut ids = quads.quads(pattern);
        loop {
            let batch: Vec<_> = ids.by_ref().take(BATCH).collect::<Result<_, _>>()?;
            if batch.is_empty() {
                break;
            }
            // The default graph has no term.
            let wanted: Vec<TermId> = batch
                .iter()
                .flat_map(|quad| [quad.subject, quad.predicate, quad.object, quad.graph])
                .filter(|&id| id != TermId::DEFAULT_GRAPH)
                .collect();
            let mut terms = Vec::with_capacity(wanted.len());
            quads.terms(&wanted, &mut |term| terms.push(term.into_owned()))?;
            let mut rest: &[Term] = &terms;
            for quad in &batch {
                watch.check()?;
                let has_graph = quad.graph != TermId::DEFAULT_GRAPH;
                let (own, behind) = rest.split_at(3 + usize::from(has_graph));
                rest = behind;
                let graph = own.get(3).map(Term::as_ref);
                writer.statement([own[0].as_ref(), own[1].as_ref(), own[2].as_ref()], graph).map_err(failed)?;
                statements += 1;
            }
        }
    }
    writer.finish().map_err(failed)?;
    Ok(statements)
}

/// The parameters of requests with a document. `action` is for those of transactions.
pub const DOCUMENT: &[&str] = &["context", "baseURI", "preserveNodeId", "timeout", "action"];
/// Statements whose terms are read together.
const BATCH: usize = 256;
const FORM: &str = "application/x-www-form-urlencoded";
const UPDATE: &str = "application/sparql-update";
const TRANSACTION: &str = "application/x-rdftransaction";
