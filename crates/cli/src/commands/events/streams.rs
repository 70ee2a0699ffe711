//! `events streams`: the streams of a store.

use fulgurite_events::StreamState;

use super::opened::reading_store;
use crate::arguments::OutputFormat;
use crate::arguments::events::Streams;
use crate::column::{Column, Encoding};
use crate::failure::Failure;
use crate::notation::push_hex;
use crate::output::{Cell, Printer};

/// Prints a row for each stream. Names are printed so that other verbs find the streams by them: bytes that are no text
/// as `hex:` and digits, and in JSON as `{"hex": …}`; in a table, text that a terminal does not print as digits too.
pub fn run(arguments: &Streams) -> Result<(), Failure> {
    reading_store(&arguments.store, |_, snapshot| {
        let mut printer = Printer::to_standard_output(arguments.format, &["stream", "first", "next", "state"]);
        let names = Column::plain("stream", Encoding::Key);
        for stream in snapshot.streams(&arguments.prefix.0)? {
            let stream = stream?;
            let state = match stream.state {
                StreamState::Open => "open",
                StreamState::Deleted => "deleted",
                StreamState::Tombstone => "tombstone",
            };
            let (first, next) = (Cell::Number(stream.first.0), Cell::Number(stream.next.0));
            let digits = if arguments.format == OutputFormat::Table { digits(&stream.name) } else { None };
            let name = digits.as_deref().map_or(Cell::Stored(&names, &stream.name), Cell::Text);
            printer.row(&[name, first, next, Cell::Text(state)])?;
        }
        printer.finish()
    })
}

/// A name with control characters as digits: a table would show other characters in their place.
fn digits(name: &[u8]) -> Option<String> {
    let text = str::from_utf8(name).ok()?;
    text.contains(char::is_control).then(|| {
        let mut digits = "hex:".to_owned();
        push_hex(name, &mut digits);
        digits
    })
}
