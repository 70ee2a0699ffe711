//! The work of the process that will be killed: threads that commit, and threads that read what is committed.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use fulgurite::{Database, Durability, Error, Sequence};

use super::acknowledged::{Acknowledged, Ring};
use super::other_processes;
use super::state::State;
use super::writer::Writer;
use crate::panics;
use crate::random::Random;

/// What the threads share.
struct Shared {
    writer: Writer,
    db: Database,
    state: State,
    ring: Ring,
    /// Of each thread: its last commit that was acknowledged, and its last one that is durable.
    acknowledged: Vec<[AtomicU64; 2]>,
}

/// Opens the database and ends; the parent may kill it meanwhile.
///
/// # Errors
/// What went wrong, in words.
pub fn open_only(writer: &Writer) -> Result<(), String> {
    writer.open().map(drop).map_err(|error| error.to_string())
}

/// Writes until the process is killed. `opened` is called when the database is open.
///
/// Returns only if something went wrong: what, in words.
pub fn write(writer: &Writer, opened: impl FnOnce()) -> String {
    let shared = match Shared::new(writer) {
        Ok(shared) => Arc::new(shared),
        Err(text) => return text,
    };
    opened();
    let (say, hear) = mpsc::channel();
    for thread in 0..writer.threads + READERS {
        let (shared, say) = (Arc::clone(&shared), say.clone());
        std::thread::spawn(move || {
            let work =
                || if thread < shared.writer.threads { commits(&shared, thread) } else { looks(&shared, thread) };
            let text = match panics::catch(work) {
                Ok(Ok(never)) => match never {},
                Ok(Err(text)) => text,
                Err(panic) => format!("it panics: {panic}"),
            };
            // The first message counts; the process ends then.
            let _ = say.send(format!("thread {thread}: {text}"));
        });
    }
    hear.recv().expect("every thread says how it ends")
}

impl Shared {
    fn new(writer: &Writer) -> Result<Self, String> {
        let told = |error: Error| format!("opening: {error}");
        let db = writer.open().map_err(told)?;
        let state = State::open(&db, writer.seed, writer.threads).map_err(told)?;
        db.sync().map_err(told)?;
        let ring = Ring::open(&writer.ring_path()).map_err(|error| format!("the acknowledgements: {error}"))?;
        let begun = state.verify(&db.read().map_err(told)?)?;
        let acknowledged = begun.iter().map(|number| [AtomicU64::new(*number), AtomicU64::new(*number)]).collect();
        Ok(Self { writer: writer.clone(), db, state, ring, acknowledged })
    }
}

/// Commits for ever.
fn commits(shared: &Shared, thread: u64) -> Result<Infallible, String> {
    let mut random = Random::for_part(shared.writer.drawn, &[2, thread]);
    let [visible, durable] = &shared.acknowledged[thread as usize];
    loop {
        let before = visible.load(Ordering::SeqCst);
        let done = match random.below(1000) {
            0..=2 => shared.db.checkpoint().map(|()| true),
            3..=5 => shared.db.sync().map(|_| true),
            _ => Ok(false),
        };
        if done.map_err(|error| format!("a checkpoint or sync fails: {error}"))? {
            durable.fetch_max(before, Ordering::SeqCst);
        }
        let level = match random.below(100) {
            0..=49 => Durability::Memory,
            50..=93 => Durability::Log,
            _ => Durability::Disk,
        };
        let exclusive = random.chance(1, 200);
        let (number, sequence) = loop {
            match commit(shared, thread, level, exclusive) {
                Ok(committed) => break committed,
                Err(error) if error.is_retryable() => std::thread::yield_now(),
                Err(error) => return Err(format!("a commit fails: {error}")),
            }
        };
        let survives = level >= Durability::Log;
        shared
            .ring
            .write(&Acknowledged { sequence: sequence.0, thread, number, survives })
            .map_err(|error| format!("the acknowledgements: {error}"))?;
        visible.store(number, Ordering::SeqCst);
        if level == Durability::Disk {
            durable.fetch_max(number, Ordering::SeqCst);
        }
    }
}

fn commit(shared: &Shared, thread: u64, level: Durability, exclusive: bool) -> fulgurite::Result<(u64, Sequence)> {
    let mut txn = match exclusive {
        true => shared.db.begin_exclusive(Duration::from_secs(30))?.ok_or(Error::TransactionTooOld)?,
        false => shared.db.write()?,
    };
    let number = shared.state.change(&mut txn, thread)?;
    Ok((number, txn.commit_with(level)?))
}

/// Looks at the whole state for ever: it must be whole, hold what was acknowledged before, and stay as it is.
fn looks(shared: &Shared, thread: u64) -> Result<Infallible, String> {
    let mut random = Random::for_part(shared.writer.drawn, &[3, thread]);
    loop {
        let durable = random.chance(1, 6);
        let acknowledged = shared.acknowledged.iter().map(|of| of[usize::from(durable)].load(Ordering::SeqCst));
        let acknowledged: Vec<u64> = acknowledged.collect();
        if random.chance(1, FORKS) {
            other_processes::fork_once(&shared.db)?;
        }
        let txn = if durable { shared.db.read_durable() } else { shared.db.read() };
        let txn = txn.map_err(|error| format!("reading: {error}"))?;
        let found = shared.state.verify(&txn)?;
        if acknowledged.iter().zip(&found).any(|(acknowledged, found)| found < acknowledged) {
            let what = if durable { "durable" } else { "visible" };
            return Err(format!("commits {acknowledged:?} were {what} before, and a snapshot shows {found:?}"));
        }
        std::thread::sleep(LOOKS_PAUSE);
        if random.chance(1, 3) {
            let again = shared.state.verify(&txn)?;
            if again != found {
                return Err(format!("a snapshot showed {found:?}, and then {again:?}"));
            }
        }
    }
}

/// One of so many looks is preceded by a fork.
const FORKS: u64 = 60;
/// Threads that read.
const READERS: u64 = 4;
/// Between two looks: most of the time belongs to the threads that write.
const LOOKS_PAUSE: Duration = Duration::from_micros(500);
