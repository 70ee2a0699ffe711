//! Graph state in a Fulgurite database: vertices and edges, versioned or not, lists and maps, and checkpoints that send
//! only changes.
//!
//! ```
//! use fulgurite::Database;
//! use fulgurite_graph::{Edge, EdgeQuery, Graph, GraphOptions};
//!
//! # fn main() -> fulgurite::Result<()> {
//! # let directory = tempfile::tempdir().expect("a temporary directory");
//! # let path = directory.path().join("people.ful");
//! let db = Database::options().create(true).open(path)?;
//! // The names and ages of people, and the years since which they know each other.
//! let people: Graph<String, u32, u32> = Graph::open(&db, "people", GraphOptions::new())?;
//! db.update(|txn| {
//!     people.put_vertex(txn, "ann", 41)?;
//!     people.put_edge(txn, &Edge::out("ann".to_owned(), "bob".to_owned(), 1999))?;
//!     people.put_edge(txn, &Edge::out("ann".to_owned(), "cid".to_owned(), 2010))
//! })?;
//!
//! let snapshot = db.read()?;
//! let known: Vec<String> = people.targets(&snapshot, "ann", &EdgeQuery::new())?.collect::<fulgurite::Result<_>>()?;
//! assert_eq!(known, ["bob", "cid"]);
//! # Ok(()) }
//! ```
//!
//! | you want to | begin at |
//! |---|---|
//! | store a graph | [`Graph`], [`Edge`], [`GraphOptions`] |
//! | read the edges of a vertex | [`Graph::edges`], [`EdgeQuery`] |
//! | keep a graph for each version of the data | [`VersionedGraph`] |
//! | keep a value by key | [`TypedTable`](fulgurite::TypedTable), a table of the engine |
//! | keep lists or maps by key | [`ListState`], [`MapState`] |
//! | send the state to a storage, and restore it | [`Checkpoints`], [`CheckpointStorage`] |
//!
//! All of these are tables of one database: a transaction can change several graphs, lists, maps and other tables.
//! Reads take a snapshot or a write transaction, which reads its own changes. `docs/reference/graph.md` has the layout
//! of the tables and of checkpoints.

mod checkpoint;
mod edges;
mod graphs;
mod state;

pub use checkpoint::checkpoints::{CheckpointReport, Checkpoints};
pub use checkpoint::error::CheckpointError;
pub use checkpoint::storage::{CheckpointStorage, DirectoryStorage};
pub use edges::edge::{Direction, Edge};
pub use edges::iter::{AllTargets, Edges, Targets};
pub use edges::layout::GraphOptions;
pub use edges::query::EdgeQuery;
pub use graphs::graph::Graph;
pub use graphs::neighbourhood::{Neighbourhood, Neighbourhoods};
pub use graphs::versioned::{VersionVertices, VersionedGraph};
pub use state::list::ListState;
pub use state::map::MapState;
