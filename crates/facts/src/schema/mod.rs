//! Schemas: names resolved, types expanded, predicates numbered.

pub mod compatibility;
pub mod definition;
pub mod evolution;
pub mod loading;
pub mod names;
pub mod scopes;
pub mod similar;
pub mod typing;
