//! Numbers whose frequency falls with their rank, as Zipf's law has it: the k-th is drawn in proportion to 1/k^s.

use crate::data::random::Random;

/// A sampler in constant time and memory, by rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion
/// to generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996. Names follow the paper.
#[derive(Clone, Debug)]
pub struct Zipf {
    count: f64,
    exponent: f64,
    h_first: f64,
    h_last: f64,
    squeeze: f64,
}

impl Zipf {
    /// Ranks below `count`, which is at least 1; `exponent` is above 0 and not 1.
    pub fn new(count: usize, exponent: f64) -> Self {
        assert!(count > 0 && exponent > 0.0 && exponent != 1.0, "the distribution is not defined, or needs logarithms");
        let mut zipf = Self { count: count as f64, exponent, h_first: 0.0, h_last: 0.0, squeeze: 0.0 };
        zipf.h_first = zipf.h_integral(1.5) - 1.0;
        zipf.h_last = zipf.h_integral(zipf.count + 0.5);
        zipf.squeeze = 2.0 - zipf.h_integral_inverse(zipf.h_integral(2.5) - zipf.h(2.0));
        zipf
    }

    /// A rank from 0 on, the most frequent.
    pub fn draw(&self, random: &mut Random) -> usize {
        loop {
            let uniform = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
            let u = self.h_last + uniform * (self.h_first - self.h_last);
            let x = self.h_integral_inverse(u);
            let k = x.round().clamp(1.0, self.count);
            if k - x <= self.squeeze || u >= self.h_integral(k + 0.5) - self.h(k) {
                return k as usize - 1;
            }
        }
    }

    fn h(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    fn h_integral(&self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        (x.powf(power) - 1.0) / power
    }

    fn h_integral_inverse(&self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        (1.0 + x * power).powf(1.0 / power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_as_frequent_as_the_law_says() {
        const DRAWS: usize = 400_000;
        for (count, exponent) in [(1000, 0.99), (50, 0.5), (200, 1.5)] {
            let zipf = Zipf::new(count, exponent);
            let mut random = Random::new(3, 3);
            let mut seen = vec![0usize; count];
            (0..DRAWS).for_each(|_| seen[zipf.draw(&mut random)] += 1);
            let weight = |rank: usize| ((rank + 1) as f64).powf(-exponent);
            let total: f64 = (0..count).map(weight).sum();
            for rank in [0, 1, 2, 9, count / 2, count - 1] {
                let expected = DRAWS as f64 * weight(rank) / total;
                let off = (seen[rank] as f64 - expected).abs();
                // Five standard deviations of a count.
                assert!(
                    off < 5.0 * expected.sqrt().max(1.0),
                    "{count} {exponent} {rank}: {} of {expected}",
                    seen[rank]
                );
            }
        }
    }

    #[test]
    fn one_rank_is_always_drawn() {
        let zipf = Zipf::new(1, 0.99);
        let mut random = Random::new(1, 1);
        assert!((0..100).all(|_| zipf.draw(&mut random) == 0));
    }
}
