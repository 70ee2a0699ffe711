//! The server over real connections: every class of request, and how it ends when something does not go well.

mod client;
mod federation;
#[cfg(all(unix, feature = "tls"))]
mod federation_tls;
mod fixture;
mod graph_store;
mod limits;
mod negotiation;
mod other_names;
mod protocol;
mod rdf4j;
mod safety;
mod shutdown;

/// For limits of memory.
#[global_allocator]
static ALLOCATOR: fulgurite_rdf::MeteringAllocator = fulgurite_rdf::MeteringAllocator::system();
