//! Rounds of several engines side by side.

use crate::error::Result;
use crate::measure::clock::Sample;

/// An engine's turn: measures the round of this number.
pub type Turn<'a> = Box<dyn FnMut(usize) -> Result<Sample> + 'a>;

/// Gives every engine a turn in each of `count` rounds. The starting engine rotates, so that what one leaves in the
/// caches, or a slow moment of the machine, affects all alike.
pub fn interleaved<'a>(
    count: usize,
    mut turns: Vec<(&'static str, Turn<'a>)>,
) -> Result<Vec<(&'static str, Vec<Sample>)>> {
    let mut samples: Vec<Vec<Sample>> = turns.iter().map(|_| Vec::with_capacity(count)).collect();
    let engines = turns.len();
    for round in 0..count {
        for engine in order(round, engines) {
            samples[engine].push((turns[engine].1)(round)?);
        }
    }
    Ok(turns.into_iter().map(|(name, _)| name).zip(samples).collect())
}

/// The order of `count` engines in a round.
pub fn order(round: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |place| (round + place) % count)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn every_engine_has_a_turn_in_each_round_and_the_first_place_rotates() {
        let order = RefCell::new(Vec::new());
        let turn = |name: char| -> Turn<'_> {
            let order = &order;
            Box::new(move |round| {
                order.borrow_mut().push((round, name));
                Ok(Sample { operations: 1, cpu_ns: round as f64, wall_ns: 1.0, p50_ns: 1.0, p99_ns: 1.0 })
            })
        };
        let samples = interleaved(2, vec![("a", turn('a')), ("b", turn('b'))]).unwrap();
        assert_eq!(*order.borrow(), [(0, 'a'), (0, 'b'), (1, 'b'), (1, 'a')]);
        assert_eq!(samples[1].0, "b");
        assert_eq!(samples[1].1[1].cpu_ns, 1.0);
    }
}
