//! Bins in Protocol Buffers and in FlatBuffers.

use planus::ReadAsRoot;
use prost::Message;

use crate::bin::{Bin, Stock};
use crate::generated::messages;
use crate::generated::tables::inventory as tables;
use crate::malformed::Malformed;

/// How bins are encoded.
pub trait BinCodec: Default + Send {
    /// Its name in reports.
    const NAME: &'static str;

    /// Whether quantities can be changed at their places: [`BinCodec::add_at_place`].
    const CHANGES_AT_PLACE: bool;

    /// Replaces `out` by the encoding of a bin.
    fn encode(&mut self, bin: &Bin, out: &mut Vec<u8>);

    /// The bin with this encoding.
    ///
    /// # Errors
    /// [`Malformed`].
    fn decode(bytes: &[u8]) -> Result<Bin, Malformed>;

    /// How many pieces of an item a bin has. None if it does not have the item.
    ///
    /// # Errors
    /// [`Malformed`].
    fn quantity(bytes: &[u8], item: u64) -> Result<Option<i64>, Malformed>;

    /// Replaces `out` by the encoding of the bin after [`Bin::add`].
    ///
    /// # Errors
    /// [`Malformed`].
    fn add(&mut self, bytes: &[u8], item: u64, pieces: i64, out: &mut Vec<u8>) -> Result<(), Malformed>;

    /// Changes the quantity of an item at its place. Returns false, and changes nothing, if the bin does not have the
    /// item, is malformed, or the codec has no places that can be changed.
    fn add_at_place(bytes: &mut [u8], item: u64, pieces: i64) -> bool;
}

/// Bins in Protocol Buffers, by prost. Each read decodes the whole bin.
#[derive(Debug, Default)]
pub struct ProtobufBins;

impl BinCodec for ProtobufBins {
    const NAME: &'static str = "protobuf";
    /// A number has more bytes the greater it is.
    const CHANGES_AT_PLACE: bool = false;

    fn encode(&mut self, bin: &Bin, out: &mut Vec<u8>) {
        let stocks = bin.stocks.iter().map(|stock| messages::Stock { item: stock.item, quantity: stock.quantity });
        let message = messages::Bin { location: bin.location, name: bin.name.clone(), stocks: stocks.collect() };
        write(&message, out);
    }

    fn decode(bytes: &[u8]) -> Result<Bin, Malformed> {
        let messages::Bin { location, name, stocks } = message(bytes)?;
        let stocks = stocks.iter().map(|stock| Stock { item: stock.item, quantity: stock.quantity }).collect();
        Ok(Bin { location, name, stocks })
    }

    #[inline]
    fn quantity(bytes: &[u8], item: u64) -> Result<Option<i64>, Malformed> {
        Ok(message(bytes)?.stocks.iter().find(|stock| stock.item == item).map(|stock| stock.quantity))
    }

    #[inline]
    fn add(&mut self, bytes: &[u8], item: u64, pieces: i64, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let mut bin = message(bytes)?;
        match bin.stocks.iter_mut().find(|stock| stock.item == item) {
            Some(stock) => stock.quantity = stock.quantity.wrapping_add(pieces),
            None => bin.stocks.push(messages::Stock { item, quantity: pieces }),
        }
        write(&bin, out);
        Ok(())
    }

    fn add_at_place(_bytes: &mut [u8], _item: u64, _pieces: i64) -> bool {
        false
    }
}

fn message(bytes: &[u8]) -> Result<messages::Bin, Malformed> {
    messages::Bin::decode(bytes).map_err(|error| Malformed::new("a bin in Protocol Buffers", error))
}

fn write(message: &messages::Bin, out: &mut Vec<u8>) {
    out.clear();
    message.encode(out).expect("a vector grows");
}

/// Bins in FlatBuffers, by planus. A read checks and follows only the fields that it needs. A change of a quantity
/// changes eight bytes at their place.
#[derive(Debug, Default)]
pub struct FlatBufferBins {
    builder: planus::Builder,
}

impl BinCodec for FlatBufferBins {
    const NAME: &'static str = "flatbuffers";
    const CHANGES_AT_PLACE: bool = true;

    fn encode(&mut self, bin: &Bin, out: &mut Vec<u8>) {
        let stock = |stock: &Stock| tables::Stock { item: stock.item, quantity: stock.quantity };
        let stocks: Vec<tables::Stock> = bin.stocks.iter().map(stock).collect();
        self.builder.clear();
        let table = tables::Bin::create(&mut self.builder, bin.location, bin.name.as_str(), stocks.as_slice());
        out.clear();
        out.extend_from_slice(self.builder.finish(table, None));
    }

    fn decode(bytes: &[u8]) -> Result<Bin, Malformed> {
        let decode = || -> planus::Result<Bin> {
            let bin = tables::BinRef::read_as_root(bytes)?;
            let stocks = bin.stocks()?.iter().map(|stock| Stock { item: stock.item(), quantity: stock.quantity() });
            Ok(Bin { location: bin.location()?, name: bin.name()?.to_owned(), stocks: stocks.collect() })
        };
        decode().map_err(malformed)
    }

    #[inline]
    fn quantity(bytes: &[u8], item: u64) -> Result<Option<i64>, Malformed> {
        let bin = tables::BinRef::read_as_root(bytes).map_err(malformed)?;
        let mut stocks = bin.stocks().map_err(malformed)?.iter();
        Ok(stocks.find(|stock| stock.item() == item).map(|stock| stock.quantity()))
    }

    #[inline]
    fn add(&mut self, bytes: &[u8], item: u64, pieces: i64, out: &mut Vec<u8>) -> Result<(), Malformed> {
        out.clear();
        out.extend_from_slice(bytes);
        if !Self::add_at_place(out, item, pieces) {
            let mut bin = Self::decode(bytes)?;
            bin.add(item, pieces);
            self.encode(&bin, out);
        }
        Ok(())
    }

    #[inline]
    fn add_at_place(bytes: &mut [u8], item: u64, pieces: i64) -> bool {
        let Some(stocks) = stocks_at(bytes) else { return false };
        let (all, _) = bytes[stocks].as_chunks_mut::<STOCK_BYTES>();
        let Some(stock) = all.iter_mut().find(|stock| stock[..8] == item.to_le_bytes()) else { return false };
        let quantity = &mut stock[8..];
        let before = quantity.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
        quantity.copy_from_slice(&before.wrapping_add(pieces).to_le_bytes());
        true
    }
}

/// Where the structures `Stock` of a table `Bin` are: planus reads tables, and has no places of them to change.
fn stocks_at(bytes: &[u8]) -> Option<std::ops::Range<usize>> {
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let table = word(0)? as usize;
    let vtable = usize::try_from(i64::try_from(table).ok()? - i64::from(word(table)?.cast_signed())).ok()?;
    // The size of the table of offsets, and the size of the table, come before the offsets of the fields.
    let entry = vtable + 4 + 2 * STOCKS_FIELD;
    let size = u16::from_le_bytes(*bytes.get(vtable..)?.first_chunk()?);
    if vtable + usize::from(size) < entry + 2 {
        return None;
    }
    let field = table + usize::from(u16::from_le_bytes(*bytes.get(entry..)?.first_chunk()?));
    let vector = field.checked_add(word(field)? as usize)?;
    let (start, count) = (vector + 4, word(vector)? as usize);
    let end = start.checked_add(count.checked_mul(STOCK_BYTES)?)?;
    (field > table && end <= bytes.len()).then_some(start..end)
}

fn malformed(error: impl std::fmt::Display) -> Malformed {
    Malformed::new("a bin in FlatBuffers", error)
}

/// The place of `stocks` among the fields of `Bin`.
const STOCKS_FIELD: usize = 2;
/// The size of the structure `Stock`: the item, and then the quantity.
const STOCK_BYTES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn bin() -> Bin {
        let stocks = vec![Stock { item: 3, quantity: 10 }, Stock { item: u64::MAX, quantity: -1 }];
        Bin { location: 7, name: "A-07-2".to_owned(), stocks }
    }

    fn check<C: BinCodec>() {
        let (mut codec, mut bytes, mut next) = (C::default(), Vec::new(), vec![1]);
        codec.encode(&bin(), &mut bytes);
        assert_eq!(C::decode(&bytes).unwrap(), bin());
        let mut expected = bin();
        // An item that is there, one that is not, and the same again.
        for (item, pieces) in [(u64::MAX, 5), (4, 2), (4, -3), (3, 1)] {
            codec.add(&bytes, item, pieces, &mut next).unwrap();
            let mut at_place = bytes.clone();
            let is_done = C::add_at_place(&mut at_place, item, pieces);
            let has_item = expected.stocks.iter().any(|stock| stock.item == item);
            assert_eq!(is_done, C::CHANGES_AT_PLACE && has_item, "{}", C::NAME);
            assert_eq!(at_place, if is_done { &next[..] } else { &bytes[..] }, "{}", C::NAME);
            std::mem::swap(&mut bytes, &mut next);
            expected.add(item, pieces);
            assert_eq!(C::decode(&bytes).unwrap(), expected, "{}", C::NAME);
            let quantity = expected.stocks.iter().find(|stock| stock.item == item).map(|stock| stock.quantity);
            assert_eq!(C::quantity(&bytes, item).unwrap(), quantity);
        }
        assert_eq!(C::quantity(&bytes, 5).unwrap(), None);
        for length in 0..bytes.len() {
            // Must not panic; a prefix of a message may be a message.
            let _ = (C::quantity(&bytes[..length], 3), codec.add(&bytes[..length], 3, 1, &mut next));
        }
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            let _ = (C::quantity(&damaged, 3), codec.add(&damaged, 3, 1, &mut next), C::decode(&damaged));
            C::add_at_place(&mut damaged, 3, 1);
        }
        assert!(C::quantity(&[255; 20], 3).is_err() && codec.add(&[255; 20], 3, 1, &mut next).is_err());
    }

    #[test]
    fn both_codecs_read_and_change_what_they_have_written() {
        check::<ProtobufBins>();
        check::<FlatBufferBins>();
    }
}
