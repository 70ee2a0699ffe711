//! `events replay`: reads all events, and counts them by type.

use std::io::Write as _;
use std::time::Instant;

use fulgurite_events::{Event, Position, TypeId};

use super::opened::reading_store;
use crate::arguments::events::Replay;
use crate::failure::Failure;
use crate::output::{Cell, Printer, counted};
use crate::progress::{rate, time};

/// Events and bytes of payloads, by the number of the type.
type Counts = Vec<(u64, u64)>;

/// Prints a row for each type.
pub fn run(arguments: &Replay) -> Result<(), Failure> {
    reading_store(&arguments.store, |_, snapshot| {
        let begun = Instant::now();
        let none: Counts = vec![(0, 0); snapshot.event_types().len()];
        let count = |counts: &mut Counts, event: &Event<'_>| {
            if let Some((events, bytes)) = counts.get_mut(event.kind.0 as usize) {
                *events += 1;
                *bytes += event.payload.len() as u64;
            }
        };
        let threads = usize::from(arguments.threads);
        let parts = snapshot.scan_parallel(Position(arguments.from).., threads, || none.clone(), count)?;
        let elapsed = begun.elapsed();
        let mut printer = Printer::to_standard_output(arguments.format, &["type", "schema", "events", "bytes"]);
        let mut total = 0;
        for (index, kind) in snapshot.event_types().iter().enumerate() {
            let (events, bytes) = parts.iter().fold((0, 0), |sum, part| (sum.0 + part[index].0, sum.1 + part[index].1));
            debug_assert_eq!(snapshot.event_type(TypeId(index as u32))?, kind);
            let schema = Cell::Number(u64::from(kind.schema));
            printer.row(&[Cell::Text(&kind.name), schema, Cell::Number(events), Cell::Number(bytes)])?;
            total += events;
        }
        printer.finish()?;
        let events = counted(total, "event", "events");
        let _ = writeln!(std::io::stderr(), "{events} read in {}, {}", time(elapsed), rate(total, elapsed));
        Ok(())
    })
}
