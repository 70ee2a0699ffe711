//! The layers of every crate.

/// A crate with layers.
pub struct Layered {
    /// The folder of its sources.
    pub folder: &'static str,
    /// Its modules, lowest layer first. A module may import from lower layers and from itself, but not from its own
    /// layer or from higher ones.
    ///
    /// Rooms of a module have layers of their own. Files that are directly in the module's folder are in its layer,
    /// above its rooms.
    pub layers: &'static [&'static [&'static str]],
}

/// Where the engine's modules live.
pub const ENGINE: &str = "crates/engine/src/";

/// The model checker's crate has no table: it consists mostly of the engine's files, which the engine's table covers,
/// compiled with other locks.
pub const WITHOUT_LAYERS: &[&str] = &["proofs/loom-models/src/"];

/// Every crate with layers.
pub const CRATES: &[Layered] = &[
    Layered { folder: ENGINE, layers: ENGINE_LAYERS },
    Layered { folder: "crates/keys/src/", layers: KEYS_LAYERS },
    Layered { folder: "crates/rdf/src/", layers: RDF_LAYERS },
    Layered { folder: "crates/migration/src/", layers: MIGRATION_LAYERS },
    Layered { folder: "crates/graph/src/", layers: GRAPH_LAYERS },
    Layered { folder: "crates/events/src/", layers: EVENTS_LAYERS },
    Layered { folder: "crates/facts/src/", layers: FACTS_LAYERS },
    Layered { folder: "crates/code/src/", layers: CODE_LAYERS },
    Layered { folder: "crates/server/src/", layers: SERVER_LAYERS },
    Layered { folder: "crates/cli/src/", layers: CLI_LAYERS },
    Layered { folder: "crates/handles/src/", layers: HANDLES_LAYERS },
    Layered { folder: "crates/java/src/", layers: JAVA_LAYERS },
    Layered { folder: "crates/c/src/", layers: C_LAYERS },
    Layered { folder: "crates/python/src/", layers: PYTHON_LAYERS },
    Layered { folder: "benchmarks/bench/src/", layers: BENCH_LAYERS },
    Layered { folder: "benchmarks/inventory/src/", layers: INVENTORY_LAYERS },
    Layered { folder: "benchmarks/rivals/src/", layers: RIVALS_LAYERS },
    Layered { folder: "proofs/testkit/src/", layers: TESTKIT_LAYERS },
    Layered { folder: "proofs/rdf-testkit/src/", layers: STORE_TESTKIT_LAYERS },
    Layered { folder: "proofs/facts-testkit/src/", layers: STORE_TESTKIT_LAYERS },
    Layered { folder: "proofs/conformance/src/", layers: CONFORMANCE_LAYERS },
    Layered { folder: "proofs/instructions/src/", layers: INSTRUCTIONS_LAYERS },
    Layered { folder: "proofs/c-header/src/", layers: &[] },
    Layered { folder: "examples/demo/src/", layers: DEMO_LAYERS },
    Layered { folder: "xtask/src/", layers: XTASK_LAYERS },
];

/// See [`Layered::layers`].
const ENGINE_LAYERS: &[&[&str]] = &[
    &["ids", "sync"],
    &["error", "planted"],
    &["process"],
    &["format", "merge_functions", "metrics"],
    &["io"],
    &["monitor", "options", "sort"],
    &["pager"],
    &["log"],
    &["tree"],
    &["delta"],
    &["txn::coordination"],
    &["txn::snapshot"],
    &["txn::writes"],
    &["txn::reads"],
    &["txn::commit"],
    &["txn::transaction"],
    &["txn"],
    &["db::storage"],
    &["db::recovery"],
    &["db::checkpoint"],
    &["db::background"],
    &["db::handle"],
    &["db::access"],
    &["db::maintenance"],
    &["db"],
];

/// See [`Layered::layers`].
const KEYS_LAYERS: &[&[&str]] = &[
    &["buffer", "error", "scanner"],
    &["escape", "types"],
    &["reader"],
    &["key", "multimap", "value"],
    &["compound", "datum", "scalars", "strings"],
    &["text"],
];

/// See [`Layered::layers`].
const RDF_LAYERS: &[&[&str]] = &[
    &["error", "meter"],
    &["model", "xml"],
    &["tables"],
    &["dictionary"],
    &["quads", "writing"],
    &["store"],
    &["load", "maintenance"],
    &["sparql"],
    &["tests"],
];

/// See [`Layered::layers`].
const MIGRATION_LAYERS: &[&[&str]] = &[&["error"], &["directory"], &["lmdb", "native"], &["store"], &["migration"]];

/// See [`Layered::layers`].
const GRAPH_LAYERS: &[&[&str]] = &[&["checkpoint", "edges"], &["graphs", "state"]];

/// See [`Layered::layers`].
const EVENTS_LAYERS: &[&[&str]] =
    &[&["ids"], &["event"], &["error"], &["codec", "layout"], &["reading"], &["store"], &["consumers"]];

/// See [`Layered::layers`].
const FACTS_LAYERS: &[&[&str]] = &[
    &["cancellation", "ids", "state"],
    &["angle", "value"],
    &["error"],
    &["layout", "ownership", "schema"],
    &["lmdb"],
    &["json", "reading"],
    &["store"],
    &["query"],
    &["database"],
];

/// See [`Layered::layers`].
const CODE_LAYERS: &[&[&str]] = &[
    &["columns", "error"],
    &["model"],
    &["schema", "source"],
    &["ctags", "scip", "stack"],
    &["browse", "writing"],
    &["indexers"],
    &["live", "update"],
    &["lsp"],
    &["tests"],
];

/// See [`Layered::layers`].
const SERVER_LAYERS: &[&[&str]] = &[
    &["error", "settings"],
    &["http"],
    &["listening"],
    &["facts", "federation", "options", "page"],
    &["protocol"],
    &["rdf4j"],
    &["serving"],
];

/// See [`Layered::layers`].
const CLI_LAYERS: &[&[&str]] = &[
    &["notation"],
    &["arguments", "failure", "internal_error", "json"],
    &["column", "database"],
    &["entries"],
    &["records"],
    &["output"],
    &["progress"],
    &["commands"],
];

/// See [`Layered::layers`].
const HANDLES_LAYERS: &[&[&str]] = &[&["held", "kind", "openings", "registry", "types"]];

/// See [`Layered::layers`].
const C_LAYERS: &[&[&str]] = &[
    &["code"],
    &["arguments"],
    &["events::held", "merge_functions"],
    &["events::feeds"],
    &["handles", "options"],
    &["bulk", "changes", "cursors", "databases", "maintenance", "reads", "tables", "transactions", "writes"],
    &["events"],
];

/// See [`Layered::layers`].
const PYTHON_LAYERS: &[&[&str]] = &[
    &["names", "merging::raised"],
    &["error"],
    &["process"],
    &["merging::running"],
    &["lent"],
    &["keys", "kinds"],
    &["merging::functions"],
    &["merging"],
    &["arrow", "change_feed", "tables", "values"],
    &["bounds"],
    &["scans"],
    &["loads"],
    &["source"],
    &["rdf::interrupts"],
    &["rdf::rows"],
    &["rdf::store"],
    &["rdf"],
    &["events::arguments", "events::exclusive"],
    &["events::recorded"],
    &["events::columns"],
    &["events::reading"],
    &["events::transaction"],
    &["events::store"],
    &["events::following"],
    &["events::views"],
    &["events"],
];

/// See [`Layered::layers`].
const JAVA_LAYERS: &[&[&str]] = &[
    &["error"],
    &["arguments", "batch", "packed_changes", "quads::objects"],
    &["callbacks"],
    &["registry"],
    &["database"],
    &["bulk", "change_feed", "checkpoints", "quads", "reads", "tables", "writes"],
    &["room"],
];

/// See [`Layered::layers`].
const BENCH_LAYERS: &[&[&str]] = &[
    &["error", "json"],
    &["data"],
    &["measure"],
    &["engines", "floors"],
    &["harness"],
    &["compare", "suites"],
    &["compare_proof"],
];

/// See [`Layered::layers`].
const INVENTORY_LAYERS: &[&[&str]] = &[&["auction", "bin", "generated", "malformed"], &["auction_codec", "bin_codec"]];

/// See [`Layered::layers`].
const RIVALS_LAYERS: &[&[&str]] = &[
    &["interface", "versions"],
    &["c_interface"],
    &["bf_tree", "fjall", "leveldb", "libmdbx", "lmdb", "redb", "rocksdb", "sqlite"],
];

/// See [`Layered::layers`].
const TESTKIT_LAYERS: &[&[&str]] = &[
    &["arguments", "fault", "merge_function", "panics", "random"],
    &["content", "fault_disk"],
    &["crash_recording", "holdings"],
    &["crash_disk", "golden"],
    &["crash_images", "disk_contract"],
    &["crash", "cuts", "hostile", "isolation", "kill", "model", "simulate", "soak"],
    &["faults"],
    &["kernel"],
];

/// See [`Layered::layers`].
const STORE_TESTKIT_LAYERS: &[&[&str]] = &[&["contents"], &["workload"], &["damage", "power"]];

/// See [`Layered::layers`].
const CONFORMANCE_LAYERS: &[&[&str]] = &[
    &["archive", "comparison", "isomorphism", "known"],
    &["answer", "suites"],
    &["subject"],
    &["manifest", "ours", "reference"],
    &["report", "run"],
];

/// See [`Layered::layers`].
const INSTRUCTIONS_LAYERS: &[&[&str]] =
    &[&["error", "keys"], &["stores"], &["quads"], &["operations"], &["callgrind"], &["table"]];

/// See [`Layered::layers`].
const DEMO_LAYERS: &[&[&str]] = &[
    &["debian", "error", "figures", "wordnet"],
    &["report", "schema"],
    &["flights::data"],
    &["flights::append", "flights::reports"],
    &["flights::act"],
    &["code", "crash", "flights", "load", "packages", "questions"],
    &["change"],
    &["run"],
];

/// See [`Layered::layers`].
const XTASK_LAYERS: &[&[&str]] = &[
    &["command"],
    &["workspace"],
    &["tidy", "tools"],
    &["launch"],
    &["docs", "events", "instructions", "lanes", "page"],
    &["miri", "step"],
    &["bindings", "java"],
    &["bench", "ci", "geaflow"],
    &["commands"],
];
