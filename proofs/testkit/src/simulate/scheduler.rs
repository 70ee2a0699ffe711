//! The scheduler of a simulation: one of its threads runs, and a seed decides when it hands over, and to which.
//!
//! Threads are those of the system, so that the engine's code is the same as in other builds. The baton passes from
//! one to the next at steps: at every lock, wait and call of the disk. How many steps a thread runs is drawn each
//! time: often a few, sometimes thousands. Each stretch of the simulation has its own weights, so that a thread may
//! starve for a while. Time rises a little with every step, and jumps when all threads wait for it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, Thread};
use std::time::Duration;

use fulgurite::planted::simulation::{Task, end_of, enter};

use crate::random::Random;

/// One simulation. The thread that begins it is its first task; it ends when this is dropped, on the same thread.
pub struct Scheduler {
    shared: Arc<Shared>,
}

/// What is called when no thread can go on.
pub type OnStuck = Box<dyn Fn(&str) + Send + Sync>;

struct Shared {
    /// The task that runs.
    running: AtomicUsize,
    /// Steps until it hands over.
    steps_left: AtomicU64,
    now_ns: AtomicU64,
    switches: AtomicU64,
    steps: AtomicU64,
    /// How often tasks in a row made way.
    idle: AtomicU64,
    panics: AtomicU64,
    /// Never waited for: one task runs.
    state: Mutex<State>,
    on_stuck: OnStuck,
}

struct State {
    random: Random,
    tasks: Vec<TaskState>,
    /// Switches until new weights are drawn.
    stretch: u64,
    /// Most steps in a short turn.
    turn_steps: u64,
}

struct TaskState {
    thread: Option<Thread>,
    status: Status,
    weight: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Ready,
    Waiting { place: usize, until: Option<Duration> },
    Ended,
}

impl Scheduler {
    /// Begins a simulation, whose first task is the calling thread. `on_stuck` is called if no task can go on; it
    /// does not return.
    pub fn begin(seed: u64, on_stuck: OnStuck) -> Self {
        let random = Random::for_part(seed, &[u64::from_be_bytes(*b"schedule")]);
        let first = TaskState { thread: Some(thread::current()), status: Status::Ready, weight: 4 };
        let state = State { random, tasks: vec![first], stretch: 0, turn_steps: 16 };
        let shared = Arc::new(Shared {
            running: AtomicUsize::new(0),
            steps_left: AtomicU64::new(0),
            now_ns: AtomicU64::new(0),
            switches: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            idle: AtomicU64::new(0),
            panics: AtomicU64::new(0),
            state: Mutex::new(state),
            on_stuck,
        });
        let scheduler = Self { shared };
        scheduler.resume();
        scheduler
    }

    /// Runs `work` outside of the simulation: no other task comes in between.
    pub fn outside<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = enter(None);
        let outcome = work();
        enter(before);
        outcome
    }

    /// How often a task handed over to another one.
    pub fn switches(&self) -> u64 {
        self.shared.switches.load(Ordering::Relaxed)
    }

    /// Places that tasks passed where they might have handed over.
    pub fn steps(&self) -> u64 {
        self.shared.steps.load(Ordering::Relaxed)
    }

    /// Tasks that ended by a panic.
    pub fn panics(&self) -> u64 {
        self.shared.panics.load(Ordering::Relaxed)
    }

    fn resume(&self) {
        enter(Some(Arc::new(SimulatedTask { shared: Arc::clone(&self.shared), number: 0 })));
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        enter(None);
    }
}

struct SimulatedTask {
    shared: Arc<Shared>,
    number: usize,
}

impl Task for SimulatedTask {
    fn number(&self) -> usize {
        self.number
    }

    #[inline]
    fn step(&self) {
        let shared = &*self.shared;
        // Relaxed, here and below: one task runs, and the baton's handing over orders everything.
        shared.now_ns.fetch_add(STEP_NS, Ordering::Relaxed);
        let left = shared.steps_left.load(Ordering::Relaxed);
        if left > 0 {
            shared.steps_left.store(left - 1, Ordering::Relaxed);
            return;
        }
        shared.idle.store(0, Ordering::Relaxed);
        shared.hand_over(self.number, Status::Ready, false);
    }

    fn stand_aside(&self) {
        if self.shared.idle.fetch_add(1, Ordering::Relaxed) > IDLE_MAX {
            self.shared.stuck("all threads wait for each other, and none sleeps");
        }
        self.shared.hand_over(self.number, Status::Ready, true);
    }

    fn wait(&self, place: usize, until: Option<Duration>) {
        self.shared.hand_over(self.number, Status::Waiting { place, until }, false);
    }

    fn wake(&self, place: usize) {
        for task in &mut self.shared.state().tasks {
            if matches!(task.status, Status::Waiting { place: waits_at, .. } if waits_at == place) {
                task.status = Status::Ready;
            }
        }
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.shared.now_ns.load(Ordering::Relaxed))
    }

    fn random(&self) -> u64 {
        self.shared.state().random.next_u64()
    }

    fn fork(&self) -> Arc<dyn Task> {
        let mut state = self.shared.state();
        let number = state.tasks.len();
        state.tasks.push(TaskState { thread: None, status: Status::Ready, weight: 4 });
        Arc::new(Self { shared: Arc::clone(&self.shared), number })
    }

    fn begin(&self) {
        self.shared.state().tasks[self.number].thread = Some(thread::current());
        self.shared.await_turn(self.number);
    }

    fn end(&self, panicked: bool) {
        if panicked {
            self.shared.panics.fetch_add(1, Ordering::Relaxed);
        }
        self.wake(end_of(self.number));
        self.shared.hand_over(self.number, Status::Ended, false);
    }

    fn has_ended(&self, number: usize) -> bool {
        self.shared.state().tasks[number].status == Status::Ended
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds this lock")
    }

    /// Lets some task go on, and waits until it is this one's turn again, unless it has ended.
    fn hand_over(&self, from: usize, status: Status, to_another: bool) {
        let mut state = self.state();
        state.tasks[from].status = status;
        let mut now = Duration::from_nanos(self.now_ns.load(Ordering::Relaxed));
        let next = loop {
            state.wake_at(now);
            if let Some(next) = state.draw(to_another.then_some(from)) {
                break next;
            }
            let Some(until) = state.next_time() else {
                if status == Status::Ready {
                    break from;
                }
                let tasks: Vec<_> = state.tasks.iter().map(|task| task.status).collect();
                drop(state);
                self.stuck(&format!("every thread waits for another one: {tasks:?}"));
                return;
            };
            now = now.max(until);
            self.now_ns.store(now.as_nanos() as u64, Ordering::Relaxed);
        };
        let steps = state.draw_steps();
        self.steps_left.store(steps, Ordering::Relaxed);
        self.steps.fetch_add(steps + 1, Ordering::Relaxed);
        if next == from {
            return;
        }
        self.switches.fetch_add(1, Ordering::Relaxed);
        let thread = state.tasks[next].thread.clone();
        // Release pairs with the Acquire of the thread that goes on. Under the lock, so that a thread that says only
        // after this where it is to be woken sees that it is its turn.
        self.running.store(next, Ordering::Release);
        drop(state);
        if let Some(thread) = thread {
            thread.unpark();
        }
        if status != Status::Ended {
            self.await_turn(from);
        }
    }

    fn await_turn(&self, number: usize) {
        while self.running.load(Ordering::Acquire) != number {
            thread::park();
        }
    }

    fn stuck(&self, how: &str) {
        (self.on_stuck)(how);
        panic!("the simulation is stuck: {how}");
    }
}

impl State {
    fn wake_at(&mut self, now: Duration) {
        for task in &mut self.tasks {
            if matches!(task.status, Status::Waiting { until: Some(until), .. } if until <= now) {
                task.status = Status::Ready;
            }
        }
    }

    fn next_time(&self) -> Option<Duration> {
        let times = self.tasks.iter().filter_map(|task| match task.status {
            Status::Waiting { until, .. } => until,
            Status::Ready | Status::Ended => None,
        });
        times.min()
    }

    /// A task that is ready, by weight.
    fn draw(&mut self, but: Option<usize>) -> Option<usize> {
        if self.stretch == 0 {
            self.begin_stretch();
        }
        self.stretch -= 1;
        let is_ready = |(number, task): &(usize, &TaskState)| task.status == Status::Ready && Some(*number) != but;
        let total: u64 = self.tasks.iter().enumerate().filter(is_ready).map(|(_, task)| task.weight).sum();
        if total == 0 {
            return None;
        }
        let mut drawn = self.random.below(total);
        for (number, task) in self.tasks.iter().enumerate().filter(is_ready) {
            if drawn < task.weight {
                return Some(number);
            }
            drawn -= task.weight;
        }
        None
    }

    fn begin_stretch(&mut self) {
        self.stretch = 1 + self.random.below(STRETCH_MAX);
        self.turn_steps = 1 << self.random.below(TURN_STEPS_LOG_MAX);
        for task in &mut self.tasks {
            task.weight = 1 << self.random.below(WEIGHT_LOG_MAX);
        }
    }

    fn draw_steps(&mut self) -> u64 {
        if self.random.chance(1, 64) { self.random.below(LONG_STEPS_MAX) } else { self.random.below(self.turn_steps) }
    }
}

/// What a step takes of the simulation's time.
const STEP_NS: u64 = 300;
/// So many threads that make way without a step between mean that no thread makes progress.
const IDLE_MAX: u64 = 10_000_000;
/// New weights are drawn after so many switches at most.
const STRETCH_MAX: u64 = 400;
/// The longest turns that are short have two to the power of one less than this steps.
const TURN_STEPS_LOG_MAX: u64 = 8;
/// Steps of a long turn.
const LONG_STEPS_MAX: u64 = 2_000;
/// The greatest weight of a task is two to the power of one less.
const WEIGHT_LOG_MAX: u64 = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use fulgurite::planted::simulation::{spawn, with};

    /// The order in which three threads pass their steps.
    fn order(seed: u64) -> Vec<usize> {
        let scheduler = Scheduler::begin(seed, Box::new(|_| {}));
        let passed = Arc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let passed = Arc::clone(&passed);
                let work = move || {
                    for _ in 0..5_000 {
                        with(|task| {
                            passed.lock().expect("one runs at a time").push(task.number());
                            task.step();
                        });
                    }
                };
                spawn("simulated", work).expect("the system has threads")
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
        drop(scheduler);
        let passed = passed.lock().expect("all have ended").clone();
        assert_eq!(passed.len(), 15_000);
        passed
    }

    #[test]
    fn a_seed_decides_the_order_of_threads() {
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        assert!(order(1).windows(2).filter(|pair| pair[0] != pair[1]).count() > 10);
    }

    #[test]
    fn time_leaps_when_all_wait_for_it() {
        let scheduler = Scheduler::begin(1, Box::new(|_| {}));
        let now = with(|task| {
            task.wait(0, Some(Duration::from_secs(3600)));
            task.now()
        });
        drop(scheduler);
        assert!(now.is_some_and(|now| now >= Duration::from_secs(3600)));
    }

    #[test]
    fn a_deadlock_is_told() {
        let told = Arc::new(Mutex::new(String::new()));
        let tell = Arc::clone(&told);
        let scheduler = Scheduler::begin(1, Box::new(move |how| *tell.lock().expect("nobody else") = how.to_owned()));
        let outcome = crate::panics::catch(|| with(|task| task.wait(1, None)));
        drop(scheduler);
        assert!(outcome.is_err());
        assert!(told.lock().expect("nobody else").contains("waits for another"));
    }
}
