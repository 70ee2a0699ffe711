//! How fast commits may go on while deltas fill faster than they are flushed: each commit is slowed a little, instead
//! of stopping all commits for as long as a flush takes.
//!
//! Times are durations since an arbitrary beginning, so that a test needs no clock.

use std::time::Duration;

/// The pace of commits of one database.
#[derive(Debug, Default)]
pub struct Pace {
    /// Bytes that flushes took out of deltas in a second of work, of late; 0 if that is not known.
    flushed_per_second: f64,
    /// Where the present stretch of commits began: when, and how much the deltas held.
    since: Option<(Duration, u64)>,
}

impl Pace {
    /// So many bytes were flushed, and all that this owed was done, in so much time of work.
    pub fn flushed(&mut self, bytes: u64, took: Duration) {
        let rate = bytes as f64 / took.as_secs_f64().max(1e-6);
        let before = if self.flushed_per_second > 0.0 { self.flushed_per_second } else { rate };
        self.flushed_per_second = (before + rate) / 2.0;
    }

    /// How long a commit is to sleep when the active deltas hold `bytes`, which is more than their budget.
    pub fn pause(&mut self, now: Duration, bytes: u64, budget: u64) -> Duration {
        let over = bytes as f64 / budget.max(1) as f64 - 1.0;
        if over < FREE_SHARE || self.flushed_per_second == 0.0 {
            self.since = None;
            return Duration::ZERO;
        }
        // The nearer to twice the budget, where commits wait, the slower: somewhere between they are as fast as
        // flushes.
        let room = ((1.0 - over) / (1.0 - FREE_SHARE)).max(ROOM_MIN);
        let allowed_per_second = self.flushed_per_second * FASTEST * room;
        let present = self.since.filter(|&(since, held)| bytes >= held && now.saturating_sub(since) < STRETCH);
        let (since, held) = *self.since.insert(present.unwrap_or((now, bytes)));
        let due = Duration::from_secs_f64((bytes - held) as f64 / allowed_per_second);
        let ahead = due.saturating_sub(now.saturating_sub(since));
        if ahead < PAUSE_MIN { Duration::ZERO } else { ahead.min(PAUSE_MAX) }
    }
}

/// Up to this share over the budget commits go on as they like.
const FREE_SHARE: f64 = 0.15;
/// So many times as fast as flushes they may be at first.
const FASTEST: f64 = 1.6;
/// And at least so many times in the end.
const ROOM_MIN: f64 = 0.02;
/// What was saved or lost longer ago is forgotten.
const STRETCH: Duration = Duration::from_millis(50);
/// Less is not worth going to sleep for: it is slept later, with more.
const PAUSE_MIN: Duration = Duration::from_micros(200);
/// No commit sleeps longer than this at once.
const PAUSE_MAX: Duration = Duration::from_millis(3);

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: u64 = 100 << 20;

    /// How fast commits of 10,000 bytes are that alone take 10 us, while deltas hold `over` times their budget more,
    /// and flushes take a budget in a second; and the longest pause.
    fn committed(over: f64) -> (f64, Duration) {
        let mut pace = Pace::default();
        pace.flushed(BUDGET, Duration::from_secs(1));
        let (mut now, mut bytes, mut longest) = (Duration::ZERO, 0u64, Duration::ZERO);
        let held = (BUDGET as f64 * (1.0 + over)) as u64;
        // What grows meanwhile is little beside the budget.
        while bytes < BUDGET / 50 {
            let pause = pace.pause(now, held + bytes, BUDGET);
            longest = longest.max(pause);
            now += pause + Duration::from_micros(10);
            bytes += 10_000;
        }
        (bytes as f64 / now.as_secs_f64() / BUDGET as f64, longest)
    }

    #[test]
    fn commits_are_slowed_to_the_pace_of_flushes_and_never_for_long() {
        let (free, _) = committed(0.1);
        assert!(free > 5.0, "there is room: {free}");
        let mut before = free;
        for over in [0.2, 0.4, 0.6, 0.8, 0.95] {
            let (now, longest) = committed(over);
            assert!(now < before && longest <= PAUSE_MAX, "{over}: {now}, {longest:?}");
            before = now;
        }
        let (early, late) = (committed(0.2).0, committed(0.8).0);
        assert!(early > 1.0 && late < 0.5, "{early} and {late}");
    }

    #[test]
    fn nobody_sleeps_before_a_flush_has_shown_how_fast_it_is() {
        let mut pace = Pace::default();
        assert_eq!(pace.pause(Duration::ZERO, 2 * BUDGET, BUDGET), Duration::ZERO);
        assert_eq!(pace.pause(Duration::from_micros(1), 3 * BUDGET, BUDGET), Duration::ZERO);
    }

    #[test]
    fn a_stretch_ends_when_the_deltas_were_exchanged() {
        let mut pace = Pace::default();
        pace.flushed(BUDGET, Duration::from_secs(1));
        pace.pause(Duration::ZERO, BUDGET * 3 / 2, BUDGET);
        assert!(pace.pause(Duration::from_millis(1), BUDGET * 3 / 2 + (1 << 20), BUDGET) > Duration::ZERO);
        assert_eq!(pace.pause(Duration::from_millis(2), BUDGET * 5 / 4, BUDGET), Duration::ZERO);
    }
}
