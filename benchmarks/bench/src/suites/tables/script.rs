//! What one run does: drawn before the clock starts, the same for every engine.

use crate::data::random::{Random, mix};
use crate::data::zipf::Zipf;
use crate::suites::tables::content::Content;
use crate::suites::tables::definition::{Mixture, Order, Steps};

/// Longest scan; each is as long as any other up to it.
const SCAN_MAX: usize = 100;

/// Of the frequencies of records.
pub const ZIPF_EXPONENT: f64 = 0.99;

/// Most records that all threads add to.
const SHARED_MAX: usize = 100;

/// Of all records they are this part at most.
const SHARED_PART_MAX: usize = 10;

/// Largest amount of a transfer.
const AMOUNT_MAX: usize = 1000;

/// An operation on the record of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It must have this version.
    Get(u32, u32),
    /// It gets this version.
    Put(u32, u32),
    /// It must have the first version, and gets the second.
    ReadModifyWrite(u32, u32, u32),
    /// So many records from it on; so many of them are stored.
    Scan(u32, u32, u32),
    /// It must not be stored.
    Miss(u32),
    /// So much is added to its first 8 bytes.
    Add(u32, i32),
}

impl Step {
    /// The record.
    pub fn id(self) -> u32 {
        match self {
            Self::Get(id, _)
            | Self::Put(id, _)
            | Self::ReadModifyWrite(id, _, _)
            | Self::Scan(id, _, _)
            | Self::Miss(id)
            | Self::Add(id, _) => id,
        }
    }
}

/// Draws the operations of each thread; `content` is the content before them, and becomes the content after all of
/// them.
pub fn draw(content: &mut Content, steps: &Steps, random: &mut Random) -> Vec<Vec<Step>> {
    let alone = steps.threads == 1 || steps.mixture.inserts == 0 && steps.order == Order::Uniform;
    assert!(alone, "threads share records that are drawn uniformly alone, and put no new ones");
    let shared = if steps.mixture.additions > 0 { SHARED_MAX.min(steps.loaded / SHARED_PART_MAX) } else { 0 };
    // Each thread has a record of its own at least.
    let threads = steps.threads.min(steps.loaded.saturating_sub(shared)).max(1);
    let share = steps.count.div_ceil(threads);
    let mut drawing =
        Drawing { content, steps, random, shared, threads, zipf: Zipf::new(steps.loaded.max(1), ZIPF_EXPONENT) };
    (0..threads).map(|thread| drawing.one(thread, share)).collect()
}

/// What the drawing of all threads' operations shares.
struct Drawing<'d> {
    content: &'d mut Content,
    steps: &'d Steps,
    random: &'d mut Random,
    /// The first so many records are those to which all threads add, and to which nothing else happens.
    shared: usize,
    threads: usize,
    zipf: Zipf,
}

impl Drawing<'_> {
    /// So many operations of a thread.
    fn one(&mut self, thread: usize, count: usize) -> Vec<Step> {
        let steps = self.steps;
        let mut drawn = Vec::with_capacity(count);
        let mut stored = steps.loaded;
        let shuffled =
            if steps.order == Order::Shuffled { shuffle(steps.loaded, count, self.random) } else { Vec::new() };
        while drawn.len() < count {
            let index = drawn.len();
            let kind = kind(steps.mixture, self.random);
            if kind == Drawn::Insert || stored == 0 {
                let id = shuffled.get(index).copied().unwrap_or(stored as u32);
                drawn.push(Step::Put(id, self.content.put(id)));
                stored += 1;
                continue;
            }
            if kind == Drawn::Transfer {
                drawn.extend(self.transfer(stored));
                continue;
            }
            let id = self.record(thread, index, stored);
            drawn.push(self.step(kind, id, stored));
        }
        drawn
    }

    /// The record of an operation.
    fn record(&mut self, thread: usize, index: usize, stored: usize) -> u32 {
        let id = match self.steps.order {
            Order::Rising => index % stored,
            Order::Uniform | Order::Shuffled => {
                let own = (stored - self.shared - thread).div_ceil(self.threads);
                self.shared + thread + self.random.below(own) * self.threads
            }
            // Neighbours in rank are not neighbours among the keys.
            Order::Zipf => (mix(self.zipf.draw(self.random) as u64) % self.steps.loaded.max(1) as u64) as usize,
            Order::Latest => stored - 1 - self.zipf.draw(self.random).min(stored - 1),
            Order::Window(records) => stored - records.min(stored),
        };
        id as u32
    }

    fn step(&mut self, kind: Drawn, id: u32, stored: usize) -> Step {
        let content = &mut *self.content;
        let version = content.versions()[id as usize];
        match kind {
            Drawn::Get => Step::Get(id, version),
            Drawn::Update | Drawn::Insert | Drawn::Transfer => Step::Put(id, content.put(id)),
            Drawn::ReadModifyWrite => Step::ReadModifyWrite(id, version, content.put(id)),
            Drawn::Miss => Step::Miss((content.versions().len() + self.random.below(stored)) as u32),
            Drawn::Addition => {
                let id = self.random.below(self.shared.max(1)) as u32;
                content.add(id, 1);
                Step::Add(id, 1)
            }
            Drawn::Scan => {
                assert!(
                    content.rises(),
                    "what a scan gives follows from the numbers of records with rising keys alone"
                );
                let asked = match self.steps.order {
                    Order::Window(records) => records,
                    _ => 1 + self.random.below(SCAN_MAX),
                } as u32;
                Step::Scan(id, asked, asked.min(stored as u32 - id))
            }
        }
    }

    /// An amount from one record to another.
    fn transfer(&mut self, stored: usize) -> [Step; 2] {
        let from = self.random.below(stored);
        let to = (from + 1 + self.random.below(stored - 1)) % stored;
        let amount = 1 + self.random.below(AMOUNT_MAX) as i32;
        [(from, -amount), (to, amount)].map(|(id, change)| {
            self.content.add(id as u32, change);
            Step::Add(id as u32, change)
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    Get,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
    Miss,
    Addition,
    Transfer,
}

fn kind(mixture: Mixture, random: &mut Random) -> Drawn {
    let shares = [
        (mixture.updates, Drawn::Update),
        (mixture.inserts, Drawn::Insert),
        (mixture.scans, Drawn::Scan),
        (mixture.read_modify_writes, Drawn::ReadModifyWrite),
        (mixture.misses, Drawn::Miss),
        (mixture.additions, Drawn::Addition),
        (mixture.transfers, Drawn::Transfer),
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
    use crate::data::shape::Shape;
    use crate::suites::tables::content::load;
    use crate::suites::tables::definition::Grouping;
    use crate::suites::tables::lengths::Lengths;

    fn drawn_by(threads: usize, mixture: Mixture, order: Order) -> (Vec<Vec<Step>>, Content) {
        let mut content = Content::new(Shape::Sequential, Lengths::Fixed(100), 2000);
        load(&mut content, 1000);
        let steps = Steps { loaded: 1000, count: 1000, threads, mixture, order, grouping: Grouping::Each };
        let scripts = draw(&mut content, &steps, &mut Random::new(1, 1));
        (scripts, content)
    }

    fn drawn(mixture: Mixture, order: Order) -> (Vec<Step>, Content) {
        let (mut scripts, content) = drawn_by(1, mixture, order);
        assert_eq!(scripts.len(), 1);
        (scripts.remove(0), content)
    }

    #[test]
    fn shares_are_those_of_the_mixture_and_versions_follow_each_other() {
        let mixture = Mixture { updates: 30, inserts: 5, scans: 5, read_modify_writes: 10, ..Mixture::GETS };
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
                    Step::Miss(_) | Step::Add(..) => panic!("{step:?} is not in the mixture"),
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

    #[test]
    fn threads_have_records_of_their_own_and_share_those_that_are_added_to() {
        let mixture = Mixture { updates: 40, additions: 20, misses: 10, ..Mixture::GETS };
        let (scripts, content) = drawn_by(16, mixture, Order::Uniform);
        assert_eq!(scripts.iter().map(Vec::len).collect::<Vec<_>>(), [63; 16]);
        let (mut owners, mut added) = (vec![None; 1000], vec![0_i64; 100]);
        for (thread, step) in
            scripts.iter().enumerate().flat_map(|(thread, steps)| steps.iter().map(move |s| (thread, s)))
        {
            match *step {
                Step::Get(id, _) | Step::Put(id, _) => {
                    assert!((100..1000).contains(&id));
                    assert_eq!(*owners[id as usize].get_or_insert(thread), thread);
                }
                Step::Add(id, change) => added[id as usize] += i64::from(change),
                Step::Miss(id) => assert!(id >= 2000),
                Step::Scan(..) | Step::ReadModifyWrite(..) => panic!("{step:?} is not in the mixture"),
            }
        }
        assert!((100..300).contains(&added.iter().sum::<i64>()) && added.iter().filter(|&&sum| sum > 0).count() > 70);
        for (id, sum) in (0..100).zip(added) {
            let number = u64::from_le_bytes(*content.value(id, 1).first_chunk().unwrap()).wrapping_add_signed(sum);
            assert!(content.is_right(id, Some(&[&number.to_le_bytes(), &content.value(id, 1)[8..]].concat())));
        }
    }

    #[test]
    fn transfers_come_in_pairs_that_make_up_for_each_other() {
        let (steps, _) = drawn(Mixture::TRANSFERS, Order::Uniform);
        assert_eq!(steps.len(), 1000);
        for pair in steps.chunks(2) {
            let [Step::Add(from, taken), Step::Add(to, given)] = pair else { panic!("{pair:?}") };
            assert!(from != to && *given > 0 && taken + given == 0);
        }
    }

    #[test]
    fn a_window_ends_with_the_newest_record() {
        let (steps, _) = drawn(Mixture { inserts: 90, scans: 10, ..Mixture::GETS }, Order::Window(60));
        let mut stored = 1000;
        for step in steps {
            match step {
                Step::Put(id, 1) => {
                    assert_eq!(id, stored);
                    stored += 1;
                }
                step => assert_eq!(step, Step::Scan(stored - 60, 60, 60)),
            }
        }
        assert!((1800..2000).contains(&stored));
    }
}
