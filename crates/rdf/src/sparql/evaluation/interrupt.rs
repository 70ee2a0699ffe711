//! How an evaluation is ended wherever it is: by unwinding out of the evaluator, from one of the places where it comes
//! back to us.
//!
//! The evaluator asks for nothing while it joins, sorts and groups what it holds in memory, and takes errors within
//! filters for false. But it clones, compares and hashes terms all the time, and terms are ours: so [`HeldTerm`] counts
//! these, and looks at the limits now and then. A join of rows that bind nothing touches no term; `plan::witness` gives
//! such rows one.
//!
//! Invariants: (1) the payload of [`interrupt`] is thrown only within [`run`], which catches it, and calls no panic
//! hook: nothing is printed. Every other panic is an [`Error::Internal`] to the caller. (2) Nothing is thrown while the
//! thread unwinds already. (3) What was interrupted is dropped, never resumed. (4) Where panics abort, nothing is
//! thrown: callbacks return [`Stopped`] as an error, and loops that read no quads run to their end. (5) A form that is
//! asked for within [`run`] is asked for there alone: an evaluation that is interrupted before it takes the form leaves
//! nothing to the next one.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::evaluation_term::{EvaluationTerm, Form};
use super::limits::{EvaluationMonitor, Stopped};
use crate::error::Error;

/// Terms are touched so many times between two looks at the limits: some microseconds.
const TOUCHES_PER_LOOK: u32 = 256;

thread_local! {
    static TOUCHES_LEFT: Cell<u32> = const { Cell::new(TOUCHES_PER_LOOK) };
    /// The form in which an expression takes this term next: it has compared it with the form.
    static WANTED: Cell<Option<(EvaluationTerm, Form)>> = const { Cell::new(None) };
    /// The watch of the evaluation that this thread is in.
    static RUNNING: RefCell<Option<EvaluationMonitor>> = const { RefCell::new(None) };
}

/// The payload that is thrown. Private, so that no other panic can have it.
struct Interrupted;

/// Runs a part of the evaluator under the watch. `Err` if it was interrupted or panicked: the watch has the failure.
pub(crate) fn run<T>(watch: &EvaluationMonitor, work: impl FnOnce() -> T) -> Result<T, Stopped> {
    let _running = Running::begin(watch);
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(value) => Ok(value),
        Err(payload) if is_ours(&*payload) => Err(Stopped),
        Err(panic) => Err(watch.fail(internal("the evaluation", &*panic))),
    }
}

/// Runs what prepares an evaluation, or a whole one. A panic is an error.
pub(crate) fn without_panic<T>(place: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(internal(place, &*panic)))
}

/// What the caller gets for a panic.
pub(crate) fn internal(place: &str, panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a text");
    Error::Internal { message: format!("{place} panicked: {text}") }
}

fn is_ours(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Interrupted>()
}

/// The watch of the evaluation that this thread is in.
pub(crate) fn running() -> Option<EvaluationMonitor> {
    RUNNING.try_with(|running| running.borrow().clone()).ok().flatten()
}

/// Ends what [`run`] runs on this thread, if anything does and panics unwind; returns otherwise.
pub(crate) fn interrupt() {
    let is_running = RUNNING.try_with(|running| running.borrow().is_some()).unwrap_or(false);
    if cfg!(panic = "unwind") && is_running && !std::thread::panicking() {
        resume_unwind(Box::new(Interrupted));
    }
}

/// Looks at the limits of the evaluation that this thread is in, if it is in one, for work that touches no terms.
pub(crate) fn check() {
    look();
}

/// Ends the evaluation that this thread is in with `error`, if it is in one.
pub(crate) fn fail(error: Error) {
    if let Some(watch) = RUNNING.try_with(|running| running.borrow().clone()).ok().flatten() {
        let _: Stopped = watch.fail(error);
        interrupt();
    }
}

/// What a callback returns, unless it is a failure that ends the evaluation here and now.
pub(crate) fn or_interrupt<T>(result: Result<T, Stopped>) -> Result<T, Stopped> {
    if result.is_err() {
        interrupt();
    }
    result
}

/// The evaluator, or a sort of ours, touches a term.
#[inline]
pub(crate) fn touch() {
    TOUCHES_LEFT.with(|left| match left.get() {
        0 => look(),
        touches => left.set(touches - 1),
    });
}

#[cold]
fn look() {
    TOUCHES_LEFT.set(TOUCHES_PER_LOOK);
    if let Some(watch) = running()
        && watch.step().and_then(|()| watch.look()).is_err()
    {
        interrupt();
    }
}

/// The time in which a watch is that of the thread. Evaluations whose rows are asked for in turns follow each other.
struct Running<'w> {
    watch: &'w EvaluationMonitor,
    before: Option<EvaluationMonitor>,
    wanted_before: Option<(EvaluationTerm, Form)>,
    /// Of the thread, or of the evaluation that this one is within.
    bytes_before: Option<i64>,
}

impl<'w> Running<'w> {
    fn begin(watch: &'w EvaluationMonitor) -> Self {
        let (before, wanted_before) = (RUNNING.replace(Some(watch.clone())), WANTED.take());
        Self { watch, before, wanted_before, bytes_before: watch.memory().begin() }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.watch.memory().end(self.bytes_before);
        RUNNING.set(self.before.take());
        WANTED.set(self.wanted_before.take());
    }
}

/// A term as the evaluator holds it. It is not `Copy`, so that copying a row is seen.
#[derive(Debug, Eq)]
pub(crate) struct HeldTerm(EvaluationTerm);

impl HeldTerm {
    pub(crate) fn term(&self) -> EvaluationTerm {
        self.0
    }

    /// The form that was asked for, once.
    pub(crate) fn wanted_form(&self) -> Option<Form> {
        let (term, form) = WANTED.take()?;
        (term == self.0).then_some(form)
    }
}

impl From<EvaluationTerm> for HeldTerm {
    fn from(term: EvaluationTerm) -> Self {
        Self(term)
    }
}

impl Clone for HeldTerm {
    #[inline]
    fn clone(&self) -> Self {
        touch();
        Self(self.0)
    }
}

impl PartialEq for HeldTerm {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        touch();
        match (self.0, other.0) {
            (EvaluationTerm::Form(form), term) | (term, EvaluationTerm::Form(form)) => {
                WANTED.set(Some((term, form)));
                true
            }
            (left, right) => left == right,
        }
    }
}

impl Hash for HeldTerm {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        touch();
        self.0.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TermId;
    use crate::sparql::Limits;
    use spareval::CancellationToken;

    fn cancelled() -> EvaluationMonitor {
        let token = CancellationToken::new();
        token.cancel();
        EvaluationMonitor::start(&Limits::new().cancellation(token))
    }

    fn held() -> HeldTerm {
        EvaluationTerm::Stored(TermId::DEFAULT_GRAPH).into()
    }

    #[test]
    fn a_loop_that_does_nothing_but_copy_terms_is_interrupted() {
        let watch = cancelled();
        let interrupted = run::<()>(&watch, || {
            let term = held();
            loop {
                std::hint::black_box(term.clone());
            }
        });
        let _: Stopped = interrupted.expect_err("it does not end by itself");
        assert!(matches!(watch.take_failure(), Some(crate::Error::Cancelled)));
    }

    #[test]
    fn nothing_is_thrown_outside_of_an_evaluation() {
        interrupt();
        let term = held();
        for _ in 0..10 * TOUCHES_PER_LOOK {
            std::hint::black_box(term.clone());
        }
        assert!(run(&EvaluationMonitor::start(&Limits::new()), || ()).is_ok());
        interrupt();
    }

    #[test]
    fn a_form_that_an_interrupted_evaluation_asked_for_is_not_given_to_the_next() {
        let form = EvaluationTerm::Form(Form::Text).into();
        let interrupted = run::<()>(&cancelled(), || {
            assert!(held() == form);
            interrupt();
        });
        let _: Stopped = interrupted.expect_err("it is interrupted before it takes the form");
        let next = run(&EvaluationMonitor::start(&Limits::new()), || held().wanted_form());
        assert!(matches!(next, Ok(None)), "{:?}", next.ok());
    }

    #[test]
    fn an_evaluation_within_another_leaves_the_form_that_this_one_asked_for() {
        let form = EvaluationTerm::Form(Form::Text).into();
        let watch = EvaluationMonitor::start(&Limits::new());
        let outer = run(&watch, || {
            assert!(held() == form);
            let inner = run(&watch, || held().wanted_form());
            assert!(matches!(inner, Ok(None)));
            held().wanted_form()
        });
        assert!(matches!(outer, Ok(Some(Form::Text))));
    }

    #[test]
    fn another_panic_is_an_error_that_has_its_text() {
        let watch = EvaluationMonitor::start(&Limits::new());
        let panicked = run::<()>(&watch, || resume_unwind(Box::new("another")));
        let error = panicked.expect_err("it panicked").into_failure(&watch);
        let Error::Internal { message } = &error else { panic!("{error}") };
        assert_eq!(message, "the evaluation panicked: another");
        assert!(error.to_string().contains("report"), "{error}");
        interrupt();
    }
}
