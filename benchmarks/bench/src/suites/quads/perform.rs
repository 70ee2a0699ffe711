//! Takes the figures of one measurement with one engine, in its own process.
//!
//! Before the clock starts, everything is asked once, and every byte of the answers is hashed. Then it is asked again
//! until a measurement's time has passed, so that no page is touched for the first time and no code is compiled while
//! the clock runs. The timed passes look at the answers too, which must not differ.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fulgurite_rdf::RdfFormat;
use fulgurite_rdf::oxrdf::{NamedOrBlankNode, Term};
use fulgurite_rdf::oxrdfio::RdfParser;
use fulgurite_rivals::Failure;

use crate::error::{Error, Result};
use crate::measure::clock::{Charge, Sample, Stopwatch};
use crate::measure::machine::MemoryWatch;
use crate::measure::statistics::percentile;
use crate::suites::quads::answer::{Line, Sum, answer_of_rows, row_hash, statement_hash, statement_look, text_of};
use crate::suites::quads::engines::engine::{Pattern, QuadEngine};
use crate::suites::quads::measure::{BATCH_STATEMENTS, Measure};
use crate::suites::quads::task::Task;

/// Openings of [`Measure::Open`]; the median counts.
const OPENINGS: usize = 20;

/// Does a task.
///
/// # Errors
/// What the engine answers; [`Error::Wrong`] if it does not answer twice alike.
pub fn perform<E: QuadEngine>(task: &Task) -> Result<Vec<Line>> {
    match task.measure {
        Measure::BulkLoad | Measure::TransactionalLoad => load::<E>(task),
        Measure::Open => open::<E>(task),
        measure => {
            let store = E::open(&task.store)?;
            let lines = match measure {
                Measure::Verify => verify(&store),
                Measure::ScanIds => scan_ids(&store, task),
                Measure::ScanTerms => ask(&store, task, &[Pattern::default()]),
                Measure::BySubject => ask(&store, task, &subjects(task)?),
                Measure::ByPredicateObject => ask(&store, task, &objects(task)?),
                Measure::Threads(_) => side_by_side(&store, task, &subjects(task)?),
                _ => sparql(&store, task),
            }?;
            store.close()?;
            Ok(lines)
        }
    }
}

fn load<E: QuadEngine>(task: &Task) -> Result<Vec<Line>> {
    let scratch = task.store.with_extension("warm");
    fs::create_dir_all(&scratch).map_err(|error| Error::io("create", &scratch, error))?;
    fill::<E>(task.measure, &task.files().warm(), &scratch)?;
    fs::remove_dir_all(&scratch).map_err(|error| Error::io("remove", &scratch, error))?;
    let memory = MemoryWatch::start();
    let watch = Stopwatch::start(Charge::Process);
    fill::<E>(task.measure, &task.files().data(), &task.store)?;
    let sample = without_latencies(watch.pause(task.statements));
    let name = task.measure.name();
    let lines =
        vec![Line::Sample(name.to_owned(), sample), Line::Amount(format!("{name}_memory"), memory.finish() as f64)];
    let store = E::open(&task.store)?;
    store.settle()?;
    store.close()?;
    Ok(lines)
}

fn fill<E: QuadEngine>(measure: Measure, file: &Path, directory: &Path) -> Result<(), Failure> {
    let store = E::create(directory)?;
    match measure {
        Measure::BulkLoad => store.bulk_load(file)?,
        _ => store.load_in_transactions(file, BATCH_STATEMENTS)?,
    }
    store.close()
}

fn open<E: QuadEngine>(task: &Task) -> Result<Vec<Line>> {
    let questions = subjects(task)?;
    let (mut sum, mut line) = (Sum::default(), String::new());
    let mut openings_ns = Vec::with_capacity(OPENINGS);
    let watch = Stopwatch::start(Charge::Process);
    for question in questions.iter().cycle().take(OPENINGS) {
        let started = Instant::now();
        let store = E::open(&task.store)?;
        store.find(question, |statement| sum.add(statement_hash(&mut line, statement)))?;
        openings_ns.push(started.elapsed().as_nanos() as f64);
        store.close()?;
    }
    let sample = with_latencies(watch.pause(OPENINGS as u64), &openings_ns);
    let median = Line::Amount("open".to_owned(), sample.p50_ns);
    Ok(vec![Line::Sample("open".to_owned(), sample), median, Line::Answer("open".to_owned(), sum)])
}

fn verify<E: QuadEngine>(store: &E) -> Result<Vec<Line>> {
    Ok(vec![Line::Answer(Measure::Verify.name().to_owned(), whole(store, &[Pattern::default()])?)])
}

fn scan_ids<E: QuadEngine>(store: &E, task: &Task) -> Result<Vec<Line>> {
    let name = task.measure.name();
    let pass = || match store.scan_ids() {
        Some(outcome) => Ok(outcome?),
        None => Err(Error::Usage(format!("{} cannot scan numbers of terms", E::NAME))),
    };
    let expected = pass()?;
    let (operations, sample) = timed(task.least(), || {
        let found = pass()?;
        (found == expected).then_some(found.0).ok_or_else(|| changed(name))
    })?;
    let answer = Sum { rows: expected.0, hash: 0 };
    let sample = without_latencies(Sample { operations, ..sample });
    Ok(vec![Line::Sample(name.to_owned(), sample), Line::Answer(name.to_owned(), answer)])
}

/// Asks all questions, one after the other.
fn ask<E: QuadEngine>(store: &E, task: &Task, questions: &[Pattern]) -> Result<Vec<Line>> {
    let name = task.measure.name();
    let answer = whole(store, questions)?;
    let expected = look(store, questions, &mut Vec::new())?;
    let mut latencies_ns = Vec::new();
    let (operations, sample) = timed_with(task.least(), &mut latencies_ns, |latencies_ns| {
        let found = look(store, questions, latencies_ns)?;
        (found == expected).then_some(found.rows).ok_or_else(|| changed(name))
    })?;
    let sample = with_latencies(Sample { operations, ..sample }, &latencies_ns);
    Ok(vec![Line::Sample(name.to_owned(), sample), Line::Answer(name.to_owned(), answer)])
}

/// Every byte of all answers.
fn whole<E: QuadEngine>(store: &E, questions: &[Pattern]) -> Result<Sum> {
    let (mut sum, mut line) = (Sum::default(), String::new());
    for question in questions {
        store.find(question, |statement| sum.add(statement_hash(&mut line, statement)))?;
    }
    Ok(sum)
}

/// A look at each term of all answers, with the wall time of each question.
fn look<E: QuadEngine>(store: &E, questions: &[Pattern], latencies_ns: &mut Vec<f64>) -> Result<Sum, Failure> {
    let mut sum = Sum::default();
    for question in questions {
        let started = Instant::now();
        store.find(question, |statement| sum.add(statement_look(statement)))?;
        latencies_ns.push(started.elapsed().as_nanos() as f64);
    }
    Ok(sum)
}

fn side_by_side<E: QuadEngine>(store: &E, task: &Task, questions: &[Pattern]) -> Result<Vec<Line>> {
    let name = task.measure.verb();
    let answer = whole(store, questions)?;
    ask_side_by_side(store, task, questions)?;
    let watch = Stopwatch::start(Charge::Process);
    let rows = ask_side_by_side(store, task, questions)?;
    let sample = without_latencies(watch.pause(rows));
    Ok(vec![Line::Sample(name.to_owned(), sample), Line::Answer(name.to_owned(), answer)])
}

/// Every thread asks for as long as a measurement lasts, from a place of its own on. Returns the rows of all.
fn ask_side_by_side<E: QuadEngine>(store: &E, task: &Task, questions: &[Pattern]) -> Result<u64> {
    let threads = task.measure.threads();
    let (rows, seen) = (AtomicU64::new(0), AtomicU64::new(0));
    let ask = |thread: usize| -> Result<(), Failure> {
        let (mut own, mut next, started) = (Sum::default(), thread * questions.len() / threads, Instant::now());
        loop {
            let question = &questions[next % questions.len()];
            store.find(question, |statement| own.add(statement_look(statement)))?;
            next += 1;
            if started.elapsed() >= task.least() {
                break;
            }
        }
        rows.fetch_add(own.rows, Ordering::Relaxed);
        seen.fetch_add(own.hash, Ordering::Relaxed);
        Ok(())
    };
    std::thread::scope(|scope| {
        let ask = &ask;
        let all: Vec<_> = (0..threads).map(|thread| scope.spawn(move || ask(thread))).collect();
        all.into_iter().try_for_each(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    std::hint::black_box(seen);
    Ok(rows.into_inner())
}

fn sparql<E: QuadEngine>(store: &E, task: &Task) -> Result<Vec<Line>> {
    let path = task.files().queries();
    let text = fs::read_to_string(&path).map_err(|error| Error::io("read", &path, error))?;
    let mut lines = Vec::new();
    for line in text.lines() {
        let (name, query) = line.split_once('\t').unwrap_or((line, ""));
        lines.extend(one_query(store, task, name, query)?);
    }
    Ok(lines)
}

fn one_query<E: QuadEngine>(store: &E, task: &Task, name: &str, query: &str) -> Result<[Line; 2]> {
    let (mut hashes, mut text) = (Vec::new(), String::new());
    store.query(query, |values| hashes.push(row_hash(&mut text, values.iter().map(Option::as_ref))))?;
    let answer = answer_of_rows(hashes);
    let mut latencies_ns = Vec::new();
    let (_, sample) = timed_with(task.least(), &mut latencies_ns, |latencies_ns| {
        let (mut rows, mut length) = (0, 0);
        let started = Instant::now();
        store.query(query, |values| {
            rows += 1;
            length += values.iter().flatten().map(|value| text_of(value.as_ref()).len()).sum::<usize>();
        })?;
        latencies_ns.push(started.elapsed().as_nanos() as f64);
        std::hint::black_box(length);
        if rows == answer.rows { Ok(1) } else { Err(changed("sparql")) }
    })?;
    let operations = latencies_ns.len() as u64;
    let sample = with_latencies(Sample { operations, ..sample }, &latencies_ns);
    Ok([Line::Sample(name.to_owned(), sample), Line::Answer(name.to_owned(), answer)])
}

fn timed(least: Duration, mut pass: impl FnMut() -> Result<u64>) -> Result<(u64, Sample)> {
    timed_with(least, &mut Vec::new(), |_| pass())
}

/// Passes until so much time has gone by, untimed; then again, timed. Returns what the timed ones returned, and their
/// cost. Latencies are those of the timed ones.
fn timed_with(
    least: Duration,
    latencies_ns: &mut Vec<f64>,
    mut pass: impl FnMut(&mut Vec<f64>) -> Result<u64>,
) -> Result<(u64, Sample)> {
    let started = Instant::now();
    while started.elapsed() < least {
        pass(latencies_ns)?;
    }
    latencies_ns.clear();
    let mut operations = 0;
    let (started, watch) = (Instant::now(), Stopwatch::start(Charge::Process));
    loop {
        operations += pass(latencies_ns)?;
        if started.elapsed() >= least {
            break;
        }
    }
    Ok((operations, watch.pause(operations)))
}

fn changed(workload: &'static str) -> Error {
    Error::Wrong { workload, what: "the same question was answered differently".to_owned() }
}

fn with_latencies(sample: Sample, latencies_ns: &[f64]) -> Sample {
    Sample { p50_ns: percentile(latencies_ns, 0.5), p99_ns: percentile(latencies_ns, 0.99), ..sample }
}

fn without_latencies(sample: Sample) -> Sample {
    with_latencies(sample, &[])
}

/// For each statement of the file a question for its subject.
fn subjects(task: &Task) -> Result<Vec<Pattern>> {
    questions(&task.files().subjects(), |quad| {
        let subject = match quad.subject {
            NamedOrBlankNode::NamedNode(node) => Term::NamedNode(node),
            NamedOrBlankNode::BlankNode(node) => Term::BlankNode(node),
        };
        Pattern { subject: Some(subject), ..Pattern::default() }
    })
}

/// For each statement of the file a question for its predicate and object.
fn objects(task: &Task) -> Result<Vec<Pattern>> {
    questions(&task.files().objects(), |quad| Pattern {
        predicate: Some(quad.predicate),
        object: Some(quad.object),
        ..Pattern::default()
    })
}

fn questions(path: &Path, of: impl Fn(fulgurite_rdf::oxrdf::Quad) -> Pattern) -> Result<Vec<Pattern>> {
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let quads = RdfParser::from_format(RdfFormat::NTriples).for_reader(BufReader::new(file));
    quads.map(|quad| quad.map(&of).map_err(|error| Error::Usage(format!("{}: {error}", path.display())))).collect()
}
