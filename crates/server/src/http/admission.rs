//! Limits how many requests are evaluated at once, and cancels them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::http::refusal::Refusal;

/// What cancels an evaluation. Clones cancel the same one.
pub trait Cancel: Clone + Default + Send + Sync + Unpin + 'static {
    fn cancel(&self);
}

/// Admits requests to evaluation.
pub struct Admission<K: Cancel> {
    permits: Arc<Semaphore>,
    permits_max: u32,
    uploads: Arc<Semaphore>,
    wait: Duration,
    /// Requests that wait for a permit. More than [`WAITING_MAX`] are refused at once.
    waiting: Semaphore,
    tokens: Mutex<Tokens<K>>,
    stopping: AtomicBool,
}

/// The tokens of running evaluations, for cancellation at a shutdown. No other lock is taken while this is held.
struct Tokens<K> {
    next: u64,
    all: HashMap<u64, K>,
}

/// An evaluation. Dropping it cancels it.
pub struct Evaluation<K: Cancel> {
    admission: Arc<Admission<K>>,
    number: u64,
    token: K,
}

impl<K: Cancel> Admission<K> {
    pub fn new(queries_max: usize, wait: Duration) -> Self {
        let permits_max = u32::try_from(queries_max).unwrap_or(u32::MAX).clamp(1, PERMITS_MAX);
        Self {
            permits: Arc::new(Semaphore::new(permits_max as usize)),
            permits_max,
            uploads: Arc::new(Semaphore::new(permits_max as usize)),
            wait,
            waiting: Semaphore::new(WAITING_MAX),
            tokens: Mutex::new(Tokens { next: 0, all: HashMap::new() }),
            stopping: AtomicBool::new(false),
        }
    }

    /// The number of evaluations that may run at once.
    pub fn permits_max(&self) -> usize {
        self.permits_max as usize
    }

    /// Waits for a permit, and begins an evaluation.
    ///
    /// # Errors
    /// 503 if the wait is too long, if too many wait, and while the server is shutting down.
    pub async fn begin(self: &Arc<Self>) -> Result<(Evaluation<K>, OwnedSemaphorePermit), Refusal> {
        let busy = || Refusal::busy("too many requests; retry later");
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _waits = self.waiting.try_acquire().map_err(|_| busy())?;
                let permit = timeout(self.wait, Arc::clone(&self.permits).acquire_owned()).await;
                permit.map_err(|_| busy())?.map_err(|_| stopping())?
            }
        };
        let token = K::default();
        let number = {
            let mut tokens = self.lock();
            tokens.next += 1;
            let number = tokens.next;
            tokens.all.insert(number, token.clone());
            number
        };
        // `cancel_all` sets this before it takes the lock, so it either finds the token or is noticed here.
        if self.stopping.load(Ordering::SeqCst) {
            token.cancel();
        }
        Ok((Evaluation { admission: Arc::clone(self), number, token }, permit))
    }

    /// Waits for a permit to hold a large body in memory. There are as many as for evaluations.
    ///
    /// # Errors
    /// As [`Admission::begin`].
    pub async fn receive(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let permit = timeout(self.wait, Arc::clone(&self.uploads).acquire_owned()).await;
        let busy = |_| Refusal::busy("too many uploads; retry later");
        permit.map_err(busy)?.map_err(|_| stopping())
    }

    /// Cancels all running evaluations, and all that begin later.
    pub fn cancel_all(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        for token in self.lock().all.values() {
            token.cancel();
        }
    }

    /// Returns when no evaluation runs. From then on none begins.
    pub async fn all_ended(&self) {
        if let Ok(permits) = self.permits.acquire_many(self.permits_max).await {
            permits.forget();
            self.permits.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tokens<K>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Cancel> Evaluation<K> {
    pub fn token(&self) -> K {
        self.token.clone()
    }
}

impl<K: Cancel> Drop for Evaluation<K> {
    fn drop(&mut self) {
        self.token.cancel();
        self.admission.lock().all.remove(&self.number);
    }
}

fn stopping() -> Refusal {
    Refusal::of(axum::http::StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down")
}

const WAITING_MAX: usize = 256;
const PERMITS_MAX: u32 = 1 << 12;
