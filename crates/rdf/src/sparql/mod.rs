//! SPARQL queries and updates over [`Quads`](crate::Quads).

mod dataset;
mod explain;
mod limits;
mod load_file;
mod plan;
mod query;
mod removal;
mod results;
mod scope;
mod shape;
mod terms;
mod text;
mod update;

pub use explain::{Explanation, PlanNode};
pub use limits::Limits;
pub use plan::JoinOrder;
pub use query::{Query, QueryForm};
pub use results::{QueryResults, Solutions, Triples};
pub use update::{Update, UpdateReport};
