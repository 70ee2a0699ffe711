//! HTTP for all protocols: parameters, bodies, pages, responses, refusals, and limits.

pub mod admission;
pub mod answer;
pub mod body;
pub mod content;
pub mod guard;
pub mod page;
pub mod panics;
pub mod parameters;
pub mod refusal;
