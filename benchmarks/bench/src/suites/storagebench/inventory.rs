//! Bins: one thread adds, removes and reads; 32 threads commit to the disk.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use fulgurite_rivals::Level;

use crate::data::random::{Random, mix};
use crate::error::{Error, Result};
use crate::harness::row::{Figures, Row};
use crate::measure::clock::Sample;
use crate::measure::rounds::order;
use crate::suites::storagebench::bins::Bins;
use crate::suites::storagebench::contestant::{Contestant, PIECES};
use crate::suites::storagebench::suite::Suite;
use crate::suites::storagebench::workload::{FLATBUFFERS, PROTOBUF, SUITE, Workload};

/// Measures a workload with both codecs.
///
/// # Errors
/// A wrong answer; what an engine answered.
pub fn measure(suite: &mut Suite<'_>, workload: Workload) -> Result<()> {
    [PROTOBUF, FLATBUFFERS].into_iter().try_for_each(|codec| with_codec(suite, workload, codec))
}

/// Durable transactions a second that this machine is asked for in a round.
fn asked_for(suite: &mut Suite<'_>, name: &str) -> Result<f64> {
    let span = Duration::from_millis(if suite.options.quick { 10 } else { 1000 });
    let flushes = flushes_per_second(suite.places.path(), span)?;
    let asked_for = part_of_flushes(flushes, COMMITTERS);
    suite.note(format!(
        "{name}: {flushes:.0} flushes a second by this machine; {asked_for:.0} transactions are asked for"
    ));
    Ok(asked_for)
}

/// How often a second the disk takes a small write by itself.
fn flushes_per_second(directory: &Path, span: Duration) -> Result<f64> {
    let path = directory.join("flushes");
    let io = |error| Error::io("sync", &path, error);
    let file = File::create(&path).map_err(io)?;
    file.write_all_at(&[0; WRITE.len() * WRITES as usize], 0).map_err(io)?;
    file.sync_all().map_err(io)?;
    let (begun, mut flushes) = (Instant::now(), 0);
    while begun.elapsed() < span {
        file.write_all_at(&WRITE, flushes % WRITES * WRITE.len() as u64).map_err(io)?;
        file.sync_data().map_err(io)?;
        flushes += 1;
    }
    let rate = flushes as f64 / begun.elapsed().as_secs_f64();
    std::fs::remove_file(&path).map_err(io)?;
    Ok(rate)
}

/// Transactions a second that are asked for: 20,000, or 0.8 of those that flushes allow, if each flush carries one of
/// every committer.
fn part_of_flushes(flushes_per_second: f64, committers: usize) -> f64 {
    TRANSACTIONS.min(0.8 * flushes_per_second * committers as f64)
}

/// An engine in the rounds of a workload.
struct Entrant {
    row: Row,
    contestant: Box<dyn Contestant>,
    /// Pieces that it must have in the end.
    pieces: i64,
}

fn with_codec(suite: &mut Suite<'_>, workload: Workload, codec: &'static str) -> Result<()> {
    let name = workload.with_codec(codec);
    let (quick, seed) = (suite.options.quick, suite.seed);
    let count = suite.options.records.unwrap_or(if quick { 500 } else { BINS }) as u64;
    let bins = Bins { count, seed, padding: 0 };
    let level = if workload == Workload::Durable { Level::Disk } else { Level::Log };
    suite.progress(&format!("{name}: loading {count} bins"));
    let mut entrants = Vec::new();
    for entry in suite.engines.clone() {
        let directory = suite.places.fresh(name, entry.engine.name)?;
        let enter = if codec == FLATBUFFERS { entry.flatbuffers } else { entry.protobuf };
        let contestant = enter(&directory, level, bins)?;
        let row = Row {
            suite: SUITE,
            workload: name,
            shape: "u64",
            value_bytes: value_bytes(bins, codec),
            claims: workload.claims(codec),
            records: count as usize,
            level: level.name(),
            engine: entry.engine.name,
            rounds: Vec::new(),
            left_out: None,
        };
        entrants.push(Entrant { row, contestant, pieces: bins.pieces() });
    }
    for round in 0..suite.options.rounds {
        let stream = mix(seed ^ mix(round as u64));
        let mut answers = Vec::new();
        let asked_for = match workload {
            Workload::Durable => Some(asked_for(suite, name)?),
            _ => None,
        };
        for place in order(round, entrants.len()) {
            let entrant = &mut entrants[place];
            match asked_for {
                Some(asked_for) => entrant.together(bins, stream, quick, asked_for)?,
                None => answers.push(entrant.turn(workload, bins, stream, quick)?),
            }
        }
        if answers.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(Error::Wrong { workload: name, what: format!("the engines read different sums: {answers:?}") });
        }
    }
    for Entrant { row, contestant, pieces } in entrants {
        let found = contestant.pieces(name)?;
        if found != pieces {
            let what = format!("{} has {found} pieces in all bins, not {pieces}", row.engine);
            return Err(Error::Wrong { workload: name, what });
        }
        contestant.close()?;
        suite.add(row);
    }
    suite.places.remove(name)
}

impl Entrant {
    /// A round of one thread. Returns the sum of what was read.
    fn turn(&mut self, workload: Workload, bins: Bins, stream: u64, quick: bool) -> Result<i64> {
        let operations = match (quick, workload) {
            (true, _) => 2 * 64,
            (_, Workload::Read) => READS,
            _ => CHANGES,
        };
        let choices = bins.choices(&mut Random::new(stream, 0), operations);
        let turn = self.contestant.turn(workload, &choices)?;
        self.pieces += match workload {
            Workload::Add => PIECES * operations as i64,
            _ => 0,
        };
        self.row.rounds.push(figures(&turn.sample));
        Ok(turn.answer)
    }

    /// A round of many threads.
    fn together(&mut self, bins: Bins, stream: u64, quick: bool, asked_for: f64) -> Result<()> {
        let span = if quick { Duration::from_millis(30) } else { SPAN };
        let committers = if quick { COMMITTERS_QUICK } else { COMMITTERS };
        let together = self.contestant.together(bins, committers, span, stream)?;
        self.pieces += PIECES * together.sample.operations as i64;
        let mut figures = figures(&together.sample);
        figures.set(PART, together.sample.operations_per_second() / asked_for);
        let refused = together.refused as f64;
        figures.set("% of transactions begun again", 100.0 * refused / (refused + together.sample.operations as f64));
        self.row.rounds.push(figures);
        self.contestant.settle()
    }
}

/// The figures that every sample has.
pub fn figures(sample: &Sample) -> Figures {
    let mut figures = Figures::default();
    figures.set("ops_per_s", sample.operations_per_second());
    figures.set("cpu_ns_per_op", sample.cpu_ns_per_operation());
    figures.set("p50_ns", sample.p50_ns);
    figures.set("p99_ns", sample.p99_ns);
    figures
}

/// The length of a bin, about.
pub fn value_bytes(bins: Bins, codec: &str) -> usize {
    use fulgurite_inventory::{FlatBufferBins, ProtobufBins};
    let (from, to) = (bins.count / 2, bins.count / 2 + 1);
    let length = |(_, bytes): ([u8; 8], Vec<u8>)| bytes.len();
    let found = match codec == FLATBUFFERS {
        true => bins.encoded::<FlatBufferBins>(from, to).next().map(length),
        false => bins.encoded::<ProtobufBins>(from, to).next().map(length),
    };
    found.unwrap_or(0)
}

/// Bins if nothing is said.
const BINS: usize = 100_000;
/// Transactions of a round that change bins.
const CHANGES: usize = 256_000;
/// Reads of a round.
const READS: usize = 1_024_000;
/// Threads that commit to the disk.
const COMMITTERS: usize = 32;
/// The same in a quick run.
const COMMITTERS_QUICK: usize = 4;
/// How long they do in a round.
const SPAN: Duration = Duration::from_secs(3);
/// The name of a figure: durable transactions a second, by those that are asked for.
pub const PART: &str = "of the transactions asked for";
/// Durable transactions a second that are asked for at most.
const TRANSACTIONS: f64 = 20_000.0;
/// What is written before a flush.
const WRITE: [u8; 512] = [1; 512];
/// Places of writes in the file.
const WRITES: u64 = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_disk_is_asked_for_less() {
        assert_eq!(part_of_flushes(10_000.0, 32), 20_000.0);
        assert_eq!(part_of_flushes(100.0, 32), 2_560.0);
        let directory = tempfile::tempdir().unwrap();
        assert!(flushes_per_second(directory.path(), Duration::from_millis(1)).unwrap() > 0.0);
    }
}
