//! `events replay`: reads all events, and counts them by type.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use fulgurite_events::{Event, Position, TypeId};

use super::opened::{reading_store, refuse_beyond};
use crate::arguments::events::Replay;
use crate::failure::Failure;
use crate::output::{Cell, Printer, counted, grouped};
use crate::progress::{Progress, rate, time};

/// Events and bytes of payloads, by the number of the type.
type Counts = Vec<(u64, u64)>;

/// Prints a row for each type.
pub fn run(arguments: &Replay) -> Result<(), Failure> {
    reading_store(&arguments.store, |_, snapshot| {
        refuse_beyond(arguments.from, snapshot.head()?)?;
        let (begun, read) = (Instant::now(), AtomicU64::new(0));
        let none: Counts = vec![(0, 0); snapshot.event_types().len()];
        let count = |counts: &mut Counts, event: &Event<'_>| {
            if let Some((events, bytes)) = counts.get_mut(event.kind.0 as usize) {
                *events += 1;
                *bytes += event.payload.len() as u64;
                // Relaxed: it is shown, and no more.
                if events.is_multiple_of(EVENTS_BETWEEN_COUNTS) {
                    read.fetch_add(EVENTS_BETWEEN_COUNTS, Ordering::Relaxed);
                }
            }
        };
        let threads = usize::from(arguments.threads);
        let line = || {
            let read = read.load(Ordering::Relaxed);
            format!("reading: {} events, {}", grouped(read), rate(read, begun.elapsed()))
        };
        let parts = Progress::new("reading")
            .during(line, || snapshot.scan_parallel(Position(arguments.from).., threads, || none.clone(), count))?;
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

/// Events of a type that a thread reads before it adds them to what all threads have read.
const EVENTS_BETWEEN_COUNTS: u64 = 1 << 14;
