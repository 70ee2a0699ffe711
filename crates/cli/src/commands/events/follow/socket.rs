//! `events follow --socket`: prints events that another process sends.

use std::io::{ErrorKind, Write as _, stderr, stdout};
use std::path::Path;
use std::time::Duration;

use fulgurite_events::{Error, Position, RemoteFollower, Signal};

use super::super::event_json::push_event;
use crate::arguments::events::Follow;
use crate::failure::Failure;
use crate::output::{counted, pause};

/// Prints one event on each line, and what the follower learns as messages. If the connection ends, it connects again
/// at the next position, as soon as a process serves there. It says once if each connection ends at once.
///
/// # Errors
/// If, at the beginning, no process serves at the socket, the store has no such position, or another process follows
/// with the same name. Errors of the output.
pub fn run(arguments: &Follow, socket: &Path) -> Result<(), Failure> {
    let mut follower = match (&arguments.consumer, arguments.from) {
        (Some(consumer), _) => RemoteFollower::connect_consumer(socket, consumer)?,
        (None, Some(from)) => RemoteFollower::connect(socket, Position(from))?,
        (None, None) => RemoteFollower::connect_at_end(socket)?,
    };
    let mut left = arguments.limit.unwrap_or(u64::MAX);
    // A socket that has sent nothing may be that of another program: connecting to it again does not help.
    // The end of the store is something that it has sent.
    let mut has_heard = arguments.from.is_none();
    // Connections that have ended since something has arrived.
    let mut ended = 0_u64;
    loop {
        let (before, missed) = (follower.position(), follower.missed());
        let polled = print_arrived(&mut follower, &mut left, arguments.consumer.is_some())?;
        if follower.missed() > missed {
            let positions = counted(follower.missed() - missed, "position was", "positions were");
            let _ = writeln!(stderr(), "{positions} skipped: retention had removed the events");
        }
        let has_arrived = follower.position() != before || matches!(polled, Ok(Some(_)));
        if has_arrived {
            (has_heard, ended) = (true, 0);
        }
        if left == 0 && (has_heard || polled.is_ok()) {
            return Ok(());
        }
        match polled {
            Ok(Some(Signal::CaughtUp)) => {
                let _ = writeln!(stderr(), "caught up at position {}", follower.position());
            }
            Ok(Some(Signal::FellBehind { events })) => {
                let _ = writeln!(stderr(), "fell behind: {events} events are waiting");
            }
            Ok(_) if has_arrived => {}
            // The reader of standard output may have closed it.
            Ok(_) => pause(LOOK)?,
            Err(Error::Socket { .. }) if has_heard => {
                let position = follower.position();
                // The other process waits until a consumer has acknowledged the last events.
                drop(follower);
                let is_first = ended == 0;
                if is_first {
                    let _ = match arguments.consumer {
                        // It continues at the position that the store keeps.
                        Some(_) => writeln!(stderr(), "the connection has ended; connecting again"),
                        None => writeln!(stderr(), "the connection has ended; connecting again at position {position}"),
                    };
                }
                has_ended(&mut ended);
                follower = connect_again(arguments, socket, position, &mut ended)?;
                if is_first && arguments.consumer.is_some() {
                    let _ = writeln!(stderr(), "connected again at position {}", follower.position());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Prints at most `left` events that have arrived, and returns what the follower has returned. A consumer then
/// acknowledges the printed events.
fn print_arrived(
    follower: &mut RemoteFollower,
    left: &mut u64,
    is_consumer: bool,
) -> Result<fulgurite_events::Result<Option<Signal>>, Failure> {
    let (mut lines, mut printed) = (String::new(), follower.position());
    let polled = follower.poll(WAIT, |remote| {
        if *left > 0 {
            *left -= 1;
            push_event(&remote.record(), &mut lines);
            printed = Position(remote.event.position.0 + 1);
        }
        Ok(())
    });
    let mut out = stdout().lock();
    out.write_all(lines.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)?;
    if !is_consumer {
        return Ok(polled);
    }
    // Acknowledges also if the connection has ended: the other process may still read. Events beyond the limit count as
    // not printed.
    let done = if *left > 0 { follower.position() } else { printed };
    let acknowledged = follower.acknowledge(done);
    Ok(polled.and_then(|signal| acknowledged.map(|()| signal)))
}

/// Tries until a process serves at the socket.
fn connect_again(
    arguments: &Follow,
    socket: &Path,
    position: Position,
    ended: &mut u64,
) -> Result<RemoteFollower, Failure> {
    loop {
        pause(arguments.interval)?;
        let connected = match &arguments.consumer {
            Some(consumer) => RemoteFollower::connect_consumer(socket, consumer),
            None => RemoteFollower::connect(socket, position),
        };
        match connected {
            Ok(follower) => return Ok(follower),
            // No process serves there yet.
            Err(Error::Socket { source, .. })
                if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {}
            Err(Error::Socket { .. }) => has_ended(ended),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Counts a connection that has ended, and prints a message once when many have ended.
fn has_ended(ended: &mut u64) {
    *ended += 1;
    if *ended == ENDED_MANY {
        let _ = writeln!(stderr(), "{REFUSING}");
    }
}

/// After so many connections that end without a frame, something is wrong.
const ENDED_MANY: u64 = 10;
/// What may be wrong. A server that finishes closes further connections, but not for long.
const REFUSING: &str =
    "the process at the socket ends each connection; it is ending, has 256 followers, or has another version";
/// How long to wait for events at once.
const WAIT: Duration = Duration::from_millis(200);
/// How long to look whether standard output is closed.
const LOOK: Duration = Duration::from_millis(1);
