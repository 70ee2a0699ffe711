//! SPARQL over stores: what queries return, what updates change, what ends them.

mod construct;
mod datasets;
mod expressions;
mod fixture;
mod interrupts;
mod limits;
mod patterns;
mod planning;
mod results;
mod sorted;
mod updates;
