//! The process whose disk fails: threads that commit, load and make checkpoints, and one that reads.
//!
//! It talks with its parent by lines: it says `open`, begins when it is told anything, and says `struck 0` when a
//! call fails for the first time. Told `fill`, it begins a round, whose number is one higher, and says `struck` again
//! when a call fails that was made in it; told `room`, it says `goes on` when one succeeds that was made after that.
//! Told `end` or `end sound`, it stops, looks at what it sees, says for each thread what that was told last, and
//! exits. `sound` means that nothing fails any more.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use fulgurite::{Database, Durability, Error};

use super::loads::Loads;
use crate::kill::{Acknowledged, Ring, State, Unlike};
use crate::panics;
use crate::random::Random;

/// What a writer needs to know.
#[derive(Clone, Debug)]
pub struct Writer {
    /// The directory of the database.
    pub directory: PathBuf,
    /// The directory of the acknowledgements, where nothing fails.
    pub acknowledgements: PathBuf,
    /// The run's seed, from which what is committed follows.
    pub seed: u64,
    /// The seed of how this process goes about it.
    pub drawn: u64,
    /// Whether the files are mapped.
    pub map: bool,
    /// The level from which a commit is to survive what will be done.
    pub survives: Durability,
    /// What is there when it begins.
    pub began: Vec<Ending>,
}

/// What one thread was told last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The number of its last commit that was acknowledged.
    pub number: u64,
    /// Whether the one after that is in doubt.
    pub in_doubt: bool,
    /// The number of its last bulk load that was acknowledged.
    pub load: u64,
    /// Whether the one after that is in doubt.
    pub load_in_doubt: bool,
}

impl Writer {
    /// The database's options, without a map.
    pub(super) fn options(&self) -> fulgurite::Options {
        let mut random = Random::for_part(self.drawn, &[1]);
        let options = Database::options().create(true).map(false).delta_bytes((64 << 10) << random.below(5));
        options.background(random.chance(3, 4)).cache_bytes(CACHE_BYTES)
    }

    /// Where the database is.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.join("kernel.ful")
    }

    /// Where commits are acknowledged.
    pub(super) fn commits_path(&self) -> PathBuf {
        self.acknowledgements.join("commits")
    }

    /// Where bulk loads are acknowledged.
    pub(super) fn loads_path(&self) -> PathBuf {
        self.acknowledgements.join("loads")
    }
}

impl Ending {
    /// In a line of text, as [`Ending::parse`] reads it.
    pub fn text(&self) -> String {
        let Self { number, in_doubt, load, load_in_doubt } = *self;
        format!("{number}:{}:{load}:{}", u8::from(in_doubt), u8::from(load_in_doubt))
    }

    /// Reads what [`Ending::text`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> = text.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let [number, in_doubt, load, load_in_doubt] = numbers[..] else { return None };
        Some(Self { number, in_doubt: in_doubt == 1, load, load_in_doubt: load_in_doubt == 1 })
    }
}

/// What the threads share.
struct Shared<'w> {
    writer: &'w Writer,
    db: Database,
    state: State,
    loads: Loads,
    commits_ring: Ring,
    loads_ring: Ring,
    /// Of each thread: the number of a commit that is durable.
    durable: Vec<AtomicU64>,
    stop: AtomicBool,
    /// Guards what was said about the round. No other lock is taken under it, but for that of the output.
    round: Mutex<Round>,
}

/// From one `fill` to the next.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    number: u64,
    /// Whether the parent says that there is room again.
    has_room: bool,
    /// Whether it was said that a call failed.
    struck: bool,
    /// Whether it was said that one succeeded after that.
    goes_on: bool,
}

impl Round {
    /// A call that was made in the round `made` has failed. Answers whether that is to be said.
    fn fails(&mut self, made: Self) -> bool {
        // What failed late belongs to the round before, and this one has still to be struck.
        self.number == made.number && !std::mem::replace(&mut self.struck, true)
    }

    /// A call that was made in the round `made` has succeeded. Answers whether that is to be said.
    fn succeeds(&mut self, made: Self) -> bool {
        let counts = self.number == made.number && made.has_room && self.struck;
        counts && !std::mem::replace(&mut self.goes_on, true)
    }
}

/// Works until the parent ends it. Returns what is wrong.
///
/// # Errors
/// What is wrong, in words.
pub fn write(writer: &Writer) -> Result<(), String> {
    let shared = match Shared::new(writer) {
        Ok(shared) => shared,
        Err(Unlike::Unread { error, .. }) if is_of_the_disk(&error) => {
            say(&format!("not open: {error}"));
            return Ok(());
        }
        Err(unlike) => return Err(unlike.into()),
    };
    say("open");
    let mut orders = std::io::stdin().lines();
    let mut order = || orders.next().and_then(Result::ok).ok_or_else(|| String::from("the parent is gone"));
    order()?;
    let (endings, sound) = std::thread::scope(|scope| {
        let shared = &shared;
        let threads: Vec<_> = (0..writer.began.len() as u64)
            .map(|thread| scope.spawn(move || shared.stop_if_wrong(thread, || commits(shared, thread))))
            .collect();
        let reader = scope.spawn(move || shared.stop_if_wrong(u64::MAX, || looks(shared)));
        let order = loop {
            match order() {
                Ok(order) if order == "fill" => shared.begin_round(),
                Ok(order) if order == "room" => shared.round().has_room = true,
                order => break order,
            }
        };
        shared.stop.store(true, Ordering::SeqCst);
        let endings: Result<Vec<Ending>, String> =
            threads.into_iter().map(|thread| thread.join().expect("panics are caught inside")).collect();
        reader.join().expect("panics are caught inside")?;
        Ok::<_, String>((endings?, order? == "end sound"))
    })?;
    finish(&shared, endings, sound)
}

impl<'w> Shared<'w> {
    fn new(writer: &'w Writer) -> Result<Self, Unlike> {
        let told = |error: Error| Unlike::Unread { what: "the database".into(), error };
        let ring = |path: PathBuf| Ring::open(&path).map_err(|error| Unlike::Differs(format!("{NOTES}{error}")));
        let db = writer.options().map(writer.map).open(writer.path()).map_err(told)?;
        let threads = writer.began.len() as u64;
        let state = State::open(&db, writer.seed, threads).map_err(told)?;
        let loads = Loads::open(&db, threads).map_err(told)?;
        Ok(Self {
            writer,
            db,
            state,
            loads,
            commits_ring: ring(writer.commits_path())?,
            loads_ring: ring(writer.loads_path())?,
            durable: writer.began.iter().map(|ending| AtomicU64::new(ending.number)).collect(),
            stop: AtomicBool::new(false),
            round: Mutex::default(),
        })
    }

    /// Does a thread's work. If that finds something wrong, the others stop too, and the parent hears of it at once.
    fn stop_if_wrong<T>(&self, thread: u64, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        let outcome = panics::catch(work).unwrap_or_else(|panic| Err(format!("it panics: {panic}")));
        outcome.map_err(|text| {
            self.stop.store(true, Ordering::SeqCst);
            let text = format!("thread {}: {text}", thread.cast_signed());
            say(&format!("wrong: {text}"));
            text
        })
    }

    fn goes(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }

    fn is_poisoned(&self) -> bool {
        matches!(self.db.write(), Err(Error::Poisoned { .. }))
    }

    fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock().expect("no thread panics while it holds this lock")
    }

    fn begin_round(&self) {
        let mut round = self.round();
        *round = Round { number: round.number + 1, ..Round::default() };
    }

    /// Notes that a call failed which was made in the round `made`.
    fn note_failure(&self, made: Round, error: &Error) -> Result<(), String> {
        if !is_of_the_disk(error) {
            return Err(format!("an error that no failing call explains: {error}"));
        }
        let mut round = self.round();
        if round.fails(made) {
            let what = if matches!(error, Error::DiskFull { .. }) { "full" } else { "failed" };
            say(&format!("struck {} {what}: {error}", round.number));
        }
        drop(round);
        // A refused thread waits: the disk will not be better at once.
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }

    /// Notes that a call succeeded which was made in the round `made`, and reached the disk.
    fn note_success(&self, made: Round) {
        let mut round = self.round();
        if round.succeeds(made) {
            say(&format!("goes on {}", round.number));
        }
    }

    fn acknowledge(&self, ring: &Ring, commit: &Acknowledged) -> Result<(), String> {
        ring.write(commit).map_err(|error| format!("{NOTES}{error}"))
    }
}

/// Commits, loads and makes checkpoints until there is no more to be had.
fn commits(shared: &Shared<'_>, thread: u64) -> Result<Ending, String> {
    let mut random = Random::for_part(shared.writer.drawn, &[2, thread]);
    let mut ending = shared.writer.began[thread as usize];
    while shared.goes() {
        let made = *shared.round();
        let on_disk = |()| Durability::Disk;
        let outcome = match random.below(1000) {
            0..=4 => shared.db.checkpoint().map(on_disk),
            5..=9 => shared.db.sync().map(|_| Durability::Disk),
            10..=15 => load(shared, thread, &mut ending, &mut random)?.map(on_disk),
            _ => commit(shared, thread, &mut ending, &mut random)?,
        };
        match outcome {
            // In memory there was room all along.
            Ok(Durability::Memory) => {}
            Ok(_) => shared.note_success(made),
            Err(error) if error.is_retryable() => std::thread::yield_now(),
            Err(error) => {
                shared.note_failure(made, &error)?;
                if shared.is_poisoned() {
                    break;
                }
            }
        }
    }
    Ok(ending)
}

/// Answers the level that it was made durable at. The outer error is something wrong.
fn commit(
    shared: &Shared<'_>,
    thread: u64,
    ending: &mut Ending,
    random: &mut Random,
) -> Result<fulgurite::Result<Durability>, String> {
    let level = match random.below(100) {
        0..=9 => Durability::Memory,
        10..=64 => Durability::Log,
        _ => Durability::Disk,
    };
    let work = || {
        let mut txn = shared.db.write()?;
        let number = shared.state.change(&mut txn, thread)?;
        Ok((number, txn.commit_with(level)?))
    };
    let (number, sequence) = match work() {
        Ok(committed) => committed,
        Err(error) => {
            ending.in_doubt |= matches!(error, Error::Indeterminate { .. });
            return Ok(Err(error));
        }
    };
    if number != ending.number + 1 {
        return Err(format!("commit {number} follows {}: one that was refused came about", ending.number));
    }
    ending.number = number;
    let survives = level >= shared.writer.survives;
    shared.acknowledge(&shared.commits_ring, &Acknowledged { sequence: sequence.0, thread, number, survives })?;
    if level == Durability::Disk {
        shared.durable[thread as usize].store(number, Ordering::SeqCst);
    }
    Ok(Ok(level))
}

/// The outer error is something wrong.
fn load(
    shared: &Shared<'_>,
    thread: u64,
    ending: &mut Ending,
    random: &mut Random,
) -> Result<fulgurite::Result<()>, String> {
    let number = ending.load + 1;
    if let Err(error) = shared.loads.load(&shared.db, thread, number, random) {
        ending.load_in_doubt |= !error.is_retryable() && shared.is_poisoned();
        return Ok(Err(error));
    }
    ending.load = number;
    let sequence = number * shared.writer.began.len() as u64 + thread;
    shared.acknowledge(&shared.loads_ring, &Acknowledged { sequence, thread, number, survives: true })?;
    Ok(Ok(()))
}

/// Looks at the whole state until told to stop: it must be whole, and hold what was durable before.
fn looks(shared: &Shared<'_>) -> Result<(), String> {
    while shared.goes() {
        let made = *shared.round();
        let durable: Vec<u64> = shared.durable.iter().map(|number| number.load(Ordering::SeqCst)).collect();
        match shared.db.read().map_err(|error| Unlike::Unread { what: "a snapshot".into(), error }).and_then(|txn| {
            let numbers = shared.state.verify(&txn)?;
            shared.loads.verify(&txn)?;
            Ok(numbers)
        }) {
            Ok(found) if durable.iter().zip(&found).any(|(durable, found)| found < durable) => {
                return Err(format!("commits {durable:?} were durable before, and a snapshot shows {found:?}"));
            }
            Ok(_) => {}
            Err(Unlike::Differs(text)) => return Err(text),
            Err(Unlike::Unread { error, .. }) => shared.note_failure(made, &error)?,
        }
        std::thread::sleep(LOOKS_PAUSE);
    }
    Ok(())
}

/// Looks once more, reports the acknowledgements of the threads, and closes the database, or does not.
fn finish(shared: &Shared<'_>, mut endings: Vec<Ending>, sound: bool) -> Result<(), String> {
    let poisoned = shared.is_poisoned();
    if sound && poisoned {
        return Err("a full file system has poisoned the database".into());
    }
    if sound {
        let failed = |error: Error| format!("nothing fails any more, but: {error}");
        let txn = shared.db.read().map_err(failed)?;
        let (numbers, loads) = (shared.state.verify(&txn)?, shared.loads.verify(&txn)?);
        let told = || endings.iter().map(|ending| (ending.number, ending.load));
        if !told().eq(numbers.iter().copied().zip(loads.iter().copied())) {
            return Err(format!("the threads were told {endings:?}, but commits {numbers:?} and loads {loads:?} show"));
        }
        drop(txn);
        for (thread, ending) in (0..).zip(&mut endings) {
            let mut random = Random::for_part(shared.writer.drawn, &[4, thread]);
            commit(shared, thread, ending, &mut random)?.map_err(failed)?;
        }
        shared.db.checkpoint().map_err(failed)?;
        let damages = shared.db.check().map_err(failed)?.damages;
        if let Some(damage) = damages.first() {
            return Err(format!("the file is damaged: {damage}"));
        }
    }
    say(if poisoned { "poisoned" } else { "usable" });
    endings.iter().for_each(|ending| say(&format!("ending {}", ending.text())));
    if Random::for_part(shared.writer.drawn, &[3]).coin() {
        let closed = shared.db.clone().close();
        if sound {
            closed.map_err(|error| format!("closing: {error}"))?;
        }
    }
    say("ends");
    if poisoned {
        // Its handle is given up in order: see `docs/reference/durability.md`.
        return Ok(());
    }
    // Whatever is open now stays so: the process is to end as if it were killed.
    std::process::exit(0);
}

/// Whether a call that fails may lead to it.
pub(super) fn is_of_the_disk(error: &Error) -> bool {
    matches!(error, Error::Io { .. } | Error::DiskFull { .. } | Error::Poisoned { .. } | Error::Indeterminate { .. })
}

/// Reports to the parent. A parent that no longer listens is about to kill.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", line.replace('\n', " ")).and_then(|()| out.flush());
}

/// Begins what is said of the notes of the acknowledgements, which lie where nothing is made to fail.
pub(super) const NOTES: &str = "the acknowledgements: ";
/// Far less than the database, so that most reads reach the disk.
const CACHE_BYTES: u64 = 256 << 10;
const LOOKS_PAUSE: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_says_once_that_it_is_struck_and_goes_on_when_there_is_room() {
        let mut round = Round { number: 1, ..Round::default() };
        let (before, made) = (Round::default(), round);
        assert!(!round.fails(before), "it failed in the round before");
        assert!(round.fails(made) && !round.fails(made));
        assert!(!round.succeeds(made), "it was made before there was room");
        round.has_room = true;
        let made = round;
        assert!(round.succeeds(made) && !round.succeeds(made));
        let mut next = Round { number: 2, has_room: true, ..Round::default() };
        assert!(!next.succeeds(next), "it was not struck");
        assert!(!next.succeeds(made));
        assert!(next.fails(next));
        assert!(next.succeeds(next));
    }

    #[test]
    fn an_ending_is_read_as_it_was_told() {
        let ending = Ending { number: 70, in_doubt: true, load: 3, load_in_doubt: false };
        assert_eq!(Ending::parse(&ending.text()), Some(ending));
        assert_eq!(Ending::parse("1:2:x:0"), None);
        assert_eq!(Ending::parse("1:0:1"), None);
    }
}
