//! What one run does: drawn before the clock starts, the same for every engine; and what must be stored in the end.

use crate::random::{Random, mix};
use crate::shape::Shape;
use crate::sustained::Zipf;
use crate::tables::definition::{Mixture, Order, Steps};
use crate::values::Values;

/// Length of hashed keys.
pub const HASHED_BYTES: usize = 32;

/// Longest scan; each is as long as any other up to it.
const SCAN_MAX: usize = 100;

/// Of the frequencies of records.
const ZIPF_EXPONENT: f64 = 0.99;

/// An operation on the record of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It must have this version.
    Get(u32, u32),
    /// It gets this version.
    Put(u32, u32),
    /// It must have the first version, and gets the second.
    ReadModifyWrite(u32, u32, u32),
    /// So many records from it on, of which so many are stored.
    Scan(u32, u32, u32),
}

/// What is stored: a record's key follows from its number, its value from that and from how often it was put.
pub struct Content {
    shape: Shape,
    values: Values,
    /// For each record how often it was put; 0 is one that is not stored.
    versions: Vec<u32>,
}

impl Content {
    /// Nothing, with room for so many records.
    pub fn new(shape: Shape, value_bytes: usize, records: usize) -> Self {
        Self { shape, values: Values::new(value_bytes), versions: vec![0; records] }
    }

    /// Appends the key of a record.
    pub fn write_key(&self, id: u32, key: &mut Vec<u8>) {
        self.shape.write_key(id, HASHED_BYTES, key);
    }

    /// The key of a record.
    pub fn key(&self, id: u32) -> Vec<u8> {
        let mut key = Vec::with_capacity(HASHED_BYTES);
        self.write_key(id, &mut key);
        key
    }

    /// The value of a record that was put so often.
    #[inline]
    pub fn value(&self, id: u32, version: u32) -> &[u8] {
        self.values.get_version(id, version)
    }

    /// Remembers a put, and says the version that is put.
    pub fn put(&mut self, id: u32) -> u32 {
        self.versions[id as usize] += 1;
        self.versions[id as usize]
    }

    /// How often each record was put.
    pub fn versions(&self) -> &[u32] {
        &self.versions
    }

    /// Bytes of the keys and values that are stored.
    pub fn raw_bytes(&self) -> u64 {
        let stored = (0..).zip(&self.versions).filter(|(_, version)| **version > 0);
        stored.map(|(id, _)| (self.key(id).len() + self.values.length()) as u64).sum()
    }

    /// Whether records of rising numbers have rising keys.
    fn rises(&self) -> bool {
        matches!(self.shape, Shape::Sequential | Shape::User)
    }
}

/// The first records, each put once: what is there before.
pub fn load(content: &mut Content, records: usize) {
    (0..records as u32).for_each(|id| {
        content.put(id);
    });
}

/// Draws the operations; `content` is what there is before, and becomes what there is after them.
pub fn draw(content: &mut Content, steps: &Steps, random: &mut Random) -> Vec<Step> {
    let mut drawn = Vec::with_capacity(steps.count);
    let mut stored = steps.loaded;
    let shuffled = if steps.order == Order::Shuffled { shuffle(steps.loaded, steps.count, random) } else { Vec::new() };
    let zipf = Zipf::new(steps.loaded.max(1), ZIPF_EXPONENT);
    for index in 0..steps.count {
        let kind = kind(steps.mixture, random);
        if kind == Drawn::Insert || stored == 0 {
            let id = shuffled.get(index).copied().unwrap_or(stored as u32);
            drawn.push(Step::Put(id, content.put(id)));
            stored += 1;
            continue;
        }
        let id = match steps.order {
            Order::Rising => index % stored,
            Order::Uniform | Order::Shuffled => random.below(stored),
            // Neighbours in rank are not neighbours among the keys.
            Order::Zipf => (mix(zipf.draw(random) as u64) % steps.loaded.max(1) as u64) as usize,
            Order::Latest => stored - 1 - zipf.draw(random).min(stored - 1),
        } as u32;
        let version = content.versions[id as usize];
        drawn.push(match kind {
            Drawn::Get => Step::Get(id, version),
            Drawn::Update | Drawn::Insert => Step::Put(id, content.put(id)),
            Drawn::ReadModifyWrite => Step::ReadModifyWrite(id, version, content.put(id)),
            Drawn::Scan => {
                assert!(
                    content.rises(),
                    "what a scan gives follows from the numbers of records with rising keys alone"
                );
                let asked = 1 + random.below(SCAN_MAX) as u32;
                Step::Scan(id, asked, asked.min(stored as u32 - id))
            }
        });
    }
    drawn
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    Get,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

fn kind(mixture: Mixture, random: &mut Random) -> Drawn {
    let shares = [
        (mixture.updates, Drawn::Update),
        (mixture.inserts, Drawn::Insert),
        (mixture.scans, Drawn::Scan),
        (mixture.read_modify_writes, Drawn::ReadModifyWrite),
    ];
    let mut drawn = random.below(100);
    for (share, kind) in shares {
        if drawn < usize::from(share) {
            return kind;
        }
        drawn -= usize::from(share);
    }
    Drawn::Get
}

/// The numbers from `first` on, `count` of them, in no order (R. Durstenfeld's shuffle).
fn shuffle(first: usize, count: usize, random: &mut Random) -> Vec<u32> {
    let mut numbers: Vec<u32> = (first..first + count).map(|number| number as u32).collect();
    for last in (1..count).rev() {
        numbers.swap(last, random.below(last + 1));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::definition::Grouping;

    fn drawn(mixture: Mixture, order: Order) -> (Vec<Step>, Content) {
        let mut content = Content::new(Shape::Sequential, 100, 2000);
        load(&mut content, 1000);
        let steps = Steps { loaded: 1000, count: 1000, mixture, order, grouping: Grouping::Each };
        let steps = draw(&mut content, &steps, &mut Random::new(1, 1));
        (steps, content)
    }

    #[test]
    fn shares_are_those_of_the_mixture_and_versions_follow_each_other() {
        let mixture = Mixture { updates: 30, inserts: 5, scans: 5, read_modify_writes: 10 };
        for order in [Order::Rising, Order::Uniform, Order::Zipf, Order::Latest] {
            let (steps, content) = drawn(mixture, order);
            let count = |of: fn(&Step) -> bool| steps.iter().filter(|step| of(step)).count();
            assert!((250..450).contains(&count(|step| matches!(step, Step::Put(..)))), "{order:?}");
            assert!((400..600).contains(&count(|step| matches!(step, Step::Get(..)))), "{order:?}");
            assert!((60..140).contains(&count(|step| matches!(step, Step::ReadModifyWrite(..)))), "{order:?}");
            assert!((20..80).contains(&count(|step| matches!(step, Step::Scan(..)))), "{order:?}");
            let mut versions = vec![1; 1000];
            versions.resize(2000, 0);
            for step in steps {
                match step {
                    Step::Get(id, version) => assert_eq!(version, versions[id as usize]),
                    Step::Put(id, version) => {
                        versions[id as usize] += 1;
                        assert_eq!(version, versions[id as usize]);
                    }
                    Step::ReadModifyWrite(id, before, after) => {
                        assert_eq!((before, after), (versions[id as usize], before + 1));
                        versions[id as usize] = after;
                    }
                    Step::Scan(id, asked, stored) => {
                        assert!(
                            versions[id as usize] > 0 && (1..=100).contains(&asked) && (1..=asked).contains(&stored)
                        );
                        assert!(versions[(id + stored) as usize - 1] > 0);
                        assert!(stored == asked || versions[(id + stored) as usize] == 0);
                    }
                }
            }
            assert_eq!(versions, content.versions());
        }
    }

    #[test]
    fn shuffled_inserts_put_each_new_record_once() {
        let (steps, content) = drawn(Mixture::INSERTS, Order::Shuffled);
        assert!(content.versions().iter().all(|&version| version == 1));
        assert_ne!(steps[0], Step::Put(1000, 1));
        assert_eq!(drawn(Mixture::INSERTS, Order::Rising).0[0], Step::Put(1000, 1));
    }

    #[test]
    fn frequent_records_are_asked_for_more_often() {
        let gets = |order| {
            let mut counts = vec![0; 1000];
            for step in drawn(Mixture::GETS, order).0 {
                let Step::Get(id, 1) = step else { panic!("{step:?}") };
                counts[id as usize] += 1;
            }
            counts
        };
        assert!(gets(Order::Zipf).into_iter().max() > gets(Order::Uniform).into_iter().max());
        assert_eq!(gets(Order::Latest).into_iter().max(), gets(Order::Latest).last().copied());
        assert!(gets(Order::Rising).iter().all(|&count| count == 1));
    }
}
