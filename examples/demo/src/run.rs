//! The order of the acts.

use std::path::Path;
use std::time::Instant;

use fulgurite::Database;

use crate::code::act;
use crate::error::Result;
use crate::figures::{grouped, size, time};
use crate::packages;
use crate::report::Report;
use crate::schema::Tables;
use crate::{change, crash, flights, load, questions};

/// What is run.
pub struct Run<'r> {
    /// The directory of the data.
    pub data: Option<&'r Path>,
    /// The new database. Others are next to it.
    pub path: &'r Path,
    /// Replace databases that exist.
    pub yes: bool,
    /// Do not run rust-analyzer.
    pub code_sample: bool,
}

/// Runs all acts.
pub fn run(run: &Run<'_>) -> Result<()> {
    let Run { data: directory, path, yes, code_sample } = *run;
    let data = load::data_file(directory)?;
    let index = packages::data_file(directory).map(|index| (index, packages::store_file(path)));
    let sample = act::data_file(directory).map(|sample| (sample, act::index_file(path)));
    let events = flights::data_file(directory).map(|data| (data, flights::store_file(path)));
    let others = index.iter().chain(&sample).chain(&events).map(|(_, file)| file.as_path());
    for path in std::iter::once(path).chain(others).filter(|path| path.exists()) {
        replace(path, yes)?;
    }
    let (report, begun) = (Report::new(), Instant::now());
    report.print(&format!("Fulgurite {}: WordNet 3.1 in {}", env!("CARGO_PKG_VERSION"), from_here(path)))?;

    let db = Database::create(path)?;
    let tables = Tables::open(&db)?;
    report.act("Load", "every synset, word and pointer; each table is loaded completely or not at all")?;
    load::load(&report, &db, &tables, &data)?;
    report.act("Query", "one snapshot")?;
    questions::ask(&report, &db, &tables)?;
    report.act("Change", "a transaction, and a snapshot that is older")?;
    change::change(&report, &db, &tables)?;
    db.close()?;
    report.act("Crash", &crash::subject())?;
    crash::crash(&report, path)?;
    report.act("Maintain", "make the file small, and check every page")?;
    settle(&report, path)?;
    if let Some((data, store)) = &index {
        report.act("RDF", &format!("Debian's packages as RDF in {}, queried by SPARQL", from_here(store)))?;
        packages::load_and_ask(&report, data, store)?;
    }
    if let Some((sample, file)) = &sample {
        report.act("Code", &format!("the crate keys as facts in {}, asked by verbs and in Angle", from_here(file)))?;
        act::index_and_ask(&report, sample, file, code_sample)?;
    }
    if let Some((data, store)) = &events {
        report.act(
            "Events",
            &format!("flights from New York as events in {}, and reports by replay", from_here(store)),
        )?;
        flights::show(&report, data, store)?;
    }

    report.print(&format!(
        "\nDone in {}. Go on with the command line (cargo install --path crates/cli):",
        time(begun.elapsed())
    ))?;
    let file = from_here(path);
    report.print(&format!("  fulgurite get {file} synsets n99999999"))?;
    report.print(&format!("  fulgurite scan {file} words --prefix lightning"))?;
    report.print(&format!("  fulgurite stats {file}"))?;
    if let Some((_, store)) = &index {
        report.print(&format!("  fulgurite rdf query {} 'SELECT * {{ ?s ?p ?o }} LIMIT 9'", from_here(store)))?;
    }
    if let Some((_, file)) = &sample {
        report.print(&format!("  fulgurite facts search {} encode", from_here(file)))?;
    }
    if let Some((_, store)) = &events {
        report.print(&format!("  fulgurite events read {} --type cancelled --limit 3", from_here(store)))?;
    }
    Ok(())
}

/// Makes the file small, and checks all of it.
fn settle(report: &Report, path: &Path) -> Result<()> {
    let db = Database::open(path)?;
    let before = db.stats()?.file_bytes;
    let begun = Instant::now();
    db.compact()?;
    let now = db.stats()?.file_bytes;
    report.done("compact", format!("{} before, {} now", size(before), size(now)), begun.elapsed())?;
    let begun = Instant::now();
    let found = db.check()?;
    if let Some(damage) = found.damages.first() {
        return Err(format!("{}: {damage}; please report this", path.display()).into());
    }
    let (pages, entries, tables) = (grouped(found.pages), grouped(found.entries), found.tables);
    report.done("check", format!("{pages} pages, {entries} entries, {tables} tables: sound"), begun.elapsed())?;
    Ok(db.close()?)
}

/// Removes an old database.
fn replace(path: &Path, yes: bool) -> Result<()> {
    if !yes {
        let message = format!("{}: exists; --yes replaces it, --out names another file", path.display());
        return Err(message.into());
    }
    // Opening fails if the file is not a database, or if another process writes to it. Closing removes the log.
    Database::open(path)?.close()?;
    std::fs::remove_file(path).map_err(|error| format!("{}: cannot be removed: {error}", path.display()))?;
    Ok(())
}

/// The path, relative to the working directory if it is below it.
fn from_here(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
