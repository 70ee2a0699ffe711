//! `GRAPH ?g { P }`: `P` is evaluated in each named graph, and the graph's name joined to its solutions afterwards
//! (SPARQL 1.1, 18.6).

use crate::fixture::Fixture;

const GRAPHS: &str = ":out :p 9 .
    GRAPH :g1 { :a :p :b . :b :p :c . :a :q :g1 . :z :r 1 }
    GRAPH :g2 { :c :p :d . :d :q :g1 . :x :r 2 }";

/// The solutions of the text within `GRAPH ?g`.
fn within_each(fixture: &Fixture, text: &str) -> Vec<String> {
    fixture.rows(&format!("SELECT * {{ GRAPH ?g {{ {text} }} }}"))
}

#[test]
fn minus_takes_nothing_away_where_its_sides_share_the_graph_alone() {
    let fixture = Fixture::new(GRAPHS);
    let all = ["g=g1 s=a o=b", "g=g1 s=b o=c", "g=g2 s=c o=d"];
    for minus in [
        "MINUS { ?x :r ?y }",
        "MINUS { ?x :r ?y OPTIONAL { ?x :never ?o } }",
        "MINUS { ?x :r ?y OPTIONAL { ?s :never ?o } }",
        "MINUS { { ?x :r ?y } UNION { ?s :never ?o } }",
        "MINUS { VALUES (?s ?y) { (UNDEF 1) (UNDEF 2) } ?x :r ?y }",
        "MINUS { GRAPH ?g { ?x :r ?y } }",
    ] {
        assert_eq!(within_each(&fixture, &format!("?s :p ?o {minus}")), all, "{minus}");
    }
    let sub_select = "{ SELECT ?s ?o { ?s :p ?o } } MINUS { ?x :q ?y OPTIONAL { ?x :never ?o } }";
    assert_eq!(within_each(&fixture, sub_select), all);
}

#[test]
fn minus_compares_what_both_sides_bind_in_the_same_graph() {
    let fixture = Fixture::new(GRAPHS);
    let left = |minus: &str| within_each(&fixture, &format!("?s :p ?o {minus}"));
    assert_eq!(left("MINUS { ?s :q ?x }"), ["g=g1 s=b o=c", "g=g2 s=c o=d"]);
    // In :g1 the option binds the ?o of the first row; in :g2 it binds none.
    assert_eq!(left("MINUS { ?x :q ?y OPTIONAL { ?x :p ?o } }"), ["g=g1 s=b o=c", "g=g2 s=c o=d"]);
    assert_eq!(left("MINUS { ?x :q ?y OPTIONAL { ?o :q ?y } }"), ["g=g1 s=a o=b", "g=g1 s=b o=c"]);
    let nested = "MINUS { ?s :p ?o MINUS { ?x :q ?y OPTIONAL { ?x :p ?o } } }";
    assert_eq!(left(nested), ["g=g1 s=a o=b"]);
}

#[test]
fn minus_within_lateral_and_exists_compares_its_own_sides() {
    let fixture = Fixture::new(":a :p 1 . :b :p 2 . :x :r 5 .");
    let minus = "?s :p ?o MINUS { ?x :r ?y OPTIONAL { ?x :never ?o } }";
    assert_eq!(fixture.rows(&format!("SELECT ?k ?s {{ VALUES ?k {{ 7 }} LATERAL {{ {minus} }} }}")).len(), 2);
    assert!(fixture.ask(&format!("ASK {{ VALUES ?k {{ 7 }} FILTER EXISTS {{ {minus} }} }}")));
}

#[test]
fn the_name_of_the_graph_is_another_variable_within_it_until_both_are_joined() {
    let fixture = Fixture::new(GRAPHS);
    let all = ["g=g1 s=a o=b", "g=g1 s=b o=c", "g=g2 s=c o=d"];
    let each = |text: &str| within_each(&fixture, text);
    assert_eq!(each("?s :q ?g"), ["g=g1 s=a"]);
    assert_eq!(each("?s :p ?o OPTIONAL { ?s :q ?r FILTER(?g = :g1) }"), all);
    assert_eq!(each("?s :p ?o FILTER(!BOUND(?g))"), all);
    assert!(each("?s :p ?o FILTER(?g = :g1)").is_empty());
    assert_eq!(fixture.rows("SELECT * { GRAPH ?g { ?s :p ?o } FILTER(?g = :g2) }"), ["g=g2 s=c o=d"]);
    assert_eq!(each("?s :p ?o BIND(COALESCE(?g, 1) AS ?k)").len(), 3);
    assert_eq!(each("?s :p ?o BIND(COALESCE(?g, 1) AS ?k) FILTER(?k = 1)").len(), 3);
    // The right side has every ?g, not the graph alone.
    assert_eq!(each("?s :p ?o MINUS { ?s :q ?g }"), ["g=g1 s=b o=c", "g=g2 s=c o=d"]);
    assert_eq!(each("?s :q ?r MINUS { ?s :q ?g }"), Vec::<String>::new());
    // The option has bound it to :g1 in :g2, which is not the name of that graph.
    assert_eq!(each("?d :q ?k OPTIONAL { ?d :q ?g }"), ["g=g1 d=a k=g1"]);
    assert_eq!(each("?s :p ?o FILTER EXISTS { ?s :q ?g }"), ["g=g1 s=a o=b"]);
    assert_eq!(each("?s :p ?o FILTER NOT EXISTS { ?x :q ?g }"), Vec::<String>::new());
    assert_eq!(each("SELECT ?s ?g { ?s :q ?g } ORDER BY ?g LIMIT 1"), ["g=g1 s=a"]);
    assert_eq!(each("BIND(:g2 AS ?g)"), ["g=g2"]);
    assert_eq!(each("VALUES ?g { :g1 :g4 }"), ["g=g1"]);
    assert_eq!(each("GRAPH ?g { ?s :q ?g }"), ["g=g1 s=a"]);
}

#[test]
fn exists_puts_the_graph_of_its_row_in_everywhere() {
    let fixture = Fixture::new(GRAPHS);
    let rows = "SELECT ?g { VALUES ?g { :g1 :g2 } FILTER EXISTS { GRAPH ?g { ?s :p ?o FILTER(?g = :g1) } } }";
    assert_eq!(fixture.rows(rows), ["g=g1"]);
    let rows = "SELECT ?g { VALUES ?g { :g1 :g2 } FILTER EXISTS { GRAPH ?g { ?s :p ?o FILTER EXISTS { ?s :q ?g } } } }";
    assert_eq!(fixture.rows(rows), ["g=g1"]);
}

#[test]
fn a_path_between_known_nodes_is_in_a_graph_once() {
    let fixture = Fixture::new("GRAPH :g { :a :p :b, :c . :b :p :d . :c :p :d } GRAPH :h { :a :p :d }");
    for before in ["", "BIND(1 AS ?one)", "GRAPH :g { :b :p ?d }"] {
        let rows = fixture.rows(&format!("SELECT ?g {{ {before} GRAPH ?g {{ :a :p+ :d }} }}"));
        assert_eq!(rows, ["g=g", "g=h"], "{before}");
    }
    // The group within is evaluated before it is joined.
    let optional = "OPTIONAL { GRAPH ?g { :a :p+ :d } OPTIONAL { ?s :nothing ?o } }";
    assert_eq!(fixture.rows(&format!("SELECT ?g {{ VALUES ?g {{ :g :h }} {optional} }}")), ["g=g", "g=h"]);
    assert_eq!(fixture.rows("SELECT ?g { GRAPH :g { :b :p ?d } GRAPH ?g { :a :p+ ?d } }"), ["g=g", "g=h"]);
}

#[test]
fn a_path_of_no_steps_is_in_every_graph() {
    let fixture = Fixture::new(GRAPHS);
    fixture.update("CREATE GRAPH :g3");
    let each = |text: &str| within_each(&fixture, text);
    assert_eq!(each(":a :p* ?y"), ["g=g1 y=a", "g=g1 y=b", "g=g1 y=c", "g=g2 y=a", "g=g3 y=a"]);
    assert_eq!(each("?y :p? :c"), ["g=g1 y=b", "g=g1 y=c", "g=g2 y=c", "g=g3 y=c"]);
    assert_eq!(each("\"text\" (:p|:q)* ?y"), ["g=g1 y=\"text\"", "g=g2 y=\"text\"", "g=g3 y=\"text\""]);
    assert_eq!(each(":none :p* :none"), ["g=g1", "g=g2", "g=g3"]);
    assert_eq!(each(":none :p? []"), ["g=g1", "g=g2", "g=g3"]);
    assert_eq!(each(":none (:p?)+ ?y"), ["g=g1 y=none", "g=g2 y=none", "g=g3 y=none"]);
    assert_eq!(each(":none ^(:p*) ?y"), ["g=g1 y=none", "g=g2 y=none", "g=g3 y=none"]);
    assert!(each(":a :p* :none").is_empty() && each(":none :p+ ?y").is_empty());
    assert_eq!(each("?s :r ?o . ?s :p* :x"), ["g=g2 s=x o=\"2\""]);
    assert_eq!(each("VALUES ?y { :none :b } :none :p* ?y"), ["g=g1 y=none", "g=g2 y=none", "g=g3 y=none"]);
    // The graph's name is not the path's end.
    assert_eq!(each(":g1 :never* ?g"), ["g=g1"]);
    for (graph, rows) in [("g1", 1), ("g3", 1), ("missing", 0)] {
        assert_eq!(fixture.rows(&format!("SELECT * {{ GRAPH :{graph} {{ ?y :p* :none }} }}")).len(), rows, "{graph}");
        assert_eq!(fixture.ask(&format!("ASK {{ GRAPH :{graph} {{ :none :p* :none }} }}")), rows == 1, "{graph}");
    }
    assert_eq!(fixture.rows("SELECT ?y { GRAPH :g1 { :a :p* ?y } }"), ["y=a", "y=b", "y=c"]);
    let sub_select = "{ SELECT ?y { :a :p* ?y } } ?s :r ?o";
    assert_eq!(
        each(sub_select),
        ["g=g1 y=a s=z o=\"1\"", "g=g1 y=b s=z o=\"1\"", "g=g1 y=c s=z o=\"1\"", "g=g2 y=a s=x o=\"2\""]
    );
}

/// Random choices that a seed repeats.
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn of<'c>(&mut self, list: &[&'c str]) -> &'c str {
        list[usize::try_from(self.below(list.len() as u64)).expect("a place")]
    }

    fn node(&mut self) -> &'static str {
        self.of(&["?x", "?y", "?g", "?x", "?y", ":a", ":b", ":g1", ":none"])
    }

    fn triple(&mut self) -> String {
        let (subject, object) = (self.node(), self.node());
        format!("{subject} {} {object} . ", self.of(&[":p", ":q", ":p?", ":q*", "(:p|:q)*", ":p"]))
    }

    fn condition(&mut self, depth: u64) -> String {
        match self.below(6) {
            0 => format!("BOUND({})", self.of(&["?x", "?y", "?g"])),
            1 => format!("!BOUND({})", self.of(&["?x", "?y", "?g"])),
            2 => format!("{} = {}", self.of(&["?x", "?y", "?g"]), self.of(&["?x", ":a", ":g1"])),
            3 => "COALESCE(?g = :g1, true)".to_owned(),
            4 => format!("EXISTS {{ {} }}", self.triple()),
            _ => format!("NOT EXISTS {{ {} }}", if depth > 0 { self.group(depth - 1) } else { self.triple() }),
        }
    }

    /// A group without braces.
    fn group(&mut self, depth: u64) -> String {
        let mut text = self.triple();
        for _ in 0..self.below(3) {
            let inner = if depth > 0 { self.group(depth - 1) } else { self.triple() };
            text += &match self.below(8) {
                0 => self.triple(),
                1 | 2 => format!("OPTIONAL {{ {inner} }} "),
                3 | 4 => format!("MINUS {{ {inner} }} "),
                5 => format!("{{ {inner} }} UNION {{ {} }} ", self.triple()),
                6 => format!("{{ SELECT ?x ?g {{ {inner} }} }} "),
                _ => format!("FILTER({}) ", self.condition(depth.saturating_sub(1))),
            };
        }
        text
    }
}

#[test]
fn random_patterns_have_the_solutions_of_each_graph_joined_with_its_name() {
    let fixture = Fixture::new(
        "GRAPH :g1 { :a :p :b . :b :q :g1 . :g1 :p :a } GRAPH :g2 { :b :p :g1 ; :q :a . :g2 :q :g2 } GRAPH :g3 { :a :q :g1 }",
    );
    let seed = 0x5eed_2026;
    let mut choices = Choices(seed);
    for number in 0..1_500 {
        let pattern = choices.group(2);
        let mut expected = Vec::new();
        for graph in ["g1", "g2", "g3"] {
            // The variable of the pattern has another name here, so that it is no other variable's.
            let own = pattern.replace("?g", "?own");
            for row in fixture.rows(&format!("SELECT * {{ GRAPH :{graph} {{ {own} }} }}")) {
                let (owns, others): (Vec<&str>, Vec<&str>) =
                    row.split(' ').partition(|value| value.starts_with("own="));
                if owns.iter().all(|value| value.strip_prefix("own=") == Some(graph)) {
                    expected.push(sorted(&format!("{} g={graph}", others.join(" "))));
                }
            }
        }
        let text = format!("SELECT * {{ GRAPH ?g {{ {pattern} }} }}");
        let mut found: Vec<String> = fixture.rows(&text).iter().map(|row| sorted(row)).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "seed {seed:#x}, pattern {number}: {text}");
    }
}

/// The values of a row by their variables.
fn sorted(row: &str) -> String {
    let mut values: Vec<&str> = row.split_whitespace().collect();
    values.sort_unstable();
    values.join(" ")
}

#[test]
fn a_graph_that_does_not_exist_has_no_rows_whatever_its_pattern_is() {
    let fixture = Fixture::new(GRAPHS);
    for pattern in [
        "{}",
        "VALUES ?x { 1 2 }",
        "{} VALUES ?x { 1 }",
        "BIND(1 AS ?x)",
        "{ SELECT (COUNT(*) AS ?x) { ?s ?p ?o } }",
        "{ SELECT (1 AS ?x) {} }",
        "{ SELECT DISTINCT ?x { VALUES ?x { 1 1 } } ORDER BY ?x LIMIT 1 }",
        "{ ?s :p ?x } UNION { VALUES ?x { 1 } }",
        "VALUES ?x { 1 } OPTIONAL { ?s :p ?o }",
        "VALUES ?x { 1 } MINUS { ?s :p ?x }",
        "VALUES ?x { 1 } FILTER(?x = 1)",
        "VALUES ?x { 1 } LATERAL { BIND(?x + 1 AS ?y) }",
        ":a :p* ?x",
        "VALUES ?x { :a } ?x :p* ?x",
        "GRAPH :g1 { ?s :p ?x }",
        "GRAPH ?g { VALUES ?x { 1 } }",
    ] {
        assert_eq!(fixture.rows(&format!("SELECT * {{ GRAPH :none {{ {pattern} }} }}")), [""; 0], "{pattern}");
        let not_given = format!("SELECT * FROM NAMED :g1 {{ GRAPH :g2 {{ {pattern} }} }}");
        assert_eq!(fixture.rows(&not_given), [""; 0], "{pattern}");
        assert!(!fixture.ask(&format!("ASK {{ GRAPH :none {{ {pattern} }} }}")), "{pattern}");
        assert!(fixture.ask(&format!("ASK {{ FILTER NOT EXISTS {{ GRAPH :none {{ {pattern} }} }} }}")), "{pattern}");
        let nested = format!("SELECT * {{ GRAPH :g1 {{ GRAPH :none {{ {pattern} }} }} }}");
        assert_eq!(fixture.rows(&nested), [""; 0], "{pattern}");
        assert!(fixture.ask(&format!("ASK {{ GRAPH :g1 {{ {pattern} }} }}")), "{pattern}");
        assert!(fixture.ask(&format!("ASK {{ GRAPH :g1 {{ GRAPH :g1 {{ {pattern} }} }} }}")), "{pattern}");
    }
}
