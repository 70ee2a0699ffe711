//! SPARQL over stores: what queries return, what updates change, what ends them.

mod bindings;
mod construct;
mod datasets;
mod fixture;
mod named_graphs;
mod patterns;
mod planning;
mod rdf_star;
mod results;
mod services;
mod stopping;
mod updates;
mod values;

/// For limits of memory.
#[global_allocator]
static ALLOCATOR: fulgurite_rdf::MeteringAllocator = fulgurite_rdf::MeteringAllocator::system();
