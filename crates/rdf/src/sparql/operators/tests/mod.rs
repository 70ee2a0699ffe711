//! Evaluations on ids, compared with the library's, and ended by limits.

mod compared;
mod ended;
mod fixture;
mod shapes;
