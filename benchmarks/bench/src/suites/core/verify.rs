//! The untimed pass over all content: every record by get, forwards and backwards, whole keys and whole values.
//!
//! It also touches every page of a freshly opened store, so that the timed rounds that follow meet neither page faults
//! nor an engine's checks at first touch.

use fulgurite_rivals::Reader;

use crate::data::dataset::Dataset;
use crate::error::{Error, Result};

/// Compares everything that `reader` can see with the stored records of `data`, and asks for all absent ones.
pub fn all_content<R: Reader>(reader: &R, data: &Dataset) -> Result<()> {
    gets(reader, data.stored.records(&data.values))?;
    for position in 0..data.absent.len() {
        if reader.get(data.absent.key(position))?.is_some() {
            return Err(wrong("get_miss", format!("absent key {position} was found")));
        }
    }
    let mut forward = data.stored.records(&data.values);
    let mut comparison = Comparison::default();
    reader.scan(|key, value| comparison.step(forward.next(), key, value))?;
    comparison.finish("scan", data.stored.len())?;
    let mut position = data.stored.len();
    let mut comparison = Comparison::default();
    reader.scan_reverse(|key, value| {
        let expected = position.checked_sub(1).map(|previous| {
            position = previous;
            (data.stored.key(previous), data.values.get(data.stored.id(previous)))
        });
        comparison.step(expected, key, value);
    })?;
    comparison.finish("scan_reverse", data.stored.len())
}

/// Asks for each of `records` and compares the whole value.
pub fn gets<'a, R: Reader>(reader: &R, records: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Result<()> {
    for (position, (key, value)) in records.enumerate() {
        if reader.get(key)?.as_deref() != Some(value) {
            return Err(wrong("get_hit", format!("record {position} in key order is missing or has another value")));
        }
    }
    Ok(())
}

#[derive(Default)]
struct Comparison {
    seen: usize,
    first_difference: Option<usize>,
}

impl Comparison {
    #[inline]
    fn step(&mut self, expected: Option<(&[u8], &[u8])>, key: &[u8], value: &[u8]) {
        if expected != Some((key, value)) && self.first_difference.is_none() {
            self.first_difference = Some(self.seen);
        }
        self.seen += 1;
    }

    fn finish(self, workload: &'static str, count: usize) -> Result<()> {
        match self.first_difference {
            Some(position) => Err(wrong(workload, format!("record {position} handed out is not the stored one"))),
            None if self.seen != count => {
                Err(wrong(workload, format!("{} records were handed out, {count} are stored", self.seen)))
            }
            None => Ok(()),
        }
    }
}

fn wrong(workload: &'static str, what: String) -> Error {
    Error::Wrong { workload, what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dataset::tests::small;
    use crate::engines::planted::reading::{Fault, Planted};

    #[test]
    fn every_planted_fault_is_found_and_a_right_engine_passes() {
        let data = small(300, 100);
        let check = |fault| all_content(&Planted::new(&data, fault), &data);
        check(Fault::None).unwrap();
        for fault in [Fault::FirstByte, Fault::LastByte, Fault::MiddleByte, Fault::Length, Fault::Lost, Fault::Invented]
        {
            assert!(check(fault).is_err(), "{fault:?}");
        }
    }
}
