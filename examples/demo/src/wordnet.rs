//! Reads the WordNet data in `data/wordnet/synsets.tsv.gz`, one synset at a time. `data/README.md` describes its lines.
//!
//! Invariants: (1) One line is in memory at a time, of at most [`LINE_BYTES_MAX`]. (2) Ids, kinds and numbers of a
//! synset are checked, and its text is UTF-8.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;

/// A set of synonyms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synset {
    /// The letter of the part of speech and eight digits: `n02086723`.
    pub id: String,
    /// `n`oun, `v`erb, `a`djective, `s`atellite adjective or adve`r`b.
    pub kind: char,
    /// The lexicographer file, a coarse subject: `noun.animal`.
    pub file: String,
    /// The words, the most usual first; at least one.
    pub words: Vec<String>,
    /// Definition and examples.
    pub gloss: String,
    /// Its connections to other synsets.
    pub pointers: Vec<Pointer>,
}

/// A connection from one synset to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The kind of connection: `@` leads to a hypernym, `!` to the opposite.
    pub symbol: String,
    /// The id of the other synset.
    pub target: String,
    /// If it connects two words: the number of the word here and of the word there, counted from 1. Else both are 0.
    pub words: (u8, u8),
}

/// Why the data could not be read.
#[derive(Debug)]
pub enum Error {
    /// The file cannot be read, or is incomplete.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's or the decompressor's answer.
        source: io::Error,
    },
    /// A line has the wrong form.
    Malformed {
        /// The file.
        path: PathBuf,
        /// Its line, counted from 1.
        line: u64,
        /// What is wrong.
        offence: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(out, "{}: reading failed: {source}", path.display()),
            Self::Malformed { path, line, offence } => {
                write!(out, "{}: line {line}: {offence}; data/wordnet/rebuild.py rebuilds the file", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Malformed { .. } => None,
        }
    }
}

/// The synsets of a file, in its order, which is that of their ids. Ends after the first error.
pub struct Synsets<R> {
    lines: R,
    path: PathBuf,
    line: u64,
    buffer: Vec<u8>,
    ended: bool,
}

impl Synsets<BufReader<GzDecoder<BufReader<File>>>> {
    /// Opens a compressed file.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        Ok(Self::new(BufReader::with_capacity(BUFFER_BYTES, GzDecoder::new(BufReader::new(file))), path))
    }
}

impl<R: BufRead> Synsets<R> {
    /// Reads lines. Errors name `path`.
    fn new(lines: R, path: &Path) -> Self {
        Self { lines, path: path.to_owned(), line: 0, buffer: Vec::new(), ended: false }
    }

    /// The synset of the next line. None at the end.
    fn read(&mut self) -> Result<Option<Synset>, Error> {
        self.buffer.clear();
        let read = self.lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|source| Error::Io { path: self.path.clone(), source })?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        let parsed = match self.buffer.strip_suffix(b"\n").map(str::from_utf8) {
            Some(Ok(line)) => Synset::parse(line),
            Some(Err(_)) => Err("not UTF-8"),
            None => Err("cut short, or longer than any line of this data"),
        };
        parsed.map(Some).map_err(|offence| Error::Malformed { path: self.path.clone(), line: self.line, offence })
    }
}

impl<R: BufRead> Iterator for Synsets<R> {
    type Item = Result<Synset, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.read().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl Synset {
    fn parse(line: &str) -> Result<Self, &'static str> {
        let mut columns = line.split('\t');
        let mut column = || columns.next().ok_or("fewer than six columns");
        let (id, kind, file, words, gloss, pointers) =
            (column()?, column()?, column()?, column()?, column()?, column()?);
        if columns.next().is_some() {
            return Err("more than six columns");
        }
        let kind = match kind {
            "n" | "v" | "a" | "r" if id.starts_with(kind) => kind,
            "s" if id.starts_with('a') => kind,
            _ => return Err("the kind is not one of n, v, a, s, r, or does not go with the id"),
        };
        Ok(Self {
            id: parse_id(id)?,
            kind: kind.chars().next().ok_or("no kind")?,
            file: file.to_owned(),
            words: parse_words(words)?,
            gloss: gloss.to_owned(),
            pointers: pointers
                .split(' ')
                .filter(|text| !text.is_empty())
                .map(Pointer::parse)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl Pointer {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let mut parts = text.split(':');
        let symbol = parts.next().filter(|symbol| !symbol.is_empty()).ok_or("a pointer without a symbol")?;
        let target = parts.next().ok_or("a pointer without a target")?;
        let words = match (parts.next(), parts.next(), parts.next()) {
            (None, None, None) => (0, 0),
            (Some(here), Some(there), None) => (parse_word_number(here)?, parse_word_number(there)?),
            _ => return Err("a pointer has neither two nor four parts"),
        };
        Ok(Self { symbol: symbol.to_owned(), target: parse_id(target)?, words })
    }
}

fn parse_id(text: &str) -> Result<String, &'static str> {
    let well_formed = match text.as_bytes() {
        [b'n' | b'v' | b'a' | b'r', digits @ ..] => digits.len() == 8 && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if well_formed { Ok(text.to_owned()) } else { Err("an id is not one of the letters n, v, a, r and eight digits") }
}

fn parse_words(text: &str) -> Result<Vec<String>, &'static str> {
    let word = |word: &str| if word.is_empty() { Err("an empty word") } else { Ok(word.to_owned()) };
    text.split('|').map(word).collect()
}

fn parse_word_number(text: &str) -> Result<u8, &'static str> {
    text.parse().ok().filter(|&number| number > 0).ok_or("the number of a word is not from 1 to 255")
}

/// The longest line of the real file has 8,937 bytes.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Bytes that are decompressed at a time.
const BUFFER_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const FIXTURE: &str = "\
a00001740\ta\tadj.all\table\thaving the means; \"able to swim\"\t=:n05207437 !:a00002098:1:1\n\
a00004171\ts\tadj.all\tdying|moribund\tceasing\t\n\
n02086723\tn\tnoun.animal\tdog|domestic dog|Canis familiaris\ta member of the genus Canis\t@:n02085998 #m:n02086515\n";

    fn read(text: &str) -> Vec<Result<Synset, String>> {
        Synsets::new(text.as_bytes(), Path::new("test")).map(|item| item.map_err(|error| error.to_string())).collect()
    }

    #[test]
    fn lines_become_synsets() {
        let synsets: Vec<Synset> = read(FIXTURE).into_iter().map(Result::unwrap).collect();
        assert_eq!(synsets.len(), 3);
        let able = &synsets[0];
        assert_eq!((able.id.as_str(), able.kind, able.file.as_str()), ("a00001740", 'a', "adj.all"));
        assert_eq!(
            (able.words.as_slice(), able.gloss.as_str()),
            (&["able".to_owned()][..], "having the means; \"able to swim\"")
        );
        let attribute = Pointer { symbol: "=".to_owned(), target: "n05207437".to_owned(), words: (0, 0) };
        let opposite = Pointer { symbol: "!".to_owned(), target: "a00002098".to_owned(), words: (1, 1) };
        assert_eq!(able.pointers, [attribute, opposite]);
        assert_eq!((synsets[1].kind, synsets[1].pointers.len()), ('s', 0));
        assert_eq!(synsets[2].words, ["dog", "domestic dog", "Canis familiaris"]);
    }

    #[test]
    fn a_malformed_line_is_an_error_that_names_it_and_ends_the_reading() {
        let good = "a00004171\ts\tadj.all\tdying\tceasing\t";
        for (from, to) in [
            ("a00004171", "a0000417"),
            ("a00004171", "x00004171"),
            ("\ts\t", "\tn\t"),
            ("\ts\t", "\t\t"),
            ("dying", "dying|"),
            ("ceasing\t", "ceasing"),
            ("ceasing\t", "ceasing\t\t"),
            ("ceasing\t", "ceasing\t@"),
            ("ceasing\t", "ceasing\t:n02085998"),
            ("ceasing\t", "ceasing\t@:n0208599"),
            ("ceasing\t", "ceasing\t@:n02085998:1"),
            ("ceasing\t", "ceasing\t@:n02085998:1:0"),
            ("ceasing\t", "ceasing\t@:n02085998:1:1:1"),
            ("ceasing", &"long".repeat(20_000)),
        ] {
            assert!(good.contains(from));
            let items = read(&format!("{good}\n{}\n{good}\n", good.replacen(from, to, 1)));
            assert_eq!(items.len(), 2, "{to}");
            let error = items[1].as_ref().unwrap_err();
            assert!(error.starts_with("test: line 2: "), "{error}");
        }
        assert_eq!(read(good).len(), 1);
        assert!(read(good)[0].is_err(), "the line has no end");
    }

    #[test]
    fn a_missing_or_truncated_file_is_an_error() {
        assert!(matches!(Synsets::open(Path::new("no/such/file.gz")), Err(Error::Io { .. })));
        let whole = std::fs::read(data_file()).unwrap();
        let path = Path::new("cut.gz");
        let cut = GzDecoder::new(&whole[..whole.len() / 2]);
        let mut synsets = Synsets::new(BufReader::new(cut), path);
        assert!(matches!(synsets.find(Result::is_err), Some(Err(Error::Io { .. }))));
        assert!(synsets.next().is_none());
    }

    #[test]
    fn the_real_file_has_the_published_counts_and_every_pointer_leads_somewhere() {
        let synsets: Vec<Synset> = Synsets::open(&data_file()).unwrap().map(Result::unwrap).collect();
        assert_eq!(synsets.len(), 117_791);
        assert_eq!(synsets.iter().map(|synset| synset.pointers.len()).sum::<usize>(), 378_203);
        assert_eq!(synsets.iter().map(|synset| synset.words.len()).sum::<usize>(), 207_272);
        assert!(synsets.is_sorted_by(|a, b| a.id < b.id));
        let ids: HashSet<&str> = synsets.iter().map(|synset| synset.id.as_str()).collect();
        let pointers = || synsets.iter().flat_map(|synset| &synset.pointers);
        assert!(pointers().all(|pointer| ids.contains(pointer.target.as_str())));
    }

    fn data_file() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/wordnet/synsets.tsv.gz")
    }
}
