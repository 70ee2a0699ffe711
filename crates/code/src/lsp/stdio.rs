//! Serving an editor on standard input and output.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use lsp_server::{Connection, Message};

use crate::error::{Error, Result};
use crate::live::LiveIndex;
use crate::lsp::input::read_message;
use crate::lsp::server::{EXIT, serve};

/// Serves an editor on standard input and output until it says `exit`, or ends.
///
/// # Errors
/// As [`serve`].
pub fn serve_stdio(index: &LiveIndex, root: Option<&Path>) -> Result<()> {
    let (ours, Connection { sender, receiver }) = Connection::memory();
    let failed = Arc::new(Mutex::new(None));
    let of_reader = Arc::clone(&failed);
    // Nothing waits for this thread: it ends with the input, which may stay open.
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            match read_message(&mut input) {
                Ok(Some(message)) => {
                    let is_last = matches!(&message, Message::Notification(last) if last.method == EXIT);
                    if sender.send(message).is_err() || is_last {
                        return;
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    *of_reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return;
                }
            }
        }
    });
    let sent = Arc::new(AtomicUsize::new(0));
    let of_writer = Arc::clone(&sent);
    let (ended, ending) = mpsc::channel();
    thread::spawn(move || {
        let mut output = io::stdout().lock();
        let written: io::Result<()> = receiver.iter().try_for_each(|message: Message| {
            message.write(&mut output)?;
            of_writer.fetch_add(1, Ordering::SeqCst);
            Ok(())
        });
        // Nothing waits for it, if it took too long.
        let _ = ended.send(written);
    });
    let served = serve(&ours, index, root);
    // The writer ends when the connection does, after the last answer.
    drop(ours);
    let written = end_of(&ending, &sent, STILL_MAX);
    let read = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
    // What is wrong in the input is why serving ended.
    read.map_or(served, Err)?;
    written.map_err(|error| Error::Client(error.to_string()))
}

/// Waits until the writer has ended, as long as it has sent a further message after each `still_max`.
fn end_of(ending: &mpsc::Receiver<io::Result<()>>, sent: &AtomicUsize, still_max: Duration) -> io::Result<()> {
    loop {
        let before = sent.load(Ordering::SeqCst);
        match ending.recv_timeout(still_max) {
            Ok(written) => return written,
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("writing to it ended early")),
            Err(RecvTimeoutError::Timeout) if sent.load(Ordering::SeqCst) == before => {
                return Err(io::Error::other("it does not read the answers"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// An editor that reads nothing for so long at the end gets no more.
const STILL_MAX: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_writer_that_is_blocked_is_not_awaited() {
        let sent = AtomicUsize::new(0);
        let (ended, ending) = mpsc::channel();
        let error = end_of(&ending, &sent, Duration::ZERO).expect_err("nothing is read");
        assert_eq!(error.to_string(), "it does not read the answers");
        ended.send(Ok(())).expect("the other end is there");
        end_of(&ending, &sent, Duration::ZERO).expect("it has ended");
        drop(ended);
        let error = end_of(&ending, &sent, Duration::ZERO).expect_err("the writer is gone");
        assert_eq!(error.to_string(), "writing to it ended early");
    }
}
