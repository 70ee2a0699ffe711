//! `rdf load`: loads RDF files into a store, all of them or nothing.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use fulgurite_rdf::{LoadInput, LoadOptions, LoadProgress, LoadReport, RdfFormat};

use super::store::changing;
use crate::arguments::rdf::{GraphFormat, Load};
use crate::failure::{Failure, GIVE_A_BASE};
use crate::output::counted;
use crate::progress::{Progress, rate, time};

/// Loads, and prints a summary.
pub fn run(arguments: &Load) -> Result<(), Failure> {
    // A mistyped name is found before anything is created.
    let inputs = arguments.inputs.iter().map(|path| input(path, arguments)).collect::<Result<Vec<_>, _>>()?;
    let progress = Arc::new(Mutex::new(Progress::new("loading")));
    let shown = Arc::clone(&progress);
    let options = LoadOptions::new()
        .lenient(arguments.lenient)
        .memory_bytes((arguments.memory as usize) << 20)
        .progress(move |now| {
            // If another thread holds it, that thread prints the progress.
            if let Ok(mut progress) = shown.try_lock() {
                progress.show(|| line(now));
            }
        });
    let loaded = changing(&arguments.store.path, Some(arguments.create), arguments.writing, |store| {
        store.load(inputs, &options).map_err(|error| nothing_loaded(error, arguments.format))
    });
    drop((options, progress));
    let loaded = loaded?;
    let mut out = std::io::stderr().lock();
    for bad in &loaded.skipped_first {
        let place = if bad.line == 0 { String::new() } else { format!(":{}:{}", bad.line, bad.column) };
        let remedy = if bad.needs_base { GIVE_A_BASE } else { "" };
        let _ = writeln!(out, "skipped {}{place}: {}{remedy}", bad.input, bad.message);
    }
    if loaded.without_base > 0 {
        let dropped = counted(loaded.without_base, "statement", "statements");
        let _ = writeln!(out, "{dropped} of JSON-LD dropped for relative IRIs without a base{GIVE_A_BASE}");
    }
    let _ = writeln!(out, "{}", report(&loaded));
    let is_empty = loaded.read == 0 && loaded.skipped == 0 && loaded.without_base == 0;
    if is_empty && arguments.inputs.iter().any(|path| is_json_ld(path, arguments.format)) {
        let _ = writeln!(
            out,
            "members of JSON-LD are statements if their names are IRIs, or an `@context` maps them to IRIs"
        );
    }
    Ok(())
}

/// The failure of a load in a given format. Its exit code is that of `error`.
fn nothing_loaded(error: fulgurite_rdf::Error, given: Option<GraphFormat>) -> Failure {
    let advice = advice(&error, given).unwrap_or_default();
    match Failure::from(error) {
        failure @ Failure::Rdf(_) => {
            let message = format!("nothing was loaded: {failure}{advice}");
            failure.reworded(message)
        }
        failure => failure,
    }
}

/// What to check if the first line of a file is wrong, and the file has the name of another format.
fn advice(error: &fulgurite_rdf::Error, given: Option<GraphFormat>) -> Option<String> {
    let fulgurite_rdf::Error::Syntax { input, line: 1, .. } = error else { return None };
    let (given, named) = (RdfFormat::from(given?), format_of(Path::new(input))?);
    let is_other = std::mem::discriminant(&given) != std::mem::discriminant(&named);
    is_other.then(|| format!("; by its name the file is {}: check --format", named.name()))
}

fn input(path: &Path, arguments: &Load) -> Result<LoadInput, Failure> {
    let mut input = match (path == Path::new("-"), arguments.format) {
        (true, Some(format)) => LoadInput::reader("standard input", std::io::stdin(), format.into()),
        (true, None) => {
            return Err(Failure::Message("the RDF format of standard input is unknown; give --format".into()));
        }
        (false, format) => {
            let failed = |error| Failure::file(path, "cannot be read", &error);
            let metadata = std::fs::metadata(path).map_err(failed)?;
            if metadata.is_dir() {
                return Err(failed(std::io::ErrorKind::IsADirectory.into()));
            }
            if metadata.is_file() {
                // A pipe cannot be opened twice.
                std::fs::File::open(path).map_err(failed)?;
            }
            let format = format
                .map(RdfFormat::from)
                .or_else(|| format_of(path))
                .ok_or_else(|| Failure::Message(format!("{}: unknown RDF extension; give --format", path.display())))?;
            LoadInput::file(path).format(format)
        }
    };
    if let Some(graph) = &arguments.graph {
        input = input.graph(graph.clone());
    }
    if let Some(base) = &arguments.base {
        input = input.base(base.as_str());
    }
    Ok(input)
}

/// The format by the extension of a file, without the extension of a compression.
pub fn format_of(path: &Path) -> Option<RdfFormat> {
    let ending = |path: &Path| path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    let plain = match ending(path)?.as_str() {
        "gz" | "bz2" | "xz" | "zst" | "zstd" => ending(Path::new(path.file_stem()?))?,
        plain => plain.to_owned(),
    };
    match plain.as_str() {
        "owl" => Some(RdfFormat::RdfXml),
        plain => RdfFormat::from_extension(plain),
    }
}

fn is_json_ld(path: &Path, given: Option<GraphFormat>) -> bool {
    matches!(given.map(RdfFormat::from).or_else(|| format_of(path)), Some(RdfFormat::JsonLd { .. }))
}

/// How far a load is, in a line.
fn line(now: &LoadProgress) -> String {
    let statements = counted(now.quads, "statement", "statements");
    let part = match now.bytes_total {
        0 => String::new(),
        total => format!(", {:.0}% read", 100.0 * now.bytes_read as f64 / total as f64),
    };
    format!("loading: {}: {statements}, {}{part}", now.stage, rate(now.quads, now.elapsed))
}

/// What a load did, in words.
fn report(loaded: &LoadReport) -> String {
    let skipped = match loaded.skipped {
        0 => String::new(),
        skipped => format!("; {} skipped", counted(skipped, "bad statement", "bad statements")),
    };
    format!(
        "{} loaded in {}, {} ({} new, {} new{skipped})",
        counted(loaded.read, "statement", "statements"),
        time(loaded.elapsed),
        rate(loaded.read, loaded.elapsed),
        counted(loaded.inserted, "quad", "quads"),
        counted(loaded.new_terms, "term", "terms"),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_files_ending_tells_its_form_even_before_that_of_a_packer() {
        for (name, format) in [
            ("a.nt", Some(RdfFormat::NTriples)),
            ("a.b.nq.gz", Some(RdfFormat::NQuads)),
            ("A.TTL.zst", Some(RdfFormat::Turtle)),
            ("a.ttl.xz", Some(RdfFormat::Turtle)),
            ("a.owl", Some(RdfFormat::RdfXml)),
            ("a.csv", None),
            ("a.gz", None),
            ("a", None),
        ] {
            assert_eq!(format_of(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn a_load_that_finds_damage_has_the_exit_code_of_damage() {
        let (place, offence) = ("table `terms`".to_owned(), "it is missing".to_owned());
        let damage = fulgurite_rdf::Error::Damaged { path: "a.ful".into(), place, offence };
        let failures = [damage, fulgurite_rdf::Error::Cancelled].map(|error| nothing_loaded(error, None));
        assert_eq!(failures.each_ref().map(Failure::exit_code), [3, 1]);
        assert!(failures.iter().all(|failure| failure.to_string().starts_with("nothing was loaded: ")));
    }

    #[test]
    fn a_first_line_that_is_wrong_in_a_file_with_the_name_of_another_format_is_advised_about() {
        let advised = |line: u64, given: Option<GraphFormat>| {
            let (input, message) = ("d.ttl".to_owned(), "m".to_owned());
            let error = fulgurite_rdf::Error::Syntax { input, line, column: 1, message, needs_base: false };
            nothing_loaded(error, given).to_string()
        };
        let plain = "nothing was loaded: d.ttl:1:1: m";
        assert_eq!(
            advised(1, Some(GraphFormat::Rdf)),
            format!("{plain}; by its name the file is Turtle: check --format")
        );
        assert_eq!([advised(1, Some(GraphFormat::Ttl)), advised(1, None)], [plain; 2]);
        assert!(!advised(2, Some(GraphFormat::Rdf)).contains("--format"));
    }

    #[test]
    fn the_report_tells_what_was_new_and_what_was_skipped() {
        let loaded = LoadReport {
            read: 3,
            inserted: 2,
            new_terms: 1,
            skipped: 2,
            elapsed: Duration::from_secs(1),
            ..LoadReport::default()
        };
        let told = "3 statements loaded in 1.0 s, 3/s (2 quads new, 1 term new; 2 bad statements skipped)";
        assert_eq!(report(&loaded), told);
    }

    #[test]
    fn progress_tells_the_stage_and_the_part_that_was_read() {
        let now = LoadProgress {
            stage: "parsing",
            bytes_read: 50,
            bytes_total: 200,
            quads: 2000,
            elapsed: Duration::from_secs(1),
        };
        assert_eq!(line(&now), "loading: parsing: 2,000 statements, 2,000/s, 25% read");
    }
}
