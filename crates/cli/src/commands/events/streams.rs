//! `events streams`: the streams of a store.

use fulgurite_events::StreamState;

use super::opened::reading_store;
use crate::arguments::events::Streams;
use crate::failure::Failure;
use crate::output::{Cell, Printer};

/// Prints a row for each stream.
pub fn run(arguments: &Streams) -> Result<(), Failure> {
    reading_store(&arguments.store, |_, snapshot| {
        let mut printer = Printer::to_standard_output(arguments.format, &["stream", "first", "next", "state"]);
        for stream in snapshot.streams(&arguments.prefix)? {
            let stream = stream?;
            let state = match stream.state {
                StreamState::Open => "open",
                StreamState::Deleted => "deleted",
                StreamState::Tombstone => "tombstone",
            };
            let name = String::from_utf8_lossy(&stream.name);
            let (first, next) = (Cell::Number(stream.first.0), Cell::Number(stream.next.0));
            printer.row(&[Cell::Text(&name), first, next, Cell::Text(state)])?;
        }
        printer.finish()
    })
}
