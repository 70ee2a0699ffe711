//! An index of code: written, listed file by file, and updated after one file has changed.

use std::collections::BTreeMap;
use std::path::Path;

use fulgurite_code::{
    CodeReader, Columns, Document, Occurrence, Part, Role, Source, Span, SymbolInfo, Visit, open_index, update_index,
};

use super::report::Row;
use crate::data::random::Random;
use crate::measure::clock::{Charge, Stopwatch};
use crate::measure::written::Written;

/// What [`measure`] returns, in its order.
pub fn rows() -> Vec<Row> {
    vec![
        Row::new("index, µs a fact"),
        // Glean lists the same number of files of another program, through its server.
        Row::new("list all files with definitions, ms").glean(31_000.0),
        Row::new("uses in the listing, µs each"),
        Row::new("index again, one file changed, ms"),
        Row::new("bytes written then, % of the first index's").at_most(2.0),
        Row::new("with popular symbols, bytes a fact"),
        Row::new("bytes written again then, %"),
    ]
}

/// Why there are no figures.
type Failed = Box<dyn std::error::Error + Send + Sync>;

/// A program of files with fifty lines, each with a definition and uses of others.
struct Program {
    files: u64,
    seed: u64,
    /// A file whose lines have moved.
    changed: Option<u64>,
    /// Symbols of a library. Four files of five use each of them.
    popular: u32,
}

/// Lines of a file: one definition, and uses on the others.
const LINES: u32 = 50;

impl Program {
    fn file(&self, number: u64) -> Document {
        let mut random = Random::new(self.seed, number);
        let name = |file: u64, line: u32| format!("rust-analyzer cargo demo 1.0 module_{file}/function_{line}().");
        let moved = u32::from(self.changed == Some(number));
        let (mut occurrences, mut symbols) = (Vec::new(), Vec::new());
        let place = |line: u32, column: u32| {
            let line = line + moved;
            Span { line, column, end_line: line, end_column: column + 12 }
        };
        for line in 0..LINES {
            let defines = line % 5 == 0;
            let symbol = if defines {
                name(number, line)
            } else {
                name(random.below(self.files as usize) as u64, 5 * random.below(LINES as usize / 5) as u32)
            };
            if defines {
                symbols.push(SymbolInfo {
                    symbol: symbol.clone(),
                    name: format!("function_{line}"),
                    kind: "function".to_owned(),
                    signature: format!("fn function_{line}(text: &str) -> usize"),
                    ..SymbolInfo::default()
                });
            }
            let role = if defines { Role::Definition } else { Role::Reference };
            occurrences.push(Occurrence { span: place(line, 7), symbol, role, extent: None });
        }
        for number in (0..self.popular).filter(|_| random.below(5) > 0) {
            let symbol = format!("rust-analyzer cargo core 1.0 option/popular_{number}().");
            occurrences.push(Occurrence {
                span: place(LINES + number, 7),
                symbol,
                role: Role::Reference,
                extent: None,
            });
        }
        Document {
            path: format!("src/module_{number}.rs"),
            language: "rust".to_owned(),
            columns: Columns::Utf8,
            wide_lines: BTreeMap::new(),
            occurrences,
            symbols,
        }
    }
}

impl Source for Program {
    fn each(&self, visit: &mut Visit<'_>) -> fulgurite_code::Result<()> {
        (0..self.files).try_for_each(|number| visit(Part::Document(self.file(number))))
    }
}

/// The figures.
///
/// # Errors
/// Those of the index; if it does not have what was written.
pub fn measure(files: u64, seed: u64, directory: &Path) -> Result<Vec<f64>, Failed> {
    let path = directory.join("code.ful");
    let before = Written::so_far();
    let watch = Stopwatch::start(Charge::Process);
    let program = |changed| Program { files, seed, changed, popular: 0 };
    let first = update_index(&path, &program(None), false, &mut |_| {})?;
    let index_us = watch.pause(first.facts).cpu_ns_per_operation() / 1e3;
    let first_bytes = since(before);
    let (uses, list_ms) = list(&path, files)?;
    let before = Written::so_far();
    let watch = Stopwatch::start(Charge::Process);
    let again = update_index(&path, &program(Some(files / 2)), false, &mut |_| {})?;
    let again_ms = watch.pause(1).cpu_ns / 1e6;
    let again_bytes = since(before);
    if (first.added, again.changed, again.added) != (files, 1, 0) {
        return Err(format!("the index was updated otherwise than its source: {first:?}, then {again:?}").into());
    }
    // The changed file has as many uses as before.
    if list(&path, files)?.0 != uses {
        return Err("the updated index has other uses than before".into());
    }
    let (popular_bytes, popular_again) = index_popular(files, seed, directory)?;
    Ok(vec![
        index_us,
        list_ms,
        1e3 * list_ms / uses as f64,
        again_ms,
        100.0 * again_bytes / first_bytes,
        popular_bytes,
        popular_again,
    ])
}

/// Indexes a program with symbols that most files use, and once more after one file has changed. Returns the bytes of
/// the first index a fact, and what the second one writes, in percent of the first.
fn index_popular(files: u64, seed: u64, directory: &Path) -> Result<(f64, f64), Failed> {
    let path = directory.join("popular.ful");
    let program = |changed| Program { files, seed, changed, popular: 20 };
    let before = Written::so_far();
    let first = update_index(&path, &program(None), false, &mut |_| {})?;
    let first_bytes = since(before);
    let file_bytes = std::fs::metadata(&path)?.len() as f64;
    let before = Written::so_far();
    update_index(&path, &program(Some(files / 2)), false, &mut |_| {})?;
    Ok((file_bytes / first.facts as f64, 100.0 * since(before) / first_bytes))
}

/// Reads each file's uses, and where what is used is defined. Returns the number of uses, and milliseconds.
fn list(path: &Path, files: u64) -> Result<(u64, f64), Failed> {
    let reader = CodeReader::new(&open_index(path)?)?;
    let watch = Stopwatch::start(Charge::Thread);
    let paths = reader.files()?;
    let mut uses = 0;
    for path in &paths {
        for used in reader.uses(&reader.file(path)?)? {
            let definitions = reader.definitions(used.symbol)?;
            if definitions.is_empty() {
                return Err(format!("{path}: a function that is used is not defined").into());
            }
            uses += 1;
        }
    }
    let took_ms = watch.pause(1).cpu_ns / 1e6;
    if paths.len() as u64 != files || uses != files * u64::from(LINES) {
        return Err(format!("{} files with {uses} uses are listed, of {files}", paths.len()).into());
    }
    Ok((uses, took_ms))
}

/// Bytes that became dirty since, or that calls wrote where the system counts no pages.
fn since(before: Option<Written>) -> f64 {
    let written = before.and_then(|before| Some(Written::so_far()?.since(before)));
    written.map_or(f64::NAN, |written| written.by_calls.max(written.for_device) as f64)
}
