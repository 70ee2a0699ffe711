//! `events consumers`: positions of consumers.

use fulgurite_events::Position;

use super::opened::{changing_store, reading_store, refuse_beyond};
use crate::arguments::events::Consumers;
use crate::failure::Failure;
use crate::output::{Cell, Printer};

/// Prints a row for each consumer, or sets the position of one.
pub fn run(arguments: &Consumers) -> Result<(), Failure> {
    if let (Some(consumer), Some(position)) = (&arguments.set, arguments.to) {
        return changing_store(&arguments.store, None, arguments.writing, |store| {
            refuse_beyond(position, store.snapshot()?.head()?)?;
            Ok(store.set_consumer_position(consumer, Position(position))?)
        });
    }
    reading_store(&arguments.store, |_, snapshot| {
        let head = snapshot.head()?.0;
        let mut printer = Printer::to_standard_output(arguments.format, &["consumer", "position", "behind"]);
        for (consumer, position) in snapshot.consumers()? {
            let behind = head.saturating_sub(position.0);
            printer.row(&[Cell::Text(&consumer), Cell::Number(position.0), Cell::Number(behind)])?;
        }
        printer.finish()
    })
}
