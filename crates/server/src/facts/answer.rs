//! `userQuery` and `userQueryFacts`: results as `UserQueryResults`.
//!
//! A page is printed into memory before its first byte is sent, so that a failure is an error and not half an answer.

use std::fmt::Write as _;
use std::io::Write;
use std::time::{Duration, Instant};

use fulgurite_facts::{CancellationToken, FactReader, Page, QueryLimits};
use serde_json::{Map, Value as Json, json};

use crate::facts::options::FactServerOptions;
use crate::facts::printing::{Nesting, PrintLimits, Printed, Printing};
use crate::facts::requests::{Options, UserQuery, UserQueryFacts};
use crate::facts::service::ServedFacts;
use crate::http::answer::AnswerWriter;
use crate::http::refusal::Refusal;

/// Answers a query.
///
/// # Errors
/// Why there is no answer.
pub fn query(
    served: &ServedFacts,
    query: &UserQuery,
    maxima: &FactServerOptions,
    token: CancellationToken,
    out: &mut AnswerWriter,
) -> Result<(), Refusal> {
    let begun = Instant::now();
    let reader = served.database.reader()?;
    let (options, limits) = (&query.options, query_limits(&query.options, maxima, token.clone()));
    let mut page = page(&reader, query, &limits)?;
    let executed = begun.elapsed();
    let mut print_limits = print_limits(options, maxima, token);
    // Printing gets the rest of the query's time, and at least a quarter of the whole: a short query must not leave its
    // results without time to be printed.
    let time = maxima.timeout.saturating_sub(executed).max(maxima.timeout / 4);
    print_limits.until = PrintLimits::until(time);
    let mut printed = Printed::default();
    if !options.omits_results {
        let mut printing = Printing::new(served.database.schema(), &reader, Some(&page.derived), &print_limits);
        printing.page(&page.ty, &page.results, nesting(options.recursive, options.expands))?;
        printed = printing.printed();
        if printed.results() < page.results.len() {
            // The continuation of a page starts after its last result, so the query runs again for the results that
            // were printed. This run may take the rest of the time, or as long as the first run took. The first page is
            // dropped before, so that memory holds one page at a time.
            drop(page);
            let time_max = Some(maxima.timeout.saturating_sub(begun.elapsed()).max(executed));
            let limits = QueryLimits { results_max: Some(printed.results()), time_max, ..limits };
            page = self::page(&reader, query, &limits)?;
            printed.truncate(page.results.len());
        }
    }
    let mut stats = stats(begun, &printed, page.results.len());
    stats.insert("execute_time_ns".to_owned(), nanoseconds(executed));
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
    rest.insert("type".to_owned(), Json::String(served.database.schema().type_text(&page.ty)));
    // Everything is printed, so a client that reads slowly keeps neither the snapshot nor the page.
    drop((page, reader));
    send(out, &printed, stats, rest)
}

/// Answers a query for facts by their ids: as many results, `null` for those that there are not.
///
/// # Errors
/// Why there is no answer.
pub fn facts(
    served: &ServedFacts,
    query: &UserQueryFacts,
    maxima: &FactServerOptions,
    token: CancellationToken,
    out: &mut AnswerWriter,
) -> Result<(), Refusal> {
    let begun = Instant::now();
    let reader = served.database.reader()?;
    let limits = print_limits(&query.options, maxima, token);
    let mut printing = Printing::new(served.database.schema(), &reader, None, &limits);
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
    drop(reader);
    let stats = stats(begun, &printed, query.facts.len());
    send(out, &printed, stats, Map::new())
}

fn page(reader: &FactReader, query: &UserQuery, limits: &QueryLimits) -> Result<Page, Refusal> {
    Ok(match &query.options.continuation {
        Some(continuation) => reader.continue_query(&query.text, limits, continuation)?,
        None => reader.query(&query.text, limits)?,
    })
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
