//! An engine for tests: a sorted map with, on request, one fault, which the checks must find.

use std::collections::BTreeMap;
use std::ops::Bound;

use fulgurite_rivals::{Failure, Reader};

use crate::data::dataset::Dataset;

/// What is wrong with the record in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Its value's first byte.
    FirstByte,
    /// Its value's last byte.
    LastByte,
    /// A byte in the middle of its value, which timed loops do not look at.
    MiddleByte,
    /// Its value lacks the last byte.
    Length,
    /// It is missing.
    Lost,
    /// An absent key is stored.
    Invented,
}

/// The map.
pub struct Planted(BTreeMap<Vec<u8>, Vec<u8>>);

impl Planted {
    /// The stored records of `data`, with `fault`.
    pub fn new(data: &Dataset, fault: Fault) -> Self {
        let mut map: BTreeMap<Vec<u8>, Vec<u8>> =
            data.stored.records(&data.values).map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        let victim = data.stored.key(data.stored.len() / 2);
        let value = map.get_mut(victim).unwrap();
        let length = value.len();
        match fault {
            Fault::None => {}
            Fault::FirstByte => value[0] ^= 1,
            Fault::LastByte => value[length - 1] ^= 1,
            Fault::MiddleByte => value[length / 2] ^= 1,
            Fault::Length => drop(value.pop()),
            Fault::Lost => drop(map.remove(victim)),
            Fault::Invented => {
                let key = data.absent.key(data.absent.len() / 2).to_vec();
                map.insert(key, vec![0; length]);
            }
        }
        Self(map)
    }
}

impl Reader for Planted {
    type Value<'r> = &'r [u8];

    fn get<'r>(&'r self, key: &[u8]) -> Result<Option<&'r [u8]>, Failure> {
        Ok(self.0.get(key).map(Vec::as_slice))
    }

    fn get_many(&self, keys: &[&[u8]], mut each: impl FnMut(usize, Option<&[u8]>)) -> Result<(), Failure> {
        keys.iter().enumerate().for_each(|(position, key)| each(position, self.0.get(*key).map(Vec::as_slice)));
        Ok(())
    }

    fn scan(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.0.iter().for_each(|(key, value)| each(key, value));
        Ok(())
    }

    fn scan_reverse(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.0.iter().rev().for_each(|(key, value)| each(key, value));
        Ok(())
    }

    fn scan_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        let range = self.0.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
        range.take(count).for_each(|(key, value)| each(key, value));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dataset::tests::small;
    use crate::data::queries::{Queries, Seeks};
    use crate::data::random::Random;
    use crate::measure::reads::*;

    const LENGTH: usize = 100;

    fn hits(data: &Dataset) -> Queries {
        Queries::hits(data, 6400, &mut Random::new(1, 1))
    }

    fn seeks(data: &Dataset) -> Seeks {
        Seeks::new(data, 200, 20, &mut Random::new(1, 2))
    }

    /// Which workloads let an engine with this fault pass.
    fn passed(fault: Fault) -> Vec<&'static str> {
        let data = small(1000, LENGTH);
        let reader = Planted::new(&data, fault);
        let queries = hits(&data);
        let misses = Queries::misses(&data, 3000, &mut Random::new(1, 3));
        let results = [
            ("get_hit", get_hit(&reader, &queries, LENGTH)),
            ("get_hit_serialised", get_hit_serialised(&reader, &queries, LENGTH)),
            ("get_miss", get_miss(&reader, &misses)),
            ("get_many", get_many(&reader, &queries, LENGTH)),
            ("scan", scan(&reader, data.digest())),
            ("scan_reverse", scan_reverse(&reader, data.digest_reverse())),
            ("seek", seek(&reader, &seeks(&data), 20)),
        ];
        results.into_iter().filter(|(_, result)| result.is_ok()).map(|(name, _)| name).collect()
    }

    #[test]
    fn a_right_engine_passes_every_workload() {
        assert_eq!(passed(Fault::None).len(), 7);
    }

    #[test]
    fn one_wrong_byte_at_either_end_of_one_value_is_caught() {
        assert_eq!(passed(Fault::FirstByte), ["get_miss"]);
        assert_eq!(passed(Fault::LastByte), ["get_miss"]);
    }

    #[test]
    fn one_short_value_is_caught() {
        assert_eq!(passed(Fault::Length), ["get_miss"]);
    }

    #[test]
    fn one_lost_record_is_caught() {
        assert_eq!(passed(Fault::Lost), ["get_miss"]);
    }

    #[test]
    fn a_record_that_should_not_be_there_is_caught_by_misses() {
        assert!(!passed(Fault::Invented).contains(&"get_miss"));
    }

    #[test]
    fn operations_are_keys_or_records() {
        let data = small(1000, LENGTH);
        let reader = Planted::new(&data, Fault::None);
        assert_eq!(get_hit(&reader, &hits(&data), LENGTH).unwrap().operations, 6400);
        assert_eq!(scan(&reader, data.digest()).unwrap().operations, 1000);
        assert_eq!(seek(&reader, &seeks(&data), 20).unwrap().operations, seeks(&data).records());
    }
}
