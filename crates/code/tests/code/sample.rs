//! The sample index of the guide: what it is made of.

use protobuf::Message;
use scip::types::PositionEncoding;
use scip::types::symbol_information::Kind;

use crate::support::{document, implements, index, info};

const SHAPES: &str = "\
pub trait «shapes/Shape#»Shape { fn «shapes/Shape#area().»area(&self) -> f64; }
pub struct «shapes/Circle#»Circle { pub «shapes/Circle#radius.»radius: f64 }
impl ‹shapes/Shape#›Shape for ‹shapes/Circle#›Circle {
    fn «shapes/Circle#area().»area(&self) -> f64 { 3.14 * self.‹shapes/Circle#radius.›radius }
}
";

const MAIN: &str = "\
use shapes::‹shapes/Circle#›Circle;
fn «main().»main() {
    let «local 0»circle = ‹shapes/Circle#›Circle { ‹shapes/Circle#radius.›radius: 2.0 };
    println!(\"{}\", ‹local 0›circle.‹shapes/Circle#area().›area());
}
";

#[test]
fn the_sample_of_the_guide_is_the_index_of_two_files() {
    let mut sample = index();
    for (path, text) in [("src/shapes.rs", SHAPES), ("src/main.rs", MAIN)] {
        let encoding = PositionEncoding::UTF8CodeUnitOffsetFromLineStart;
        sample.documents.push(document(path, text, encoding).0);
    }
    sample.documents[0].symbols = vec![
        info("shapes/Shape#", Kind::Trait, "Shape"),
        info("shapes/Shape#area().", Kind::Method, "area"),
        implements(info("shapes/Circle#", Kind::Struct, "Circle"), "shapes/Shape#"),
        info("shapes/Circle#radius.", Kind::Field, "radius"),
        implements(info("shapes/Circle#area().", Kind::Method, "area"), "shapes/Shape#area()."),
    ];
    sample.documents[1].symbols = vec![info("main().", Kind::Function, "main")];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/shapes.scip");
    let bytes = sample.write_to_bytes().unwrap();
    if std::env::var_os("FULGURITE_WRITE_SAMPLE").is_some() {
        std::fs::write(path, &bytes).unwrap();
    }
    assert_eq!(std::fs::read(path).unwrap(), bytes, "write it again with FULGURITE_WRITE_SAMPLE=1");
}
