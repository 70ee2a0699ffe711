//! The SPARQL 1.1 Protocol and the SPARQL 1.1 Graph Store HTTP Protocol over one store of quads: `docs/reference/serve.md` says what is served where.
//!
//! Invariants: (1) what reads or writes the store runs on blocking threads, at most [`ServerOptions::queries_max`] at once, never where
//! connections are served. (2) An answer is written as it is evaluated, a few chunks ahead of the client at most; one that fails half
//! way is cut off, so that it cannot be taken for a whole one. (3) What nobody waits for any more is cancelled.
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

mod answer;
mod asked;
mod body;
mod connection;
mod dataset;
mod description;
mod document;
mod error;
mod federation;
mod graphs;
mod guard;
mod namespaces;
mod negotiation;
mod options;
mod page;
mod panics;
mod parameters;
mod paths;
mod patience;
#[cfg(test)]
mod planted;
mod query;
mod refusal;
mod routes;
mod running;
mod server;
mod update;

pub use error::{Error, Result};
pub use federation::ServiceClient;
pub use options::{Event, ServerOptions};
pub use server::{Server, ServerHandle};
