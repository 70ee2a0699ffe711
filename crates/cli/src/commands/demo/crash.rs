//! The fourth act: a child process commits as fast as it can and tells each commit's number once it is acknowledged; it
//! is killed in the middle of that; the database recovers, and every commit that was told of must be there, whole.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fulgurite::{Database, Durability, ReadTxn, TypedTable};

use super::report::Report;
use crate::database::refuse_store;
use crate::failure::Failure;
use crate::output::grouped;
use crate::progress::time;

/// Each commit puts so many entries under its number.
type Commits = TypedTable<(u64, u8), String>;

/// Kills and recovers a few times, each time a little later in the child's life.
pub fn crash(report: &Report, path: &Path) -> Result<(), Failure> {
    let mut before = 0;
    for (round, acknowledged_min) in ACKNOWLEDGED_MIN.into_iter().enumerate() {
        let (acknowledged, lived) = commit_and_kill(path, before + acknowledged_min)?;
        let begun = Instant::now();
        let db = Database::open(path)?;
        let opened = begun.elapsed();
        let txn = db.read()?;
        let found = verify(&txn, &Commits::new(txn.open_table(TABLE)?)?)?;
        drop(txn);
        db.close()?;
        if found < acknowledged {
            let message =
                format!("commit {acknowledged} was acknowledged, {found} is the last one there; please report this");
            return Err(Failure::Message(message));
        }
        let unheard = match found - acknowledged {
            0 => String::new(),
            unheard => format!(", and {unheard} under way"),
        };
        let (here, lived) = (grouped(acknowledged - before), time(lived));
        let what = format!("{here} commits in {lived}; recovered: all{unheard}; 0 lost");
        report.done(&format!("kill {}", round + 1), what, opened)?;
        before = found;
    }
    let db = Database::open(path)?;
    let table = db.open_table(TABLE)?;
    db.drop_table(&table)?;
    Ok(db.close()?)
}

/// Lets a child commit until it has told of commit `until`, kills it, and returns the last commit that it told of and
/// how long it lived.
fn commit_and_kill(path: &Path, until: u64) -> Result<(u64, Duration), Failure> {
    let failed = |error: io::Error| Failure::Message(format!("the child that commits: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(["demo", "--commit-until-killed", "--out"]).arg(path);
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut acknowledged = 0;
    let mut lived = None;
    if let Some(output) = child.stdout.take() {
        // What was told before the kill and not yet read counts too.
        for line in BufReader::new(output).lines() {
            // The kill may cut the last line short: then it was not told.
            let Some(number) = line.map_err(failed)?.strip_suffix('.').and_then(|text| text.parse().ok()) else {
                break;
            };
            acknowledged = number;
            if acknowledged >= until && lived.is_none() {
                child.kill().map_err(failed)?;
                lived = Some(begun.elapsed());
            }
        }
    }
    let status = child.wait().map_err(failed)?;
    let lived = lived.ok_or_else(|| Failure::Message(format!("the child that commits ended by itself ({status})")))?;
    Ok((acknowledged, lived))
}

/// The number of the last commit. Every one up to it must be there with all its entries.
fn verify(txn: &ReadTxn, commits: &Commits) -> Result<u64, Failure> {
    let mut last = 0;
    let mut entries = commits.iter(txn)?;
    while let Some(entry) = entries.next().transpose()? {
        last += 1;
        let mut entry = Some(entry);
        for part in 0..PARTS {
            let whole = entry.take().is_some_and(|(key, value)| key == (last, part) && value == text(last, part));
            if !whole {
                return Err(Failure::Message(format!("commit {last} is not whole after recovery; please report this")));
            }
            if part + 1 < PARTS {
                entry = entries.next().transpose()?;
            }
        }
    }
    Ok(last)
}

/// The child: commits and tells until it is killed, or nobody listens any more.
pub fn commit_until_killed(path: &Path) -> Result<(), Failure> {
    let options = Database::options().durability(Durability::Log).delta_bytes(DELTA_BYTES);
    let db = options.open(path)?;
    refuse_store(&db)?;
    let commits: Commits = db.typed_table(TABLE)?;
    let last = commits.iter(&db.read()?)?.next_back().transpose()?;
    let mut number = last.map_or(0, |((number, _), _)| number);
    let mut out = io::stdout().lock();
    loop {
        number += 1;
        db.update(|txn| (0..PARTS).try_for_each(|part| commits.put(txn, (number, part), text(number, part))))?;
        writeln!(out, "{number}.").and_then(|()| out.flush()).map_err(Failure::Output)?;
    }
}

/// What a part of a commit says.
fn text(number: u64, part: u8) -> String {
    format!("part {part} of commit {number} ").repeat(4)
}

/// What the act is about.
pub fn subject() -> String {
    format!("a child commits {PARTS} entries at a time and is killed; the times are those of reopening")
}

/// Where the child commits to.
const TABLE: &str = "commits";
/// Entries of a commit.
const PARTS: u8 = 3;
/// The child is killed after so many acknowledged commits: soon, and after some checkpoints.
const ACKNOWLEDGED_MIN: [u64; 3] = [1_000, 20_000, 50_000];
/// Small, so that checkpoints run all the time.
const DELTA_BYTES: u64 = 4 << 20;
