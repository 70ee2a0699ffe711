//! The names of everything that is measured, and how each read workload is prepared and run.

use fulgurite_rivals::Reader;

use crate::data::dataset::Dataset;
use crate::data::queries::{Queries, Seeks};
use crate::data::random::Random;
use crate::error::Result;
use crate::harness::arguments;
use crate::measure::clock::Sample;
use crate::measure::reads;

/// Records in each of the short scans.
pub const SEEK_LENGTH: usize = 100;

/// A row of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Workload {
    /// Gets of stored keys.
    GetHit,
    /// The same, each waiting for the last.
    GetHitSerialised,
    /// [`Workload::GetHit`] with what every processor of the target has.
    GetHitPortable,
    /// [`Workload::GetHitSerialised`] with what every processor of the target has.
    GetHitSerialisedPortable,
    /// [`Workload::GetHit`] without huge pages.
    GetHitNoHugePages,
    /// [`Workload::GetHitSerialised`] without huge pages.
    GetHitSerialisedNoHugePages,
    /// Gets; the delta answers half of them and the base the other half.
    GetHitDelta,
    /// Gets of absent keys.
    GetMiss,
    /// Gets of stored keys, 32 in a call.
    GetMany32,
    /// All records forwards.
    Scan,
    /// All records backwards.
    ScanReverse,
    /// Short scans from random places.
    Seek100,
    /// Loading sorted records into an empty store.
    BulkLoad,
    /// Transactions of one put.
    Put1,
    /// Opening a cleanly closed store and reading one record.
    Open,
    /// Bytes of the file beyond keys and values.
    BytesPerRecord,
    /// Private memory of an unsorted load.
    LoadMemory,
    /// Size of the command line's binary.
    BinarySize,
}

impl Workload {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 18] = [
        Self::GetHit,
        Self::GetHitSerialised,
        Self::GetHitPortable,
        Self::GetHitSerialisedPortable,
        Self::GetHitNoHugePages,
        Self::GetHitSerialisedNoHugePages,
        Self::GetHitDelta,
        Self::GetMiss,
        Self::GetMany32,
        Self::Scan,
        Self::ScanReverse,
        Self::Seek100,
        Self::BulkLoad,
        Self::Put1,
        Self::Open,
        Self::BytesPerRecord,
        Self::LoadMemory,
        Self::BinarySize,
    ];

    /// Its name in reports and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::GetHit => "get_hit",
            Self::GetHitSerialised => "get_hit_serialised",
            Self::GetHitPortable => "get_hit_portable",
            Self::GetHitSerialisedPortable => "get_hit_serialised_portable",
            Self::GetHitNoHugePages => "get_hit_no_huge_pages",
            Self::GetHitSerialisedNoHugePages => "get_hit_serialised_no_huge_pages",
            Self::GetHitDelta => "get_hit_delta",
            Self::GetMiss => "get_miss",
            Self::GetMany32 => "get_many32",
            Self::Scan => "scan",
            Self::ScanReverse => "scan_reverse",
            Self::Seek100 => "seek100",
            Self::BulkLoad => "bulk_load",
            Self::Put1 => "put1",
            Self::Open => "open",
            Self::BytesPerRecord => "bytes_per_record",
            Self::LoadMemory => "load_memory",
            Self::BinarySize => "binary_size",
        }
    }

    /// The workload of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }
}

/// A read workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// See [`Workload::GetHit`].
    Hit,
    /// See [`Workload::GetHitSerialised`].
    HitSerialised,
    /// See [`Workload::GetHitDelta`].
    HitBoth,
    /// See [`Workload::GetMiss`].
    Miss,
    /// See [`Workload::GetMany32`].
    Many,
    /// See [`Workload::Scan`].
    Scan,
    /// See [`Workload::ScanReverse`].
    ScanReverse,
    /// See [`Workload::Seek100`].
    Seek,
}

/// What a round asks for.
#[derive(Debug)]
pub enum Questions {
    /// Single keys.
    Keys(Queries),
    /// Short scans.
    Seeks(Seeks),
    /// Everything.
    All,
}

impl Read {
    /// Draws the questions of a round: `gets` keys, or a tenth as many short scans.
    pub fn prepare(self, data: &Dataset, gets: usize, random: &mut Random) -> Questions {
        match self {
            Self::Hit | Self::HitSerialised | Self::Many => Questions::Keys(Queries::hits(data, gets, random)),
            Self::HitBoth => Questions::Keys(Queries::halves(data, gets, random)),
            Self::Miss => Questions::Keys(Queries::misses(data, gets, random)),
            Self::Seek => Questions::Seeks(Seeks::new(data, gets / 10, SEEK_LENGTH, random)),
            Self::Scan | Self::ScanReverse => Questions::All,
        }
    }

    /// Asks one engine the questions that [`Read::prepare`] drew.
    pub fn run<R: Reader>(self, reader: &R, data: &Dataset, questions: &Questions) -> Result<Sample> {
        let value_bytes = data.values.length();
        match (self, questions) {
            (Self::Hit | Self::HitBoth, Questions::Keys(queries)) => reads::get_hit(reader, queries, value_bytes),
            (Self::HitSerialised, Questions::Keys(queries)) => reads::get_hit_serialised(reader, queries, value_bytes),
            (Self::Many, Questions::Keys(queries)) => reads::get_many(reader, queries, value_bytes),
            (Self::Miss, Questions::Keys(queries)) => reads::get_miss(reader, queries),
            (Self::Seek, Questions::Seeks(seeks)) => reads::seek(reader, seeks, SEEK_LENGTH),
            (Self::Scan, Questions::All) => reads::scan(reader, data.digest()),
            (Self::ScanReverse, Questions::All) => reads::scan_reverse(reader, data.digest_reverse()),
            _ => unreachable!("`prepare` of the same workload drew the questions"),
        }
    }
}

/// Options of `core`.
pub type Options = arguments::Options<Workload>;

/// Rounds of each workload unless an option says otherwise.
pub const ROUNDS: usize = 5;

impl Default for Options {
    fn default() -> Self {
        Self::all(ROUNDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dataset::tests::small;
    use crate::engines::planted::reading::{Fault, Planted};

    #[test]
    fn names_are_read_back() {
        for workload in Workload::ALL {
            assert_eq!(Workload::from_name(workload.name()), Some(workload));
        }
        assert_eq!(Workload::from_name("swim"), None);
    }

    #[test]
    fn every_read_workload_runs_what_it_prepared() {
        let data = small(1000, 100);
        let reader = Planted::new(&data, Fault::None);
        let mut random = Random::new(9, 9);
        let reads = [Read::Hit, Read::HitSerialised, Read::Miss, Read::Many, Read::Scan, Read::ScanReverse, Read::Seek];
        for read in reads {
            let questions = read.prepare(&data, 640, &mut random);
            read.run(&reader, &data, &questions).unwrap();
        }
    }
}
