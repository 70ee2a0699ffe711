//! The header that is checked in is what cbindgen makes of the sources.

use std::path::Path;

#[test]
fn the_header_is_that_of_the_sources() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = package.join("../../bindings/c/include/fulgurite.h");
    let configuration = cbindgen::Config::from_file(package.join("cbindgen.toml")).expect("the configuration is valid");
    let mut made = Vec::new();
    cbindgen::Builder::new()
        .with_src(package.join("src/code.rs"))
        .with_src(package.join("src/arguments.rs"))
        .with_src(package.join("src/handles.rs"))
        .with_src(package.join("src/options.rs"))
        .with_src(package.join("src/databases.rs"))
        .with_src(package.join("src/tables.rs"))
        .with_src(package.join("src/transactions.rs"))
        .with_src(package.join("src/reads.rs"))
        .with_src(package.join("src/writes.rs"))
        .with_src(package.join("src/cursors.rs"))
        .with_src(package.join("src/bulk.rs"))
        .with_src(package.join("src/maintenance.rs"))
        .with_config(configuration)
        .generate()
        .expect("the sources can be parsed")
        .write(&mut made);
    let made = String::from_utf8(made).expect("a header is a text");
    if std::env::var_os("FULGURITE_WRITE_HEADER").is_some() {
        std::fs::write(&place, &made).expect("the header can be written");
    }
    let stored = std::fs::read_to_string(&place).unwrap_or_default();
    assert!(
        stored == made,
        "{} is not that of crates/c; write it by FULGURITE_WRITE_HEADER=1 cargo test -p fulgurite-c --test header",
        place.display()
    );
}
