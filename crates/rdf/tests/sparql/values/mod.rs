//! Values: what expressions compute, how values compare, and in which order they are sorted.

mod expressions;
mod forms;
mod numbers;
mod ordering;
mod regexes;
mod sorted;
