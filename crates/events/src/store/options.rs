//! Options of a store.

use std::sync::Arc;

use fulgurite::Durability;

use crate::reading::upcasters::Upcasters;

/// Options with which a store is opened.
///
/// ```
/// use fulgurite::Durability;
/// use fulgurite_events::EventStore;
///
/// # fn main() -> fulgurite_events::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// let path = directory.path().join("a.ful");
/// let store = EventStore::options().name("orders").durability(Durability::Log).create(path)?;
/// # drop(store);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct StoreOptions {
    pub(crate) name: String,
    pub(crate) durability: Durability,
    pub(crate) id_window: u64,
    pub(crate) states_kept: usize,
    pub(crate) upcasters: Arc<Upcasters>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            name: "events".into(),
            durability: Durability::Disk,
            id_window: ID_WINDOW_DEFAULT,
            states_kept: 1,
            upcasters: Arc::default(),
        }
    }
}

impl StoreOptions {
    /// Sets the name of the store, with which the names of its tables begin. A database can have several stores.
    /// Default: `events`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets what an append survives when it returns. Default: [`Durability::Disk`], a power cut. Concurrent appends
    /// share flushes of the disk. Followers see an event when this holds for it.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets within how many of the newest events of the store an event id is recognised. Default: 65,536. Each takes
    /// about 100 bytes of memory, if it has an id.
    #[must_use]
    pub fn id_window(mut self, events: u64) -> Self {
        self.id_window = events;
        self
    }

    /// Sets how many states of an aggregate are kept: the newest. Default: 1.
    #[must_use]
    pub fn states_kept(mut self, states: usize) -> Self {
        self.states_kept = states.max(1);
        self
    }

    /// Sets the functions by which payloads of old schema versions are read.
    #[must_use]
    pub fn upcasters(mut self, upcasters: Upcasters) -> Self {
        self.upcasters = Arc::new(upcasters);
        self
    }
}

/// See [`StoreOptions::id_window`].
const ID_WINDOW_DEFAULT: u64 = 65_536;
