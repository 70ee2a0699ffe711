//! The native methods of Fulgurite's Java binding.
//!
//! `org.fulgurite.internal.Native` and `NativeQuads` in `bindings/java` declare them. This crate converts arguments,
//! results and errors, and repeats transactions of RDF stores after conflicts (`quads::objects::Recorded`). The engine
//! does the work, and the Java classes define the API.
//!
//! Nothing that Java code does wrong may end the virtual machine:
//!
//! - Java holds objects by handles (`registry`). A handle of a closed object is an exception.
//! - A call holds its object until it returns, so closing an object waits for running calls.
//! - A panic becomes an exception (`error::Throw`).
//! - Keys and values are copied between Java's memory and the engine, so Java never sees memory of the engine.

mod arguments;
mod batch;
mod bulk;
mod callbacks;
mod change_feed;
mod checkpoints;
mod database;
mod error;
mod packed_changes;
mod quads;
mod reads;
mod registry;
mod room;
mod tables;
mod writes;

/// Counts the memory of queries. Only this library uses it: the virtual machine has allocators of its own.
#[global_allocator]
static ALLOCATOR: fulgurite_rdf::MeteringAllocator = fulgurite_rdf::MeteringAllocator::system();
