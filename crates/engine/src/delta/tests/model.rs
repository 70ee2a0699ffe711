//! Random inserts, and every kind of read at every age, against a map of versions.

use super::*;

/// Reads around two random keys at a random sequence.
fn check_reads(delta: &Delta, model: &Model, random: &mut Random, shape: Shape, number: u64, last: u64) {
    let at = random.below(last + 2);
    let sequence = Sequence(at);
    let key = key_of(shape, random, number);
    let other = key_of(shape, random, number);
    assert_eq!(get(delta, &key, at), model.get(&key, at));
    assert_eq!(delta.newest_sequence(&key, xxh3_64(&key)), model.newest(&key).map(Sequence));

    let above = model.range(Bound::Included(&key), Bound::Unbounded, at);
    check_up(delta, delta.seek(&key, sequence), above, 40);
    let strictly_above = model.range(Bound::Excluded(&key), Bound::Unbounded, at);
    check_up(delta, delta.seek_after(&key, sequence), strictly_above, 2);
    let below = model.range(Bound::Unbounded, Bound::Excluded(&key), at);
    check_down(delta, delta.seek_before(&key, sequence), below.rev(), 40);
    if key < other {
        let from = [Bound::Included(&key[..]), Bound::Excluded(&key[..]), Bound::Unbounded][random.below(3) as usize];
        let to = [Bound::Included(&other[..]), Bound::Excluded(&other[..]), Bound::Unbounded][random.below(3) as usize];
        assert_eq!(delta.range_is_empty(from, to, sequence), model.range(from, to, at).next().is_none());
        for since in [at, last.saturating_sub(random.below(20)), last] {
            assert_eq!(
                delta.first_changed_since(from, to, Sequence(since)),
                model.first_changed(from, to, since, last)
            );
        }
    }
}

/// A position that stays while inserts go on around it, and what it must see.
struct Walk {
    position: Position,
    expected: Vec<KeyAndChange>,
    index: usize,
}

impl Walk {
    fn new(delta: &Delta, model: &Model, at: u64) -> Self {
        let expected = model.range(Bound::Unbounded, Bound::Unbounded, at).collect();
        Self { position: delta.first(Sequence(at)), expected, index: 0 }
    }

    /// Some steps up or down. An index past the end is after the last entry; one before the first is there too, because
    /// the walk then begins again at the first.
    fn wander(&mut self, delta: &Delta, random: &mut Random) {
        let up = random.below(3) > 0;
        for _ in 0..random.below(70) {
            if up {
                delta.next(&mut self.position);
                self.index = (self.index + 1).min(self.expected.len());
            } else if self.index > 0 {
                delta.previous(&mut self.position);
                self.index -= 1;
            } else {
                delta.previous(&mut self.position);
                assert_eq!(entry(delta, &self.position), None);
                delta.next(&mut self.position);
            }
            assert_eq!(entry(delta, &self.position).as_ref(), self.expected.get(self.index));
        }
    }
}

fn run(shape: Shape, seed: u64, inserts: u64, align: ValueAlign) {
    println!("seed {seed}, shape {shape:?}");
    let mut random = Random(seed);
    let delta = Delta::new(align);
    let mut model = Model::default();
    let mut walks: Vec<Walk> = Vec::new();
    let mut at = 1_u64;
    // Nothing comes so late that it would be in what a walk sees.
    let mut earliest = 1;
    let mut trail = Trail::default();
    for number in 0..inserts {
        let key = key_of(shape, &mut random, number);
        let change = change_of(&mut random);
        let sequence = if random.below(4) == 0 { at.saturating_sub(random.below(9)).max(earliest) } else { at };
        // Keys that do not rise cost a descent each, and no more.
        match random.below(2) {
            0 => insert(&delta, &key, sequence, &change),
            _ => delta.insert_along(&mut trail, &key, xxh3_64(&key), Sequence(sequence), change.borrow()),
        }
        model.insert(&key, sequence, change);
        if random.below(8) == 0 {
            check_reads(&delta, &model, &mut random, shape, number, at);
        }
        if random.below(inserts / 8) == 0 {
            walks.push(Walk::new(&delta, &model, at));
            // The walk is at `at`: what follows must be later.
            at += 1;
            earliest = at;
        }
        if random.below(20) == 0 {
            walks.iter_mut().for_each(|walk| walk.wander(&delta, &mut random));
        }
        at += random.below(2);
    }
    for old in [0, 1, at / 3, at / 2, at, at + 1] {
        let all = || model.range(Bound::Unbounded, Bound::Unbounded, old);
        check_up(&delta, delta.first(Sequence(old)), all(), usize::MAX);
        check_down(&delta, delta.last(Sequence(old)), all().rev(), usize::MAX);
    }
    assert_eq!(delta.entries(), model.0.len());
    assert_eq!(delta.versions() as u64, inserts);
    for (key, versions) in &model.0 {
        for (sequence, change) in versions {
            assert_eq!(get(&delta, key, *sequence).as_ref(), Some(change));
        }
    }
}

#[test]
fn reads_agree_with_a_model_for_every_shape_of_key() {
    let inserts = if cfg!(miri) { 160 } else { 6000 };
    for (number, shape) in SHAPES.into_iter().enumerate() {
        let align = [ValueAlign::One, ValueAlign::Sixteen][number % 2];
        run(shape, 40 + number as u64, inserts, align);
    }
}

#[test]
fn a_delta_of_many_levels_agrees_with_a_model() {
    if cfg!(miri) {
        return; // Too many keys for an interpreter; the levels that it reaches are in the tests above.
    }
    let mut random = Random(7);
    let delta = Delta::new(ValueAlign::One);
    let mut model = Model::default();
    let inserts = 150_000_u64;
    for at in 1..=inserts {
        let key = random.below(120_000).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
        let change = Owned::Put(at.to_le_bytes().to_vec());
        insert(&delta, &key, at, &change);
        model.insert(&key, at, change);
    }
    for at in [inserts / 2, inserts] {
        let all = || model.range(Bound::Unbounded, Bound::Unbounded, at);
        check_up(&delta, delta.first(Sequence(at)), all(), usize::MAX);
        check_down(&delta, delta.last(Sequence(at)), all().rev(), usize::MAX);
        for key in model.0.keys() {
            assert_eq!(get(&delta, key, at), model.get(key, at));
        }
    }
    for number in 0..40 {
        let [one, other] = [0, 1].map(|_| random.next().to_be_bytes());
        let (low, high) = (Bound::Excluded(one.min(other)), Bound::Included(one.max(other)));
        let (low, high) = (low.as_ref().map(|key| &key[..]), high.as_ref().map(|key| &key[..]));
        let since = inserts - (1 << (number / 4)) + 1;
        let changed = delta.first_changed_since(low, high, Sequence(since));
        assert_eq!(changed, model.first_changed(low, high, since, inserts));
    }
}
