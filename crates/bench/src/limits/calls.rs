//! Measurements of calls of the system, and of what two threads have to do with each other. Those of threads are by the clock: who waits
//! for another core spends no processor time of use.

use std::hint::{black_box, spin_loop};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::limits::floor::Floor;
use crate::limits::probe::{Lack, Probe, Setting, cpu_ns_per_operation};

/// Every measurement of calls and of threads.
pub fn probes(setting: &Setting) -> Vec<Probe> {
    vec![
        repeated(&[Floor::SystemCall], setting.span, || drop(black_box(rustix::process::getppid()))),
        repeated(&[Floor::Clock], setting.span, || drop(black_box(Instant::now()))),
        of_threads(&[Floor::SharedAdd], setting, shared_add_ns),
        of_threads(&[Floor::HandOver], setting, hand_over_ns),
        of_threads(&[Floor::WakeUp], setting, wake_up_ns),
    ]
}

/// Processor time of a call.
fn repeated(floors: &'static [Floor; 1], span: Duration, call: impl Fn() + 'static) -> Probe {
    const CALLS: u64 = 1 << 12;
    Probe::of_one(floors, move || {
        cpu_ns_per_operation(span, || {
            (0..CALLS).for_each(|_| call());
            Ok(CALLS)
        })
    })
}

/// What two threads do for a span.
fn of_threads(floors: &'static [Floor; 1], setting: &Setting, measure: fn(Duration) -> Result<f64, Lack>) -> Probe {
    let setting = setting.clone();
    Probe::of_one(floors, move || {
        setting.lacks_second_core()?;
        measure(setting.span)
    })
}

/// A number that has a line of memory, and its neighbour, for itself: processors fetch lines in pairs.
#[repr(align(128))]
struct Line(AtomicU64);

/// Wall time by the additions of both threads to one number.
fn shared_add_ns(span: Duration) -> Result<f64, Lack> {
    const ADDITIONS: u64 = 1 << 10;
    let (line, stop, barrier) = (Line(AtomicU64::new(0)), AtomicBool::new(false), Barrier::new(2));
    let add = || {
        for _ in 0..ADDITIONS {
            // Relaxed, here and below: the sum alone matters, and a batch more or less does not.
            line.0.fetch_add(1, Ordering::Relaxed);
        }
    };
    Ok(thread::scope(|scope| {
        scope.spawn(|| {
            barrier.wait();
            while !stop.load(Ordering::Relaxed) {
                add();
            }
        });
        barrier.wait();
        let (started, before) = (Instant::now(), line.0.load(Ordering::Relaxed));
        while started.elapsed() < span {
            add();
        }
        let (elapsed, after) = (started.elapsed(), line.0.load(Ordering::Relaxed));
        stop.store(true, Ordering::Relaxed);
        elapsed.as_nanos() as f64 / (after - before) as f64
    }))
}

/// Wall time of one way of a line between two threads that both watch it.
fn hand_over_ns(span: Duration) -> Result<f64, Lack> {
    let turn = Line(AtomicU64::new(0));
    let pass = |side, over: &dyn Fn() -> bool| pass_on(&turn.0, side, spin_loop, || (), over);
    Ok(thread::scope(|scope| {
        scope.spawn(|| pass(1, &|| false));
        let started = Instant::now();
        let passed = pass(0, &|| started.elapsed() >= span);
        started.elapsed().as_nanos() as f64 / passed as f64
    }))
}

/// Wall time of one way between two threads of which each sleeps until the other has woken it up.
fn wake_up_ns(span: Duration) -> Result<f64, Lack> {
    let turn = Line(AtomicU64::new(0));
    let pass =
        |side, other: &Thread, over: &dyn Fn() -> bool| pass_on(&turn.0, side, thread::park, || other.unpark(), over);
    let first = thread::current();
    Ok(thread::scope(|scope| {
        let second = scope.spawn(|| pass(1, &first, &|| false));
        let started = Instant::now();
        let passed = pass(0, second.thread(), &|| started.elapsed() >= span);
        started.elapsed().as_nanos() as f64 / passed as f64
    }))
}

/// A turn that ends the game.
const OVER: u64 = u64::MAX;

/// One of two threads that take turns: the turns of side 0 are even. `wait` passes the time until the turn may be its own, and `wake`
/// tells the other that it is. Ends when a side says that it is `over`, which it is asked now and then; says how many turns there were.
fn pass_on(turn: &AtomicU64, side: u64, wait: impl Fn(), wake: impl Fn(), over: &dyn Fn() -> bool) -> u64 {
    const ASKED_EVERY: u64 = 64;
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
        let ends = (now / 2).is_multiple_of(ASKED_EVERY) && now > 1 && over();
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

    #[test]
    fn turns_alternate_until_one_side_ends_them() {
        let (turn, taken) = (AtomicU64::new(0), [AtomicU64::new(0), AtomicU64::new(0)]);
        let side = |side: u64, limit: u64| {
            let count = || drop(taken[side as usize].fetch_add(1, Ordering::SeqCst));
            let over = || taken[side as usize].load(Ordering::SeqCst) >= limit;
            pass_on(&turn, side, thread::yield_now, count, &over)
        };
        let (first, second) = thread::scope(|scope| {
            let second = scope.spawn(|| side(1, u64::MAX));
            (side(0, 100), second.join().unwrap())
        });
        // Asked every 64 turns of its own, the first side ends it at the 129th.
        assert_eq!((first, second), (256, OVER));
        assert_eq!(taken.map(AtomicU64::into_inner), [129, 128]);
    }
}
