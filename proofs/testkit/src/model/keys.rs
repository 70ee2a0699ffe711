//! Keys and values that are hard on an engine: ties, prefixes of each other, empty, long, large.

use fulgurite::{MergeOperator, Table};

use crate::random::Random;

/// Draws keys from a pool small enough that they meet again.
#[derive(Clone, Debug)]
pub struct Pool {
    shape: Shape,
    spread: u64,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Numbers,
    SharedPrefix,
    PrefixesOfEachOther,
    ZeroBytes,
    Long,
    Mixed,
}

impl Pool {
    /// A pool of a random shape and size.
    pub fn new(random: &mut Random) -> Self {
        let shapes = [
            Shape::Numbers,
            Shape::SharedPrefix,
            Shape::PrefixesOfEachOther,
            Shape::ZeroBytes,
            Shape::Long,
            Shape::Mixed,
        ];
        let shape = shapes[random.index(shapes.len())];
        let spread = match shape {
            Shape::Long => 40,
            _ => [30, 300, 3000][random.index(3)],
        };
        Self { shape, spread }
    }

    /// A pool of so many keys that a table with most of them is many times the smallest delta.
    pub fn large(random: &mut Random) -> Self {
        let shapes = [Shape::Numbers, Shape::SharedPrefix, Shape::ZeroBytes, Shape::Mixed];
        Self { shape: shapes[random.index(shapes.len())], spread: 3000 }
    }

    /// How many numbers its keys are made of.
    pub fn spread(&self) -> u64 {
        self.spread
    }

    /// A key of the pool.
    pub fn key(&self, random: &mut Random) -> Vec<u8> {
        let number = random.below(self.spread);
        match self.shape {
            Shape::Mixed => match random.below(5) {
                0 => Self::shaped(Shape::SharedPrefix, number),
                1 => Self::shaped(Shape::PrefixesOfEachOther, number),
                2 => Self::shaped(Shape::ZeroBytes, number),
                3 if number.is_multiple_of(8) => Self::shaped(Shape::Long, number % 16),
                _ => Self::shaped(Shape::Numbers, number),
            },
            shape => Self::shaped(shape, number),
        }
    }

    fn shaped(shape: Shape, number: u64) -> Vec<u8> {
        match shape {
            Shape::Numbers | Shape::Mixed => number.to_be_bytes().to_vec(),
            Shape::SharedPrefix => {
                format!("http://www.example.org/resource/of/some/length/{}/{number:06}", number % 7).into_bytes()
            }
            Shape::PrefixesOfEachOther => {
                let length = (number % 97) as usize;
                let mut key = vec![b'a' + (number / 97 % 3) as u8; length];
                if number.is_multiple_of(2) {
                    key.push(b'z');
                }
                key
            }
            Shape::ZeroBytes => {
                let mut key = vec![0; (number % 5) as usize];
                key.extend(number.to_le_bytes().iter().rev().skip_while(|&&byte| byte == 0));
                key.extend(std::iter::repeat_n(0, (number / 5 % 3) as usize));
                key
            }
            Shape::Long => {
                // Around the limit of what a leaf holds of a key, equal for a long way, unequal at the end or not at
                // all.
                let length = [1000, 1023, 1024, 1025, 1500, 3000, 20_000][(number % 7) as usize];
                let mut key = vec![b'k'; length];
                key.extend_from_slice(&(number / 14).to_be_bytes());
                if number.is_multiple_of(2) {
                    key[10] = b'l';
                }
                key
            }
        }
    }
}

/// A value that the table takes.
pub fn value_of(table: &Table, random: &mut Random) -> Vec<u8> {
    match table.merge_operator() {
        None | Some(MergeOperator::Max | MergeOperator::Min | MergeOperator::Append) => value(random),
        // Near where numbers wrap around, and not.
        Some(_) => (random.next_u64() >> random.below(64)).to_be_bytes().to_vec(),
    }
}

/// What is appended: mostly so short that values stay in bounds.
pub fn tail(random: &mut Random) -> Vec<u8> {
    if random.chance(1, 40) { value(random) } else { vec![random.next_u64() as u8; random.index(40)] }
}

/// A value: mostly small, sometimes beyond what a leaf, a page or the log holds.
fn value(random: &mut Random) -> Vec<u8> {
    let length = match random.below(1000) {
        0 => 70_000 + random.index(200_000),
        1..=5 => 8_000 + random.index(30_000),
        6..=30 => 1_000 + random.index(7_500),
        31..=60 => 0,
        _ => 1 + random.index(119),
    };
    let stamp = random.next_u64().to_le_bytes();
    stamp.iter().copied().cycle().take(length).collect()
}
