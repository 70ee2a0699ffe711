//! One engine with bins in one encoding: its turns, and the check of what it has stored.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fulgurite_inventory::BinCodec;
use fulgurite_rivals::{Failure, Level, Refusal};

use crate::data::random::Random;
use crate::engines::known::Engine;
use crate::error::{Error, Result};
use crate::measure::clock::{BATCH, Charge, Latencies, Sample, Stopwatch};
use crate::suites::storagebench::bins::{Bins, Choice};
use crate::suites::storagebench::stores::{BinEngine, BinStore};
use crate::suites::storagebench::workload::Workload;

/// An engine, and how a store of it is filled with bins in each encoding.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What is known of it.
    pub engine: Engine,
    /// Opens a store for bins in Protocol Buffers, and loads them.
    pub protobuf: Enter,
    /// The same in FlatBuffers.
    pub flatbuffers: Enter,
}

/// Opens a store in an empty directory at a level, and loads bins.
pub type Enter = fn(&Path, Level, Bins) -> Result<Box<dyn Contestant>>;

/// The entry of an engine.
pub fn entry<E>() -> Entry
where
    E: BinEngine + 'static,
    E::Bins: 'static,
{
    use fulgurite_inventory::{FlatBufferBins, ProtobufBins};
    Entry { engine: Engine::of::<E>(), protobuf: enter::<E, ProtobufBins>, flatbuffers: enter::<E, FlatBufferBins> }
}

fn enter<E, C>(directory: &Path, level: Level, bins: Bins) -> Result<Box<dyn Contestant>>
where
    E: BinEngine,
    E::Bins: 'static,
    C: BinCodec + 'static,
{
    let store = E::open_bins(directory, level)?;
    for from in (0..bins.count).step_by(LOAD_BATCH) {
        let to = bins.count.min(from + LOAD_BATCH as u64);
        let records: Vec<_> = bins.encoded::<C>(from, to).collect();
        store.put_all(&records)?;
    }
    store.settle()?;
    Ok(Box::new(Filled { store, codec: PhantomData::<fn() -> C> }))
}

/// A store that was filled.
pub trait Contestant {
    /// Does one transaction after the other, as a workload of one thread says. Changes include what the engine defers.
    ///
    /// # Errors
    /// A wrong answer; what the engine answered.
    fn turn(&self, workload: Workload, choices: &[Choice]) -> Result<Turn>;

    /// Changes random bins by `threads` threads until `span` has passed.
    ///
    /// # Errors
    /// A wrong answer; what the engine answered.
    fn together(&self, bins: Bins, threads: usize, span: Duration, seed: u64) -> Result<Together>;

    /// Finishes deferred work.
    ///
    /// # Errors
    /// What the engine answered.
    fn settle(&self) -> Result<()>;

    /// Pieces of all items in all bins.
    ///
    /// # Errors
    /// A bin that cannot be decoded; what the engine answered.
    fn pieces(&self, workload: &'static str) -> Result<i64>;

    /// Closes the store.
    ///
    /// # Errors
    /// What the engine answered.
    fn close(self: Box<Self>) -> Result<()>;
}

/// What a turn of one thread has found.
#[derive(Debug)]
pub struct Turn {
    /// What it cost.
    pub sample: Sample,
    /// The sum of the quantities that were read. 0 of changes.
    pub answer: i64,
}

/// What a turn of several threads has found.
#[derive(Debug)]
pub struct Together {
    /// What it cost. Its latencies are those of whole transactions.
    pub sample: Sample,
    /// Transactions that conflicted and were begun again.
    pub refused: u64,
}

struct Filled<S, C> {
    store: S,
    codec: PhantomData<fn() -> C>,
}

impl<S: BinStore, C: BinCodec> Contestant for Filled<S, C> {
    fn turn(&self, workload: Workload, choices: &[Choice]) -> Result<Turn> {
        let mut latencies = Latencies::with_capacity(choices.len());
        let reads = workload == Workload::Read;
        let watch = Stopwatch::start(if reads { Charge::Thread } else { Charge::Process });
        let (mut codec, mut buffer, mut answer) = (C::default(), Vec::new(), 0);
        for batch in choices.chunks(BATCH) {
            for (choice, place) in batch.iter().zip(0..) {
                match workload {
                    Workload::Read => answer += self.read(choice)?,
                    // The second of two transactions removes what the first has added.
                    Workload::AddRemove if place % 2 == 1 => {
                        self.change(&mut codec, &batch[place - 1], -PIECES, &mut buffer)?;
                    }
                    _ => self.change(&mut codec, choice, PIECES, &mut buffer)?,
                }
            }
            latencies.lap(batch.len() as u64);
        }
        if !reads {
            // Work that an engine defers is a part of what changes cost.
            self.store.settle()?;
        }
        Ok(Turn { sample: watch.stop(choices.len() as u64, latencies), answer })
    }

    fn together(&self, bins: Bins, threads: usize, span: Duration, seed: u64) -> Result<Together> {
        let all = Mutex::new((Latencies::with_capacity(0), 0, 0));
        let watch = Stopwatch::start(Charge::Process);
        let until = Instant::now() + span;
        std::thread::scope(|scope| {
            let work = |thread: usize| -> Result<()> {
                let mut random = Random::new(seed, thread as u64);
                let (mut codec, mut buffer) = (C::default(), Vec::new());
                let (mut latencies, mut committed, mut refused) = (Latencies::with_capacity(0), 0_u64, 0_u64);
                while Instant::now() < until {
                    let [choice] = bins.choices(&mut random, 1)[..] else { break };
                    while let Err(refusal) = self.try_change(&mut codec, &choice, PIECES, &mut buffer) {
                        match refusal {
                            Refusal::Conflict => refused += 1,
                            Refusal::Failed(failure) => return Err(failure.into()),
                        }
                    }
                    latencies.lap(1);
                    committed += 1;
                }
                let mut all = all.lock().expect("no thread panics while it holds the results");
                all.0 = Latencies::joined([std::mem::replace(&mut all.0, Latencies::with_capacity(0)), latencies]);
                (all.1, all.2) = (all.1 + committed, all.2 + refused);
                Ok(())
            };
            let workers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a worker returns its errors"))
        })?;
        let (latencies, committed, refused) = all.into_inner().expect("all threads have ended");
        Ok(Together { sample: watch.stop(committed, latencies), refused })
    }

    fn settle(&self) -> Result<()> {
        Ok(self.store.settle()?)
    }

    fn pieces(&self, workload: &'static str) -> Result<i64> {
        let (mut sum, mut wrong) = (0, None);
        self.store.scan(|_, value| match C::decode(value) {
            Ok(bin) => sum += bin.stocks.iter().map(|stock| stock.quantity).sum::<i64>(),
            Err(error) => wrong = Some(error),
        })?;
        match wrong {
            None => Ok(sum),
            Some(error) => Err(Error::Wrong { workload, what: error.to_string() }),
        }
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.store.close()?)
    }
}

impl<S: BinStore, C: BinCodec> Filled<S, C> {
    #[inline]
    fn read(&self, choice: &Choice) -> Result<i64> {
        let read = |value: Option<&[u8]>| C::quantity(value?, choice.item).ok().flatten();
        let found = self.store.get(&Bins::key(choice.bin), read)?;
        found.ok_or_else(|| missing(choice))
    }

    #[inline]
    fn change(&self, codec: &mut C, choice: &Choice, pieces: i64, buffer: &mut Vec<u8>) -> Result<()> {
        match self.try_change(codec, choice, pieces, buffer) {
            Ok(()) => Ok(()),
            Err(Refusal::Failed(failure)) => Err(failure.into()),
            Err(Refusal::Conflict) => {
                Err(Error::Wrong { workload: "add", what: "a transaction without company conflicted".to_owned() })
            }
        }
    }

    #[inline]
    fn try_change(
        &self,
        codec: &mut C,
        choice: &Choice,
        pieces: i64,
        buffer: &mut Vec<u8>,
    ) -> std::result::Result<(), Refusal> {
        let (key, mut is_changed) = (Bins::key(choice.bin), false);
        if C::CHANGES_AT_PLACE {
            self.store.modify(&key, buffer, |value| is_changed = C::add_at_place(value, choice.item, pieces))?;
        } else {
            self.store.update(&key, buffer, |value, buffer| {
                is_changed = value.is_some_and(|value| codec.add(value, choice.item, pieces, buffer).is_ok());
            })?;
        }
        match is_changed {
            true => Ok(()),
            false => Err(Failure::new("bins", "change", missing(choice).to_string()).into()),
        }
    }
}

#[cold]
fn missing(choice: &Choice) -> Error {
    let what = format!("bin {} is missing, malformed, or lacks item {}", choice.bin, choice.item);
    Error::Wrong { workload: "bins", what }
}

/// Pieces that a transaction adds.
pub const PIECES: i64 = 3;
/// Bins of a transaction of a load.
const LOAD_BATCH: usize = 10_000;
