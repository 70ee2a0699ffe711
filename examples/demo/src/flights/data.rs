//! Flights as lines of the data, and as events: `departed` and `landed`, or `cancelled`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::error::Result;

/// What happened to a flight. Its bytes have a fixed width, so that a replay reads them in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The airline, such as `UA`.
    pub carrier: [u8; 2],
    /// The airports.
    pub from: [u8; 3],
    pub to: [u8; 3],
    /// The minute of the year at which the event happened; for `cancelled`, the scheduled one. For `landed` an
    /// estimate: the data has no times of arrival, so it is the departure plus the minutes in the air, without taxiing.
    pub minute: u32,
    /// Minutes later than scheduled; negative for earlier.
    pub delay: i16,
    /// Minutes in the air, for `landed`.
    pub air: u16,
    /// Miles, for `landed`.
    pub miles: u16,
}

impl Flight {
    /// The bytes of the payload.
    pub fn to_bytes(self) -> [u8; BYTES] {
        let mut out = [0; BYTES];
        out[0..2].copy_from_slice(&self.carrier);
        out[2..5].copy_from_slice(&self.from);
        out[5..8].copy_from_slice(&self.to);
        out[8..12].copy_from_slice(&self.minute.to_le_bytes());
        out[12..14].copy_from_slice(&self.delay.to_le_bytes());
        out[14..16].copy_from_slice(&self.air.to_le_bytes());
        out[16..18].copy_from_slice(&self.miles.to_le_bytes());
        out
    }

    /// The reverse of [`Flight::to_bytes`].
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let (carrier, rest) = payload.split_first_chunk()?;
        let (from, rest) = rest.split_first_chunk()?;
        let (to, rest) = rest.split_first_chunk()?;
        let (minute, rest) = rest.split_first_chunk()?;
        let (delay, rest) = rest.split_first_chunk()?;
        let (air, rest) = rest.split_first_chunk()?;
        let (miles, rest) = rest.split_first_chunk()?;
        rest.is_empty().then_some(Self {
            carrier: *carrier,
            from: *from,
            to: *to,
            minute: u32::from_le_bytes(*minute),
            delay: i16::from_le_bytes(*delay),
            air: u16::from_le_bytes(*air),
            miles: u16::from_le_bytes(*miles),
        })
    }
}

/// An event that is not appended yet.
#[derive(Debug, PartialEq, Eq)]
pub struct FlightEvent {
    /// Its type.
    pub kind: &'static str,
    /// The aircraft, which is the stream.
    pub aircraft: String,
    /// What happened.
    pub flight: Flight,
}

/// All events of the file, in the order in which they happened.
///
/// # Errors
/// If the file cannot be read, or a line is malformed.
pub fn read(path: &Path) -> Result<Vec<FlightEvent>> {
    let file = File::open(path).map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
    let lines = BufReader::new(MultiGzDecoder::new(BufReader::new(file))).lines();
    let mut events = Vec::new();
    for (line, number) in lines.zip(1..) {
        let line = line.map_err(|error| format!("{}: {error}", path.display()))?;
        push_events(&line, &mut events)
            .ok_or_else(|| format!("{}: line {number} is no flight: {line}", path.display()))?;
    }
    events.sort_by_key(|event| event.flight.minute);
    Ok(events)
}

/// The events of a line: the scheduled minute, carrier, number, aircraft, airports, delays, minutes in the air, miles.
fn push_events(line: &str, events: &mut Vec<FlightEvent>) -> Option<()> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [minute, carrier, _, aircraft, from, to, departed, landed, air, miles] = columns[..] else { return None };
    let minute: u32 = minute.parse().ok()?;
    let aircraft = if aircraft.is_empty() { NO_AIRCRAFT } else { aircraft };
    let scheduled = Flight {
        carrier: carrier.as_bytes().try_into().ok()?,
        from: from.as_bytes().try_into().ok()?,
        to: to.as_bytes().try_into().ok()?,
        minute,
        delay: 0,
        air: 0,
        miles: miles.parse().ok()?,
    };
    let mut push = |kind, flight| events.push(FlightEvent { kind, aircraft: aircraft.to_owned(), flight });
    if departed.is_empty() {
        push("cancelled", scheduled);
        return Some(());
    }
    let delay: i16 = departed.parse().ok()?;
    let left = minute.saturating_add_signed(delay.into());
    push("departed", Flight { minute: left, delay, ..scheduled });
    // A flight that was diverted has no arrival.
    if !landed.is_empty() {
        let air: u16 = air.parse().ok()?;
        let minute = left + u32::from(air);
        push("landed", Flight { minute, delay: landed.parse().ok()?, air, ..scheduled });
    }
    Some(())
}

/// The stream of flights without an aircraft: most were cancelled.
pub const NO_AIRCRAFT: &str = "none";
/// The bytes of a payload.
const BYTES: usize = 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flight_departs_and_lands_or_is_cancelled() {
        let mut events = Vec::new();
        push_events("406\tUA\t556\tN497UA\tEWR\tPBI\t-3\t-18\t146\t1023", &mut events).unwrap();
        push_events("500\tB6\t7\t\tJFK\tPBI\t\t\t\t1023", &mut events).unwrap();
        let told: Vec<_> = events
            .iter()
            .map(|event| (event.kind, event.aircraft.as_str(), event.flight.minute, event.flight.delay))
            .collect();
        assert_eq!(
            told,
            [("departed", "N497UA", 403, -3), ("landed", "N497UA", 549, -18), ("cancelled", "none", 500, 0)]
        );
        for event in &events {
            assert_eq!(Flight::parse(&event.flight.to_bytes()), Some(event.flight));
        }
        assert_eq!(Flight::parse(b"short"), None);
        assert_eq!(push_events("406\tUA", &mut events), None);
    }
}
