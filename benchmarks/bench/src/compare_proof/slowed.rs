//! Fulgurite with a slowdown of gets that is really there: some are made twice.
//!
//! How many is a number of this process, which each reader takes when it begins: with none this is Fulgurite, by the
//! same code.

use std::cell::Cell;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use fulgurite_rivals::{Engine, Failure, Purpose, Reader, Store};

use crate::engines::fulgurite::Fulgurite;

/// Gets that readers make twice, of [`WHOLE`]. Read and written by one thread in turn, so that no order is needed.
static TWICE: AtomicU32 = AtomicU32::new(0);

/// All gets twice.
pub const WHOLE: u32 = 1000;

/// Has readers that begin from now on make so many of [`WHOLE`] gets twice; more than all are made several times.
pub fn slow_down(share: u32) {
    TWICE.store(share, Ordering::Relaxed);
}

/// Fulgurite, under its own name.
#[derive(Debug)]
pub struct Slowed;

type InnerStore = <Fulgurite as Engine>::Store;

impl Engine for Slowed {
    const NAME: &'static str = Fulgurite::NAME;
    type Store = SlowedStore;

    fn create(directory: &Path, purpose: Purpose) -> Result<SlowedStore, Failure> {
        Fulgurite::create(directory, purpose).map(SlowedStore)
    }

    fn open(directory: &Path, purpose: Purpose) -> Result<SlowedStore, Failure> {
        Fulgurite::open(directory, purpose).map(SlowedStore)
    }

    fn data_file(directory: &Path) -> PathBuf {
        Fulgurite::data_file(directory)
    }
}

/// A store of Fulgurite.
pub struct SlowedStore(InnerStore);

impl Store for SlowedStore {
    type Reader<'s> = SlowedReader<<InnerStore as Store>::Reader<'s>>;

    fn load_sorted<'r>(&mut self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        self.0.load_sorted(records)
    }

    fn load_unsorted<'r, K: AsRef<[u8]>>(
        &mut self,
        records: impl Iterator<Item = (K, &'r [u8])>,
    ) -> Result<(), Failure> {
        self.0.load_unsorted(records)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.0.put(key, value)
    }

    fn put_all<'r>(&mut self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        self.0.put_all(records)
    }

    fn settle(&mut self) -> Result<(), Failure> {
        self.0.settle()
    }

    fn checkpoints(&self) -> Result<u64, Failure> {
        self.0.checkpoints()
    }

    fn used_bytes(&self) -> Result<u64, Failure> {
        self.0.used_bytes()
    }

    fn search(&self) -> Result<Option<&'static str>, Failure> {
        self.0.search()
    }

    fn reader(&self) -> Result<Self::Reader<'_>, Failure> {
        Ok(SlowedReader { inner: self.0.reader()?, share: TWICE.load(Ordering::Relaxed), owed: Cell::new(0) })
    }

    fn close(self) -> Result<(), Failure> {
        self.0.close()
    }
}

/// A reader that makes a share of its gets twice, evenly spread.
pub struct SlowedReader<R> {
    inner: R,
    share: u32,
    /// Of [`WHOLE`], how much of a get is owed.
    owed: Cell<u32>,
}

impl<R: Reader> Reader for SlowedReader<R> {
    type Value<'r>
        = R::Value<'r>
    where
        Self: 'r;

    fn get<'r>(&'r self, key: &[u8]) -> Result<Option<R::Value<'r>>, Failure> {
        let mut owed = self.owed.get() + self.share;
        while owed >= WHOLE {
            owed -= WHOLE;
            black_box(self.inner.get(black_box(key))?.is_some());
        }
        self.owed.set(owed);
        self.inner.get(key)
    }

    fn get_many(&self, keys: &[&[u8]], each: impl FnMut(usize, Option<&[u8]>)) -> Result<(), Failure> {
        self.inner.get_many(keys, each)
    }

    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.inner.scan(each)
    }

    fn scan_reverse(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.inner.scan_reverse(each)
    }

    fn scan_from(&self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.inner.scan_from(from, count, each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the gets.
    struct Counting(Cell<u32>);

    impl Reader for Counting {
        type Value<'r> = &'r [u8];

        fn get<'r>(&'r self, _key: &[u8]) -> Result<Option<&'r [u8]>, Failure> {
            self.0.set(self.0.get() + 1);
            Ok(Some(b"value"))
        }

        fn get_many(&self, keys: &[&[u8]], mut each: impl FnMut(usize, Option<&[u8]>)) -> Result<(), Failure> {
            (0..keys.len()).for_each(|position| each(position, self.get(keys[position]).unwrap()));
            Ok(())
        }

        fn scan(&self, _each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
            Ok(())
        }

        fn scan_reverse(&self, _each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
            Ok(())
        }

        fn scan_from(&self, _from: &[u8], _count: usize, _each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
            Ok(())
        }
    }

    #[test]
    fn the_share_of_gets_is_made_twice_and_the_answer_is_the_engines() {
        for (share, made) in [(0, 1000), (250, 1250), (WHOLE, 2000), (WHOLE + 500, 2500)] {
            let reader = SlowedReader { inner: Counting(Cell::new(0)), share, owed: Cell::new(0) };
            for _ in 0..1000 {
                assert_eq!(reader.get(b"key").unwrap(), Some(&b"value"[..]));
            }
            assert_eq!(reader.inner.0.get(), made);
            reader.get_many(&[&b"key"[..]; 32], |_, _| ()).unwrap();
            assert_eq!(reader.inner.0.get(), made + 32, "gets by many are not slowed");
        }
    }
}
