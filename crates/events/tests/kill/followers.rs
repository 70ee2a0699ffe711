//! A process appends and serves its store, and another one follows it. One of them, or both, are killed at any moment
//! and started again. Afterwards the follower has seen every event once, in order, without gaps.
//!
//! The follower writes each event to a file before it asks for the next one, and continues after the last one there: so
//! the file has what all processes that followed have seen. Half of the connections are those of a named consumer: it
//! begins at a position that the store keeps, and at none above the end of the file.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fulgurite_events::{Error, EventStore, Position, RemoteEvent, RemoteFollower};

use crate::process::{ExitOnPanic, Process, end_with_parent};
use crate::store::{WRITERS, append_next, kills, next_number, open, parse};

/// The directory of a process that appends and serves.
const SERVES: &str = "EVENTS_SERVE_IN";
/// The directory of a process that follows.
const FOLLOWS: &str = "EVENTS_FOLLOW_IN";
const TEST: &str = "followers::a_follower_sees_every_event_once_after_every_kill_of_either_side";

/// The files of the processes.
struct Files(PathBuf);

impl Files {
    fn store(&self) -> PathBuf {
        self.0.join("a.ful")
    }

    fn socket(&self) -> PathBuf {
        self.0.join("a.sock")
    }

    fn seen(&self) -> PathBuf {
        self.0.join("seen")
    }

    /// How many events the follower has written down.
    fn count(&self) -> u64 {
        std::fs::metadata(self.seen()).map_or(0, |file| file.len() / RECORD_BYTES)
    }
}

/// What the follower writes down of an event: position, version, and what the payload says.
fn record(position: u64, version: u64, payload: &[u8]) -> [u64; 4] {
    let (writer, number) = parse(payload);
    [position, version, writer, number]
}

/// Appends and serves until it is killed.
fn serve(files: &Files) {
    end_with_parent();
    let store = open(&files.store());
    let _server = store.serve(files.socket()).unwrap();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = &store;
            scope.spawn(move || append(store, writer, files));
        }
    });
}

fn append(store: &EventStore, writer: u64, files: &Files) {
    let _guard = ExitOnPanic;
    let mut number = next_number(store, writer);
    loop {
        let head = store.snapshot().unwrap().head().unwrap().0;
        if head > files.count() + AHEAD_MAX {
            // The follower is slower, or not there: the log is not to grow meanwhile.
            thread::sleep(PAUSE);
        } else {
            number = append_next(store, writer, number);
        }
    }
}

/// Follows until it is killed, and connects again whenever the other process has ended.
fn follow(files: &Files) {
    end_with_parent();
    let mut seen = File::options().create(true).append(true).open(files.seen()).unwrap();
    let count = files.count();
    // The process before may have been killed while it wrote.
    seen.set_len(count * RECORD_BYTES).unwrap();
    let mut next = Position(count);
    loop {
        let is_consumer = files.count().is_multiple_of(2);
        let connected = match is_consumer {
            true => RemoteFollower::connect_consumer(files.socket(), "consumer"),
            false => RemoteFollower::connect(files.socket(), next),
        };
        let Ok(mut follower) = connected else {
            thread::sleep(PAUSE);
            continue;
        };
        assert!(follower.position() <= next, "the consumer begins at {}, and lacks {next}", follower.position());
        loop {
            // Events that were not acknowledged are delivered again.
            let polled = follower.poll(Duration::from_millis(50), |remote| match remote.event.position < next {
                true => Ok(()),
                false => note(&mut seen, remote),
            });
            let acknowledged = if is_consumer { follower.acknowledge(follower.position()) } else { Ok(()) };
            match polled.and(acknowledged) {
                Ok(()) => assert_eq!(follower.missed(), 0),
                Err(Error::Socket { .. }) => break,
                Err(error) => panic!("{error}"),
            }
        }
        next = next.max(follower.position());
    }
}

fn note(seen: &mut File, remote: &RemoteEvent<'_>) -> fulgurite_events::Result<()> {
    let event = &remote.event;
    let bytes = record(event.position.0, event.version.0, event.payload).map(u64::to_le_bytes).concat();
    seen.write_all(&bytes).map_err(Error::program)
}

/// Both processes, and what decides when one is killed.
struct Pair {
    files: Files,
    server: Process,
    follower: Process,
}

impl Pair {
    fn start(directory: &Path) -> Self {
        let files = Files(directory.to_path_buf());
        let (server, follower) = (Self::start_server(&files), Self::start_follower(&files));
        Self { files, server, follower }
    }

    fn start_server(files: &Files) -> Process {
        Process::start(TEST, &files.0, "server", &[(SERVES, files.0.as_path())])
    }

    fn start_follower(files: &Files) -> Process {
        Process::start(TEST, &files.0, "follower", &[(FOLLOWS, files.0.as_path())])
    }

    fn kill_server(&mut self) {
        self.server.kill();
        self.server = Self::start_server(&self.files);
    }

    fn kill_follower(&mut self) {
        self.follower.kill();
        self.follower = Self::start_follower(&self.files);
    }

    /// Waits until the follower has written down so many events.
    fn await_count(&mut self, count: u64) {
        let deadline = Instant::now() + PATIENCE;
        while self.files.count() < count {
            self.server.expect_running();
            self.follower.expect_running();
            let found = self.files.count();
            assert!(Instant::now() < deadline, "the follower has {found} events, and waits for {count}");
            thread::sleep(PAUSE);
        }
    }
}

/// Compares what the follower has seen with the log.
fn check(store: &EventStore, files: &Files) {
    let bytes = std::fs::read(files.seen()).unwrap();
    let (words, _) = bytes.as_chunks::<8>();
    let (records, rest) = words.as_chunks::<4>();
    assert!(rest.is_empty());
    let mut seen = records.iter().map(|words| words.map(u64::from_le_bytes)).zip(0..);
    let mut numbers = [0; WRITERS as usize];
    let snapshot = store.snapshot().unwrap();
    snapshot
        .scan(.., |event| {
            let (found, position) = seen.next().expect("the follower has seen every event");
            assert_eq!(event.position.0, position);
            assert_eq!(found, record(position, event.version.0, event.payload), "at position {position}");
            let (writer, number) = parse(event.payload);
            assert_eq!((event.version.0, number), (numbers[writer as usize], numbers[writer as usize]));
            numbers[writer as usize] += 1;
        })
        .unwrap();
    assert_eq!(seen.next(), None, "the follower has seen an event that is not there");
}

#[test]
fn a_follower_sees_every_event_once_after_every_kill_of_either_side() {
    let directory_in = |variable: &str| std::env::var_os(variable).map(|path| Files(path.into()));
    if let Some(files) = directory_in(SERVES) {
        return serve(&files);
    }
    if let Some(files) = directory_in(FOLLOWS) {
        return follow(&files);
    }
    let (all, seed) = (kills(), seed());
    println!("EVENTS_SEED={seed} EVENTS_KILLS={all} cargo test -p fulgurite-events --test kill");
    let kills = share(all);
    let directory = tempfile::tempdir().unwrap();
    let mut pair = Pair::start(directory.path());
    for kill in 0..kills {
        // Most kills come after new events, the others perhaps while a process begins.
        if chosen(seed, kill, 3) > 0 {
            pair.await_count(pair.files.count() + 1);
        }
        thread::sleep(Duration::from_micros(chosen(seed, kill + kills, 20_000)));
        match chosen(seed, kill + 2 * kills, 5) {
            0..=1 => pair.kill_server(),
            2..=3 => pair.kill_follower(),
            _ => {
                pair.kill_server();
                pair.kill_follower();
            }
        }
    }
    pair.await_count(pair.files.count() + 1);
    // This process serves what there is, until the follower has seen all of it.
    pair.server.kill();
    let store = open(&pair.files.store());
    let _server = store.serve(pair.files.socket()).unwrap();
    let head = store.snapshot().unwrap().head().unwrap().0;
    let deadline = Instant::now() + PATIENCE;
    while pair.files.count() < head {
        pair.follower.expect_running();
        assert!(Instant::now() < deadline, "the follower has {} of {head} events", pair.files.count());
        thread::sleep(PAUSE);
    }
    pair.follower.kill();
    check(&store, &pair.files);
}

#[test]
fn the_fewest_kills_still_kill_one_side_of_a_follower() {
    assert_eq!([0, 1, 8, 9, 200].map(share), [0, 1, 1, 2, 25]);
}

/// How many of all kills are for this test: one of so many, rounded up.
fn share(kills: u64) -> u64 {
    kills.div_ceil(SHARE)
}

/// A number below `bound` that follows from the seed.
fn chosen(seed: u64, number: u64, bound: u64) -> u64 {
    let mixed = (seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53) % bound
}

/// What decides which process is killed, and when. The machine decides, too, where that process is then.
fn seed() -> u64 {
    let drawn = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_millis() as u64);
    std::env::var("EVENTS_SEED").map_or_else(|_| drawn(), |seed| seed.parse().unwrap())
}

/// Of so many kills, one is for this test: it takes longer, and the events of all rounds stay. See [`share`].
const SHARE: u64 = 8;
/// Bytes that the follower writes for an event.
const RECORD_BYTES: u64 = 32;
/// How many events the follower may lack.
const AHEAD_MAX: u64 = 500;
/// How long a process waits for another one at once.
const PAUSE: Duration = Duration::from_millis(1);
/// Longer than anything takes, unless it fails.
const PATIENCE: Duration = Duration::from_secs(60);
