//! Indexes of code: what SCIP indexers and ctags find, as facts, and answers about it.
mod browse;
mod columns;
mod ctags;
mod error;
mod indexers;
mod lsp;
mod model;
mod schema;
mod scip;
mod source;
mod stack;
mod update;
mod writing;

pub use browse::describe::{Description, Relative};
pub use browse::reader::{CodeReader, IndexedFile, Place, SymbolId, Use};
pub use columns::{Columns, convert};
pub use ctags::{CTAGS_ARGUMENTS, CtagsFile};
pub use error::{Error, Result};
pub use indexers::choose::{Indexed, Plan};
pub use lsp::server::{serve, serve_stdio};
pub use model::{Document, Occurrence, Part, RelationKind, Role, Span, SymbolInfo};
pub use schema::{CODE_SCHEMA, code_schema};
pub use scip::reader::ScipFile;
pub use source::{Source, Visit};
pub use stack::{increment_path, increments, open_index};
pub use update::{INCREMENTS_MAX, Step, Updated, update_index};
