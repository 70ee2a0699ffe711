//! `userQuery`, `userQueryBatch` and `userQueryFacts`: results as `UserQueryResults`.
//!
//! A page is printed into memory before its first byte is sent, so that a failure is an error and not half an answer.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use fulgurite_facts::{CancellationToken, FactDatabase, FactReader, PageFlow, QueryLimits, Schema};
use serde_json::{Map, Value as Json, json};

use crate::facts::options::FactServerOptions;
use crate::facts::printing::{Nesting, PrintLimits, Printed, Printing};
use crate::facts::requests::{Options, UserQuery, UserQueryBatch, UserQueryFacts};
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
    let reader = database.reader()?;
    let answered = answered(database.schema(), &reader, (&*query.text, &query.options), Maxima::of(maxima), token)?;
    // Everything is printed, so a client that reads slowly keeps neither the database nor the page.
    drop((reader, database));
    send(out, &answered.parts().each_ref().map(|part| &**part))
}

/// Answers queries one after the other, in one state of the database: as many answers, each with results or with what
/// is wrong in its query. The batch has the time and the bytes of one query. A query for which too little is left gets
/// the answer `retry`, and the client sends it again.
///
/// # Errors
/// Why there is no answer at all.
pub fn batch(
    database: FactDatabase,
    batch: &UserQueryBatch,
    maxima: &FactServerOptions,
    token: &CancellationToken,
    out: &mut AnswerWriter,
) -> Result<(), Refusal> {
    let reader = database.reader()?;
    let (begun, most) = (Instant::now(), Maxima::of(maxima));
    let mut text: Vec<u8> = vec![b'['];
    for (number, query) in batch.queries.iter().enumerate() {
        if number > 0 {
            text.push(b',');
        }
        let left = Maxima {
            bytes: most.bytes.saturating_sub(text.len()),
            time: most.time.saturating_sub(begun.elapsed()),
            ..most
        };
        if number > 0 && (left.bytes == 0 || left.time.is_zero()) {
            text.extend_from_slice(AGAIN);
            continue;
        }
        match answered(database.schema(), &reader, (query.as_str(), &batch.options), left, token.clone()) {
            Ok(answered) => {
                text.extend_from_slice(b"{\"results\":");
                answered.parts().iter().for_each(|part| text.extend_from_slice(part));
                text.push(b'}');
            }
            Err(refusal) if is_out_of_time(&refusal, token) && had_less_time(number, &batch.options, left) => {
                text.extend_from_slice(AGAIN);
            }
            Err(refusal) => text.extend_from_slice(exception(refusal, token)?.to_string().as_bytes()),
        }
    }
    text.push(b']');
    drop((reader, database));
    send(out, &[text.as_slice()])
}

/// Whether a query was refused because its time was up.
fn is_out_of_time(refusal: &Refusal, token: &CancellationToken) -> bool {
    refusal.status == StatusCode::SERVICE_UNAVAILABLE && !token.is_cancelled()
}

/// Whether a query of a batch had less time than it has alone: those before it used some, and the client did not limit
/// it to less than was left. Each query has as much time to print its last result as alone.
fn had_less_time(number: usize, options: &Options, left: Maxima) -> bool {
    number > 0 && options.time_max.is_none_or(|asked| left.time < asked)
}

/// What is said of one query of a batch that has no results.
///
/// # Errors
/// The refusal, if it is not about this query alone.
fn exception(refusal: Refusal, token: &CancellationToken) -> Result<Json, Refusal> {
    match refusal.status {
        StatusCode::BAD_REQUEST => Ok(json!({ "badQuery": { "reason": refusal.message } })),
        _ if is_out_of_time(&refusal, token) => Ok(json!({ "other": { "message": refusal.message } })),
        _ => Err(refusal),
    }
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
    let limits = print_limits(&query.options, Maxima::of(maxima), token);
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
    send(out, &Answered { printed, stats, rest: Map::new() }.parts().each_ref().map(|part| &**part))
}

/// What a query may use at most.
#[derive(Clone, Copy)]
struct Maxima {
    results: usize,
    bytes: usize,
    /// Of the value or the facts of one result, as they are stored.
    result_bytes: usize,
    memory_bytes: usize,
    time: Duration,
    /// More time than that, to print a result which is found when the time is almost up.
    printing_time: Duration,
}

impl Maxima {
    fn of(options: &FactServerOptions) -> Self {
        Self {
            results: options.results_max,
            bytes: options.bytes_max,
            result_bytes: options.bytes_max,
            memory_bytes: options.memory_bytes_max,
            time: options.timeout,
            printing_time: options.timeout / 4,
        }
    }
}

/// `UserQueryResults`.
struct Answered {
    printed: Printed,
    stats: Map<String, Json>,
    /// Fields that not every answer has.
    rest: Map<String, Json>,
}

/// A page of the results of a query: its text, and what the client asks for.
fn answered(
    schema: &Schema,
    reader: &FactReader,
    (text, options): (&str, &Options),
    maxima: Maxima,
    token: CancellationToken,
) -> Result<Answered, Refusal> {
    let begun = Instant::now();
    let limits = query_limits(options, maxima, token.clone());
    let mut print_limits = print_limits(options, maxima, token);
    print_limits.until = PrintLimits::until(time_with_printing(options, maxima));
    let mut printing = Printing::new(schema, reader, &print_limits);
    let (mut results, mut print_time) = (0, Duration::ZERO);
    let page = reader.query_each(text, &limits, options.continuation.as_deref(), &mut |found| {
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
    let mut diagnostics = Vec::new();
    if page.timed_out {
        diagnostics.push("the query was cut off, because its time was up".to_owned());
    }
    // The client does not see the path of the database.
    diagnostics.extend(reader.not_derived_messages(&page, "FILE")?);
    rest.insert("diagnostics".to_owned(), json!(diagnostics));
    rest.insert("type".to_owned(), Json::String(schema.type_text(&page.ty)));
    Ok(Answered { printed, stats, rest })
}

impl Answered {
    /// The text, which is not copied into one.
    fn parts(&self) -> [Cow<'_, [u8]>; 5] {
        let stats = Json::Object(self.stats.clone());
        let rest = Json::Object(self.rest.clone()).to_string();
        let rest = if rest == "{}" { "}".to_owned() } else { format!(",{}", &rest[1..]) };
        [
            Cow::Borrowed(b"{\"facts\":["),
            Cow::Borrowed(&self.printed.text),
            Cow::Borrowed(b"],\"nestedFacts\":{"),
            Cow::Borrowed(&self.printed.nested),
            Cow::Owned(format!("}},\"stats\":{stats}{rest}").into_bytes()),
        ]
    }
}

/// What the client asks for, and no more than the server allows.
fn query_limits(options: &Options, maxima: Maxima, cancellation: CancellationToken) -> QueryLimits {
    QueryLimits {
        results_max: Some(at_most(options.results_max, maxima.results)),
        bytes_max: Some(at_most(options.bytes_max, maxima.bytes)),
        time_max: Some(time(options, maxima)),
        memory_bytes_max: maxima.memory_bytes,
        cancellation,
    }
}

fn print_limits(options: &Options, maxima: Maxima, cancellation: CancellationToken) -> PrintLimits {
    PrintLimits {
        cancellation,
        until: PrintLimits::until(time(options, maxima)),
        bytes_max: at_most(options.bytes_max, maxima.bytes),
        result_bytes_max: maxima.result_bytes,
    }
}

fn time(options: &Options, maxima: Maxima) -> Duration {
    options.time_max.unwrap_or(maxima.time).min(maxima.time)
}

/// The time of a query, and that in which its last result is printed.
fn time_with_printing(options: &Options, maxima: Maxima) -> Duration {
    time(options, maxima) + maxima.printing_time
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

/// Writes an answer whose text has these parts, and gives up a client that reads it too slowly.
///
/// # Errors
/// That the client is gone.
pub fn send(out: &mut AnswerWriter, parts: &[&[u8]]) -> Result<(), Refusal> {
    out.media_type(JSON);
    // A client that is gone reads no error.
    let gone = |_| Refusal::bad_request("the client is gone");
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    out.all_within(SENDING_MIN + Duration::from_secs(1) * (bytes / SENDING_BYTES_PER_SECOND));
    // In pieces: writing each may wait for the client.
    for piece in parts.iter().flat_map(|part| part.chunks(PART_BYTES)) {
        out.write_all(piece).map_err(gone)?;
    }
    out.write_all(b"\n").map_err(gone)
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
/// `RetryException`, of a query of a batch for which there was no time or place.
const AGAIN: &[u8] = b"{\"retry\":{\"seconds\":1.0}}";
/// A client has this time to read an answer, and more for a long one: a slow client holds a place that others wait for.
const SENDING_MIN: Duration = Duration::from_secs(60);
const SENDING_BYTES_PER_SECOND: u32 = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_less_time_if_those_before_it_in_its_batch_left_less_than_the_client_allows() {
        let maxima = Maxima::of(&FactServerOptions::new());
        let has_less = |number: usize, asked_ms: Option<u64>, left_ms: u64| {
            let options = Options { time_max: asked_ms.map(Duration::from_millis), ..Options::default() };
            had_less_time(number, &options, Maxima { time: Duration::from_millis(left_ms), ..maxima })
        };
        assert!(has_less(1, None, 5) && has_less(7, Some(10), 5));
        // It would have as little time alone.
        assert!(!has_less(0, None, 5) && !has_less(0, Some(10), 5));
        assert!(!has_less(1, Some(5), 5) && !has_less(1, Some(4), 5));
    }

    #[test]
    fn a_query_of_a_batch_to_which_enough_is_left_has_the_time_that_it_has_alone_with_that_to_print() {
        let alone = Maxima::of(&FactServerOptions::new().timeout(Duration::from_secs(60)));
        let options = Options { time_max: Some(Duration::from_secs(8)), ..Options::default() };
        let after = |left: u64| Maxima { time: Duration::from_secs(left), ..alone };
        assert!(!had_less_time(1, &options, after(8)));
        for left in [8, 9, 60] {
            assert_eq!(time(&options, after(left)), time(&options, alone), "{left} seconds are left");
            let with_printing = time_with_printing(&options, after(left));
            assert_eq!(with_printing, Duration::from_secs(8 + 15), "{left} seconds are left");
        }
        // The batch ends a quarter after its time at the latest, as a query does.
        assert_eq!(time_with_printing(&options, after(1)), Duration::from_secs(1 + 15));
    }

    #[test]
    fn a_stored_predicate_that_was_not_derived_is_in_the_diagnostics() {
        let directory = tempfile::tempdir().expect("a directory");
        let stored = "predicate Q : nat stored X where P X\npredicate R : nat stored X where P X";
        let text = format!("schema a.1 {{\npredicate P : nat\n{stored}\n}}");
        let schema = Schema::parse("a", &text).expect("it is right");
        let database = FactDatabase::create(directory.path().join("a.ful"), schema).expect("new");
        database.write_json(&br#"[{"predicate":"a.P.1","facts":[{"key":7}]}]"#[..], None).expect("facts");
        let diagnostics = |query: &str| {
            let (reader, options) = (database.reader().expect("it is open"), Options::default());
            let (maxima, token) = (Maxima::of(&FactServerOptions::new()), CancellationToken::new());
            let answered = answered(database.schema(), &reader, (query, &options), maxima, token);
            answered.map_err(|refusal| refusal.message).expect("an answer").rest["diagnostics"].clone()
        };
        let first_of = |query: &str| diagnostics(query)[0].as_str().unwrap_or_default().to_owned();
        assert!(first_of("a.Q _").starts_with("a.Q.1 was not derived since facts were written; run `fulgurite facts"));
        let derived = database.schema().find("a.Q").expect("a predicate").id;
        database.derive(derived).expect("it is right");
        assert_eq!(diagnostics("a.Q _"), json!([]));
        // Nothing can be derived any more.
        database.complete().expect("it is incomplete");
        assert_eq!(diagnostics("a.Q _"), json!([]));
        assert!(first_of("a.R _").starts_with("a.R.1 was not derived before the database was completed"));
    }

    #[test]
    fn a_cancelled_query_is_not_out_of_time() {
        let (busy, wrong) = (Refusal::busy("time is up"), Refusal::bad_request("no such predicate"));
        let token = CancellationToken::new();
        assert!(is_out_of_time(&busy, &token) && !is_out_of_time(&wrong, &token));
        token.cancel();
        assert!(!is_out_of_time(&busy, &token));
    }
}
