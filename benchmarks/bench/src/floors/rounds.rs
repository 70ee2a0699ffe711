//! Rounds of measurements: how long and how large they are, and which floors take turns in them.

use std::path::Path;
use std::time::Duration;

use crate::floors::floor::Floor;
use crate::floors::probe::{Probe, Setting, processors};
use crate::floors::row::Row;
use crate::floors::{calls, files, memory};
use crate::measure::machine::kibibytes_of;

/// How long rounds are, and how much memory and file space they touch, if the machine has as much.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// What a round of a measurement lasts at least.
    pub span: Duration,
    /// Length of an array that no cache holds.
    pub memory_bytes: usize,
    /// Length of the files that are read and overwritten.
    pub file_bytes: usize,
}

impl Setting {
    /// So much of this as the machine has room for, and a remark if that is less.
    pub fn fitting(directory: &Path, seed: u64, extent: Extent) -> (Self, Option<String>) {
        let available = kibibytes_of("/proc/meminfo", "MemAvailable") * 1024;
        let memory_bytes = fitting_bytes(extent.memory_bytes, available);
        let remark = (memory_bytes < extent.memory_bytes).then(|| {
            let (has, wanted) = (memory_bytes >> 20, extent.memory_bytes >> 20);
            format!("limits: arrays in memory have {has} MiB, not {wanted}: {} MiB are available", available >> 20)
        });
        let setting = Self {
            directory: directory.to_owned(),
            span: extent.span,
            memory_bytes,
            file_bytes: extent.file_bytes.min(memory_bytes),
            processors: processors(),
            seed,
        };
        (setting, remark)
    }
}

/// The largest power of two that is at most `wanted` and leaves half of the available memory if two such arrays
/// exist.
fn fitting_bytes(wanted: usize, available: u64) -> usize {
    const BYTES_MIN: usize = 16 << 20;
    let share = usize::try_from(available / 4).unwrap_or(usize::MAX).max(BYTES_MIN);
    wanted.min(1 << share.ilog2())
}

/// Every measurement.
pub fn probes(setting: &Setting) -> Vec<Probe> {
    [memory::probes(setting), files::probes(setting), calls::probes(setting)].into_iter().flatten().collect()
}

/// Measures the floors that are wanted, each `rounds` times, in turns. A measurement that cannot be had is not tried
/// again.
pub fn rows_of(probes: Vec<Probe>, rounds: usize, wanted: impl Fn(Floor) -> bool) -> Vec<Row> {
    let mut running: Vec<(Probe, Vec<Row>)> = Vec::new();
    for probe in probes.into_iter().filter(|probe| probe.floors.iter().any(|floor| wanted(*floor))) {
        let row = |floor: &Floor| Row { floor: *floor, rounds: Vec::with_capacity(rounds), remark: None };
        let rows = probe.floors.iter().map(row).collect();
        running.push((probe, rows));
    }
    let mut lacking = vec![false; running.len()];
    for _ in 0..rounds {
        for ((probe, rows), lacking) in running.iter_mut().zip(&mut lacking).filter(|(_, lacking)| !**lacking) {
            match (probe.measure)() {
                Ok(round) => {
                    assert_eq!(round.values.len(), rows.len(), "a round has a figure for each floor");
                    for (row, value) in rows.iter_mut().zip(round.values) {
                        row.rounds.push(value);
                        row.remark.clone_from(&round.remark);
                    }
                }
                Err(lack) => {
                    *lacking = true;
                    rows.iter_mut().for_each(|row| row.remark = Some(lack.to_string()));
                }
            }
        }
    }
    running.into_iter().flat_map(|(_, rows)| rows).filter(|row| wanted(row.floor)).collect()
}

/// A note for each floor that has a remark.
pub fn remarks(rows: &[Row]) -> impl Iterator<Item = String> {
    let note = |row: &Row| {
        let (name, remark) = (row.floor.name(), row.remark.as_ref()?);
        Some(match row.rounds.is_empty() {
            true => format!("{name} was not measured: {remark}"),
            false => format!("{name}, after {} rounds: {remark}", row.rounds.len()),
        })
    };
    rows.iter().filter_map(note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floors::probe::{Round, Unavailable};

    #[test]
    fn rounds_take_turns_and_who_lacks_something_is_not_asked_again() {
        let probe = |floors: &'static [Floor; 1], good: usize| {
            let mut round = 0;
            Probe::of_one(floors, move || {
                round += 1;
                if round <= good { Ok(round as f64) } else { Err(Unavailable(format!("round {round} failed"))) }
            })
        };
        let two = Probe {
            floors: &[Floor::FdatasyncP50, Floor::FdatasyncP99],
            measure: Box::new(|| Ok(Round { values: vec![1.0, 2.0], remark: Some("as it was".to_owned()) })),
        };
        let probes = vec![probe(&[Floor::Clock], 9), probe(&[Floor::Read1], 0), probe(&[Floor::Read2], 1), two];
        let unwanted = probe(&[Floor::WakeUp], 9);
        let rows = rows_of(probes.into_iter().chain([unwanted]).collect(), 3, |floor| {
            ![Floor::WakeUp, Floor::FdatasyncP50].contains(&floor)
        });
        let found: Vec<_> = rows.iter().map(|row| (row.floor, row.rounds.clone())).collect();
        assert_eq!(
            found,
            [
                (Floor::Clock, vec![1.0, 2.0, 3.0]),
                (Floor::Read1, vec![]),
                (Floor::Read2, vec![1.0]),
                (Floor::FdatasyncP99, vec![2.0; 3])
            ]
        );
        assert_eq!(
            remarks(&rows).collect::<Vec<_>>(),
            [
                "read_1 was not measured: round 1 failed",
                "read_2, after 1 rounds: round 2 failed",
                "fdatasync_p99, after 3 rounds: as it was"
            ]
        );
    }

    #[test]
    fn arrays_shrink_with_the_memory_that_is_available() {
        assert_eq!(fitting_bytes(1 << 30, 16 << 30), 1 << 30);
        assert_eq!(fitting_bytes(1 << 30, 3 << 30), 512 << 20);
        assert_eq!(fitting_bytes(1 << 30, 0), 16 << 20);
        let extent = Extent { memory_bytes: 1 << 60, span: Duration::from_millis(5), file_bytes: 16 << 20 };
        let (setting, remark) = Setting::fitting(Path::new("/d"), 7, extent);
        assert!(remark.is_some_and(|remark| remark.contains(&format!("{} MiB, not", setting.memory_bytes >> 20))));
    }
}
