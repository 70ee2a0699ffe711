//! Answers that are written on a blocking thread while they are sent.
//!
//! The thread writes into an [`AnswerWriter`]. What fits into one chunk is sent as a whole, with its length, and so can
//! still be refused; of longer answers the head is sent with the first chunk, and a failure after that cuts the
//! connection off.

use std::fmt;
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::http::admission::{Admission, Cancel, Evaluation};
use crate::http::panics;
use crate::http::refusal::Refusal;

/// Runs `work` on a blocking thread when its turn has come, and returns what it returns.
///
/// # Errors
/// As [`Admission::begin`], those of `work`, and 500 if it panics.
pub async fn compute<K: Cancel, T: Send + 'static>(
    admission: &Arc<Admission<K>>,
    work: impl FnOnce(K) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let (evaluation, permit) = admission.begin().await?;
    let token = evaluation.token();
    let computed = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        panics::catch(|| work(token))
    });
    computed
        .await
        .unwrap_or_else(|ended| Err(Refusal::failure(format!("a request has ended without an answer: {ended}"))))
}

/// As [`compute`], for work that writes the body of the answer and sets its media type.
///
/// # Errors
/// As [`compute`], of what happens before the first chunk is full.
pub async fn stream<K: Cancel>(
    admission: &Arc<Admission<K>>,
    work: impl FnOnce(K, &mut AnswerWriter) -> Result<(), Refusal> + Send + 'static,
) -> Result<Response, Refusal> {
    let (evaluation, permit) = admission.begin().await?;
    let token = evaluation.token();
    let (head_sender, head) = oneshot::channel();
    let handle = Handle::current();
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let mut writer = AnswerWriter::new(head_sender, handle);
        let outcome = panics::catch(|| work(token, &mut writer));
        writer.end(outcome);
    });
    let Head { media_type, body } = match head.await {
        Ok(head) => head?,
        Err(_) => return Err(Refusal::failure("a request has ended without an answer".into())),
    };
    let body = match body {
        Content::Whole(bytes) => Body::from(bytes),
        Content::Chunks(chunks, failure) => {
            Body::new(Streamed { chunks, failure, is_ended: false, _evaluation: evaluation })
        }
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// What is known when the answer begins.
struct Head {
    media_type: &'static str,
    body: Content,
}

enum Content {
    Whole(Bytes),
    Chunks(mpsc::Receiver<Piece>, Failure),
}

/// Why an answer was cut off, if the client is not to know: set before the sender of the pieces is dropped.
type Failure = Arc<OnceLock<String>>;

/// With the error of a body that was cut off: what the client is not told.
#[derive(Debug)]
pub struct CutOff {
    pub particulars: Option<String>,
}

impl fmt::Display for CutOff {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the evaluation has failed")
    }
}

impl std::error::Error for CutOff {}

enum Piece {
    Chunk(Bytes),
    /// The answer is whole. Without it, it has failed.
    End,
}

/// Where an answer is written. Requires: [`AnswerWriter::media_type`] is set before the first byte.
pub struct AnswerWriter {
    media_type: &'static str,
    buffer: Vec<u8>,
    begun: Instant,
    writes: u32,
    /// When a client that still reads is given up.
    until: Option<Instant>,
    state: Sending,
    handle: Handle,
}

enum Sending {
    /// Nothing yet.
    Nothing(oneshot::Sender<Result<Head, Refusal>>),
    Chunks(mpsc::Sender<Piece>, Failure),
    /// The client is gone, or all was sent.
    Ended,
}

impl AnswerWriter {
    fn new(head: oneshot::Sender<Result<Head, Refusal>>, handle: Handle) -> Self {
        Self {
            media_type: "application/octet-stream",
            buffer: Vec::new(),
            begun: Instant::now(),
            writes: 0,
            until: None,
            state: Sending::Nothing(head),
            handle,
        }
    }

    pub fn media_type(&mut self, media_type: &'static str) {
        self.media_type = media_type;
    }

    /// Gives up a client that does not take the rest of the answer within this time.
    pub fn all_within(&mut self, time: Duration) {
        self.until = Instant::now().checked_add(time);
    }

    fn send_chunk(&mut self) -> io::Result<()> {
        let chunk = Bytes::from(std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 8)));
        self.begun = Instant::now();
        if let Sending::Nothing(_) = self.state {
            let ((sender, chunks), failure) = (mpsc::channel(CHUNKS_AHEAD), Failure::default());
            let head = Head { media_type: self.media_type, body: Content::Chunks(chunks, Arc::clone(&failure)) };
            let sending = Sending::Chunks(sender, failure);
            if let Sending::Nothing(head_sender) = std::mem::replace(&mut self.state, sending) {
                // If the client has left, sending the chunk fails.
                let _ = head_sender.send(Ok(head));
            }
        }
        self.send(Piece::Chunk(chunk))
    }

    /// Waits until the connection has taken earlier chunks, but not for a client that has stopped to read.
    fn send(&mut self, piece: Piece) -> io::Result<()> {
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the client takes no more");
        let Sending::Chunks(sender, _) = &self.state else { return Err(gone()) };
        let left = self.until.map_or(STALL, |until| until.saturating_duration_since(Instant::now()).min(STALL));
        let sent = match sender.try_send(piece) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Closed(_)) => false,
            Err(mpsc::error::TrySendError::Full(_)) if left.is_zero() => false,
            Err(mpsc::error::TrySendError::Full(piece)) => {
                self.handle.block_on(async { matches!(timeout(left, sender.send(piece)).await, Ok(Ok(()))) })
            }
        };
        if sent {
            return Ok(());
        }
        self.state = Sending::Ended;
        Err(gone())
    }

    fn end(mut self, outcome: Result<(), Refusal>) {
        match (std::mem::replace(&mut self.state, Sending::Ended), outcome) {
            (Sending::Nothing(head), Ok(())) => {
                let body = Content::Whole(std::mem::take(&mut self.buffer).into());
                let _ = head.send(Ok(Head { media_type: self.media_type, body }));
            }
            (Sending::Nothing(head), Err(refusal)) => {
                let _ = head.send(Err(refusal));
            }
            (sending @ Sending::Chunks(..), Ok(())) => {
                self.state = sending;
                let _ = self.send_chunk().and_then(|()| self.send(Piece::End));
            }
            // The receiver sees the end without `Piece::End`.
            (Sending::Chunks(_sender, failure), Err(refusal)) => {
                if let Some(particulars) = refusal.particulars() {
                    let _ = failure.set(particulars.to_owned());
                }
            }
            (Sending::Ended, _) => {}
        }
    }
}

impl Write for AnswerWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.is_empty() {
            self.begun = Instant::now();
        }
        self.buffer.extend_from_slice(bytes);
        self.writes = self.writes.wrapping_add(1);
        let is_late = || self.writes.is_multiple_of(WRITES_PER_LOOK) && self.begun.elapsed() >= CHUNK_TIME;
        if self.buffer.len() >= CHUNK_BYTES || is_late() {
            self.send_chunk()?;
        }
        Ok(bytes.len())
    }

    /// Does nothing: chunks are sent when they are full, or late.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The body of an answer of several chunks. Dropping it cancels the evaluation.
struct Streamed<K: Cancel> {
    chunks: mpsc::Receiver<Piece>,
    failure: Failure,
    is_ended: bool,
    _evaluation: Evaluation<K>,
}

impl<K: Cancel> hyper::body::Body for Streamed<K> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.is_ended {
            return Poll::Ready(None);
        }
        self.chunks.poll_recv(context).map(|piece| match piece {
            Some(Piece::Chunk(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(Piece::End) => {
                self.is_ended = true;
                None
            }
            None => {
                self.is_ended = true;
                Some(Err(io::Error::other(CutOff { particulars: self.failure.get().cloned() })))
            }
        })
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

const CHUNK_BYTES: usize = 32 << 10;
const CHUNKS_AHEAD: usize = 2;
/// A chunk that is not full is sent after so long, so that rows that come slowly are seen.
const CHUNK_TIME: Duration = Duration::from_millis(500);
const WRITES_PER_LOOK: u32 = 16;
/// A client that takes nothing for so long is given up.
const STALL: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_reads_too_slowly_is_given_up_when_its_time_is_over() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let written = |time: Option<Duration>| {
            let (head_sender, mut head) = oneshot::channel();
            let mut writer = AnswerWriter::new(head_sender, runtime.handle().clone());
            time.into_iter().for_each(|time| writer.all_within(time));
            let chunk = vec![b'x'; CHUNK_BYTES];
            // It takes what there is, and then nothing while the next chunks are written.
            (0..CHUNKS_AHEAD).for_each(|_| writer.write_all(&chunk).expect("there is place"));
            let Ok(Ok(Head { body: Content::Chunks(mut chunks, _), .. })) = head.try_recv() else {
                panic!("the answer has begun")
            };
            if time.is_none() {
                chunks.try_recv().map_err(drop).expect("a chunk");
            }
            writer.write_all(&chunk)
        };
        written(None).expect("it has read one");
        let error = written(Some(Duration::ZERO)).expect_err("its time is over");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
