//! Rule: `unsafe` stands only in the files of [`FILES`], and every use of it says why it is sound.
//!
//! A block, an `unsafe impl`, an `unsafe extern` and an `#[unsafe(…)]` attribute want `// SAFETY:` right above the
//! statement; an `unsafe fn` or `unsafe trait` wants a `# Safety` section in its documentation. Macro bodies are read
//! too.

use proc_macro2::{Delimiter, TokenTree};

use crate::tidy::finding::Finding;
use crate::tidy::tree::{self, File, Tree};

/// Files, or directories (ending in a slash), that may use `unsafe`, each with its reason.
const FILES: &[(&str, &str)] = &[
    ("crates/engine/src/delta/arena.rs", "32-bit references into memory that readers share with the writer"),
    ("crates/engine/src/delta/record.rs", "typed views of the arena's memory"),
    ("crates/engine/src/delta/btree/tree.rs", "reads the arena's nodes"),
    ("crates/engine/src/format/branch/route.rs", "reads of pages that were verified"),
    ("crates/engine/src/format/branch/view.rs", "reads of pages that were verified"),
    ("crates/engine/src/format/bytes.rs", "raw reads and prefetches"),
    ("crates/engine/src/format/cell/long_key.rs", "reads of pages that were verified"),
    ("crates/engine/src/format/hash/avx512.rs", "vector instructions"),
    ("crates/engine/src/format/leaf/cells.rs", "reads of pages that were verified"),
    ("crates/engine/src/format/leaf/found.rs", "a slice of no bytes, at an address where no page is"),
    ("crates/engine/src/format/leaf/lower_bound.rs", "reads of pages that were verified"),
    ("crates/engine/src/format/leaf/point_get.rs", "reads of pages that were verified"),
    ("crates/engine/src/format/leaf/view.rs", "reads of pages that were verified"),
    ("crates/engine/src/format/search/", "vector instructions"),
    ("crates/engine/src/format/verify.rs", "views of pages that were just verified"),
    ("crates/engine/src/io/linux/filled.rs", "parts of a window that are written once, before they are read"),
    (
        "crates/engine/src/io/linux/lock.rs",
        "one call of fcntl: neither std nor rustix has locks of open file descriptions",
    ),
    ("crates/engine/src/io/linux/map.rs", "mmap and madvise"),
    ("crates/engine/src/io/linux/write_map.rs", "mmap, and stores to what was prepared for them"),
    ("crates/engine/src/io/place.rs", "stores to a part of a map, which may be gone, and prefetches"),
    ("crates/engine/src/io/unsupported/map.rs", "the signature of a map's reads, where there are no maps"),
    ("crates/engine/src/log/image.rs", "a slice of a map of segments that nobody writes any more"),
    ("crates/engine/src/log/tests/placing.rs", "writes to places in segments"),
    ("crates/engine/src/pager/read/filters.rs", "slices of the map"),
    ("crates/engine/src/pager/read/page.rs", "views of verified pages behind one guard"),
    ("crates/engine/src/pager/read/pages.rs", "slices of the map"),
    ("crates/engine/src/pager/read/value.rs", "bytes of the map, or of a frame that the value keeps"),
    ("crates/engine/src/pager/read/verified.rs", "views of pages that were verified"),
    ("crates/engine/src/process.rs", "a page that the system wipes in a child made by fork"),
    (
        "crates/engine/src/txn/commit/steps.rs",
        "the word that a commit is not finished before it is written to its place",
    ),
    ("crates/engine/src/txn/commit/in_place.rs", "commits that write their records to the log's map without its lock"),
    ("crates/engine/src/txn/coordination/slots.rs", "what transactions leave for the next ones of their threads"),
    ("proofs/loom-models/src/surroundings.rs", "the signature of the store to a place in the log's map"),
    ("crates/events/tests/events/codecs/order.rs", "the code that flatc generates from a schema"),
    ("crates/facts/src/lmdb/environment.rs", "opening a file of LMDB, which maps it"),
    ("crates/facts/src/lmdb/view.rs", "bytes of LMDB's map, for as long as their transaction lives"),
    ("crates/handles/src/held.rs", "cursors and values that keep their transaction"),
    ("crates/c/src/", "functions of C, and memory of their callers"),
    ("crates/java/src/room.rs", "memory that Java shares with the library"),
    ("crates/python/src/arrow.rs", "the C data interface of Arrow"),
    ("crates/python/src/lent.rs", "transactions that are lent to Python while a function runs"),
    ("crates/python/src/values.rs", "the buffer protocol of Python"),
    ("benchmarks/inventory/src/generated.rs", "the code that planus generates from a schema"),
    ("crates/rdf/src/meter.rs", "an allocator that counts, for limits of an evaluation's memory"),
    ("proofs/testkit/src/hostile/watch.rs", "an allocator that counts: a hostile file must not cost memory"),
    ("proofs/testkit/src/kill/other_processes.rs", "fork"),
    ("proofs/testkit/tests/processes/databases.rs", "fork"),
    ("benchmarks/rivals/src/c_interface/dynamic.rs", "libraries of the system, found when they are needed"),
    ("benchmarks/rivals/src/c_interface/records.rs", "what the C interfaces of LevelDB and RocksDB share"),
    ("benchmarks/rivals/src/leveldb/library.rs", "LevelDB's C interface, found when it is needed"),
    ("benchmarks/rivals/src/libmdbx/library.rs", "libmdbx's C interface"),
    ("benchmarks/rivals/src/lmdb/reading.rs", "LMDB leaves exclusive use of its map to the caller"),
    ("benchmarks/rivals/src/rocksdb/library.rs", "RocksDB's C interface, found when it is needed"),
];

const ALLOW_MEND: &str =
    "do without it; a new place for `unsafe` needs a row in xtask's tidy/structure/unsafety.rs and a decision";
const COMMENT_MEND: &str = "write `// SAFETY:` above the statement: the fact that makes it sound, and where it holds";
const SECTION_MEND: &str = "document `# Safety`: what the caller must guarantee";

pub fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for (file, tokens) in tree.rust_files() {
        let allowed = FILES
            .iter()
            .any(|(place, _)| file.path == *place || (place.ends_with('/') && file.path.starts_with(place)));
        let mut uses = 0;
        tree::each_level(tokens, &mut |level| {
            for (index, token) in level.iter().enumerate() {
                let line = tree::line_of(token);
                if tree::is_word(Some(token), "unsafe_code") && !allowed && reopens(file, line) {
                    findings.push(Finding::new(&file.path, line, "the lint `unsafe_code` is reopened", ALLOW_MEND));
                }
                // Generated code is not read: a file on the list that includes some answers for its `unsafe`.
                uses += u32::from(allowed && tree::is_word(Some(token), "include"));
                if tree::is_word(Some(token), "unsafe") {
                    uses += 1;
                    if allowed {
                        check_reason(file, line, &level[index + 1..], findings);
                    } else {
                        findings.push(Finding::new(&file.path, line, "`unsafe` is not allowed here", ALLOW_MEND));
                    }
                }
            }
        });
        if uses == 0 && FILES.iter().any(|(place, _)| file.path == *place) {
            let mend = "take its row from xtask's tidy/structure/unsafety.rs";
            findings.push(Finding::new(&file.path, 1, "allowed to use `unsafe`, and does not", mend));
        }
    }
}

/// Whether the line allows rather than denies.
fn reopens(file: &File, line: usize) -> bool {
    file.text.lines().nth(line - 1).is_some_and(|text| !text.contains("deny(") && !text.contains("forbid("))
}

/// Checks the use of `unsafe` on `line`, which `after` follows.
fn check_reason(file: &File, line: usize, after: &[TokenTree], findings: &mut Vec<Finding>) {
    let extern_function =
        tree::is_word(after.first(), "extern") && after.iter().take(3).any(|token| tree::is_word(Some(token), "fn"));
    let is_function = tree::is_word(after.first(), "fn") || extern_function;
    if is_function || tree::is_word(after.first(), "trait") {
        // `unsafe fn(u8)` is a type; the functions that it may hold are documented where they stand.
        let place_of_name =
            if extern_function { after.iter().position(|token| tree::is_word(Some(token), "fn")) } else { Some(0) };
        let named = place_of_name.is_some_and(|place| matches!(after.get(place + 1), Some(TokenTree::Ident(_))));
        if named && !documented(file, line) && !implements_trait(file, line) {
            findings.push(Finding::new(&file.path, line, "an `unsafe` item without its contract", SECTION_MEND));
        }
        return;
    }
    let is_attribute = tree::within(after.first(), Delimiter::Parenthesis).is_some();
    if !explained(file, line) {
        let offence = if is_attribute { "an `unsafe` attribute without a reason" } else { "`unsafe` without a reason" };
        findings.push(Finding::new(&file.path, line, offence, COMMENT_MEND));
    }
}

/// Whether the comment above the statement that reaches `line` holds `SAFETY:`.
fn explained(file: &File, line: usize) -> bool {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let mut comment = false;
    for text in lines[..line - 1].iter().rev() {
        if let Some(said) = text.strip_prefix("//") {
            comment = true;
            if said.trim_start().starts_with("SAFETY:") {
                return true;
            }
            continue;
        }
        // The statement begins on this line, or above it if the line above does not end one.
        let ends_one = text.is_empty() || text.ends_with([';', '{', '}', ',']);
        if comment || (ends_one && !text.starts_with("#[")) {
            return false;
        }
    }
    false
}

/// Whether the documentation above the item that begins on `line` has a `# Safety` section.
fn documented(file: &File, line: usize) -> bool {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    lines[..line - 1]
        .iter()
        .rev()
        .take_while(|text| text.starts_with("//") || text.starts_with("#["))
        .any(|text| text.strip_prefix("///").is_some_and(|said| said.trim() == "# Safety"))
}

/// Whether the method on `line` belongs to an `impl Trait for Type`: the contract is the trait's then.
fn implements_trait(file: &File, line: usize) -> bool {
    let Some(text) = file.text.lines().nth(line - 1) else { return false };
    let depth = text.len() - text.trim_start().len();
    let opening = file.text.lines().take(line - 1).filter(|above| {
        !above.trim().is_empty()
            && above.len() - above.trim_start().len() < depth
            && !above.trim_start().starts_with("//")
    });
    opening.last().is_some_and(|above| above.contains("impl") && above.contains(" for "))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::{all, places};

    const ALLOWED: &str = "crates/engine/src/io/linux/map.rs";

    #[test]
    fn unsafe_outside_the_list_is_found_even_with_a_reason_and_in_macros() {
        let file = "// SAFETY: it is not.\nfn a() { unsafe { b() } }\nmacro_rules! m { () => {\n unsafe { b() } } }\n";
        assert_eq!(
            places(check, &[("crates/engine/src/db/open.rs", file)]),
            ["crates/engine/src/db/open.rs:2", "crates/engine/src/db/open.rs:4"]
        );
        let found = all(check, &[("crates/cli/src/main.rs", "#![allow(unsafe_code)]\n")]);
        assert!(found[0].to_string().contains("reopened"), "{}", found[0]);
        assert!(places(check, &[("crates/cli/src/main.rs", "#![forbid(unsafe_code)]\n")]).is_empty());
    }

    #[test]
    fn the_word_in_comments_and_strings_is_not_a_use() {
        assert!(places(check, &[("a.rs", "//! unsafe\n/// unsafe\nfn a() { b(\"unsafe\") }\n")]).is_empty());
    }

    #[test]
    fn a_block_without_a_reason_is_found() {
        let file = "fn a() {\n    unsafe { b() };\n    // SAFETY: `c` is live.\n    unsafe { c() };\n\n    unsafe { d() };\n}\n";
        assert_eq!(places(check, &[(ALLOWED, file)]), [format!("{ALLOWED}:2"), format!("{ALLOWED}:6")]);
    }

    #[test]
    fn the_reason_may_stand_above_the_first_line_of_the_statement() {
        let file = "fn a() {\n    // SAFETY: `c` is live,\n    // and stays so.\n    #[cfg(unix)]\n    let x =\n        \
                    f(unsafe { c() });\n    let y = g(\n        1,\n        unsafe { c() },\n    );\n}\n";
        assert_eq!(places(check, &[(ALLOWED, file)]), [format!("{ALLOWED}:9")]);
    }

    #[test]
    fn a_comment_that_gives_no_reason_does_not_count() {
        let file =
            "// SAFETY: for f.\nfn f() {\n    // It is fast.\n    unsafe { b() }\n}\nunsafe impl Send for X {}\n";
        assert_eq!(places(check, &[(ALLOWED, file)]), [format!("{ALLOWED}:4"), format!("{ALLOWED}:6")]);
    }

    #[test]
    fn an_unsafe_function_or_trait_wants_its_contract() {
        let file = "/// Reads.\n///\n/// # Safety\n/// In bounds.\n#[inline]\npub unsafe fn a() {}\n/// Reads.\npub unsafe fn b() {}\n\
                    pub unsafe trait C {}\ntype F = unsafe fn(u8);\nstruct S { f: unsafe extern \"C\" fn(u8) }\n";
        assert_eq!(places(check, &[(ALLOWED, file)]), [format!("{ALLOWED}:8"), format!("{ALLOWED}:9")]);
    }

    #[test]
    fn a_method_of_a_trait_takes_the_trait_s_contract() {
        let file =
            "impl Search for Avx2 {\n    unsafe fn find(a: u8) {}\n}\nimpl Avx2 {\n    unsafe fn other(a: u8) {}\n}\n";
        assert_eq!(
            places(check, &[("crates/engine/src/format/search/x86.rs", file)]),
            ["crates/engine/src/format/search/x86.rs:5"]
        );
    }

    #[test]
    fn a_row_that_is_no_longer_needed_is_found() {
        assert_eq!(places(check, &[(ALLOWED, "fn a() {}\n")]), [format!("{ALLOWED}:1")]);
    }
}
