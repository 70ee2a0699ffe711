//! The timed loops of writes, charged with the processor time of the whole process: what an engine leaves to background
//! threads, and what it must do afterwards to be settled, is paid in the same round.

use std::path::Path;

use fulgurite_rivals::{Engine, Purpose, Reader, Store};

use crate::data::dataset::Dataset;
use crate::data::queries::Packed;
use crate::data::random::Random;
use crate::error::{Error, Result};
use crate::measure::clock::{BATCH, Charge, Latencies, Sample, Stopwatch};

/// Loads all stored records, which are in order, into a new store. Creating and closing it is not timed.
pub fn bulk_load<E: Engine>(directory: &Path, data: &Dataset) -> Result<Sample> {
    let mut store = E::create(directory, Purpose::Load)?;
    let mut latencies = Latencies::with_capacity(data.stored.len());
    let mut handed = 0;
    let watch = Stopwatch::start(Charge::Process);
    store.load_sorted(data.stored.records(&data.values).inspect(|_| {
        handed += 1;
        if handed % BATCH == 0 {
            latencies.lap(BATCH as u64);
        }
    }))?;
    let sample = watch.stop(data.stored.len() as u64, latencies);
    store.close()?;
    Ok(sample)
}

/// Puts of one round in the order they are made, uniform over stored and absent keys alike.
#[derive(Debug)]
pub struct Puts<'a> {
    keys: Packed,
    values: Vec<&'a [u8]>,
}

/// For every key the number of its last put, 0 if there was none.
#[derive(Debug)]
pub struct Versions {
    stored: Vec<u32>,
    absent: Vec<u32>,
    puts: u32,
}

impl Versions {
    /// No puts yet.
    pub fn new(data: &Dataset) -> Self {
        Self { stored: vec![0; data.stored.len()], absent: vec![0; data.absent.len()], puts: 0 }
    }

    /// Draws `count` puts and remembers them as made.
    pub fn draw<'a>(&mut self, data: &'a Dataset, count: usize, random: &mut Random) -> Puts<'a> {
        let mut puts = Puts { keys: Packed::with_capacity(count), values: Vec::with_capacity(count) };
        for _ in 0..count {
            self.puts += 1;
            let drawn = random.below(self.stored.len() + self.absent.len());
            let (keys, versions, position) = match drawn.checked_sub(self.stored.len()) {
                None => (&data.stored, &mut self.stored, drawn),
                Some(position) => (&data.absent, &mut self.absent, position),
            };
            versions[position] = self.puts;
            puts.keys.push(keys.key(position));
            puts.values.push(data.values.get_version(keys.id(position), self.puts));
        }
        puts
    }

    /// Compares everything in the store with what was put last. Not timed.
    pub fn verify<R: Reader>(&self, reader: &R, data: &Dataset) -> Result<()> {
        let mut count = 0;
        for (keys, versions, loaded) in [(&data.stored, &self.stored, true), (&data.absent, &self.absent, false)] {
            for (position, &version) in versions.iter().enumerate() {
                let present = loaded || version > 0;
                let expected = present.then(|| data.values.get_version(keys.id(position), version));
                count += u64::from(present);
                if reader.get(keys.key(position))?.as_deref() != expected {
                    return Err(wrong(format!("put {version} is not what its key gives")));
                }
            }
        }
        let mut seen = 0;
        reader.scan(|_, _| seen += 1)?;
        match seen == count {
            true => Ok(()),
            false => Err(wrong(format!("{seen} records are stored instead of {count}"))),
        }
    }
}

/// What a round of single puts cost, and how many checkpoints the engine made before it had to settle.
#[derive(Debug)]
pub struct PutRound {
    /// The cost, settling included.
    pub sample: Sample,
    /// Checkpoints that ran by themselves inside the span, the one under way at the last put included.
    pub checkpoints: u64,
}

/// Makes every put in a transaction of its own, then settles.
pub fn put1<S: Store>(store: &mut S, puts: &Puts<'_>) -> Result<PutRound> {
    let checkpoints_before = store.checkpoints()?;
    let mut latencies = Latencies::with_capacity(puts.values.len());
    let watch = Stopwatch::start(Charge::Process);
    for start in (0..puts.values.len()).step_by(BATCH) {
        let end = (start + BATCH).min(puts.values.len());
        for index in start..end {
            store.put(puts.keys.get(index), puts.values[index])?;
        }
        latencies.lap((end - start) as u64);
    }
    // An engine that is moving puts answers when it is done, which is part of the span like everything it costs.
    let checkpoints = store.checkpoints()? - checkpoints_before;
    store.settle()?;
    Ok(PutRound { sample: watch.stop(puts.values.len() as u64, latencies), checkpoints })
}

/// Puts all absent records in random order, in transactions of a thousand.
pub fn put_absent<S: Store>(store: &mut S, data: &Dataset, random: &mut Random) -> Result<()> {
    const PER_TRANSACTION: usize = 1000;
    let mut order: Vec<u32> = (0..data.absent.len() as u32).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last + 1));
    }
    for chunk in order.chunks(PER_TRANSACTION) {
        store.put_all(chunk.iter().map(|&position| {
            let position = position as usize;
            (data.absent.key(position), data.values.get(data.absent.id(position)))
        }))?;
    }
    Ok(())
}

/// Stored and absent records together, in order.
pub fn all_records(data: &Dataset) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut stored = data.stored.records(&data.values).peekable();
    let mut absent = data.absent.records(&data.values).peekable();
    std::iter::from_fn(move || match (stored.peek(), absent.peek()) {
        (Some(a), Some(b)) if a.0 < b.0 => stored.next(),
        (Some(_), None) => stored.next(),
        _ => absent.next(),
    })
}

fn wrong(what: String) -> Error {
    Error::Wrong { workload: "put1", what }
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::Lmdb;

    use super::*;
    use crate::data::dataset::tests::small;
    use crate::suites::core::verify;

    #[test]
    fn a_loaded_store_has_all_content() {
        let directory = tempfile::tempdir().unwrap();
        let data = small(2000, 100);
        assert_eq!(bulk_load::<Lmdb>(directory.path(), &data).unwrap().operations, 2000);
        let store = Lmdb::open(directory.path(), Purpose::Read).unwrap();
        verify::all_content(&store.reader().unwrap(), &data).unwrap();
    }

    #[test]
    fn puts_are_verified_by_their_last_version() {
        let directory = tempfile::tempdir().unwrap();
        let data = small(500, 100);
        let mut store = Lmdb::create(directory.path(), Purpose::SinglePuts).unwrap();
        store.load_sorted(data.stored.records(&data.values)).unwrap();
        let mut versions = Versions::new(&data);
        for round in 0..2 {
            let puts = versions.draw(&data, 1000, &mut Random::new(1, round));
            assert_eq!(put1(&mut store, &puts).unwrap().sample.operations, 1000);
            versions.verify(&store.reader().unwrap(), &data).unwrap();
        }
        let unmade = versions.draw(&data, 1, &mut Random::new(1, 3));
        assert!(versions.verify(&store.reader().unwrap(), &data).is_err());
        put1(&mut store, &unmade).unwrap();
        versions.verify(&store.reader().unwrap(), &data).unwrap();
    }

    #[test]
    fn absent_records_put_later_complete_the_order() {
        let directory = tempfile::tempdir().unwrap();
        let data = small(700, 8);
        let mut store = Lmdb::create(directory.path(), Purpose::SinglePuts).unwrap();
        store.load_sorted(data.stored.records(&data.values)).unwrap();
        put_absent(&mut store, &data, &mut Random::new(1, 1)).unwrap();
        let mut expected = all_records(&data);
        let mut equal = true;
        store.reader().unwrap().scan(|key, value| equal &= expected.next() == Some((key, value))).unwrap();
        assert!(equal && expected.next().is_none());
        assert_eq!(all_records(&data).count(), 770);
    }
}
