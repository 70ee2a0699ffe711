//! In which workloads Fulgurite is not the first of the engines.

use crate::harness::judge::MEASURED;
use crate::harness::row::Row;

/// In how many workloads Fulgurite does the most operations a second, and a line for each of the others. Nothing if it
/// was not measured beside another engine.
pub fn notes(rows: &[Row]) -> Vec<String> {
    let rate = |row: &Row| row.median("ops_per_s").filter(|rate| rate.is_finite());
    let (mut compared, mut behind) = (0, Vec::new());
    for ours in rows.iter().filter(|row| row.engine == MEASURED) {
        let rivals = rows.iter().filter(|row| row.workload == ours.workload && row.engine != MEASURED);
        let best = rivals.filter_map(|row| Some((row.engine, rate(row)?))).max_by(|a, b| a.1.total_cmp(&b.1));
        let (Some(own), Some((rival, best))) = (rate(ours), best) else { continue };
        compared += 1;
        if best > own {
            behind.push(format!("not first: {}: {rival} is {:.2} times as fast", ours.workload, best / own));
        }
    }
    if compared > 0 {
        let first = compared - behind.len();
        behind.insert(0, format!("{MEASURED} is first in {first} of {compared} workloads, by operations a second"));
    }
    behind
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::row::tests::row;

    #[test]
    fn a_workload_in_which_another_engine_is_first_is_named_with_the_factor() {
        let of = |workload, engine, rates: &[f64]| Row { workload, ..row(engine, rates) };
        let rows = [
            of("gets", "fulgurite", &[9.0, 1.0, 2.0]),
            of("gets", "lmdb", &[3.0]),
            of("gets", "redb", &[2.5]),
            of("puts", "fulgurite", &[4.0]),
            of("puts", "lmdb", &[4.0]),
            of("puts", "redb", &[]),
            of("alone", "fulgurite", &[4.0]),
        ];
        assert_eq!(
            notes(&rows),
            [
                "fulgurite is first in 1 of 2 workloads, by operations a second",
                "not first: gets: lmdb is 1.50 times as fast"
            ]
        );
        assert!(notes(&rows[6..]).is_empty() && notes(&[]).is_empty());
    }
}
