//! The language server, asked by the client of an editor that is installed: Neovim 0.7 or later.

use std::io::{ErrorKind, Write};

use super::{indexed, lines};
use crate::fixture::{PROGRAM, Run};

/// Asks the server about the symbol under the cursor. The first lines of the script describe it.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/index/editor.lua");

#[test]
fn neovim_gets_answers_about_the_symbol_under_its_cursor() {
    let directory = indexed();
    directory.file("src/shape.rs", "fn area(side: u32) {}\n");
    directory.file("src/use0.rs", "    area(1);\n");
    let mut editor = directory.command("nvim");
    editor.args(["--headless", "-u", "NONE", "-i", "NONE", "-n", "src/use0.rs", "-c"]);
    editor.arg(format!("luafile {}", SCRIPT.replace(' ', "\\ ")));
    // Neovim writes a log of language servers into directories of the user.
    for name in ["HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        editor.env(name, directory.root());
    }
    for (name, value) in
        [("PROGRAM", PROGRAM), ("INDEX", "code.ful"), ("LINE", "0"), ("CHARACTER", "5"), ("WORDS", "are")]
    {
        editor.env(name, value);
    }
    let run = match editor.output() {
        Ok(output) => Run::of(output),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // The test runner captures `eprintln!`, but not this.
            let name = "neovim_gets_answers_about_the_symbol_under_its_cursor";
            let _ = writeln!(std::io::stderr(), "SKIPPED {name}: there is no program `nvim`");
            return;
        }
        Err(error) => panic!("nvim: {error}"),
    };
    let found = lines(&run);
    let starting = |word: &str| found.iter().filter_map(|line| line.strip_prefix(word)).collect::<Vec<_>>();
    assert_eq!(starting("definition "), ["src/shape.rs:1:4"], "{run:?}");
    let references = starting("references ");
    assert_eq!(references.len(), 10, "{run:?}");
    assert!(references.contains(&"src/shape.rs:1:4") && references.contains(&"src/use0.rs:1:5"), "{run:?}");
    assert!(starting("hover ").first().is_some_and(|text| text.contains("The area of a shape.")), "{run:?}");
    assert_eq!(starting("workspace "), ["area src/shape.rs:1:4"], "{run:?}");
    assert!(starting("failed ").is_empty(), "{run:?}");
}
