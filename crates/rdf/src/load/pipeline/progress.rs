//! Reports the progress of a load, and cancels it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::load::formats::input::BytesRead;
use crate::load::options::{LoadOptions, LoadProgress};

/// Watches a load: all its threads pass here again and again.
pub struct LoadMonitor {
    options: LoadOptions,
    bytes_read: Arc<BytesRead>,
    begun: Instant,
    quads: AtomicU64,
    /// Set when one thread has failed, so that the others end soon.
    failed: AtomicBool,
    /// What failed first.
    cause: Mutex<Option<Error>>,
    /// The stage, and when the progress was last reported.
    told: Mutex<(Stage, Option<Instant>)>,
}

/// What a load is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Parsing,
    Waiting,
    Numbering,
    Terms,
    Indexes,
}

impl Stage {
    /// As [`LoadProgress::stage`] lists them.
    fn words(self) -> &'static str {
        match self {
            Self::Parsing => "parsing",
            Self::Waiting => "waiting for writers",
            Self::Numbering => "numbering terms",
            Self::Terms => "building terms",
            Self::Indexes => "building indexes",
        }
    }
}

impl LoadMonitor {
    pub fn new(options: &LoadOptions, bytes_read: Arc<BytesRead>) -> Self {
        let (quads, failed, cause) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::new(None));
        let told = Mutex::new((Stage::Parsing, None));
        Self { options: options.clone(), bytes_read, begun: Instant::now(), quads, failed, cause, told }
    }

    /// A stage begins.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn stage(&self, stage: Stage) -> Result<()> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.0 != stage {
            *told = (stage, None);
        }
        drop(told);
        self.look()
    }

    /// So many more quads were parsed.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn parsed(&self, quads: u64) -> Result<()> {
        // Relaxed: the number is for people to look at, and read exactly when the threads have ended.
        self.quads.fetch_add(quads, Ordering::Relaxed);
        self.look()
    }

    /// Reports the progress if it is time to. Returns whether to go on.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the token is, or another thread has failed.
    pub fn look(&self) -> Result<()> {
        let cancelled = self.options.cancellation.as_ref().is_some_and(|token| token.is_cancelled());
        if cancelled || self.failed.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        let Some(progress) = &self.options.progress else { return Ok(()) };
        let Ok(mut told) = self.told.try_lock() else { return Ok(()) };
        let now = Instant::now();
        if told.1.is_some_and(|last| now - last < TELL_INTERVAL) {
            return Ok(());
        }
        told.1 = Some(now);
        let report = LoadProgress {
            stage: told.0.words(),
            bytes_read: self.bytes_read.read(),
            bytes_total: self.bytes_read.total(),
            quads: self.quads(),
            elapsed: self.elapsed(),
        };
        drop(told);
        progress(&report);
        Ok(())
    }

    /// Makes the other threads end soon.
    pub fn fail(&self, error: Error) {
        let mut cause = self.cause.lock().unwrap_or_else(PoisonError::into_inner);
        // A thread that another one leaves without work may come here before that one.
        if matches!(*cause, None | Some(Error::Cancelled)) {
            *cause = Some(error);
        }
        drop(cause);
        self.failed.store(true, Ordering::Relaxed);
    }

    /// The first of the errors with which threads [failed](Watch::fail); that it was cancelled only if there is no
    /// other.
    pub fn cause(&self) -> Error {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(Error::Cancelled)
    }

    pub fn quads(&self) -> u64 {
        self.quads.load(Ordering::Relaxed)
    }

    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

const TELL_INTERVAL: Duration = Duration::from_millis(200);
