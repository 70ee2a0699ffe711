//! The indexers that are known: what they read, how they are run, and how they are installed.

use std::path::Path;

/// An indexer that writes SCIP.
#[derive(Debug, PartialEq, Eq)]
pub struct Indexer {
    /// The name of the program.
    pub name: &'static str,
    /// The language for people.
    pub language: &'static str,
    /// Files that say that a directory is for it. One that begins with `*` is an ending, and says nothing of
    /// directories below the indexed one.
    pub marks: &'static [&'static str],
    /// How the names of its sources end.
    pub endings: &'static [&'static str],
    /// Its arguments. `{output}` is the file that it writes. `{name}` is the name of the indexed directory, or the path
    /// of one below it, with `-` for `/`.
    pub arguments: &'static [&'static str],
    /// How it is installed.
    pub install: &'static str,
    /// The languages that ctags is asked for if it is missing.
    pub for_ctags: &'static str,
}

/// See [`Indexer`].
pub const INDEXERS: &[Indexer] = &[
    Indexer {
        name: "rust-analyzer",
        language: "Rust",
        marks: &["Cargo.toml"],
        endings: &[".rs"],
        arguments: &["scip", ".", "--output", "{output}"],
        install: "rustup component add rust-analyzer",
        for_ctags: "Rust",
    },
    Indexer {
        name: "scip-typescript",
        language: "TypeScript or JavaScript",
        marks: &["tsconfig.json", "package.json", "jsconfig.json"],
        endings: &[".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"],
        arguments: &["index", "--infer-tsconfig", "--output", "{output}"],
        install: "npm install --global @sourcegraph/scip-typescript",
        for_ctags: "TypeScript,JavaScript",
    },
    Indexer {
        name: "scip-python",
        language: "Python",
        marks: &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "*.py"],
        endings: &[".py"],
        // Without a version, it takes the last commit: it fails if there is none, and each commit changes all symbols.
        // SCIP writes `.` for no version.
        arguments: &["index", ".", "--project-name", "{name}", "--project-version", ".", "--output", "{output}"],
        install: "npm install --global @sourcegraph/scip-python",
        for_ctags: "Python",
    },
    Indexer {
        name: "scip-java",
        language: "Java, Kotlin or Scala",
        marks: &["pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "gradlew", "build.sbt"],
        endings: &[".java", ".kt", ".scala"],
        // `auto` chooses one if a directory has files of several build tools.
        arguments: &["index", "--build-tool", "auto", "--output", "{output}"],
        install: "coursier install scip-java --contrib",
        // A ctags that does not have all of them only warns.
        for_ctags: "Java,Kotlin,Scala",
    },
    Indexer {
        name: "scip-go",
        language: "Go",
        marks: &["go.mod"],
        endings: &[".go"],
        arguments: &["--output", "{output}"],
        install: "go install github.com/scip-code/scip-go/cmd/scip-go@latest",
        for_ctags: "Go",
    },
];

/// The names of all indexers, in the order in which they are run.
pub const INDEXER_NAMES: [&str; 6] =
    ["rust-analyzer", "scip-typescript", "scip-python", "scip-java", "scip-go", "ctags"];

/// How ctags is installed.
pub const INSTALL_CTAGS: &str = "apt install universal-ctags, or brew install universal-ctags";

impl Indexer {
    /// The file of `directory` for which the indexer is, if there is one.
    pub fn mark(&self, directory: &Path) -> Option<String> {
        let of_mark = |mark: &&str| match mark.strip_prefix('*') {
            None => directory.join(mark).is_file().then(|| (*mark).to_owned()),
            Some(ending) => {
                let entries = std::fs::read_dir(directory).ok()?;
                let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
                names.filter(|name| name.ends_with(ending)).min()
            }
        };
        self.marks.iter().find_map(of_mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_indexers_are_named() {
        let names: Vec<&str> = INDEXERS.iter().map(|indexer| indexer.name).chain(["ctags"]).collect();
        assert_eq!(names, INDEXER_NAMES);
    }
}
