//! Files of entries: NDJSON, CSV, TSV and the binary form, read and written as streams.
//!
//! Whatever the table, what is exported in a form and imported from it is the same bytes. `docs/reference/cli.md`
//! describes the forms.

mod binary;
mod input;
mod lines;
mod ndjson;
mod reader;
mod record;
mod separated;
mod writer;

pub use input::Input;
pub use reader::Records;
pub use record::FieldNames;
pub use separated::push_csv_field;
pub use writer::RecordWriter;
