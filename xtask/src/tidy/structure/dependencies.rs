//! Rule: each crate depends on what its row of [`CRATES`] allows, and takes its lints and versions from the workspace.
//!
//! Manifests are read line by line: sections, keys, and `package = "…"`. That is all that the workspace's manifests
//! use.

use crate::tidy::finding::Finding;
use crate::tidy::tree::{File, Tree};

/// What one crate may depend on.
struct Allowed {
    /// Its directory.
    directory: &'static str,
    /// Packages of this workspace.
    ours: &'static [&'static str],
    /// Packages of this workspace for its tests and benches only.
    ours_in_tests: &'static [&'static str],
    /// Packages from outside.
    outside: Outside,
}

/// Which packages from outside.
enum Outside {
    /// These, each with its reason in the commit that brought it; tests may use any but other engines.
    Only(&'static [&'static str]),
    /// Any but other engines.
    AnyButEngines,
    /// Any: the crate is there for other engines.
    Any,
}

/// The crates, lowest first. The engine knows no store, and no store knows another.
const CRATES: &[Allowed] = &[
    Allowed { directory: "crates/keys", ours: &[], ours_in_tests: &[], outside: Outside::Only(&[]) },
    Allowed {
        directory: "crates/engine",
        ours: &["fulgurite-keys"],
        ours_in_tests: &["fulgurite-testkit"],
        outside: Outside::Only(&["getrandom", "libc", "metrics", "rustix", "xxhash-rust", "zstd-safe"]),
    },
    Allowed {
        directory: "proofs/testkit",
        ours: &["fulgurite", "fulgurite-keys"],
        ours_in_tests: &[],
        outside: Outside::AnyButEngines,
    },
    Allowed {
        directory: "crates/graph",
        ours: &["fulgurite"],
        ours_in_tests: &["fulgurite-testkit"],
        outside: Outside::Only(&["xxhash-rust"]),
    },
    Allowed {
        directory: "crates/events",
        ours: &["fulgurite"],
        ours_in_tests: &["fulgurite-testkit"],
        // Codecs of payloads, each behind a feature; hashes of tags.
        outside: Outside::Only(&["flatbuffers", "prost", "serde", "serde_json", "xxhash-rust"]),
    },
    Allowed {
        directory: "crates/facts",
        ours: &["fulgurite"],
        ours_in_tests: &["fulgurite-testkit"],
        // Batches of facts are JSON, which serde reads one fact at a time. LMDB is a feature.
        outside: Outside::Only(&["heed", "serde", "serde_json", "xxhash-rust"]),
    },
    Allowed {
        directory: "crates/code",
        ours: &["fulgurite", "fulgurite-facts"],
        ours_in_tests: &[],
        // SCIP is Protocol Buffers, perhaps compressed by gzip; the language server protocol is JSON with many types.
        outside: Outside::Only(&[
            "flate2",
            "lsp-server",
            "lsp-types",
            "protobuf",
            "scip",
            "serde",
            "serde_json",
            "xxhash-rust",
        ]),
    },
    Allowed {
        directory: "crates/rdf",
        ours: &["fulgurite", "fulgurite-keys"],
        ours_in_tests: &["fulgurite-testkit"],
        outside: Outside::Only(&[
            "bzip2",
            "flate2",
            // The evaluator gives its plans as JSON alone; it has this parser already.
            "json-event-parser",
            "lzma-rust2",
            "memchr",
            // Numbers that 64 bits do not hold.
            "num-bigint",
            "num-traits",
            // A base of the evaluator's handler of services is of its type.
            "oxiri",
            "oxrdf",
            "oxrdfio",
            "oxsdatatypes",
            // The evaluator matches patterns with these already.
            "regex",
            "regex-syntax",
            "ruzstd",
            "sparesults",
            "spareval",
            "spargebra",
            "sparopt",
            "xxhash-rust",
        ]),
    },
    Allowed {
        directory: "crates/migration",
        ours: &["fulgurite", "fulgurite-rdf"],
        ours_in_tests: &[],
        // The lock that Java takes is not that of std.
        outside: Outside::Only(&["rustix", "xxhash-rust"]),
    },
    Allowed {
        directory: "proofs/conformance",
        ours: &["fulgurite", "fulgurite-rdf"],
        ours_in_tests: &[],
        outside: Outside::AnyButEngines,
    },
    Allowed {
        directory: "proofs/rdf-testkit",
        ours: &["fulgurite", "fulgurite-rdf", "fulgurite-testkit"],
        ours_in_tests: &[],
        outside: Outside::Only(&[]),
    },
    Allowed {
        directory: "proofs/facts-testkit",
        ours: &["fulgurite", "fulgurite-facts", "fulgurite-testkit"],
        ours_in_tests: &[],
        outside: Outside::Only(&[]),
    },
    // Not the testkit, which plants faults, nor the benchmarks, which build other engines: it counts the code as it is
    // used.
    Allowed {
        directory: "proofs/instructions",
        ours: &["fulgurite", "fulgurite-rdf"],
        ours_in_tests: &[],
        outside: Outside::Only(&[]),
    },
    Allowed {
        directory: "crates/server",
        ours: &["fulgurite", "fulgurite-code", "fulgurite-facts", "fulgurite-rdf"],
        ours_in_tests: &[],
        // RDF4J's clients send archives of documents; queries for facts are JSON; https endpoints need TLS.
        outside: Outside::Only(&[
            "axum",
            "hyper",
            "hyper-util",
            "rustls-native-certs",
            "serde_json",
            "tokio",
            "tokio-rustls",
            "zip",
        ]),
    },
    Allowed {
        directory: "crates/handles",
        ours: &["fulgurite", "fulgurite-rdf"],
        ours_in_tests: &[],
        outside: Outside::Only(&[]),
    },
    Allowed {
        directory: "crates/c",
        ours: &["fulgurite", "fulgurite-events", "fulgurite-handles"],
        ours_in_tests: &[],
        outside: Outside::Only(&[]),
    },
    Allowed { directory: "proofs/c-header", ours: &[], ours_in_tests: &[], outside: Outside::Only(&["cbindgen"]) },
    Allowed {
        directory: "crates/python",
        ours: &["fulgurite", "fulgurite-events", "fulgurite-handles", "fulgurite-rdf"],
        ours_in_tests: &[],
        outside: Outside::Only(&["pyo3"]),
    },
    Allowed {
        directory: "crates/java",
        ours: &["fulgurite", "fulgurite-graph", "fulgurite-handles", "fulgurite-rdf"],
        ours_in_tests: &[],
        outside: Outside::Only(&[
            // Java's bytes are signed: views of slices as the other type.
            "bytemuck",
            "jni",
            // The parsed queries that were used last.
            "quick_cache",
        ]),
    },
    Allowed {
        directory: "crates/cli",
        ours: &[
            "fulgurite",
            "fulgurite-code",
            "fulgurite-events",
            "fulgurite-facts",
            "fulgurite-keys",
            "fulgurite-migration",
            "fulgurite-rdf",
            "fulgurite-server",
        ],
        ours_in_tests: &["fulgurite-testkit"],
        outside: Outside::AnyButEngines,
    },
    // It compiles the engine's files by themselves.
    Allowed { directory: "proofs/loom-models", ours: &[], ours_in_tests: &[], outside: Outside::Only(&["loom"]) },
    Allowed { directory: "benchmarks/rivals", ours: &[], ours_in_tests: &[], outside: Outside::Any },
    // Codecs and compilers of schemas, for benchmarks alone.
    Allowed { directory: "benchmarks/inventory", ours: &[], ours_in_tests: &[], outside: Outside::AnyButEngines },
    Allowed {
        directory: "benchmarks/bench",
        ours: &[
            "fulgurite",
            "fulgurite-code",
            "fulgurite-events",
            "fulgurite-facts",
            "fulgurite-graph",
            "fulgurite-inventory",
            "fulgurite-keys",
            "fulgurite-rdf",
            "fulgurite-rivals",
            "fulgurite-testkit",
        ],
        ours_in_tests: &[],
        outside: Outside::AnyButEngines,
    },
    Allowed {
        directory: "examples",
        ours: &[
            "fulgurite",
            "fulgurite-events",
            "fulgurite-graph",
            "fulgurite-keys",
            "fulgurite-rdf",
            "fulgurite-server",
        ],
        ours_in_tests: &[],
        outside: Outside::Only(&["tempfile"]),
    },
    Allowed {
        directory: "examples/demo",
        ours: &[
            "fulgurite",
            "fulgurite-code",
            "fulgurite-events",
            "fulgurite-facts",
            "fulgurite-keys",
            "fulgurite-rdf",
        ],
        ours_in_tests: &[],
        outside: Outside::AnyButEngines,
    },
    Allowed {
        directory: "xtask",
        ours: &[],
        ours_in_tests: &[],
        outside: Outside::Only(&["proc-macro2", "xxhash-rust"]),
    },
];

/// Other engines and their bindings, by the beginning of the package's name: only `rivals` builds them, and crates
/// whose rows name one, which have it behind a feature that is off by default.
const ENGINES: &[&str] = &[
    "bf-tree",
    "fjall",
    "heed",
    "jammdb",
    "leveldb",
    "libmdbx",
    "lmdb",
    "mdbx",
    "nebari",
    "oxigraph",
    "oxrocksdb",
    "persy",
    "redb",
    "rocksdb",
    "rusqlite",
    "sled",
];

/// A dependency that a manifest names.
struct Dependency {
    package: String,
    line: usize,
    in_tests: bool,
}

pub fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.files() {
        // The workspace's own manifest is not a crate's.
        let Some(directory) = file.path.strip_suffix("/Cargo.toml") else { continue };
        match CRATES.iter().find(|row| row.directory == directory) {
            Some(row) => dependencies(file).iter().for_each(|dependency| judge(file, row, dependency, findings)),
            None => {
                let mend = "give it a row in CRATES in xtask's tidy/structure/dependencies.rs, where it belongs";
                findings.push(Finding::new(&file.path, 1, format!("the crate `{directory}` is in no table"), mend));
            }
        }
        check_inherited(file, findings);
    }
}

fn judge(file: &File, row: &Allowed, dependency: &Dependency, findings: &mut Vec<Finding>) {
    let name = dependency.package.as_str();
    let (allowed, mend) = if name.starts_with("fulgurite") {
        let allowed = row.ours.contains(&name) || (dependency.in_tests && row.ours_in_tests.contains(&name));
        (allowed, "crates depend downwards only: pass what is needed from above")
    } else {
        let engine = ENGINES.iter().any(|engine| name.starts_with(engine));
        match row.outside {
            Outside::Any => (true, ""),
            Outside::Only(names) if engine && names.contains(&name) => (true, ""),
            _ if engine => (false, "other engines are built by benchmarks/rivals alone"),
            Outside::AnyButEngines => (true, ""),
            Outside::Only(names) => (
                dependency.in_tests || names.contains(&name),
                "use std or a module; if it earns its place, add it to xtask's tidy/structure/dependencies.rs and say why",
            ),
        }
    };
    if !allowed {
        let offence = format!("`{}` must not depend on `{name}`", row.directory);
        findings.push(Finding::new(&file.path, dependency.line, offence, mend));
    }
}

/// Lints, edition and the oldest compiler are stated once, in the workspace.
fn check_inherited(file: &File, findings: &mut Vec<Finding>) {
    let mut section = "";
    let mut lints = false;
    let mut inherited: Vec<&str> = Vec::new();
    for line in file.text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[lints]" && line.replace(' ', "") == "workspace=true" {
            lints = true;
        } else if let Some(key) = line.strip_suffix(".workspace = true").filter(|_| section == "[package]") {
            inherited.push(key);
        }
    }
    if !lints {
        let mend = "add `[lints]` with `workspace = true`, or `unsafe` is not denied in it";
        findings.push(Finding::new(&file.path, 1, "the crate does not take the workspace's lints", mend));
    }
    for key in ["edition", "license", "rust-version", "version"] {
        if !inherited.contains(&key) {
            let offence = format!("the crate does not take its {key} from the workspace");
            findings.push(Finding::new(&file.path, 1, offence, format!("write `{key}.workspace = true`")));
        }
    }
}

fn dependencies(file: &File) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut section = String::new();
    for (index, line) in file.text.lines().enumerate() {
        let line = line.split(" #").next().unwrap_or(line).trim();
        let number = index + 1;
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').replace(['"', '\''], "");
            // `[dependencies.name]` opens a section of its own.
            if let Some((head, package)) = section.rsplit_once('.')
                && head.ends_with("dependencies")
            {
                found.push(Dependency { package: package.into(), line: number, in_tests: in_tests(head) });
            }
            continue;
        }
        let in_own_section = section.rsplit_once('.').is_some_and(|(head, _)| head.ends_with("dependencies"));
        if let (true, Some(renamed), Some(last)) = (in_own_section, renamed(line), found.last_mut()) {
            last.package = renamed;
        }
        if !section.ends_with("dependencies") || line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim().trim_matches('"');
        let package = renamed(value).unwrap_or_else(|| key.split('.').next().unwrap_or(key).into());
        found.push(Dependency { package, line: number, in_tests: in_tests(&section) });
    }
    found
}

fn in_tests(section: &str) -> bool {
    section.ends_with("dev-dependencies")
}

/// The name after `package =`, which a renamed dependency really has.
fn renamed(value: &str) -> Option<String> {
    let after = &value[value.find("package")? + "package".len()..];
    after.trim_start().strip_prefix('=')?.split('"').nth(1).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::{all, places};

    const HEAD: &str = "[package]\nname = \"x\"\nversion.workspace = true\nedition.workspace = true\n\
                        license.workspace = true\nrust-version.workspace = true\n[lints]\nworkspace = true\n";

    fn manifest(directory: &str, rest: &str) -> Vec<String> {
        let path = format!("{directory}/Cargo.toml");
        let text = format!("{HEAD}{rest}");
        places(check, &[(&path, &text)])
    }

    #[test]
    fn a_dependency_upwards_is_found_in_every_spelling() {
        assert!(
            manifest("crates/engine", "[dependencies]\nfulgurite-keys.workspace = true\nrustix = \"1\"\n").is_empty()
        );
        for rest in [
            "[dependencies]\nfulgurite-cli = { path = \"../cli\" }\n",
            "[build-dependencies]\nfulgurite-cli.workspace = true\n",
            "[target.'cfg(unix)'.dependencies]\nsmuggled = { package = \"fulgurite-cli\", path = \"../cli\" }\n",
        ] {
            assert_eq!(manifest("crates/engine", rest), ["crates/engine/Cargo.toml:10"], "{rest}");
        }
        let section = "[dependencies.smuggled]\npackage = \"fulgurite-cli\"\n";
        assert_eq!(manifest("crates/engine", section), ["crates/engine/Cargo.toml:9"]);
        assert_eq!(
            manifest("crates/keys", "[dependencies]\nfulgurite.workspace = true\n"),
            ["crates/keys/Cargo.toml:10"]
        );
    }

    #[test]
    fn the_testkit_serves_the_engine_s_tests_but_not_the_engine() {
        assert!(manifest("crates/engine", "[dev-dependencies]\nfulgurite-testkit.workspace = true\n").is_empty());
        assert_eq!(
            manifest("crates/engine", "[dependencies]\nfulgurite-testkit.workspace = true\n"),
            ["crates/engine/Cargo.toml:10"]
        );
    }

    #[test]
    fn other_engines_are_for_rivals_and_rows_that_name_them() {
        assert!(
            manifest("crates/facts", "[dependencies]\nheed = { version = \"0.22\", optional = true }\n").is_empty()
        );
        assert_eq!(manifest("crates/facts", "[dependencies]\nredb = \"4\"\n"), ["crates/facts/Cargo.toml:10"]);
        assert!(manifest("benchmarks/rivals", "[dependencies]\nheed = \"0.22\"\n").is_empty());
        assert_eq!(
            manifest("benchmarks/bench", "[dependencies]\nheed = \"0.22\"\n"),
            ["benchmarks/bench/Cargo.toml:10"]
        );
        assert_eq!(manifest("crates/cli", "[dev-dependencies]\nlmdb-rkv = \"0.14\"\n"), ["crates/cli/Cargo.toml:10"]);
    }

    #[test]
    fn a_dependency_of_the_engine_has_to_earn_its_row() {
        assert_eq!(manifest("crates/engine", "[dependencies]\nserde = \"1\"\n"), ["crates/engine/Cargo.toml:10"]);
        assert!(manifest("crates/engine", "[dev-dependencies]\nproptest = \"1\"\n").is_empty());
        assert_eq!(manifest("crates/engine", "[dev-dependencies]\nredb = \"4\"\n"), ["crates/engine/Cargo.toml:10"]);
    }

    #[test]
    fn a_crate_without_a_row_or_without_the_workspace_s_lints_is_found() {
        assert_eq!(manifest("crates/extra", ""), ["crates/extra/Cargo.toml:1"]);
        let bare = all(check, &[("crates/keys/Cargo.toml", "[package]\nname = \"x\"\nedition = \"2021\"\n")]);
        assert_eq!(bare.len(), 5);
        assert!(bare[0].to_string().contains("lints"));
    }
}
