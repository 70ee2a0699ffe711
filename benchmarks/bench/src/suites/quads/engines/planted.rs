//! Fulgurite's store with planted faults, for this suite's test of itself: each has to be found by every comparison
//! of answers.

use std::path::Path;

use fulgurite_rdf::oxrdf::{Literal, Term, TermRef};
use fulgurite_rivals::Failure;

use crate::error::Result;
use crate::suites::quads::engines::engine::{Pattern, QuadEngine};
use crate::suites::quads::engines::fulgurite::SixOrders;

/// What is done to each answer.
trait Fault: Sized + Sync {
    /// The engine's name.
    const NAME: &'static str;

    /// Times that the first row is handed on.
    const FIRST_ROW: usize = 1;

    /// Whether its last value is another.
    const CHANGES: bool = false;
}

macro_rules! faults {
    ($($(#[$doc:meta])* $type:ident { $($constant:item)* })*) => {
        $(
            $(#[$doc])*
            pub struct $type(SixOrders);

            impl Fault for $type {
                $($constant)*
            }

            impl QuadEngine for $type {
                const NAME: &'static str = <Self as Fault>::NAME;

                fn create(directory: &Path) -> Result<Self, Failure> {
                    SixOrders::create(directory).map(Self)
                }

                fn open(directory: &Path) -> Result<Self, Failure> {
                    SixOrders::open(directory).map(Self)
                }

                fn bulk_load(&self, file: &Path) -> Result<(), Failure> {
                    self.0.bulk_load(file)
                }

                fn load_in_transactions(&self, file: &Path, batch: usize) -> Result<(), Failure> {
                    self.0.load_in_transactions(file, batch)
                }

                fn settle(&self) -> Result<(), Failure> {
                    self.0.settle()
                }

                fn close(self) -> Result<(), Failure> {
                    self.0.close()
                }

                fn scan_ids(&self) -> Option<Result<(u64, u64), Failure>> {
                    let (count, sum) = match self.0.scan_ids()? {
                        Ok(found) => found,
                        Err(failure) => return Some(Err(failure)),
                    };
                    Some(Ok(((count as usize + Self::FIRST_ROW - 1) as u64, sum)))
                }

                fn find(&self, pattern: &Pattern, mut each: impl FnMut([TermRef<'_>; 3])) -> Result<(), Failure> {
                    let mut is_first = true;
                    let changed: Term = Literal::new_simple_literal("changed").into();
                    self.0.find(pattern, |[subject, predicate, object]| {
                        let times = if is_first { Self::FIRST_ROW } else { 1 };
                        let object = if is_first && Self::CHANGES { changed.as_ref() } else { object };
                        is_first = false;
                        (0..times).for_each(|_| each([subject, predicate, object]));
                    })
                }

                fn query(&self, text: &str, mut each: impl FnMut(&[Option<Term>])) -> Result<(), Failure> {
                    let mut is_first = true;
                    let changed: Term = Literal::new_simple_literal("changed").into();
                    self.0.query(text, |values| {
                        let times = if is_first { Self::FIRST_ROW } else { 1 };
                        let mut values = values.to_vec();
                        if let Some(last) = values.last_mut().filter(|_| is_first && Self::CHANGES) {
                            *last = Some(changed.clone());
                        }
                        is_first = false;
                        (0..times).for_each(|_| each(&values));
                    })
                }
            }
        )*
    };
}

faults! {
    /// Has no fault.
    Sound {
        const NAME: &'static str = "planted-sound";
    }
    /// Loses the first row of each answer.
    Lost {
        const NAME: &'static str = "planted-lost";
        const FIRST_ROW: usize = 0;
    }
    /// Changes the last value in the first row of each answer.
    Changed {
        const NAME: &'static str = "planted-changed";
        const CHANGES: bool = true;
    }
    /// Gives the first row of each answer twice.
    Invented {
        const NAME: &'static str = "planted-invented";
        const FIRST_ROW: usize = 2;
    }
}
