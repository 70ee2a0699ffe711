//! The parent: starts writers, kills them, and checks what they leave.

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fulgurite::Database;

use super::acknowledged::{Acknowledged, Ring};
use super::other_processes;
use super::state::State;
use super::writer::Writer;
use crate::random::Random;

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Processes to kill.
    pub count: u64,
    /// The seed of everything.
    pub seed: u64,
    /// Where the directory of the run goes.
    pub directory: PathBuf,
    /// Whether the files stay if something is wrong with them.
    pub keep: bool,
    /// The number of the fault that processes plant, or 0.
    pub fault: u64,
    /// The program to start, with the arguments that make it a writer.
    pub writer: fn(&Writer) -> Command,
    /// As [`Plan::writer`], to open the database and do nothing else.
    pub opener: fn(&Writer) -> Command,
    /// As [`Plan::writer`], to read beside the writer; it prints a line after each look.
    pub onlooker: fn(&Writer) -> Command,
    /// As [`Plan::writer`], to open the database under its other name.
    pub intruder: fn(&Writer) -> Command,
    /// Receives the progress of the run.
    pub progress: fn(&Report),
}

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    /// Processes that were killed.
    pub kills: u64,
    /// Of them, those that had not opened the database yet.
    pub early: u64,
    /// Commits that were acknowledged, as far as they are remembered.
    pub acknowledged: u64,
    /// Of them, those that were to survive the process.
    pub to_survive: u64,
    /// Acknowledged commits that were lost.
    pub lost: u64,
    /// Looks of readers in another process, of another user where this one is root.
    pub looks: u64,
    /// Second writers that were refused.
    pub intruders: u64,
    /// Files that were renamed under a writer.
    pub renames: u64,
    /// Copies without the log: those that were refused, and all.
    pub copies: [u64; 2],
    /// How often there were runs above the trees after recovery.
    pub with_runs: u64,
    /// How long opening took each time, shortest first.
    pub recoveries: Vec<Duration>,
    /// What ended the run, in words.
    pub failure: Option<String>,
}

impl Report {
    /// The time that so many of a hundred recoveries took at most.
    pub fn percentile(&self, share: usize) -> Duration {
        let last = self.recoveries.len().saturating_sub(1);
        self.recoveries.get(last * share / 100).copied().unwrap_or_default()
    }

    /// Whether nothing is wrong, and runs came up, if there were so many kills that they must have.
    pub fn is_sound(&self) -> bool {
        self.failure.is_none() && self.lost == 0 && (self.with_runs > 0 || self.kills < STACKED_KILLS)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |share| self.percentile(share).as_secs_f64() * 1000.0;
        write!(out, "{} kills, {} lost, recovery p99 {:.1} ms", self.kills, self.lost, ms(99))
    }
}

/// Kills, looks, and goes on until there were enough kills or something is wrong.
pub fn run(plan: &Plan) -> Report {
    let directory = tempfile::Builder::new().prefix("fulgurite-kill").tempdir_in(&plan.directory);
    let directory = match directory {
        Ok(directory) => directory,
        Err(error) => {
            let failure = Some(format!("{}: no directory in it: {error}", plan.directory.display()));
            return Report { failure, ..Report::default() };
        }
    };
    let random = Random::for_part(plan.seed, &[4]);
    let mut rounds =
        Rounds { plan, random, began: vec![0; THREADS as usize], is_closed: true, report: Report::default() };
    while rounds.report.kills < plan.count {
        let (path, drawn) = (directory.path().to_path_buf(), rounds.random.next_u64());
        let writer = Writer { directory: path, seed: plan.seed, drawn, threads: THREADS, fault: plan.fault };
        if let Err(text) = rounds.next(&writer) {
            let mut text = format!("after {} kills: {text}", rounds.report.kills);
            if plan.keep {
                text.push_str(&format!("; the files are in {}", directory.keep().display()));
            }
            rounds.report.failure = Some(text);
            break;
        }
        (plan.progress)(&rounds.report);
    }
    rounds.report
}

/// One writer after the other, on the same files.
struct Rounds<'p> {
    plan: &'p Plan,
    random: Random,
    /// The number of each thread's last commit when the last look was taken.
    began: Vec<u64>,
    /// There is no log: the file is new, or was closed.
    is_closed: bool,
    report: Report,
}

impl Rounds<'_> {
    fn next(&mut self, writer: &Writer) -> Result<(), String> {
        let acknowledgements = |error| format!("the acknowledgements: {error}");
        let ring = Ring::create(&writer.ring_path()).map_err(acknowledgements)?;
        // Half of the writers that find no log are killed before they are likely to make a checkpoint: until then
        // only the announcement of the log says that it is needed.
        let before_checkpoint = std::mem::take(&mut self.is_closed) && self.random.chance(1, 2);
        // One in eight is killed wherever it is by then, most likely while it starts or recovers.
        let early = self.random.chance(1, 8);
        let pause =
            Duration::from_micros(if early { self.random.below(15_000) } else { 2_000 + self.random.below(100_000) });
        match self.random.below(8) {
            _ if before_checkpoint => {
                let pause = Duration::from_micros(500 + self.random.below(4_000));
                self.kill((self.plan.writer)(writer), pause, false, |_| Ok(()))?;
                self.look_at_a_copy(writer, &ring.read().map_err(acknowledgements)?)?;
            }
            _ if early => self.kill((self.plan.writer)(writer), pause, true, |_| Ok(()))?,
            0..=2 => self.kill_watched(writer, pause)?,
            3 => self.kill((self.plan.writer)(writer), pause, false, |this| this.open_second_writer(writer))?,
            4 => self.kill_moved(writer)?,
            _ => self.kill((self.plan.writer)(writer), pause, false, |_| Ok(()))?,
        }
        // What it left is recovered by others, which are killed in turn.
        while self.random.chance(1, 5) && self.report.kills < self.plan.count {
            let pause = START_US + self.random.below(2 * RECOVERY_US);
            self.kill((self.plan.opener)(writer), Duration::from_micros(pause), true, |_| Ok(()))?;
        }
        let entries = ring.read().map_err(acknowledgements)?;
        if self.random.chance(1, 4) && writer.path().exists() {
            self.look_at_a_copy(writer, &entries)?;
        }
        let start = Instant::now();
        let db = writer.open().map_err(|error| format!("recovery fails: {error}"))?;
        let (took, recoveries) = (start.elapsed(), &mut self.report.recoveries);
        recoveries.insert(recoveries.partition_point(|other| *other < took), took);
        let stats = db.stats().map_err(|error| format!("after recovery the engine fails: {error}"))?;
        self.report.with_runs += u64::from(stats.tables.iter().any(|table| table.runs > 0));
        self.look(writer, &db, &entries)?;
        // One in four is closed, so that the next one finds no log.
        self.is_closed = self.random.chance(1, 4);
        if self.is_closed { db.close().map_err(|error| format!("closing fails: {error}")) } else { Ok(()) }
    }

    /// Kills a writer beside which a process reads that may do nothing else.
    fn kill_watched(&mut self, writer: &Writer, pause: Duration) -> Result<(), String> {
        let published = other_processes::publish(&writer.directory).and_then(|()| match writer.path().exists() {
            true => other_processes::publish(&writer.path()),
            false => Ok(()),
        });
        published.map_err(|error| format!("the file cannot be shown to others: {error}"))?;
        let mut command = (self.plan.onlooker)(writer);
        command.stdout(Stdio::piped()).current_dir("/");
        let mut onlooker = match as_another_user(&mut command).spawn() {
            Ok(onlooker) => onlooker,
            // The other user may not start this program.
            Err(_) => {
                let mut command = (self.plan.onlooker)(writer);
                command.stdout(Stdio::piped()).spawn().map_err(|error| format!("no reader starts: {error}"))?
            }
        };
        let killed = self.kill((self.plan.writer)(writer), pause + LOOKED_AT, false, |_| Ok(()));
        let ended = onlooker.kill().and_then(|()| onlooker.wait_with_output());
        killed?;
        let output = ended.map_err(|error| format!("a reader cannot be killed: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        self.report.looks += said.lines().filter(|line| line.is_empty()).count() as u64;
        match output.status.code() {
            None => Ok(()),
            Some(_) => Err(said.trim().to_owned()),
        }
    }

    /// Has a second writer come by another name of the file.
    fn open_second_writer(&mut self, writer: &Writer) -> Result<(), String> {
        let link = writer.other_path();
        fs::hard_link(writer.path(), &link).map_err(|error| format!("the file cannot be linked: {error}"))?;
        let output = (self.plan.intruder)(writer).output();
        for path in [&link, &link.with_extension("ful-lock")] {
            let _ = fs::remove_file(path);
        }
        let output = output.map_err(|error| format!("no process starts: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        self.report.intruders += 1;
        Ok(())
    }

    /// Renames the file under a writer, which must notice, and gives it back its name.
    fn kill_moved(&mut self, writer: &Writer) -> Result<(), String> {
        let (path, moved) = (writer.path(), writer.other_path());
        let renamed = |error| format!("the file cannot be renamed: {error}");
        let outcome = self
            .kill((self.plan.writer)(writer), NOTICED_WITHIN, false, |_| fs::rename(&path, &moved).map_err(renamed));
        if moved.exists() {
            fs::rename(&moved, &path).map_err(renamed)?;
        }
        self.report.renames += 1;
        match outcome {
            Err(text) if NOTICED.iter().any(|noticed| text.contains(noticed)) => Ok(()),
            Err(text) => Err(text),
            Ok(()) => Err("a writer went on after its file was renamed".into()),
        }
    }

    /// Looks at a copy of the data file without its log: it is refused, or holds all that was to survive.
    fn look_at_a_copy(&mut self, writer: &Writer, entries: &[Acknowledged]) -> Result<(), String> {
        let numbers = other_processes::read_alone(writer)?;
        self.report.copies[0] += u64::from(numbers.is_none());
        self.report.copies[1] += 1;
        let Some(numbers) = numbers else { return Ok(()) };
        let lost = entries.iter().find(|entry| entry.survives && entry.number > numbers[entry.thread as usize]);
        lost.map_or(Ok(()), |lost| Err(format!("a copy without its log is taken for whole, and {lost:?} is missing")))
    }

    /// Starts a process, and kills it so long after it is open, and after `then`; or, if `early`, after it was started.
    fn kill(
        &mut self,
        mut command: Command,
        pause: Duration,
        early: bool,
        then: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut child =
            command.stdout(Stdio::piped()).spawn().map_err(|error| format!("no process starts: {error}"))?;
        let mut said = BufReader::new(child.stdout.take().expect("its output is piped"));
        let mut line = String::new();
        if !early {
            said.read_line(&mut line).map_err(|error| format!("a process cannot be heard: {error}"))?;
        }
        let done = then(self);
        let until = Instant::now() + pause;
        while Instant::now() < until && child.try_wait().is_ok_and(|status| status.is_none()) {
            std::thread::sleep(until.saturating_duration_since(Instant::now()).min(LOOKED_AT));
        }
        let killed = child.kill().and_then(|()| child.wait());
        let status = killed.map_err(|error| format!("a process cannot be killed: {error}"))?;
        said.read_to_string(&mut line).map_err(|error| format!("a process cannot be heard: {error}"))?;
        done?;
        match status.code() {
            // Ended by a signal: ours.
            None => {
                self.report.kills += 1;
                self.report.early += u64::from(line.is_empty());
                Ok(())
            }
            Some(0) => Ok(()),
            Some(code) => Err(format!("a process ended by itself, with exit code {code}: {}", line.trim_end())),
        }
    }

    /// Compares the database with the acknowledgements.
    fn look(&mut self, writer: &Writer, db: &Database, entries: &[Acknowledged]) -> Result<(), String> {
        let engine = |error: fulgurite::Error| format!("after recovery the engine fails: {error}");
        let state = State::open(db, writer.seed, writer.threads).map_err(engine)?;
        let txn = db.read().map_err(engine)?;
        let numbers = state.verify(&txn).map_err(|text| format!("after recovery {text}"))?;
        let report = &mut self.report;
        report.acknowledged += entries.len() as u64;
        report.to_survive += entries.iter().filter(|entry| entry.survives).count() as u64;
        let is_there = |entry: &&Acknowledged| entry.number <= numbers[entry.thread as usize];
        let lost = entries.iter().filter(|entry| entry.survives && !is_there(entry));
        report.lost += lost.clone().count() as u64;
        if let Some(first) = lost.clone().next() {
            return Err(format!("{} acknowledged commits are lost, the first is {first:?}", lost.count()));
        }
        let missing = entries.iter().find(|entry| !is_there(entry));
        let last = entries.iter().rfind(is_there);
        if let (Some(missing), Some(last)) = (missing, last)
            && missing.sequence < last.sequence
        {
            return Err(format!("no prefix is left: {missing:?} is lost, but {last:?} is there"));
        }
        for (thread, number) in (0..).zip(&numbers) {
            // A commit may have been made and not been acknowledged, but no two of one thread.
            let told = entries.iter().filter(|entry| entry.thread == thread).map(|entry| entry.number).max();
            let most = told.unwrap_or(0).max(self.began[thread as usize]) + 1;
            if *number > most {
                return Err(format!("thread {thread} has committed {number}, but it can have begun {most} at most"));
            }
        }
        drop(txn);
        let damages = db.check().map_err(engine)?.damages;
        if let Some(damage) = damages.first() {
            return Err(format!("after recovery the file is damaged: {damage}"));
        }
        db.stats().map_err(engine)?.accounts_for_every_byte()?;
        self.began = numbers;
        Ok(())
    }
}

/// The command, to be run as a user who owns nothing, if this one may say so.
fn as_another_user(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;
    // Others read as themselves.
    if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// The user who owns nothing.
const NOBODY: u32 = 65_534;
/// What a writer says whose file is gone. Snapshots show what is durable then, and a reader may be the first to say so.
const NOTICED: [&str; 2] = ["was moved, replaced or removed", "were visible before"];
/// Writers make durable commits all the time, and notice then.
const NOTICED_WITHIN: Duration = Duration::from_secs(20);
/// A reader takes some time to start.
const LOOKED_AT: Duration = Duration::from_millis(10);
/// Of so many kills some leave runs.
const STACKED_KILLS: u64 = 50;
/// Threads of a writer that write.
const THREADS: u64 = 4;
/// What it takes a process to begin to open the database, about.
const START_US: u64 = 500;
/// What it takes to open it, about.
const RECOVERY_US: u64 = 12_000;
