//! What the threads of a round do, drawn before the clock starts, the same for all engines.
//!
//! Invariant: threads of one round never put the same key, so that the last value of each is known; keys that they
//! share are counters, to which every committed transaction adds.

use crate::data::dataset::{Dataset, Keys};
use crate::data::queries::Packed;
use crate::data::random::Random;
use crate::suites::writers::ledger::{self, Ledger};
use crate::suites::writers::workload::{Definition, Mixture};

/// One step of a transaction, for the key of the same number.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Put this value.
    Put(&'a [u8]),
    /// Get, and expect this value.
    Get(&'a [u8]),
    /// Get, add to the number in the first 8 bytes, and put.
    Add(u64),
    /// Add to the number by the engine's own way.
    Merge(u64),
}

/// What one thread does.
#[derive(Debug)]
pub struct Script<'a> {
    /// Keys in the order of their use.
    pub keys: Packed,
    /// What to do with each.
    pub steps: Vec<Step<'a>>,
    /// Steps in a transaction.
    pub per_transaction: usize,
}

impl<'a> Script<'a> {
    fn push(&mut self, key: &[u8], step: Step<'a>) {
        self.keys.push(key);
        self.steps.push(step);
    }

    /// Transactions in it.
    pub fn transactions(&self) -> usize {
        self.steps.len() / self.per_transaction
    }
}

/// Draws `transactions`, divided among `threads`, and writes into the ledger what will come of them.
pub fn draw<'a>(
    data: &'a Dataset,
    ledger: &mut Ledger,
    definition: &Definition,
    (transactions, threads): (usize, usize),
    random: &mut Random,
) -> Vec<Script<'a>> {
    let per_transaction = definition.per_transaction;
    let share = transactions / threads;
    let one = |thread: usize| {
        let capacity = share * per_transaction;
        let mut script =
            Script { keys: Packed::with_capacity(capacity), steps: Vec::with_capacity(capacity), per_transaction };
        let mut drawing = Drawing { data, ledger, random, thread, threads };
        for _ in 0..share {
            match definition.mixture {
                Mixture::Transfers => drawing.transfer(&mut script),
                Mixture::Puts => (0..per_transaction).for_each(|_| drawing.put_own(&mut script)),
                Mixture::Overlap => (0..per_transaction).for_each(|_| drawing.put_or_count(&mut script)),
                Mixture::Counters => drawing.count(&mut script, Step::Add(1)),
                Mixture::MergedCounters => drawing.count(&mut script, Step::Merge(1)),
                Mixture::Gets { percent } => drawing.get_or_put(&mut script, percent),
            }
        }
        script
    };
    (0..threads).map(one).collect()
}

/// The drawing of one thread's script.
struct Drawing<'d, 'a> {
    data: &'a Dataset,
    ledger: &'d mut Ledger,
    random: &'d mut Random,
    thread: usize,
    threads: usize,
}

impl<'a> Drawing<'_, 'a> {
    /// One of the keys that belong to this thread, stored and absent ones alike.
    fn own(&mut self) -> (&'a Keys, usize) {
        let all = self.data.stored.len() + self.data.absent.len();
        let drawn = self.random.below(all / self.threads) * self.threads + self.thread;
        match drawn.checked_sub(self.data.stored.len()) {
            None => (&self.data.stored, drawn),
            Some(position) => (&self.data.absent, position),
        }
    }

    fn put(&mut self, script: &mut Script<'a>, (keys, position): (&'a Keys, usize)) {
        let is_stored = std::ptr::eq(keys, &self.data.stored);
        let version = self.ledger.put(is_stored, position);
        script.push(keys.key(position), Step::Put(self.data.values.get_version(keys.id(position), version)));
    }

    fn put_own(&mut self, script: &mut Script<'a>) {
        let drawn = self.own();
        self.put(script, drawn);
    }

    fn put_or_count(&mut self, script: &mut Script<'a>) {
        const SHARED_ONE_IN: usize = 10;
        if self.random.below(SHARED_ONE_IN) == 0 {
            return self.count(script, Step::Add(1));
        }
        loop {
            let (keys, position) = self.own();
            if std::ptr::eq(keys, &self.data.absent) || !ledger::is_counter(self.data, position) {
                return self.put(script, (keys, position));
            }
        }
    }

    /// One more on a counter that all threads share.
    fn count(&mut self, script: &mut Script<'a>, step: Step<'a>) {
        let position = ledger::counter(self.data, self.random.below(ledger::COUNTERS));
        self.ledger.add(position, 1);
        script.push(self.data.stored.key(position), step);
    }

    fn get_or_put(&mut self, script: &mut Script<'a>, percent: usize) {
        let stored = &self.data.stored;
        let position = self.random.below(stored.len());
        let is_get = self.random.below(100) < percent;
        let version = if is_get { self.ledger.version(position) } else { self.ledger.put(true, position) };
        let value = self.data.values.get_version(stored.id(position), version);
        script.push(stored.key(position), if is_get { Step::Get(value) } else { Step::Put(value) });
    }

    fn transfer(&mut self, script: &mut Script<'a>) {
        const AMOUNT_LIMIT: usize = 1000;
        let stored = &self.data.stored;
        let from = self.random.below(stored.len());
        let to = (from + 1 + self.random.below(stored.len() - 1)) % stored.len();
        let amount = 1 + self.random.below(AMOUNT_LIMIT) as u64;
        for (position, change) in [(from, amount.wrapping_neg()), (to, amount)] {
            self.ledger.add(position, change);
            script.push(stored.key(position), Step::Add(change));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::data::dataset::tests::small;
    use crate::suites::writers::workload::Workload;

    fn drawn(data: &Dataset, workload: Workload, threads: usize) -> Vec<Script<'_>> {
        let definition = workload.definition().unwrap();
        draw(data, &mut Ledger::new(data), &definition, (6000, threads), &mut Random::new(1, 1))
    }

    #[test]
    fn threads_put_keys_of_their_own_and_share_counters_alone() {
        let data = small(2000, 100);
        let scripts = drawn(&data, Workload::TwoOverlap, 2);
        let keys = |script: &Script<'_>, counted: bool| -> HashSet<Vec<u8>> {
            let of = |index: &usize| matches!(script.steps[*index], Step::Add(_)) == counted;
            (0..script.steps.len()).filter(of).map(|index| script.keys.get(index).to_vec()).collect()
        };
        assert!(keys(&scripts[0], false).is_disjoint(&keys(&scripts[1], false)));
        assert_eq!(keys(&scripts[0], true).len(), ledger::COUNTERS);
        assert!(keys(&scripts[0], true).is_disjoint(&keys(&scripts[0], false)));
        let counted = scripts[0].steps.iter().filter(|step| matches!(step, Step::Add(_))).count();
        assert!((counted as f64 / scripts[0].steps.len() as f64 - 0.1).abs() < 0.02);
    }

    #[test]
    fn transfers_add_up_to_nothing() {
        let data = small(50, 100);
        for script in drawn(&data, Workload::Bank, 1) {
            assert_eq!(script.transactions(), 6000);
            for pair in script.steps.chunks(2) {
                let [Step::Add(from), Step::Add(to)] = pair else { panic!("a transfer is two additions") };
                assert_eq!(from.wrapping_add(*to), 0);
            }
            assert!((0..6000).all(|index| script.keys.get(2 * index) != script.keys.get(2 * index + 1)));
        }
    }

    #[test]
    fn a_mixture_has_the_share_of_gets_that_its_name_says() {
        let data = small(2000, 100);
        for (workload, share) in [(Workload::Mix80, 0.8), (Workload::Mix70, 0.7)] {
            let steps = &drawn(&data, workload, 1)[0].steps;
            let gets = steps.iter().filter(|step| matches!(step, Step::Get(_))).count();
            assert!((gets as f64 / steps.len() as f64 - share).abs() < 0.03);
        }
    }
}
