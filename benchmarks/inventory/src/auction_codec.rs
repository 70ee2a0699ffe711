//! Events of auctions in Protocol Buffers and in FlatBuffers.

use planus::ReadAsRoot;
use prost::Message;

use crate::auction::{AuctionEvent, AuctionReport};
use crate::generated::messages;
use crate::generated::tables::inventory as tables;
use crate::malformed::Malformed;

/// How events are encoded.
pub trait AuctionCodec: Default + Send {
    /// Its name in reports.
    const NAME: &'static str;

    /// Replaces `out` by the encoding of an event.
    fn encode(&mut self, event: &AuctionEvent, out: &mut Vec<u8>);

    /// Adds an event to a report: reads its campaign, kind and prices.
    ///
    /// # Errors
    /// [`Malformed`].
    fn add(payload: &[u8], report: &mut AuctionReport) -> Result<(), Malformed>;
}

/// Events in Protocol Buffers, by prost. Each read decodes the whole event.
#[derive(Debug, Default)]
pub struct ProtobufAuctions;

impl AuctionCodec for ProtobufAuctions {
    const NAME: &'static str = "protobuf";

    fn encode(&mut self, event: &AuctionEvent, out: &mut Vec<u8>) {
        let message = messages::AuctionEvent {
            auction: event.auction,
            user: event.user,
            time_us: event.time_us,
            campaign: event.campaign,
            creative: event.creative,
            bid_micros: event.bid_micros,
            price_micros: event.price_micros,
            exchange: event.exchange.into(),
            country: event.country.into(),
            kind: event.kind.into(),
            site: event.site.clone(),
        };
        out.clear();
        message.encode(out).expect("a vector grows");
    }

    #[inline(always)]
    fn add(payload: &[u8], report: &mut AuctionReport) -> Result<(), Malformed> {
        let event = messages::AuctionEvent::decode(payload)
            .map_err(|error| Malformed::new("an event in Protocol Buffers", error))?;
        report.add(event.campaign, event.kind, event.bid_micros, event.price_micros);
        Ok(())
    }
}

/// Events in FlatBuffers, by planus. A read checks and follows only the fields that it needs.
#[derive(Debug, Default)]
pub struct FlatBufferAuctions {
    builder: planus::Builder,
}

impl AuctionCodec for FlatBufferAuctions {
    const NAME: &'static str = "flatbuffers";

    fn encode(&mut self, event: &AuctionEvent, out: &mut Vec<u8>) {
        self.builder.clear();
        let facts = tables::AuctionFacts {
            auction: event.auction,
            user: event.user,
            time_us: event.time_us,
            campaign: event.campaign,
            creative: event.creative,
            bid_micros: event.bid_micros,
            price_micros: event.price_micros,
            exchange: event.exchange,
            country: event.country,
            kind: event.kind,
        };
        let table = tables::AuctionEvent::create(&mut self.builder, facts, event.site.as_str());
        out.clear();
        out.extend_from_slice(self.builder.finish(table, None));
    }

    #[inline(always)]
    fn add(payload: &[u8], report: &mut AuctionReport) -> Result<(), Malformed> {
        let mut read = || {
            let facts = tables::AuctionEventRef::read_as_root(payload)?.facts()?;
            report.add(facts.campaign(), facts.kind().into(), facts.bid_micros(), facts.price_micros());
            Ok(())
        };
        read().map_err(|error: planus::Error| Malformed::new("an event in FlatBuffers", error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u32) -> AuctionEvent {
        AuctionEvent {
            auction: u64::from(number) << 40,
            campaign: number,
            bid_micros: number * 3,
            price_micros: number * 2,
            kind: (number % 4) as u8,
            site: "a.example".to_owned(),
            ..AuctionEvent::default()
        }
    }

    fn report<C: AuctionCodec>() -> AuctionReport {
        let (mut codec, mut payload, mut report) = (C::default(), Vec::new(), AuctionReport::default());
        for number in 0..900 {
            codec.encode(&event(number), &mut payload);
            C::add(&payload, &mut report).unwrap();
        }
        assert!(C::add(&[255; 30], &mut AuctionReport::default()).is_err());
        report
    }

    #[test]
    fn both_codecs_give_the_same_report() {
        let both = [report::<ProtobufAuctions>(), report::<FlatBufferAuctions>()];
        assert_eq!(both[0], both[1]);
        assert_eq!(both[0].campaigns()[7].events, [0, 0, 0, 1]);
        assert_eq!((both[0].campaigns()[7].bid_micros, both[0].campaigns()[7].price_micros), (21, 14));
        let mut sum = both[0].clone();
        sum.merge(&both[1]);
        assert_eq!(sum.events(), 1800);
    }
}
