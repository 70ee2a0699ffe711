//! `rdf serve`: serves a store over HTTP until it is interrupted.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use fulgurite_rdf::Store;
use fulgurite_server::{Server, ServerOptions};

use super::store::{changing, reading, services};
use crate::arguments::WriteArguments;
use crate::arguments::rdf::Serve;
use crate::commands::serving::{warn_if_open, with_serving};
use crate::failure::Failure;
use crate::notation::printable;

/// Serves.
pub fn run(arguments: &Serve) -> Result<(), Failure> {
    let path = &arguments.store.path;
    match arguments.read_write {
        true => {
            let Serve { keep_log, checkpoint, .. } = *arguments;
            let mut writing = WriteArguments { keep_log, checkpoint, ..WriteArguments::default() };
            // The option --wait of this verb is for requests.
            writing.wait.wait = Some(Duration::ZERO);
            changing(path, Some(arguments.create), writing, |store| serve(store, arguments))
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
    let options = ServerOptions::new()
        .writable(arguments.read_write)
        .union_default_graph(arguments.union)
        .timeout(Some(arguments.timeout))
        .rows_max(arguments.rows_max)
        .memory_bytes_max(Some(u64::from(arguments.memory_max) << 20))
        .computed_bytes_max(Some(u64::from(arguments.computed_max) << 20))
        .body_bytes_max((arguments.body_max as usize) << 20)
        .base(arguments.base.clone())
        .repository(arguments.repository.clone())
        .transactions_max(arguments.transactions.into())
        .transaction_idle(arguments.transaction_idle)
        .service(services(&arguments.services)?);
    Ok(with_serving!(options, arguments.serving))
}

fn announce(server: &Server, arguments: &Serve, path: &Path) {
    let address = server.address();
    let url = arguments.base.clone().unwrap_or_else(|| format!("http://{}/", reached_at(address)));
    let mode = if arguments.read_write { "read-write" } else { "read-only" };
    let mut out = std::io::stderr().lock();
    let _ = writeln!(out, "serving {} at {url} ({mode}); Ctrl-C stops it", printable(&path.display().to_string()));
    warn_if_open(&mut out, address, if arguments.read_write { "read and change" } else { "read" });
    let _ = writeln!(
        out,
        "try: curl {url}sparql --data-urlencode 'query=SELECT * {{ ?s ?p ?o }} LIMIT 9' -H 'Accept: text/csv'"
    );
    let _ = writeln!(out, "for RDF4J: the server {url}, the repository {url}{}", server.repository_path());
    if arguments.base.is_none() && address.ip().is_unspecified() {
        let _ = writeln!(
            out,
            "from other machines, use the address of this machine in the URL; --base sets the URL that is printed"
        );
    }
}

/// The address at which this machine reaches a server. A server that is bound to all addresses is reached at the
/// loopback address.
fn reached_at(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_server_that_is_bound_to_all_addresses_is_one_to_connect_to() {
        for (bound, reached) in
            [("0.0.0.0:7878", "127.0.0.1:7878"), ("[::]:7878", "[::1]:7878"), ("192.0.2.1:80", "192.0.2.1:80")]
        {
            assert_eq!(reached_at(bound.parse().unwrap()).to_string(), reached);
        }
    }
}
