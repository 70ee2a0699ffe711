//! Six floors, measured before and after the run of another suite: they show which machine it was, and whether it
//! stayed the same.

use std::path::Path;
use std::time::Duration;

use crate::floors::floor::Floor;
use crate::floors::probe::Setting;
use crate::floors::rounds::{Extent, probes, remarks, rows_of};
use crate::floors::row::{Row, digits};
use crate::json::number;
use crate::measure::places::Places;

/// The floors that explain engines, all in nanoseconds: lines that no cache holds, waited for one after the other and
/// together; writes of a log, to the page cache and to the disk; and memory that is new.
const FLOORS: [Floor; 6] = [
    Floor::DependentMemory,
    Floor::DependentMemoryHuge,
    Floor::Overlapped8,
    Floor::Write4K,
    Floor::FdatasyncP50,
    Floor::FirstTouch,
];

/// Rounds of each.
const ROUNDS: usize = 3;

/// Beside a whole run.
const WHOLE: Extent = Extent { span: Duration::from_millis(60), memory_bytes: 1 << 30, file_bytes: 64 << 20 };

/// Beside a quick one.
const QUICK: Extent = Extent { span: Duration::from_millis(10), memory_bytes: 256 << 20, file_bytes: 16 << 20 };

/// A change of a floor by this factor or more is reported.
const CHANGE_TOLD: f64 = 1.3;

/// What was measured at one time.
#[derive(Clone, Debug, Default)]
pub struct Floors {
    rows: Vec<Row>,
    remark: Option<String>,
}

impl Floors {
    /// Measures them on files in `directory`. A floor that cannot be measured has a remark; it does not end the run.
    pub fn measure(directory: &Path, seed: u64, quick: bool) -> Self {
        let places = match Places::new(directory, false) {
            Ok(places) => places,
            Err(error) => {
                let row = |floor| Row { floor, rounds: Vec::new(), remark: Some(error.to_string()) };
                return Self { rows: FLOORS.map(row).to_vec(), remark: None };
            }
        };
        let (setting, remark) = Setting::fitting(places.path(), seed, if quick { QUICK } else { WHOLE });
        let mut rows = rows_of(probes(&setting), ROUNDS, |floor| FLOORS.contains(&floor));
        rows.sort_by_key(|row| FLOORS.iter().position(|floor| *floor == row.floor));
        Self { rows, remark }
    }

    /// The floor, if it could be had.
    pub fn get(&self, floor: Floor) -> Option<f64> {
        self.rows.iter().find(|row| row.floor == floor)?.median()
    }

    /// All of them in words.
    pub fn in_words(&self) -> String {
        let shown = |row: &Row| match row.median() {
            Some(middle) => format!("{} {} {}", row.floor.name(), digits(middle), row.floor.unit()),
            None => format!("{} not measured", row.floor.name()),
        };
        self.rows.iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    fn json(&self) -> String {
        let field = |row: &Row| {
            let value = row.median().map_or("null".to_owned(), |middle| number(middle, 2));
            format!("\"{}_{}\":{value}", row.floor.name(), row.floor.unit())
        };
        format!("{{{}}}", self.rows.iter().map(field).collect::<Vec<_>>().join(","))
    }

    fn remarks(&self) -> impl Iterator<Item = String> {
        self.remark.iter().cloned().chain(remarks(&self.rows).map(|remark| format!("limits: {remark}")))
    }
}

/// What was measured before a run and after it.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Before.
    pub before: Floors,
    /// After.
    pub after: Floors,
}

impl Around {
    /// All floors, what could not be had, and what has changed.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            format!("limits before the run: {}", self.before.in_words()),
            format!("limits after the run: {}", self.after.in_words()),
        ];
        for remark in self.before.remarks().chain(self.after.remarks()) {
            if !notes.contains(&remark) {
                notes.push(remark);
            }
        }
        notes.extend(FLOORS.into_iter().filter_map(|floor| self.change(floor)));
        notes
    }

    /// The object of JSON.
    pub fn json(&self) -> String {
        format!("{{\"before\":{},\"after\":{}}}", self.before.json(), self.after.json())
    }

    /// That a floor was not the same throughout, if so.
    fn change(&self, floor: Floor) -> Option<String> {
        let times = self.after.get(floor)? / self.before.get(floor)?;
        (times.max(times.recip()) >= CHANGE_TOLD).then(|| {
            let name = floor.name();
            format!("limits: {name} took {times:.2} times as long after the run as before: the machine was not the same throughout")
        })
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::floors::probe::{Probe, Unavailable};

    /// Floors as if they had been measured so, in the order of [`FLOORS`].
    pub fn planted(nanoseconds: [f64; 6]) -> Floors {
        let row = |(floor, nanoseconds)| Row { floor, rounds: vec![nanoseconds], remark: None };
        Floors { rows: FLOORS.into_iter().zip(nanoseconds).map(row).collect(), remark: None }
    }

    #[test]
    fn six_floors_are_measured_and_leave_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let floors = Floors::measure(directory.path(), 7, true);
        assert_eq!(floors.rows.iter().map(|row| row.floor).collect::<Vec<_>>(), FLOORS);
        for row in &floors.rows {
            assert_eq!(row.floor.unit(), "ns");
            assert!(row.rounds.len() == ROUNDS || row.remark.is_some(), "{}", floors.in_words());
        }
        assert!(floors.get(Floor::Write4K).is_some_and(|nanoseconds| nanoseconds > 0.0));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_floor_that_was_planted_slower_after_the_run_is_told_of_and_noise_is_not() {
        let slower = |nanoseconds: f64| {
            let probe = Probe::of_one(&[Floor::DependentMemory], move || Ok(nanoseconds));
            Floors { rows: rows_of(vec![probe], ROUNDS, |_| true), remark: None }
        };
        let changes = |after| Around { before: slower(100.0), after: slower(after) }.notes();
        assert_eq!(changes(129.0).len(), 2);
        assert_eq!(changes(80.0).len(), 2);
        assert!(changes(150.0)[2].contains("dependent_memory took 1.50 times"), "{:?}", changes(150.0));
        assert!(changes(50.0)[2].contains("dependent_memory took 0.50 times"));
        assert_eq!(
            changes(150.0)[..2],
            ["limits before the run: dependent_memory 100.0 ns", "limits after the run: dependent_memory 150.0 ns"]
        );
    }

    #[test]
    fn what_could_not_be_had_is_said_once_and_is_null() {
        let lacking = || {
            let probe = Probe::of_one(&[Floor::FirstTouch], || Err(Unavailable("none".to_owned())));
            Floors { rows: rows_of(vec![probe], ROUNDS, |_| true), remark: Some("small".to_owned()) }
        };
        let around = Around { before: lacking(), after: lacking() };
        assert_eq!(around.notes()[2..], ["small", "limits: first_touch was not measured: none"]);
        assert_eq!(around.json(), "{\"before\":{\"first_touch_ns\":null},\"after\":{\"first_touch_ns\":null}}");
        let floors = Floors::measure(Path::new("/dev/null/nowhere"), 7, true);
        assert!(floors.remarks().all(|remark| remark.contains("/dev/null")) && floors.remarks().count() == 6);
    }

    #[test]
    fn the_object_of_json_has_the_promised_fields() {
        let around = Around { before: planted([1.0; 6]), after: planted([2.0, 3.0, 4.0, 5.0, 6.0, 7.5]) };
        let expected = "\"after\":{\"dependent_memory_ns\":2.00,\"dependent_memory_huge_ns\":3.00,\"overlapped_8_ns\":4.00,\
                        \"write_4k_ns\":5.00,\"fdatasync_p50_ns\":6.00,\"first_touch_ns\":7.50}}";
        assert!(around.json().starts_with("{\"before\":{\"dependent_memory_ns\":1.00,"), "{}", around.json());
        assert!(around.json().ends_with(expected), "{}", around.json());
    }
}
