//! The figures of single rounds, as lines of JSON after the lines of medians: a comparison of two runs needs them.
//!
//! A line begins with `rounds_of`, and names what was measured as the line of medians does. It has the figures of all
//! rounds in their order, so that rounds of engines that ran side by side have the same places.

use crate::harness::contest::Contest;
use crate::harness::row::Row;
use crate::measure::clock::Sample;

/// A line for each engine in each contest, and for each row of suites of tables.
pub fn lines(contests: &[Contest], rows: &[Row], out: &mut String) {
    contests.iter().for_each(|contest| of_contest(contest, out));
    rows.iter().for_each(|row| of_row(row, out));
}

/// A figure of a sample.
type Figure = fn(&Sample) -> f64;

/// The figures of a sample, by their names in lines of JSON.
pub const FIGURES: [(&str, Figure); 4] = [
    ("cpu_ns_per_op", Sample::cpu_ns_per_operation),
    ("ops_per_s", Sample::operations_per_second),
    ("p50_ns", |sample| sample.p50_ns),
    ("p99_ns", |sample| sample.p99_ns),
];

fn of_contest(contest: &Contest, out: &mut String) {
    for (engine, samples) in &contest.entries {
        let figure = |(name, of): &(&str, Figure)| array(name, samples.iter().map(|sample| Some(of(sample))));
        out.push_str(&format!(
            "{{\"rounds_of\":\"{}\",\"suite\":\"{}\",\"shape\":\"{}\",\"engine\":\"{engine}\",\"records\":{},\
             \"key_bytes\":{},\"value_bytes\":{},\"threads\":{},\"figures\":{{{}}}}}\n",
            contest.workload,
            contest.suite,
            contest.shape,
            contest.records,
            contest.key_bytes,
            contest.value_bytes,
            contest.threads,
            FIGURES.iter().map(figure).collect::<Vec<_>>().join(","),
        ));
    }
}

fn of_row(row: &Row, out: &mut String) {
    let figure = |name: &str| array(name, row.rounds.iter().map(|figures| figures.get(name)));
    out.push_str(&format!(
        "{{\"rounds_of\":\"{}\",\"suite\":\"{}\",\"shape\":\"{}\",\"engine\":\"{}\",\"level\":\"{}\",\
         \"records\":{},\"value_bytes\":{},\"figures\":{{{}}}}}\n",
        row.workload,
        row.suite,
        row.shape,
        row.engine,
        row.level,
        row.records,
        row.value_bytes,
        row.names().map(figure).collect::<Vec<_>>().join(","),
    ));
}

/// A field with a number for each round, or `null` where a round has none.
fn array(name: &str, values: impl Iterator<Item = Option<f64>>) -> String {
    let number = |value: Option<f64>| match value.filter(|value| value.is_finite()) {
        // Four digits behind the point, and none that say nothing.
        Some(value) => format!("{}", (value * 1e4).round() / 1e4),
        None => "null".to_owned(),
    };
    let numbers: Vec<String> = values.map(number).collect();
    format!("\"{name}\":[{}]", numbers.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::contest::tests::{contest, sample};
    use crate::harness::row::Figures;
    use crate::harness::row::tests::row;

    #[test]
    fn every_engine_has_a_line_with_all_rounds_in_their_order() {
        let entries =
            vec![("ours", vec![sample(100.0), sample(90.12345)]), ("lmdb", vec![sample(300.0), sample(280.0)])];
        let mut out = String::new();
        lines(&[contest(entries)], &[], &mut out);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(
            lines[0],
            "{\"rounds_of\":\"get_hit\",\"suite\":\"core\",\"shape\":\"hashed\",\"engine\":\"ours\",\"records\":1000,\
             \"key_bytes\":32,\"value_bytes\":100,\"threads\":1,\"figures\":{\"cpu_ns_per_op\":[100,90.1235],\
             \"ops_per_s\":[100000000,100000000],\"p50_ns\":[1,1],\"p99_ns\":[2,2]}}"
        );
        assert!(lines[1].contains("\"engine\":\"lmdb\"") && lines[1].contains("[300,280]"), "{out}");
    }

    #[test]
    fn a_row_of_tables_has_its_level_and_all_its_figures() {
        let mut row = row("lmdb", &[1.0, 3.0]);
        row.rounds[1] = Figures::default();
        row.rounds[1].set("ops_per_s", f64::NAN);
        let mut out = String::new();
        lines(&[], &[row], &mut out);
        assert_eq!(
            out,
            "{\"rounds_of\":\"sequential_read\",\"suite\":\"geaflow\",\"shape\":\"sequential\",\"engine\":\"lmdb\",\
             \"level\":\"Log\",\"records\":10000,\"value_bytes\":100,\"figures\":{\"ops_per_s\":[1,null],\
             \"p99_ns\":[1500,null],\"KiB after the last batch\":[12,null]}}\n"
        );
    }
}
