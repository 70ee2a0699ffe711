//! What the benchmark `storagebench` stores: bins of an inventory and events of auctions, each in Protocol Buffers and
//! in FlatBuffers.
//!
//! The schemas are `schema/inventory.proto` and `schema/inventory.fbs`. A build generates their code.
//!
//! ```
//! use fulgurite_inventory::{Bin, BinCodec, FlatBufferBins, ProtobufBins, Stock};
//!
//! let bin = Bin { location: 7, name: "A-07-2".to_owned(), stocks: vec![Stock { item: 3, quantity: 10 }] };
//! let (mut before, mut after) = (Vec::new(), Vec::new());
//! FlatBufferBins::default().encode(&bin, &mut before);
//! FlatBufferBins::default().add(&before, 3, 5, &mut after)?;
//! assert_eq!(FlatBufferBins::quantity(&after, 3)?, Some(15));
//!
//! ProtobufBins.encode(&bin, &mut before);
//! assert_eq!(ProtobufBins::quantity(&before, 4)?, None);
//! # Ok::<(), fulgurite_inventory::Malformed>(())
//! ```

mod auction;
mod auction_codec;
mod bin;
mod bin_codec;
mod generated;
mod malformed;

pub use auction::{AuctionEvent, AuctionReport, CAMPAIGNS, CampaignTotals, KINDS};
pub use auction_codec::{AuctionCodec, FlatBufferAuctions, ProtobufAuctions};
pub use bin::{Bin, Stock};
pub use bin_codec::{BinCodec, FlatBufferBins, ProtobufBins};
pub use malformed::Malformed;
