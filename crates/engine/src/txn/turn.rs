//! The writer's turn: one write transaction, or one change of the published state, at a time.
//!
//! A [`Turn`] is not a mutex guard, because a transaction may move between threads and outlive a stack frame.

use crate::sync::{Arc, Condvar, Mutex};

/// Hands out turns. Lock rank 1: taken before every other lock of the engine.
#[derive(Debug, Default)]
pub struct Turns {
    queue: Mutex<Queue>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    taken: bool,
    /// Threads that wait: without any there is nobody to wake, which would cost a system call.
    waiting: usize,
}

/// Held while it is one's turn; dropped, it passes to whoever waits.
#[derive(Debug)]
pub struct Turn(Arc<Turns>);

impl Turns {
    /// Waits for a turn.
    pub fn wait(self: &Arc<Self>) -> Turn {
        let mut queue = self.queue.lock();
        while queue.taken {
            queue.waiting += 1;
            queue = self.free.wait(queue);
            queue.waiting -= 1;
        }
        queue.taken = true;
        Turn(Arc::clone(self))
    }

    /// Takes a turn if none is taken.
    pub fn try_take(self: &Arc<Self>) -> Option<Turn> {
        let mut queue = self.queue.lock();
        if queue.taken {
            return None;
        }
        queue.taken = true;
        Some(Turn(Arc::clone(self)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        queue.taken = false;
        let somebody_waits = queue.waiting > 0;
        drop(queue);
        if somebody_waits {
            self.0.free.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_turn_waits_until_the_first_is_dropped() {
        let turns = Arc::new(Turns::default());
        let first = turns.wait();
        assert!(turns.try_take().is_none());
        let waiting = {
            let turns = Arc::clone(&turns);
            std::thread::spawn(move || drop(turns.wait()))
        };
        drop(first);
        waiting.join().expect("the waiter gets its turn");
        assert!(turns.try_take().is_some());
    }
}
