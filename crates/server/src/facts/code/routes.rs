//! The routes for indexes of code: each takes an object of JSON, and answers from an index.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::{MethodRouter, post};
use fulgurite_code::{CodeReader, ReadLimits};

use crate::facts::answer;
use crate::facts::code::answers;
use crate::facts::code::asked::Asked;
use crate::facts::fields::Fields;
use crate::facts::service::FactService;
use crate::http::answer::stream;
use crate::http::refusal::{Answer, Refusal};

/// Answers a request: the text of the answer, which is JSON.
type Verb = fn(&Asked<'_>, Fields) -> Result<String, Refusal>;

/// Each path, and what it does.
pub const PATHS: [(&str, Verb); 7] = [
    ("/code/symbols", answers::symbols),
    ("/code/describe", answers::describe),
    ("/code/definition", answers::definition),
    ("/code/references", answers::references),
    ("/code/search", answers::search),
    ("/code/hierarchy", answers::hierarchy),
    ("/code/diagnostics", answers::diagnostics),
];

/// The routes.
pub fn routes() -> Router<Arc<FactService>> {
    PATHS.into_iter().fold(Router::new(), |router, (path, verb)| router.route(path, of_verb(verb)))
}

fn of_verb(verb: Verb) -> MethodRouter<Arc<FactService>> {
    post(move |State(service): State<Arc<FactService>>, request: Request| browse(service, request, verb))
}

/// Answers with what `verb` finds in the index that a request is about.
async fn browse(service: Arc<FactService>, request: Request, verb: Verb) -> Answer {
    let (chosen, body, permit) = service.receive(request).await?;
    let shared = Arc::clone(&service);
    stream(&service.admission, move |cancellation, out| {
        let fields = Fields::of_body(&body)?;
        drop((body, permit));
        let options = &shared.options;
        let until = Instant::now().checked_add(options.timeout);
        let limits = ReadLimits { until, cancellation, memory_bytes_max: options.memory_bytes_max };
        let reader = CodeReader::within(&chosen.open()?, limits)?;
        let asked = Asked { reader: &reader, results_max: options.results_max, bytes_max: options.bytes_max };
        let text = verb(&asked, fields)?;
        // A client that reads slowly keeps the text, but not the index.
        drop(reader);
        answer::send(out, &[text.as_bytes()])
    })
    .await
}
