//! How a transaction makes a step.

use super::halt::Halt;
use super::ranges::{Stretch, Way};
use super::step::Step;
use super::transaction::Session;
use crate::random::Random;

impl Session<'_> {
    /// Makes a step. `first_list` is the first of the lists that are in use.
    pub fn make(&mut self, step: Step, first_list: u64, random: &mut Random) -> Result<(), Halt> {
        let shape = self.ground.shape;
        let (table, number) = (random.index(shape.tables), few(shape.registers, random));
        let list = first_list + few(shape.lists, random);
        let step = self.allowed(step);
        (self.merges_alone, self.begun) = (self.merges_alone && step == Step::Merge, true);
        match step {
            Step::Append => self.append(list),
            Step::Merge => self.merge(list),
            Step::ReadList => self.read_list(list).map(drop),
            Step::Put => self.put(table, number),
            Step::Update => self.read(table, number).and_then(|_| self.put(table, number)),
            Step::Get => self.read(table, number).map(drop),
            Step::GetMany => self.get_many(table, random),
            Step::Delete => self.delete(table, number),
            Step::Insert => self.insert(table, number),
            Step::CompareAndSet => self.compare_and_set(table, number, random.chance(1, 4)),
            Step::DeleteRange => self.delete_range(&stretch(shape.registers, 8, table, random), random),
            Step::Pop => self.pop(table, random.coin()),
            Step::Extract => self.extract(&stretch(shape.registers, 24, table, random), 1 + random.index(4)),
            Step::Scan => self.scan(&stretch(shape.registers, 40, table, random), up(random), random),
            Step::ScanBack => self.scan(&stretch(shape.registers, 40, table, random), down(random), random),
            Step::ScanBoth => {
                let way = Way::Both(1 + random.index(5), 1 + random.index(5));
                self.scan(&stretch(shape.registers, 40, table, random), way, random)
            }
            Step::Prefix => {
                let way = if random.coin() { up(random) } else { down(random) };
                self.prefix(table, number, way)
            }
            Step::Ends => self.end(table, random.coin()),
            Step::Cursor => self.cursor(table, number, 1 + random.index(8), random.coin()),
            Step::Count => self.count(&stretch(shape.registers, 64, table, random)),
            Step::ReadNamed if shape.named > 0 => self.read_named(random.below(shape.named)).map(drop),
            Step::CreateNamed if shape.named > 0 => self.create_named(random.below(shape.named)),
            Step::DropNamed if shape.named > 0 => self.drop_named(random.below(shape.named)),
            Step::RenameNamed if shape.named > 0 => {
                self.rename_named(random.below(shape.named), random.below(shape.named))
            }
            Step::ReadNamed | Step::CreateNamed | Step::DropNamed | Step::RenameNamed => {
                self.read(table, number).map(drop)
            }
        }
    }

    /// The step, or another in its place that the checker understands: to the checker, an appended element is a write
    /// like any other, while at isolation `Snapshot` merges do not conflict with other writes of their keys. Without
    /// reads, no one can distinguish them.
    fn allowed(&self, step: Step) -> Step {
        match step {
            _ if self.serializable || !self.begun => step,
            _ if self.merges_alone => Step::Merge,
            Step::Merge => Step::Append,
            _ => step,
        }
    }

    fn get_many(&mut self, table: usize, random: &mut Random) -> Result<(), Halt> {
        let numbers: Vec<u64> = (0..2 + random.index(5)).map(|_| few(self.ground.shape.registers, random)).collect();
        self.read_many(table, &numbers)
    }
}

/// A number below the bound; half of them are among the first ones, where transactions meet.
fn few(bound: u64, random: &mut Random) -> u64 {
    if random.coin() { random.below(bound) } else { random.below(bound.div_ceil(8)) }
}

/// Some neighbours, at least one.
fn stretch(registers: u64, most: u64, table: usize, random: &mut Random) -> Stretch {
    let start = random.below(registers);
    let end = (start + 1 + random.below(most)).min(registers);
    Stretch { table, numbers: start..end }
}

fn up(random: &mut Random) -> Way {
    Way::Up(cut(random))
}

fn down(random: &mut Random) -> Way {
    Way::Down(cut(random))
}

/// Half of the scans are cut short.
fn cut(random: &mut Random) -> usize {
    if random.coin() { usize::MAX } else { 1 + random.index(6) }
}
