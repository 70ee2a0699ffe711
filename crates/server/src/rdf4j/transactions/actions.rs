//! The requests that begin, use and end transactions.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fulgurite_rdf::{IsolationLevel, Quads};

use crate::http::answer::{compute, stream};
use crate::http::content::content_type;
use crate::http::parameters::{Parameters, SETTING};
use crate::http::refusal::{Answer, Refusal};
use crate::protocol::document::CancelCheck;
use crate::protocol::sparql_request::RequestLimits;
use crate::rdf4j::answer::QueryRequest;
use crate::rdf4j::pattern::{StatementPattern, kinds};
use crate::rdf4j::queries;
use crate::rdf4j::repository::{Repository, text};
use crate::rdf4j::statements;
use crate::rdf4j::transactions::open::{Change, OpenTransaction, Reads};
use crate::rdf4j::transactions::registry::InUse;

/// `POST` to the transactions: begins one. 201 and its URL in `Location`.
pub async fn begin(State(repository): State<Arc<Repository>>, Path(id): Path<String>, request: Request) -> Answer {
    repository.check_id(&id)?;
    let (parts, body) = request.into_parts();
    let mut parameters = Parameters::of_url(&parts.uri)?;
    if content_type(&parts.headers)? == "application/x-www-form-urlencoded" {
        parameters = parameters.and(repository.service.form(body).await?.0);
    }
    let level = level(&parameters)?;
    let (served, transactions) = (Arc::clone(&repository.service.served), Arc::clone(&repository.transactions));
    let name =
        compute(&repository.service.admission, move |_| transactions.add(OpenTransaction::begin(served, level)?));
    let location = format!("{}/transactions/{}", repository.url(&parts)?, name.await?);
    let location = HeaderValue::from_str(&location)
        .map_err(|_| Refusal::bad_request("the URL of the transaction is not ASCII; start the server with --base"))?;
    let mut response = StatusCode::CREATED.into_response();
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}

/// The isolation level of a new transaction. Other settings of RDF4J (validation, bulk insertion) have no effect here.
fn level(parameters: &Parameters) -> Result<IsolationLevel, Refusal> {
    let of_settings = parameters.with_prefix(SETTING).find(|(name, _)| name.ends_with("IsolationLevel"));
    let name = of_settings.map(|(_, value)| value).or(parameters.at_most_one("isolation-level")?);
    let Some(name) = name else { return Ok(IsolationLevel::SnapshotRead) };
    // An IRI, or a name.
    let name = name.rsplit(['#', '/']).next().unwrap_or(name);
    IsolationLevel::parse(name).ok_or_else(|| {
        let names: Vec<&str> = IsolationLevel::ALL.iter().map(|level| level.name()).collect();
        Refusal::bad_request(format!("{name} is not an isolation level; there are {}", names.join(", ")))
    })
}

/// `PUT`, `POST` and `DELETE` of a transaction. The parameter `action` or the path says what is to be done.
pub async fn act(
    State(repository): State<Arc<Repository>>,
    Path((id, transaction)): Path<(String, String)>,
    request: Request,
) -> Answer {
    let action = Parameters::of_url(request.uri())?.at_most_one("action")?.map(str::to_owned);
    let (method, action) = (request.method().clone(), action.unwrap_or_else(|| "ROLLBACK".to_owned()));
    if method == Method::DELETE {
        return act_by(repository, &id, &transaction, "ROLLBACK", request).await;
    }
    act_by(repository, &id, &transaction, &action, request).await
}

/// As [`act`], with the action in the path, as version 14 of the protocol has it.
pub async fn act_by_path(
    State(repository): State<Arc<Repository>>,
    Path((id, transaction, action)): Path<(String, String, String)>,
    request: Request,
) -> Answer {
    act_by(repository, &id, &transaction, &action, request).await
}

async fn act_by(repository: Arc<Repository>, id: &str, transaction: &str, action: &str, request: Request) -> Answer {
    repository.check_id(id)?;
    let in_use = repository.transactions.begin_use(transaction)?;
    let (parts, body) = request.into_parts();
    let parameters = Parameters::of_url(&parts.uri)?;
    match action.to_ascii_uppercase().as_str() {
        "PING" => Ok(text(repository.transactions.idle().as_millis().to_string())),
        "ADD" | "DELETE" => {
            parameters.refuse_others(statements::DOCUMENT)?;
            let (document, _upload) = repository.document(&parts.headers, &parameters, body).await?;
            let is_insert = action.eq_ignore_ascii_case("ADD");
            let change = if is_insert { Change::Insert(document) } else { Change::Remove(document) };
            let bounds = RequestLimits::new(&repository.service.served.options, &parameters)?;
            compute(&repository.service.admission, move |token| {
                let watch = CancelCheck::begin(token, bounds);
                // The statements to remove are found by a read.
                let mut transaction = if is_insert { in_use.lock() } else { in_use.lock_to_read(&watch)? };
                transaction.change(change, &watch)
            })
            .await?;
            Ok(StatusCode::OK.into_response())
        }
        "UPDATE" => update(&repository, in_use, parts, body).await,
        "QUERY" => query(&repository, in_use, parts, body).await,
        "GET" | "EXPORT" => statements(&repository, in_use, parts, &parameters).await,
        "SIZE" => size(&repository, in_use, &parameters).await,
        "PREPARE" => compute(&repository.service.admission, move |_| in_use.lock().prepare())
            .await
            .map(IntoResponse::into_response),
        "COMMIT" => {
            let bounds = RequestLimits::new(&repository.service.served.options, &parameters)?;
            compute(&repository.service.admission, move |token| {
                in_use.lock().commit(&CancelCheck::begin(token, bounds))?;
                // After a failed commit the client rolls it back.
                in_use.remove();
                Ok(())
            })
            .await?;
            Ok(StatusCode::OK.into_response())
        }
        "ROLLBACK" => {
            in_use.remove();
            compute(&repository.service.admission, move |_| {
                drop(in_use);
                Ok(())
            })
            .await?;
            Ok(StatusCode::NO_CONTENT.into_response())
        }
        other => Err(Refusal::bad_request(format!(
            "{other} is not an action of a transaction; there are ADD, DELETE, GET, SIZE, QUERY, UPDATE, PING, PREPARE, COMMIT and ROLLBACK"
        ))),
    }
}

async fn update(repository: &Repository, in_use: InUse, parts: Parts, body: Body) -> Answer {
    let service = &repository.service;
    let text = queries::receive(service, &parts, body, "update", "application/sparql-update").await?;
    let url = repository.url(&parts)?;
    let served = Arc::clone(&service.served);
    compute(&service.admission, move |token| {
        let bounds = RequestLimits::new(&served.options, &text.parameters)?;
        let watch = CancelCheck::begin(token, bounds);
        let mut transaction = in_use.lock_to_read(&watch)?;
        let namespaces = match transaction.reads()? {
            Reads::Snapshot(_) => return Err(Refusal::read_only()),
            Reads::Transaction(view) => view.namespaces()?,
        };
        let update = queries::update(&text, &served, &url, &namespaces)?;
        transaction.update(update, &watch)
    })
    .await?;
    Ok(StatusCode::OK.into_response())
}

/// What a request reads of a transaction. `observe` notes it.
fn reads(in_use: &InUse, watch: &CancelCheck, observe: impl FnOnce(&mut OpenTransaction)) -> Result<Reads, Refusal> {
    let mut transaction = in_use.lock_to_read(watch)?;
    observe(&mut transaction);
    transaction.reads()
}

async fn query(repository: &Repository, in_use: InUse, parts: Parts, body: Body) -> Answer {
    let service = &repository.service;
    let text = queries::receive(service, &parts, body, "query", "application/sparql-query").await?;
    let url = repository.url(&parts)?;
    let served = Arc::clone(&service.served);
    stream(&service.admission, move |token, out| {
        let kinds = kinds(&text.parameters)?;
        let watch = CancelCheck::begin(token.clone(), RequestLimits::new(&served.options, &text.parameters)?);
        let reads = reads(&in_use, &watch, OpenTransaction::observe_query)?;
        let request = QueryRequest { text: &text, served: &served, url: &url, parts: &parts };
        match reads {
            Reads::Snapshot(snapshot) => request.answer(&snapshot.of_kinds(kinds), token, out),
            Reads::Transaction(view) => request.answer(&view.of_kinds(kinds), token, out),
        }
    })
    .await
}

async fn statements(repository: &Repository, in_use: InUse, parts: Parts, parameters: &Parameters) -> Answer {
    let (pattern, kinds) = (StatementPattern::of(parameters)?, kinds(parameters)?);
    let bounds = RequestLimits::new(&repository.service.served.options, parameters)?;
    stream(&repository.service.admission, move |token, out| {
        let watch = CancelCheck::begin(token, bounds);
        let reads = reads(&in_use, &watch, |transaction| transaction.observe(&pattern, kinds))?;
        match reads {
            Reads::Snapshot(snapshot) => {
                statements::write(&snapshot.of_kinds(kinds), &pattern, &parts.headers, &watch, out)
            }
            Reads::Transaction(view) => statements::write(&view.of_kinds(kinds), &pattern, &parts.headers, &watch, out),
        }
    })
    .await
}

async fn size(repository: &Repository, in_use: InUse, parameters: &Parameters) -> Result<Response, Refusal> {
    let pattern = StatementPattern { graphs: crate::rdf4j::pattern::graphs(parameters)?, ..Default::default() };
    let bounds = RequestLimits::new(&repository.service.served.options, parameters)?;
    let count = compute(&repository.service.admission, move |token| {
        let explicit = fulgurite_rdf::StatementKinds::Explicit;
        let watch = CancelCheck::begin(token, bounds);
        let reads = reads(&in_use, &watch, |transaction| transaction.observe(&pattern, explicit))?;
        Ok(match reads {
            Reads::Snapshot(snapshot) => pattern.count(&snapshot.of_kinds(explicit))?,
            Reads::Transaction(view) => pattern.count(&view.of_kinds(explicit))?,
        })
    });
    Ok(text(count.await?.to_string()))
}
