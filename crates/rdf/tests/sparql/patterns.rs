//! Graph patterns: joins, options, alternatives, paths, sub-selects.

use crate::fixture::Fixture;

#[test]
fn a_basic_graph_pattern_joins_on_shared_variables() {
    let rows = Fixture::people().rows("SELECT ?a ?c { ?a :knows ?b . ?b :knows ?c }");
    assert_eq!(rows, ["a=ann c=cid", "a=ann c=dan", "a=bob c=dan"]);
}

#[test]
fn a_pattern_of_constants_alone_is_true_or_empty() {
    let people = Fixture::people();
    assert_eq!(people.rows("SELECT * { :ann :knows :bob }").len(), 1);
    assert!(people.rows("SELECT * { :ann :knows :dan }").is_empty());
}

#[test]
fn a_variable_that_stands_twice_in_a_triple_is_one_variable() {
    let fixture = Fixture::new(":a :p :a . :a :p :b .");
    assert_eq!(fixture.rows("SELECT ?x { ?x :p ?x }"), ["x=a"]);
}

#[test]
fn blank_nodes_of_a_pattern_are_variables_without_names() {
    let people = Fixture::people();
    assert_eq!(people.rows("SELECT ?n { [] :knows [ :name ?n ] FILTER(?n = \"Bob\") }"), ["n=\"Bob\""]);
    assert_eq!(people.rows("SELECT ?a { ?a :knows _:x . _:x :knows :dan }"), ["a=ann", "a=bob"]);
}

#[test]
fn a_term_that_the_store_has_never_seen_matches_nothing() {
    assert!(Fixture::people().rows("SELECT * { ?s :never ?o }").is_empty());
    assert!(Fixture::people().rows("SELECT * { ?s ?p \"a literal that is in no dictionary at all\" }").is_empty());
}

#[test]
fn an_optional_part_leaves_rows_that_lack_it() {
    let rows = Fixture::people().rows("SELECT ?p ?n { ?p rdf:type :Person OPTIONAL { ?p :name ?n } }");
    assert_eq!(rows, ["p=ann n=\"Ann\"", "p=ann n=\"Anne\"@fr", "p=bob n=\"Bob\"", "p=cid n=\"Cid\"", "p=dan"]);
}

#[test]
fn a_filter_in_an_optional_part_sees_the_rows_outside() {
    let rows =
        Fixture::people().rows("SELECT ?p ?f { ?p :age ?a OPTIONAL { ?p :knows ?f . ?f :age ?b FILTER(?b > ?a) } }");
    assert_eq!(rows, ["p=ann f=cid", "p=bob f=cid", "p=cid", "p=dan"]);
}

#[test]
fn optional_parts_nest() {
    let rows = Fixture::people()
        .rows("SELECT ?p ?f ?n { ?p :age ?a FILTER(?a > 28) OPTIONAL { ?p :knows ?f OPTIONAL { ?f :name ?n } } }");
    assert_eq!(rows, ["p=ann f=bob n=\"Bob\"", "p=ann f=cid n=\"Cid\"", "p=cid f=dan"]);
}

#[test]
fn optional_parts_without_a_shared_variable_are_combined() {
    let fixture = Fixture::new(":a :p 1 . :b :q 2 .");
    assert_eq!(fixture.rows("SELECT ?x ?y { ?x :p 1 OPTIONAL { ?y :q 2 } }"), ["x=a y=b"]);
    assert_eq!(fixture.rows("SELECT ?x ?y { ?x :p 1 OPTIONAL { ?y :q 3 } }"), ["x=a"]);
}

#[test]
fn a_pattern_after_an_optional_part_binds_what_that_left_unbound() {
    let fixture = Fixture::new(":a :p 1 . :b :p 1 ; :q :x . :x :r 5 . :y :r 6 .");
    let rows = fixture.rows("SELECT ?s ?o { ?s :p 1 OPTIONAL { ?s :q ?o } ?o :r ?n }");
    assert_eq!(rows, ["s=a o=x", "s=a o=y", "s=b o=x"]);
}

#[test]
fn union_returns_the_rows_of_both_branches_and_keeps_duplicates() {
    let rows = Fixture::people().rows("SELECT ?p { { ?p rdf:type :Admin } UNION { ?p :age 41 } UNION { ?p :age 7 } }");
    assert_eq!(rows, ["p=cid", "p=cid", "p=dan"]);
}

#[test]
fn a_union_is_joined_with_what_stands_beside_it() {
    let rows = Fixture::people().rows("SELECT ?p ?x { ?p rdf:type :Admin { ?p :age ?x } UNION { ?x :knows ?p } }");
    assert_eq!(rows, ["p=cid x=\"41\"", "p=cid x=ann", "p=cid x=bob"]);
}

#[test]
fn minus_takes_away_rows_that_agree_on_a_shared_variable() {
    let people = Fixture::people();
    assert_eq!(people.rows("SELECT ?p { ?p rdf:type :Person MINUS { ?p :knows ?x } }"), ["p=dan"]);
    assert_eq!(people.rows("SELECT ?p { ?p rdf:type :Admin MINUS { ?x :age 7 } }"), ["p=cid"]);
}

#[test]
fn exists_and_not_exists_look_with_the_rows_values() {
    let people = Fixture::people();
    let known =
        people.rows("SELECT ?p { ?p rdf:type :Person FILTER EXISTS { ?x :knows ?p . ?x :age ?a FILTER(?a > 28) } }");
    assert_eq!(known, ["p=bob", "p=cid", "p=dan"]);
    let rows = people.rows("SELECT ?p { ?p rdf:type :Person FILTER NOT EXISTS { ?x :knows ?p } }");
    assert_eq!(rows, ["p=ann"]);
}

#[test]
fn values_give_rows_with_undefined_cells_too() {
    let people = Fixture::people();
    let rows = people.rows("SELECT ?p ?a { ?p :age ?a VALUES (?p ?a) { (:ann UNDEF) (UNDEF 7) (:bob 99) } }");
    assert_eq!(rows, ["p=ann a=\"30\"", "p=dan a=\"7\""]);
    assert_eq!(people.rows("SELECT ?p { ?p :age ?a } VALUES ?a { 25 41 }"), ["p=bob", "p=cid"]);
}

#[test]
fn a_long_table_of_values_is_joined_like_a_short_one() {
    let table: String = (0..500).map(|age| format!("{age} ")).collect();
    let rows =
        Fixture::people().rows(&format!("SELECT ?p {{ ?p :age ?a . ?p rdf:type :Admin VALUES ?a {{ {table} }} }}"));
    assert_eq!(rows, ["p=cid"]);
}

#[test]
fn bind_adds_a_variable_and_an_error_leaves_it_unbound() {
    let people = Fixture::people();
    assert_eq!(people.rows("SELECT ?n { :dan :age ?a BIND(?a + 1 AS ?n) }"), ["n=\"8\""]);
    assert_eq!(people.rows("SELECT ?a ?n { :dan :age ?a BIND(?a / 0 AS ?n) }"), ["a=\"7\""]);
}

#[test]
fn a_bound_term_that_is_computed_joins_with_a_stored_one() {
    let fixture = Fixture::new(":a :p \"a rather long text\" . :b :q \"a rather long\" .");
    let rows = fixture.rows("SELECT ?s ?t { ?s :q ?x BIND(CONCAT(?x, \" text\") AS ?y) ?t :p ?y }");
    assert_eq!(rows, ["s=b t=a"]);
}

#[test]
fn computed_terms_that_no_store_has_join_with_each_other() {
    let fixture = Fixture::new(":a :p \"x\" . :b :p \"x\" .");
    let rows = fixture.rows(
        "SELECT ?s ?t { { SELECT ?s ?k { ?s :p ?x BIND(CONCAT(?x, \" is not in the store\") AS ?k) } }
                        { SELECT ?t ?k { ?t :p ?y BIND(CONCAT(?y, \" is not in the store\") AS ?k) } } }",
    );
    assert_eq!(rows.len(), 4);
}

#[test]
fn a_sub_select_is_evaluated_by_itself_then_joined() {
    let rows =
        Fixture::people().rows("SELECT ?p ?n { ?p :name ?n { SELECT ?p { ?p :age ?a } ORDER BY DESC(?a) LIMIT 1 } }");
    assert_eq!(rows, ["p=cid n=\"Cid\""]);
}

#[test]
fn variables_that_a_sub_select_does_not_return_are_not_those_outside() {
    let rows = Fixture::people().rows("SELECT ?p ?a { ?p :age ?a { SELECT ?p { ?p :knows ?a } } }");
    assert_eq!(rows, ["p=ann a=\"30\"", "p=ann a=\"30\"", "p=bob a=\"25\"", "p=cid a=\"41\""]);
}

#[test]
fn lateral_evaluates_its_right_side_for_each_row() {
    let rows = Fixture::people()
        .rows("SELECT ?p ?f { ?p rdf:type :Person LATERAL { SELECT ?f { ?p :knows ?f } ORDER BY DESC(?f) LIMIT 1 } }");
    assert!(rows.len() <= 4, "{rows:?}");
}

#[test]
fn a_path_of_one_or_more_steps_reaches_what_is_far() {
    assert_eq!(Fixture::people().rows("SELECT ?x { :bob :knows+ ?x }"), ["x=cid", "x=dan"]);
}

#[test]
fn a_path_of_any_number_of_steps_reaches_its_start_too() {
    let people = Fixture::people();
    assert_eq!(people.rows("SELECT ?x { :bob :knows* ?x }"), ["x=bob", "x=cid", "x=dan"]);
    assert_eq!(people.rows("SELECT ?x { ?x :knows* :bob }"), ["x=ann", "x=bob"]);
}

#[test]
fn a_path_of_closed_circles_ends() {
    let fixture = Fixture::new(":a :n :b . :b :n :c . :c :n :a .");
    assert_eq!(fixture.rows("SELECT ?x { :a :n+ ?x }"), ["x=a", "x=b", "x=c"]);
    assert_eq!(fixture.rows("SELECT ?x ?y { ?x :n+ ?y }").len(), 9);
}

#[test]
fn paths_go_backwards_in_sequences_and_by_alternatives() {
    let people = Fixture::people();
    assert_eq!(people.rows("SELECT ?x { :cid ^:knows ?x }"), ["x=ann", "x=bob"]);
    assert_eq!(people.rows("SELECT ?x { :ann :knows/:knows/:age ?x }"), ["x=\"41\"", "x=\"7\""]);
    assert_eq!(people.rows("SELECT ?x { :bob :knows|:age ?x }"), ["x=\"25\"", "x=cid"]);
    assert_eq!(people.rows("SELECT ?x { :bob :knows? ?x }"), ["x=bob", "x=cid"]);
}

#[test]
fn alternatives_of_a_path_have_the_solutions_of_each() {
    let fixture = Fixture::new(
        ":a :p :b ; :q :b . :b :p :a . :c :r :d . GRAPH :g { :a :p :b ; :q :b } GRAPH :h { :a :p :b . :b :s :b }",
    );
    for (pattern, rows) in [
        (":a :p|:q ?x", &["x=b", "x=b"][..]),
        ("?x :p|:q :b", &["x=a", "x=a"]),
        (":a :p|^:p ?x", &["x=b", "x=b"]),
        (":a :p|:q|:p ?x", &["x=b", "x=b", "x=b"]),
        (":b ^(:p|:q) ?x", &["x=a", "x=a"]),
        (":a !(:r|^:r) ?x", &["x=b", "x=b", "x=b"]),
        (":a !(:p|^:q) ?x", &["x=b", "x=b"]),
        (":a (:p|:q)/:p ?x", &["x=a", "x=a"]),
        (":a (:p/:p)|:q ?x", &["x=a", "x=b"]),
        (":a ((:p|:q)/:p)|:none ?x", &["x=a", "x=a"]),
        (":a ((:p/:p)|:q)/((:p/:p)|:q) ?x", &["x=a", "x=b", "x=b"]),
        (":a :p*|:q ?x", &["x=a", "x=b", "x=b"]),
        (":c :r ?d . :a :p|:q ?x", &["x=b", "x=b"]),
        ("GRAPH :g { :a :p|:q ?x }", &["x=b", "x=b"]),
        ("GRAPH ?g { :a :p|:q ?x }", &["x=b", "x=b", "x=b"]),
        ("GRAPH ?g { :a (:p|:q)/:s ?x }", &["x=b"]),
        // Closures count each pair once.
        (":a (:p|:q)? ?x", &["x=a", "x=b"]),
        (":a (:p|:q)+ ?x", &["x=a", "x=b"]),
        (":a (:p|:q)* ?x", &["x=a", "x=b"]),
    ] {
        assert_eq!(fixture.rows(&format!("SELECT ?x {{ {pattern} }}")), rows, "{pattern}");
        // By the other evaluation.
        assert_eq!(fixture.rows(&format!("SELECT ?x {{ {pattern} BIND(STR(1) AS ?k) }}")), rows, "{pattern}");
    }
    assert_eq!(fixture.rows("SELECT (COUNT(*) AS ?n) { :a :p|:q :b }"), ["n=\"2\""]);
    assert_eq!(fixture.rows("SELECT (COUNT(*) AS ?n) { :a ((:p|:q)/:p)|:r :a }"), ["n=\"2\""]);
    assert_eq!(fixture.rows("SELECT ?y { ?y :r :d FILTER EXISTS { :a :p|:q :b } }"), ["y=c"]);
    fixture.update("INSERT { :a :paths ?n } WHERE { SELECT (COUNT(*) AS ?n) { ?x :p|:q :b } }");
    assert_eq!(fixture.rows("SELECT ?n { :a :paths ?n }"), ["n=\"2\""]);
}

/// Rows that differ in blank nodes of the pattern alone, such as the nodes within a path, were counted each.
#[test]
fn counting_distinct_rows_counts_named_variables_alone() {
    let triples = ":a :p :m1 , :m2 . :m1 :r :x . :m2 :r :x .";
    let fixture = Fixture::new(&format!("{triples} GRAPH :g {{ {triples} }} GRAPH :h {{ {triples} :m2 :r :y }}"));
    for (pattern, count) in [
        (":a (:p/:r)|:none ?x", 1),
        (":a :p/:r ?x", 1),
        (":a (:p/:r)|:p ?x", 3),
        (":a :p [ :r ?x ]", 1),
        (":a :p _:m . _:m :r ?x", 1),
        (":a :p ?m . ?m :r ?x", 2),
        (":a :p []", 1),
        ("[] :p []", 1),
        (":a :none []", 0),
        ("GRAPH :h { :a :p/:r ?x }", 2),
        ("GRAPH ?g { :a :p/:r ?x }", 3),
    ] {
        let rows = fixture.rows(&format!("SELECT (COUNT(DISTINCT *) AS ?n) {{ {pattern} }}"));
        assert_eq!(rows, [format!("n=\"{count}\"")], "{pattern}");
    }
    let grouped = "SELECT ?x (COUNT(DISTINCT *) AS ?n) { ?s :p/:r ?x } GROUP BY ?x";
    assert_eq!(fixture.rows(grouped), ["x=x n=\"1\""]);
    let in_graphs = "SELECT ?g ?n { GRAPH ?g { SELECT (COUNT(DISTINCT *) AS ?n) { :a :p/:r ?x } } }";
    assert_eq!(fixture.rows(in_graphs), ["g=g n=\"1\"", "g=h n=\"2\""]);
}

#[test]
fn a_path_may_have_thousands_of_alternatives() {
    let fixture = Fixture::new(":a :p :b . :b :r :c . :a :r :d .");
    for (alternative, times, rows) in [(":p", 2_000, 2_000), (":p/:r", 1_000, 1_000), (":p*/:r", 1_000, 2_000)] {
        let path = vec![alternative; times].join("|");
        let counted = fixture.rows(&format!("SELECT (COUNT(*) AS ?n) {{ :a {path} ?x }}"));
        assert_eq!(counted, [format!("n=\"{rows}\"")], "{alternative}");
    }
}

#[test]
fn a_variable_that_is_selected_again_is_one_column() {
    let people = Fixture::people();
    assert_eq!(people.rows("SELECT ?x ?x ?y $x { ?x :knows ?y FILTER(?y = :dan) }"), ["x=cid y=dan"]);
    let counts = "SELECT ?x ?x (COUNT(*) AS ?n) ?x { ?x :knows ?y } GROUP BY ?x";
    assert_eq!(people.rows(&format!("SELECT DISTINCT ?n ?n {{ {{ {counts} }} }}")), ["n=\"1\"", "n=\"2\""]);
    people.update("INSERT { ?x :is :known } WHERE { SELECT ?x ?x { ?y :knows ?x FILTER(?x = :dan) } }");
    assert_eq!(people.rows("SELECT ?x { ?x :is :known }"), ["x=dan"]);
}

#[test]
fn a_negated_property_set_takes_every_other_predicate() {
    let people = Fixture::people();
    assert_eq!(people.rows("SELECT ?x { :bob !(:knows|rdf:type|:name) ?x }"), ["x=\"25\""]);
    assert_eq!(people.rows("SELECT ?x { :cid !(^:age) ?x }"), ["x=ann", "x=bob"]);
    assert!(people.rows("SELECT ?x { :cid !(^:knows) ?x }").is_empty());
}

#[test]
fn a_negated_property_set_has_a_row_for_each_quad_whichever_ends_are_known() {
    let fixture = Fixture::new(":a :p :b ; :q :b . :b :is 1 .");
    for (pattern, rows) in [
        (":a !:z ?x", &["x=b", "x=b"][..]),
        ("?x :is 1 . :a !:z ?x", &["x=b", "x=b"]),
        ("?x :is 1 . :a !(:p|:z) ?x", &["x=b"]),
        (":a !:z :b BIND(1 AS ?x)", &["x=\"1\"", "x=\"1\""]),
        ("?x :is 1 OPTIONAL { :a !:p ?x . :a !:q ?x }", &["x=b"]),
        ("?x :is 1 MINUS { :a !:z ?x }", &[]),
        ("{ SELECT (COUNT(DISTINCT *) AS ?x) { ?s !:is ?o } }", &["x=\"1\""]),
    ] {
        assert_eq!(fixture.rows(&format!("SELECT ?x {{ {pattern} }}")), rows, "{pattern}");
    }
}

#[test]
fn triple_terms_match_and_can_be_taken_apart() {
    let fixture = Fixture::new(":r1 rdf:reifies <<( :a :p 1 )>> . :r2 rdf:reifies <<( :b :p 2 )>> . :r1 :by :x .");
    assert_eq!(fixture.rows("SELECT ?s { ?r rdf:reifies <<( ?s :p 2 )>> }"), ["s=b"]);
    assert_eq!(fixture.rows("SELECT ?w { ?r rdf:reifies <<( :a :p 1 )>> ; :by ?w }"), ["w=x"]);
    assert_eq!(fixture.rows("SELECT ?o { :r1 rdf:reifies ?t BIND(OBJECT(?t) AS ?o) }"), ["o=\"1\""]);
}

#[test]
fn a_path_of_no_steps_reaches_a_term_that_no_quad_has() {
    let people = Fixture::people();
    assert_eq!(people.rows("SELECT ?x { :nobody :knows* ?x }"), ["x=nobody"]);
    assert_eq!(people.rows("SELECT ?x { ?x (:knows|:name)? 99 }"), ["x=\"99\""]);
    assert_eq!(people.rows("SELECT ?x { :nobody :knows+ ?x }"), Vec::<String>::new());
    assert_eq!(people.rows("SELECT ?x { :nobody (:knows*)+ ?x }"), ["x=nobody"]);
    assert_eq!(people.rows("SELECT ?x { :nobody :knows*/:age ?x }"), Vec::<String>::new());
    assert_eq!(people.rows("SELECT ?x { VALUES ?x { :nobody :ann } :nobody :knows* ?x }"), ["x=nobody"]);
    assert_eq!(people.rows("SELECT ?x { :ann :knows? ?x }"), ["x=ann", "x=bob", "x=cid"]);
    assert!(people.ask("ASK { :nobody :knows* :nobody }") && people.ask("ASK { :ann :knows* :ann }"));
    assert!(!people.ask("ASK { :nobody :knows* :nothing }"));
    assert_eq!(people.rows("SELECT ?x { <<( :a :b 1 )>> :knows* ?x }").len(), 1);
    assert!(people.ask("ASK { :nobody :knows* [] }") && people.ask("ASK { [] :knows* 99 }"));
}

#[test]
fn a_variable_of_a_path_stands_for_the_nodes_of_the_graph() {
    let people = Fixture::people();
    assert_eq!(people.rows("SELECT ?y { VALUES ?x { :nobody :dan } ?x :knows* ?y }"), ["y=dan"]);
    assert_eq!(people.rows("SELECT ?y { BIND(:nobody AS ?x) ?x :knows? ?y }"), Vec::<String>::new());
    assert!(people.rows("SELECT ?y { :nobody :knows*/:knows* ?y }").is_empty());
    assert!(people.rows("SELECT ?y { :nobody (:knows*/:knows*)|:name ?y }").is_empty());
    assert!(people.ask("ASK { :nobody :knows*/:knows* :nobody }"));
    assert!(people.ask("ASK { :nobody (:knows*/:knows*)|:name :nobody }"));
    assert_eq!(people.rows("SELECT ?y { :nobody (:knows*/:knows*)* ?y }"), ["y=nobody"]);
}
