//! From text to algebra, on a stack that suits the text.
//!
//! The parser recurses as deep as the text nests, and what it returns is as deep as its longest chain of operators. So
//! the text is looked over first: what nests too deep is refused, and what is not plainly harmless is parsed on a
//! thread with a stack of its own, on which chains are [balanced](super::shape), too, before anybody else sees them.
//! Called by `query` and `update` alone.

use std::borrow::Cow;
use std::thread;

use oxiri::Iri;
use spargebra::{GraphUpdateOperation, Query, SparqlParser, SparqlSyntaxError, Update};

use super::outline::{Outline, iris_after_values, token_bytes};
use super::tokens::{place, tokens};
use super::words::{self, Refusal, Surroundings, Wanted};
use super::{paths, prologues, quoted_triples, selection, shape, star};
use crate::error::{Error, Result};
use crate::model::base_iri;
use crate::sparql::expressions::xpath;

/// Brackets within brackets that a text may have.
pub(crate) const NESTING_MAX: usize = 500;

/// Operators and braces that a text may have: each may be a level of a chain until it is balanced.
const LINKS_MAX: usize = 500_000;

/// Up to here a text is parsed on the caller's stack.
const SHORT_BYTES: usize = 2_000;
const SHALLOW: usize = 6;
const SHORT_LINKS: usize = 100;

/// Stack for one bracket and for one operator: several times what was measured. An operator takes much more without
/// optimisation.
const BRACKET_BYTES: usize = 192 << 10;
const LINK_BYTES: usize = if cfg!(debug_assertions) { 4 << 10 } else { 1 << 10 };
const STACK_BYTES: usize = 8 << 20;

/// What a text is parsed with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prologue<'t> {
    /// For relative IRIs before the text's own `BASE`.
    pub base: Option<&'t str>,
    /// For prefixed names before the text's own `PREFIX`.
    pub prefixes: &'t [(String, String)],
    /// Whether `<<s p o>>` is a triple term, as in RDF-star.
    pub quotes_triples: bool,
}

impl Prologue<'_> {
    fn surroundings(&self, wanted: Wanted) -> Surroundings<'_> {
        Surroundings { wanted, prefixes: self.prefixes, has_base: self.base.is_some() }
    }
}

pub(crate) fn parse_query(text: &str, prologue: &Prologue<'_>) -> Result<Query> {
    let written = without_mark(text);
    let text = &*with_close_brackets(unescaped(written));
    let parser = parser(prologue)?;
    let surroundings = prologue.surroundings(Wanted::Query);
    let quotes_triples = prologue.quotes_triples;
    let query = on_a_fitting_stack(text, move |outline| {
        let refused = |error| words::diagnose(written, surroundings, refusal(&error));
        let parsed = retried(text, |text| parser.clone().parse_query(text));
        let (query, text) = parsed.map_err(refused)?;
        let text = &*text;
        refuse_iris_that_were_split(text, outline, |text| parser.parse_query(text).is_ok())?;
        xpath::check_constants(text)?;
        words::misplaced_aggregate(text).map_or(Ok(()), Err)?;
        let query = if quotes_triples { quoted_triples::in_query(query, text)? } else { query };
        shape::balance_query(paths::in_query(star::in_order_of_text(query, text))?)
    })?;
    Ok(query)
}

/// The parts of an update, each with the base that its own declarations set: one part, unless there are declarations
/// between operations.
pub(crate) fn parse_update(text: &str, prologue: &Prologue<'_>) -> Result<Vec<Update>> {
    let written = without_mark(text);
    let text = &*with_close_brackets(unescaped(written));
    let parser = parser(prologue)?;
    let base = prologue.base.and_then(|base| Iri::parse(base_iri::without_dots(base).into_owned()).ok());
    let surroundings = prologue.surroundings(Wanted::Update);
    let quotes_triples = prologue.quotes_triples;
    on_a_fitting_stack(text, move |outline| {
        let refused = |refusal| words::diagnose(written, surroundings, refusal);
        let parsed = retried(text, |text| parse_parts(parser.clone(), base.clone(), text));
        let (mut parts, text) = parsed.map_err(refused)?;
        let text = &*text;
        if quotes_triples {
            for part in &mut parts {
                let operations = std::mem::take(&mut part.operations).into_iter();
                let operations = operations.map(|operation| quoted_triples::in_operation(operation, text));
                part.operations = operations.collect::<Result<_>>()?;
            }
        }
        refuse_iris_that_were_split(text, outline, |text| parse_parts(parser, base, text).is_ok())?;
        xpath::check_constants(text)?;
        // Data have no aggregates, and may be long.
        let has_patterns = |part: &Update| {
            part.operations.iter().any(|operation| matches!(operation, GraphUpdateOperation::DeleteInsert { .. }))
        };
        if parts.iter().any(has_patterns) {
            words::misplaced_aggregate(text).map_or(Ok(()), Err)?;
        }
        parts.into_iter().map(|part| shape::balance_update(paths::in_update(part)?)).collect()
    })
}

/// What `parse` returns for the text, and the text. If it is refused, it is parsed again without variables that are
/// [selected again](selection).
fn retried<'t, T, E>(text: &'t str, parse: impl Fn(&str) -> Result<T, E>) -> Result<(T, Cow<'t, str>), E> {
    match parse(text) {
        Ok(parsed) => Ok((parsed, Cow::Borrowed(text))),
        Err(refused) => match selection::without_repeats(text) {
            Some(text) => parse(&text).map(|parsed| (parsed, Cow::Owned(text))),
            None => Err(refused),
        },
    }
}

fn parse_parts(mut parser: SparqlParser, mut base: Option<Iri<String>>, text: &str) -> Result<Vec<Update>, Refusal> {
    let refused = |message: String| Refusal { line: 0, column: 0, message };
    let ranges = prologues::parts(text);
    if ranges.len() > prologues::PARTS_MAX {
        let message = format!("declarations are between more than {} operations", prologues::PARTS_MAX);
        return Err(refused(format!("{message}; move them to the beginning, or send several updates")));
    }
    let mut parts = Vec::with_capacity(ranges.len());
    let last = ranges.len() - 1;
    for (number, range) in ranges.into_iter().enumerate() {
        let part = &text[range.clone()];
        let parsed = parser.clone().parse_update(part).map_err(|error| refusal(&error).behind(text, range.start))?;
        if number < last {
            parser = prologues::behind(parser, part, &mut base);
        }
        parts.push(parsed);
    }
    match prologues::label_of_two_parts(&parts) {
        Some(label) => Err(refused(format!("`{label}` is in another INSERT DATA already; use another label"))),
        None => Ok(parts),
    }
}

fn parser(prologue: &Prologue<'_>) -> Result<SparqlParser> {
    let invalid = |iri: &str, error: &dyn std::fmt::Display| Error::Invalid {
        message: format!("<{iri}>: {error}; give an absolute IRI"),
    };
    let mut parser = SparqlParser::new();
    if let Some(base) = prologue.base {
        parser = parser.with_base_iri(base_iri::without_dots(base)).map_err(|error| invalid(base, &error))?;
    }
    for (prefix, iri) in prologue.prefixes {
        parser = parser.with_prefix(prefix, iri).map_err(|error| invalid(iri, &error))?;
    }
    Ok(parser)
}

fn on_a_fitting_stack<T: Send>(text: &str, parse: impl FnOnce(&Outline) -> Result<T> + Send) -> Result<T> {
    let outline = Outline::of(text, NESTING_MAX);
    if outline.nesting > NESTING_MAX {
        return Err(Error::QueryTooDeep { limit: NESTING_MAX });
    }
    if outline.links > LINKS_MAX {
        return Err(Error::QueryTooLong { limit: LINKS_MAX });
    }
    if text.len() <= SHORT_BYTES && outline.nesting <= SHALLOW && outline.links <= SHORT_LINKS {
        return parse(&outline);
    }
    let stack_bytes = STACK_BYTES + outline.nesting * BRACKET_BYTES + outline.links * LINK_BYTES;
    on_stack(stack_bytes, || parse(&outline))
}

/// Runs `work` on a thread with a stack of `stack_bytes`, and waits for it.
pub(crate) fn on_stack<T: Send>(stack_bytes: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("sparql".to_owned())
            .stack_size(stack_bytes)
            .spawn_scoped(scope, work)
            .map_err(|source| Error::Thread { source })?;
        // A panic of `work` is the caller's panic.
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The longest token counts (SPARQL 1.1, 19.8): `?a<?b&&?c>?d` has the IRI `<?b&&?c>`, where the parser takes two
/// comparisons. So the text has to be one with another IRI in that place too, which cannot be taken for comparisons.
fn refuse_iris_that_were_split(text: &str, outline: &Outline, is_sound: impl FnOnce(&str) -> bool) -> Result<()> {
    if !outline.has_iris_after_values {
        return Ok(());
    }
    let iris = iris_after_values(text);
    let Some(first) = iris.first().cloned() else { return Ok(()) };
    let mut plain = String::with_capacity(text.len());
    let mut end = 0;
    for iri in iris {
        plain.push_str(&text[end..iri.start]);
        plain.push_str("<urn:x>");
        end = iri.end;
    }
    plain.push_str(&text[end..]);
    if is_sound(&plain) {
        return Ok(());
    }
    let (line, column) = place(text, first.start);
    let near = text[first.clone()].chars().take(40).collect();
    let message = format!("`{}` is an IRI here; put a space behind `<` to compare", &text[first]);
    Err(Error::SparqlSyntax { line, column, near, message, needs_base: false })
}

/// The place is at the head of the parser's message: `error at 2:14: expected …`.
fn refusal(error: &SparqlSyntaxError) -> Refusal {
    let message = error.to_string();
    let parts = message.strip_prefix("error at ").and_then(|rest| rest.split_once(": "));
    let place = parts.and_then(|(place, rest)| {
        let (line, column) = place.split_once(':')?;
        Some((line.parse().ok()?, column.parse().ok()?, rest.to_owned()))
    });
    let (line, column, message) = place.unwrap_or((0, 0, message));
    Refusal { line, column, message }
}

/// The text without a byte order mark at its beginning.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{FEFF}').unwrap_or(text)
}

/// The text with the characters that it gives by their numbers in names (`:\u0070`), where the parser does not take
/// them; in strings and IRIs it does (SPARQL 1.1, 19.2).
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains("\\u") && !text.contains("\\U") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((character, bytes)) = escaped_name_character(rest) {
            out.push(character);
            rest = &rest[bytes..];
            continue;
        }
        let mut end = token_bytes(rest.as_bytes()).min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        out.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    Cow::Owned(out)
}

/// The text with the brackets of `CONCAT (…)` and `COALESCE (…)` right behind these words, where the parser wants them.
/// The white space comes behind the bracket, so that all else keeps its place.
fn with_close_brackets(text: Cow<'_, str>) -> Cow<'_, str> {
    if !may_have_apart_brackets(text.as_bytes()) {
        return text;
    }
    let tokens = tokens(&text);
    let mut moved = text.as_bytes().to_vec();
    for pair in tokens.windows(2) {
        let [name, bracket] = pair else { continue };
        let is_strict = STRICT_CALLS.iter().any(|word| name.is_word(&text, word));
        if is_strict && bracket.is_symbol(&text, "(") {
            moved[name.range.end..bracket.range.end].rotate_right(1);
        }
    }
    Cow::Owned(String::from_utf8(moved).expect("a character of ASCII was moved between others"))
}

/// The functions that the parser takes without white space before their brackets alone.
const STRICT_CALLS: [&str; 2] = ["CONCAT", "COALESCE"];

/// Whether such a call may have white space before its bracket. Most texts are decided here, without their tokens.
fn may_have_apart_brackets(text: &[u8]) -> bool {
    memchr::memchr2_iter(b'c', b'C', text).any(|start| {
        STRICT_CALLS.iter().any(|word| {
            let is_word =
                text[start..].get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes()));
            is_word && matches!(text.get(start + word.len()), Some(b' ' | b'\t' | b'\r' | b'\n' | b'#'))
        })
    })
}

/// The character of a name that the text begins with the number of, and the bytes that it takes there.
fn escaped_name_character(text: &str) -> Option<(char, usize)> {
    let (digits, bytes) = match text.get(..2)? {
        "\\u" => (text.get(2..6)?, 6),
        "\\U" => (text.get(2..10)?, 10),
        _ => return None,
    };
    let number = digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16))?;
    let character = char::from_u32(number.ok()?)?;
    (character.is_alphanumeric() || character == '_' || !character.is_ascii()).then_some((character, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_characters_are_replaced_in_names_alone() {
        assert_eq!(
            unescaped("{ <\\u0078> :\\u0070 ?na\\u006de \"\\u0022\" # \\u0070\n}"),
            "{ <\\u0078> :p ?name \"\\u0022\" # \\u0070\n}"
        );
        assert_eq!(unescaped("?\\U000000e9 \\u007B \\u12"), "?é \\u007B \\u12");
        assert!(matches!(unescaped("SELECT"), Cow::Borrowed(_)));
    }

    fn of_query(filter: &str) -> Result<Query> {
        parse_query(&format!("SELECT * {{ ?s ?p ?a FILTER({filter}) }}"), &Prologue::default())
    }

    #[test]
    fn brackets_and_operators_after_less_than_are_no_iri() {
        let hidden = "(".repeat(4_000);
        for filter in [
            format!("?a<{hidden}>1"),
            format!("?a<'>'+{hidden}'"),
            format!("?a<1#>'\n+{hidden}'"),
            format!("{}1", "?a<(1>?b&&?c".repeat(4_000)),
            format!("{}1", "?a<(1>?b&&".repeat(4_000)),
        ] {
            let error = of_query(&filter).expect_err("too deep");
            assert!(matches!(error, Error::QueryTooDeep { limit: NESTING_MAX }), "{error}");
        }
        let error = of_query(&format!("?a<1{}>1", "+1".repeat(300_000))).expect_err("no comparison of three");
        assert!(matches!(error, Error::SparqlSyntax { .. }), "{error}");
        let text = format!("DELETE {{ ?s ?p ?a }} WHERE {{ ?s ?p ?a FILTER(?a<{hidden}>1) }}");
        let error = parse_update(&text, &Prologue::default()).expect_err("too deep");
        assert!(matches!(error, Error::QueryTooDeep { limit: NESTING_MAX }), "{error}");
    }

    #[test]
    fn a_short_text_of_operators_alone_is_parsed_on_a_small_stack() {
        let parsed = on_stack(1 << 20, || of_query(&format!("{}?a", "!".repeat(1_950)))).expect_err("too deep");
        assert!(matches!(parsed, Error::QueryTooDeep { limit: shape::DEPTH_MAX }), "{parsed}");
    }

    #[test]
    fn too_many_operators_are_told_apart_from_deep_nesting() {
        let error = of_query(&format!("1{}", "+1".repeat(LINKS_MAX))).expect_err("too long");
        assert!(matches!(error, Error::QueryTooLong { limit: LINKS_MAX }), "{error}");
    }

    #[test]
    fn the_longest_token_is_an_iri_and_no_comparisons() {
        for filter in ["?a<?s&&?p>?a", "?a<1&&?p>?s", "IF(?a<1,?s>2,?p)", "(?a<1)=(?s>2)"] {
            let error = of_query(filter).expect_err(filter);
            let Error::SparqlSyntax { line: 1, message, .. } = error else { panic!("{error}") };
            assert!(message.contains("is an IRI here"), "{message}");
        }
        for filter in ["?a< ?s&&?p>?a", "?a <1 && ?p> ?s", "?a<1", "?a<<http://e/>", "?a IN (<http://e/?a&&?b>,<x:>)"] {
            of_query(filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
        }
        let lists = "SELECT * { ?a ?p (?s <http://e/a&&b> <http://e/(x)> ?a<http://e/>) FILTER(?s > 1) }";
        parse_query(lists, &Prologue::default()).expect("terms of a list");
        let rows = "SELECT * { ?a ?p ?s FILTER(?s > 1) } VALUES (?a ?s) { (1 <http://e/&&>) (UNDEF <x:b>) }";
        parse_query(rows, &Prologue::default()).expect("terms of rows");
        let update = "DELETE { ?s ?p ?a } WHERE { ?s ?p ?a FILTER(?a<?s&&?p>?a) }";
        parse_update(update, &Prologue::default()).expect_err("an IRI");
    }

    #[test]
    fn white_space_before_the_bracket_of_a_call_is_legal_and_keeps_all_places() {
        let closed = |text: &'static str| with_close_brackets(Cow::Borrowed(text));
        assert_eq!(
            closed("concat \n (1, COALESCE# (é)\n(2)) 'CONCAT (' :CONCAT ("),
            "concat( \n 1, COALESCE(# (é)\n2)) 'CONCAT (' :CONCAT ("
        );
        assert!(matches!(closed("GROUP_CONCAT (?x) CONCAT(1)"), Cow::Borrowed(_) | Cow::Owned(_)));
        assert_eq!(closed("GROUP_CONCAT (?x) CONCAT(1)"), "GROUP_CONCAT (?x) CONCAT(1)");
        for call in ["CONCAT (?a, 'b')", "COALESCE\n(?a, 1)", "CoNcAt # (\n ('a', COALESCE \t (?a))", "CONCAT ()"] {
            of_query(call).unwrap_or_else(|error| panic!("{call}: {error}"));
        }
        let error = of_query("CONCAT ('a', ) = CONCAT  ('b')").expect_err("an argument is missing");
        let Error::SparqlSyntax { line, column, near, .. } = error else { panic!("{error}") };
        assert_eq!((line, column, near.as_str()), (1, 41, ")"));
    }

    #[test]
    fn declarations_between_too_many_operations_are_refused() {
        let text = "PREFIX x: <a:> CLEAR ALL ;".repeat(prologues::PARTS_MAX + 1);
        let error = parse_update(&text, &Prologue::default()).expect_err("too many");
        assert!(error.to_string().contains("declarations are between more than 10000 operations"), "{error}");
        let longest = &text[..text.len() / (prologues::PARTS_MAX + 1) * prologues::PARTS_MAX];
        assert_eq!(parse_update(longest, &Prologue::default()).expect("an update").len(), prologues::PARTS_MAX);
    }

    #[test]
    fn a_syntax_error_says_line_column_and_what_stands_there() {
        let error = parse_query("SELECT *\nWHERE ( ?s ?p ?o }", &Prologue::default()).expect_err("no query");
        let Error::SparqlSyntax { line, column, near, .. } = error else { panic!("{error}") };
        assert_eq!((line, column, near.as_str()), (2, 7, "("));
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let query = parse_query("\u{FEFF}SELECT * { ?s ?p ?o }", &Prologue::default()).expect("a query");
        assert_eq!(query, parse_query("SELECT * { ?s ?p ?o }", &Prologue::default()).expect("a query"));
        parse_update("\u{FEFF}CLEAR ALL", &Prologue::default()).expect("an update");
        let error = parse_query("\u{FEFF}SELECT ?s, { ?s ?p ?o }", &Prologue::default()).expect_err("a comma");
        assert!(matches!(error, Error::SparqlSyntax { line: 1, column: 10, .. }), "{error}");
        parse_query("SELECT \u{FEFF}* { ?s ?p ?o }", &Prologue::default()).expect_err("a mark within the text");
    }
}
