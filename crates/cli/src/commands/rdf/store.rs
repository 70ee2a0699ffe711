//! What the verbs of `rdf` have in common: opening and closing stores, and reading SPARQL texts.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use fulgurite::Options;
use fulgurite_rdf::sparql::ServiceHandler;
use fulgurite_rdf::{Quads, Snapshot, Store, StoreOptions};
use fulgurite_server::ServiceClient;

use crate::arguments::WriteArguments;
use crate::arguments::rdf::{Services, Text};
use crate::database::{close_created, explain, explain_writing, to_read, to_write};
use crate::failure::Failure;

/// Opens a store for reading, calls `work` with a snapshot of it, and closes it.
///
/// # Errors
/// If it cannot be opened; the errors of `work`.
pub fn reading(path: &Path, work: impl FnOnce(&Store, &Snapshot) -> Result<(), Failure>) -> Result<(), Failure> {
    reading_as(to_read(false), path, work)
}

/// As [`reading`], with options.
///
/// # Errors
/// As [`reading`].
pub fn reading_as(
    options: Options,
    path: &Path,
    work: impl FnOnce(&Store, &Snapshot) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let store = Store::open_with(options, path, StoreOptions::new());
    let store = store.map_err(|error| explain_store(error, |error| explain(error, false)))?;
    let snapshot = store.snapshot()?;
    let outcome = work(&store, &snapshot);
    drop(snapshot);
    // Nothing was changed, so an error of closing loses nothing.
    let _ = store.close();
    outcome
}

/// Opens a store for writing, calls `work` with it, and closes it. `create` is the verb's option, if it has one. If
/// there is no store and it is set, the store is created, and removed again if `work` fails.
///
/// # Errors
/// If it cannot be opened or closed; the errors of `work`.
pub fn changing<T>(
    path: &Path,
    create: Option<bool>,
    writing: WriteArguments,
    work: impl FnOnce(&Store) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (may_create, create) = (create.is_some(), create.unwrap_or(false));
    let fresh = create && !path.exists();
    let options = to_write(writing).create(create);
    let store = Store::open_with(options, path, StoreOptions::new());
    let store = store.map_err(|error| explain_store(error, |error| explain_writing(error, may_create, writing)))?;
    let outcome = work(&store);
    let is_useless = fresh && outcome.is_err() && is_empty(&store);
    let db = store.database().clone();
    drop(store);
    let closed = close_created(db, is_useless);
    let value = outcome?;
    closed?;
    Ok(value)
}

fn is_empty(store: &Store) -> bool {
    store.snapshot().and_then(|snapshot| snapshot.count(&fulgurite_rdf::IdPattern::ALL)).is_ok_and(|quads| quads == 0)
}

/// Adds to an error what a user of the command line can do; `explain` does so for those of the engine.
fn explain_store(error: fulgurite_rdf::Error, explain: impl FnOnce(fulgurite::Error) -> Failure) -> Failure {
    match error {
        fulgurite_rdf::Error::Engine(error) => explain(error),
        error => error.into(),
    }
}

/// The client for other endpoints. `None` if none is allowed.
///
/// # Errors
/// If a URL is not valid, or the file of certificates.
pub fn services(arguments: &Services) -> Result<Option<Arc<dyn ServiceHandler>>, Failure> {
    if arguments.service.is_empty() {
        return Ok(None);
    }
    let mut client =
        ServiceClient::new(&arguments.service).map_err(|error| Failure::Message(format!("--service {error}")))?;
    if let Some(path) = &arguments.service_ca {
        let pem = std::fs::read(path).map_err(|error| Failure::file(path, "cannot be read", &error))?;
        let refused = |error| Failure::Message(format!("--service-ca {}: {error}", path.display()));
        client = client.certificate_authorities(&pem).map_err(refused)?;
    }
    let client = client.timeout(arguments.service_timeout).body_bytes_max((arguments.service_max as usize) << 20);
    Ok(Some(Arc::new(client)))
}

/// The SPARQL text of the arguments.
///
/// # Errors
/// If its file cannot be read.
pub fn sparql(text: &Text) -> Result<String, Failure> {
    match (&text.text, &text.file) {
        (Some(text), _) => Ok(text.clone()),
        (None, Some(path)) if path == Path::new("-") => {
            let mut text = String::new();
            let failed = |error| Failure::file(Path::new("standard input"), "cannot be read", &error);
            std::io::stdin().lock().read_to_string(&mut text).map_err(failed)?;
            Ok(text)
        }
        (None, Some(path)) => {
            std::fs::read_to_string(path).map_err(|error| Failure::file(path, "cannot be read", &error))
        }
        (None, None) => Err(Failure::Message("no SPARQL text; give one, or --file".into())),
    }
}
