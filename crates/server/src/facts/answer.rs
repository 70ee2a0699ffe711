//! `userQuery` and `userQueryFacts`: results as `UserQueryResults`.
//!
//! A page is printed into memory before its first byte is sent, so that a failure is an error and not half an answer.

use std::fmt::Write as _;
use std::io::Write;
use std::time::{Duration, Instant};

use fulgurite_facts::{CancellationToken, FactDatabase, PageFlow, QueryLimits};
use serde_json::{Map, Value as Json, json};

use crate::facts::options::FactServerOptions;
use crate::facts::printing::{Nesting, PrintLimits, Printed, Printing};
use crate::facts::requests::{Options, UserQuery, UserQueryFacts};
use crate::http::answer::AnswerWriter;
use crate::http::refusal::Refusal;

/// Answers a query.
///
/// # Errors
/// Why there is no answer.
pub fn query(
    database: FactDatabase,
    query: &UserQuery,
    maxima: &FactServerOptions,
    token: CancellationToken,
    out: &mut AnswerWriter,
) -> Result<(), Refusal> {
    let begun = Instant::now();
    let reader = database.reader()?;
    let (options, limits) = (&query.options, query_limits(&query.options, maxima, token.clone()));
    let mut print_limits = print_limits(options, maxima, token);
    // A result that is found when the query's time is almost up must not be without time to be printed.
    print_limits.until = PrintLimits::until(time(options, maxima) + maxima.timeout / 4);
    let mut printing = Printing::new(database.schema(), &reader, &print_limits);
    let (mut results, mut print_time) = (0, Duration::ZERO);
    let page = reader.query_each(&query.text, &limits, options.continuation.as_deref(), &mut |found| {
        let mut flow = PageFlow::Continue;
        if !options.omits_results {
            let begun = Instant::now();
            flow = printing.result(&found, nesting(options.recursive, options.expands))?;
            print_time += begun.elapsed();
        }
        results += usize::from(flow != PageFlow::EndBefore);
        Ok(flow)
    })?;
    let printed = printing.printed();
    let mut stats = stats(begun, &printed, results);
    stats.insert("execute_time_ns".to_owned(), nanoseconds(begun.elapsed().saturating_sub(print_time)));
    if options.collects_searched {
        let searched = page.searched.iter().map(|(predicate, count)| (predicate.get().to_string(), json!(count)));
        stats.insert("facts_searched".to_owned(), Json::Object(searched.collect()));
    }
    let mut rest = Map::new();
    if let Some(continuation) = &page.continuation {
        rest.insert("continuation".to_owned(), json!({ "continuation": hexadecimal(continuation) }));
    }
    let diagnostics =
        if page.timed_out { json!(["the query was cut off, because its time was up"]) } else { json!([]) };
    rest.insert("diagnostics".to_owned(), diagnostics);
    rest.insert("type".to_owned(), Json::String(database.schema().type_text(&page.ty)));
    // Everything is printed, so a client that reads slowly keeps neither the database nor the page.
    drop((page, reader, database));
    send(out, &printed, stats, rest)
}

/// Answers a query for facts by their ids: as many results, `null` for those that there are not.
///
/// # Errors
/// Why there is no answer.
pub fn facts(
    database: FactDatabase,
    query: &UserQueryFacts,
    maxima: &FactServerOptions,
    token: CancellationToken,
    out: &mut AnswerWriter,
) -> Result<(), Refusal> {
    let begun = Instant::now();
    let reader = database.reader()?;
    let limits = print_limits(&query.options, maxima, token);
    let mut printing = Printing::new(database.schema(), &reader, &limits);
    let to_print = if query.options.omits_results { &[][..] } else { &query.facts[..] };
    for (id, recursive) in to_print {
        printing.fact(*id, nesting(*recursive || query.options.recursive, query.options.expands))?;
        let bytes = printing.bytes();
        if bytes > limits.bytes_max {
            let message = format!("the facts have more than {} bytes as JSON; ask for fewer at once", limits.bytes_max);
            return Err(Refusal::bad_request(message));
        }
    }
    let printed = printing.printed();
    drop((reader, database));
    let stats = stats(begun, &printed, query.facts.len());
    send(out, &printed, stats, Map::new())
}

/// What the client asks for, and no more than the server allows.
fn query_limits(options: &Options, maxima: &FactServerOptions, cancellation: CancellationToken) -> QueryLimits {
    QueryLimits {
        results_max: Some(at_most(options.results_max, maxima.results_max)),
        bytes_max: Some(at_most(options.bytes_max, maxima.bytes_max)),
        time_max: Some(time(options, maxima)),
        memory_bytes_max: maxima.memory_bytes_max,
        cancellation,
    }
}

fn print_limits(options: &Options, maxima: &FactServerOptions, cancellation: CancellationToken) -> PrintLimits {
    PrintLimits {
        cancellation,
        until: PrintLimits::until(time(options, maxima)),
        bytes_max: at_most(options.bytes_max, maxima.bytes_max),
        result_bytes_max: maxima.bytes_max,
    }
}

fn time(options: &Options, maxima: &FactServerOptions) -> Duration {
    options.time_max.unwrap_or(maxima.timeout).min(maxima.timeout)
}

fn at_most(asked: Option<u64>, maximum: usize) -> usize {
    let asked = asked.map(|asked| usize::try_from(asked).unwrap_or(usize::MAX));
    asked.unwrap_or(maximum).min(maximum)
}

fn nesting(recursive: bool, expands: bool) -> Nesting {
    match (recursive, expands) {
        (false, _) => Nesting::Ids,
        (true, true) => Nesting::InPlace,
        (true, false) => Nesting::Apart,
    }
}

/// `UserQueryStats`.
fn stats(begun: Instant, printed: &Printed, results: usize) -> Map<String, Json> {
    let mut stats = Map::new();
    stats.insert("result_count".to_owned(), json!(results));
    stats.insert("num_facts".to_owned(), json!(printed.facts));
    stats.insert("elapsed_ns".to_owned(), nanoseconds(begun.elapsed()));
    stats
}

fn nanoseconds(time: Duration) -> Json {
    json!(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Writes `UserQueryResults`.
fn send(
    out: &mut AnswerWriter,
    printed: &Printed,
    stats: Map<String, Json>,
    rest: Map<String, Json>,
) -> Result<(), Refusal> {
    out.media_type(JSON);
    let rest = Json::Object(rest).to_string();
    let stats = Json::Object(stats);
    // A client that is gone reads no error.
    let gone = |_| Refusal::bad_request("the client is gone");
    let parts: [&[u8]; 5] = [b"{\"facts\":[", &printed.text, b"],\"nestedFacts\":{", &printed.nested, b"},"];
    let bytes = u32::try_from(printed.text.len() + printed.nested.len()).unwrap_or(u32::MAX);
    out.all_within(SENDING_MIN + Duration::from_secs(1) * (bytes / SENDING_BYTES_PER_SECOND));
    // In parts: writing each may wait for the client.
    for part in parts.into_iter().flat_map(|part| part.chunks(PART_BYTES)) {
        out.write_all(part).map_err(gone)?;
    }
    let end = if rest == "{}" { "}".to_owned() } else { format!(",{}", &rest[1..]) };
    writeln!(out, "\"stats\":{stats}{end}").map_err(gone)
}

/// The text of a continuation, as `fulgurite facts query --continue` has it.
fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The media type of all answers.
pub const JSON: &str = "application/json";
const PART_BYTES: usize = 32 << 10;
/// A client has this time to read an answer, and more for a long one: a slow client holds a place that others wait for.
const SENDING_MIN: Duration = Duration::from_secs(60);
const SENDING_BYTES_PER_SECOND: u32 = 128 << 10;
