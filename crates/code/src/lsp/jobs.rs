//! [`Jobs`]: what the thread that answers is still to do.
//!
//! (1) Jobs are done in their order. (2) Of the changes of one file between two requests, only the last is kept: each
//! has the whole text.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use fulgurite_facts::CancellationToken;
use lsp_server::{Notification, Request};
use serde_json::Value as Json;

use crate::lsp::documents::CHANGED;

/// What the thread that answers is to do.
pub enum Job {
    /// Answer a request, unless it is cancelled.
    Answer(Request, CancellationToken),
    /// Note what the editor did to a file.
    Note(Notification),
}

/// The jobs that are left. Threads share it.
#[derive(Default)]
pub struct Jobs {
    /// Guards the jobs. No other lock is taken while it is held.
    state: Mutex<State>,
    /// Notified when a job is added, and when there will be no more.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    left: VecDeque<Job>,
    is_closed: bool,
}

impl Jobs {
    /// Adds a job. Returns whether it may be done: not if there were to be no more.
    pub fn add(&self, job: Job) -> bool {
        let mut state = self.state();
        if state.is_closed {
            return false;
        }
        if let Job::Note(note) = &job
            && let Some(replaced) = replaced(&state.left, note)
        {
            state.left.remove(replaced);
        }
        state.left.push_back(job);
        drop(state);
        self.changed.notify_one();
        true
    }

    /// Calls `work` with each job, until there will be no more, or it breaks.
    pub fn each(&self, mut work: impl FnMut(Job) -> ControlFlow<()>) {
        let _closing = Closing(self);
        while let Some(job) = self.next() {
            if work(job).is_break() {
                return;
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.left.pop_front() {
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When it is dropped, no more jobs are added. Those that are left are still done.
pub struct Closing<'j>(pub &'j Jobs);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.state().is_closed = true;
        self.0.changed.notify_all();
    }
}

/// The place of the change that a later one replaces.
fn replaced(jobs: &VecDeque<Job>, later: &Notification) -> Option<usize> {
    let uri = file_of(later).filter(|_| is_whole_change(later))?;
    for (at, job) in jobs.iter().enumerate().rev() {
        let Job::Note(note) = job else { return None };
        if file_of(note) == Some(uri) {
            return (note.method == CHANGED).then_some(at);
        }
    }
    None
}

fn file_of(note: &Notification) -> Option<&str> {
    note.params.pointer("/textDocument/uri")?.as_str()
}

fn is_whole_change(note: &Notification) -> bool {
    let changes = note.params.get("contentChanges").and_then(Json::as_array);
    let is_whole = |change: &Json| change.get("text").is_some() && change.get("range").is_none();
    note.method == CHANGED && changes.and_then(|changes| changes.last()).is_some_and(is_whole)
}

/// Whether a change has a part of the text. The server asks for whole texts.
pub fn is_partial_change(note: &Notification) -> bool {
    let changes = note.params.get("contentChanges").and_then(Json::as_array);
    let is_partial = |change: &Json| change.get("range").is_some_and(|range| !range.is_null());
    note.method == CHANGED && changes.and_then(|changes| changes.last()).is_some_and(is_partial)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(uri: &str, change: Json) -> Job {
        let params = json!({ "textDocument": { "uri": uri }, "contentChanges": [change] });
        Job::Note(Notification { method: CHANGED.to_owned(), params })
    }

    fn request() -> Job {
        let request = Request { id: 1.into(), method: "a".to_owned(), params: Json::Null };
        Job::Answer(request, CancellationToken::new())
    }

    /// The texts of changes, and `?` for requests.
    fn left(jobs: &Jobs) -> Vec<String> {
        drop(Closing(jobs));
        let mut left = Vec::new();
        jobs.each(|job| {
            left.push(match job {
                Job::Answer(..) => "?".to_owned(),
                Job::Note(note) => note.params["contentChanges"][0]["text"].as_str().unwrap_or("-").to_owned(),
            });
            ControlFlow::Continue(())
        });
        left
    }

    #[test]
    fn of_changes_of_a_file_without_a_request_between_them_the_last_is_kept() {
        let jobs = Jobs::default();
        let added = [("a", "1"), ("b", "2"), ("a", "3"), ("a", "4")];
        for (uri, text) in added {
            assert!(jobs.add(change(uri, json!({ "text": text }))));
        }
        jobs.add(request());
        jobs.add(change("b", json!({ "text": "5" })));
        // A part of a text replaces no text.
        jobs.add(change("b", json!({ "text": "6", "range": {} })));
        let closed = Notification { method: "close".to_owned(), params: json!({ "textDocument": { "uri": "b" } }) };
        jobs.add(Job::Note(closed));
        jobs.add(change("b", json!({ "text": "7" })));
        assert_eq!(left(&jobs), ["2", "4", "?", "5", "6", "-", "7"]);
    }

    #[test]
    fn no_jobs_are_added_after_the_last_one_or_when_the_work_has_ended() {
        let jobs = Jobs::default();
        jobs.add(request());
        jobs.add(request());
        let mut done = 0;
        jobs.each(|_| {
            done += 1;
            ControlFlow::Break(())
        });
        assert_eq!(done, 1);
        assert!(!jobs.add(request()));
        assert_eq!(left(&jobs), ["?"]);
    }
}
