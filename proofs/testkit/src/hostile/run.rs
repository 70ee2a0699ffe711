//! Mutates bases and uses them, one file after the other, and counts.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fulgurite::io::{Access, Disk};

use super::base::{Base, PATH, bases, settings};
use super::fields;
use super::mutate::{KINDS, mutate};
use super::trial::{Expected, Use, use_database};
use super::watch::Watch;
use super::work::Work;
use crate::panics;
use crate::random::Random;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Files tried.
    pub files: u64,
    /// Of them, sealed after the mutation: with checksums recomputed.
    pub sealed: u64,
    /// That opened all the same.
    pub opened: u64,
    /// In which nothing told of damage.
    pub silent: u64,
    /// Mutations, and those of bytes that something refers to.
    pub mutations: u64,
    /// See [`Report::mutations`].
    pub reachable: u64,
    /// Files at which the engine panicked.
    pub panics: u64,
    /// Files with a wrong answer, or that took too long or too much memory.
    pub wrong: u64,
    /// The longest that a file took.
    pub slowest: Duration,
    /// The most memory that a file took beyond what is allowed for its size; negative is room.
    pub most_bytes: u64,
    /// How often each field and kind of page was hit.
    pub hits: BTreeMap<&'static str, u64>,
    /// The first failures, each with the command that repeats it.
    pub failures: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.panics + self.wrong == 0
    }

    /// Fields and kinds that were never hit.
    pub fn missing(&self) -> Vec<&'static str> {
        let fields = fields::ALL.iter().copied().flatten().map(|field| field.name);
        fields.chain(KINDS.iter().copied()).filter(|name| !self.hits.contains_key(name)).collect()
    }

    /// Adds what another run found.
    pub fn add(&mut self, other: Self) {
        self.files += other.files;
        self.sealed += other.sealed;
        self.opened += other.opened;
        self.silent += other.silent;
        self.mutations += other.mutations;
        self.reachable += other.reachable;
        self.panics += other.panics;
        self.wrong += other.wrong;
        self.slowest = self.slowest.max(other.slowest);
        self.most_bytes = self.most_bytes.max(other.most_bytes);
        for (name, count) in other.hits {
            *self.hits.entry(name).or_default() += count;
        }
        self.failures.extend(other.failures);
        self.failures.truncate(FAILURES_MAX);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, panics, wrong, slowest, .. } = self;
        write!(out, "{files} files, {panics} panics, {wrong} wrong, slowest {} ms", slowest.as_millis())
    }
}

/// The bases, and where files on the real disk go.
#[derive(Debug)]
pub struct Tester {
    bases: Vec<Base>,
    seed: u64,
    directory: tempfile::TempDir,
}

impl Tester {
    /// Makes the bases.
    ///
    /// # Errors
    /// The engine's, or the system's about the temporary directory; in words.
    pub fn new(seed: u64) -> Result<Self, String> {
        let bases = bases(seed).map_err(|error| format!("making a base: {error}"))?;
        let directory = tempfile::tempdir().map_err(|error| format!("a temporary directory: {error}"))?;
        Ok(Self { bases, seed, directory })
    }

    /// The bases in a line each.
    pub fn describe(&self) -> String {
        let line = |base: &Base| {
            let (kib, pages) = (base.data.len() >> 10, base.layout.pages.len());
            format!("  {:<12} {kib:>5} KiB, {pages:>4} live pages, {} log segments\n", base.name, base.segments.len())
        };
        self.bases.iter().map(line).collect()
    }

    /// Tries the file of that number. `tell` prints the progress.
    pub fn try_file(&self, number: u64, watch: &Watch, tell: bool) -> Report {
        let mut report = Report { files: 1, ..Report::default() };
        let mut random = Random::for_part(self.seed, &[number]);
        let base = self.choose(&mut random);
        let mut work = mutate(base, &mut random);
        let sealed = random.chance(1, 2);
        if sealed {
            work.seal();
            report.sealed = 1;
        }
        let expected = expected_of(&work, sealed);
        if tell {
            println!("file {number} of base `{}`, sealed: {sealed}: {}", base.name, work.story.join("; "));
        }
        work.hits.iter().for_each(|hit| *report.hits.entry(hit).or_default() += 1);
        report.mutations = work.reachable.len() as u64;
        report.reachable = work.reachable.iter().filter(|reachable| **reachable).count() as u64;
        let real = random.chance(1, REAL_SHARE);
        let mut outcome = self.timed(&work, &expected, number, real, &random, watch, &mut report);
        if outcome.is_ok() && report.slowest > TIME_MAX {
            // Another process may have been in the way: what is slow is slow again.
            report.slowest = Duration::ZERO;
            outcome = self.timed(&work, &expected, number, real, &random, watch, &mut report);
            if outcome.is_ok() && report.slowest > TIME_MAX {
                outcome = Err(format!("it takes {} ms", report.slowest.as_millis()));
            }
        }
        match outcome {
            Ok(used) => self.count(&work, sealed, used, number, &mut report),
            Err(text) => {
                report.wrong += u64::from(report.panics == 0);
                self.fail(&work, number, &text, &mut report);
            }
        }
        report
    }

    fn count(&self, work: &Work<'_>, sealed: bool, used: Use, number: u64, report: &mut Report) {
        report.opened = u64::from(used.opened);
        report.silent = u64::from(!used.detected);
        if !sealed && !used.detected && work.live_page_differs() {
            report.wrong += 1;
            self.fail(work, number, "a live page was changed, and neither reading nor `check` reports it", report);
        }
    }

    fn fail(&self, work: &Work<'_>, number: u64, text: &str, report: &mut Report) {
        let (base, story, seed) = (work.base.name, work.story.join("; "), self.seed);
        let again = format!("cargo xtask hostile --seed {seed} --file {number}");
        report.failures.push(format!("base `{base}`: {story}\n  {text}\n  repeat: {again}"));
    }

    /// Uses the mutated files once, with an eye on time and memory.
    #[expect(clippy::too_many_arguments)]
    fn timed(
        &self,
        work: &Work<'_>,
        expected: &Expected,
        number: u64,
        real: bool,
        random: &Random,
        watch: &Watch,
        report: &mut Report,
    ) -> Result<Use, String> {
        let (mut random, disk) = (random.clone(), work.disk());
        let (settings, path) = if real {
            let path = self.directory.path().join(format!("{number}.ful"));
            copy_to_real_disk(&disk, &path).map_err(|error| format!("writing {}: {error}", path.display()))?;
            (settings(), path)
        } else {
            (settings().disk(Arc::new(disk)), PATH.into())
        };
        let guard = watch.begin(number);
        let start = Instant::now();
        let outcome = panics::catch(|| use_database(&settings, &path, expected, &mut random));
        report.slowest = start.elapsed();
        let bytes = guard.end();
        if real {
            remove_from_real_disk(&path);
        }
        let allowed = 4 * work.data_length.max(work.base.data.len()) as u64 + MEMORY_BYTES_MAX;
        report.most_bytes = bytes;
        match outcome {
            Ok(_) if bytes > allowed => Err(format!("it takes {bytes} bytes of memory, {allowed} are allowed")),
            Ok(outcome) => outcome,
            Err(panic) => {
                report.panics += 1;
                Err(format!("panic: {panic}"))
            }
        }
    }

    /// The larger a base, the rarer.
    fn choose(&self, random: &mut Random) -> &Base {
        loop {
            let base = &self.bases[random.index(self.bases.len())];
            if base.data.len() < 1 << 20 || random.chance(1, 6) {
                return base;
            }
        }
    }
}

fn expected_of(work: &Work<'_>, sealed: bool) -> Expected {
    if sealed {
        return Expected::Anything;
    }
    let states = &work.base.states;
    let newest = states.last().map_or(0, |(sequence, _)| *sequence);
    let end = if work.base.segments.is_empty() { Some(newest) } else { work.log_end() };
    let state = end.and_then(|end| states.iter().rev().find(|(sequence, _)| *sequence <= end));
    state.map_or(Expected::Refusal, |(_, holdings)| Expected::Exactly(Arc::clone(holdings)))
}

fn copy_to_real_disk(disk: &crate::CrashDisk, path: &Path) -> std::io::Result<()> {
    for from in disk.list(Path::new(""))? {
        let file = disk.open(&from, Access::Read)?;
        let mut bytes = vec![0; file.len()? as usize];
        file.read_at(0, &mut bytes)?;
        let name = from.to_string_lossy();
        let suffix = name.trim_start_matches('/').strip_prefix(PATH).unwrap_or_default().to_owned();
        std::fs::write(format!("{}{suffix}", path.display()), bytes)?;
    }
    Ok(())
}

fn remove_from_real_disk(path: &Path) {
    let (Some(directory), Some(stem)) = (path.parent(), path.file_name()) else { return };
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(stem.as_encoded_bytes()) {
            // What stays goes with the directory.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// No file may take longer.
const TIME_MAX: Duration = Duration::from_secs(1);
/// Memory allowed beside four times the file.
const MEMORY_BYTES_MAX: u64 = 64 << 20;
/// One file in so many is on the real disk, and mapped.
const REAL_SHARE: u64 = 8;
/// More failures show nothing new.
const FAILURES_MAX: usize = 12;
