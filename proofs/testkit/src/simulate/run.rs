//! One simulation: lives of a database, one after the other on the same disk, each ended by closing it, by the death
//! of its process or by a power cut.

use super::model::{KeyForm, Kind, Value};
use super::reading::lock;
use super::scheduler::{OnStuck, Scheduler};
use super::tally::Tally;
use super::world::{Life, PATH, Phase, World};

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Decides everything.
    pub seed: u64,
    /// Calls of the database by the thread in the foreground.
    pub operations: u64,
}

/// Simulates, and returns what was done.
///
/// # Errors
/// What is wrong, in words.
pub fn simulate(plan: &Plan, on_stuck: OnStuck) -> Result<Tally, String> {
    let scheduler = Scheduler::begin(plan.seed, on_stuck);
    let mut world = World::new(plan.seed, plan.operations, &scheduler);
    let outcome = world.play();
    let outcome = outcome.map_err(|wrong| {
        let (operations, lives) = (world.operations, world.tally.of("lives"));
        format!("after {operations} operations, in life {lives}: {wrong}")
    });
    world.abandon();
    let mut tally = std::mem::take(&mut world.tally);
    drop(world);
    tally.add("operations", plan.operations);
    tally.add("handovers", scheduler.switches());
    tally.add("steps", scheduler.steps());
    outcome?;
    if scheduler.panics() > 0 {
        return Err("a thread in the background panicked".into());
    }
    Ok(tally)
}

impl World<'_> {
    fn play(&mut self) -> Result<(), String> {
        let mut acknowledged = 0;
        while self.operations < self.target {
            self.tally.count("lives");
            self.life = Life::draw(&mut self.random, &mut self.lots, self.operations, self.target);
            self.begin_life(acknowledged)?;
            self.live()?;
            acknowledged = self.end_life()?;
        }
        self.settle(acknowledged)
    }

    /// Opens the database and checks its content.
    fn begin_life(&mut self, acknowledged: u64) -> Result<(), String> {
        let db = self.life.options(&self.disk).open(PATH).map_err(|error| format!("it does not open: {error}"))?;
        self.db = Some(db);
        self.compare_recovered(acknowledged)?;
        self.reopen_tables()?;
        self.plan_faults();
        self.start_reader()?;
        if lock(&self.model).live().is_empty() {
            self.create_first_tables()?;
        }
        Ok(())
    }

    fn create_first_tables(&mut self) -> Result<(), String> {
        // No call fails before the database has content.
        let faults = std::mem::take(&mut *self.disk.plan()).without_faults();
        *self.disk.plan() = faults;
        self.life.faulty = false;
        for (keys, space, counted, packed, adds, loaded) in [
            (KeyForm::Text, 24_000, false, false, false, 9_000),
            (KeyForm::Short, 16_000, false, true, false, 0),
            (KeyForm::Text, 6_000, true, true, false, 3_000),
            (KeyForm::Short, 5_000, false, false, true, 0),
            (KeyForm::Long, 1_200, false, false, false, 0),
        ] {
            let place = self.create_table(Kind { keys, space, counted, packed, adds, by_function: adds })?;
            let entries: Vec<(u32, Value)> = (0..loaded)
                .map(|number| (number * (space / loaded.max(1)), Value::Bytes(30 + number % 40, number)))
                .collect();
            if let (Some(place), false) = (place, entries.is_empty()) {
                self.load(place, entries)?;
            }
        }
        Ok(())
    }

    /// The operations of a life.
    fn live(&mut self) -> Result<(), String> {
        while self.operations < self.life.until && !self.life.over {
            self.operations += 1;
            if self.operations >= self.phase.until {
                let model = lock(&self.model);
                self.phase = Phase::draw(&mut self.random, self.operations, &model.live(), &model);
            }
            self.operate()?;
            self.note_failures();
            if self.life.faulty && self.random.chance(1, 1_000) {
                self.disk.plan().fail_within(200, &mut self.random);
            }
            if self.random.chance(1, CUT_EVERY) {
                let at = self.disk.plan().calls + self.random.below(40);
                let cut = Some(at);
                let at_sync = self.random.chance(2, 3);
                let mut plan = self.disk.plan();
                if at_sync { plan.cut_at_sync = cut } else { plan.cut_at = cut }
            }
            self.look_at_cut()?;
            self.end_snapshots()?;
            if self.operations.is_multiple_of(FORGOTTEN_EVERY) {
                self.forget();
                self.look_at_reader()?;
            }
        }
        Ok(())
    }

    fn operate(&mut self) -> Result<(), String> {
        let drawn = self.random.below(10_000);
        let writes = self.phase.writes * 95;
        match drawn {
            _ if drawn < writes => self.write(),
            9500..9503 => self.create_or_drop(),
            9503..9508 => self.load_some(),
            9508..9511 => self.checkpoint(),
            9511 if self.random.chance(1, 2) => self.compact(),
            9512..9516 => self.check(),
            9516..9536 => self.look_at_stats(),
            9536..9546 if !self.life.busy => self.idle(),
            9546..9552 => self.sync(),
            9552..9557 => self.consume(),
            9557..9660 => self.hold(),
            _ => self.ask(),
        }
    }

    fn plan_faults(&mut self) {
        let faulty = self.life.faulty;
        let length = self.life.until - self.operations;
        let random = &mut self.random;
        let mut plan = self.disk.plan();
        // So many calls that change something are made at least.
        let calls = 1 + length / 8;
        let version = lock(&self.model).version;
        plan.acknowledged.durable = version;
        plan.acknowledged.logged = version;
        if faulty {
            plan.fail_within(calls, random);
        }
    }
}

/// The power is cut once in about so many operations.
const CUT_EVERY: u64 = 400;
/// Versions that no one reads any more are forgotten after so many operations.
const FORGOTTEN_EVERY: u64 = 1_000;

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use fulgurite::planted::simulation;
    use fulgurite::{Database, Durability};

    use super::*;
    use crate::crash_disk::CrashDisk;
    use crate::simulate::disk::{Failing, SimulatedDisk};

    #[test]
    fn a_seed_repeats_a_simulation() {
        let run = || simulate(&Plan { seed: 3, operations: 3_000 }, Box::new(|how| panic!("{how}")));
        let (first, second) = (run().expect("nothing is wrong"), run().expect("nothing is wrong"));
        assert!(first.of("handovers") > 0);
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
    }

    /// A checkpoint that failed kept its deltas frozen, and all runs unmerged, until there was another commit over
    /// the budget.
    #[test]
    fn a_checkpoint_that_failed_in_the_background_is_tried_again_without_a_further_commit() {
        let scheduler = Scheduler::begin(1, Box::new(|how| panic!("{how}")));
        let disk = SimulatedDisk::new(CrashDisk::new());
        let options = Database::options().create(true).delta_bytes(64 << 10).durability(Durability::Log);
        let db = options.disk(Arc::new(disk.clone())).open(PATH).expect("nothing fails yet");
        let table = db.create_table("t", Default::default()).expect("nothing fails yet");
        disk.plan().fails = Some((0, Failing::PageWrites(3)));
        let wait = |time| simulation::with(|task| task.wait(0, Some(task.now() + time)));
        let mut last = 0;
        for number in 0..1_000_u32 {
            db.update(|txn| txn.put(&table, &number.to_be_bytes(), &[1; 1_000])).expect("the log can be written");
            last = db.read().expect("it is open").sequence().0;
            wait(Duration::from_millis(1));
            if disk.plan().failed > 0 {
                break;
            }
        }
        wait(Duration::from_secs(1));
        let failed = disk.plan().failed;
        let before = db.stats().expect("nothing fails any more").checkpoint_sequence;
        wait(Duration::from_secs(60));
        let after = db.stats().expect("nothing fails any more").checkpoint_sequence;
        drop(db);
        drop(scheduler);
        // Growing the file is tried twice.
        assert!(failed >= 2, "the checkpoint did not fail");
        assert!(before < last && after + 1 >= last, "from {before} to {after}, and {last} was the last commit");
    }
}
