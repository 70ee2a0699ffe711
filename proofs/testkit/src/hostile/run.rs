//! Mutates bases and uses them, one file after the other, and counts.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fulgurite::Options;
use fulgurite::io::{Access, Disk};

use super::base::{Base, PATH, bases, settings};
use super::fields;
use super::images::{self, Image};
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
    /// The longest that a file took, in processor time: other processes may be in the way.
    pub slowest: Duration,
    /// The most memory that a file took, in bytes, and the number of that file.
    pub most_bytes: (u64, u64),
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
        let kinds = KINDS.iter().chain(&images::KINDS).copied();
        fields.chain(kinds).filter(|name| !self.hits.contains_key(name)).collect()
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
    /// The image of each base.
    images: Vec<Image>,
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
        let images = bases.iter().map(Image::of).collect::<Result<_, _>>();
        let images = images.map_err(|error| format!("making an image: {error}"))?;
        let directory = tempfile::tempdir().map_err(|error| format!("a temporary directory: {error}"))?;
        Ok(Self { bases, images, seed, directory })
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
        let index = self.choose(&mut random);
        if random.chance(1, IMAGE_SHARE) {
            return self.try_image(index, number, &mut random, watch, tell);
        }
        let base = &self.bases[index];
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
        let files = Files { disk: &|| work.disk(), bytes: work.data_length.max(base.data.len()), settings: settings() };
        match self.timed(&files, &expected, number, real, &random, watch, &mut report) {
            Ok(used) => self.count(&work, sealed, used, number, &mut report),
            Err(text) => {
                report.wrong += u64::from(report.panics == 0);
                self.fail(base, &work.story.join("; "), number, &text, &mut report);
            }
        }
        report
    }

    /// Tries a mutated image, or an image of a mutated database.
    fn try_image(&self, index: usize, number: u64, random: &mut Random, watch: &Watch, tell: bool) -> Report {
        let mut report = Report { files: 1, ..Report::default() };
        let base = &self.bases[index];
        let sealed = random.coin();
        report.sealed = u64::from(sealed);
        let (image, kind, story, expected) = if random.chance(1, 3) && base.segments.is_empty() {
            let mut work = mutate(base, random);
            if sealed {
                work.seal();
            }
            let expected = expected_of(&work, sealed);
            let data = work.data();
            // An image of nothing cannot be.
            let content = if data.is_empty() { &[0][..] } else { &data };
            (Image::of_content(content), images::KINDS[4], work.story.join("; "), expected)
        } else {
            let mut image = self.images[index].clone();
            let (kind, story) = image.mutate(sealed, random);
            let newest = base.states.last().map(|(_, holdings)| Arc::clone(holdings));
            let exactly = newest.map_or(Expected::Anything, Expected::Exactly);
            (image, kind, story, if sealed { Expected::Anything } else { exactly })
        };
        if tell {
            println!("file {number}, an image of base `{}`, sealed: {sealed}: {story}", base.name);
        }
        report.hits.insert(kind, 1);
        let settings = settings().map(random.chance(2, 3));
        let bytes = image.bytes.len().max(base.data.len());
        let files = Files { disk: &|| image.disk(), bytes, settings };
        match self.timed(&files, &expected, number, random.chance(1, REAL_SHARE), random, watch, &mut report) {
            Ok(used) => {
                report.opened = u64::from(used.opened);
                report.silent = u64::from(!used.detected);
            }
            Err(text) => {
                report.wrong += u64::from(report.panics == 0);
                self.fail(base, &story, number, &text, &mut report);
            }
        }
        report
    }

    fn count(&self, work: &Work<'_>, sealed: bool, used: Use, number: u64, report: &mut Report) {
        report.opened = u64::from(used.opened);
        report.silent = u64::from(!used.detected);
        if !sealed && !used.detected && work.live_page_differs() {
            report.wrong += 1;
            let text = "a live page was changed, and neither reading nor `check` reports it";
            self.fail(work.base, &work.story.join("; "), number, text, report);
        }
    }

    fn fail(&self, base: &Base, story: &str, number: u64, text: &str, report: &mut Report) {
        let (base, seed) = (base.name, self.seed);
        let again = format!("cargo xtask hostile --seed {seed} --file {number}");
        report.failures.push(format!("base `{base}`: {story}\n  {text}\n  repeat: {again}"));
    }

    /// Uses the mutated files, with an eye on time and memory.
    #[expect(clippy::too_many_arguments)]
    fn timed(
        &self,
        files: &Files<'_>,
        expected: &Expected,
        number: u64,
        real: bool,
        random: &Random,
        watch: &Watch,
        report: &mut Report,
    ) -> Result<Use, String> {
        let (mut random, disk) = (random.clone(), (files.disk)());
        let (settings, path) = if real {
            let path = self.directory.path().join(format!("{number}.ful"));
            copy_to_real_disk(&disk, &path).map_err(|error| format!("writing {}: {error}", path.display()))?;
            (files.settings.clone(), path)
        } else {
            (files.settings.clone().disk(Arc::new(disk)), PATH.into())
        };
        let guard = watch.begin(number);
        let start = thread_time();
        let outcome = panics::catch(|| use_database(&settings, &path, expected, &mut random));
        report.slowest = thread_time().saturating_sub(start);
        let bytes = guard.end();
        if real {
            remove_from_real_disk(&path);
        }
        let allowed = 4 * files.bytes as u64 + MEMORY_BYTES_MAX;
        report.most_bytes = (bytes, number);
        match outcome {
            Ok(_) if bytes > allowed => Err(format!("it takes {bytes} bytes of memory, {allowed} are allowed")),
            Ok(Ok(_)) if report.slowest > TIME_MAX => {
                Err(format!("it takes {} ms of processor time", report.slowest.as_millis()))
            }
            Ok(outcome) => outcome,
            Err(panic) => {
                report.panics += 1;
                Err(format!("panic: {panic}"))
            }
        }
    }

    /// The larger a base, the rarer.
    fn choose(&self, random: &mut Random) -> usize {
        loop {
            let index = random.index(self.bases.len());
            if self.bases[index].data.len() < 1 << 20 || random.chance(1, 6) {
                return index;
            }
        }
    }
}

/// Mutated files, and how they are opened.
struct Files<'f> {
    disk: &'f dyn Fn() -> crate::CrashDisk,
    /// Their length, or that of what they were made of.
    bytes: usize,
    settings: Options,
}

/// The processor time of this thread, which does all the work on a file.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// The time of a clock: this system is not asked for processor time. [`TIME_MAX`] is longer for it.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
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

/// No file may take longer, in processor time. Where the clock is read instead, other processes may be in the way.
const TIME_MAX: Duration = Duration::from_secs(if cfg!(unix) { 1 } else { 20 });
/// Memory allowed beside four times the file.
const MEMORY_BYTES_MAX: u64 = 64 << 20;
/// One file in so many is on the real disk, and mapped.
const REAL_SHARE: u64 = 8;
/// One file in so many is an image.
const IMAGE_SHARE: u64 = 5;
/// More failures show nothing new.
const FAILURES_MAX: usize = 12;
