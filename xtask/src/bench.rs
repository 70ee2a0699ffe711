//! `cargo xtask bench`: the benchmarks, with every other engine that can be built here.

use std::path::{Path, PathBuf};

use crate::command::{Command, Failure};
use crate::launch::{cargo, wait, without_dashes};
use crate::{bindings, java, tools, workspace};

/// `cargo xtask bench`
pub const BENCH: Command = Command {
    name: "bench",
    summary: "measure Fulgurite beside other engines",
    help: "\
Usage: cargo xtask bench SUITE [ARGUMENTS]
       cargo xtask bench compare A B

Builds the benchmark and the other engines with full optimisation, which takes minutes the first time, and runs a suite:
  core          point reads, scans, loads and single puts, beside LMDB; with bars
  writers       transactions of one and of several threads, beside LMDB, fjall and RocksDB; with bars
  sustained     puts that outlast every buffer, beside the same engines: speed, bytes written, space, pauses, and gets
                beside the puts; with bars
  ycsb          the workloads A to F of the Yahoo! Cloud Serving Benchmark, beside eight engines
  lightning     every table of a report on Lightning DB, with the report's claims, beside eight engines
  geaflow       every table of a report on the LMDB backend of Apache GeaFlow, with the report's claims, beside eight
                engines
  geaflow java  GeaFlow's states by the interfaces of its stores, beside rocksdbjni as GeaFlow uses it: values, lists,
                maps, graphs, checkpoints and 1,000 idle shards; with bars
  graph         a graph of a million vertices: loads, traversals and checkpoints; with bars
  rdf4j         the RDF store from Rust and from RDF4J: loads, scans, threads, space and SPARQL, beside RDF4J's
                LmdbStore and NativeStore, and Oxigraph; with bars
  glean         facts about code, beside a store on LMDB that is laid out as Glean's; with bars
  storagebench  an inventory in Protocol Buffers and FlatBuffers, beside LMDB, RocksDB and SQLite; events: replays,
                appends and followers, beside Chronicle Queue; with bars
  java          gets, scans and puts from Java, beside lmdbjava and rocksdbjni, by JMH, and the cost of a crossing to
                Rust; with bars
  bindings      calls from C beside LMDB, from Go beside bbolt and Pebble, from Python beside py-lmdb and rocksdict
  limits        what this machine can do at best: loads, bandwidth, page faults, page cache, disk, huge pages, calls,
                threads. Suites except java, geaflow java and bindings report six of these, before and after the run

compare shows what changed beyond noise between two files that `--json FILE` of a suite wrote. It exits with 1 if
something is slower.

A bar is a limit that a release must meet: a ratio to another engine, a time or a size. A run exits with 1 if a bar is
missed. docs/internals/benchmarks.md says what memory, disk and time each suite needs.

The eight engines are LMDB, RocksDB, LevelDB, fjall, redb, SQLite, Bf-Tree and libmdbx. An engine that cannot be built
or found is named and left out: RocksDB needs the package librocksdb-dev, LevelDB libleveldb-dev, libmdbx and Oxigraph
libclang-dev. Engines in Java need a JDK (17 or later) and Maven.

Arguments:
  of a suite       `cargo xtask bench SUITE -- --help` shows its options and workloads, once it is built;
                   `cargo xtask bench compare -- --help` those of compare
  of java          they go to JMH
  of geaflow java  --quick, --only PARTS, --rounds N, --operations N
  of bindings      c, go or python to choose one; further arguments go to its program

Examples:
  cargo xtask bench core --quick                   everything in seconds, on small data; judges no bar
  cargo xtask bench core --format json
  cargo xtask bench java -p records=100000 Engines.get
  cargo xtask bench geaflow java --quick --only kv_get
  cargo xtask bench bindings python --records 10000
  cargo xtask bench rdf4j --generate FILE --statements N    only write the data",
    run: bench,
};

fn bench(arguments: &[String]) -> Result<(), Failure> {
    let root = workspace::root()?;
    let arguments = without_dashes(arguments);
    if arguments.is_empty() {
        return Err(Failure::Usage("name a suite, such as core".into()));
    }
    if let Some((&"bindings", rest)) = arguments.split_first() {
        return bindings::bench(&root, rest);
    }
    if let Some((&"java", jmh)) = arguments.split_first() {
        return bench_java(&root, jmh);
    }
    if let ["geaflow", "java", rest @ ..] = &arguments[..] {
        return bench_states(&root, rest);
    }
    let is_of_quads = arguments.first() == Some(&"rdf4j");
    let asked = Asked::of(&arguments);
    let features = match is_of_quads {
        true if asked.has("oxigraph") => rivals_of_quads(has_libclang()).to_owned(),
        true => String::new(),
        false => rivals(has_libclang()),
    };
    let all = ["run", "--locked", "--release", "--package", "fulgurite-bench", "--features", &features, "--"];
    let mut command = workspace::child(&root, "cargo", &all);
    command.args(&arguments);
    let is_alone = arguments.iter().any(|argument| WITHOUT_JAVA.contains(argument));
    if is_of_quads && !is_alone && JAVA_ENGINES.iter().any(|engine| asked.has(engine)) {
        eprintln!("building bindings/java and installing it into the local Maven repository");
        match java::install(&root).and_then(|()| tools::ensure_rdf4j(&root)) {
            Ok(directory) => drop(command.env("FULGURITE_RDF4J", directory)),
            Err(reason) => eprintln!("the stores for RDF4J are left out: {reason}"),
        }
    }
    if arguments.first() == Some(&"storagebench")
        && !is_alone
        && asked.has("chronicle-queue")
        && asks_for_logs(&arguments)
    {
        match tools::ensure_queue(&root) {
            Ok(directory) => drop(command.env("FULGURITE_QUEUE", directory)),
            Err(reason) => eprintln!("chronicle-queue is left out: {reason}"),
        }
    }
    wait(command)
}

/// Whether the option `--only` of `storagebench` leaves a workload that Chronicle Queue has too.
fn asks_for_logs(arguments: &[&str]) -> bool {
    value_of("--only", arguments).is_none_or(|names| {
        names.split(',').any(|name| ["append", "follow"].iter().any(|log| name.trim().starts_with(log)))
    })
}

/// The engines that the option `--engines` names; `None` for all.
struct Asked<'a>(Option<&'a str>);

impl<'a> Asked<'a> {
    fn of(arguments: &[&'a str]) -> Self {
        Self(value_of("--engines", arguments))
    }

    fn has(&self, engine: &str) -> bool {
        self.0.is_none_or(|engines| engines.split(',').any(|name| name.trim() == engine))
    }
}

/// The value of an option, which follows a space or an equals sign.
fn value_of<'a>(option: &str, arguments: &[&'a str]) -> Option<&'a str> {
    let position = arguments.iter().position(|argument| *argument == option);
    let after = position.and_then(|position| arguments.get(position + 1).copied());
    let inline = |argument: &&'a str| argument.strip_prefix(option)?.strip_prefix('=');
    after.or_else(|| arguments.iter().find_map(inline))
}

/// `cargo xtask bench java`: runs JMH.
fn bench_java(root: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let (mut command, directory) = java_program(root)?;
    cargo(root, &["build", "--release", "--package", "fulgurite-java", "--example", "crossing"])?;
    let crossing = workspace::results(root, "release").join("examples").join("crossing");
    // JMH hands these on to the processes that it measures in. The data goes to a real disk.
    command.arg(format!("-Dfulgurite.jmh.directory={}", directory.display()));
    command.arg(format!("-Dfulgurite.jmh.crossing={}", crossing.display()));
    command.arg("fulgurite.jmh.Main").args(arguments);
    wait(command)
}

/// `cargo xtask bench geaflow java`: measures states of GeaFlow.
fn bench_states(root: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let (mut command, directory) = java_program(root)?;
    // Threads that end would take their processor time with them.
    command
        .args(["-XX:-UseDynamicNumberOfCompilerThreads", "-Xmx2g", "fulgurite.states.Main", "--directory"])
        .arg(directory)
        .args(arguments);
    wait(command)
}

/// Builds the benchmarks in Java. Returns a command that runs a class of them, and a directory for their data.
fn java_program(root: &Path) -> Result<(std::process::Command, PathBuf), Failure> {
    eprintln!("building bindings/java and installing it into the local Maven repository");
    let directory = java::install(root).and_then(|()| tools::ensure_jmh(root)).map_err(Failure::Failed)?;
    let classes = format!("{}:{}/*", directory.join("classes").display(), directory.join("jars").display());
    let mut command = workspace::child(root, "java", &["-cp", &classes]);
    // Cargo adds its own directories, where Java would find another build of the library.
    command.env_remove("LD_LIBRARY_PATH");
    Ok((command, directory))
}

/// The engines of the suite of quads that run in Java.
const JAVA_ENGINES: [&str; 4] = ["lmdbstore", "nativestore", "fulgurite-rdf4j", "fulgurite-rdf4j-queries"];

/// What suites do without other engines.
const WITHOUT_JAVA: [&str; 4] = ["--generate", "--help", "--self-test", "-h"];

/// The rivals of the store of quads that are features of the benchmarks.
fn rivals_of_quads(libclang: bool) -> &'static str {
    if libclang {
        return "oxigraph";
    }
    eprintln!("oxigraph is left out: the bindings of its RocksDB need libclang to be built (the package libclang-dev)");
    ""
}

/// The rivals that are features of the benchmarks.
fn rivals(libclang: bool) -> String {
    const ALWAYS: &str = "bf-tree,fjall,redb,sqlite";
    if libclang {
        return format!("{ALWAYS},libmdbx");
    }
    eprintln!("libmdbx is left out: its bindings need libclang to be built (the package libclang-dev)");
    ALWAYS.to_owned()
}

/// Whether libclang is where the makers of bindings look for it.
fn has_libclang() -> bool {
    let named = std::env::var_os("LIBCLANG_PATH").map(PathBuf::from);
    let usual = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
    let llvm = directories_below("/usr/lib")
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("llvm")));
    let places = usual.iter().map(PathBuf::from).chain(llvm.map(|path| path.join("lib"))).chain(named);
    places.into_iter().any(|place| match place.is_dir() {
        true => holds_libclang(&place),
        false => place.is_file(),
    })
}

fn directories_below(path: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// `libclang-cpp` is another library.
fn holds_libclang(directory: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.contains(".so")
            && (name.starts_with("libclang.so") || name.starts_with("libclang-1") || name.starts_with("libclang-2"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_that_are_not_asked_for_are_not_built() {
        let asked = Asked::of(&["rdf4j", "--engines", "lmdbstore,fulgurite-rdf4j"]);
        assert!(asked.has("lmdbstore") && asked.has("fulgurite-rdf4j"));
        assert!(!asked.has("oxigraph") && !asked.has("fulgurite"));
        assert!(!Asked::of(&["rdf4j", "--engines=fulgurite"]).has("oxigraph"));
        assert!(Asked::of(&["rdf4j", "--rounds", "1"]).has("oxigraph"));
    }

    #[test]
    fn the_queue_is_built_for_logs_alone() {
        assert!(asks_for_logs(&["storagebench"]) && asks_for_logs(&["storagebench", "--only", "read,append_one"]));
        assert!(asks_for_logs(&["storagebench", "--only=follow"]));
        assert!(!asks_for_logs(&["storagebench", "--only", "read,add", "--rounds", "1"]));
    }

    #[test]
    fn another_library_with_a_similar_name_is_not_libclang() {
        let directory = std::env::temp_dir().join(format!("xtask-libclang-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("the directory of temporary files takes another");
        let holds = |name: &str| {
            std::fs::write(directory.join(name), "").expect("it is ours");
            holds_libclang(&directory)
        };
        assert!(!holds("libclang-cpp.so.14") && holds("libclang-14.so.1"));
        std::fs::remove_dir_all(&directory).expect("it is ours");
        assert!(rivals(true).ends_with("libmdbx") && !rivals(false).contains("libmdbx"));
        assert_eq!((rivals_of_quads(true), rivals_of_quads(false)), ("oxigraph", ""));
    }
}
