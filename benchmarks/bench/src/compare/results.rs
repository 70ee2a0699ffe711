//! Results of runs, as `--json` of every suite writes them: what was measured on which machine, and the figures of
//! single rounds.
//!
//! Other objects in the lines are skipped. Files of several runs may be joined: the rounds of a row that occurs
//! several times are combined.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// A file of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The runs whose lines are in the file.
    pub runs: Vec<Run>,
    /// Every engine in every workload and data set, in the order of the file.
    pub rows: Vec<Row>,
}

/// What a run says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Processor, cores, kernel and settings of it.
    pub machine: String,
    /// Version of Fulgurite.
    pub fulgurite: String,
    /// Versions and settings of the engines.
    pub engines: Vec<Engine>,
}

/// An engine of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What was chosen for it.
    pub settings: String,
}

/// What is the same for all engines of a row: the workload and its data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// The suite.
    pub suite: String,
    /// The workload.
    pub workload: String,
    /// Shape of the keys.
    pub shape: String,
    /// Level of durability, where the suite has a choice.
    pub level: Option<String>,
    /// Records in the store.
    pub records: u64,
    /// Length of a key, if the line has it.
    pub key_bytes: Option<u64>,
    /// Length of a value.
    pub value_bytes: u64,
    /// Threads, if the line has them.
    pub threads: Option<u64>,
}

/// The rounds of one engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was measured.
    pub subject: Subject,
    /// The engine.
    pub engine: String,
    /// The place in [`Results::runs`] of the run that measured it, the last one if several did; `None` if no run
    /// precedes the line.
    pub run: Option<usize>,
    /// Figures by their names, with a value for each round, if the round has one.
    pub figures: Vec<(String, Vec<Option<f64>>)>,
}

impl Row {
    /// The rounds of this figure.
    pub fn figure(&self, name: &str) -> Option<&[Option<f64>]> {
        self.figures.iter().find(|(known, _)| known == name).map(|(_, values)| &values[..])
    }
}

impl Results {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Input`] if it cannot be read, has a line that is not an object of JSON, or no single rounds.
    pub fn read(path: &Path) -> Result<Self> {
        let input = |what: String| Error::Input { path: path.to_owned(), what };
        let text = std::fs::read_to_string(path).map_err(|error| {
            input(format!("cannot be read: {error}; name two files that `--json FILE` of a suite wrote"))
        })?;
        Self::parse(&text).map_err(input)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut results = Self::default();
        let mut has_medians = false;
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let object: Map<String, Value> = serde_json::from_str(line).map_err(|error| {
                format!(
                    "line {number} is not an object of JSON ({error}); name a file that `--json FILE` of a suite wrote"
                )
            })?;
            has_medians |= object.contains_key("suite");
            results.take(&object).map_err(|field| {
                format!("line {number} has no {field} that can be read; measure again with `--json FILE` of a suite")
            })?;
        }
        match (results.rows.is_empty(), has_medians) {
            (false, _) => Ok(results),
            (true, true) => Err(
                "it has medians, and no figures of single rounds, which a comparison needs: `--out` wrote it, or a \
                                 version of before there were any; measure again with `--json FILE`"
                    .to_owned(),
            ),
            (true, false) => Err("it has no results; name a file that `--json FILE` of a suite wrote".to_owned()),
        }
    }

    /// Adds the content of an object; the error names a missing field.
    fn take(&mut self, object: &Map<String, Value>) -> Result<(), &'static str> {
        if object.contains_key("machine") {
            self.runs.push(run(object)?);
        } else if object.contains_key("rounds_of") {
            let row = self.row(object)?;
            self.add(row);
        }
        Ok(())
    }

    fn row(&self, object: &Map<String, Value>) -> Result<Row, &'static str> {
        let subject = Subject {
            workload: text(object, "rounds_of")?,
            suite: text(object, "suite")?,
            shape: text(object, "shape")?,
            level: text(object, "level").ok(),
            records: number(object, "records").ok_or("records")?,
            key_bytes: number(object, "key_bytes"),
            value_bytes: number(object, "value_bytes").ok_or("value_bytes")?,
            threads: number(object, "threads"),
        };
        let figures = object.get("figures").and_then(Value::as_object).ok_or("figures")?;
        let figures = figures.iter().map(|(name, values)| {
            let values = values.as_array()?.iter().map(Value::as_f64).collect();
            Some((name.clone(), values))
        });
        let figures = figures.collect::<Option<Vec<_>>>().ok_or("figures")?;
        Ok(Row { subject, engine: text(object, "engine")?, run: self.runs.len().checked_sub(1), figures })
    }

    /// Adds a row, or its rounds to those of the same row of an earlier run.
    fn add(&mut self, row: Row) {
        let same = |known: &&mut Row| known.subject == row.subject && known.engine == row.engine;
        let Some(known) = self.rows.iter_mut().find(same) else {
            self.rows.push(row);
            return;
        };
        known.run = row.run;
        for (name, values) in row.figures {
            match known.figures.iter_mut().find(|(figure, _)| *figure == name) {
                Some((_, rounds)) => rounds.extend(values),
                None => known.figures.push((name, values)),
            }
        }
    }

    /// What the run of `row` says of an engine.
    pub fn engine(&self, row: &Row, name: &str) -> Option<&Engine> {
        self.runs.get(row.run?)?.engines.iter().find(|engine| engine.name == name)
    }
}

fn run(object: &Map<String, Value>) -> Result<Run, &'static str> {
    let engine = |value: &Value| {
        let object = value.as_object()?;
        let of = |field| text(object, field).ok();
        Some(Engine { name: of("name")?, version: of("version")?, settings: of("settings")? })
    };
    let engines = object.get("engines").and_then(Value::as_array).ok_or("engines")?;
    Ok(Run {
        machine: text(object, "machine")?,
        fulgurite: text(object, "fulgurite")?,
        engines: engines.iter().map(engine).collect::<Option<_>>().ok_or("engines")?,
    })
}

fn text(object: &Map<String, Value>, field: &'static str) -> Result<String, &'static str> {
    object.get(field).and_then(Value::as_str).map(str::to_owned).ok_or(field)
}

fn number(object: &Map<String, Value>, field: &str) -> Option<u64> {
    object.get(field).and_then(Value::as_u64)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::engines::known::EngineNote;
    use crate::harness::contest::Contest;
    use crate::harness::contest::tests::{contest, sample};
    use crate::harness::report::Report;
    use crate::harness::row::tests::row;
    use crate::measure::clock::Sample;

    /// Rows: a workload, and the nanoseconds that Fulgurite and LMDB took in each round; none for an engine that was
    /// not there.
    pub type Times = (&'static str, Vec<f64>, Vec<f64>);

    /// What a run has found.
    pub fn report(rows: &[Times]) -> Report {
        let samples = |times: &[f64]| -> Vec<Sample> { times.iter().map(|&time| sample(time)).collect() };
        let contest = |(workload, ours, lmdb): &Times| {
            let mut entries = vec![("fulgurite", samples(ours)), ("lmdb", samples(lmdb))];
            entries.retain(|(_, samples)| !samples.is_empty());
            Contest { workload, ..contest(entries) }
        };
        let note = |name| EngineNote { name, version: "1".to_owned(), settings: "usual".to_owned() };
        let contests = rows.iter().map(contest).collect();
        Report { contests, engines: vec![note("fulgurite"), note("lmdb")], ..Report::default() }
    }

    /// The same as it is read from a file.
    pub fn results(rows: &[Times]) -> Results {
        Results::parse(&report(rows).json_with_machine("a machine", 7)).unwrap()
    }

    /// What `--json` writes of one row.
    fn written(workload: &'static str, ours: &[f64], lmdb: &[f64]) -> String {
        report(&[(workload, ours.to_vec(), lmdb.to_vec())]).json_with_machine("a machine", 7)
    }

    fn refused(text: &str) -> String {
        Results::parse(text).expect_err("it is not a result")
    }

    #[test]
    fn what_json_writes_is_read_back() {
        let results = Results::parse(&written("get_hit", &[100.0, 101.5], &[300.0, 310.0])).unwrap();
        assert_eq!(results.runs.len(), 1);
        assert_eq!((&results.runs[0].machine[..], results.runs[0].engines.len()), ("a machine", 2));
        let [ours, theirs] = &results.rows[..] else { panic!("{results:?}") };
        assert_eq!(ours.subject, theirs.subject);
        assert_eq!(
            (&ours.subject.workload[..], &ours.subject.shape[..], ours.subject.threads),
            ("get_hit", "hashed", Some(1))
        );
        assert_eq!(ours.figure("cpu_ns_per_op"), Some(&[Some(100.0), Some(101.5)][..]));
        assert_eq!(results.engine(theirs, "lmdb").unwrap().settings, "usual");
    }

    #[test]
    fn rows_of_tables_are_read_with_rounds_that_lack_a_figure() {
        let mut table = row("lmdb", &[1.0, 3.0]);
        table.rounds[1].set("p99_ns", f64::NAN);
        let report = Report { rows: vec![table], ..Report::default() };
        let results = Results::parse(&report.json_with_machine("m", 1)).unwrap();
        assert_eq!(results.rows[0].figure("p99_ns"), Some(&[Some(1500.0), None][..]));
        assert_eq!(results.rows[0].subject.level.as_deref(), Some("Log"));
        assert_eq!((results.rows[0].subject.threads, results.rows[0].figure("speed")), (None, None));
    }

    #[test]
    fn rounds_of_joined_files_are_taken_together() {
        let joined = written("get_hit", &[1.0, 2.0], &[5.0]) + &written("get_hit", &[3.0], &[6.0]);
        let results = Results::parse(&joined).unwrap();
        assert_eq!((results.runs.len(), results.rows.len(), results.rows[0].run), (2, 2, Some(1)));
        assert_eq!(results.rows[0].figure("cpu_ns_per_op"), Some(&[Some(1.0), Some(2.0), Some(3.0)][..]));
        assert_eq!(results.rows[1].figure("cpu_ns_per_op"), Some(&[Some(5.0), Some(6.0)][..]));
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line_and_a_remedy() {
        let good = written("get_hit", &[1.0], &[]);
        assert!(refused(&format!("{good}[1]\n")).starts_with("line 4 is not an object of JSON"));
        assert!(refused("{\"machine\":\"m\"").contains("line 1 ") && refused("x").contains("`--json FILE`"));
        assert!(refused("").contains("no results"));
        let damaged = good
            .replace("\"records\":1000,\"key_bytes\":32,\"value_bytes\":100,\"threads\":1,\"figures\"", "\"figures\"");
        assert!(refused(&damaged).starts_with("line 3 has no records"), "{}", refused(&damaged));
        let damaged = good.replace("[1]", "1");
        assert!(refused(&damaged).starts_with("line 3 has no figures"), "{}", refused(&damaged));
    }

    #[test]
    fn a_file_without_single_rounds_is_told_from_one_without_results() {
        let old: String = written("get_hit", &[1.0], &[])
            .lines()
            .filter(|line| !line.contains("rounds_of"))
            .collect::<Vec<_>>()
            .join("\n");
        let told = refused(&old);
        assert!(told.contains("single rounds") && told.contains("measure again with `--json FILE`"), "{told}");
        let error = Results::read(Path::new("/no/such/file")).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/file: cannot be read: "), "{error}");
    }
}
