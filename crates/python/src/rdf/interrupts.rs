//! Work that an interrupt cancels.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;

use fulgurite_rdf::CancellationToken;
use pyo3::prelude::*;

use crate::change_feed::SLICE;
use crate::error::{Failure, Result};

/// Runs `work` on a thread of its own, and handles signals of the system meanwhile. If a handler raises an exception,
/// as for an interrupt, the token is cancelled, and the exception is raised when `work` has ended.
///
/// # Errors
/// Those of `work` and of handlers of signals.
pub fn cancelled_by_interrupts<T: Send>(
    py: Python<'_>,
    token: &CancellationToken,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    thread::scope(|scope| {
        let (sender, mut receiver) = sync_channel(1);
        let run = move || drop(sender.send(work()));
        let thread = thread::Builder::new().name("fulgurite-call".into());
        let thread = thread.spawn_scoped(scope, run).map_err(|error| no_thread(&error))?;
        let mut interrupt = None;
        loop {
            let receiver = &mut receiver;
            match py.detach(move || receiver.recv_timeout(SLICE)) {
                Ok(done) => return interrupt.map_or(done, Err),
                Err(RecvTimeoutError::Disconnected) => {
                    // The scope panics if a thread that is not joined has panicked.
                    let _ = thread.join();
                    return Err(died());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(raised) = py.check_signals() {
                token.cancel();
                interrupt.get_or_insert(Failure::Python(raised));
            }
        }
    })
}

/// The system starts no thread.
pub fn no_thread(error: &std::io::Error) -> Failure {
    Failure::Kind("IO", format!("no thread for the call: {error}"))
}

/// The thread has panicked.
pub fn died() -> Failure {
    Failure::Kind("INTERNAL", "the call has ended before its answer; this is a bug, please report it".into())
}
