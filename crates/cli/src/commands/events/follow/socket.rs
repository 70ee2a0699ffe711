//! `events follow --socket`: prints events that another process sends.

use std::io::{Write as _, stderr, stdout};
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
/// If no process serves at the socket at the beginning, or the store has no such position; those of the output.
pub fn run(arguments: &Follow, socket: &Path) -> Result<(), Failure> {
    let mut follower = match arguments.from {
        Some(from) => RemoteFollower::connect(socket, Position(from))?,
        None => RemoteFollower::connect_at_end(socket)?,
    };
    let mut left = arguments.limit.unwrap_or(u64::MAX);
    // A socket that has sent nothing may be that of another program: connecting to it again does not help.
    // The end of the store is something that it has sent.
    let mut has_heard = arguments.from.is_none();
    // Connections that have ended since something has arrived.
    let mut ended = 0_u64;
    loop {
        let (before, missed) = (follower.position(), follower.missed());
        let polled = print_arrived(&mut follower, &mut left)?;
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
                ended += 1;
                if ended == 1 {
                    let _ = writeln!(stderr(), "the connection has ended; connecting again at position {position}");
                } else if ended == ENDED_MANY {
                    let _ = writeln!(stderr(), "{REFUSING}");
                }
                follower = connect_again(socket, position, arguments.interval)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Prints at most `left` events that have arrived, and returns what the follower has returned.
fn print_arrived(
    follower: &mut RemoteFollower,
    left: &mut u64,
) -> Result<fulgurite_events::Result<Option<Signal>>, Failure> {
    let mut lines = String::new();
    let polled = follower.poll(WAIT, |remote| {
        if *left > 0 {
            *left -= 1;
            push_event(&remote.record(), &mut lines);
        }
        Ok(())
    });
    let mut out = stdout().lock();
    out.write_all(lines.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)?;
    Ok(polled)
}

/// Tries until a process serves at the socket.
fn connect_again(socket: &Path, position: Position, interval: Duration) -> Result<RemoteFollower, Failure> {
    loop {
        pause(interval)?;
        if let Ok(follower) = RemoteFollower::connect(socket, position) {
            return Ok(follower);
        }
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
