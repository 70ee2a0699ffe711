//! HTTP below the protocols: parameters, bodies, content negotiation, answers, refusals, and limits.

pub mod admission;
pub mod answer;
pub mod body;
pub mod guard;
pub mod negotiation;
pub mod panics;
pub mod parameters;
pub mod paths;
pub mod refusal;
