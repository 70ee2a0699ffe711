//! The second act: queries, each with its answer and its time.

use std::time::Instant;

use fulgurite::{Database, ReadTxn};

use crate::error::Result;
use crate::figures::grouped;
use crate::report::Report;
use crate::schema::{SynsetValue, Tables};

/// Runs all queries.
pub fn ask(report: &Report, db: &Database, tables: &Tables) -> Result<()> {
    let txn = db.read()?;
    define(report, &txn, tables, "lightning")?;
    words_with_prefix(report, &txn, tables, "thunder")?;
    kinds(report, &txn, tables, ("lightning", "noun.phenomenon"))?;
    last_words(report, &txn, tables)?;
    counts(report, &txn, tables)
}

/// The meanings of a word: its synsets and their definitions.
fn define(report: &Report, txn: &ReadTxn, tables: &Tables, word: &str) -> Result<()> {
    let begun = Instant::now();
    let mut meanings = Vec::new();
    for id in tables.words.get(txn, word)? {
        let id = id?;
        meanings.push((synset(txn, tables, &id)?, id));
    }
    report.done("define", word, begun.elapsed())?;
    for ((words, file, gloss), id) in meanings {
        report.line(format!("{id} {file} ({words}): {gloss}"))?;
    }
    Ok(())
}

fn words_with_prefix(report: &Report, txn: &ReadTxn, tables: &Tables, prefix: &str) -> Result<()> {
    let begun = Instant::now();
    let mut words: Vec<String> = Vec::new();
    for pair in tables.words.prefix(txn, prefix)? {
        let (word, _) = pair?;
        if words.last() != Some(&word) {
            words.push(word);
        }
    }
    report.done("prefix", format!("{} words that begin with {prefix}", words.len()), begun.elapsed())?;
    report.line(words.join(", "))
}

fn kinds(report: &Report, txn: &ReadTxn, tables: &Tables, (word, file): (&str, &str)) -> Result<()> {
    let begun = Instant::now();
    let chain = hypernyms(txn, tables, word, file)?;
    report.done("hypernyms", format!("what {word} is a kind of"), begun.elapsed())?;
    report.line(chain.join(" → "))
}

/// The id of a word in the meaning that belongs to a lexicographer file.
///
/// # Errors
/// The engine's; if there is no such meaning.
pub fn meaning(txn: &ReadTxn, tables: &Tables, word: &str, file: &str) -> Result<String> {
    for id in tables.words.get(txn, word)? {
        let id = id?;
        if synset(txn, tables, &id)?.1 == file {
            return Ok(id);
        }
    }
    Err(format!("`{word}` ({file}) is not in this WordNet; rebuild the data").into())
}

/// The chain from a word to the most general one, by the first hypernym of each.
///
/// # Errors
/// As [`meaning`]; if a pointer has no target, or the chain is a circle.
pub fn hypernyms(txn: &ReadTxn, tables: &Tables, word: &str, file: &str) -> Result<Vec<String>> {
    let mut chain = vec![word.to_owned()];
    let mut id = meaning(txn, tables, word, file)?;
    // A prefix of the key: the source, and the beginning of the symbol, so that instances (@i) are found too.
    while let Some(found) = tables.pointers.prefix(txn, &(id.as_str(), "@"))?.next() {
        let (_, (target, ..)) = found?;
        let (words, ..) = synset(txn, tables, &target)?;
        chain.push(words.split(", ").next().unwrap_or_default().to_owned());
        if chain.len() > CHAIN_MAX {
            return Err(format!("the hypernyms of `{word}` lead in a circle; rebuild the data").into());
        }
        id = target;
    }
    Ok(chain)
}

fn last_words(report: &Report, txn: &ReadTxn, tables: &Tables) -> Result<()> {
    let begun = Instant::now();
    let mut words: Vec<String> = Vec::new();
    for pair in tables.words.iter(txn)?.rev() {
        let (word, _) = pair?;
        if words.last() != Some(&word) {
            words.push(word);
        }
        if words.len() == LAST_WORDS {
            break;
        }
    }
    report.done("reverse", "the last words, backwards", begun.elapsed())?;
    report.line(words.join(", "))
}

fn counts(report: &Report, txn: &ReadTxn, tables: &Tables) -> Result<()> {
    let begun = Instant::now();
    let mut parts = Vec::new();
    for (part, low, high) in [("nouns", "n", "o"), ("verbs", "v", "w"), ("adjectives", "a", "b"), ("adverbs", "r", "s")]
    {
        parts.push(format!("{} {part}", grouped(tables.synsets.count(txn, low..high)?)));
    }
    report.done("count", parts.join(", "), begun.elapsed())
}

/// The synset of an id from another table.
fn synset(txn: &ReadTxn, tables: &Tables, id: &str) -> Result<SynsetValue> {
    let found = tables.synsets.get(txn, id)?;
    found.ok_or_else(|| format!("synset {id} is missing; rebuild the data").into())
}

/// More than the longest chain in WordNet.
const CHAIN_MAX: usize = 64;
/// Words that are read backwards.
const LAST_WORDS: usize = 8;
