//! Progress of long commands: one line on standard error, if it is a terminal.

use std::io::{self, IsTerminal, Write};
use std::panic::resume_unwind;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use fulgurite::{Monitor, Phase};

use crate::output::{cut, grouped, size};

/// See the module.
#[derive(Debug)]
pub struct Progress {
    doing: &'static str,
    begun: Instant,
    drawn: Option<Instant>,
    visible: bool,
    /// Calls since the clock was looked at.
    unseen: u32,
}

impl Progress {
    /// Begins; `doing` says what, as in `importing`.
    pub fn new(doing: &'static str) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let visible = io::stderr().is_terminal() && !dumb;
        Self { doing, begun: Instant::now(), drawn: None, visible, unseen: 0 }
    }

    /// Reports the number of entries so far, and their part of all entries if it is known. Cheap enough to be called
    /// for every entry.
    pub fn tell(&mut self, entries: u64, part: impl FnOnce() -> Option<f64>) {
        self.unseen += 1;
        if !self.visible || self.unseen < CALLS_BETWEEN_LOOKS {
            return;
        }
        self.unseen = 0;
        let now = Instant::now();
        if now.duration_since(self.drawn.unwrap_or(self.begun)) >= BETWEEN_DRAWINGS {
            self.drawn = Some(now);
            let line = self.line(entries, part());
            self.draw(line);
        }
    }

    /// Runs `work` on another thread, and prints the progress that its monitor reports.
    pub fn follow<T: Send>(&mut self, monitor: &Monitor, work: impl FnOnce() -> T + Send) -> T {
        let doing = self.doing;
        let line = || {
            let phase = match monitor.phase() {
                Phase::Flushing => "writing what is new",
                Phase::Merging => "merging",
                Phase::Moving => "moving pages",
                Phase::Copying => "reading and writing tables",
                _ => "waiting for the disk",
            };
            format!("{doing}: {phase}, {} written", size(monitor.written_bytes()))
        };
        self.during(line, work)
    }

    /// Runs `work` on another thread, and draws what `line` returns meanwhile.
    pub fn during<T: Send>(&mut self, line: impl Fn() -> String, work: impl FnOnce() -> T + Send) -> T {
        if !self.visible {
            return work();
        }
        thread::scope(|scope| {
            let (ended, has_ended) = mpsc::channel();
            let worker = scope.spawn(move || {
                let outcome = work();
                // A panic drops this end of the channel, so the waiting thread notices it.
                let _ = ended.send(());
                outcome
            });
            while has_ended.recv_timeout(BETWEEN_DRAWINGS) == Err(RecvTimeoutError::Timeout) {
                self.show(&line);
            }
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Draws this line, if a person can see it, and has had time to read the one before.
    pub fn show(&mut self, line: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.visible && now.duration_since(self.drawn.unwrap_or(self.begun)) >= BETWEEN_DRAWINGS {
            self.drawn = Some(now);
            self.draw(line());
        }
    }

    /// Whether a person can see the lines that are drawn.
    #[cfg(feature = "facts")]
    pub fn is_visible(&self) -> bool {
        self.visible
    }

    /// Announces a step that reports no progress.
    pub fn last_phase(&mut self, doing: &str) {
        if self.visible && self.drawn.is_some() {
            self.draw(format!("{doing} …"));
        }
    }

    /// The time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn line(&self, entries: u64, part: Option<f64>) -> String {
        let seconds = self.begun.elapsed().as_secs_f64().max(1e-9);
        let mut line = format!("{}: {} entries, {}", self.doing, grouped(entries), rate(entries, self.begun.elapsed()));
        if let Some(part) = part.filter(|part| *part > 0.0) {
            let left = Duration::from_secs_f64((seconds / part.min(1.0) - seconds).clamp(0.0, A_YEAR_SECONDS));
            line.push_str(&format!(", {:.0}%, {} left", part.min(1.0) * 100.0, time_left(left)));
        }
        line
    }

    fn draw(&self, mut line: String) {
        let width = terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        cut(&mut line, width);
        // Where the line cannot be drawn it is not missed.
        let _ = write!(io::stderr(), "\r\x1b[2K{line}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}

/// Entries a second, for people.
pub fn rate(entries: u64, time: Duration) -> String {
    let rate = entries as f64 / time.as_secs_f64().max(1e-9);
    match rate {
        rate if rate >= 1e6 => format!("{:.1}M/s", rate / 1e6),
        rate if rate >= 1e4 => format!("{:.0}k/s", rate / 1e3),
        rate => format!("{}/s", grouped(rate.round() as u64)),
    }
}

/// A time, for people.
pub fn time(time: Duration) -> String {
    match time.as_secs() {
        0 if time.as_millis() < 1 => format!("{} µs", time.as_micros()),
        0 => format!("{} ms", time.as_millis()),
        seconds if seconds < 60 => format!("{:.1} s", time.as_secs_f64()),
        seconds if seconds < 3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// A time to come, in whole seconds: nobody knows it better.
fn time_left(left: Duration) -> String {
    match left.as_secs_f64().ceil() as u64 {
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds => time(Duration::from_secs(seconds)),
    }
}

/// The clock is looked at every so many calls.
const CALLS_BETWEEN_LOOKS: u32 = 512;
/// A person reads no faster.
const BETWEEN_DRAWINGS: Duration = Duration::from_millis(200);
/// The longest time left that is printed.
const A_YEAR_SECONDS: f64 = 365.0 * 86400.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_times_are_short() {
        assert_eq!(rate(3_000_000, Duration::from_secs(2)), "1.5M/s");
        assert_eq!(rate(30_000, Duration::from_secs(2)), "15k/s");
        assert_eq!(rate(7, Duration::from_secs(2)), "4/s");
        assert_eq!(rate(6_284, Duration::from_secs(2)), "3,142/s");
        assert_eq!(time(Duration::from_micros(7)), "7 µs");
        assert_eq!(time(Duration::from_millis(70)), "70 ms");
        assert_eq!(time(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(time(Duration::from_secs(125)), "2 min 05 s");
        assert_eq!(time_left(Duration::from_millis(1_250)), "2 s");
        assert_eq!(time_left(Duration::from_millis(125_000)), "2 min 05 s");
        assert_eq!(time(Duration::from_secs(7_500)), "2 h 05 min");
    }
}
