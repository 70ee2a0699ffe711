//! Turns each chapter of the guide into one function: its blocks of Rust, in order.

use std::path::Path;
use std::{env, fs};

const CHAPTERS: [&str; 2] = ["key-value", "rdf"];

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    for chapter in CHAPTERS {
        let path = Path::new(&root).join("../docs/guide").join(chapter).with_extension("md");
        println!("cargo::rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = chapter.replace('-', "_");
        let program = format!(
            "pub fn {name}() -> Result<(), Box<dyn std::error::Error>> {{\n{}\nOk(())\n}}\n",
            rust_blocks(&text)
        );
        fs::write(Path::new(&out).join(name).with_extension("rs"), program).expect("OUT_DIR is writable");
    }
}

/// The text between lines that begin with ```` ```rust ```` and the next line that begins with ```` ``` ````.
fn rust_blocks(text: &str) -> String {
    let mut blocks = String::new();
    let mut is_rust = false;
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            is_rust = !is_rust && language == "rust";
        } else if is_rust {
            blocks.push_str(line);
            blocks.push('\n');
        }
    }
    blocks
}
