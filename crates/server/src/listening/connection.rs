//! Accepts and serves connections, and ends them at a shutdown.

use std::future::{Future, poll_fn};
use std::net::TcpListener;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::error::{Error, Result};
use crate::http::admission::{Admission, Cancel};
use crate::listening::front::Front;
use crate::listening::write_timeout::WriteTimeout;
use crate::settings::Event;

/// Serves until `stop` is set. Then it gives requests the time of [`Settings::grace`](crate::settings::Settings), and
/// cancels those that are left.
///
/// # Errors
/// [`Error::System`].
pub async fn serve<K: Cancel>(
    listener: TcpListener,
    router: axum::Router,
    front: Arc<Front>,
    admission: Arc<Admission<K>>,
    stop: watch::Sender<bool>,
) -> Result<()> {
    let settings = &front.settings;
    let system = |what| move |source| Error::System { what, source };
    let listener = tokio::net::TcpListener::from_std(listener).map_err(system("sockets"))?;
    if settings.stop_on_signals {
        stop_on_signals(stop.clone()).map_err(system("signals"))?;
    }
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
    let mut stopping = stop.subscribe();
    let router = TowerToHyperService::new(router);
    loop {
        let next = async {
            let place = Arc::clone(&connections).acquire_owned().await;
            (place, listener.accept().await)
        };
        let Either::Right((place, accepted)) = either(pin!(stopped(&mut stopping)), pin!(next)).await else { break };
        match accepted {
            Ok((stream, _)) => {
                let (router, stopping, stall) = (router.clone(), stop.subscribe(), settings.stall);
                tokio::spawn(async move {
                    let _place = place;
                    serve_connection(stream, stall, router, stopping).await;
                });
            }
            Err(error) => {
                // Usually the process has no more file descriptors until other connections end.
                let message = format!("a connection cannot be accepted: {error}");
                settings.notify(Event::Failed { message: &message });
                let _ = either(pin!(sleep(ACCEPT_PAUSE)), pin!(stopped(&mut stopping))).await;
            }
        }
    }
    drop(listener);
    let all_closed = connections.acquire_many(CONNECTIONS_MAX);
    let mut all_closed = pin!(all_closed);
    if timeout(settings.grace, all_closed.as_mut()).await.is_err() {
        admission.cancel_all();
        let _ = timeout(CANCELLED, all_closed).await;
    }
    admission.cancel_all();
    let _ = timeout(CANCELLED, admission.all_ended()).await;
    Ok(())
}

type Routes = TowerToHyperService<axum::Router>;

async fn serve_connection(stream: TcpStream, stall: Duration, router: Routes, mut stopping: watch::Receiver<bool>) {
    // Small answers are not to wait for acknowledgements.
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(BUFFER_BYTES);
    let stream = TokioIo::new(WriteTimeout::new(stream, stall));
    let mut connection = pin!(builder.serve_connection(stream, router));
    // Errors are of clients that are gone, or speak no HTTP.
    if let Either::Right(()) = either(connection.as_mut(), pin!(stopped(&mut stopping))).await {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// Returns when the server is to stop.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, and with it the server.
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// Begins to stop; at the second time ends the process. What was committed is there nevertheless.
fn stop_or_exit(stop: &watch::Sender<bool>, code: i32) {
    let stops_already = stop.send_replace(true);
    if stops_already {
        std::process::exit(code);
    }
}

#[cfg(unix)]
fn stop_on_signals(stop: watch::Sender<bool>) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let (mut received, stop) = (signal(kind)?, stop.clone());
        tokio::spawn(async move {
            while received.recv().await.is_some() {
                stop_or_exit(&stop, 128 + kind.as_raw_value());
            }
        });
    }
    Ok(())
}

#[cfg(windows)]
fn stop_on_signals(stop: watch::Sender<bool>) -> std::io::Result<()> {
    let mut received = tokio::signal::windows::ctrl_c()?;
    tokio::spawn(async move {
        while received.recv().await.is_some() {
            stop_or_exit(&stop, INTERRUPTED);
        }
    });
    Ok(())
}

/// Which of two was done first; of two that are done, the left one.
enum Either<L, R> {
    Left(L),
    Right(R),
}

async fn either<L: Future, R: Future>(mut left: Pin<&mut L>, mut right: Pin<&mut R>) -> Either<L::Output, R::Output> {
    poll_fn(|context| {
        if let Poll::Ready(done) = left.as_mut().poll(context) {
            return Poll::Ready(Either::Left(done));
        }
        right.as_mut().poll(context).map(Either::Right)
    })
    .await
}

/// The exit code of a process that Ctrl-C has ended, as shells have it.
#[cfg(windows)]
const INTERRUPTED: i32 = 130;
const CONNECTIONS_MAX: u32 = 1024;
/// Of each direction of a connection; the head of a request is no longer.
const BUFFER_BYTES: usize = 64 << 10;
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// A client that does not send the head of a request for so long is cut off.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// What is cancelled has so long to notice.
const CANCELLED: Duration = Duration::from_secs(3);
