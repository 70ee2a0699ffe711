//! [`FactServer`]: listening, serving, and shutting down in order.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::facts::options::FactServerOptions;
use crate::facts::page;
use crate::facts::routes::router;
use crate::facts::service::{FactService, ServedFacts};
use crate::http::admission::Admission;
use crate::listening::bound::{Bound, ServerHandle, end};
use crate::listening::connection;

/// A server for databases of facts. It listens on an address; [`FactServer::run`] serves requests.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("code.ful");
/// use fulgurite_facts::{FactDatabase, Schema};
/// use fulgurite_server::{FactServer, FactServerOptions, ServedFacts};
///
/// let schema = Schema::parse("src.angle", "schema src.1 { predicate File : string }")?;
/// let database = FactDatabase::create(&path, schema)?;
/// let served = vec![ServedFacts::new("code", database.clone())];
/// let server = FactServer::bind(served, "127.0.0.1:0", FactServerOptions::new())?;
/// let handle = server.handle();
/// println!("http://{}/", server.address());
/// # handle.shut_down();
/// // Serves until another thread calls `handle.shut_down()`.
/// server.run()?;
/// database.close()?;
/// # Ok(())
/// # }
/// ```
pub struct FactServer {
    bound: Bound,
    service: Arc<FactService>,
}

impl FactServer {
    /// Listens on `address`, such as `127.0.0.1:7879`. Port 0 is any free port. Connections wait until
    /// [`FactServer::run`].
    ///
    /// # Errors
    /// [`Error::Bind`]; [`Error::System`]; [`Error::Invalid`], if an option has an invalid value, there is no database,
    /// or two have the same name.
    pub fn bind(databases: Vec<ServedFacts>, address: &str, options: FactServerOptions) -> Result<Self> {
        check(&databases)?;
        let admission = Admission::new(options.settings.queries_max, options.settings.wait);
        let bound = Bound::bind(address, options.settings.clone(), &admission, None, page::is_of_databases)?;
        let service = FactService { databases, options, admission: Arc::new(admission) };
        Ok(Self { bound, service: Arc::new(service) })
    }

    /// The address on which it listens, with its actual port.
    pub fn address(&self) -> SocketAddr {
        self.bound.address
    }

    /// A handle that shuts the server down.
    pub fn handle(&self) -> ServerHandle {
        self.bound.handle()
    }

    /// Serves requests until the server is shut down. A shutdown accepts no more connections, gives running requests
    /// the time of [`FactServerOptions::grace`], and then cancels them. The databases stay open: the caller closes
    /// them.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn run(self) -> Result<()> {
        let Self { bound: Bound { listener, runtime, stop, front, .. }, service } = self;
        let admission = Arc::clone(&service.admission);
        let router = router(service, Arc::clone(&front));
        let served = runtime.block_on(connection::serve(listener, router, front, admission, stop));
        end(runtime);
        served
    }
}

fn check(databases: &[ServedFacts]) -> Result<()> {
    let invalid = |message: String| Err(Error::Invalid { message });
    if databases.is_empty() {
        return invalid("a server of facts needs at least one database".to_owned());
    }
    for (number, served) in databases.iter().enumerate() {
        let name = &served.name;
        if name.is_empty() || name.contains('/') {
            return invalid(format!("{name}: not a name of a database; it is not empty, and has no slash"));
        }
        if databases[..number].iter().any(|other| other.name == *name) {
            return invalid(format!("{name}: two databases have this name; give one of them another file name"));
        }
    }
    Ok(())
}
