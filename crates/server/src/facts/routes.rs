//! The routes of a server of facts: a path for each method of Glean's service that reads, and for each verb that
//! browses code.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use fulgurite_facts::{Compiler, Error, FactDatabase, FactId, QueryLimits, Source};
use serde_json::{Value as Json, json};

use crate::facts::code::routes as of_code;
use crate::facts::printing::{Nesting, PrintLimits, Printing};
use crate::facts::receiving::sent;
use crate::facts::requests::{UserQuery, UserQueryBatch, UserQueryFacts, schema_of_body};
use crate::facts::service::FactService;
use crate::facts::{answer, databases, page};
use crate::http::answer::{compute, stream};
use crate::http::parameters::Parameters;
use crate::http::refusal::{Answer, Refusal, method_not_allowed};
use crate::listening::front::Front;
use crate::listening::request_log::surround;

type Shared = State<Arc<FactService>>;

/// The routes of a server.
pub fn router(service: Arc<FactService>, front: Arc<Front>) -> Router {
    let router = Router::new()
        .merge(page::routes())
        .merge(of_code::routes())
        .route("/listDatabases", get(list_databases))
        .route("/getDatabase", get(get_database))
        .route("/getSchemaInfo", get(schema_info))
        .route("/predicateStats", get(predicate_stats))
        .route("/factIdRange", get(fact_id_range))
        .route("/firstFreeId", get(first_free_id))
        .route("/queryFact", get(query_fact))
        .route("/userQuery", post(user_query))
        .route("/userQueryBatch", post(user_query_batch))
        .route("/userQueryFacts", post(user_query_facts))
        .route("/validateSchema", post(validate_schema));
    #[cfg(test)]
    let router = router.merge(crate::listening::planted::routes(&service.admission));
    router
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
        .layer(from_fn_with_state(front, surround))
        .with_state(service)
}

async fn not_found(uri: Uri) -> Refusal {
    let message = format!(
        "there is no {}; there are /userQuery, /userQueryBatch, /userQueryFacts, /queryFact, /listDatabases, \
         /getDatabase, /getSchemaInfo, /predicateStats, /factIdRange, /firstFreeId, /validateSchema, {} and / (a page \
         with a query editor)",
        uri.path(),
        of_code::PATHS.map(|(path, _)| path).join(", ")
    );
    Refusal::of(StatusCode::NOT_FOUND, message)
}

async fn list_databases(State(service): Shared) -> Answer {
    let shared = Arc::clone(&service);
    compute(&service.admission, move |_| {
        let all: Vec<Json> = shared.databases.iter().map(databases::described).collect();
        Ok(sent(&json!({ "databases": all })))
    })
    .await
}

async fn get_database(State(service): Shared, uri: Uri) -> Answer {
    let chosen = databases::chosen(&service.databases, &Parameters::of_url(&uri)?)?;
    compute(&service.admission, move |_| Ok(sent(&json!({ "database": chosen.described()? })))).await
}

async fn schema_info(State(service): Shared, uri: Uri) -> Answer {
    look(&service, &uri, |database| {
        let schema = database.schema();
        let texts: Vec<&str> = schema.sources().iter().map(|source| source.text().trim_end()).collect();
        let ids = schema.predicates().iter().map(|predicate| {
            let named = json!({ "name": predicate.name, "version": predicate.version });
            (predicate.id.get().to_string(), named)
        });
        Ok(json!({ "schema": texts.join("\n"), "predicateIds": Json::Object(ids.collect()) }))
    })
    .await
}

async fn predicate_stats(State(service): Shared, uri: Uri) -> Answer {
    look(&service, &uri, |database| {
        let all = database.store().snapshot()?.statistics()?;
        let all = all.into_iter().map(|(predicate, statistics)| {
            (predicate.get().to_string(), json!({ "count": statistics.count, "size": statistics.bytes }))
        });
        Ok(Json::Object(all.collect()))
    })
    .await
}

async fn fact_id_range(State(service): Shared, uri: Uri) -> Answer {
    look(&service, &uri, |database| {
        let snapshot = database.store().snapshot()?;
        Ok(json!({ "start": snapshot.starting_id().get(), "finish": snapshot.first_free_id().get() }))
    })
    .await
}

async fn first_free_id(State(service): Shared, uri: Uri) -> Answer {
    look(&service, &uri, |database| Ok(json!(database.store().snapshot()?.first_free_id().get()))).await
}

async fn query_fact(State(service): Shared, uri: Uri) -> Answer {
    let parameters = Parameters::of_url(&uri)?;
    let chosen = databases::chosen(&service.databases, &parameters)?;
    let id = parameters.at_most_one("id")?.and_then(|id| id.parse().ok()).and_then(FactId::new);
    let id = id.ok_or_else(|| Refusal::bad_request("the parameter id must be the id of a fact, such as id=1024"))?;
    let nesting = if parameters.flag("recursive")? == Some(true) { Nesting::InPlace } else { Nesting::Ids };
    let (timeout, bytes_max) = (service.options.timeout, service.options.bytes_max);
    stream(&service.admission, move |cancellation, out| {
        let database = chosen.open()?;
        let reader = database.reader()?;
        let absent = || Refusal::of(StatusCode::NOT_FOUND, format!("there is no fact {id}"));
        let predicate = reader.snapshot().predicate_by_id(id)?.ok_or_else(absent)?;
        let until = PrintLimits::until(timeout);
        let limits = PrintLimits { cancellation, until, bytes_max, result_bytes_max: bytes_max };
        let mut printing = Printing::new(database.schema(), &reader, &limits);
        printing.fact(id, nesting)?;
        let printed = printing.printed();
        let members = printed.text.strip_prefix(b"{").ok_or_else(absent)?;
        drop((reader, database));
        answer::send(out, &[format!("{{\"type\":{},", predicate.get()).as_bytes(), members])
    })
    .await
}

async fn user_query(State(service): Shared, request: Request) -> Answer {
    let (chosen, body, permit) = service.receive(request).await?;
    let shared = Arc::clone(&service);
    stream(&service.admission, move |token, out| {
        let query = UserQuery::of_body(&body)?;
        drop((body, permit));
        answer::query(chosen.open()?, &query, &shared.options, token, out)
    })
    .await
}

async fn user_query_batch(State(service): Shared, request: Request) -> Answer {
    let (chosen, body, permit) = service.receive(request).await?;
    let shared = Arc::clone(&service);
    stream(&service.admission, move |token, out| {
        let batch = UserQueryBatch::of_body(&body)?;
        drop((body, permit));
        answer::batch(chosen.open()?, &batch, &shared.options, &token, out)
    })
    .await
}

async fn user_query_facts(State(service): Shared, request: Request) -> Answer {
    let (chosen, body, permit) = service.receive(request).await?;
    let shared = Arc::clone(&service);
    stream(&service.admission, move |token, out| {
        let query = UserQueryFacts::of_body(&body)?;
        drop((body, permit));
        answer::facts(chosen.open()?, &query, &shared.options, token, out)
    })
    .await
}

async fn validate_schema(State(service): Shared, request: Request) -> Answer {
    let (body, permit) = service.receive_body(request.headers().clone(), request.into_body()).await?;
    let timeout = service.options.timeout;
    compute(&service.admission, move |cancellation| {
        let text = schema_of_body(&body)?;
        drop((body, permit));
        let source = Source::new("schema", &text).map_err(Error::from)?;
        let limits = QueryLimits { time_max: Some(timeout), cancellation, ..QueryLimits::default() };
        Compiler::from_sources_within(&[source], &limits)?;
        Ok(sent(&json!({})))
    })
    .await
}

/// Answers with what `work` finds in the database that a URL names.
async fn look(
    service: &Arc<FactService>,
    uri: &Uri,
    work: impl FnOnce(&FactDatabase) -> Result<Json, Refusal> + Send + 'static,
) -> Answer {
    let chosen = databases::chosen(&service.databases, &Parameters::of_url(uri)?)?;
    compute(&service.admission, move |_| Ok(sent(&work(&chosen.open()?)?))).await
}
