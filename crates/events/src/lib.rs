//! Events in a Fulgurite database: streams, one log of all events without gaps, views and followers.
//!
//! ```
//! use fulgurite_events::{EventData, EventStore, Expected, Position, Version};
//!
//! # fn main() -> fulgurite_events::Result<()> {
//! # let directory = tempfile::tempdir().expect("a temporary directory");
//! let store = EventStore::create(directory.path().join("shop.ful"))?;
//! let placed = store.append("order-7", Expected::NoStream, &[EventData::new("placed", b"3 apples")])?;
//! store.append("order-7", Expected::Exact(placed.version), &[EventData::new("paid", b"2.40")])?;
//!
//! let snapshot = store.snapshot()?;
//! let mut events = snapshot.read_stream("order-7", Version(0))?;
//! while let Some(event) = events.next()? {
//!     println!("{} {:?}", snapshot.event_type(event.kind)?.name, event.payload);
//! }
//! assert_eq!(snapshot.head()?, Position(2));
//! # Ok(()) }
//! ```
//!
//! | you want to | begin at |
//! |---|---|
//! | open a store | [`EventStore::create`], [`StoreOptions`] |
//! | append | [`EventStore::append`], [`Expected`], [`EventData`] |
//! | append if nothing has happened that you have not read | [`EventStore::append_if`], [`AppendCondition`] |
//! | append together with changes of tables | [`EventStore::transact`], [`Transaction`] |
//! | read | [`EventStore::snapshot`], [`Snapshot`], [`Events`] |
//! | replay many events, on several threads | [`Snapshot::scan`], [`Snapshot::scan_parallel`] |
//! | fold events into tables, each exactly once | [`View`], [`EventStore::run_view`], [`EventStore::rebuild_view`] |
//! | compute a view again, on several threads | [`EventStore::rebuild_view_parallel`] |
//! | follow new events | [`EventStore::follow`], [`Follower`], [`Signal`] |
//! | follow from another process (Unix) | `EventStore::serve`, `RemoteFollower` |
//! | truncate, delete, keep a part | [`EventStore::delete_stream`], [`EventStore::apply_retention`] |
//! | check a store, and repair its indexes | [`Snapshot::check`], [`StoreOptions::rebuild_indexes`] |
//! | copy what a damaged store still has | [`Snapshot::salvage`] |
//! | encode and decode payloads | [`Codec`], [`Event::decode`] |
//! | change a FlatBuffer of a view without encoding it again | [`FlatTable`] |
//!
//! # What the store promises
//!
//! - **Positions** of all events are 0, 1, 2, … in the order of commits, and so are the **versions** in each stream.
//!   No reader sees a position without all positions before it. A failed append uses none.
//! - **An append** is atomic, and as durable as the store's options state: by default it survives a power cut.
//! - **A view** folds every event exactly once, even if the process is killed.
//! - **A follower** sees every event once, in order, without polling.
//!
//! `docs/guide/events.md` in the repository is a guide, `docs/reference/events.md` has the layout and the limits.

mod codec;
mod consumers;
mod error;
mod event;
mod ids;
mod layout;
mod reading;
mod store;

#[cfg(feature = "json")]
pub use codec::Json;
#[cfg(feature = "prost")]
pub use codec::Protobuf;
pub use codec::{Bytes, Codec, FlatTable};
#[cfg(feature = "flatbuffers")]
pub use codec::{FlatBuffer, FlatRoot};
pub use consumers::follower::{Delivered, Follower};
#[cfg(unix)]
pub use consumers::remote::{RemoteEvent, RemoteFollower};
#[cfg(unix)]
pub use consumers::serve::Server;
pub use consumers::signal::Signal;
pub use consumers::stop::Stop;
pub use consumers::view::{View, ViewContext, ViewProgress};
pub use error::{Error, Result};
pub use event::{Appended, Event, EventData, EventType, Expected, RecordedEvent, Tags};
pub use ids::{EventId, Position, StreamId, Timestamp, TypeId, Version};
pub use layout::stream::{StreamMetadata, StreamState};
pub use reading::check::report::{Defect, StoreReport};
pub use reading::events::Events;
pub use reading::partition::Partition;
pub use reading::query::{EventQuery, QueryItem};
pub use reading::salvage::{Salvage, Salvaged};
pub use reading::snapshot::{AggregateState, Snapshot, StreamInfo};
pub use reading::upcasters::Upcasters;
pub use store::append::AppendCondition;
pub use store::handle::EventStore;
pub use store::options::StoreOptions;
pub use store::reindex::IndexReport;
pub use store::retention::{Retention, RetentionReport};
pub use store::transaction::Transaction;

/// The examples of the guide. One of them has payloads in JSON, so they are compiled only with the feature `json`.
#[cfg(all(doctest, feature = "json"))]
#[doc = include_str!("../../../docs/guide/events.md")]
struct Guide;
