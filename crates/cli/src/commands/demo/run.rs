//! The order of the acts, and what is printed around them.

use std::path::{Path, PathBuf};
use std::time::Instant;

use fulgurite::Database;

#[cfg(feature = "rdf")]
use super::packages;
use super::report::Report;
use super::schema::Tables;
use super::{change, crash, load, questions};
use crate::arguments::Demo;
use crate::failure::Failure;
use crate::output::{grouped, size};
use crate::progress::time;

/// Runs the demo, or the child that it starts.
pub fn run(arguments: &Demo) -> Result<(), Failure> {
    let path = &arguments.out;
    if arguments.commit_until_killed {
        return crash::commit_until_killed(path);
    }
    let data = load::data_file(arguments.data.as_deref())?;
    #[cfg(feature = "rdf")]
    let index = packages::data_file(arguments.data.as_deref()).map(|index| (index, packages::store_file(path)));
    #[cfg(not(feature = "rdf"))]
    let index: Option<(PathBuf, PathBuf)> = None;
    for path in std::iter::once(path).chain(index.as_ref().map(|(_, store)| store)).filter(|path| path.exists()) {
        replace(path, arguments.yes)?;
    }
    let (report, begun) = (Report::new(), Instant::now());
    report.print(&format!("Fulgurite {}: WordNet 3.1 in {}", env!("CARGO_PKG_VERSION"), from_here(path)))?;

    let db = Database::create(path)?;
    let tables = Tables::open(&db)?;
    report.act("Load", "every synset, word and pointer, each table in one go or not at all")?;
    load::load(&report, &db, &tables, &data)?;
    report.act("Ask", "from one snapshot")?;
    questions::ask(&report, &db, &tables)?;
    report.act("Change", "a transaction, and a snapshot that is older than it")?;
    change::change(&report, &db, &tables)?;
    db.close()?;
    report.act("Crash", &crash::subject())?;
    crash::crash(&report, path)?;
    report.act("Settle", "the file made small, and every page of it checked")?;
    settle(&report, path)?;
    #[cfg(feature = "rdf")]
    if let Some((data, store)) = &index {
        report.act("Link", &format!("Debian's packages as RDF in {}, asked by SPARQL", from_here(store)))?;
        packages::load_and_ask(&report, data, store)?;
    }

    report.print(&format!("\nDone in {}. Go on with:", time(begun.elapsed())))?;
    let called = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let (program, file) = (from_here(&called), from_here(path));
    report.print(&format!("  {program} get {file} synsets n99999999"))?;
    report.print(&format!("  {program} scan {file} words --prefix lightning"))?;
    report.print(&format!("  {program} stats {file}"))?;
    match &index {
        Some((_, store)) => {
            report.print(&format!("  {program} rdf query {} 'SELECT * {{ ?s ?p ?o }} LIMIT 9'", from_here(store)))
        }
        None => Ok(()),
    }
}

/// Makes the file small, and proves that all of it is sound.
fn settle(report: &Report, path: &Path) -> Result<(), Failure> {
    let db = Database::open(path)?;
    let before = db.stats()?.file_bytes;
    let begun = Instant::now();
    db.compact()?;
    let now = db.stats()?.file_bytes;
    report.done("compact", format!("{} before, {} now", size(before), size(now)), begun.elapsed())?;
    let begun = Instant::now();
    let found = db.check()?;
    if let Some(damage) = found.damages.first() {
        return Err(Failure::Damaged(format!("{}: {damage}; please report this", path.display())));
    }
    let (pages, entries, tables) = (grouped(found.pages), grouped(found.entries), found.tables);
    report.done("check", format!("{pages} pages, {entries} entries, {tables} tables: sound"), begun.elapsed())?;
    Ok(db.close()?)
}

/// Makes room for a new database.
fn replace(path: &Path, yes: bool) -> Result<(), Failure> {
    if !yes {
        let message = format!("{}: exists; --yes replaces it, --out names another file", path.display());
        return Err(Failure::Message(message));
    }
    // Opening proves that it is a database, and that no other process writes to it. Closing removes its log.
    Database::open(path)?.close()?;
    std::fs::remove_file(path).map_err(|error| Failure::file(path, "cannot be removed", &error))
}

/// A path as short as it can be written here.
fn from_here(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
