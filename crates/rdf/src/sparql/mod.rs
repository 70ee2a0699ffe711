//! SPARQL queries and updates over [`Quads`](crate::Quads). `docs/reference/sparql.md` lists the features and limits.
//!
//! ```
//! use fulgurite_rdf::sparql::{Limits, Query, QueryResults, Update};
//! use fulgurite_rdf::{Store, StoreOptions};
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("quads.ful");
//! let store = Store::create(&path, StoreOptions::new())?;
//! Update::parse(
//!     "PREFIX : <http://example.org/>
//!      INSERT DATA { :ann :knows :bob, :cid ; :age 30 . :bob :age 25 . :cid :age 41 }",
//!     None,
//! )?
//! .execute(&store)?;
//!
//! let query = Query::parse(
//!     "PREFIX : <http://example.org/>
//!      SELECT ?age { :ann :knows ?friend . ?friend :age ?age } ORDER BY ?age",
//!     None,
//! )?
//! .with_limits(Limits::new().timeout(Duration::from_secs(10)).rows_max(1_000));
//! let QueryResults::Solutions(solutions) = query.evaluate(&store.snapshot()?)? else {
//!     panic!("a SELECT has solutions");
//! };
//! let mut ages = Vec::new();
//! for solution in solutions {
//!     ages.push(solution?.get("age").expect("every solution binds it").to_string());
//! }
//! let integer = "<http://www.w3.org/2001/XMLSchema#integer>";
//! assert_eq!(ages, [format!("\"25\"^^{integer}"), format!("\"41\"^^{integer}")]);
//! # Ok(())
//! # }
//! ```

mod bindings;
pub(crate) mod evaluation;
pub(crate) mod explain;
pub(crate) mod expressions;
pub(crate) mod operators;
pub(crate) mod parse;
mod plan;
mod query;
mod results;
mod service;
mod update;
mod updating;

pub use crate::sparql::evaluation::limits::Limits;
pub use crate::sparql::explain::explanation::Explanation;
pub use crate::sparql::explain::plan_node::PlanNode;
pub use plan::JoinOrder;
pub use query::{Query, QueryForm};
pub use results::{IdRow, IdSolutions, QueryResults, SolutionId, SolutionValue, Solutions, Triples};
pub use service::{ServiceError, ServiceHandler, ServiceRequest, ServiceResponse};
pub use update::Update;
pub use updating::changes::UpdateChanges;
pub use updating::report::UpdateReport;
pub use updating::targets::{DefaultTargets, DeletedFrom};
