//! Five questions about the code: two by the verbs of the command line, three in Angle.

use std::collections::BTreeMap;
use std::time::Instant;

use fulgurite_code::{CodeReader, Place, SymbolId};
use fulgurite_facts::{Expansion, FactDatabase, QueryLimits};

use crate::error::Result;
use crate::report::Report;

/// Asks them.
pub fn ask(report: &Report, index: &FactDatabase) -> Result<()> {
    let code = CodeReader::new(index)?;
    definition(report, &code)?;
    references(report, &code)?;
    for question in QUESTIONS {
        count(report, index, question)?;
    }
    Ok(())
}

/// Where a symbol is defined, and what is written about it.
fn definition(report: &Report, code: &CodeReader) -> Result<()> {
    let begun = Instant::now();
    let symbol = symbol(code, "key/Key")?;
    let (places, described) = (code.definitions(symbol)?, code.describe(symbol)?);
    report.done("definition", "where is the trait Key, and what is it?", begun.elapsed())?;
    for place in places {
        let first = described.documentation.iter().flat_map(|text| text.lines()).next().unwrap_or_default();
        report.line(format!("{} {}: {first}", described.kind, position(&place)))?;
    }
    Ok(())
}

/// The files that use a symbol, with the number of uses.
fn references(report: &Report, code: &CodeReader) -> Result<()> {
    let begun = Instant::now();
    let mut files = BTreeMap::<String, u64>::new();
    for place in code.references(symbol(code, "key/Key")?)? {
        *files.entry(place.path).or_default() += 1;
    }
    let files = most(files);
    report.done("references", "which files use it most?", begun.elapsed())?;
    shown(report, &files)
}

/// A question in English and in Angle. Equal results are counted, and the most frequent ones are shown.
struct Question {
    label: &'static str,
    asked: &'static str,
    angle: &'static str,
}

/// The questions in Angle. Results have a name, and what makes them different.
const QUESTIONS: &[Question] = &[
    Question {
        label: "unused",
        asked: "which methods does nothing in the crate refer to?",
        angle: r#"{ N, S } where code.SymbolInfo { symbol = S } -> { name = N, kind = "method" };
            code.Definition { symbol = S }; !(code.Reference { symbol = S })"#,
    },
    Question {
        label: "traits",
        asked: "which traits have most members?",
        angle: r#"{ N, C } where code.SymbolInfo { symbol = P } -> { name = N, kind = "trait" };
            code.Member { parent = P, child = C }; code.Definition { symbol = C }"#,
    },
    Question {
        label: "couplings",
        asked: "which files use most symbols of other files?",
        angle: r#"{ N, S } where code.Reference { symbol = S, file = F }; F = code.File N;
            code.Definition { symbol = S, file = D }; F != D"#,
    },
];

fn count(report: &Report, index: &FactDatabase, question: &Question) -> Result<()> {
    let begun = Instant::now();
    let reader = index.reader()?;
    let page = reader.query(question.angle, &QueryLimits::default())?;
    let mut names = BTreeMap::<String, u64>::new();
    for result in reader.print(&page, Expansion { depth: 0, ..Expansion::FLAT })? {
        let name = result.get("tuplefield0").and_then(|name| name.as_str()).unwrap_or("?");
        *names.entry(name.to_owned()).or_default() += 1;
    }
    report.done(question.label, question.asked, begun.elapsed())?;
    shown(report, &most(names))
}

/// The only symbol of a name.
fn symbol(code: &CodeReader, name: &str) -> Result<SymbolId> {
    let found = code.resolve(name)?;
    found.first().copied().ok_or_else(|| format!("the index has no symbol {name}").into())
}

/// Names with their counts, the largest first.
fn most(counts: BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = counts.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all
}

fn shown(report: &Report, counts: &[(String, u64)]) -> Result<()> {
    if counts.is_empty() {
        return report.line("none");
    }
    let first = counts.iter().take(SHOWN).map(|(name, count)| format!("{name} {count}"));
    let rest = counts.len().saturating_sub(SHOWN);
    let more = if rest > 0 { format!(", and {rest} more") } else { String::new() };
    report.line(format!("{}{more}", first.collect::<Vec<_>>().join(", ")))
}

/// Lines begin at 1 for people.
fn position(place: &Place) -> String {
    format!("{}:{}:{}", place.path, place.span.line + 1, place.span.column + 1)
}

const SHOWN: usize = 4;
