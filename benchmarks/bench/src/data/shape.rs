//! Keys as applications make them: each shape turns a record's number into a key.
//!
//! Invariants: within a shape no two numbers below [`Shape::ID_LIMIT`] give the same key, and the same number gives the
//! same key on every machine. Keys that tie on their first bytes are the point: that is where searches slow down.

use std::io::Write;

use crate::data::random::mix;

/// A kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Uniform random bytes: 32, or 8 in the data sets of small records.
    Hashed,
    /// Rising `u64`, big-endian.
    Sequential,
    /// `user:%012d`.
    User,
    /// UUIDs of version 7: a millisecond clock, then random bits; 50 in each millisecond.
    Uuid7,
    /// A pair (`u32`, `u64`), big-endian: 12 groups of rising identifiers with gaps.
    Tuple,
    /// English-like words and pairs of words.
    Words,
    /// Host names from the top-level domain down.
    Domains,
    /// IRIs of the Lehigh University Benchmark's form.
    Iris,
}

impl Shape {
    /// Every shape, hashed first.
    pub const ALL: [Self; 8] =
        [Self::Hashed, Self::Sequential, Self::User, Self::Uuid7, Self::Tuple, Self::Words, Self::Domains, Self::Iris];

    /// Numbers from here on may repeat keys.
    pub const ID_LIMIT: u32 = 100_000_000;

    /// Its name in reports and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hashed => "hashed",
            Self::Sequential => "sequential",
            Self::User => "user",
            Self::Uuid7 => "uuid7",
            Self::Tuple => "tuple",
            Self::Words => "words",
            Self::Domains => "domains",
            Self::Iris => "iris",
        }
    }

    /// The shape of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }

    /// Appends the key of record `id` to `out`. Hashed keys get `hashed_length` bytes, a multiple of 8.
    pub fn write_key(self, id: u32, hashed_length: usize, out: &mut Vec<u8>) {
        match self {
            Self::Hashed => write_hashed(id, hashed_length, out),
            Self::Sequential => out.extend_from_slice(&u64::from(id).to_be_bytes()),
            Self::User => write_text(out, format_args!("user:{id:012}")),
            Self::Uuid7 => write_uuid7(id, out),
            Self::Tuple => write_tuple(id, out),
            Self::Words => write_words(id, out),
            Self::Domains => write_domain(id, out),
            Self::Iris => write_iri(id, out),
        }
    }
}

fn write_text(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to memory does not fail");
}

/// The first word is a bijection of `id`, so that keys of 8 bytes differ too.
fn write_hashed(id: u32, length: usize, out: &mut Vec<u8>) {
    let mut word = u64::from(id);
    for _ in 0..length / 8 {
        word = mix(word);
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// The clock and 74 bits of noise: 12 after the version, and 62 after the variant.
fn write_uuid7(id: u32, out: &mut Vec<u8>) {
    const START_MILLISECONDS: u64 = 1_767_225_600_000;
    let milliseconds = START_MILLISECONDS + u64::from(id / 50);
    let random = mix(u64::from(id));
    out.extend_from_slice(&milliseconds.to_be_bytes()[2..]);
    out.extend_from_slice(&(0x7000 | (mix(random) as u16 & 0x0fff)).to_be_bytes());
    out.extend_from_slice(&(1 << 63 | random >> 2).to_be_bytes());
}

fn write_tuple(id: u32, out: &mut Vec<u8>) {
    let group = (mix(u64::from(id)) % 12) as u32;
    out.extend_from_slice(&group.to_be_bytes());
    out.extend_from_slice(&(3 * u64::from(id)).to_be_bytes());
}

const PREFIXES: [&str; 16] = [
    "", "anti", "be", "contra", "de", "extra", "hyper", "infra", "mega", "omni", "para", "quasi", "semi", "tri",
    "ultra", "vice",
];

const STEMS: [&str; 64] = [
    "amber", "anchor", "apple", "arrow", "badger", "barley", "basket", "beacon", "bishop", "blanket", "branch",
    "bridge", "bucket", "butter", "candle", "canvas", "carbon", "castle", "cattle", "cellar", "chapel", "cherry",
    "circle", "clover", "cobalt", "copper", "corner", "cotton", "cradle", "crystal", "dagger", "desert", "dragon",
    "eagle", "ember", "engine", "falcon", "feather", "fiddle", "forest", "garden", "garnet", "ginger", "glacier",
    "hammer", "harbour", "harvest", "hollow", "island", "jacket", "jungle", "kernel", "ladder", "lantern", "leather",
    "magnet", "marble", "meadow", "needle", "orchard", "pebble", "ribbon", "saddle", "thunder",
];

const ENDINGS: [&str; 24] = [
    "", "able", "age", "dom", "ed", "er", "ery", "est", "ette", "ful", "hood", "ic", "ify", "ing", "ish", "ism", "ist",
    "less", "like", "ling", "ment", "ness", "ship", "wise",
];

const WORDS: u32 = (PREFIXES.len() * STEMS.len() * ENDINGS.len()) as u32;

fn write_word(number: u32, out: &mut Vec<u8>) {
    let number = (number % WORDS) as usize;
    let (prefix, rest) = (number % PREFIXES.len(), number / PREFIXES.len());
    let (stem, ending) = (rest % STEMS.len(), rest / STEMS.len());
    for part in [PREFIXES[prefix], STEMS[stem], ENDINGS[ending]] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// One in [`WORDS`] records is a word alone; the others are pairs whose second word steps by a number coprime to
/// [`WORDS`], so that no pair repeats.
fn write_words(id: u32, out: &mut Vec<u8>) {
    let (first, second) = (id % WORDS, id / WORDS);
    write_word(first, out);
    if second > 0 {
        out.push(b'_');
        write_word((u64::from(second) * 7919 + u64::from(first) * 31).rem_euclid(u64::from(WORDS)) as u32, out);
    }
}

const TOP_LEVELS: [&str; 16] =
    ["com", "com", "com", "com", "com", "com", "org", "org", "net", "net", "de", "fr", "io", "edu", "co.uk", "co.jp"];

const HOSTS: [&str; 20] = [
    "www", "mail", "api", "blog", "shop", "cdn", "static", "m", "dev", "ftp", "ns1", "ns2", "img", "docs", "web-",
    "db-", "vm-", "mx-", "edge-", "cache-",
];

/// 20 hosts of each domain; the domain's name is unique whatever its top level.
fn write_domain(id: u32, out: &mut Vec<u8>) {
    let (domain, host) = (id / HOSTS.len() as u32, id as usize % HOSTS.len());
    let random = mix(u64::from(domain));
    out.extend_from_slice(TOP_LEVELS[random as usize % TOP_LEVELS.len()].as_bytes());
    out.push(b'.');
    write_word(domain, out);
    let namesakes = domain / WORDS;
    if namesakes > 0 {
        write_text(out, format_args!("{namesakes}"));
    }
    out.push(b'.');
    out.extend_from_slice(HOSTS[host].as_bytes());
    if HOSTS[host].ends_with('-') {
        write_text(out, format_args!("{:03}", random >> 40 & 511));
    }
}

/// 20 departments in a university, 1000 things in a department.
fn write_iri(id: u32, out: &mut Vec<u8>) {
    let (department, thing) = (id / 1000, id % 1000);
    let (university, department) = (department / 20, department % 20);
    write_text(out, format_args!("http://www.Department{department}.University{university}.edu/"));
    match thing {
        0..450 => write_text(out, format_args!("UndergraduateStudent{thing}")),
        450..570 => write_text(out, format_args!("GraduateStudent{}", thing - 450)),
        570..610 => write_text(out, format_args!("Course{}", thing - 570)),
        610..650 => write_text(out, format_args!("GraduateCourse{}", thing - 610)),
        650..800 => {
            let publication = thing - 650;
            write_text(out, format_args!("AssistantProfessor{}/Publication{}", publication / 15, publication % 15));
        }
        _ => {
            let publication = thing - 800;
            write_text(out, format_args!("FullProfessor{}/Publication{}", publication / 20, publication % 20));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn key(shape: Shape, id: u32) -> Vec<u8> {
        let mut key = Vec::new();
        shape.write_key(id, 32, &mut key);
        key
    }

    #[test]
    fn keys_of_every_shape_are_unique() {
        for shape in Shape::ALL {
            let mut seen = HashSet::new();
            // A dense start, and a sample up to the limit: repeats by overflow would show in the latter.
            let sample = (0..50_000).chain((0..50_000).map(|i| 50_000 + i * ((Shape::ID_LIMIT - 50_000) / 50_000)));
            for id in sample {
                assert!(seen.insert(key(shape, id)), "{} repeats the key of {id}", shape.name());
            }
        }
    }

    #[test]
    fn words_are_unique_and_long_enough_to_be_words() {
        let words: HashSet<Vec<u8>> = (0..WORDS).map(|id| key(Shape::Words, id)).collect();
        assert_eq!(words.len(), WORDS as usize);
        const { assert!(Shape::ID_LIMIT / WORDS < WORDS, "pairs would repeat") };
    }

    #[test]
    fn keys_look_as_their_shape_says() {
        assert_eq!(key(Shape::Sequential, 258), [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(key(Shape::User, 42), b"user:000000000042");
        assert_eq!(key(Shape::Tuple, 1)[4..], 3u64.to_be_bytes());
        assert_eq!(key(Shape::Iris, 21_007), b"http://www.Department1.University1.edu/UndergraduateStudent7");
        assert_eq!(key(Shape::Words, 17), b"antianchor");
        assert!(key(Shape::Domains, 0).ends_with(b".amber.www"));
        let uuid = key(Shape::Uuid7, 1234);
        assert_eq!((uuid.len(), uuid[6] >> 4, uuid[8] >> 6), (16, 7, 2));
    }

    #[test]
    fn hashed_keys_take_their_length_from_the_data_set() {
        let mut short = Vec::new();
        Shape::Hashed.write_key(1, 8, &mut short);
        assert_eq!(short, key(Shape::Hashed, 1)[..8]);
        assert_eq!(key(Shape::Hashed, 1).len(), 32);
    }

    #[test]
    fn names_are_read_back() {
        for shape in Shape::ALL {
            assert_eq!(Shape::from_name(shape.name()), Some(shape));
        }
        assert_eq!(Shape::from_name("round"), None);
    }
}
