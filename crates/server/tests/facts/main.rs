//! The server of facts over real connections: every method, its limits, and how requests end that do not go well.

mod batches;
#[path = "../http/client.rs"]
#[allow(dead_code, reason = "it has requests of SPARQL too")]
mod client;
mod code;
mod code_limits;
mod fixture;
mod limits;
mod methods;
mod pages;
mod refused;
