//! [`Server`]: listening, serving, and shutting down in order.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use fulgurite_rdf::oxrdf::NamedNode;
use fulgurite_rdf::{MeteringAllocator, Store};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::error::{Error, Result};
use crate::http::admission::Admission;
use crate::http::guard::Guard;
use crate::http::panics;
use crate::options::ServerOptions;
use crate::protocol::service::{ServedStore, Service};
use crate::rdf4j::repository::{Repository, is_of_ids};
use crate::serving::connection;

/// A server that listens on an address. [`Server::run`] serves requests.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    runtime: Runtime,
    repository: Arc<Repository>,
    stop: watch::Sender<bool>,
}

/// Shuts a server down, from any thread. Clones are handles of the same server.
#[derive(Clone, Debug)]
pub struct ServerHandle {
    stop: watch::Sender<bool>,
}

impl Server {
    /// Listens on `address`, such as `127.0.0.1:7878`. Port 0 is any free port. Connections wait until
    /// [`Server::run`].
    ///
    /// # Errors
    /// [`Error::Bind`]; [`Error::System`]; [`Error::Invalid`] if an option has an invalid value.
    pub fn bind(store: &Store, address: &str, options: ServerOptions) -> Result<Self> {
        check(&options)?;
        panics::note_places();
        let failed = |source| Error::Bind { address: address.to_owned(), source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let admission = Admission::new(options.queries_max, options.wait);
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("http")
            .thread_stack_size(STACK_BYTES)
            .max_blocking_threads(admission.permits_max() + BLOCKING_SPARE)
            .enable_io()
            .enable_time()
            .build()
            .map_err(|source| Error::System { what: "threads", source })?;
        let cors_origin = options.cors_origin.as_deref().map(HeaderValue::from_str).transpose();
        let cors_origin = cors_origin.map_err(|_| Error::Invalid {
            message: "the allowed origin has characters that a header cannot have".into(),
        })?;
        let guard = Guard::new(bound, options.base.as_deref(), cors_origin)
            .host_names(&options.host_names)
            .host_names(name_bound_to(address));
        let served = Arc::new(ServedStore { store: store.clone(), options });
        let service = Arc::new(Service { served, admission: Arc::new(admission), guard });
        let repository = Arc::new(Repository::new(service));
        Ok(Self { listener, address: bound, runtime, repository, stop: watch::channel(false).0 })
    }

    /// The address on which it listens, with its actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the store as a repository of RDF4J's protocol, below the URL of the server.
    pub fn repository_path(&self) -> String {
        format!("repositories/{}", self.repository.id)
    }

    /// A handle that shuts the server down.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle { stop: self.stop.clone() }
    }

    /// Serves requests until the server is shut down. A shutdown accepts no more connections, gives running requests
    /// the time of [`ServerOptions::grace`], and then cancels them. The store stays open: the caller closes it.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn run(self) -> Result<()> {
        let Self { listener, runtime, repository, stop, .. } = self;
        let served = runtime.block_on(connection::serve(listener, repository, stop));
        // Threads that do not check their cancellation token in time are abandoned.
        runtime.shutdown_timeout(LEFT_BEHIND);
        served
    }
}

impl ServerHandle {
    /// Starts the shutdown, and returns at once.
    pub fn shut_down(&self) {
        self.stop.send_replace(true);
    }
}

fn check(options: &ServerOptions) -> Result<()> {
    if options.memory_bytes_max.is_some() && !MeteringAllocator::is_installed() {
        let message = "memory_bytes_max needs a program whose allocator is fulgurite_rdf::MeteringAllocator; install it, or leave out the limit";
        return Err(Error::Invalid { message: message.to_owned() });
    }
    if let Some(base) = &options.base
        && (NamedNode::new(base).is_err() || !base.ends_with('/') || !is_http(base))
    {
        let message = format!("{base}: not a base; give an absolute http or https URL that ends with a slash");
        return Err(Error::Invalid { message });
    }
    if let Some(id) = &options.repository
        && (id.is_empty() || !id.chars().all(is_of_ids))
    {
        let message = format!("{id}: not a name of a repository; use letters, digits, -, _ and .");
        return Err(Error::Invalid { message });
    }
    let is_of_names = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%[]".contains(&byte);
    if let Some(name) =
        options.host_names.iter().find(|name| *name != "*" && (name.is_empty() || !name.bytes().all(is_of_names)))
    {
        let message =
            format!("{name}: not a host name; give it without scheme and port, as data.example.org, or * for any");
        return Err(Error::Invalid { message });
    }
    match options.cors_origin.as_deref() {
        None | Some("*") => Ok(()),
        Some(origin) if origin.split_once("://").is_some_and(|(_, host)| !host.is_empty() && !host.contains('/')) => {
            Ok(())
        }
        Some(origin) => {
            let message = format!("{origin}: not an origin; give scheme, host and port alone, as https://example.org");
            Err(Error::Invalid { message })
        }
    }
}

/// The host name of an address, without the port. `None` if it is an IP address.
fn name_bound_to(address: &str) -> Option<&str> {
    let (name, _) = address.rsplit_once(':')?;
    (!name.is_empty() && name.parse::<std::net::Ipv4Addr>().is_err() && !name.starts_with('[')).then_some(name)
}

fn is_http(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// Threads that serve connections. They only forward bytes.
const WORKERS: usize = 2;
/// Enough for most queries: very deep ones get threads of their own.
const STACK_BYTES: usize = 4 << 20;
const BLOCKING_SPARE: usize = 4;
const LEFT_BEHIND: Duration = Duration::from_secs(2);
