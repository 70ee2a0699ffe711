//! The first act: loads WordNet from its file into three tables.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fulgurite::{Database, LoadSummary};
use fulgurite_keys::{AsKey, AsValue};

use crate::error::Result;
use crate::figures::{grouped, rate, size};
use crate::report::Report;
use crate::schema::Tables;
use crate::wordnet::{Synset, Synsets};

/// The file of the data, in `directory` or below it.
///
/// # Errors
/// If there is none.
pub fn data_file(directory: Option<&Path>) -> Result<PathBuf> {
    const HOW: &str = "it is the directory `data` of Fulgurite's source code";
    let Some(directory) = directory else {
        return Err(format!("the data is missing: give --data DIRECTORY; {HOW}").into());
    };
    let places = [directory.join(FILE), directory.join("wordnet").join(FILE)];
    places
        .into_iter()
        .find(|place| place.is_file())
        .ok_or_else(|| format!("{}: no {FILE} in it; {HOW}", directory.display()).into())
}

/// Loads all three tables.
pub fn load(report: &Report, db: &Database, tables: &Tables, data: &Path) -> Result<()> {
    let begun = Instant::now();
    let synsets: Vec<Synset> = Synsets::open(data).and_then(Iterator::collect).map_err(|error| error.to_string())?;
    let words = synsets.iter().map(|synset| synset.words.len()).sum::<usize>();
    let pointers = synsets.iter().map(|synset| synset.pointers.len()).sum::<usize>();
    let read = format!("{} synsets, {} words, {} pointers", figure(synsets.len()), figure(words), figure(pointers));
    report.done("read", read, begun.elapsed())?;

    let begun = Instant::now();
    let loaded = load_synsets(db, tables, &synsets)?;
    told(report, "synsets", "by id, sorted already", loaded, begun.elapsed())?;
    let begun = Instant::now();
    let loaded = load_words(db, tables, &synsets)?;
    told(report, "words", "word → synsets, a multimap, sorted on the way", loaded, begun.elapsed())?;
    let begun = Instant::now();
    let loaded = load_pointers(db, tables, synsets)?;
    told(report, "pointers", "by source and symbol, sorted already", loaded, begun.elapsed())?;

    let begun = Instant::now();
    let stats = db.stats()?;
    let entries: u64 = stats.tables.iter().map(|table| table.entries).sum();
    let file =
        format!("{} for {} entries, {} of it free", size(stats.file_bytes), grouped(entries), size(stats.free_bytes));
    report.done("file", file, begun.elapsed())
}

fn told(report: &Report, table: &str, how: &str, loaded: LoadSummary, took: Duration) -> Result<()> {
    let entries = loaded.inserted + loaded.replaced;
    report.done(table, format!("{:>7} entries, {:>8}  {how}", grouped(entries), rate(entries, took)), took)
}

fn load_synsets(db: &Database, tables: &Tables, synsets: &[Synset]) -> Result<LoadSummary> {
    let entries = synsets.iter().map(|synset| {
        let value = (synset.words.join(", "), synset.file.as_str(), synset.gloss.as_str());
        (synset.id.as_str().encode(), value.encode_value())
    });
    Ok(db.bulk_load(tables.synsets.as_bytes(), entries)?)
}

fn load_words(db: &Database, tables: &Tables, synsets: &[Synset]) -> Result<LoadSummary> {
    let pairs = synsets.iter().flat_map(|synset| synset.words.iter().map(|word| (word.as_str(), synset.id.as_str())));
    let entries = pairs.map(|(word, id)| tables.words.entry(word, id).map(|entry| (entry, [])));
    Ok(db.try_bulk_load_unsorted(tables.words.as_bytes(), entries, SORT_MEMORY_BYTES)?)
}

fn load_pointers(db: &Database, tables: &Tables, synsets: Vec<Synset>) -> Result<LoadSummary> {
    let entries = synsets.into_iter().flat_map(|mut synset| {
        // A stable sort keeps WordNet's order of the pointers of one symbol. Their positions record it.
        synset.pointers.sort_by(|a, b| a.symbol.cmp(&b.symbol));
        let source = synset.id;
        synset.pointers.into_iter().zip(0_u16..).map(move |(pointer, position)| {
            let key = (source.as_str(), pointer.symbol.as_str(), position).encode();
            let value = (pointer.target.as_str(), pointer.words.0, pointer.words.1).encode_value();
            Ok::<_, Infallible>((key, value))
        })
    });
    Ok(db.try_bulk_load(tables.pointers.as_bytes(), entries)?)
}

fn figure(count: usize) -> String {
    grouped(count as u64)
}

/// The data.
const FILE: &str = "synsets.tsv.gz";
/// Less than the data, so that the sort uses files.
const SORT_MEMORY_BYTES: usize = 4 << 20;
