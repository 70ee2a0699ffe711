//! Measurements of system calls, and of the exchange between two threads. Figures of threads are wall times: a thread
//! that waits for another core uses no processor time.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::floors::floor::Floor;
use crate::floors::probe::{Probe, Setting, Unavailable, cpu_ns_per_operation, stay_on};
use crate::measure::statistics::median;

/// Every measurement of calls and of threads.
pub fn probes(setting: &Setting) -> Vec<Probe> {
    vec![
        repeated(&[Floor::SystemCall], setting.span, rustix::process::getppid),
        repeated(&[Floor::Clock], setting.span, Instant::now),
        of_threads(&[Floor::SharedAdd], setting, shared_add_ns),
        of_threads(&[Floor::HandOver], setting, hand_over_ns),
        of_threads(&[Floor::WakeUp], setting, wake_up_ns),
    ]
}

/// Processor time of a call.
fn repeated<T: 'static>(floors: &'static [Floor; 1], span: Duration, call: fn() -> T) -> Probe {
    const CALLS: u64 = 1 << 12;
    Probe::of_one(floors, move || {
        cpu_ns_per_operation(span, || {
            for _ in 0..CALLS {
                black_box(call());
            }
            Ok(CALLS)
        })
    })
}

/// What two threads, each on a processor of its own, do for a span.
fn of_threads(
    floors: &'static [Floor; 1],
    setting: &Setting,
    measure: fn(&[usize], Duration) -> Result<f64, Unavailable>,
) -> Probe {
    let setting = setting.clone();
    Probe::of_one(floors, move || measure(setting.first_processors(2)?, setting.span))
}

/// Starts two threads together, on these processors; each receives its side, 0 or 1, and the other thread. The figure
/// is that of side 0.
fn together(processors: &[usize], play: impl Fn(u64, &Thread) -> f64 + Sync) -> Result<f64, Unavailable> {
    let (barrier, threads) = (Barrier::new(2), [OnceLock::new(), OnceLock::new()]);
    let run = |side: usize| {
        let placed = stay_on(processors[side]).map(|()| threads[side].set(thread::current()).is_ok());
        barrier.wait();
        placed?;
        // If the other thread has no processor, neither plays.
        let other =
            threads[1 - side].get().ok_or_else(|| Unavailable("the other thread has no processor".to_owned()))?;
        Ok(play(side as u64, other))
    };
    thread::scope(|scope| {
        let first = scope.spawn(|| run(0));
        scope.spawn(|| run(1));
        first.join().expect("taking turns does not panic")
    })
}

/// A number that has a line of memory, and its neighbour, for itself: processors fetch lines in pairs.
#[repr(align(128))]
struct Line(AtomicU64);

/// Wall time by the additions of both threads to one number.
fn shared_add_ns(processors: &[usize], span: Duration) -> Result<f64, Unavailable> {
    const ADDITIONS: u64 = 1 << 10;
    let (line, stop) = (Line(AtomicU64::new(0)), AtomicBool::new(false));
    let add = || {
        for _ in 0..ADDITIONS {
            // Relaxed, here and below: the sum alone matters, and a batch more or less does not.
            line.0.fetch_add(1, Ordering::Relaxed);
        }
    };
    together(processors, |side, _| {
        let (started, before) = (Instant::now(), line.0.load(Ordering::Relaxed));
        let goes_on = || if side == 0 { started.elapsed() < span } else { !stop.load(Ordering::Relaxed) };
        while goes_on() {
            add();
        }
        let (elapsed, after) = (started.elapsed(), line.0.load(Ordering::Relaxed));
        stop.store(true, Ordering::Relaxed);
        elapsed.as_nanos() as f64 / (after - before) as f64
    })
}

/// Wall time of one way of a line between two threads that both watch it.
fn hand_over_ns(processors: &[usize], span: Duration) -> Result<f64, Unavailable> {
    let turn = Line(AtomicU64::new(0));
    together(processors, |side, _| {
        let mut laps = Laps::new(span);
        pass_on(&turn.0, side, spin_loop, || (), || side == 0 && laps.over());
        laps.median_ns()
    })
}

/// Wall time of one way between two threads that sleep until the other wakes them.
fn wake_up_ns(processors: &[usize], span: Duration) -> Result<f64, Unavailable> {
    let turn = Line(AtomicU64::new(0));
    together(processors, |side, other| {
        let mut laps = Laps::new(span);
        pass_on(&turn.0, side, thread::park, || other.unpark(), || side == 0 && laps.over());
        laps.median_ns()
    })
}

/// Wall times of laps of a game. The median counts: while another process has one of the processors, both threads
/// wait.
struct Laps {
    started: Instant,
    last: Instant,
    span: Duration,
    turns_ns: Vec<f64>,
}

impl Laps {
    fn new(span: Duration) -> Self {
        let started = Instant::now();
        Self { started, last: started, span, turns_ns: Vec::new() }
    }

    /// A lap is done; says whether it was the last one.
    fn over(&mut self) -> bool {
        let now = Instant::now();
        self.turns_ns.push((now - self.last).as_nanos() as f64 / (2 * TURNS_OF_LAP) as f64);
        self.last = now;
        self.started.elapsed() >= self.span
    }

    /// Of a turn, of either side.
    fn median_ns(&self) -> f64 {
        median(&self.turns_ns)
    }
}

/// Turns of one side in a lap.
const TURNS_OF_LAP: u64 = 64;

/// A turn that ends the game.
const OVER: u64 = u64::MAX;

/// One of two threads that take turns: the turns of side 0 are even. `wait` passes the time until the thread's turn
/// may have come, and `wake` wakes the other thread for its turn. The game ends when `over`, which is called after
/// each lap of a side, returns true.
fn pass_on(turn: &AtomicU64, side: u64, wait: impl Fn(), wake: impl Fn(), mut over: impl FnMut() -> bool) -> u64 {
    loop {
        // Acquire: the turn was stored below by the other side, with Release; what it had done is done.
        let now = turn.load(Ordering::Acquire);
        if now == OVER {
            return now;
        }
        if now % 2 != side {
            wait();
            continue;
        }
        let ends = (now / 2).is_multiple_of(TURNS_OF_LAP) && now > 1 && over();
        turn.store(if ends { OVER } else { now + 1 }, Ordering::Release);
        wake();
        if ends {
            return now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floors::probe::processors;

    #[test]
    fn turns_alternate_until_one_side_ends_them() {
        let (turn, taken) = (AtomicU64::new(0), [AtomicU64::new(0), AtomicU64::new(0)]);
        let side = |side: u64, limit: u64| {
            let count = || {
                taken[side as usize].fetch_add(1, Ordering::SeqCst);
            };
            let over = || taken[side as usize].load(Ordering::SeqCst) >= limit;
            pass_on(&turn, side, thread::yield_now, count, over)
        };
        let (first, second) = thread::scope(|scope| {
            let second = scope.spawn(|| side(1, u64::MAX));
            (side(0, 70), second.join().unwrap())
        });
        // Asked after 64 and 128 turns of its own, the first side ends it with the 129th.
        assert_eq!((first, second), (256, OVER));
        assert_eq!(taken.map(AtomicU64::into_inner), [129, 128]);
    }

    #[test]
    fn laps_end_with_the_span_and_one_that_was_disturbed_does_not_count() {
        let mut laps = Laps::new(Duration::ZERO);
        assert!(laps.over());
        laps.turns_ns = vec![100.0, 9e6, 102.0];
        assert_eq!(laps.median_ns(), 102.0);
        assert!(!Laps::new(Duration::from_secs(3600)).over());
    }

    #[test]
    fn nobody_plays_where_one_has_no_processor() {
        let lack = together(&[processors()[0], 1023], |_, _| panic!("it plays")).unwrap_err();
        assert!(lack.0.contains("processor"), "{lack}");
    }
}
