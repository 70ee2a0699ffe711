//! Panics while a request is answered: a bug, which ends that request alone.
//!
//! The client gets 500, or an answer that is visibly cut off; the connection's other requests and the server go on. The
//! server's log gets the place, which only the hook of the process knows. So [`note_places`] puts a hook before the one
//! that is there, which notes the place for the thread that [`catch`] or [`CatchPanic`] watches, and then calls the
//! other.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::pin::Pin;
use std::sync::Once;
use std::task::{Context, Poll};

use crate::http::refusal::Refusal;

thread_local! {
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
    /// Of the last panic on this thread, while it is watched.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has the places of panics noted from now on, for all servers of the process.
pub fn note_places() {
    static NOTED: Once = Once::new();
    NOTED.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if IS_WATCHED.try_with(Cell::get).unwrap_or(false) {
                let place = panic.location().map(ToString::to_string);
                let _ = PLACE.try_with(|noted| noted.replace(place));
            }
            before(panic);
        }));
    });
}

/// Does `work`, and refuses the request if it panics. A failure that a panic is behind, which the library has made an
/// error of, gets the panic's place too.
///
/// # Errors
/// Those of `work`, and 500 if it panics.
pub fn catch<T>(work: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    let watched = Watched::begin();
    let outcome = catch_unwind(AssertUnwindSafe(work));
    let place = watched.end();
    match (outcome, place) {
        (Ok(Err(refusal)), Some(place)) => Err(refusal.behind_it(&format!("a panic at {place}"))),
        (Ok(outcome), _) => outcome,
        (Err(payload), place) => Err(refusal_of(&*payload, place)),
    }
}

/// A future whose panics refuse the request, as [`catch`] does it.
pub struct CatchPanic<F>(Pin<Box<F>>);

impl<F> CatchPanic<F> {
    pub fn new(future: F) -> Self {
        Self(Box::pin(future))
    }
}

impl<F: Future> Future for CatchPanic<F> {
    type Output = Result<F::Output, Refusal>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let watched = Watched::begin();
        let polled = catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context)));
        let place = watched.end();
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(payload) => Poll::Ready(Err(refusal_of(&*payload, place))),
        }
    }
}

/// The time in which the places of this thread's panics are noted.
struct Watched {
    before: bool,
}

impl Watched {
    fn begin() -> Self {
        PLACE.take();
        Self { before: IS_WATCHED.replace(true) }
    }

    /// The place of the last panic meanwhile, whether or not it has come here.
    fn end(self) -> Option<String> {
        IS_WATCHED.set(self.before);
        PLACE.take()
    }
}

fn refusal_of(payload: &(dyn Any + Send), place: Option<String>) -> Refusal {
    let message = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref().map(String::as_str));
    let message = message.unwrap_or("a panic without a message");
    // A panic that another thread began, and this one went on with, was told by that one.
    let place = place.unwrap_or_else(|| "a place that standard error has".to_owned());
    Refusal::internal_error(format!("internal error at {place}: {message}; please report it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_panic_is_noted_for_the_thread_that_is_watched() {
        note_places();
        let refusal = catch(|| -> Result<(), Refusal> { panic!("planted {}", 7) }).unwrap_err();
        assert_eq!(refusal.status, 500);
        assert!(refusal.message.contains("internal error"), "{refusal:?}");
        let particulars = refusal.particulars().unwrap();
        assert!(particulars.contains("panics.rs:") && particulars.contains("planted 7"), "{particulars}");
    }

    #[test]
    fn a_panic_that_has_become_an_error_leaves_its_place_with_the_failure() {
        note_places();
        let refused = catch(|| -> Result<(), Refusal> {
            let _ = catch_unwind(|| panic!("planted"));
            Err(Refusal::failure("the evaluation has panicked".into()))
        });
        let particulars = refused.unwrap_err().particulars().unwrap().to_owned();
        assert!(particulars.contains("the evaluation has panicked") && particulars.contains("panics.rs:"));
        let refused = catch(|| -> Result<(), Refusal> { Err(Refusal::bad_request("no panic")) }).unwrap_err();
        assert!(refused.particulars().is_none(), "a place is reported once");
    }
}
