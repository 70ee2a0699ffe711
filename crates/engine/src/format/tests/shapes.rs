//! Key sets that stress page search, a seeded generator, and an overflow store for long keys.

use std::cmp::Ordering;
use std::convert::Infallible;
use std::sync::LazyLock;

use crate::format::{
    CellKey, INLINE_KEY_BYTES_MAX, Identity, Isa, LongKeys, OverflowRef, PageSize, Search, WithSearch, supported,
    with_isa, with_loops,
};
use crate::ids::{Birth, ExtentId, PageRef};

/// Where test pages live.
pub const AT: PageRef = PageRef { extent: ExtentId(7), slot: 12 };
/// When test pages were born.
pub const BIRTH: Birth = Birth(42);
/// The extent of long keys.
pub const LONG_EXTENT: ExtentId = ExtentId(9);

/// The identity of test pages, which is made once: an interpreter takes long for its secret.
pub fn identity() -> Identity {
    static IDENTITY: LazyLock<Identity> = LazyLock::new(|| Identity::new(*b"0123456789abcdef"));
    *IDENTITY
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Sizes of test pages: the smaller only where an interpreter runs the tests.
pub const PAGE_SIZES: &[PageSize] = if cfg!(miri) { &[PageSize::KiB8] } else { &[PageSize::KiB16, PageSize::KiB8] };

/// A named set of keys.
pub struct Shape {
    pub name: &'static str,
    pub key: fn(u64) -> Vec<u8>,
}

/// Every shape that page search is tested on.
pub const SHAPES: &[Shape] = &[
    Shape { name: "sequential u64", key: |i| i.to_be_bytes().to_vec() },
    Shape { name: "hashed 32 bytes", key: hashed },
    Shape { name: "sequential text", key: |i| format!("user:{i:012}").into_bytes() },
    Shape { name: "long shared prefixes", key: iri },
    Shape { name: "two bytes", key: |i| ((i * 7) as u16).to_be_bytes().to_vec() },
    Shape { name: "each a prefix of the next", key: |i| vec![b'a'; (i % 300) as usize] },
    Shape { name: "zero bytes only", key: |i| vec![0; (i % 200) as usize] },
    Shape { name: "zeros and ones", key: |i| small_alphabet(i, &[0, 1]) },
    Shape { name: "small alphabet", key: |i| small_alphabet(i, b"\x00ab\xFF") },
    Shape { name: "largest heads", key: |i| [&[0xFF; 6][..], &small_alphabet(i, &[0xFE, 0xFF])].concat() },
    Shape { name: "ties everywhere", key: tied },
    Shape { name: "1,024 bytes", key: |i| [&[b'k'; 1021][..], &(i as u32).to_be_bytes()[1..]].concat() },
    Shape { name: "long keys", key: long },
    Shape { name: "long keys that tie", key: |i| [&[b'k'; 1030][..], &(i as u32).to_be_bytes()].concat() },
];

/// The shapes to test: all of them, and where an interpreter runs the tests, which takes half a second for the
/// checksum of a page, those that each go another way through the code.
pub fn shapes() -> impl Iterator<Item = &'static Shape> {
    let interpreted = ["hashed 32 bytes", "long shared prefixes", "largest heads", "long keys", "long keys that tie"];
    SHAPES.iter().filter(move |shape| !cfg!(miri) || interpreted.contains(&shape.name))
}

fn hashed(i: u64) -> Vec<u8> {
    let mut random = Random(i);
    (0..4).flat_map(|_| random.next().to_le_bytes()).collect()
}

fn iri(i: u64) -> Vec<u8> {
    let (university, department, entity) = (i / 200, i / 20 % 10, i % 20);
    format!("http://www.Department{department}.University{university}.edu/UndergraduateStudent{entity}").into_bytes()
}

fn small_alphabet(i: u64, alphabet: &[u8]) -> Vec<u8> {
    let mut random = Random(i);
    let length = random.below(14);
    (0..length).map(|_| alphabet[random.below(alphabet.len())]).collect()
}

fn tied(i: u64) -> Vec<u8> {
    match i {
        0 => b"A".to_vec(),
        1 => b"Z".to_vec(),
        _ => format!("MMMMMMMMMMMM{i:07}").into_bytes(),
    }
}

fn long(i: u64) -> Vec<u8> {
    let mut random = Random(i);
    let mut key = vec![b'p'; 1010 + random.below(15)];
    key.extend((0..random.below(4)).map(|_| b"pq"[random.below(2)]));
    if random.below(2) == 0 {
        key.resize(key.len().max(1024), b'p');
        key.extend((0..random.below(40)).map(|_| b"\x00pq"[random.below(3)]));
    }
    key
}

impl Shape {
    /// `count` keys at most, sorted, each once.
    pub fn keys(&self, count: u64) -> Vec<Vec<u8>> {
        println!("with keys of the shape `{}`", self.name); // Shown if the test fails.
        let mut keys: Vec<_> = (0..count).map(self.key).collect();
        keys.sort();
        keys.dedup();
        keys
    }
}

/// Keys that lie around a key: equal, just below, just above, cut, extended. An interpreter has the equal one and two
/// others, drawn for each page.
pub fn neighbours(key: &[u8], random: &mut Random) -> Vec<Vec<u8>> {
    let mut around = vec![key.to_vec(), [key, &[0]].concat(), [key, &[0xFF]].concat(), [key, &[0; 9]].concat()];
    if let Some((&last, start)) = key.split_last() {
        around.push(start.to_vec());
        around.push([start, &[last.wrapping_sub(1)]].concat());
        around.push([start, &[last.wrapping_add(1)]].concat());
        around.push(key[..random.below(key.len())].to_vec());
        let mut changed = key.to_vec();
        let at = random.below(key.len());
        changed[at] = random.next() as u8;
        around.push(changed);
        let mut longer = key.to_vec();
        longer.resize(1024 + random.below(40), key[0]);
        around.push(longer);
    }
    if cfg!(miri) {
        let others = around.split_off(1);
        let first = random.below(others.len());
        around.extend(others.into_iter().cycle().skip(first).step_by(2).take(2));
    }
    around
}

/// A key in a message: its length and its last bytes.
pub fn brief(key: &[u8]) -> String {
    format!("{} bytes ending in {:?}", key.len(), &key[key.len().saturating_sub(12)..])
}

/// Long keys in memory, addressed by slot.
#[derive(Default)]
pub struct LongStore {
    keys: Vec<Vec<u8>>,
}

impl LongStore {
    /// A key as a cell holds it; a long one is put into the store first.
    pub fn cell_key<'k>(&mut self, key: &'k [u8], identity: &Identity) -> CellKey<'k> {
        if key.len() <= INLINE_KEY_BYTES_MAX {
            return CellKey::Inline(key);
        }
        let hash = identity.hash(key);
        let slot = self.keys.len() as u32;
        self.keys.push(key.to_vec());
        let at = OverflowRef { extent: LONG_EXTENT, slot, length: key.len() as u32, checksum: hash };
        CellKey::Overflow { prefix: &key[..INLINE_KEY_BYTES_MAX], hash, at }
    }

    /// The whole key of a cell.
    pub fn whole(&self, key: CellKey<'_>) -> Vec<u8> {
        match key {
            CellKey::Inline(bytes) => bytes.to_vec(),
            CellKey::Overflow { at, .. } => self.keys[at.slot as usize].clone(),
        }
    }
}

impl LongKeys for LongStore {
    type Error = Infallible;

    fn compare(&self, stored: &OverflowRef, key: &[u8]) -> Result<Ordering, Infallible> {
        // A damaged page may name a key that never was.
        Ok(self.keys.get(stored.slot as usize).map_or(Ordering::Less, |whole| whole.as_slice().cmp(key)))
    }
}

/// Something to check with every implementation of [`Search`] that this machine has.
pub trait Check {
    fn check<S: Search>(&self);
}

struct Run<'c, C>(&'c C);

impl<C: Check> WithSearch for Run<'_, C> {
    type Output = ();

    fn run<S: Search>(self) {
        self.0.check::<S>();
    }
}

/// Runs a check with every implementation.
pub fn on_every_isa(check: &impl Check) {
    // Plain loops have nothing that an interpreter could find.
    if !cfg!(miri) {
        with_loops(Run(check));
    }
    for isa in supported() {
        with_isa(isa, Run(check)).expect("it is supported");
    }
    assert!(supported().any(|isa| isa == Isa::Portable));
}
