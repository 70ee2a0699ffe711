//! The facts that are written and the questions about them.

use crate::data::random::{Random, mix};

/// Facts of one load. Fact `n` follows from the seed and `n`, so none is kept.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// How many facts there are.
    pub facts: u64,
    /// The seed of their keys.
    pub seed: u64,
}

/// Predicates, from [`FIRST_PREDICATE`] on.
pub const PREDICATES: u64 = 4;
/// The number of the first predicate.
pub const FIRST_PREDICATE: u64 = 1024;
/// Facts of one source file: their keys begin with its path.
const FACTS_OF_FILE: u64 = 50;

impl Workload {
    /// Writes the key of a fact into `key`, and returns its predicate and value. An indexer writes file after file; the
    /// paths come in no order.
    pub fn fact(&self, number: u64, key: &mut Vec<u8>) -> (u64, &'static [u8]) {
        let file = mix(self.seed ^ (number / FACTS_OF_FILE));
        key.clear();
        key.extend_from_slice(b"src/");
        push_hex(key, file, 8);
        key.extend_from_slice(b"/mod.rs");
        key.extend_from_slice(&[0, 0]);
        let name = mix(self.seed.rotate_left(32) ^ number);
        push_hex(key, name, 16);
        key.extend_from_slice(&[0, 0]);
        let value: &[u8] = if number.is_multiple_of(4) { b"a value" } else { b"" };
        (FIRST_PREDICATE + name % PREDICATES, value)
    }

    /// The number of a random fact.
    pub fn pick(&self, random: &mut Random) -> u64 {
        random.below(self.facts as usize) as u64
    }
}

fn push_hex(out: &mut Vec<u8>, number: u64, digits: u32) {
    (0..digits).for_each(|digit| out.push(b"0123456789abcdef"[(number >> (4 * digit) & 15) as usize]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_differ_and_those_of_a_file_share_its_path() {
        let workload = Workload { facts: 1000, seed: 9 };
        let (mut key, mut keys) = (Vec::new(), std::collections::HashSet::new());
        for number in 0..1000 {
            workload.fact(number, &mut key);
            keys.insert(key.clone());
        }
        let paths: std::collections::HashSet<_> = keys.iter().map(|key| key[..12].to_vec()).collect();
        assert_eq!((keys.len(), paths.len()), (1000, 20));
    }
}
