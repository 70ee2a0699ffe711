//! The changes of the foreground: several open transactions at once, tables that are created and dropped, and loads.

use std::collections::BTreeMap;

use fulgurite::{Durability, Error, Isolation, Table};

use super::model::{Change, KeyForm, Kind, Value};
use super::reading::lock;
use super::world::{Open, Pattern, World};

impl World<'_> {
    /// One call of a transaction: the beginning of one, a change, or its end.
    pub(super) fn write(&mut self) -> Result<(), String> {
        if self.open.is_empty() || (self.open.len() < OPEN_MAX && self.random.chance(1, 40)) {
            return self.begin();
        }
        let operations = self.operations;
        let awake: Vec<usize> =
            (0..self.open.len()).filter(|&index| self.open[index].rests_until <= operations).collect();
        if awake.is_empty() {
            return if self.open.len() < OPEN_MAX { self.begin() } else { self.ask() };
        }
        let index = awake[self.random.index(awake.len())];
        let open = &mut self.open[index];
        if open.changes.len() == 2 && awake.len() > 2 && open.rests_until == 0 && self.random.chance(1, 8) {
            // Deltas are frozen and merged meanwhile.
            open.rests_until = operations + self.random.below(RESTS_FOR);
        }
        let open = &self.open[index];
        if open.changes.len() as u64 >= open.wanted {
            return self.end(index);
        }
        self.change(index)
    }

    fn begin(&mut self) -> Result<(), String> {
        let isolation = if self.random.coin() { Isolation::Serializable } else { Isolation::Snapshot };
        let version = lock(&self.model).version;
        self.tally.count("transactions begun");
        match self.db().write_with(isolation) {
            Ok(txn) => {
                let wanted = 1 + self.random.below(self.phase.changes);
                self.open.push(Open {
                    txn,
                    isolation,
                    version,
                    changes: BTreeMap::new(),
                    reads: Vec::new(),
                    wanted,
                    rests_until: 0,
                });
                Ok(())
            }
            Err(error) => self.excuse("the beginning of a transaction", &error),
        }
    }

    fn change(&mut self, index: usize) -> Result<(), String> {
        let Some((place, kind, table)) = self.draw_table() else {
            // All tables are gone: the transaction has nothing to do.
            return self.end(index);
        };
        let key = self.draw_key(kind);
        let bytes = kind.key(key);
        let change = self.draw_change(kind);
        let open = &mut self.open[index];
        if self.random.chance(1, 20) && !kind.adds {
            let found = open.txn.get(&table, &bytes).map(|value| value.map(|value| value.to_vec()));
            let found = match found {
                Ok(found) => found,
                Err(error) => return self.excuse("a read in a transaction", &error),
            };
            let expected = match open.changes.get(&(place, key)) {
                Some(Change::Put(value)) => Some(*value),
                Some(_) => None,
                None => lock(&self.model).tables[place].get(key, open.version),
            };
            if !open.changes.contains_key(&(place, key)) {
                open.reads.push((place, key));
            }
            self.tally.count("gets in transactions");
            if found != expected.map(|value| value.bytes()) {
                return Err(format!(
                    "a transaction that sees version {} reads {found:?} of key {key}, not {expected:?}",
                    open.version
                ));
            }
        }
        let outcome = match change {
            Change::Put(value) => open.txn.put(&table, &bytes, &value.bytes()).map(|()| true),
            Change::Add(operand) => open.txn.merge(&table, &bytes, &operand.to_be_bytes()).map(|()| true),
            Change::Delete => open.txn.delete(&table, &bytes),
        };
        let was_there = match outcome {
            Ok(was_there) => was_there,
            Err(error) => return self.excuse("a change", &error),
        };
        if change == Change::Delete {
            let expected = match open.changes.get(&(place, key)) {
                Some(own) => *own != Change::Delete,
                None => lock(&self.model).tables[place].get(key, open.version).is_some(),
            };
            if was_there != expected {
                return Err(format!("a transaction that sees version {} deletes key {key}: {was_there}", open.version));
            }
            if !open.changes.contains_key(&(place, key)) {
                open.reads.push((place, key));
            }
            if !was_there {
                // It has changed nothing.
                self.tally.count("deletes of absent keys");
                open.wanted = open.wanted.saturating_sub(1);
                return Ok(());
            }
        }
        self.tally.count(match change {
            Change::Put(Value::Bytes(LARGE.., _)) => "large values put",
            Change::Put(_) => "puts",
            Change::Add(_) => "merges into keys",
            Change::Delete => "deletes",
        });
        self.open[index].note(place, key, change);
        Ok(())
    }

    fn draw_table(&mut self) -> Option<(usize, Kind, Table)> {
        let model = lock(&self.model);
        let live = model.live();
        if live.is_empty() {
            return None;
        }
        let wanted = self.phase.table;
        let place = if live.contains(&wanted) && self.random.chance(7, 8) {
            wanted
        } else {
            live[self.random.index(live.len())]
        };
        let table = &model.tables[place];
        Some((place, table.kind, table.table()))
    }

    fn draw_key(&mut self, kind: Kind) -> u32 {
        let (space, phase) = (kind.space, &mut self.phase);
        match phase.pattern {
            Pattern::Spread => self.random.below(u64::from(space)) as u32,
            Pattern::Skewed => {
                // The product of three: small ones come most often; then spread over the table.
                let part = |random: &mut crate::random::Random| random.below(1 << 16);
                let product = (part(&mut self.random) * part(&mut self.random)) >> 16;
                let product = (product * part(&mut self.random)) >> 16;
                ((product * 40_503) % u64::from(space)) as u32
            }
            Pattern::Rising => {
                phase.at = (phase.at + 1) % space;
                phase.at
            }
            Pattern::Falling => {
                phase.at = phase.at.checked_sub(1).unwrap_or(space - 1).min(space - 1);
                phase.at
            }
            Pattern::Near => (phase.at.wrapping_add(self.random.below(300) as u32)) % space,
        }
    }

    fn draw_change(&mut self, kind: Kind) -> Change {
        if self.random.chance(self.phase.deletes, 100) {
            return Change::Delete;
        }
        if kind.adds {
            return Change::Add(1 + self.random.below(1_000));
        }
        Change::Put(self.draw_value())
    }

    fn draw_value(&mut self) -> Value {
        let random = &mut self.random;
        let length = match random.below(2_000) {
            0 => 66_000 + random.below(40_000),
            1..8 => 3_000 + random.below(9_000),
            8..60 => 200 + random.below(1_500),
            _ => random.below(self.phase.value_bytes),
        };
        Value::Bytes(length as u32, random.next_u64() as u32)
    }

    fn end(&mut self, index: usize) -> Result<(), String> {
        let open = self.open.swap_remove(index);
        if self.random.chance(1, 25) {
            self.tally.count("transactions aborted");
            open.txn.abort();
            return Ok(());
        }
        let level = match self.random.below(10) {
            0..5 => Durability::Memory,
            5..8 => Durability::Log,
            _ => Durability::Disk,
        };
        let Open { txn, isolation, version, changes, reads, .. } = open;
        let changed = |place: usize, key: u32| lock(&self.model).tables[place].changed_since(key, version);
        let must_conflict = !changes.is_empty()
            && match isolation {
                Isolation::Snapshot => changes
                    .iter()
                    .any(|(&(place, key), change)| !matches!(change, Change::Add(_)) && changed(place, key)),
                _ => reads.iter().any(|&(place, key)| changed(place, key)),
            };
        let before = lock(&self.model).version;
        let was_spilled = txn.spilled_bytes() > 0;
        match txn.commit_with(level) {
            Ok(_) if must_conflict => {
                Err(format!("a transaction at {isolation:?} that saw version {version} was not refused"))
            }
            Ok(_) if changes.is_empty() => Ok(()),
            Ok(sequence) => {
                lock(&self.model).commit(&changes, sequence, was_spilled);
                self.tally.count("commits");
                if was_spilled {
                    self.tally.count("commits of what was spilled");
                }
                self.acknowledge(if was_spilled { Durability::Disk } else { level });
                Ok(())
            }
            Err(error) if error.is_retryable() => {
                self.tally.count("conflicts");
                if before == version {
                    return Err(format!("nobody committed since a transaction began, and it was refused: {error}"));
                }
                Ok(())
            }
            Err(Error::Indeterminate { sequence, .. }) if self.life.faulty => {
                lock(&self.model).commit(&changes, sequence, was_spilled);
                self.tally.count("commits in doubt");
                self.life.over = true;
                Ok(())
            }
            Err(error) => {
                self.tally.count("commits refused by the disk");
                self.excuse("a commit", &error)
            }
        }
    }

    /// The newest version is as safe as this.
    pub(super) fn acknowledge(&mut self, level: Durability) {
        let version = lock(&self.model).version;
        let mut plan = self.disk.plan();
        if level != Durability::Memory {
            plan.acknowledged.logged = version;
        }
        if level == Durability::Disk {
            plan.acknowledged.durable = version;
        }
    }

    /// A new table, in a transaction of its own.
    pub(super) fn create_table(&mut self, kind: Kind) -> Result<Option<usize>, String> {
        let name = self.new_name();
        match self.db().create_table(&name, kind.options()) {
            Ok(table) => {
                self.tally.count("tables created");
                let sequence = self.db().read().map_err(|error| format!("no snapshot: {error}"))?.sequence();
                let place = lock(&self.model).create(&name, kind, Some(table), sequence);
                self.acknowledge(self.life.durability);
                Ok(Some(place))
            }
            Err(Error::Indeterminate { sequence, .. }) if self.life.faulty => {
                lock(&self.model).create(&name, kind, None, sequence);
                self.life.over = true;
                Ok(None)
            }
            Err(error) => self.excuse("the creation of a table", &error).map(|()| None),
        }
    }

    pub(super) fn create_or_drop(&mut self) -> Result<(), String> {
        // A table that is dropped during a transaction refuses it, which proves nothing here.
        self.open.clear();
        let live = lock(&self.model).live();
        if live.len() < TABLES_MAX && (live.len() < TABLES_MIN || self.random.coin()) {
            let keys = [KeyForm::Text, KeyForm::Short, KeyForm::Long][self.random.index(3)];
            let space = if keys == KeyForm::Long { 500 } else { 500 + self.random.below(20_000) as u32 };
            let kind = Kind {
                keys,
                space,
                counted: self.random.chance(1, 5),
                packed: self.random.chance(1, 4),
                adds: self.random.chance(1, 5),
                by_function: self.random.coin(),
            };
            return self.create_table(kind).map(drop);
        }
        let place = live[self.random.index(live.len())];
        let table = lock(&self.model).tables[place].table();
        match self.db().drop_table(&table) {
            Ok(()) => {
                self.tally.count("tables dropped");
                let sequence = self.db().read().map_err(|error| format!("no snapshot: {error}"))?.sequence();
                lock(&self.model).drop_table(place, sequence);
                self.acknowledge(self.life.durability);
                Ok(())
            }
            Err(Error::Indeterminate { sequence, .. }) if self.life.faulty => {
                lock(&self.model).drop_table(place, sequence);
                self.life.over = true;
                Ok(())
            }
            Err(error) => self.excuse("the drop of a table", &error),
        }
    }

    pub(super) fn load_some(&mut self) -> Result<(), String> {
        let Some((place, kind, _)) = self.draw_table() else { return Ok(()) };
        if kind.adds {
            return Ok(());
        }
        let count = 1 + self.random.below(2_000);
        let from = self.random.below(u64::from(kind.space)) as u32;
        let apart = 1 + self.random.below(4) as u32;
        let keys = (0..count as u32).map(|number| from + number * apart).take_while(|key| *key < kind.space);
        let entries: Vec<(u32, Value)> =
            keys.collect::<Vec<_>>().into_iter().map(|key| (key, self.draw_value())).collect();
        self.load(place, entries)
    }

    /// Loads entries, in order of key.
    pub(super) fn load(&mut self, place: usize, entries: Vec<(u32, Value)>) -> Result<(), String> {
        let (kind, table) = {
            let model = lock(&self.model);
            (model.tables[place].kind, model.tables[place].table())
        };
        self.tally.count("loads");
        let sorted = entries.iter().map(|(key, value)| (kind.key(*key), value.bytes()));
        let outcome = self.db().bulk_load(&table, sorted);
        match outcome {
            Ok(_) => {
                let sequence = self.db().read().map_err(|error| format!("no snapshot: {error}"))?.sequence();
                lock(&self.model).load(place, &entries, sequence);
                // A load is durable, and so is all before it.
                self.acknowledge(Durability::Disk);
                Ok(())
            }
            Err(Error::Indeterminate { sequence, .. }) if self.life.faulty => {
                lock(&self.model).load(place, &entries, sequence);
                self.tally.count("loads in doubt");
                self.life.over = true;
                Ok(())
            }
            Err(error) => {
                self.tally.count("loads that failed");
                self.excuse("a load", &error)
            }
        }
    }
}

impl Open {
    fn note(&mut self, place: usize, key: u32, change: Change) {
        let noted = match (self.changes.get(&(place, key)), change) {
            (Some(Change::Put(Value::Number(number))), Change::Add(operand)) => {
                Change::Put(Value::Number(number.wrapping_add(operand)))
            }
            (Some(Change::Delete), Change::Add(operand)) => Change::Put(Value::Number(operand)),
            (Some(Change::Add(before)), Change::Add(operand)) => Change::Add(before.wrapping_add(operand)),
            (_, change) => change,
        };
        self.changes.insert((place, key), noted);
    }
}

/// Transactions that are open at once, at most.
const OPEN_MAX: usize = 5;
const RESTS_FOR: u64 = 2_500;
const TABLES_MAX: usize = 8;
const TABLES_MIN: usize = 3;
/// A value of so many bytes is large.
const LARGE: u32 = 65_536;
