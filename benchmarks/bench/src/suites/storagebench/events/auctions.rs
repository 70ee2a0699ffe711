//! Events of auctions that are replayed and appended.

use fulgurite_events::{EventData, EventStore, Expected};
use fulgurite_inventory::{AuctionCodec, AuctionEvent, CAMPAIGNS, KINDS};
use fulgurite_rivals::Failure;

use crate::data::random::mix;
use crate::engines::fulgurite::Fulgurite;
use fulgurite_rivals::WritingEngine;

/// An error of the store of events.
pub fn failed(operation: &'static str) -> impl Fn(fulgurite_events::Error) -> Failure {
    move |error| Failure::new(<Fulgurite as WritingEngine>::NAME, operation, error)
}

/// The event of a number. It follows from the seed, so none is kept.
pub fn event(seed: u64, number: u64) -> AuctionEvent {
    let noise = mix(seed ^ number);
    let bid_micros = 1_000_000 + (noise >> 40) as u32;
    AuctionEvent {
        auction: mix(number / 4),
        user: noise % 50_000_000,
        time_us: 1_500_000_000_000_000 + number * 13,
        campaign: (noise >> 8) as u32 % CAMPAIGNS as u32,
        creative: 100_000 + (noise >> 20) as u32 % 100_000,
        bid_micros,
        price_micros: bid_micros / 2,
        exchange: 300 + (noise >> 12) as u16 % 40,
        country: 300 + (noise >> 24) as u16 % 200,
        kind: (noise >> 32) as u8 % KINDS as u8,
        site: SITES[noise as usize % SITES.len()].to_owned(),
    }
}

/// Appends so many events to one stream, from a number on, many in a transaction.
///
/// # Errors
/// What the store answered.
pub fn append<C: AuctionCodec>(
    store: &EventStore,
    seed: u64,
    numbers: std::ops::Range<u64>,
    per_transaction: u64,
) -> Result<(), Failure> {
    let mut codec = C::default();
    let mut payloads = vec![Vec::new(); per_transaction as usize];
    for from in numbers.clone().step_by(per_transaction as usize) {
        let count = per_transaction.min(numbers.end - from);
        for (payload, number) in payloads.iter_mut().zip(from..from + count) {
            codec.encode(&event(seed, number), payload);
        }
        let events: Vec<EventData<'_>> =
            payloads.iter().take(count as usize).map(|payload| EventData::new(KIND, payload)).collect();
        store.append(STREAM, Expected::Any, &events).map_err(failed("append"))?;
    }
    Ok(())
}

/// Sites of equal length, so that all events have the same size.
const SITES: [&str; 4] = [
    "news.publisher-0001.example",
    "blog.publisher-0002.example",
    "shop.publisher-0003.example",
    "mail.publisher-0004.example",
];
/// The stream of all events.
const STREAM: &str = "auctions";
/// The type of all events.
pub const KIND: &str = "auction";

#[cfg(test)]
mod tests {
    use fulgurite_inventory::FlatBufferAuctions;

    use super::*;

    #[test]
    fn an_event_has_100_bytes_in_flatbuffers() {
        let mut payload = Vec::new();
        for number in [0, 1, 2, 3, 1 << 20] {
            FlatBufferAuctions::default().encode(&event(7, number), &mut payload);
            assert_eq!(payload.len(), 100);
        }
    }
}
