//! The proof of `compare`: ten pairs of runs in which the gets of the second one are slower by a fifth, and ten pairs
//! without a change.
//!
//! Every run is one of the suite `core`, in its own process, on fresh stores of Fulgurite and LMDB. It writes its
//! file as `--json` does, and the files are compared as usual.

use std::path::Path;
use std::time::Instant;

use fulgurite_rivals::{Engine, Lmdb, Purpose, Store};

use crate::compare::{self, Comparison, NAME, Question, Verdict};
use crate::compare_proof::slowed::{Slowed, WHOLE, slow_down};
use crate::data::dataset::{Dataset, Spec};
use crate::data::random::{Random, mix};
use crate::data::shape::Shape;
use crate::error::{Error, Result};
use crate::harness::suite::complete;
use crate::measure::child;
use crate::measure::places::Places;
use crate::measure::rounds::{Turn, interleaved};
use crate::measure::statistics::median;
use crate::suites::core::plan::{Plan, Scale};
use crate::suites::core::run::run_plans;
use crate::suites::core::workload::{Options, Read, Workload};

/// The word that asks for a run.
pub const VERB: &str = "compared-run";

/// Pairs with a slowdown, and as many without.
const PAIRS: usize = 10;

/// The slowdown.
const SLOWDOWN: f64 = 0.2;

/// How many slowdowns must be found, and how many false alarms there may be.
const FOUND_MIN: usize = 9;
const FALSE_ALARMS_MAX: usize = 1;

/// The workload that is slowed.
const SLOWED: Workload = Workload::GetHit;

/// What is measured: gets by many are not slowed.
const WORKLOADS: [Workload; 2] = [SLOWED, Workload::GetMany32];

/// How much a run measures.
#[derive(Clone, Copy)]
struct Size {
    records: usize,
    /// Gets in a round.
    gets: usize,
    rounds: usize,
}

/// More records than the processor's nearer caches hold, because other programs disturb these. As many rounds as are
/// of use: see `INDEPENDENT_ROUNDS_MAX` in `compare::noise`.
const SIZE: Size = Size { records: 100_000, gets: 20_000, rounds: 30 };

/// Plants, compares and counts: a line for each pair, a last line, and whether enough is found and little invented.
///
/// # Errors
/// Why it could not go on.
pub fn run(directory: &Path, seed: u64) -> Result<(String, bool)> {
    let places = Places::new(directory, false)?;
    let share = calibrated(&places, seed)?;
    let started = Instant::now();
    let mut text = String::new();
    let mut counted = [0, 0];
    for number in 0..PAIRS {
        for (planted, counted) in [true, false].into_iter().zip(&mut counted) {
            let seed = mix(seed ^ mix((2 * number + usize::from(planted)) as u64));
            let files = [places.path().join("a.json"), places.path().join("b.json")];
            let shares = [0, if planted { share } else { 0 }];
            for ((file, share), run) in files.iter().zip(shares).zip(0..) {
                spawn(share, mix(seed ^ run), &places.path().join("stores"), file)?;
            }
            let (line, counts) = judged(planted, &compare::compare(files, Question::default())?);
            *counted += usize::from(counts);
            eprintln!("[{:>4} s] {}", started.elapsed().as_secs(), line.trim_end());
            text.push_str(&line);
        }
    }
    let [found, alarms] = counted;
    text.push_str(&format!(
        "compare: {found} of {PAIRS} slowdowns found, {alarms} of {PAIRS} false alarms; --seed {seed}\n"
    ));
    Ok((text, found >= FOUND_MIN && alarms <= FALSE_ALARMS_MAX))
}

/// What was found of a pair in words, and whether it counts: as a slowdown that is found, or as a false alarm. An
/// alarm about what was not slowed is false in either.
fn judged(planted: bool, comparison: &Comparison) -> (String, bool) {
    let mut rows = Vec::new();
    let (mut found, mut alarm) = (false, false);
    for (pair, finding, verdict) in comparison.verdicts() {
        let name = &pair.subject.workload[..];
        let is_change = matches!(verdict, Verdict::Faster | Verdict::Slower);
        let is_right = planted && name == SLOWED.name() && verdict == Verdict::Slower;
        found |= is_right;
        alarm |= is_change && !is_right;
        let change = finding.map_or(f64::NAN, |finding| 100.0 * finding.change);
        rows.push(format!("{name} {change:+.1} % {}", verdict.name()));
    }
    let (kind, counts) = match planted {
        true => (if found { "slowdown, found      " } else { "slowdown, NOT FOUND  " }, found),
        false => (if alarm { "nothing,  FALSE ALARM" } else { "nothing,  none found " }, alarm),
    };
    let also = if planted && alarm { "; and a FALSE ALARM" } else { "" };
    (format!("{kind} {}{also}\n", rows.join(", ")), counts)
}

/// Has a process of its own run the suite once, with such a share of gets made twice, and write the file.
fn spawn(share: u32, seed: u64, directory: &Path, file: &Path) -> Result<()> {
    let words = [share.to_string(), seed.to_string()];
    let paths = [directory, file].map(|path| path.to_string_lossy().into_owned());
    let arguments: Vec<String> = std::iter::once(VERB.to_owned()).chain(words).chain(paths).collect();
    child::quietly(NAME, &arguments)
}

/// What that process does.
///
/// # Errors
/// What the suite meets.
pub fn work(arguments: &[String]) -> Result<()> {
    let unreadable = || Error::Usage(format!("`{VERB}` takes the arguments that `{NAME}` passes to its own processes"));
    let [share, seed, directory, file] = arguments else { return Err(unreadable()) };
    let (Ok(share), Ok(seed)) = (share.parse(), seed.parse()) else { return Err(unreadable()) };
    slow_down(share);
    run_once(SIZE, seed, Path::new(directory), Path::new(file))
}

impl Size {
    fn spec(self) -> Spec {
        Spec { shape: Shape::Hashed, records: self.records, hashed_key_bytes: 32, value_bytes: 100 }
    }
}

/// One run of the suite.
fn run_once(size: Size, seed: u64, directory: &Path, file: &Path) -> Result<()> {
    let options = Options { rounds: size.rounds, json: Some(file.to_owned()), ..Options::default() };
    let plan = Plan { spec: size.spec(), workloads: WORKLOADS.to_vec() };
    let scale = Scale { records: [size.records; 2], gets: size.gets, puts: 0 };
    let mut report = run_plans::<Slowed, Lmdb>(&[plan], scale, &options, directory, seed)?;
    complete(&mut report, seed, &options)
}

/// The share of gets that must be made twice for the slowdown. The second of two gets of one key is the cheaper one:
/// how much dearer gets become is measured, in rounds side by side, first with all of them twice, then with what
/// follows from that.
fn calibrated(places: &Places, seed: u64) -> Result<u32> {
    let data = Dataset::new(SIZE.spec());
    let mut store = Slowed::create(&places.fresh("calibration", "store")?, Purpose::Load)?;
    store.load_sorted(data.stored.records(&data.values))?;
    let mut share = WHOLE;
    let mut dearer = dearer(&store, &data, share, seed)?;
    for _ in 0..REFINEMENTS {
        // Noise must not make a multiple of it.
        share = ((f64::from(share) * SLOWDOWN / dearer.max(SLOWDOWN / 4.0)) as u32).clamp(1, SHARE_MAX);
        dearer = self::dearer(&store, &data, share, seed)?;
    }
    store.close()?;
    places.remove("calibration")?;
    eprintln!("{share} of {WHOLE} gets are made twice: {} {:.1} % slower", SLOWED.name(), 100.0 * dearer);
    Ok(share)
}

/// The largest share: every get three times.
const SHARE_MAX: u32 = 2 * WHOLE;

/// How often the share is measured and set right.
const REFINEMENTS: usize = 2;

/// Rounds of each measurement of it.
const CALIBRATION_ROUNDS: usize = 101;

/// How much dearer gets are, as a factor less 1, if such a share of them is made twice.
fn dearer<S: Store>(store: &S, data: &Dataset, share: u32, seed: u64) -> Result<f64> {
    let reader = |share| {
        slow_down(share);
        let reader = store.reader();
        slow_down(0);
        reader
    };
    let (plain, slowed) = (reader(0)?, reader(share)?);
    let questions = |round: usize| Read::Hit.prepare(data, SIZE.gets, &mut Random::new(seed, round as u64));
    let turns: Vec<(&'static str, Turn<'_>)> = vec![
        ("plain", Box::new(|round| Read::Hit.run(&plain, data, &questions(round)))),
        ("slowed", Box::new(|round| Read::Hit.run(&slowed, data, &questions(round)))),
    ];
    let samples = interleaved(CALIBRATION_ROUNDS, turns)?;
    let ratios = samples[0].1.iter().zip(&samples[1].1);
    let ratios = ratios.map(|(plain, slowed)| slowed.cpu_ns_per_operation() / plain.cpu_ns_per_operation());
    Ok(median(&ratios.collect::<Vec<_>>()) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Side;
    use crate::compare::results::tests::results;

    const SMALL: Size = Size { records: 2000, gets: 1000, rounds: 3 };

    /// What `judged` reports of two files, if the gets in the second take so many times as long.
    fn told(planted: bool, [get_hit, get_many]: [f64; 2]) -> (String, bool) {
        let side = |factors: [f64; 2]| {
            let rounds = |factor: f64| [100.0, 101.0, 99.0, 100.0, 100.5].map(|time| time * factor);
            let rows = [(SLOWED, factors[0]), (Workload::GetMany32, factors[1])];
            let rows = rows.map(|(workload, factor)| (workload.name(), rounds(factor).to_vec(), vec![300.0; 5]));
            Side { path: "file".into(), results: results(&rows) }
        };
        judged(planted, &Comparison::new(Question::default(), [side([1.0, 1.0]), side([get_hit, get_many])]).unwrap())
    }

    #[test]
    fn slowdowns_count_where_they_were_planted_and_are_alarms_elsewhere() {
        let (text, found) = told(true, [1.2, 1.0]);
        assert!(found && text.starts_with("slowdown, found") && !text.contains("ALARM"), "{text}");
        let (text, found) = told(true, [1.0, 1.0]);
        assert!(!found && text.starts_with("slowdown, NOT FOUND"), "{text}");
        let (text, found) = told(true, [1.2, 1.2]);
        assert!(found && text.contains("and a FALSE ALARM"), "{text}");
        assert!(!told(true, [0.8, 1.0]).1);
        assert!(!told(false, [1.0, 1.0]).1);
        for changed in [[1.2, 1.0], [1.0, 1.2], [0.8, 1.0]] {
            let (text, alarm) = told(false, changed);
            assert!(alarm && text.contains("FALSE ALARM"), "{text}");
        }
    }

    #[test]
    fn a_run_writes_a_file_that_can_be_compared() {
        let directory = tempfile::tempdir().unwrap();
        let files = ["a.json", "b.json"].map(|name| directory.path().join(name));
        for (seed, file) in (0..).zip(&files) {
            run_once(SMALL, seed, &directory.path().join("stores"), file).unwrap();
        }
        let comparison = compare::compare(files, Question::default()).unwrap();
        let rows: Vec<_> = comparison.verdicts().map(|(pair, finding, _)| (pair.clone(), *finding.unwrap())).collect();
        assert_eq!(
            rows.iter().map(|(pair, _)| &pair.subject.workload[..]).collect::<Vec<_>>(),
            ["get_hit", "get_many32"]
        );
        assert!(
            rows.iter()
                .all(|(pair, _)| pair.reference.as_deref() == Some("lmdb") && pair.rounds.new.len() == SMALL.rounds)
        );
    }

    #[test]
    fn arguments_of_a_run_are_its_own() {
        for words in [&[][..], &["x", "1", "d", "f"], &["1", "x", "d", "f"]] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert!(matches!(work(&words), Err(Error::Usage(_))), "{words:?}");
        }
    }
}
