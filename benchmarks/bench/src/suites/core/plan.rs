//! Which workloads run on which data sets.

use crate::data::dataset::Spec;
use crate::data::shape::Shape;
use crate::suites::core::workload::{Options, Workload};

/// A data set and what is measured on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The data set.
    pub spec: Spec,
    /// What is measured, without what the options leave out.
    pub workloads: Vec<Workload>,
}

impl Plan {
    /// Whether `workload` is part of it.
    pub fn has(&self, workload: Workload) -> bool {
        self.workloads.contains(&workload)
    }
}

/// How much a round asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Records of the small and the large data sets.
    pub records: [usize; 2],
    /// Gets in a round; there are a tenth as many short scans.
    pub gets: usize,
    /// Single puts in a round. In full they fill the measured engine's largest delta of its own choice three times: its
    /// commits wait for a checkpoint once twice a delta has gathered beside it, so that two begin whatever the disk.
    pub puts: usize,
}

impl Scale {
    /// What the bars are about.
    pub const FULL: Self = Self { records: [1_000_000, 10_000_000], gets: 200_000, puts: 8_000_000 };

    /// Enough to see that everything works.
    pub const QUICK: Self = Self { records: [20_000, 100_000], gets: 20_000, puts: 5_000 };

    /// The scale that the options ask for.
    pub fn of(options: &Options) -> Self {
        if options.quick { Self::QUICK } else { Self::FULL }
    }
}

/// Changes of 32/100 that the measured engine's largest delta by default holds: 384 MiB; each change takes 48 bytes
/// beside its key and value.
const DELTA_CHANGES_MAX: usize = (384 << 20) / (32 + 100 + 48);
const _: () = assert!(Scale::FULL.puts >= 3 * DELTA_CHANGES_MAX, "two checkpoints begin in a round of puts");

const ON_ALL_HASHED: [Workload; 9] = [
    Workload::BulkLoad,
    Workload::BytesPerRecord,
    Workload::GetHit,
    Workload::GetHitSerialised,
    Workload::GetMiss,
    Workload::GetMany32,
    Workload::Scan,
    Workload::ScanReverse,
    Workload::Seek100,
];

const ON_LARGE_MIDDLE: [Workload; 7] = [
    Workload::GetHitPortable,
    Workload::GetHitSerialisedPortable,
    Workload::GetHitNoHugePages,
    Workload::GetHitSerialisedNoHugePages,
    Workload::Open,
    Workload::GetHitDelta,
    Workload::Put1,
];

const ON_SHAPES: [Workload; 4] = [Workload::BytesPerRecord, Workload::GetHit, Workload::GetMiss, Workload::GetMany32];

/// Every data set of the core suite, as far as the options want it.
pub fn core(options: &Options) -> Vec<Plan> {
    let [small, large] = Scale::of(options).records;
    let hashed = |hashed_key_bytes, value_bytes, records, more: &[Workload]| Plan {
        spec: Spec { shape: Shape::Hashed, records, hashed_key_bytes, value_bytes },
        workloads: ON_ALL_HASHED.iter().chain(more).copied().collect(),
    };
    let shaped = |shape| Plan {
        spec: Spec { shape, records: large, hashed_key_bytes: 0, value_bytes: 100 },
        workloads: ON_SHAPES.to_vec(),
    };
    let mut plans = vec![
        hashed(32, 100, large, &ON_LARGE_MIDDLE),
        hashed(32, 100, small, &[Workload::Put1]),
        hashed(8, 8, large, &[]),
        hashed(8, 8, small, &[]),
        hashed(32, 1024, small, &[]),
    ];
    plans.extend(Shape::ALL.into_iter().filter(|&shape| shape != Shape::Hashed).map(shaped));
    for plan in &mut plans {
        plan.workloads.retain(|workload| options.only.is_empty() || options.only.contains(workload));
    }
    plans.retain(|plan| {
        !plan.workloads.is_empty()
            && (options.shapes.is_empty() || options.shapes.contains(&plan.spec.shape))
            && options.records.is_none_or(|records| records == plan.spec.records)
    });
    plans
}

/// Whether the options want a workload that belongs to no data set.
pub fn wants(options: &Options, workload: Workload) -> bool {
    match options.only.is_empty() {
        true => options.shapes.is_empty() && options.records.is_none(),
        false => options.only.contains(&workload),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_whole_suite_measures_every_workload_and_shape() {
        let plans = core(&Options::default());
        let measured: HashSet<Workload> = plans.iter().flat_map(|plan| plan.workloads.clone()).collect();
        let alone = [Workload::LoadMemory, Workload::BinarySize];
        for workload in Workload::ALL {
            assert!(measured.contains(&workload) || alone.contains(&workload), "{}", workload.name());
        }
        let shapes: HashSet<Shape> = plans.iter().map(|plan| plan.spec.shape).collect();
        assert_eq!(shapes.len(), Shape::ALL.len());
    }

    #[test]
    fn options_leave_out_workloads_shapes_and_sizes() {
        let options = Options { only: vec![Workload::Put1], ..Options::default() };
        let plans = core(&options);
        assert_eq!(plans.len(), 2);
        assert!(plans.iter().all(|plan| plan.workloads == [Workload::Put1]));
        assert!(!wants(&options, Workload::LoadMemory));
        let options = Options { shapes: vec![Shape::Iris], ..Options::default() };
        assert!(core(&options).iter().all(|plan| plan.spec.shape == Shape::Iris));
        let options = Options { records: Some(1_000_000), quick: false, ..Options::default() };
        assert_eq!(core(&options).len(), 3);
        assert!(wants(&Options::default(), Workload::BinarySize));
    }

    #[test]
    fn data_sets_have_names_of_their_own() {
        let plans = core(&Options::default());
        let names: HashSet<String> = plans.iter().map(|plan| plan.spec.name()).collect();
        assert_eq!(names.len(), plans.len());
    }
}
