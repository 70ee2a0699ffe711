//! Reads request bodies into memory, within limits of size and time.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use hyper::body::{Frame, SizeHint};
use tokio::time::timeout;

use crate::http::refusal::Refusal;

/// Limits of a body.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    pub bytes_max: usize,
    /// For the complete body.
    pub time: Duration,
    /// What a client can do whose body is too large.
    pub instead: &'static str,
}

/// Whether a body is known to be so small that it needs no permit.
pub fn is_small(body: &Body) -> bool {
    body.size_hint().upper().is_some_and(|upper| upper <= SMALL_BYTES)
}

/// Reads a body.
///
/// # Errors
/// 413 if it is too large, 408 if it is too slow.
pub async fn read(body: Body, bounds: BodyLimits) -> Result<Vec<u8>, Refusal> {
    let BodyLimits { bytes_max, time, instead } = bounds;
    let mut body = pin!(body);
    let late = |_| Refusal::of(StatusCode::REQUEST_TIMEOUT, format!("the body was incomplete after {time:?}"));
    match timeout(time, collect(body.as_mut(), bytes_max)).await.map_err(late)?? {
        Some(bytes) => Ok(bytes),
        None => {
            discard(body).await;
            let message = format!("the body is larger than {bytes_max} bytes; {instead}");
            Err(Refusal::of(StatusCode::PAYLOAD_TOO_LARGE, message))
        }
    }
}

/// All of a body; `None` if it is larger than that.
async fn collect(mut body: Pin<&mut Body>, bytes_max: usize) -> Result<Option<Vec<u8>>, Refusal> {
    if body.size_hint().lower() > bytes_max as u64 {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    while let Some(data) = next_data(body.as_mut()).await? {
        if bytes.len() + data.len() > bytes_max {
            return Ok(None);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Some(bytes))
}

/// The next bytes of a body; `None` at its end.
async fn next_data(mut body: Pin<&mut Body>) -> Result<Option<Bytes>, Refusal> {
    loop {
        let frame = timeout(STALL, poll_fn(|context| body.as_mut().poll_frame(context))).await;
        let stalled = |_| Refusal::of(StatusCode::REQUEST_TIMEOUT, "no part of the body arrived for 30 seconds");
        match frame.map_err(stalled)? {
            None => return Ok(None),
            Some(Err(error)) => return Err(Refusal::bad_request(format!("the body cannot be read: {error}"))),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// Reads on for a while: a client that still sends when the connection is closed may not see the answer.
async fn discard(mut body: Pin<&mut Body>) {
    let read = async {
        let mut bytes = 0;
        while let (true, Ok(Some(data))) = (bytes < DISCARDED_BYTES, next_data(body.as_mut()).await) {
            bytes += data.len();
        }
    };
    let _ = timeout(DISCARD_TIME, read).await;
}

/// A body whose rest can be discarded after a handler has dropped it. The connection can be used again then: otherwise
/// it is closed, and a client that has begun another request on it gets an error.
#[derive(Clone)]
pub struct KeptBody(Arc<Mutex<Kept>>);

struct Kept {
    body: Body,
    /// Whether a part of it was asked for.
    is_begun: bool,
}

impl KeptBody {
    pub fn new(body: Body) -> Self {
        Self(Arc::new(Mutex::new(Kept { body, is_begun: false })))
    }

    /// Whether no part of it was asked for. A client that waits for `100 Continue` has not sent it then.
    pub fn is_untouched(&self) -> bool {
        let kept = self.lock();
        !kept.is_begun && !kept.body.is_end_stream()
    }

    /// Reads the rest, up to some size and for some time.
    pub async fn discard_rest(self) {
        let mut body = Body::new(self);
        if !body.is_end_stream() {
            discard(Pin::new(&mut body)).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpBody for KeptBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut kept = self.lock();
        kept.is_begun = true;
        Pin::new(&mut kept.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.lock().body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.lock().body.size_hint()
    }
}

pub const SMALL_BYTES: u64 = 64 << 10;
const DISCARDED_BYTES: usize = 16 << 20;
const DISCARD_TIME: Duration = Duration::from_secs(2);
/// A body is abandoned if no byte arrives for this time.
const STALL: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// An endless body: every second poll returns a byte.
    struct Dripping {
        is_next: bool,
    }

    impl HttpBody for Dripping {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.is_next = !self.is_next;
            if self.is_next {
                return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b" ")))));
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }
    }

    #[test]
    fn a_body_that_always_goes_on_ends_with_the_time_for_all_of_it() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let bounds = BodyLimits { bytes_max: 1 << 30, time: Duration::from_millis(20), instead: "send less" };
        let refusal = runtime.block_on(read(Body::new(Dripping { is_next: true }), bounds)).unwrap_err();
        assert_eq!(refusal.status, 408);
        assert!(refusal.message.contains("20ms"), "{}", refusal.message);
    }

    #[test]
    fn a_body_is_read_up_to_its_bound() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let read = |bytes_max| {
            let bounds = BodyLimits { bytes_max, time: Duration::from_secs(100), instead: "send less" };
            runtime.block_on(read(Body::from("12345"), bounds)).map_err(|refusal| refusal.status.as_u16())
        };
        assert_eq!(read(5), Ok(b"12345".to_vec()));
        assert_eq!(read(4), Err(413));
    }
}
