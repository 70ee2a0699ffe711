//! Counted rule: no file of a crate imports itself by way of others.
//!
//! A name that a module re-exports leads to the file that defines it. Declarations (`mod a;`), re-exports and code
//! under `#[cfg(test)]` are no imports, and files of tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenTree};

use super::code_paths::{absolute, expand_use, path_at};
use crate::tidy::finding::Count;
use crate::tidy::tree::{self, File, Tree};

/// The files of a crate that are in a circle, counted for each folder.
pub fn count(tree: &Tree) -> Vec<Count> {
    crates(tree).values().flat_map(|files| count_crate(&Modules::of(files))).collect()
}

/// Every import that is part of a circle, as `crate: importer → imported`.
pub fn imports_in_circles(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (root, files) in crates(tree) {
        let modules = Modules::of(&files);
        let imports = modules.imports();
        for from in 0..imports.len() {
            let closes = imports[from].iter().filter(|&&to| reaches(&imports, to, from));
            found
                .extend(closes.map(|&to| format!("{root}: {} → {}", modules.short_name(from), modules.short_name(to))));
        }
    }
    found
}

fn reaches(imports: &[BTreeSet<usize>], from: usize, to: usize) -> bool {
    let (mut seen, mut open) = (BTreeSet::from([from]), vec![from]);
    while let Some(file) = open.pop() {
        open.extend(imports[file].iter().filter(|&&next| seen.insert(next)));
    }
    seen.contains(&to)
}

/// The sources of each crate, without its tests.
fn crates(tree: &Tree) -> BTreeMap<&str, Vec<(&File, &[TokenTree])>> {
    let mut crates: BTreeMap<&str, Vec<(&File, &[TokenTree])>> = BTreeMap::new();
    for (file, tokens) in tree.rust_files() {
        if let Some((root, inside)) = file.path.split_once("/src/")
            && !is_test(inside)
        {
            crates.entry(root).or_default().push((file, tokens));
        }
    }
    crates
}

fn is_test(inside: &str) -> bool {
    inside.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "planted.rs"))
}

fn count_crate(modules: &Modules<'_>) -> Vec<Count> {
    let imports = modules.imports();
    let mut folders: BTreeMap<&str, Count> = BTreeMap::new();
    for start in 0..imports.len() {
        let Some(circle) = shortest_circle(&imports, start) else { continue };
        let path = &modules.files[start].path;
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let names: Vec<&str> = circle.iter().map(|&file| modules.short_name(file)).collect();
        let count = folders.entry(folder).or_insert_with(|| Count {
            rule: "cycle",
            path: folder.to_owned(),
            line: 1,
            count: 0,
            offence: format!("files that import themselves by way of others, such as {}", names.join(" → ")),
            mend: "move what both need below both, or take it as an argument",
        });
        count.count += 1;
    }
    folders.into_values().collect()
}

/// The fewest steps from `start` back to it, both ends included.
fn shortest_circle(imports: &[BTreeSet<usize>], start: usize) -> Option<Vec<usize>> {
    let mut came_from = BTreeMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for &next in &imports[file] {
            if next == start {
                let mut circle = vec![start, file];
                while let Some(&before) = circle.last().and_then(|last| came_from.get(last)) {
                    circle.push(before);
                }
                circle.reverse();
                return Some(circle);
            }
            if next != file && !came_from.contains_key(&next) {
                came_from.insert(next, file);
                queue.push_back(next);
            }
        }
    }
    None
}

/// The modules of one crate: which file each is, and what it imports under which name.
struct Modules<'t> {
    files: Vec<&'t File>,
    by_path: BTreeMap<Vec<String>, usize>,
    contents: Vec<Content>,
}

/// What a file holds, tests aside.
#[derive(Default)]
struct Content {
    /// Names that `use` brings in, and the absolute path of each.
    uses: BTreeMap<String, Vec<String>>,
    /// Modules whose names are all imported.
    globs: Vec<Vec<String>>,
    /// Names that `use` brings in and hands on.
    exports: BTreeSet<String>,
    /// Names that the file declares at its top.
    declared: BTreeSet<String>,
    /// Other paths that it names.
    paths: Vec<Vec<String>>,
}

impl<'t> Modules<'t> {
    fn of(files: &[(&'t File, &[TokenTree])]) -> Self {
        let homes: Vec<Vec<String>> = files.iter().map(|(file, _)| home(&file.path)).collect();
        let by_path: BTreeMap<_, _> = homes.iter().cloned().zip(0..).collect();
        let contents = files
            .iter()
            .zip(&homes)
            .map(|((_, tokens), home)| {
                let mut content = Content::default();
                content.collect(&without_tests(tokens), home, &by_path, true);
                content
            })
            .collect();
        Self { files: files.iter().map(|(file, _)| *file).collect(), by_path, contents }
    }

    /// For each file, the files that it imports.
    fn imports(&self) -> Vec<BTreeSet<usize>> {
        let of_file = |file: usize| {
            let content = &self.contents[file];
            let imported = content.uses.iter().filter(|(name, _)| !content.exports.contains(*name));
            let paths = imported.map(|(_, path)| path).chain(&content.paths);
            let found = paths.filter_map(|path| self.resolve(path, 0)).filter(|&target| target != file);
            found.collect()
        };
        (0..self.files.len()).map(of_file).collect()
    }

    /// The file that defines what `path` names, from `crate` on.
    fn resolve(&self, path: &[String], depth: usize) -> Option<usize> {
        let (root, names) = path.split_first()?;
        if root != "crate" || depth > 16 {
            return None;
        }
        let mut module = Vec::new();
        for (index, name) in names.iter().enumerate() {
            module.push(name.clone());
            if self.by_path.contains_key(&module) {
                continue;
            }
            module.pop();
            let file = *self.by_path.get(&module)?;
            return Some(self.owner(file, name, &names[index + 1..], depth).unwrap_or(file));
        }
        self.by_path.get(&module).copied()
    }

    /// The file from which `file` takes `name`, if it does not declare it.
    fn owner(&self, file: usize, name: &str, rest: &[String], depth: usize) -> Option<usize> {
        let content = &self.contents[file];
        if content.declared.contains(name) {
            return None;
        }
        if let Some(path) = content.uses.get(name) {
            return self.resolve(&[path, rest].concat(), depth + 1);
        }
        content.globs.iter().find_map(|glob| {
            let target = self.resolve(glob, depth + 1).filter(|&target| target != file)?;
            if self.contents[target].declared.contains(name) {
                return Some(target);
            }
            self.owner(target, name, rest, depth + 1).filter(|_| depth < 16)
        })
    }

    fn short_name(&self, file: usize) -> &str {
        self.files[file].path.split_once("/src/").map_or("", |(_, inside)| inside)
    }
}

impl Content {
    /// Adds what `tokens`, the content of module `home`, name.
    fn collect(&mut self, tokens: &[TokenTree], home: &[String], modules: &BTreeMap<Vec<String>, usize>, at_top: bool) {
        let mut index = 0;
        let mut is_public = false;
        while index < tokens.len() {
            let token = &tokens[index];
            if tree::is_word(Some(token), "use") && !tree::is_sign(tokens.get(index + 1), '<') {
                let mut leaves = Vec::new();
                index += 1 + expand_use(&tokens[index + 1..], &[], &mut leaves);
                for (parts, name, _) in leaves {
                    self.add_use(parts, name, home, modules, is_public);
                }
                is_public = false;
                continue;
            }
            match token {
                TokenTree::Ident(word) if word == "pub" => is_public = true,
                TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis && is_public => {}
                _ => is_public = false,
            }
            if let (true, Some(TokenTree::Ident(name))) = (at_top && is_declaration(token), tokens.get(index + 1)) {
                self.declared.insert(name.to_string());
            }
            if let TokenTree::Group(group) = token {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                self.collect(&inner, home, modules, false);
            } else if matches!(token, TokenTree::Ident(_)) && tree::begins_with_colons(&tokens[index + 1..]) {
                let (parts, length) = path_at(&tokens[index..]);
                self.add_path(parts, home, modules);
                index += length.max(1);
                continue;
            }
            index += 1;
        }
    }

    fn add_use(
        &mut self,
        parts: Vec<String>,
        name: String,
        home: &[String],
        modules: &BTreeMap<Vec<String>, usize>,
        is_public: bool,
    ) {
        let Some(path) = within_crate(parts, home, modules) else { return };
        if name == "*" {
            self.globs.push(path);
            return;
        }
        if is_public {
            self.exports.insert(name.clone());
        }
        self.uses.insert(name, path);
    }

    /// A path whose first name a `use` of this file brings in leads on from there.
    fn add_path(&mut self, parts: Vec<String>, home: &[String], modules: &BTreeMap<Vec<String>, usize>) {
        if let Some(used) = self.uses.get(&parts[0]) {
            self.paths.push([used, &parts[1..]].concat());
        } else if let Some(path) = within_crate(parts, home, modules) {
            self.paths.push(path);
        }
    }
}

/// The path from `crate` on, if it leads into this crate.
fn within_crate(parts: Vec<String>, home: &[String], modules: &BTreeMap<Vec<String>, usize>) -> Option<Vec<String>> {
    let child = [home, &parts[..1]].concat();
    if !matches!(parts[0].as_str(), "crate" | "self" | "super") && modules.contains_key(&child) {
        let root = std::iter::once("crate".to_owned());
        return Some(root.chain(home.iter().cloned()).chain(parts).collect());
    }
    absolute(parts, home).filter(|path| path[0] == "crate")
}

/// The module path of a file: empty for the root of the crate.
fn home(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
    let mut parts: Vec<String> = inside.trim_end_matches(".rs").split('/').map(String::from).collect();
    if parts.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

fn is_declaration(token: &TokenTree) -> bool {
    const WORDS: [&str; 10] = ["struct", "enum", "union", "trait", "type", "fn", "const", "static", "macro", "mod"];
    matches!(token, TokenTree::Ident(word) if WORDS.iter().any(|declared| word == declared))
}

/// `tokens` without the items under `#[cfg(test)]`.
fn without_tests(tokens: &[TokenTree]) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let is_attribute = tree::is_sign(tokens.get(index), '#');
        let attribute = tree::within(tokens.get(index + 1), Delimiter::Bracket).filter(|_| is_attribute);
        if attribute.is_some_and(|attribute| is_for_tests(&attribute)) {
            index += 2;
            let is_end = |token: &TokenTree| {
                tree::is_sign(Some(token), ';')
                    || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
            };
            index += tokens[index..].iter().position(is_end).map_or(tokens.len(), |end| end + 1);
            continue;
        }
        kept.push(tokens[index].clone());
        index += 1;
    }
    kept
}

/// Whether an attribute is `cfg(test)`, or `cfg(all(test, …))`.
fn is_for_tests(attribute: &[TokenTree]) -> bool {
    let condition = tree::within(attribute.get(1), Delimiter::Parenthesis).unwrap_or_default();
    let all = tree::within(condition.get(1), Delimiter::Parenthesis)
        .filter(|_| tree::is_word(condition.first(), "all"))
        .unwrap_or_default();
    tree::is_word(attribute.first(), "cfg")
        && (tree::is_word(condition.first(), "test") || all.iter().any(|token| tree::is_word(Some(token), "test")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each folder, how many of its files are in a circle.
    fn circles(files: &[(&str, &str)]) -> Vec<(String, usize)> {
        count(&Tree::planted(files)).into_iter().map(|count| (count.path, count.count)).collect()
    }

    #[test]
    fn files_that_import_each_other_are_found_and_those_that_only_lead_there_are_not() {
        let files = [
            ("crates/a/src/lib.rs", "mod x; mod y; mod z;\n"),
            ("crates/a/src/x.rs", "use crate::y::Y;\n"),
            ("crates/a/src/y.rs", "fn f() { crate::z::g() }\n"),
            ("crates/a/src/z.rs", "use super::x::{self, X};\n"),
            ("crates/a/src/w.rs", "use crate::x::X;\n"),
        ];
        assert_eq!(circles(&files), [("crates/a/src".to_owned(), 3)]);
        assert!(circles(&files[..3]).is_empty());
        let found = count(&Tree::planted(&files));
        assert!(found[0].offence.ends_with("such as x.rs → y.rs → z.rs → x.rs"), "{}", found[0].offence);
    }

    #[test]
    fn a_name_that_is_handed_on_leads_to_the_file_that_defines_it() {
        let files = [
            ("crates/a/src/lib.rs", "mod m; mod n; pub use m::Deep;\n"),
            ("crates/a/src/m/mod.rs", "mod deep; mod other;\npub use deep::Deep;\npub(crate) use other::*;\n"),
            ("crates/a/src/m/deep.rs", "use super::Other;\npub struct Deep;\n"),
            ("crates/a/src/m/other.rs", "use crate::Deep as D;\npub struct Other;\n"),
            ("crates/a/src/n.rs", "use crate::m;\nfn f(o: m::Other) {}\n"),
        ];
        assert_eq!(circles(&files), [("crates/a/src/m".to_owned(), 2)]);
    }

    #[test]
    fn what_a_parent_defines_counts_and_what_it_hands_on_does_not() {
        let parent = "mod child;\npub use child::Child;\npub struct Parent;\n";
        let child = ("crates/a/src/m/child.rs", "use super::Parent;\npub struct Child;\n");
        assert!(circles(&[("crates/a/src/m/mod.rs", parent), child]).is_empty());
        let user = format!("{parent}fn f(child: child::Child) {{}}\n");
        assert_eq!(circles(&[("crates/a/src/m/mod.rs", &user), child]), [("crates/a/src/m".to_owned(), 2)]);
    }

    #[test]
    fn tests_are_left_out() {
        let files = [
            ("crates/a/src/x.rs", "use crate::y::Y;\npub struct X;\n"),
            (
                "crates/a/src/y.rs",
                "pub struct Y;\n#[cfg(test)]\nmod tests { use crate::x::X; }\n#[cfg(all(test, unix))]\nuse crate::x::X;\n",
            ),
            ("crates/a/src/y/tests.rs", "use crate::x::X;\nuse super::Y;\n"),
        ];
        assert!(circles(&files).is_empty());
    }
}
