//! The parent: makes a file system for each run, starts a writer on it, makes its medium fail, mends it, and looks at
//! what is left.

use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use fulgurite::Durability;

use super::judge::{Failure, Told, differs, gone, look, misbehaves};
use super::session::{Ended, Session};
use super::volume::Volume;
use super::writer::{Ending, Writer};
use crate::crash::{Defect, DefectKind};
use crate::faults;
use crate::panics;
use crate::random::Random;

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The medium takes no more bytes: what the file system has taken already cannot be written back.
    MediumFull,
    /// The medium ends earlier than it said: the rest can be neither written nor read.
    MediumEnds,
    /// As [`Kind::MediumEnds`], when nothing is in the page cache.
    Unreadable,
    /// The file system is full.
    FilesFull,
    /// A file system in memory is full.
    MemoryFull,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::MediumFull, Self::MediumEnds, Self::Unreadable, Self::FilesFull, Self::MemoryFull];

    /// Its name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::MediumFull => "medium-full",
            Self::MediumEnds => "medium-ends",
            Self::Unreadable => "unreadable",
            Self::FilesFull => "files-full",
            Self::MemoryFull => "memory-full",
        }
    }

    /// Whether a run shows that the fault did what this kind of it does.
    fn has_struck(self, seen: &Seen) -> bool {
        match self {
            Self::MediumFull => seen.poisoned,
            Self::MediumEnds => seen.poisoned || seen.bus_error,
            Self::Unreadable => seen.struck.is_some() || seen.bus_error,
            Self::FilesFull | Self::MemoryFull => seen.full && seen.fillings == FILLINGS,
        }
    }

    /// Whether the medium stays sound: then nothing may poison the database, and it goes on when there is room.
    fn is_only_full(self) -> bool {
        matches!(self, Self::FilesFull | Self::MemoryFull)
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many runs.
    pub runs: u64,
    /// The first of them: what a run does follows from the seed and its number.
    pub first: u64,
    /// Only this kind.
    pub only: Option<Kind>,
    /// The seed of everything.
    pub seed: u64,
    /// Where the directories of the runs go.
    pub directory: PathBuf,
    /// The program to start, with the arguments that make it a writer.
    pub command: fn(&Writer) -> Command,
    /// Whether to end with the first failure that judging finds, or of a tool.
    pub stop_early: bool,
    /// Receives the outcome of each run.
    pub progress: fn(&str),
}

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    /// Runs and failures.
    pub faults: faults::Report,
    /// Runs in which a call failed.
    pub struck: u64,
    /// Runs in which a bus error ended the writer.
    pub bus_errors: u64,
    /// Acknowledgements that had to hold.
    pub to_survive: u64,
    /// The first failure that judging found: what is there is not what was told.
    pub judged: Option<String>,
    /// Runs that tools failed in. They say nothing about the engine, and count nowhere else.
    pub tools: Vec<String>,
    /// Runs in which a process hung in the kernel. They count nowhere else.
    pub hung: u64,
    strikes: [Strikes; Kind::ALL.len()],
}

/// Of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Strikes {
    runs: u64,
    /// In which the fault did what it is for.
    struck: u64,
}

impl Report {
    /// Of each kind, in how many runs its fault struck as it should.
    pub fn strikes(&self) -> String {
        let of = |kind: Kind| (kind.name(), self.strikes[kind as usize]);
        let told = Kind::ALL.into_iter().map(of).filter(|(_, strikes)| strikes.runs > 0);
        let told: Vec<_> =
            told.map(|(name, strikes)| format!("{name} {} of {}", strikes.struck, strikes.runs)).collect();
        told.join(", ")
    }

    /// What was not tried, though there were runs enough for it: a proof in which nothing fails proves nothing.
    pub fn untried(&self) -> Vec<String> {
        let never = |kind: &Kind| {
            let strikes = self.strikes[*kind as usize];
            strikes.runs >= RUNS_TO_STRIKE && strikes.struck == 0
        };
        let told = |kind: Kind| format!("{}: the fault did not strike as it should in any run", kind.name());
        let mut untried: Vec<String> = Kind::ALL.into_iter().filter(never).map(told).collect();
        if self.faults.runs >= RUNS_TO_STRIKE && self.to_survive == 0 {
            untried.push("no acknowledgement had to hold in any run".into());
        }
        if self.hung > self.faults.runs / RUNS_PER_HANG {
            untried
                .push(format!("a process hung in the kernel in {} runs, {} others ended", self.hung, self.faults.runs));
        }
        untried
    }

    /// Whether the runs prove something, and nothing against the engine.
    pub fn is_sound(&self) -> bool {
        self.faults.is_sound() && self.tools.is_empty() && self.untried().is_empty()
    }

    /// Counts a run. Answers its text.
    fn count(&mut self, kind: Kind, seen: &Seen, outcome: Result<(), Failure>, again: &str) -> String {
        let (defect, is_judged) = match outcome {
            Ok(()) => (None, false),
            Err(Failure::Judged(defect)) => (Some(defect), true),
            Err(Failure::Behaved(defect) | Failure::Reported(defect)) => (Some(defect), false),
            Err(Failure::Tool(text)) => {
                let text = format!("{}: a tool failed: {text}\n  repeat: {again}", kind.name());
                self.tools.push(text.clone());
                return text;
            }
            Err(Failure::Hung) => {
                self.hung += 1;
                return format!("a process hung in the kernel until the medium was repaired ({seen})");
            }
        };
        self.faults.runs += 1;
        self.struck += u64::from(seen.struck.is_some() || seen.bus_error);
        self.bus_errors += u64::from(seen.bus_error);
        self.faults.poisoned += u64::from(seen.poisoned);
        self.to_survive += seen.to_survive;
        let strikes = &mut self.strikes[kind as usize];
        strikes.runs += 1;
        strikes.struck += u64::from(kind.has_struck(seen));
        let Some(defect) = defect else { return seen.to_string() };
        match defect.kind {
            DefectKind::Lost => self.faults.lost += 1,
            DefectKind::Wrong => self.faults.wrong += 1,
            DefectKind::Panic => self.faults.panics += 1,
        }
        let text = format!("{}: {defect} ({seen})\n  repeat, as far as kernels repeat: {again}", kind.name());
        self.faults.failures.push(text.clone());
        if is_judged {
            self.judged.get_or_insert_with(|| text.clone());
        }
        text
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.faults)
    }
}

/// Runs the plan.
pub fn run(plan: &Plan) -> Report {
    let mut report = Report::default();
    for index in plan.first..plan.first + plan.runs {
        let kind = plan.only.unwrap_or(Kind::ALL[index as usize % Kind::ALL.len()]);
        let mut seen = Seen::default();
        let outcome = panics::catch(|| Run::new(plan, index, kind)?.all(&mut seen))
            .unwrap_or_else(|text| Err(Failure::Behaved(Defect { kind: DefectKind::Panic, text })));
        let only = plan.only.map_or(String::new(), |kind| format!(" --only {}", kind.name()));
        let again = format!("cargo xtask kernel-faults --seed {} --first {index} --runs 1{only}", plan.seed);
        let told = report.count(kind, &seen, outcome, &again);
        (plan.progress)(&format!("run {index}, {}: {told}", kind.name()));
        if plan.stop_early && (report.judged.is_some() || !report.tools.is_empty()) {
            break;
        }
    }
    report
}

/// What a run showed.
#[derive(Debug, Default)]
struct Seen {
    struck: Option<String>,
    poisoned: bool,
    bus_error: bool,
    mended_early: bool,
    power_cut: bool,
    again: bool,
    /// Whether a call failed for want of room.
    full: bool,
    /// How often writing was struck by a full file system, and went on when there was room.
    fillings: u64,
    to_survive: u64,
}

impl fmt::Display for Seen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { struck, poisoned, bus_error, mended_early, power_cut, again, full: _, fillings, to_survive } = self;
        write!(out, "{to_survive} acknowledged to survive; {}", struck.as_deref().unwrap_or("nothing failed"))?;
        let words = [
            (*bus_error, "bus error"),
            (*poisoned, "poisoned"),
            (*mended_early, "mended while mounted"),
            (*again, "opened again at once"),
            (*power_cut, "power cut"),
        ];
        words.iter().filter(|(is, _)| *is).try_for_each(|(_, word)| write!(out, "; {word}"))?;
        if *fillings > 0 { write!(out, "; went on after {fillings} fillings") } else { Ok(()) }
    }
}

/// One run.
struct Run<'p> {
    plan: &'p Plan,
    kind: Kind,
    random: Random,
    /// Before the directory, which it is mounted in.
    volume: Volume,
    directory: tempfile::TempDir,
    power_cut: bool,
    began: Vec<Ending>,
    seen: Seen,
    seed: u64,
}

impl<'p> Run<'p> {
    fn new(plan: &'p Plan, index: u64, kind: Kind) -> Result<Self, Failure> {
        let directory = tempfile::Builder::new().prefix("fulgurite-kernel").tempdir_in(&plan.directory);
        let directory = directory.map_err(|error| Failure::Tool(format!("no directory: {error}")))?;
        let made = if kind == Kind::MemoryFull { Volume::in_memory } else { Volume::on_a_device };
        let volume = made(directory.path()).map_err(Failure::Tool)?;
        let acknowledgements = directory.path().join("acknowledged");
        std::fs::create_dir(acknowledgements).map_err(|error| Failure::Tool(format!("no directory: {error}")))?;
        let mut random = Random::for_part(plan.seed, &[index]);
        let power_cut = kind != Kind::MemoryFull && random.coin();
        let began = vec![Ending::default(); 2 + random.index(3)];
        let (seen, seed) = (Seen { power_cut, ..Seen::default() }, random.next_u64());
        Ok(Self { plan, kind, random, volume, directory, power_cut, began, seen, seed })
    }

    fn all(mut self, seen: &mut Seen) -> Result<(), Failure> {
        let outcome = self.go();
        *seen = std::mem::take(&mut self.seen);
        match outcome {
            Err(Failure::Reported(_)) => outcome,
            _ if self.volume.hung() => Err(Failure::Hung),
            _ => outcome,
        }
    }

    fn go(&mut self) -> Result<(), Failure> {
        if self.kind == Kind::Unreadable {
            self.prepare()?;
        }
        let writer = self.writer();
        let told = match self.kind {
            Kind::FilesFull | Kind::MemoryFull => self.fill_files(&writer)?,
            Kind::MediumFull | Kind::MediumEnds | Kind::Unreadable => self.break_medium(&writer)?,
        };
        self.seen.to_survive += told.to_survive();
        let mut last = (writer, told);
        self.seen.mended_early = self.random.coin();
        if self.seen.mended_early {
            self.volume.mend_medium().map_err(Failure::Tool)?;
            // After a bus error nobody has made the system forget what it could not write.
            if self.random.chance(2, 3) && !self.seen.bus_error {
                last = self.go_on_at_once(last)?;
            }
        }
        if self.kind != Kind::MemoryFull {
            let bytes = if self.power_cut { Some(self.volume.power_cut().map_err(Failure::Tool)?) } else { None };
            self.volume.mount_again(bytes).map_err(Failure::Tool)?;
        }
        self.judge_at_last(&last)
    }

    fn writer(&mut self) -> Writer {
        // Where only room is missing and the power does not fail, the process alone dies.
        let survives = if self.kind.is_only_full() && !self.power_cut { Durability::Log } else { Durability::Disk };
        Writer {
            directory: self.volume.files(),
            acknowledgements: self.directory.path().join("acknowledged"),
            seed: self.seed,
            drawn: self.random.next_u64(),
            map: self.random.chance(2, 3),
            survives,
            began: self.began.clone(),
        }
    }

    fn start(&self, writer: &Writer) -> Result<Option<Session>, Failure> {
        Session::start(writer, (self.plan.command)(writer))
    }

    /// Has a database written that is larger than what is read when it is opened, and empties the page cache.
    fn prepare(&mut self) -> Result<(), Failure> {
        let writer = self.writer();
        let mut session =
            self.start(&writer)?.ok_or_else(|| misbehaves("it does not open, though nothing fails".into()))?;
        session.order("begin");
        std::thread::sleep(Duration::from_millis(120));
        let ended = session.end(true)?;
        let told = Told::read(&writer, ended.endings)?;
        self.volume.mount_again(None).map_err(Failure::Tool)?;
        self.judge(&writer, &told)?;
        // Once more: the look has read all of it.
        self.volume.mount_again(None).map_err(Failure::Tool)
    }

    fn break_medium(&mut self, writer: &Writer) -> Result<Told, Failure> {
        let Some(mut session) = self.start(writer)? else {
            return Err(misbehaves("it does not open, though nothing fails".into()));
        };
        if self.kind == Kind::Unreadable {
            // Opening has read some of it, and the system more, ahead.
            self.volume.forget_cached(&writer.path()).map_err(Failure::Tool)?;
            self.cut()?;
            session.order("begin");
        } else {
            session.order("begin");
            std::thread::sleep(Duration::from_micros(self.random.below(60_000)));
            if self.kind == Kind::MediumFull { self.volume.fill_medium().map_err(Failure::Tool)? } else { self.cut()? }
        }
        if session.hears("struck", Duration::from_millis(300))? {
            // Others of its threads are to be told too.
            std::thread::sleep(Duration::from_micros(self.random.below(20_000)));
        }
        let ended = session.end(false)?;
        self.note(writer, ended)
    }

    fn cut(&mut self) -> Result<(), Failure> {
        // The first part of the medium is the file system's own; its files follow.
        let thousandths = 110 + self.random.below(if self.kind == Kind::Unreadable { 80 } else { 250 });
        self.volume.cut_medium(thousandths).map_err(Failure::Tool)
    }

    fn fill_files(&mut self, writer: &Writer) -> Result<Told, Failure> {
        let Some(mut session) = self.start(writer)? else {
            return Err(misbehaves("it does not open, though nothing fails".into()));
        };
        session.order("begin");
        for round in 1..=FILLINGS {
            std::thread::sleep(Duration::from_micros(self.random.below(40_000)));
            session.order("fill");
            self.volume.fill_files(self.random.below(400_000)).map_err(Failure::Tool)?;
            let struck = session.hears(&format!("struck {round} "), Duration::from_millis(200))?;
            self.volume.free_files().map_err(Failure::Tool)?;
            session.order("room");
            if struck && !session.hears(&format!("goes on {round}"), Duration::from_secs(10))? {
                return Err(misbehaves("there is room again, but writing does not go on".into()));
            }
            self.seen.fillings += u64::from(struck);
        }
        let ended = session.end(true)?;
        if ended.bus_error {
            return Err(misbehaves("a full file system led to a bus error".into()));
        }
        self.note(writer, ended)
    }

    fn note(&mut self, writer: &Writer, ended: Ended) -> Result<Told, Failure> {
        if ended.bus_error && !writer.map {
            return Err(misbehaves("a bus error, though nothing is mapped".into()));
        }
        self.seen.bus_error |= ended.bus_error;
        self.seen.poisoned |= ended.poisoned;
        self.seen.full |= ended.full;
        self.seen.struck = self.seen.struck.take().or(ended.struck);
        Told::read(writer, ended.endings)
    }

    /// Opens the database while the page cache still has what could not be written, and goes on, if the file system
    /// allows.
    fn go_on_at_once(&mut self, (writer, told): (Writer, Told)) -> Result<(Writer, Told), Failure> {
        let found = match look(&writer)? {
            Ok((db, found)) => {
                drop(db);
                found
            }
            Err(_) => return Ok((writer, told)),
        };
        told.judge(&found)?;
        self.seen.again = true;
        self.began = found;
        let again = self.writer();
        let Some(mut session) = self.start(&again)? else {
            let told = Told::read(&again, Some(self.began.clone()))?;
            return Ok((again, told));
        };
        session.order("begin");
        std::thread::sleep(Duration::from_micros(self.random.below(40_000)));
        let ended = session.end(false)?;
        let told = self.note(&again, ended)?;
        self.seen.to_survive += told.to_survive();
        Ok((again, told))
    }

    fn judge_at_last(&mut self, (writer, told): &(Writer, Told)) -> Result<(), Failure> {
        self.judge(writer, told)?;
        // It works, too.
        let again = self.writer();
        let mut session = self.start(&again)?.ok_or_else(|| misbehaves("mended, it does not open".into()))?;
        session.order("begin");
        std::thread::sleep(Duration::from_millis(2));
        let ended = session.end(true)?;
        match ended.struck {
            Some(text) => Err(misbehaves(format!("mended, a call fails: {text}"))),
            None => Ok(()),
        }
    }

    /// Opens the database, compares it with what was told, and checks the file. What is there is where the next one
    /// begins.
    fn judge(&mut self, writer: &Writer, told: &Told) -> Result<(), Failure> {
        let (db, found) = look(writer)?.map_err(|error| gone(format!("mended, it does not open: {error}")))?;
        told.judge(&found)?;
        let report = db.check().map_err(|error| differs(format!("check: {error}")))?;
        if let Some(damage) = report.damages.first() {
            return Err(differs(format!("check: {damage} ({} damages)", report.damages.len())));
        }
        self.began = found;
        Ok(())
    }
}

/// How often a file system is filled, and emptied.
const FILLINGS: u64 = 2;
/// A process may hang in the kernel in one run for so many others.
const RUNS_PER_HANG: u64 = 8;
/// A fault that struck in none of so many runs of its kind does not work.
const RUNS_TO_STRIKE: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn count(report: &mut Report, kind: Kind, seen: &Seen, outcome: Result<(), Failure>) {
        report.count(kind, seen, outcome, "again");
    }

    #[test]
    fn only_judging_finds_a_fault_and_a_tool_that_fails_neither_finds_nor_passes() {
        let seen = Seen::default();
        let mut report = Report::default();
        count(&mut report, Kind::MediumFull, &seen, Err(Failure::Tool("umount: busy".into())));
        assert!(report.judged.is_none() && report.faults.is_sound() && report.faults.runs == 0);
        assert!(!report.is_sound());
        assert!(report.tools[0].contains("umount: busy"));
        let mut report = Report::default();
        count(&mut report, Kind::MediumFull, &seen, Err(misbehaves("it hangs".into())));
        assert!(report.judged.is_none() && report.faults.wrong == 1 && !report.is_sound());
        for failure in [gone("a commit".into()), differs("a commit".into())] {
            let mut report = Report::default();
            count(&mut report, Kind::MediumFull, &seen, Err(failure));
            assert!(report.judged.is_some() && !report.is_sound());
        }
    }

    #[test]
    fn runs_that_hang_in_the_kernel_count_for_nothing_and_are_few() {
        let seen = Seen { to_survive: 9, full: true, fillings: FILLINGS, ..Seen::default() };
        let mut report = Report::default();
        count(&mut report, Kind::FilesFull, &seen, Err(Failure::Hung));
        assert!(report.faults.runs == 0 && report.judged.is_none() && !report.is_sound());
        (1..RUNS_PER_HANG).for_each(|_| count(&mut report, Kind::FilesFull, &seen, Ok(())));
        assert!(!report.is_sound());
        count(&mut report, Kind::FilesFull, &seen, Ok(()));
        assert!(report.is_sound(), "{:?}", report.untried());
    }

    #[test]
    fn runs_in_which_nothing_fails_prove_nothing() {
        let calm = Seen { to_survive: 9, ..Seen::default() };
        let failed = || Some("a call".to_owned());
        for kind in Kind::ALL {
            let struck = match kind {
                Kind::MediumFull => Seen { poisoned: true, struck: failed(), ..Seen::default() },
                Kind::MediumEnds => Seen { bus_error: true, ..Seen::default() },
                Kind::Unreadable => Seen { struck: failed(), ..Seen::default() },
                Kind::FilesFull | Kind::MemoryFull => Seen { full: true, fillings: FILLINGS, ..Seen::default() },
            };
            let mut report = Report::default();
            (1..RUNS_TO_STRIKE).for_each(|_| count(&mut report, kind, &calm, Ok(())));
            assert!(report.is_sound(), "too few runs to judge");
            count(&mut report, kind, &calm, Ok(()));
            assert_eq!(report.untried().len(), 1, "{}", report.strikes());
            assert!(!report.is_sound());
            count(&mut report, kind, &struck, Ok(()));
            assert!(report.is_sound(), "{}", report.strikes());
        }
        let mut report = Report::default();
        let poisoned = Seen { poisoned: true, ..Seen::default() };
        (0..RUNS_TO_STRIKE).for_each(|_| count(&mut report, Kind::MediumFull, &poisoned, Ok(())));
        assert!(!report.is_sound(), "nothing had to hold");
    }
}
