//! Every example runs and prints what it should.

use std::process::Command;

fn output_of(program: &str) -> String {
    let output = Command::new(program).output().expect("cargo has built it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("examples print text")
}

#[test]
fn kv_shows_snapshots_and_prefixes() {
    let printed = output_of(env!("CARGO_BIN_EXE_kv"));
    assert_eq!(printed, "before: 3 entries, after: 2\napple: 12\napricot: 3\n");
}

#[test]
fn typed_shows_ranges_of_tuples_and_multimaps() {
    let printed = output_of(env!("CARGO_BIN_EXE_typed"));
    assert_eq!(printed, "oslo at 2000: -1\noslo is tagged coast\noslo is tagged north\n");
}

#[test]
fn counters_lose_no_increment() {
    assert_eq!(output_of(env!("CARGO_BIN_EXE_counters")), "/index.html: 4000 hits\n");
}

#[test]
fn change_feed_copies_the_last_state() {
    assert_eq!(output_of(env!("CARGO_BIN_EXE_change_feed")), "ann is owner\n");
}

#[test]
fn events_are_followed_and_folded() {
    let printed = output_of(env!("CARGO_BIN_EXE_events"));
    let expected = "0: placed in order-7\n1: placed in order-8\n2: paid in order-7\n\
                    order-7 has changed: its last event has version 1\n8 apples\n8 apples of 2 orders\n";
    assert_eq!(printed, expected);
}

#[test]
fn graph_finds_the_same_paths_as_in_memory() {
    let printed = output_of(env!("CARGO_BIN_EXE_graph"));
    let expected = "6 packages, 8 relations\neditor reaches 5 packages, and dictionary in 3 steps\n\
                    16 distances from 6 packages are the same as in memory\n";
    assert_eq!(printed, expected);
}

#[test]
fn rdf_shows_a_load_an_update_and_a_query() {
    let integer = "<http://www.w3.org/2001/XMLSchema#integer>";
    let printed = output_of(env!("CARGO_BIN_EXE_rdf"));
    let expected = format!("loaded 7 statements\n\"Bob\" \"25\"^^{integer}\n\"Cid\" \"42\"^^{integer}\n");
    assert_eq!(printed, expected);
}

#[test]
fn server_answers_a_query() {
    assert_eq!(output_of(env!("CARGO_BIN_EXE_server")), "HTTP/1.1 200 OK\nhas a row 30: true\n");
}
