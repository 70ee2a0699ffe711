//! Results that are sorted and cut off: the same rows as of sorting everything, for less work.

use fulgurite_rdf::StatementKinds;
use fulgurite_rdf::oxrdf::{Term, Variable};
use fulgurite_rdf::sparql::{JoinOrder, Query};

use crate::fixture::{Fixture, parse, query, rows_of};

/// Reports with numbers, dates, times with and without zones, notes that not all have, and topics.
fn reports(seed: u64) -> Fixture {
    let mut state = seed;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut text = String::new();
    for report in 0..600 {
        let (pages, month, day) = (next(40), next(12) + 1, next(28) + 1);
        let kind = if next(3) == 0 { "Draft" } else { "Report" };
        text.push_str(&format!(
            ":r{report} rdf:type :{kind} ; :pages {pages} ; :date \"20{:02}-{month:02}-{day:02}\"^^xsd:date ; :about :t{} ; \
             :weight {}.{}e0 ; :price {}.{} ; :seen \"2020-{month:02}-{day:02}T10:00:00{}\"^^xsd:dateTime .\n",
            next(30),
            next(9),
            next(50),
            next(10),
            next(20),
            next(100),
            ["", "Z", "+02:00"][next(3) as usize],
        ));
        if next(4) == 0 {
            text.push_str(&format!(":r{report} :note \"note {}\" .\n", next(100)));
        }
        if next(50) == 0 {
            text.push_str(&format!(":r{report} :pages {}.5 , :none .\n", next(40)));
        }
        if next(60) == 0 {
            // Numbers that no number of a term holds.
            let (sign, digits) = (["", "-"][next(2) as usize], next(1_000));
            text.push_str(&format!(":r{report} :price {sign}{digits}0000000000.25 , {sign}{digits}e300 .\n"));
        }
        if next(5) == 0 {
            let (graph, pages) = (next(3), next(40));
            text.push_str(&format!(":g{graph} {{ :r{report} :pages {pages} ; :about :t{} . }}\n", next(9)));
        }
    }
    for topic in 0..9 {
        text.push_str(&format!(":t{topic} :name \"topic {topic}\" ; :rank {} .\n", topic % 4));
    }
    Fixture::new(&text)
}

const SHAPES: [&str; 20] = [
    "SELECT ?r ?k { ?r :pages ?k }",
    "SELECT ?r ?k { ?r rdf:type :Report ; :pages ?k }",
    "SELECT ?r ?k { ?r rdf:type :Report ; :date ?k }",
    "SELECT ?r ?k { ?r :about ?t ; :weight ?k . ?t :rank 2 }",
    "SELECT ?r ?k { ?r :price ?k ; :note ?n }",
    "SELECT ?r ?k ?n { ?r :pages ?k OPTIONAL { ?r :note ?n } }",
    "SELECT ?r ?k { ?r :date ?k FILTER NOT EXISTS { ?r :note ?n } }",
    "SELECT ?r ?k { { ?r :pages ?k } UNION { ?r :price ?k } }",
    "SELECT ?r ?k { ?r :about ?t . ?t :rank ?k FILTER(?k != 3) }",
    "SELECT ?r ?k ?s { ?r :date ?k . ?s :date ?k . ?s :note ?n FILTER(?r != ?s) }",
    "SELECT ?r (COUNT(?t) AS ?n) ?k { ?r :pages ?k ; :about ?t } GROUP BY ?r ?k",
    "SELECT ?r ?k { { SELECT ?r ?k { ?r :weight ?k } ORDER BY ?r LIMIT 50 } ?r :note ?n }",
    "SELECT ?r ?k { VALUES ?t { :t1 :t3 } ?r :about ?t ; :pages ?k }",
    "SELECT ?r ?k { ?r :about/:rank ?k }",
    "SELECT DISTINCT ?r ?k { ?r (:pages|:price) ?k }",
    "SELECT ?r ?k { ?r :pages ?k MINUS { ?r :note ?n } }",
    "SELECT ?r ?k (COUNT(?t) AS ?n) { ?r :pages ?k ; :about ?t } GROUP BY ?r ?k HAVING (?k > 20)",
    "SELECT ?r ?g ?k { GRAPH ?g { ?r :pages ?k } }",
    "SELECT ?r ?k { GRAPH :g1 { ?r :pages ?k ; :about ?t } ?r :date ?d }",
    "SELECT DISTINCT ?r ?k FROM :g0 FROM :g2 { ?r :pages ?k }",
];

#[test]
fn the_first_rows_are_those_of_sorting_all() {
    for seed in [1, 2] {
        let fixture = reports(seed);
        for shape in SHAPES {
            for key in ["?k", "DESC(?k)"] {
                let last = ["?s", "?g"].into_iter().find(|other| shape.contains(other)).unwrap_or_default();
                let last = format!("?r {last}");
                let all = fixture.rows_in_order(&format!("{shape} ORDER BY {key} {last}"));
                for (limit, offset) in [(1, 0), (20, 0), (7, 13), (5_000, 0), (10, 100_000)] {
                    let wanted: Vec<&String> = all.iter().skip(offset).take(limit).collect();
                    let text = format!("{shape} ORDER BY {key} {last} LIMIT {limit} OFFSET {offset}");
                    for order in [JoinOrder::Counts, JoinOrder::Written] {
                        let rows = rows_of(&query(&text).with_join_order(order), &fixture.snapshot()).expect("rows");
                        assert_eq!(rows.iter().collect::<Vec<_>>(), wanted, "seed {seed}: {text}");
                    }
                }
            }
        }
    }
}

/// What a transaction has written, and what is inferred, lies elsewhere than what was loaded.
#[test]
fn the_first_rows_of_a_transaction_are_those_of_sorting_all_that_it_sees() {
    let fixture = reports(7);
    let late =
        parse(":x :date \"1990-01-01\"^^xsd:date ; :pages 1000 . :y :date \"2090-01-01\"^^xsd:date ; :pages -3 .");
    let inferred =
        parse(":z :date \"1995-05-05\"^^xsd:date ; :pages 17 . :r1 :date \"2091-01-01\"^^xsd:date ; :pages 990 .");
    let mut transaction = fixture.store.begin().expect("a transaction");
    for quad in &late {
        assert!(transaction.insert(quad).expect("inserted"));
    }
    for quad in &inferred {
        assert!(transaction.insert_inferred(quad).expect("inserted"));
    }
    let text = "SELECT DISTINCT ?r ?d { ?r :date ?d ; :pages ?k }";
    let view = transaction.view();
    let mut first = Vec::new();
    for (key, statements) in
        [("?d", StatementKinds::All), ("DESC(?d)", StatementKinds::All), ("DESC(?d)", StatementKinds::Explicit)]
    {
        let view = view.of_kinds(statements);
        let rows = |text: &str| rows_of(&query(text), &view).expect("rows");
        let all = rows(&format!("{text} ORDER BY {key} ?r"));
        for limit in [1, 3, 50] {
            assert_eq!(rows(&format!("{text} ORDER BY {key} ?r LIMIT {limit}")), all[..limit], "{key}");
        }
        first.push(all[0].split(' ').next().expect("a row").to_owned());
    }
    assert_eq!(first, ["r=x", "r=r1", "r=y"]);
}

/// A time with a zone and one without may be in no order: any row may come first that no other comes
/// before.
#[test]
fn times_with_and_without_zones_are_not_left_out_for_each_other() {
    let fixture = Fixture::new(
        ":a :seen \"2020-01-01T10:00:00\"^^xsd:dateTime . :b :seen \"2020-01-01T10:00:01Z\"^^xsd:dateTime .
         :c :seen \"2020-03-01T10:00:00\"^^xsd:dateTime . :d :seen \"2020-03-01T10:00:01Z\"^^xsd:dateTime .",
    );
    for (key, first) in [("?k", ["r=a", "r=b"]), ("DESC(?k)", ["r=c", "r=d"])] {
        let rows = fixture.rows_in_order(&format!("SELECT ?r {{ ?r :seen ?k }} ORDER BY {key} LIMIT 2"));
        let mut sorted = rows.clone();
        sorted.sort();
        assert_eq!(sorted, first, "{key}: {rows:?}");
    }
}

#[test]
fn rows_that_bind_no_key_are_first_and_a_value_that_is_given_is_kept_to() {
    let fixture = reports(4);
    let all = fixture.rows_in_order("SELECT ?r ?n { ?r :pages ?k OPTIONAL { ?r :note ?n } } ORDER BY ?n ?r");
    let cut = fixture.rows_in_order("SELECT ?r ?n { ?r :pages ?k OPTIONAL { ?r :note ?n } } ORDER BY ?n ?r LIMIT 30");
    assert_eq!(cut, all[..30]);
    let text = "SELECT ?t ?k ?r { ?r :about ?t ; :pages ?k } ORDER BY DESC(?k) ?r";
    let topic = |text: &str| {
        let topic = Term::NamedNode(fulgurite_rdf::oxrdf::NamedNode::new_unchecked("http://example.org/t3"));
        rows_of(&query(text).with_binding(Variable::new_unchecked("t"), topic), &fixture.snapshot()).expect("rows")
    };
    assert_eq!(topic(&format!("{text} LIMIT 5")), topic(text)[..5]);
}

fn quads_read(fixture: &Fixture, query: &Query) -> u64 {
    query.explain_evaluated(&fixture.snapshot()).expect("explained").quads_read.expect("evaluated")
}

#[test]
fn a_pattern_is_read_in_the_order_of_the_key_until_enough_rows_are_there() {
    let fixture = reports(5);
    let text = "SELECT ?r ?k { ?r rdf:type ?c ; :date ?k ; :about ?t ; :weight ?w } ORDER BY DESC(?k) ?r";
    let (all, few) = (quads_read(&fixture, &query(text)), quads_read(&fixture, &query(&format!("{text} LIMIT 3"))));
    assert!(all >= 2_400, "{all}");
    // The dates are all read, to begin with the last ones; for few of them the rest.
    assert!(few <= 640, "{few}");
}

#[test]
fn what_is_selective_is_still_looked_up_first() {
    let fixture = reports(6);
    let text = "SELECT ?k { ?r :date ?k ; :note \"note 7\" } ORDER BY ?k LIMIT 3";
    let reads = quads_read(&fixture, &query(text));
    assert!(reads <= 20, "{reads}");
}
