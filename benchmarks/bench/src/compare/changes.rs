//! A comparison of two results as a whole, and how it is printed.

use std::fmt;
use std::path::PathBuf;

use crate::compare::noise::{self, Finding, Outcome, ROUNDS_MIN};
use crate::compare::pairs::{Pair, Pairs, is_measured, pair};
use crate::compare::results::{Engine, Results, Subject};
use crate::error::{Error, Result};
use crate::harness::report::aligned;
use crate::harness::single_rounds;
use crate::json::{number, quoted};
use crate::measure::statistics::median;

/// What the files are called in what is printed.
const SIDES: [&str; 2] = ["A", "B"];

/// What is compared, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Name of the figure.
    pub figure: &'static str,
    /// The smallest change that counts, in percent.
    pub threshold_percent: f64,
    /// Engines whose rows are compared; empty for the measured one.
    pub engines: Vec<String>,
}

impl Default for Question {
    fn default() -> Self {
        Self { figure: single_rounds::FIGURES[0].0, threshold_percent: 5.0, engines: Vec::new() }
    }
}

/// Two results, compared.
#[derive(Debug)]
pub struct Comparison {
    question: Question,
    sides: [Side; 2],
    pairs: Pairs,
    /// Of each pair, `None` if it has too few rounds.
    findings: Vec<Option<Finding>>,
    /// What forbids to take changes for the program's.
    warnings: Vec<String>,
}

/// A file.
#[derive(Debug)]
pub struct Side {
    /// Where it is.
    pub path: PathBuf,
    /// What it holds.
    pub results: Results,
}

/// The verdict on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Faster.
    Faster,
    /// Slower.
    Slower,
    /// Neither.
    Unchanged,
    /// Nothing, and how many rounds would decide it.
    TooNoisy(Option<usize>),
    /// Nothing, because the machine was not the same.
    Drifted,
    /// Nothing, because there are not [`ROUNDS_MIN`] rounds.
    TooFewRounds,
}

impl Comparison {
    /// Compares two files.
    ///
    /// # Errors
    /// [`Error::Input`] if they have nothing in common.
    pub fn new(question: Question, sides: [Side; 2]) -> Result<Self> {
        let wanted = |engine: &str| match question.engines.is_empty() {
            true => is_measured(engine),
            false => question.engines.iter().any(|wanted| wanted == engine),
        };
        let [old, new] = &sides;
        let pairs = pair(&old.results, &new.results, question.figure, wanted);
        if pairs.both.is_empty() {
            return Err(Error::Input { path: new.path.clone(), what: nothing_in_common(&sides, &pairs, &question) });
        }
        let rounds: Vec<_> = pairs.both.iter().map(|pair| pair.rounds.clone()).collect();
        let findings = noise::judge(&rounds, question.threshold_percent / 100.0);
        let warnings = warnings(&sides, &pairs);
        Ok(Self { question, sides, pairs, findings, warnings })
    }

    /// Each row and what became of it.
    pub fn verdicts(&self) -> impl Iterator<Item = (&Pair, Option<&Finding>, Verdict)> {
        self.judged().map(|(pair, finding)| (pair, finding, self.verdict(finding)))
    }

    /// Whether nothing is slower.
    pub fn is_good(&self) -> bool {
        self.count(|verdict| verdict == Verdict::Slower) == 0
    }

    /// For people: what differs about the files, a table of what changed, or of `all`, and what is in one file alone.
    pub fn text(&self, all: bool) -> String {
        let mut out = String::new();
        for (name, side) in SIDES.iter().zip(&self.sides) {
            out.push_str(&format!("{name}: {}: {}\n", side.path.display(), measured_on(&side.results)));
        }
        self.warnings.iter().for_each(|warning| out.push_str(&format!("WARNING: {warning}\n")));
        out.push_str(&self.table(all));
        for (name, alone) in SIDES.iter().zip(&self.pairs.alone) {
            alone.iter().for_each(|(subject, engine)| out.push_str(&format!("only in {name}: {subject}: {engine}\n")));
        }
        for (subject, engine) in &self.pairs.without_figure {
            out.push_str(&format!("without {} in both files: {subject}: {engine}\n", self.question.figure));
        }
        let own = self.pairs.both.iter().filter(|pair| pair.reference.is_none()).count();
        if own > 0 {
            out.push_str(&format!(
                "compared without another engine beside it, and so with what else happened on the machine: {own} of {} rows\n",
                self.pairs.both.len()
            ));
        }
        out.push_str(&self.summary(all));
        out
    }

    fn table(&self, all: bool) -> String {
        let is_shown = |verdict| all || matches!(verdict, Verdict::Faster | Verdict::Slower);
        let shown = self.verdicts().filter(|(_, _, verdict)| is_shown(*verdict));
        let mut rows = vec![["workload", "engine", "of", "A", "B", "change", "interval", "verdict"].map(str::to_owned)];
        rows.extend(shown.map(|(pair, finding, verdict)| self.cells(pair, finding, verdict)));
        let mut out = String::new();
        if rows.len() > 1 {
            aligned(&rows, TEXT_COLUMNS, &mut out);
        }
        out
    }

    fn cells(&self, pair: &Pair, finding: Option<&Finding>, verdict: Verdict) -> [String; 8] {
        let digits = if pair.reference.is_some() { 3 } else { 1 };
        let figure = |values: &[f64]| format!("{:.digits$}", median(values));
        let percent = |change: f64| format!("{:+.1} %", 100.0 * change);
        [
            pair.subject.to_string(),
            pair.engine.clone(),
            pair.reference.as_ref().map_or_else(|| self.question.figure.to_owned(), |name| format!("× {name}'s")),
            figure(&pair.rounds.old),
            figure(&pair.rounds.new),
            finding.map_or(String::new(), |finding| percent(finding.change)),
            finding.map_or(String::new(), |finding| finding.interval.map(percent).join(" to ")),
            match (verdict, &pair.reference, finding) {
                (Verdict::Drifted, Some(name), Some(finding)) => {
                    let drift = 100.0 * finding.drift;
                    format!(
                        "{verdict}: {name} itself changed by {drift:+.0} %: measure both again, on a quieter machine"
                    )
                }
                _ => verdict.to_string(),
            },
        ]
    }

    fn summary(&self, all: bool) -> String {
        let of = |wanted: Verdict| self.count(|verdict| verdict == wanted);
        let unclear =
            self.count(|verdict| matches!(verdict, Verdict::TooNoisy(_) | Verdict::Drifted | Verdict::TooFewRounds));
        let hint = if unclear > 0 && !all { " (--all shows which, and what would help)" } else { "" };
        let (alone, threshold) = (self.alone(), self.question.threshold_percent);
        format!(
            "compare: {} slower, {} faster, {} unchanged, {unclear} too noisy to decide{hint}; {alone} in one file alone; by {} of {threshold} % \
             or more\n",
            of(Verdict::Slower),
            of(Verdict::Faster),
            of(Verdict::Unchanged),
            self.question.figure,
        )
    }

    /// For programs: an object for each warning, each row, and each that is in one file alone, and one that counts.
    pub fn json(&self) -> String {
        let mut out = String::new();
        self.warnings.iter().for_each(|warning| out.push_str(&format!("{{\"warning\":{}}}\n", quoted(warning))));
        for (pair, finding, verdict) in self.verdicts() {
            let percent =
                |of: fn(&Finding) -> f64| finding.map_or("null".to_owned(), |finding| number(100.0 * of(finding), 2));
            let needed = match verdict {
                Verdict::TooNoisy(Some(rounds)) => rounds.to_string(),
                _ => "null".to_owned(),
            };
            out.push_str(&format!(
                "{{\"compared\":{},{},\"engine\":{},\"figure\":\"{}\",\"reference\":{},\"a\":{},\"b\":{},\"rounds_a\":{},\"rounds_b\":{},\
                 \"change_percent\":{},\"low_percent\":{},\"high_percent\":{},\"reference_percent\":{},\"p\":{},\"verdict\":\"{}\",\"rounds_needed\":{needed}}}\n",
                quoted(&pair.subject.workload),
                fields(&pair.subject),
                quoted(&pair.engine),
                self.question.figure,
                pair.reference.as_deref().map_or("null".to_owned(), quoted),
                number(median(&pair.rounds.old), 4),
                number(median(&pair.rounds.new), 4),
                pair.rounds.old.len(),
                pair.rounds.new.len(),
                percent(|finding| finding.change),
                percent(|finding| finding.interval[0]),
                percent(|finding| finding.interval[1]),
                match pair.reference {
                    Some(_) => percent(|finding| finding.drift),
                    None => "null".to_owned(),
                },
                finding.map_or("null".to_owned(), |finding| number(finding.p, 6)),
                verdict.name(),
            ));
        }
        for (name, alone) in SIDES.iter().zip(&self.pairs.alone) {
            for (subject, engine) in alone {
                let (workload, fields, engine) = (quoted(&subject.workload), fields(subject), quoted(engine));
                out.push_str(&format!(
                    "{{\"only_in\":\"{name}\",\"workload\":{workload},{fields},\"engine\":{engine}}}\n"
                ));
            }
        }
        let of = |name: &str| self.count(|verdict| verdict.name() == name);
        out.push_str(&format!(
            "{{\"slower\":{},\"faster\":{},\"unchanged\":{},\"too_noisy\":{},\"drifted\":{},\"too_few_rounds\":{},\"only_in_one\":{},\
             \"threshold_percent\":{}}}\n",
            of(Verdict::Slower.name()),
            of(Verdict::Faster.name()),
            of(Verdict::Unchanged.name()),
            of(Verdict::TooNoisy(None).name()),
            of(Verdict::Drifted.name()),
            of(Verdict::TooFewRounds.name()),
            self.alone(),
            self.question.threshold_percent,
        ));
        out
    }

    fn judged(&self) -> impl Iterator<Item = (&Pair, Option<&Finding>)> {
        self.pairs.both.iter().zip(self.findings.iter().map(Option::as_ref))
    }

    fn verdict(&self, finding: Option<&Finding>) -> Verdict {
        let more_is_faster = self.question.figure.ends_with("_per_s");
        match finding.map(|finding| finding.outcome) {
            None => Verdict::TooFewRounds,
            Some(Outcome::Unchanged) => Verdict::Unchanged,
            Some(Outcome::TooNoisy(rounds)) => Verdict::TooNoisy(rounds),
            Some(Outcome::Drifted) => Verdict::Drifted,
            Some(outcome) if (outcome == Outcome::More) == more_is_faster => Verdict::Faster,
            Some(_) => Verdict::Slower,
        }
    }

    fn count(&self, of: impl Fn(Verdict) -> bool) -> usize {
        self.verdicts().filter(|(_, _, verdict)| of(*verdict)).count()
    }

    fn alone(&self) -> usize {
        self.pairs.alone.iter().map(Vec::len).sum()
    }
}

/// Columns of the table that are no numbers, before those that are.
const TEXT_COLUMNS: usize = 3;

impl Verdict {
    /// In lines of JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Unchanged => "unchanged",
            Self::TooNoisy(_) => "too_noisy",
            Self::Drifted => "drifted",
            Self::TooFewRounds => "too_few_rounds",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooNoisy(Some(rounds)) => write!(out, "too noisy to decide: --rounds {rounds} would, in both"),
            Self::TooNoisy(None) => {
                write!(out, "too noisy to decide: choose a larger --threshold, or a quieter machine")
            }
            Self::Drifted => write!(out, "too noisy to decide"),
            Self::TooFewRounds => {
                write!(out, "too few rounds to decide: measure --rounds {ROUNDS_MIN} or more, in both")
            }
            other => write!(out, "{}", other.name()),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}, {} ", self.suite, self.workload, self.shape)?;
        match (self.key_bytes, self.value_bytes) {
            (Some(0) | None, 0) => {}
            (Some(key), value) => write!(out, "{key}/{value} ")?,
            (None, value) => write!(out, "values of {value} ")?,
        }
        write!(out, "× {}", self.records)?;
        if let Some(threads) = self.threads.filter(|&threads| threads != 1) {
            write!(out, ", {threads} threads")?;
        }
        match &self.level {
            Some(level) => write!(out, ", {level}"),
            None => Ok(()),
        }
    }
}

/// What was measured, as fields of an object, without the workload.
fn fields(subject: &Subject) -> String {
    let or_null = |value: Option<u64>| value.map_or("null".to_owned(), |value| value.to_string());
    format!(
        "\"suite\":{},\"shape\":{},\"level\":{},\"records\":{},\"key_bytes\":{},\"value_bytes\":{},\"threads\":{}",
        quoted(&subject.suite),
        quoted(&subject.shape),
        subject.level.as_deref().map_or("null".to_owned(), quoted),
        subject.records,
        or_null(subject.key_bytes),
        subject.value_bytes,
        or_null(subject.threads),
    )
}

/// Versions and machines of a file's runs, each once.
fn measured_on(results: &Results) -> String {
    let runs = results.runs.iter().map(|run| format!("fulgurite {} on {}", run.fulgurite, run.machine));
    distinct(runs).join("; ")
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut distinct, one| {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
        distinct
    })
}

/// What differs about two files beside what is compared.
fn warnings(sides: &[Side; 2], pairs: &Pairs) -> Vec<String> {
    let mut warnings = Vec::new();
    let [old, new] = sides.each_ref().map(|side| &side.results);
    let [machines_old, machines_new] =
        [old, new].map(|results| distinct(results.runs.iter().map(|run| run.machine.as_str())));
    if machines_old != machines_new {
        let told = |machines: &[&str]| if machines.is_empty() { "not told".to_owned() } else { machines.join("; ") };
        let (old, new) = (told(&machines_old), told(&machines_new));
        warnings.push(format!(
            "these are not the same machine and settings of it: A {old}; B {new}. A change may be theirs"
        ));
    }
    let engines = |results: &Results| -> Vec<Engine> {
        distinct(results.runs.iter().flat_map(|run| run.engines.iter().cloned()))
    };
    let (engines_old, engines_new) = (engines(old), engines(new));
    for engine in distinct(engines_old.iter().map(|engine| &engine.name)) {
        let of = |engines: &[Engine]| -> Vec<Engine> {
            engines.iter().filter(|known| known.name == *engine).cloned().collect()
        };
        let (before, after) = (of(&engines_old), of(&engines_new));
        if after.is_empty() || before == after {
            continue;
        }
        let [before, after] = [before, after].map(|engines| told(&engines));
        warnings.push(match is_measured(engine) {
            // A new version is what is to be compared; other settings are not.
            true if before.1 == after.1 => continue,
            true => format!("{engine} had other settings: A {}; B {}. A change may be theirs", before.1, after.1),
            false => format!(
                "{engine} is not the same, and therefore no reference: A {} ({}); B {} ({})",
                before.0, before.1, after.0, after.1
            ),
        });
    }
    if pairs.both.iter().any(|pair| pair.rounds.old.len() != pair.rounds.new.len()) {
        warnings.push("not all rows have as many rounds in A as in B".to_owned());
    }
    warnings
}

/// Versions and settings of an engine.
fn told(engines: &[Engine]) -> (String, String) {
    let versions = distinct(engines.iter().map(|engine| engine.version.as_str()));
    let settings = distinct(engines.iter().map(|engine| engine.settings.as_str()));
    (versions.join("; "), settings.join("; "))
}

/// Why no row can be compared, and what to do.
fn nothing_in_common(sides: &[Side; 2], pairs: &Pairs, question: &Question) -> String {
    if !pairs.without_figure.is_empty() {
        return format!(
            "no row has {} here and in {}; choose another --figure",
            question.figure,
            sides[0].path.display()
        );
    }
    let [old, new] = sides.each_ref().map(|side| {
        let told = |parts: Vec<&str>| if parts.is_empty() { "none".to_owned() } else { parts.join(", ") };
        let suites = told(distinct(side.results.rows.iter().map(|row| &row.subject.suite[..])));
        let engines = told(distinct(side.results.rows.iter().map(|row| &row.engine[..])));
        format!("suites {suites} and engines {engines}")
    });
    let wanted = if question.engines.is_empty() { "fulgurite".to_owned() } else { question.engines.join(", ") };
    format!(
        "no row of {wanted} is here and in {} too, which has {old}, this one {new}; measure the same workloads and sizes, or choose \
         --engines",
        sides[0].path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::results::tests::{Times, results};

    fn times(factor: f64) -> Vec<f64> {
        [100.0, 101.0, 99.0, 100.0, 100.5].map(|time| time * factor).to_vec()
    }

    fn row(workload: &'static str, factor: f64) -> Times {
        (workload, times(factor), vec![300.0; 5])
    }

    fn side(name: &str, rows: &[Times]) -> Side {
        Side { path: name.into(), results: results(rows) }
    }

    fn compared(old: &[Times], new: &[Times]) -> Comparison {
        Comparison::new(Question::default(), [side("a.json", old), side("b.json", new)]).unwrap()
    }

    fn before() -> Vec<Times> {
        vec![row("get_hit", 1.0), row("get_miss", 1.0), row("scan", 1.0), row("open", 1.0)]
    }

    #[test]
    fn changes_are_shown_and_what_did_not_change_is_counted() {
        let noisy = ("open", vec![100.0, 300.0, 50.0, 170.0, 90.0], vec![300.0; 5]);
        let comparison = compared(&before(), &[row("get_hit", 1.2), row("get_miss", 0.8), row("scan", 1.001), noisy]);
        let text = comparison.text(false);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("A: a.json: fulgurite ") && lines[0].ends_with(" on a machine"), "{text}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        assert!(
            words(lines[3]).starts_with("core get_hit, hashed 32/100 × 1000 fulgurite × lmdb's 0.333 0.400 +20.0 %"),
            "{text}"
        );
        assert!(
            lines[3].ends_with(" slower") && lines[4].ends_with(" faster") && lines[4].contains("-20.0 %"),
            "{text}"
        );
        assert_eq!(
            lines[5],
            "compare: 1 slower, 1 faster, 1 unchanged, 1 too noisy to decide (--all shows which, and what would help); 0 in one file \
             alone; by cpu_ns_per_op of 5 % or more"
        );
        assert!(lines.len() == 6 && !comparison.is_good());
        let all = comparison.text(true);
        assert!(
            all.contains(" unchanged\n") && all.contains("too noisy to decide: ") && !all.contains("--all"),
            "{all}"
        );
    }

    #[test]
    fn nothing_slower_is_good_whatever_is_faster() {
        assert!(compared(&before(), &before()).is_good());
        let faster = compared(&before(), &[row("get_hit", 0.5)]);
        assert!(faster.is_good() && faster.text(false).contains("compare: 0 slower, 1 faster, 0 unchanged"));
    }

    #[test]
    fn more_of_a_rate_is_faster() {
        let question = || Question { figure: "ops_per_s", ..Question::default() };
        let rates = |factor: f64| {
            let mut results = results(&[row("get_hit", 1.0)]);
            let figures = results.rows[0].figures.iter_mut().find(|(name, _)| name == "ops_per_s").unwrap();
            figures.1.iter_mut().for_each(|rate| *rate = rate.map(|rate| rate * factor));
            Side { path: "file".into(), results }
        };
        let verdict = |factor: f64| {
            let comparison = Comparison::new(question(), [rates(1.0), rates(factor)]).unwrap();
            comparison.verdicts().next().unwrap().2
        };
        assert_eq!([1.2, 0.8, 1.0].map(verdict), [Verdict::Faster, Verdict::Slower, Verdict::Unchanged]);
    }

    #[test]
    fn rows_of_one_file_and_rows_without_another_engine_are_told() {
        let alone = ("scan", times(1.0), Vec::new());
        let text = compared(
            &[row("get_hit", 1.0), alone.clone(), row("open", 1.0)],
            &[alone, row("get_hit", 1.0), row("put1", 1.0)],
        )
        .text(false);
        assert!(text.contains("only in A: core open, hashed 32/100 × 1000: fulgurite\n"), "{text}");
        assert!(text.contains("only in B: core put1, hashed 32/100 × 1000: fulgurite\n"), "{text}");
        assert!(text.contains("on the machine: 1 of 2 rows\n") && text.contains("; 2 in one file alone;"), "{text}");
    }

    #[test]
    fn few_rounds_and_a_machine_that_changed_are_told_with_what_would_help() {
        let one = |factor: f64| [("get_hit", vec![factor], vec![3.0])];
        let text = compared(&one(1.0), &one(2.0)).text(true);
        assert!(text.contains("too few rounds to decide: measure --rounds 2 or more, in both"), "{text}");
        let drifted = [("get_hit", times(1.6 * 1.12), vec![300.0 * 1.6; 5])];
        let comparison = compared(&[row("get_hit", 1.0)], &drifted);
        let text = comparison.text(true);
        assert!(text.contains("lmdb itself changed by +60 %") && text.contains("measure both again"), "{text}");
        assert!(comparison.is_good());
    }

    #[test]
    fn other_machines_versions_and_settings_are_said_loudly() {
        let old = side("a.json", &before());
        let mut new = side("b.json", &before());
        assert!(
            !Comparison::new(Question::default(), [side("a", &before()), side("b", &before())])
                .unwrap()
                .text(true)
                .contains("WARNING")
        );
        new.results.runs[0].machine = "another".to_owned();
        new.results.runs[0].fulgurite = "9.9".to_owned();
        new.results.runs[0].engines[0].settings = "unusual".to_owned();
        new.results.runs[0].engines[1].version = "2".to_owned();
        let comparison = Comparison::new(Question::default(), [old, new]).unwrap();
        let text = comparison.text(false);
        assert!(
            text.contains("WARNING: these are not the same machine and settings of it: A a machine; B another."),
            "{text}"
        );
        assert!(text.contains("WARNING: fulgurite had other settings: A usual; B unusual."), "{text}");
        assert!(
            text.contains("WARNING: lmdb is not the same, and therefore no reference: A 1 (usual); B 2 (usual)"),
            "{text}"
        );
        assert!(text.contains("B: b.json: fulgurite 9.9 on another\n"), "{text}");
        assert_eq!(comparison.json().matches("{\"warning\":").count(), 3);
    }

    #[test]
    fn lines_of_json_have_every_row_and_the_counts() {
        let comparison =
            compared(&before(), &[row("get_hit", 1.2), row("get_miss", 1.0), ("scan", vec![1.0], vec![3.0])]);
        let json = comparison.json();
        let lines: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let slower = lines.iter().find(|line| line["compared"] == "get_hit").unwrap();
        assert_eq!(
            (&slower["verdict"], &slower["reference"], &slower["rounds_a"]),
            (&"slower".into(), &"lmdb".into(), &5.into())
        );
        assert_eq!(
            (&slower["change_percent"], &slower["records"], &slower["level"]),
            (&20.0.into(), &1000.into(), &().into())
        );
        assert!(lines.iter().any(|line| line["only_in"] == "A" && line["workload"] == "open"), "{json}");
        let few = lines.iter().find(|line| line["compared"] == "scan").unwrap();
        assert_eq!((&few["verdict"], &few["change_percent"]), (&"too_few_rounds".into(), &().into()));
        let counts = lines.last().unwrap();
        assert_eq!(
            ["slower", "faster", "unchanged", "too_noisy", "too_few_rounds", "only_in_one"]
                .map(|name| counts[name].as_u64().unwrap()),
            [1, 0, 1, 0, 1, 1]
        );
    }

    #[test]
    fn files_with_nothing_in_common_are_refused_with_what_they_have() {
        let refused = |question: Question, new: &[Times]| {
            Comparison::new(question, [side("a.json", &[row("get_hit", 1.0)]), side("b.json", new)])
                .unwrap_err()
                .to_string()
        };
        let told = refused(Question::default(), &[row("scan", 1.0)]);
        assert!(
            told.starts_with(
                "b.json: no row of fulgurite is here and in a.json too, which has suites core and engines"
            ),
            "{told}"
        );
        assert!(told.contains("measure the same workloads and sizes"), "{told}");
        let rocks = Question { engines: vec!["rocksdb".to_owned()], ..Question::default() };
        assert!(refused(rocks, &[row("get_hit", 1.0)]).contains("no row of rocksdb"));
        let unknown = Question { figure: "none", ..Question::default() };
        assert!(refused(unknown, &[row("get_hit", 1.0)]).contains("choose another --figure"));
    }
}
