//! Indexes of code: the output of indexers as facts in a Fulgurite database, and answers from it.
//!
//! An index is a database of facts with the schemas [`CODE_SCHEMA`] and [`SCIP_SCHEMA`]. [`update_index`] writes it
//! from SCIP or ctags, and stacks an incremental database on it when files have changed. [`CodeReader`] answers:
//! definitions, references, names, hierarchies. [`serve`] is a language server over it.
//!
//! ```no_run
//! use fulgurite_code::{CodeReader, IndexLock, Plan, open_index};
//!
//! # fn main() -> fulgurite_code::Result<()> {
//! let directory = std::path::Path::new("project");
//! let database = std::path::Path::new("code.ful");
//! let lock = IndexLock::take(database)?;
//! let indexed = Plan::of(directory)?.run(&lock, &mut |_, _| {})?;
//! lock.update(&indexed, false, &mut |_| {})?;
//!
//! let reader = CodeReader::new(&open_index(database)?)?;
//! for symbol in reader.resolve("Store::open")? {
//!     println!("{:?}", reader.definitions(symbol)?);
//! }
//! # Ok(()) }
//! ```
//!
//! | you want to | begin at |
//! |---|---|
//! | run the indexers that fit a directory | [`Plan`] |
//! | read a file of SCIP or of ctags | [`ScipFile`], [`CtagsFile`] |
//! | write an index, or update it | [`update_index`], [`IndexLock`] |
//! | find definitions and references | [`CodeReader`] |
//! | answer an editor | [`serve_stdio`] |

mod browse;
mod columns;
mod ctags;
mod error;
mod indexers;
mod live;
mod lsp;
mod model;
mod schema;
mod scip;
mod source;
mod stack;
#[cfg(test)]
mod tests;
mod update;
mod writing;

pub use browse::describe::{Description, Relative};
pub use browse::diagnostics::{Diagnostics, FoundDiagnostic};
pub use browse::limits::ReadLimits;
pub use browse::located::{Located, Summary};
pub use browse::outline::{Definition, Outline};
pub use browse::reader::{CodeReader, IndexedFile, Place, SymbolId, Use};
pub use columns::{Columns, convert};
pub use ctags::{CTAGS_ARGUMENTS, CtagsFile};
pub use error::{Error, KeptOutput, Result};
pub use indexers::choose::{Plan, output_files};
pub use indexers::indexed::Indexed;
pub use indexers::languages::INDEXER_NAMES;
pub use live::LiveIndex;
pub use lsp::server::serve;
pub use lsp::stdio::serve_stdio;
pub use model::details::{Details, Diagnostic, DiagnosticTag, Severity, Signature, SymbolRole, Tool};
pub use model::part::Part;
pub use model::{Document, Occurrence, RelationKind, Role, Span, SymbolInfo};
pub use schema::{CODE_SCHEMA, SCIP_SCHEMA, code_schema};
pub use scip::names::Package;
pub use scip::reader::ScipFile;
pub use source::{Source, Visit, Without};
pub use stack::{
    INCREMENTS_MAX, IndexLock, increment_path, increments, index_files, is_damaged, is_damaged_database, is_index,
    is_unfinished, open_index, unfinished_files,
};
pub use update::{Step, Updated, update_index};
