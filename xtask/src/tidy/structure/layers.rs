//! Rule: imports between the modules of a crate point down, by a table for each crate
//! ([`super::layer_tables`]); in the engine,
//! locks and files come from one place.
//!
//! Understood are `use` in all its forms (groups, nesting, renames, globs), paths inside expressions, macros and
//! attributes, `self::`, `super::` and `$crate::`, and names that `lib.rs` re-exports.

use std::collections::BTreeMap;

use proc_macro2::TokenTree;

use super::code_paths::{Named, collect, expand_use};
use super::layer_tables::{CRATES, ENGINE, Layered, WITHOUT_LAYERS};
use crate::tidy::finding::Finding;
use crate::tidy::tree::{self, File, Tree};

/// Paths of std that belong to one module: everybody else goes through that module, so that tests can take its place.
const OWNED: &[(&str, &str, &str)] = &[
    ("std::fs", "io", "go through `crate::io::Disk`, which tests replace by a disk that crashes"),
    ("std::sync::Arc", "sync", "take it from `crate::sync`, where a model checker can replace it"),
    ("std::sync::Barrier", "sync", "take locks from `crate::sync`, where a model checker can replace them"),
    ("std::sync::Condvar", "sync", "take locks from `crate::sync`, where a model checker can replace them"),
    ("std::sync::Mutex", "sync", "take locks from `crate::sync`, where a model checker can replace them"),
    ("std::sync::RwLock", "sync", "take locks from `crate::sync`, where a model checker can replace them"),
    ("std::sync::atomic", "sync", "take atomics from `crate::sync`, where a model checker can replace them"),
];

pub fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    CRATES.iter().for_each(|layered| layered.check(tree, findings));
    check_that_every_crate_has_a_table(tree, findings);
}

fn check_that_every_crate_has_a_table(tree: &Tree, findings: &mut Vec<Finding>) {
    for (file, _) in tree.rust_files() {
        let root = file.path.strip_suffix("lib.rs").or_else(|| file.path.strip_suffix("main.rs"));
        let Some(folder) = root.filter(|folder| folder.ends_with("/src/")) else { continue };
        let has_table = CRATES.iter().any(|layered| layered.folder == folder);
        if !has_table && !WITHOUT_LAYERS.contains(&folder) {
            let mend = "give it a table in xtask's tidy/structure/layer_tables.rs";
            findings.push(Finding::new(&file.path, 1, "this crate has no layers", mend));
        }
    }
}

impl Layered {
    fn check(&self, tree: &Tree, findings: &mut Vec<Finding>) {
        let exports = self.root_exports(tree);
        for (file, tokens) in tree.rust_files() {
            let Some(home) = self.module_of(file) else { continue };
            self.check_declared(tree, file, tokens, &home, findings);
            let Some(module) = self.owner(&home) else { continue };
            let mut named = Vec::new();
            collect(tokens, &home, &mut named);
            for path in named {
                self.judge(file, module, &path, &exports, findings);
            }
        }
    }

    /// Judges one absolute path, `crate::…` or `std::…`, named in `module`.
    fn judge(
        &self,
        file: &File,
        module: &str,
        path: &Named,
        exports: &BTreeMap<String, String>,
        findings: &mut Vec<Finding>,
    ) {
        if path.parts[0] != "crate" {
            let full = path.parts.join("::");
            for (owned, owner, mend) in OWNED.iter().filter(|_| self.folder == ENGINE) {
                let is_it = full == *owned || full.starts_with(&format!("{owned}::"));
                if is_it && module != *owner {
                    findings.push(Finding::new(
                        &file.path,
                        path.line,
                        format!("`{owned}` belongs to `{owner}`"),
                        *mend,
                    ));
                }
            }
            return;
        }
        let Some(first) = path.parts.get(1) else { return };
        let exported = exports.get(first).map(String::as_str);
        if exported == Some(FOREIGN) {
            return;
        }
        let Some(target) = exported.or_else(|| self.owner(&path.parts[1..])) else {
            let offence = format!("`crate::{first}` is in no layer");
            let mend = "name the module that owns it, or give a new module its layer in xtask's tidy/structure/layer_tables.rs";
            findings.push(Finding::new(&file.path, path.line, offence, mend));
            return;
        };
        let (Some(from), Some(to)) = (self.layer(module), self.layer(target)) else { return };
        if to == from && target == module {
            return;
        }
        if to >= from {
            let offence = format!("`{module}` must not import `{target}`, which is not below it");
            findings.push(Finding::new(&file.path, path.line, offence, "take what you need from it as an argument"));
        }
    }

    fn layer(&self, module: &str) -> Option<usize> {
        self.layers.iter().position(|layer| layer.contains(&module))
    }

    /// The module or room of the table that a path is in, `crate` left out.
    fn owner(&self, parts: &[String]) -> Option<&'static str> {
        let names = self.layers.iter().copied().flatten().copied();
        let holds = |name: &&str| {
            let rooms: Vec<&str> = name.split("::").collect();
            parts.len() >= rooms.len() && rooms.iter().zip(parts).all(|(room, part)| room == part)
        };
        names.filter(holds).max_by_key(|name| name.len())
    }

    /// Every module that `lib.rs` declares must have a layer, and so must every room of a module whose rooms have
    /// layers.
    fn check_declared(
        &self,
        tree: &Tree,
        file: &File,
        tokens: &[TokenTree],
        home: &[String],
        findings: &mut Vec<Finding>,
    ) {
        let inside = home.join("::") + "::";
        let has_rooms = self.layers.iter().copied().flatten().any(|name| name.starts_with(&inside));
        if !(home.is_empty() || has_rooms) {
            return;
        }
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (index, token) in tokens.iter().enumerate() {
            let Some(TokenTree::Ident(name)) = tokens.get(index + 1) else { continue };
            let declared = tree::is_word(Some(token), "mod") && tree::is_sign(tokens.get(index + 2), ';');
            let name = [home, &[name.to_string()]].concat().join("::");
            let is_room = tree.rust_files().any(|(file, _)| {
                file.path == format!("{folder}/{}/mod.rs", name.rsplit("::").next().unwrap_or_default())
            });
            let needs_layer = home.is_empty() || (is_room && !name.ends_with("::tests"));
            if declared && needs_layer && self.layer(&name).is_none() {
                let mend = "add it to the table of its crate in xtask's tidy/structure/layer_tables.rs";
                findings.push(Finding::new(
                    &file.path,
                    tree::line_of(token),
                    format!("module `{name}` has no layer"),
                    mend,
                ));
            }
        }
    }

    /// The module path of a file: empty for `lib.rs` and `main.rs`, `None` for files of other crates.
    fn module_of(&self, file: &File) -> Option<Vec<String>> {
        let inside = file.path.strip_prefix(self.folder)?.strip_suffix(".rs")?;
        let mut parts: Vec<String> = inside.split('/').map(String::from).collect();
        if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            parts.pop();
        }
        Some(parts)
    }

    /// What `lib.rs` re-exports: name → module that owns it, or [`FOREIGN`].
    fn root_exports(&self, tree: &Tree) -> BTreeMap<String, String> {
        let mut exports = BTreeMap::new();
        let root = tree.rust_files().find(|(file, _)| file.path == format!("{}lib.rs", self.folder));
        let Some((_, tokens)) = root else { return exports };
        for (index, token) in tokens.iter().enumerate() {
            if !tree::is_word(Some(token), "use") {
                continue;
            }
            let mut leaves = Vec::new();
            expand_use(&tokens[index + 1..], &[], &mut leaves);
            for (parts, name, _) in leaves {
                let Some(owner) = parts.iter().find(|part| !matches!(part.as_str(), "crate" | "self")) else {
                    continue;
                };
                let is_module = self.layer(owner).is_some();
                exports.insert(name, if is_module { owner.clone() } else { FOREIGN.to_owned() });
            }
        }
        exports
    }
}

/// The owner of what `lib.rs` re-exports from another crate. Every module may use it.
const FOREIGN: &str = "";

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::{all, places};

    const LIB: (&str, &str) =
        ("crates/engine/src/lib.rs", "mod ids; mod tree; mod io;\npub use io::{Disk, File as Handle};\n");

    #[test]
    fn an_import_from_below_is_fine_and_one_from_above_is_found() {
        let files = [
            ("crates/engine/src/tree/search.rs", "use crate::pager::Pages;\nuse crate::tree::build;\nuse std::fmt;\n"),
            ("crates/engine/src/io/os.rs", "use crate::ids::PageNumber;\nuse crate::tree::Root;\n"),
        ];
        assert_eq!(places(check, &files), ["crates/engine/src/io/os.rs:2"]);
        let found = all(check, &files);
        assert!(found[0].to_string().contains("`io` must not import `tree`"), "{}", found[0]);
    }

    #[test]
    fn the_server_and_the_command_line_have_layers_too() {
        let files = [
            ("crates/server/src/http/answer.rs", "use crate::error::Error;\nuse crate::protocol::query;\n"),
            ("crates/cli/src/main.rs", "mod commands;\nmod other;\nuse std::fs;\n"),
            ("crates/cli/src/records/reader.rs", "use crate::entries::EntryForm;\nuse crate::commands::run;\n"),
        ];
        assert_eq!(
            places(check, &files),
            ["crates/cli/src/main.rs:2", "crates/cli/src/records/reader.rs:2", "crates/server/src/http/answer.rs:2"]
        );
    }

    #[test]
    fn a_crate_without_a_table_is_found() {
        let files = [("crates/new/src/lib.rs", "pub mod a;\n"), ("proofs/loom-models/src/lib.rs", "mod sync;\n")];
        assert_eq!(places(check, &files), ["crates/new/src/lib.rs:1"]);
    }

    #[test]
    fn grouped_nested_and_renamed_imports_are_understood() {
        let file = "use crate::{\n    ids::{ExtentId, PageRef},\n    db::{self, open::Database as D},\n};\n";
        assert_eq!(
            places(check, &[("crates/engine/src/format/leaf.rs", file)]),
            ["crates/engine/src/format/leaf.rs:3", "crates/engine/src/format/leaf.rs:3"]
        );
        let groups = "use {crate::ids::A, crate::tree::B};\nuse crate::txn as t;\nuse crate::delta::*;\n";
        assert_eq!(
            places(check, &[("crates/engine/src/log.rs", groups)]),
            ["crates/engine/src/log.rs:1", "crates/engine/src/log.rs:2", "crates/engine/src/log.rs:3"]
        );
    }

    #[test]
    fn paths_inside_expressions_macros_and_attributes_are_found() {
        let file = "fn a() {\n    crate::db::open();\n    assert!(crate::txn::ready());\n}\n\
                    macro_rules! m { () => {\n $crate::delta::x() } }\npub(in crate::log) fn b() {}\n";
        assert_eq!(
            places(check, &[("crates/engine/src/log/mod.rs", file)]),
            ["crates/engine/src/log/mod.rs:2", "crates/engine/src/log/mod.rs:3", "crates/engine/src/log/mod.rs:6"]
        );
    }

    #[test]
    fn super_does_not_lead_around_the_table() {
        let file = "use super::super::db::Database;\nuse super::segment;\nmod tests {\n    use super::super::append;\n    \
                    use super::super::super::txn::WriteTxn;\n}\n";
        assert_eq!(
            places(check, &[("crates/engine/src/log/read.rs", file)]),
            ["crates/engine/src/log/read.rs:1", "crates/engine/src/log/read.rs:5"]
        );
    }

    #[test]
    fn a_name_that_the_root_re_exports_counts_as_its_module() {
        let files = [LIB, ("crates/engine/src/format/page.rs", "use crate::Disk;\nuse crate::Handle;\n")];
        assert_eq!(places(check, &files), ["crates/engine/src/format/page.rs:1", "crates/engine/src/format/page.rs:2"]);
        assert!(places(check, &[LIB, ("crates/engine/src/pager/a.rs", "use crate::{Disk, Handle};\n")]).is_empty());
    }

    #[test]
    fn every_module_may_use_what_the_root_re_exports_from_another_crate() {
        let lib = ("crates/engine/src/lib.rs", "mod ids;\npub use other::Format;\n");
        let user = ("crates/engine/src/ids.rs", "use crate::Format;\nuse crate::Other;\n");
        assert_eq!(places(check, &[lib, user]), ["crates/engine/src/ids.rs:2"]);
    }

    #[test]
    fn a_module_without_a_layer_is_found_where_it_is_declared_and_where_it_is_used() {
        let lib = ("crates/engine/src/lib.rs", "mod ids;\nmod extra;\n");
        let user = ("crates/engine/src/db.rs", "use crate::extra::X;\n");
        assert_eq!(places(check, &[lib, user]), ["crates/engine/src/db.rs:1", "crates/engine/src/lib.rs:2"]);
    }

    #[test]
    fn rooms_import_from_rooms_below_and_never_from_the_module_around_them() {
        let file = "use crate::txn::snapshot::state::State;\nuse crate::txn::commit::core::Core;\nuse crate::txn::Table;\n\
                    use crate::txn::reads::bounds::own;\n";
        let reads = ("crates/engine/src/txn/reads/layers.rs", file);
        assert_eq!(
            places(check, &[reads]),
            ["crates/engine/src/txn/reads/layers.rs:2", "crates/engine/src/txn/reads/layers.rs:3"]
        );
        let found = all(check, &[reads]);
        assert!(found[0].to_string().contains("`txn::reads` must not import `txn::commit`"), "{}", found[0]);
        let above =
            "use crate::txn::commit::core::Core;\nuse crate::txn::transaction::edit::Edit;\nuse crate::db::Database;\n";
        assert_eq!(
            places(check, &[("crates/engine/src/txn/transaction/write_txn.rs", above)]),
            ["crates/engine/src/txn/transaction/write_txn.rs:3"]
        );
    }

    #[test]
    fn a_new_room_beside_rooms_with_layers_needs_one_and_a_file_does_not() {
        let txn = ("crates/engine/src/txn/mod.rs", "mod attic;\nmod edit;\nmod reads;\nmod tests;\n");
        let files = ["attic", "reads", "tests"].map(|room| format!("crates/engine/src/txn/{room}/mod.rs"));
        let mut planted: Vec<(&str, &str)> = files.iter().map(|path| (&**path, "//! A room.\n")).collect();
        planted.push(txn);
        assert_eq!(places(check, &planted), ["crates/engine/src/txn/mod.rs:1"]);
    }

    #[test]
    fn files_and_locks_of_std_belong_to_one_module() {
        let file = "use std::{fs::File, sync::{Mutex, OnceLock}};\nfn a() {\n    std::sync::atomic::fence(o);\n}\n";
        let found = places(check, &[("crates/engine/src/pager/mod.rs", file), ("crates/engine/src/io/os.rs", file)]);
        let expected = ["io/os.rs:1", "io/os.rs:3", "pager/mod.rs:1", "pager/mod.rs:1", "pager/mod.rs:3"];
        assert_eq!(found, expected.map(|place| format!("crates/engine/src/{place}")));
    }

    #[test]
    fn other_crates_and_captured_lifetimes_are_left_alone() {
        let file = "fn a<'a>() -> impl Iterator + use<'a> { b::c() }\n";
        let files =
            [("crates/engine/src/ids.rs", file), ("crates/cli/src/get.rs", "use crate::db::open;\nuse std::fs;\n")];
        assert!(places(check, &files).is_empty());
    }
}
