//! The fourth act: a child process commits as fast as it can and prints the number of each acknowledged commit. It is
//! killed, the database recovers, and every printed commit must be complete.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fulgurite::{Database, Durability, ReadTxn, TypedTable};

use crate::error::{Error, Result};
use crate::figures::{grouped, time};
use crate::report::Report;

/// Entries by the number of their commit and by their part, of [`PARTS`].
type Commits = TypedTable<(u64, u8), String>;

/// Kills and recovers three times, each time after more commits.
pub fn crash(report: &Report, path: &Path) -> Result<()> {
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
                format!("commit {acknowledged} was acknowledged, the last one found is {found}; please report this");
            return Err(message.into());
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

/// Lets a child commit until it has printed commit `until`, and kills it. Returns the last commit that it printed, and
/// for how long it ran.
fn commit_and_kill(path: &Path, until: u64) -> Result<(u64, Duration)> {
    let failed = |error: io::Error| -> Error { format!("the child that commits: {error}").into() };
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(["--commit-until-killed", "--out"]).arg(path);
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut acknowledged = 0;
    let mut lived = None;
    if let Some(output) = child.stdout.take() {
        // Lines that were printed before the kill and not yet read count too.
        for line in BufReader::new(output).lines() {
            // The kill may cut the last line short.
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
    let lived = lived.ok_or_else(|| format!("the child that commits ended by itself ({status})"))?;
    Ok((acknowledged, lived))
}

/// The number of the last commit. Fails unless every commit up to it has all its entries.
fn verify(txn: &ReadTxn, commits: &Commits) -> Result<u64> {
    let mut last = 0;
    let mut entries = commits.iter(txn)?;
    while let Some(entry) = entries.next().transpose()? {
        last += 1;
        let mut entry = Some(entry);
        for part in 0..PARTS {
            let whole = entry.take().is_some_and(|(key, value)| key == (last, part) && value == text(last, part));
            if !whole {
                return Err(format!("commit {last} is not whole after recovery; please report this").into());
            }
            if part + 1 < PARTS {
                entry = entries.next().transpose()?;
            }
        }
    }
    Ok(last)
}

/// The child: commits and prints until it is killed.
pub fn commit_until_killed(path: &Path) -> Result<()> {
    let options = Database::options().durability(Durability::Log).delta_bytes(DELTA_BYTES);
    let db = options.open(path)?;
    let commits: Commits = db.typed_table(TABLE)?;
    let last = commits.iter(&db.read()?)?.next_back().transpose()?;
    let mut number = last.map_or(0, |((number, _), _)| number);
    let mut out = io::stdout().lock();
    loop {
        number += 1;
        db.update(|txn| (0..PARTS).try_for_each(|part| commits.put(txn, (number, part), text(number, part))))?;
        writeln!(out, "{number}.").and_then(|()| out.flush())?;
    }
}

/// The value of a part of a commit.
fn text(number: u64, part: u8) -> String {
    format!("part {part} of commit {number} ").repeat(4)
}

/// The subject of the act.
pub fn subject() -> String {
    format!("a child process commits {PARTS} entries at a time and is killed; times are of reopening")
}

/// The child's table.
const TABLE: &str = "commits";
/// Entries of a commit.
const PARTS: u8 = 3;
/// Acknowledged commits before each kill: before the first checkpoint, and after several.
const ACKNOWLEDGED_MIN: [u64; 3] = [1_000, 20_000, 50_000];
/// So small that checkpoints run all the time.
const DELTA_BYTES: u64 = 4 << 20;
