//! Servers over HTTP: [`Server`] for one RDF store (the SPARQL 1.1 Protocol, the SPARQL 1.1 Graph Store HTTP Protocol,
//! and RDF4J's protocol), [`FactServer`] for databases of facts (the methods of Glean's service that read).
//!
//! `docs/reference/serve.md` lists the paths, limits and status codes.
//!
//! Invariants: (1) Code that reads or writes the store runs on blocking threads, at most [`ServerOptions::queries_max`]
//! at once, never on the threads that serve connections. (2) A response is written while it is evaluated, at most a few
//! chunks ahead of the client. A response that fails half way is cut off, so that no client takes it for a complete
//! one. (3) A request that no client waits for is cancelled.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("quads.ful");
//! use fulgurite_rdf::{Store, StoreOptions};
//! use fulgurite_server::{Server, ServerOptions};
//!
//! let store = Store::create(&path, StoreOptions::new())?;
//! let server = Server::bind(&store, "127.0.0.1:0", ServerOptions::new().writable(true))?;
//! let handle = server.handle();
//! println!("http://{}/", server.address());
//! # handle.shut_down();
//! // Serves until another thread calls `handle.shut_down()`.
//! server.run()?;
//! store.close()?;
//! # Ok(())
//! # }
//! ```

mod error;
#[cfg(feature = "facts")]
mod facts;
#[cfg(feature = "rdf")]
mod federation;
#[cfg_attr(not(all(feature = "facts", feature = "rdf")), allow(dead_code, reason = "one server needs less"))]
mod http;
mod listening;
#[cfg(feature = "rdf")]
mod options;
#[cfg(feature = "rdf")]
mod page;
#[cfg(feature = "rdf")]
mod protocol;
#[cfg(feature = "rdf")]
mod rdf4j;
#[cfg(feature = "rdf")]
mod serving;
mod settings;

pub use error::{Error, Result};
#[cfg(feature = "facts")]
pub use facts::options::FactServerOptions;
#[cfg(feature = "facts")]
pub use facts::server::FactServer;
#[cfg(feature = "facts")]
pub use facts::service::{FactSource, ServedFacts};
#[cfg(feature = "rdf")]
pub use federation::ServiceClient;
pub use listening::bound::ServerHandle;
#[cfg(feature = "rdf")]
pub use options::ServerOptions;
#[cfg(feature = "rdf")]
pub use serving::server::Server;
pub use settings::Event;
