//! SPARQL over stores: what queries return, what updates change, what ends them.

mod bindings;
mod construct;
mod datasets;
mod expressions;
mod fixture;
mod forms;
mod interrupts;
mod limits;
mod memory;
mod named_graphs;
mod numbers;
mod ordering;
mod panics;
mod patterns;
mod planning;
mod regexes;
mod results;
mod services;
mod sorted;
mod updates;

/// For limits of memory.
#[global_allocator]
static ALLOCATOR: fulgurite_rdf::MeteringAllocator = fulgurite_rdf::MeteringAllocator::system();
