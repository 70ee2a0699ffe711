//! Which checkpoints live states still read, so that their pages are not reused.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::ids::Birth;
use crate::sync::{Arc, Instant, LockRank, Mutex};

/// The checkpoints that live states still read, so that their pages are not reused, and when each was replaced by the
/// next.
///
/// [`LockRank::Pins`].
#[derive(Debug)]
pub struct Pins(Mutex<BTreeMap<Birth, Option<Instant>>>);

/// One checkpoint is being read; dropped with the last state that reads it.
#[derive(Debug)]
pub struct Pin {
    pins: Arc<Pins>,
    birth: Birth,
}

impl Default for Pins {
    fn default() -> Self {
        Self(Mutex::ranked(LockRank::Pins, BTreeMap::new()))
    }
}

impl Pins {
    /// Pins the pages that exist at checkpoint `birth`. Requires: it is not pinned already.
    pub fn pin(all: &Arc<Self>, birth: Birth) -> Arc<Pin> {
        let mut pins = all.0.lock();
        let now = Instant::now();
        pins.values_mut().for_each(|replaced| _ = replaced.get_or_insert(now));
        let before = pins.insert(birth, None);
        assert!(before.is_none(), "each checkpoint is pinned once and the pin is shared");
        drop(pins);
        Arc::new(Pin { pins: Arc::clone(all), birth })
    }

    /// All pinned checkpoints, oldest first.
    pub fn pinned(&self) -> Vec<Birth> {
        self.0.lock().keys().copied().collect()
    }

    /// How long ago the oldest pinned checkpoint was replaced by the next. None if only the newest one is pinned.
    pub fn oldest_age(&self) -> Option<Duration> {
        self.0.lock().values().next().copied().flatten().map(|replaced| replaced.elapsed())
    }
}

impl Pin {
    /// The checkpoint that is pinned.
    pub fn birth(&self) -> Birth {
        self.birth
    }

    /// See [`Pins::oldest_age`].
    pub fn oldest_age(&self) -> Option<Duration> {
        self.pins.oldest_age()
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.0.lock().remove(&self.birth);
    }
}
