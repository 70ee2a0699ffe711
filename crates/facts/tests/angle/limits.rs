//! Pages, limits and profiles of queries.

use std::collections::BTreeSet;
use std::time::Duration;

use fulgurite_facts::{CancellationToken, Error, PageFlow, QueryLimits};

use crate::memory::Database;

const SCHEMA: &str = "schema p.1 {
predicate Number : nat
predicate Word : string
predicate Empty : nat
predicate Use : { word : Word, number : Number }
predicate Both : { word : string, number : nat } { W, N } where Use { Word W, Number N }
predicate Named : string W where (Word W | Word W)
}";

fn database(count: usize) -> Database {
    let uses: Vec<String> = (0..count)
        .map(|n| format!(r#"{{ "key": {{ "word": {{ "key": "w{}" }}, "number": {{ "key": {n} }} }} }}"#, n % 7))
        .collect();
    Database::new(SCHEMA, &format!(r#"[{{ "predicate": "p.Use.1", "facts": [{}] }}]"#, uses.join(",")))
}

/// Queries whose loops are of every kind, whose results match in one way each.
const QUERIES: &[&str] = &[
    "p.Number _",
    "N where p.Number N; N < 10",
    "N where p.Use { word = \"w3\", number = p.Number N }",
    "p.Both { word = \"w\".. }",
    "{ A, B } where p.Word A; p.Word B",
    "X where X = ([1, 2, 3][..] | (N where p.Number N; N > 40) | 99)",
    "{ W, N } where W = p.Word _; N = (if p.Use { word = W, number = p.Number 8 } then 1 else [4, 5][..])",
    "{ W, N } where W = p.Word _; if p.Use { word = W, number = N } then {} else (N = p.Number 8)",
    "{ W, prim.size S } where W = p.Word _; S = all (N where p.Use { word = W, number = N })",
    "W where W = p.Word _; !(p.Use { word = W, number = p.Number 8 })",
];

#[test]
fn pages_of_any_size_have_the_results_of_one_run_in_its_order() {
    let database = database(45);
    for query in QUERIES {
        let compiled = database.query(query).expect("the query compiles");
        let whole: Vec<Vec<u8>> = database.page(query).results.into_iter().map(|result| result.bytes).collect();
        assert!(whole.len() > 2, "{query}");
        for results_max in [1, 2, 5, whole.len(), whole.len() + 1] {
            let limits = QueryLimits { results_max: Some(results_max), ..QueryLimits::default() };
            let mut page = compiled.run(&database.memory, &limits).expect("it runs");
            let mut paged = Vec::new();
            loop {
                assert!(page.results.len() <= results_max);
                paged.extend(page.results.iter().map(|result| result.bytes.clone()));
                let Some(continuation) = page.continuation else { break };
                page = compiled.continue_from(&database.memory, &limits, &continuation).expect("it continues");
            }
            // A derived fact has its number from the page that derives it.
            if query.starts_with("p.Both") {
                assert_eq!(paged.len(), whole.len(), "{query} by {results_max}");
            } else {
                assert_eq!(paged, whole, "{query} by {results_max}");
            }
        }
    }
}

#[test]
fn a_page_ends_at_its_bytes_and_at_its_time_and_continues() {
    let database = database(2000);
    let compiled = database.query("p.Number _").expect("the query compiles");
    let bytes = QueryLimits { bytes_max: Some(100), ..QueryLimits::default() };
    let page = compiled.run(&database.memory, &bytes).expect("it runs");
    assert!((20..60).contains(&page.results.len()) && page.continuation.is_some(), "{}", page.results.len());

    let time = QueryLimits { time_max: Some(Duration::ZERO), ..QueryLimits::default() };
    let (mut pages, mut found) = (1, BTreeSet::new());
    let mut page = compiled.run(&database.memory, &time).expect("it runs");
    assert!(page.timed_out);
    loop {
        found.extend(page.results.iter().map(|result| result.bytes.clone()));
        let Some(continuation) = page.continuation else { break };
        page = compiled.continue_from(&database.memory, &time, &continuation).expect("it continues");
        pages += 1;
    }
    assert!(found.len() == 2000 && pages > 10, "{} results on {pages} pages", found.len());

    let in_set = database.query("prim.size (all (p.Number _))").expect("the query compiles");
    assert!(matches!(in_set.run(&database.memory, &time), Err(Error::QueryTime)));
}

#[test]
fn memory_is_bounded() {
    let database = database(2000);
    let limits = QueryLimits { memory_bytes_max: 1000, ..QueryLimits::default() };
    for query in ["p.Number _", "prim.size (all (p.Number _))", "X where X = p.Both _"] {
        let compiled = database.query(query).expect("the query compiles");
        let error = compiled.run(&database.memory, &limits).expect_err("it needs more");
        assert!(matches!(error, Error::QueryMemory { limit_bytes: 1000 }), "{query}: {error}");
    }
}

/// A list of results took ten times the memory that was counted.
#[test]
fn memory_counts_what_a_list_of_results_takes_and_what_a_visitor_keeps() {
    let database = database(2000);
    let compiled = database.query("p.Number _").expect("the query compiles");
    let limits = QueryLimits { memory_bytes_max: 200_000, ..QueryLimits::default() };
    // In a list, each of them takes more than a hundred bytes.
    let error = compiled.run(&database.memory, &limits).expect_err("it needs more");
    assert!(matches!(error, Error::QueryMemory { limit_bytes: 200_000 }), "{error}");
    // A visitor that keeps nothing needs less: only that each is returned once.
    for (kept_bytes, expected) in [(0, 2000..2001), (1_000, 100..201)] {
        let mut found = 0;
        let page = compiled.run_each(&database.memory, &limits, &mut |result| {
            found += 1;
            result.keep(kept_bytes);
            Ok(PageFlow::Continue)
        });
        assert!(expected.contains(&found), "{found} results of {kept_bytes} bytes");
        assert_eq!(page.is_ok(), found == 2000);
    }
}

#[test]
fn a_choice_between_predicates_without_facts_has_no_results() {
    let database = database(3);
    for query in [
        "X where X = (if p.Number _ then p.Empty 1 else p.Empty 2)",
        "M where if p.Number _ then p.Empty M else p.Empty M",
        "{ N, X } where p.Number N; X = (p.Empty _ | (if p.Word _ then p.Empty 1 else p.Empty 2))",
    ] {
        assert_eq!(database.results(query).len(), 0, "{query}");
    }
    assert_eq!(database.results("N where p.Number N; !(if p.Number _ then p.Empty 1 else p.Empty 2)").len(), 3);
}

#[test]
fn a_query_whose_types_or_steps_are_too_many_is_refused() {
    let database = database(1);
    let chain = |variable: &str, count: usize, next: &dyn Fn(String) -> String| -> Vec<String> {
        let statement = |n: usize| format!("{variable}{n} = {}", next(format!("{variable}{}", n - 1)));
        std::iter::once(format!("{variable}0 = 1")).chain((1..=count).map(statement)).collect()
    };
    let backwards = |mut statements: Vec<String>| {
        statements.reverse();
        statements
    };
    let pairs = |variable: &str, count| chain(variable, count, &|inner| format!("{{ {inner}, {inner} }}"));
    let arrays = |count| chain("A", count, &|inner| format!("[{inner}]"));
    for (statements, last) in [
        (pairs("A", 40), "A40"),
        (backwards(pairs("A", 40)), "A40"),
        ([backwards(pairs("A", 40)), backwards(pairs("B", 40)), vec!["A40 = B40".to_owned()]].concat(), "A40"),
        (arrays(400), "A400"),
        (backwards(arrays(400)), "A400"),
    ] {
        let query = format!("{last} where {}", statements.join("; "));
        let error = database.error(&query);
        assert!(error.contains("the type is too large"), "{}: {error}", &query[..80]);
        assert!(error.len() < 10_000, "{} bytes", error.len());
    }
    let fits = chain("A", 12, &|inner| format!("{{ {inner}, [{inner}] }}"));
    assert_eq!(database.page(&format!("A12 where {}", fits.join("; "))).results.len(), 1);

    let facts = format!("N where p.Number N; {}", vec!["p.Number N"; 30_000].join("; "));
    let tuple = format!("{{ {} }}", vec!["p.Number _"; 30_000].join(", "));
    for query in [facts, tuple] {
        let error = database.error(&query);
        assert!(error.contains("more than 500 statements"), "{error}");
    }
}

#[test]
fn a_type_that_a_query_writes_is_as_large_as_one_of_a_schema_at_most() {
    let fields = |count: usize, ty: &str| (0..count).map(|n| format!("f{n} : {ty}")).collect::<Vec<_>>().join(", ");
    let schema = format!("schema p.1 {{ type Large = {{ {} }} predicate P : Large }}", fields(1_000, "nat"));
    let database = Database::new(&schema, "[]");
    let query = |count: usize| format!("X where X = ([] : [{{ {} }}])", fields(count, "p.Large"));
    assert_eq!(database.page(&query(100)).results.len(), 1);
    let error = database.error(&query(300));
    assert!(error.contains("query:1:19: the type is too large: types have at most 200000 parts"), "{error}");
}

#[test]
fn what_is_repeated_in_branches_does_not_make_a_query_too_deep() {
    let database = database(45);
    let statements = |count: usize| -> Vec<String> {
        let statement = |n: usize| format!("(p.Word W{n} | p.Word W{n}); W{n} = \"w3\"..");
        (0..count).map(statement).collect()
    };
    // For each variable, four loops are in each other, or five with a pattern that is repeated.
    let query = format!("W0 where {}", statements(110).join("; "));
    assert!(database.query(&query).is_ok());
    let query = format!("W0 where {}", statements(2).join("; "));
    let searched = database.page(&query).searched.iter().map(|(_, count)| *count).sum::<u64>();
    assert_eq!(searched, 3, "few statements are narrowed: two searches for a result, and one until the first match");
    let error = database.error(&format!("W0 where {}", statements(300).join("; ")));
    assert!(error.contains("more than 500 statements"), "{error}");
}

/// As many branches as it has variables, each within all before it.
fn branches(count: usize, condition: &str) -> String {
    let names: Vec<String> = (0..count).map(|number| format!("V{number}")).collect();
    let bound: Vec<String> = names.iter().map(|name| format!("{name} = (0 | 1)")).collect();
    format!("{{ {} }} where {}; {} {condition}", names.join(", "), bound.join("; "), names.join(" + "))
}

#[test]
fn a_query_that_searches_no_facts_keeps_to_its_time_and_is_cancelled() {
    let database = database(1);
    let time = QueryLimits { time_max: Some(Duration::ZERO), ..QueryLimits::default() };
    let compiled = database.query(&branches(10, "> 1000")).expect("the query compiles");
    let page = compiled.run(&database.memory, &time).expect("it runs");
    assert!(page.timed_out && page.results.is_empty() && page.continuation.is_some());
    let cancellation = CancellationToken::new();
    cancellation.cancel();
    let limits = QueryLimits { cancellation, ..QueryLimits::default() };
    assert!(matches!(compiled.run(&database.memory, &limits), Err(Error::Cancelled)));

    let planned = database.compiler.query_within(&branches(10, ">= 2"), &database.memory, &limits);
    assert!(matches!(planned, Err(Error::Cancelled)));
    let planned = database.compiler.query_within(&branches(10, ">= 2"), &database.memory, &time);
    assert!(matches!(planned, Err(Error::QueryTime)));

    let query = branches(10, ">= 2");
    let whole: Vec<Vec<u8>> = database.page(&query).results.into_iter().map(|result| result.bytes).collect();
    assert_eq!(whole.len(), 1024 - 11);
    let compiled = database.query(&query).expect("the query compiles");
    let (mut paged, mut pages) = (Vec::new(), 1);
    let mut page = compiled.run(&database.memory, &time).expect("it runs");
    loop {
        paged.extend(page.results.into_iter().map(|result| result.bytes));
        let Some(continuation) = page.continuation else { break };
        page = compiled.continue_from(&database.memory, &time, &continuation).expect("it continues");
        pages += 1;
    }
    assert_eq!(paged, whole);
    assert!(pages > 5, "{pages} pages");
}

#[test]
fn values_of_variables_and_of_loops_count_as_memory() {
    let database = database(1);
    // Each array is twice as long as the one before.
    let doubled: Vec<String> = (1..=12).map(|n| format!("A{n} = prim.concat A{} A{}", n - 1, n - 1)).collect();
    let copies: Vec<String> = (0..20).map(|n| format!("B{n} = prim.concat A12 [{n}]")).collect();
    let sum: Vec<String> = (0..20).map(|n| format!("prim.length B{n}")).collect();
    let large = format!("A0 = [1, 2, 3, 4]; {}", doubled.join("; "));
    let loops = vec!["_ = A12[..]"; 20].join("; ");
    let limits = QueryLimits { memory_bytes_max: 200_000, ..QueryLimits::default() };
    let (copies, sum) = (copies.join("; "), sum.join(" + "));
    for (query, fits) in [
        (format!("prim.length A12 where {large}"), true),
        (format!("{sum} where {large}; {copies}"), false),
        (format!("{{ A12, A12, A12, A12, A12, A12, A12, A12, A12, A12, A12, A12 }} where {large}"), false),
        (format!("1 where {large}; {loops}"), false),
    ] {
        let compiled = database.query(&query).expect("the query compiles");
        match compiled.run(&database.memory, &limits) {
            Ok(page) => assert!(fits && page.results.len() == 1, "{query}"),
            Err(error) => assert!(!fits && matches!(error, Error::QueryMemory { .. }), "{query}: {error}"),
        }
    }
}

#[test]
fn a_continuation_at_a_fact_that_there_is_not_is_refused() {
    let (large, small) = (database(45), database(3));
    let limits = QueryLimits { results_max: Some(40), ..QueryLimits::default() };
    // Queries without numbers in their plans: the continuation of one database fits the plan of the other.
    let page = large.query("p.Number _").unwrap().run(&large.memory, &limits).unwrap();
    let refused = small.query("p.Number _").unwrap().continue_from(&small.memory, &limits, &page.continuation.unwrap());
    let error = refused.expect_err("it is of another database");
    assert!(matches!(error, Error::Continuation(reason) if reason.contains("another database")), "{error}");
}

#[test]
fn a_continuation_that_is_cut_off_changed_or_of_another_query_is_an_error() {
    let database = database(45);
    let compiled = database.query(QUERIES[2]).expect("the query compiles");
    let limits = QueryLimits { results_max: Some(1), ..QueryLimits::default() };
    let continuation = compiled.run(&database.memory, &limits).expect("it runs").continuation.expect("there is more");
    for length in 0..continuation.len() {
        let error =
            compiled.continue_from(&database.memory, &limits, &continuation[..length]).expect_err("it is cut off");
        assert!(matches!(error, Error::Continuation(_)), "{error}");
    }
    let other = database.query("p.Number _").expect("the query compiles");
    assert!(matches!(other.continue_from(&database.memory, &limits, &continuation), Err(Error::Continuation(_))));
    // Any change gives results or an error, and never a panic.
    for at in 0..continuation.len() {
        for change in [1, 0x80, 0xFF] {
            let mut changed = continuation.clone();
            changed[at] ^= change;
            let _ = compiled.continue_from(&database.memory, &limits, &changed);
        }
    }
}

#[test]
fn a_continuation_far_within_an_array_without_content_goes_on_at_once() {
    let marks = r#"[{ "predicate": "p.Marks.1", "facts": [{ "key": [{}, {}] }] }]"#;
    let database = Database::new("schema p.1 { predicate Marks : [{}] }", marks);
    // 2⁶⁰ elements, which take no memory.
    let doubled: Vec<String> = (1..60).map(|n| format!("A{n} = prim.concat A{} A{}", n - 1, n - 1)).collect();
    let query = format!("1 where p.Marks A0; {}; _ = A59[..]", doubled.join("; "));
    let compiled = database.query(&query).expect("the query compiles");
    let limits = QueryLimits { results_max: Some(1), ..QueryLimits::default() };
    let mut continuation = compiled.run(&database.memory, &limits).unwrap().continuation.expect("there is more");
    // It ends with the place in the array, and with the fact, whose id takes two bytes.
    let at = continuation.len() - 5;
    assert_eq!(continuation[at..at + 3], [0, 0, 1]);
    // A client may change it. This is the number 0x0102_0408_1020_4080.
    drop(continuation.splice(at + 1..at + 2, [0xFF, 0, 0, 0, 0, 0, 0, 0, 0]));
    let page = compiled.continue_from(&database.memory, &limits, &continuation).expect("the place exists");
    assert_eq!(page.results.len(), 1);
    // Here is no element.
    drop(continuation.splice(at + 1..at + 10, [0xFF, 0x10, 0, 0, 0, 0, 0, 0, 0]));
    let page = compiled.continue_from(&database.memory, &limits, &continuation).expect("it is behind the last one");
    assert!(page.results.is_empty() && page.continuation.is_none());
}

#[test]
fn a_profile_counts_the_facts_that_were_searched() {
    let database = database(45);
    let page = database.page("p.Number 3");
    assert_eq!(page.searched.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1]);
    let page = database.page("p.Number _");
    assert_eq!(page.searched.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [45]);
    // The word is looked up by its key, and then the uses with this word by their prefix.
    let page = database.page("p.Use { word = \"w3\" }");
    assert_eq!(page.searched.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1, 6]);
}

#[test]
fn what_is_said_of_a_variable_narrows_the_search_for_facts_with_it() {
    let database = database(45);
    for (query, searched, results) in [
        // Of 7 words and 45 uses: numbers, words and uses that are searched, in this order.
        ("W where p.Word W; W = \"w3\"..", vec![1], 1),
        ("W where p.Word W; W = X; X = \"w3\"..", vec![1], 1),
        ("W where p.Word W; W = (\"w\".. R); R = \"3\"..", vec![1], 1),
        ("U where p.Use U; U.word = p.Word \"w3\"", vec![1, 6], 6),
        ("U where p.Use U; U.word = p.Word W; W = \"w3\"..; U.number = p.Number 10", vec![1, 1, 1], 1),
        ("U where p.Use U; { word = p.Word \"w3\" } = U", vec![1, 6], 6),
        ("1 where !(p.Word W; W = \"x\"..)", vec![0], 1),
        ("W where (p.Word W; W = \"w3\"..) | (p.Word W; W = \"w4\"..)", vec![2], 2),
        // Each branch is narrowed by what is beside the branches.
        ("W where (p.Word W | p.Word W); W = \"w3\"..", vec![2], 1),
        ("W where ((p.Word W | p.Word W) | p.Word W); W = \"w3\"..", vec![3], 1),
        ("W where (if p.Number 1 then p.Word W else p.Word W); W = \"w3\"..", vec![1, 1], 1),
        // A look-up counts if it finds nothing, too.
        ("W where (if p.Number 99 then p.Word W else p.Word W); W = \"w3\"..", vec![1, 1], 1),
        ("p.Named \"w3\"..", vec![2], 1),
        // What a derived predicate is searched for.
        ("p.Both { word = \"w3\".. }", vec![6, 1, 6], 6),
        ("N where p.Both { word = W, number = N }; W = \"w3\"..", vec![6, 1, 6], 6),
        ("B where p.Both B; B.word = \"w3\"..", vec![6, 1, 6], 6),
        ("B where B = p.Both X; X.word = \"w3\"..", vec![6, 1, 6], 6),
    ] {
        let page = database.page(query);
        let counts: Vec<u64> = page.searched.iter().map(|(_, count)| *count).collect();
        assert_eq!((counts, page.results.len()), (searched, results), "{query}");
    }
}
