//! Every step of the guide compiles and runs, in order.
#![allow(missing_docs)]

mod chapters {
    include!(concat!(env!("OUT_DIR"), "/key_value.rs"));
    include!(concat!(env!("OUT_DIR"), "/rdf.rs"));
}

#[test]
fn the_key_value_chapter_runs() {
    chapters::key_value().expect("every step succeeds");
}

#[test]
fn the_rdf_chapter_runs() {
    chapters::rdf().expect("every step succeeds");
}
