//! Reports, each by a replay of the log: a fold of all events.

use std::collections::HashMap;

use fulgurite_events::{Position, Snapshot, StreamId, TypeId};

use crate::error::Result;
use crate::figures::grouped;
use crate::flights::data::{Flight, NO_AIRCRAFT};

/// A replay: its name, what it asks, and the fold.
pub struct Report {
    pub label: &'static str,
    pub asked: &'static str,
    pub lines: fn(&Snapshot, Kinds) -> Result<Vec<String>>,
}

/// The reports.
pub const REPORTS: &[Report] = &[
    Report { label: "carriers", asked: "which airlines leave late, and cancel?", lines: carriers },
    Report { label: "months", asked: "in which months do flights land late? (two threads)", lines: months },
    Report { label: "routes", asked: "on which routes do flights land latest?", lines: routes },
    Report { label: "aircraft", asked: "which aircraft are in the air most?", lines: aircraft },
    Report { label: "hours", asked: "at which hour is it best to leave?", lines: hours },
];

/// The numbers of the types of events.
#[derive(Clone, Copy)]
pub struct Kinds {
    departed: Option<TypeId>,
    landed: Option<TypeId>,
    cancelled: Option<TypeId>,
}

impl Kinds {
    /// Those of a store.
    pub fn of(snapshot: &Snapshot) -> Self {
        let id = |kind| snapshot.type_id(kind, 0);
        Self { departed: id("departed"), landed: id("landed"), cancelled: id("cancelled") }
    }

    /// Whether an event is of a type.
    fn is(kind: Option<TypeId>, event: TypeId) -> bool {
        kind == Some(event)
    }
}

/// Flights and what they sum up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub flights: u64,
    pub delay: i64,
    pub cancelled: u64,
}

impl Tally {
    /// Counts a flight.
    pub fn add(&mut self, flight: &Flight) {
        self.flights += 1;
        self.delay += i64::from(flight.delay);
    }

    fn mean(&self) -> f64 {
        self.delay as f64 / self.flights.max(1) as f64
    }

    fn share_cancelled(&self) -> f64 {
        100.0 * self.cancelled as f64 / (self.flights + self.cancelled).max(1) as f64
    }
}

/// Passes every event to `each`. Payloads are read in place.
fn replay(snapshot: &Snapshot, mut each: impl FnMut(TypeId, StreamId, &Flight)) -> Result<()> {
    let mut malformed = 0_u64;
    snapshot.scan(Position::START.., |event| match Flight::parse(event.payload) {
        Some(flight) => each(event.kind, event.stream, &flight),
        None => malformed += 1,
    })?;
    if malformed > 0 { Err(format!("{malformed} events are no flights; please report this").into()) } else { Ok(()) }
}

/// Departures and cancellations by airline.
pub fn by_carrier(snapshot: &Snapshot, kinds: Kinds) -> Result<HashMap<[u8; 2], Tally>> {
    let mut tallies = HashMap::<[u8; 2], Tally>::new();
    replay(snapshot, |kind, _, flight| {
        if Kinds::is(kinds.departed, kind) {
            tallies.entry(flight.carrier).or_default().add(flight);
        } else if Kinds::is(kinds.cancelled, kind) {
            tallies.entry(flight.carrier).or_default().cancelled += 1;
        }
    })?;
    Ok(tallies)
}

fn carriers(snapshot: &Snapshot, kinds: Kinds) -> Result<Vec<String>> {
    let sorted = worst(by_carrier(snapshot, kinds)?, FLIGHTS_MIN);
    let line = |(carrier, tally): &([u8; 2], Tally)| {
        format!(
            "{}  {:>6} flights, {:>5.1} minutes late, {:.1} % cancelled",
            text(carrier),
            grouped(tally.flights),
            tally.mean(),
            tally.share_cancelled()
        )
    };
    Ok(ends(&sorted).map(line).collect())
}

fn months(snapshot: &Snapshot, kinds: Kinds) -> Result<Vec<String>> {
    let parts = snapshot.scan_parallel(
        Position::START..,
        2,
        || [Tally::default(); 12],
        |tallies, event| {
            let Some(flight) = Flight::parse(event.payload) else { return };
            if Kinds::is(kinds.landed, event.kind) {
                tallies[month(flight.minute)].add(&flight);
            }
        },
    )?;
    let mut tallies = [Tally::default(); 12];
    for part in parts {
        for (tally, other) in tallies.iter_mut().zip(part) {
            (tally.flights, tally.delay) = (tally.flights + other.flights, tally.delay + other.delay);
        }
    }
    let sorted = worst(MONTHS.into_iter().zip(tallies), 1);
    Ok(ends(&sorted)
        .map(|(month, tally)| {
            format!("{month}  {:>6} flights, {:>5.1} minutes late", grouped(tally.flights), tally.mean())
        })
        .collect())
}

fn routes(snapshot: &Snapshot, kinds: Kinds) -> Result<Vec<String>> {
    let mut tallies = HashMap::<([u8; 3], [u8; 3]), Tally>::new();
    replay(snapshot, |kind, _, flight| {
        if Kinds::is(kinds.landed, kind) {
            tallies.entry((flight.from, flight.to)).or_default().add(flight);
        }
    })?;
    let sorted = worst(tallies, FLIGHTS_MIN);
    let line = |((from, to), tally): &(([u8; 3], [u8; 3]), Tally)| {
        let flights = grouped(tally.flights);
        format!("{} → {}  {flights:>6} flights, {:>5.1} minutes late", text(from), text(to), tally.mean())
    };
    Ok(sorted.iter().take(3).map(line).collect())
}

fn aircraft(snapshot: &Snapshot, kinds: Kinds) -> Result<Vec<String>> {
    let mut used = HashMap::<StreamId, (u64, u64, u64)>::new();
    replay(snapshot, |kind, stream, flight| {
        if Kinds::is(kinds.landed, kind) {
            let (minutes, miles, flights) = used.entry(stream).or_default();
            (*minutes, *miles, *flights) =
                (*minutes + u64::from(flight.air), *miles + u64::from(flight.miles), *flights + 1);
        }
    })?;
    let mut sorted: Vec<_> = used.into_iter().collect();
    sorted.sort_by_key(|(stream, (minutes, ..))| (std::cmp::Reverse(*minutes), *stream));
    let mut lines = Vec::new();
    for (stream, (minutes, miles, flights)) in sorted {
        let name = String::from_utf8_lossy(&snapshot.stream_name(stream)?).into_owned();
        if lines.len() < 3 && name != NO_AIRCRAFT {
            lines.push(format!(
                "{name}  {:>6} hours in the air, {} flights, {} miles",
                grouped(minutes / 60),
                grouped(flights),
                grouped(miles)
            ));
        }
    }
    Ok(lines)
}

fn hours(snapshot: &Snapshot, kinds: Kinds) -> Result<Vec<String>> {
    let mut tallies = [Tally::default(); 24];
    replay(snapshot, |kind, _, flight| {
        if Kinds::is(kinds.departed, kind) {
            let scheduled = flight.minute.saturating_add_signed(-i32::from(flight.delay));
            tallies[(scheduled / 60 % 24) as usize].add(flight);
        }
    })?;
    let sorted = worst((0..24).zip(tallies), FLIGHTS_MIN);
    Ok(ends(&sorted)
        .map(|(hour, tally)| {
            format!("{hour:02}:00  {:>6} flights, {:>5.1} minutes late", grouped(tally.flights), tally.mean())
        })
        .collect())
}

/// Those with enough flights, the latest first.
fn worst<K: Ord>(tallies: impl IntoIterator<Item = (K, Tally)>, flights_min: u64) -> Vec<(K, Tally)> {
    let mut sorted: Vec<_> = tallies.into_iter().filter(|(_, tally)| tally.flights >= flights_min).collect();
    sorted.sort_by(|(key, tally), (other_key, other)| {
        other.mean().total_cmp(&tally.mean()).then_with(|| key.cmp(other_key))
    });
    sorted
}

/// The first two and the last.
fn ends<T>(sorted: &[T]) -> impl Iterator<Item = &T> {
    let last = sorted.len().saturating_sub(1).max(2);
    sorted.iter().take(2).chain(sorted.iter().skip(last))
}

/// The month of a minute of 2013, from 0. Flights that land in 2014 count as December's.
fn month(minute: u32) -> usize {
    let day = minute / (24 * 60);
    let ends = DAYS.iter().scan(0, |end, days| {
        *end += days;
        Some(*end)
    });
    ends.take(11).filter(|end| day >= *end).count()
}

fn text(code: &[u8]) -> String {
    String::from_utf8_lossy(code).into_owned()
}

const DAYS: [u32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// What has fewer flights is not compared.
const FLIGHTS_MIN: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_have_months() {
        let days = [0, 30, 31, 58, 59, 333, 334, 364, 365];
        assert_eq!(days.map(|day| month(day * 1440)), [0, 0, 1, 1, 2, 10, 11, 11, 11]);
    }

    #[test]
    fn the_ends_of_a_short_list_are_not_repeated() {
        let shown = |count: usize| ends(&(0..count).collect::<Vec<_>>()).copied().collect::<Vec<_>>();
        assert_eq!([shown(0), shown(1), shown(2), shown(3)], [vec![], vec![0], vec![0, 1], vec![0, 1, 2]]);
        assert_eq!(shown(9), [0, 1, 8]);
    }
}
