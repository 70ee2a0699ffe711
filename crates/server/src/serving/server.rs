//! [`Server`]: listening, serving, and shutting down in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fulgurite_rdf::oxrdf::NamedNode;
use fulgurite_rdf::{MeteringAllocator, Store};
use tokio::time::sleep;

use crate::error::{Error, Result};
use crate::http::admission::Admission;
use crate::listening::bound::{Bound, ServerHandle, end};
use crate::listening::connection;
use crate::options::ServerOptions;
use crate::protocol::paths;
use crate::protocol::service::{ServedStore, Service};
use crate::rdf4j::repository::{Repository, is_of_ids};
use crate::rdf4j::transactions::registry::Registry;
use crate::serving::routes::router;

/// A server that listens on an address. [`Server::run`] serves requests.
pub struct Server {
    bound: Bound,
    repository: Arc<Repository>,
}

impl Server {
    /// Listens on `address`, such as `127.0.0.1:7878`. Port 0 is any free port. Connections wait until
    /// [`Server::run`].
    ///
    /// # Errors
    /// [`Error::Bind`]; [`Error::System`]; [`Error::Invalid`] if an option has an invalid value.
    pub fn bind(store: &Store, address: &str, options: ServerOptions) -> Result<Self> {
        check(&options)?;
        let admission = Admission::new(options.settings.queries_max, options.settings.wait);
        let base = options.base.as_deref();
        let bound = Bound::bind(address, options.settings.clone(), &admission, base, paths::is_of_store)?;
        let served = Arc::new(ServedStore { store: store.clone(), options });
        let service = Arc::new(Service { served, admission: Arc::new(admission) });
        Ok(Self { bound, repository: Arc::new(Repository::new(service)) })
    }

    /// The address on which it listens, with its actual port.
    pub fn address(&self) -> SocketAddr {
        self.bound.address
    }

    /// The URL of the store as a repository of RDF4J's protocol, below the URL of the server.
    pub fn repository_path(&self) -> String {
        format!("repositories/{}", self.repository.id)
    }

    /// A handle that shuts the server down.
    pub fn handle(&self) -> ServerHandle {
        self.bound.handle()
    }

    /// Serves requests until the server is shut down. A shutdown accepts no more connections, gives running requests
    /// the time of [`ServerOptions::grace`], and then cancels them. The store stays open: the caller closes it.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn run(self) -> Result<()> {
        let Self { bound: Bound { listener, runtime, stop, front, .. }, repository } = self;
        let served = runtime.block_on(async {
            let transactions = Arc::clone(&repository.transactions);
            tokio::spawn(end_idle_transactions(Arc::clone(&transactions)));
            let admission = Arc::clone(&repository.service.admission);
            let router = router(repository, Arc::clone(&front));
            connection::serve(listener, router, front, admission, stop).await?;
            let _ = tokio::task::spawn_blocking(move || drop(transactions.take_all())).await;
            Ok(())
        });
        end(runtime);
        served
    }
}

/// Rolls transactions back for which no request comes.
async fn end_idle_transactions(transactions: Arc<Registry>) {
    loop {
        sleep(IDLE_CHECK).await;
        let idle = transactions.take_idle();
        if !idle.is_empty() {
            let _ = tokio::task::spawn_blocking(move || drop(idle)).await;
        }
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
    Ok(())
}

fn is_http(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// How often idle transactions are looked for.
const IDLE_CHECK: Duration = Duration::from_millis(500);
