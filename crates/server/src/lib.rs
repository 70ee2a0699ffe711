//! A server for one RDF store: the SPARQL 1.1 Protocol and the SPARQL 1.1 Graph Store HTTP Protocol.
//!
//! `docs/reference/serve.md` lists the paths, limits and status codes.
//!
//! Invariants: (1) Code that reads or writes the store runs on blocking threads, at most [`ServerOptions::queries_max`]
//! at once, never on the threads that serve connections. (2) An answer is written while it is evaluated, at most a few
//! chunks ahead of the client. An answer that fails half way is cut off, so that no client takes it for a complete one.
//! (3) A request that no client waits for is cancelled.
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
mod federation;
mod http;
mod options;
mod page;
mod protocol;
mod rdf4j;
mod serving;

pub use error::{Error, Result};
pub use federation::ServiceClient;
pub use options::{Event, ServerOptions};
pub use serving::server::{Server, ServerHandle};
