//! `rdf serve`: serves a store over HTTP until it is interrupted.

use std::io::Write;
use std::path::Path;

use fulgurite_rdf::Store;
use fulgurite_server::{Event, Server, ServerOptions};

use super::store::{changing, reading, services};
use crate::arguments::WriteArguments;
use crate::arguments::rdf::Serve;
use crate::failure::Failure;
use crate::notation::printable;
use crate::output::size;
use crate::progress::time;

/// Serves.
pub fn run(arguments: &Serve) -> Result<(), Failure> {
    let path = &arguments.store.path;
    match arguments.read_write {
        true => {
            let writing = WriteArguments { keep_log: arguments.keep_log, ..WriteArguments::default() };
            changing(path, arguments.create, writing, |store| serve(store, arguments))
        }
        false => reading(path, |store, _| serve(store, arguments)),
    }
}

fn serve(store: &Store, arguments: &Serve) -> Result<(), Failure> {
    let failed = |error: fulgurite_server::Error| Failure::Message(error.to_string());
    let server = Server::bind(store, &arguments.bind, options(arguments)?).map_err(failed)?;
    announce(&server, arguments, &arguments.store.path);
    server.run().map_err(failed)?;
    let _ = writeln!(std::io::stderr(), "stopped");
    Ok(())
}

fn options(arguments: &Serve) -> Result<ServerOptions, Failure> {
    let verbose = arguments.verbose;
    let mut options = ServerOptions::new()
        .writable(arguments.read_write)
        .stop_on_signals(true)
        .union_default_graph(arguments.union)
        .timeout(Some(arguments.timeout))
        .rows_max(arguments.rows_max)
        .memory_bytes_max(Some(u64::from(arguments.memory_max) << 20))
        .computed_bytes_max(Some(u64::from(arguments.computed_max) << 20))
        .body_bytes_max((arguments.body_max as usize) << 20)
        .body_time(arguments.body_time)
        .wait(arguments.wait)
        .base(arguments.base.clone())
        .host_names(arguments.host_name.clone())
        .cors_origin(arguments.cors.clone())
        .repository(arguments.repository.clone())
        .transactions_max(arguments.transactions.into())
        .transaction_idle(arguments.transaction_idle)
        .service(services(&arguments.services)?)
        .on_event(move |event| tell(event, verbose));
    if let Some(queries) = arguments.queries {
        options = options.queries_max(queries.into());
    }
    Ok(options)
}

/// One line on standard error. Without standard error it goes on.
fn tell(event: Event<'_>, verbose: bool) {
    let line = match event {
        Event::Answered { method, path, status, bytes, is_whole, elapsed } if verbose => {
            let cut = if is_whole { "" } else { ", cut off" };
            format!("{status} {method} {path} {} in {}{cut}", size(bytes), time(elapsed))
        }
        Event::Failed { message } => format!("failed: {message}"),
        _ => return,
    };
    let _ = writeln!(std::io::stderr(), "{}", printable(&line));
}

fn announce(server: &Server, arguments: &Serve, path: &Path) {
    let address = server.address();
    let url = arguments.base.clone().unwrap_or_else(|| format!("http://{address}/"));
    let mode = if arguments.read_write { "read-write" } else { "read-only" };
    let mut out = std::io::stderr().lock();
    let _ = writeln!(out, "serving {} at {url} ({mode}); Ctrl-C stops it", printable(&path.display().to_string()));
    if !address.ip().is_loopback() {
        let may = if arguments.read_write { "read and change" } else { "read" };
        let _ = writeln!(
            out,
            "warning: everyone who can connect to {address} may {may} everything: there are no passwords; put a proxy with authentication in front"
        );
    }
    let _ = writeln!(
        out,
        "try: curl {url}sparql --data-urlencode 'query=SELECT * {{ ?s ?p ?o }} LIMIT 9' -H 'Accept: text/csv'"
    );
    let _ = writeln!(out, "for RDF4J: the server {url}, the repository {url}{}", server.repository_path());
}
