//! What changed from one set of rounds to another beyond noise.
//!
//! Each row is compared by the logarithms of its rounds, so that a change is a factor:
//! (1) A round of the new run is compared with the same round of the old one. Engines took the same turns in both
//!     runs. The starting engine, the data in the processor's caches and the peculiarities of the first round
//!     therefore affect both runs alike.
//! (2) The mean of these differences is trimmed (Tukey and McLaughlin, Sankhyā A 25, 1963; Yuen, Biometrika 61,
//!     1974): of five or more, a fifth at either end does not count, so that one disturbed round neither makes a
//!     change nor hides one.
//! (3) A few rounds say little about their own noise. The noise of all rows of the comparison is added (moderated
//!     variances: Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004), with the more weight
//!     the more alike they are.
//! (4) Two runs of the same program differ in ways that their rounds do not show. [`RUN_NOISE`] covers where their
//!     memory and code are placed. Other activity on the machine affects rounds in a row alike, so that many rounds
//!     have no more weight than [`INDEPENDENT_ROUNDS_MAX`]. As far as it slowed the reference engine too, a share
//!     cancels it; but engines do not suffer alike, so that [`DRIFT_SHARE`] of the reference's drift counts as noise.
//! (5) Where many rows are compared, some differ by chance. Holm's method corrects for that (Scandinavian Journal of
//!     Statistics 6, 1979): if nothing changed, one row or more is called faster or slower with a probability of at
//!     most [`FALSE_ALARMS`].

use crate::compare::student::{critical, digamma, trigamma, trigamma_inverse, two_sided_p};

/// What two files have of a row: times, or rates, or shares of a reference's, of the same rounds; all above 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    /// In the first file.
    pub old: Vec<f64>,
    /// In the second.
    pub new: Vec<f64>,
    /// How many times as much the reference itself had in each round of the second run; empty without a reference.
    pub reference: Vec<f64>,
}

/// How a row changed. Changes are factors less 1: 0.2 is a fifth more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// The change.
    pub change: f64,
    /// The interval of the change at a confidence of 95 %, not corrected for the number of rows.
    pub interval: [f64; 2],
    /// How likely chance alone makes this change or a larger one, corrected for the number of rows.
    pub p: f64,
    /// How the reference itself changed; 0 without one.
    pub drift: f64,
    /// What follows.
    pub outcome: Outcome,
}

/// What can be said of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is less by the threshold or more, and not by chance.
    Less,
    /// It is more by the threshold or more, and not by chance.
    More,
    /// It changed by less than the threshold, and what is uncertain about that is not more than the threshold.
    Unchanged,
    /// Noise hides what happened. With so many rounds in each file it would show, if any number of them would do.
    TooNoisy(Option<usize>),
    /// It would be clear without the drift of the reference.
    Drifted,
}

/// The probability that some row is called changed although nothing changed.
pub const FALSE_ALARMS: f64 = 0.05;

/// By how much two runs of the same program differ, beside what their rounds show: the standard deviation of the
/// logarithms' difference.
pub const RUN_NOISE: f64 = 0.015;

/// How much of what happened to the reference is taken for noise: so much may be left in a share of it.
pub const DRIFT_SHARE: f64 = 0.25;

/// More rounds of a run have no more weight than so many independent ones.
pub const INDEPENDENT_ROUNDS_MAX: f64 = 8.0;

/// Fewer rounds say nothing about their noise.
pub const ROUNDS_MIN: usize = 2;

/// More rounds are never advised.
const ROUNDS_ADVISED_MAX: usize = 1000;

/// What the interval leaves out.
const CONFIDENCE_MISSING: f64 = 0.05;

/// Judges every row; `None` for rows with fewer than [`ROUNDS_MIN`] rounds in a file. `threshold` is the smallest
/// change that counts.
pub fn judge(rows: &[Rounds], threshold: f64) -> Vec<Option<Finding>> {
    let differences: Vec<Option<Difference>> = rows.iter().map(Difference::of).collect();
    let known: Vec<&Difference> = differences.iter().flatten().collect();
    let pool = Pool::of(&known);
    let (tests, undrifted) = (tests(&known, &pool, |known| known.drift), tests(&known, &pool, |_| 0.0));
    let bars = Bars { threshold: threshold.ln_1p(), rows: known.len(), pool };
    let mut judged = known.iter().zip(tests.iter().zip(&undrifted)).map(|(known, tests)| known.finding(tests, &bars));
    differences.iter().map(|difference| difference.as_ref().and_then(|_| judged.next())).collect()
}

/// What a row is judged by.
struct Bars {
    /// The smallest change that counts, as a logarithm.
    threshold: f64,
    /// How many rows are compared.
    rows: usize,
    /// What all rows say about noise.
    pool: Pool,
}

/// The difference between two sets of rounds, in logarithms.
struct Difference {
    /// Trimmed mean over the rounds.
    value: f64,
    /// What the trimmed mean's variance is the `kept`th part of.
    variance: f64,
    /// How many rounds are kept.
    kept: usize,
    /// What became of the reference.
    drift: f64,
}

/// A row's test against no change.
struct Test {
    /// Likelihood of such a difference by chance, corrected for the number of rows.
    p: f64,
    /// Half of the interval that has the change with a confidence of 95 %.
    half_width: f64,
}

/// Tests every row, with so much drift.
fn tests(differences: &[&Difference], pool: &Pool, drift: fn(&Difference) -> f64) -> Vec<Test> {
    let test = |difference: &&Difference| {
        let (error, degrees) = difference.error(difference.kept, pool, drift(difference));
        let half_width = error * critical(CONFIDENCE_MISSING, degrees);
        Test { p: two_sided_p(difference.value / error, degrees), half_width }
    };
    let tests: Vec<Test> = differences.iter().map(test).collect();
    let corrected = holm(&tests.iter().map(|test| test.p).collect::<Vec<_>>());
    tests.into_iter().zip(corrected).map(|(test, p)| Test { p, ..test }).collect()
}

impl Difference {
    fn of(rounds: &Rounds) -> Option<Self> {
        let pairs: Vec<f64> = rounds.old.iter().zip(&rounds.new).map(|(old, new)| (new / old).ln()).collect();
        if pairs.len() < ROUNDS_MIN {
            return None;
        }
        let of_rounds = Trimmed::of(pairs);
        let drift = match rounds.reference.is_empty() {
            true => 0.0,
            false => Trimmed::of(rounds.reference.iter().map(|factor| factor.ln()).collect()).mean,
        };
        Some(Self { value: of_rounds.mean, variance: of_rounds.variance, kept: of_rounds.kept, drift })
    }

    fn degrees(&self) -> f64 {
        self.kept as f64 - 1.0
    }

    /// Standard deviation of the trimmed mean of rounds, if so many are `kept`, and its degrees of freedom. The noise
    /// between two runs is known.
    fn error(&self, kept: usize, pool: &Pool, drift: f64) -> (f64, f64) {
        let of_rounds = pool.moderated(self) * (1.0 / kept as f64 + 1.0 / INDEPENDENT_ROUNDS_MAX);
        let of_all = of_rounds + RUN_NOISE.powi(2) + (DRIFT_SHARE * drift).powi(2);
        (of_all.sqrt(), (pool.degrees + kept as f64 - 1.0) * (of_all / of_rounds).powi(2))
    }

    fn finding(&self, (test, undrifted): (&Test, &Test), bars: &Bars) -> Finding {
        let outcome = match (self.decided(test, bars), self.decided(undrifted, bars)) {
            (Some(outcome), _) => outcome,
            (None, Some(_)) => Outcome::Drifted,
            (None, None) => Outcome::TooNoisy(self.rounds_for(bars)),
        };
        let interval = [-test.half_width, test.half_width].map(|half| (self.value + half).exp_m1());
        Finding { change: self.value.exp_m1(), interval, p: test.p, drift: self.drift.exp_m1(), outcome }
    }

    /// What the test decides, if it decides anything.
    fn decided(&self, test: &Test, bars: &Bars) -> Option<Outcome> {
        let is_large = self.value.abs() >= bars.threshold;
        match (is_large, test.p < FALSE_ALARMS) {
            (true, true) if self.value < 0.0 => Some(Outcome::Less),
            (true, true) => Some(Outcome::More),
            (false, _) if test.half_width <= bars.threshold => Some(Outcome::Unchanged),
            _ => None,
        }
    }

    /// The least number of rounds in each file that would decide it, if the machine stays as it is: to distinguish a
    /// difference as large as this one from none, among all rows, or one of the threshold.
    fn rounds_for(&self, bars: &Bars) -> Option<usize> {
        let (least, p) = match self.value.abs() >= bars.threshold {
            true => (self.value.abs(), FALSE_ALARMS / bars.rows as f64),
            false => (bars.threshold, CONFIDENCE_MISSING),
        };
        let is_enough = |kept: usize| {
            let (error, degrees) = self.error(kept, &bars.pool, 0.0);
            error * critical(p, degrees) <= least
        };
        let (mut too_few, mut enough) = (ROUNDS_MIN - 1, kept(ROUNDS_ADVISED_MAX));
        if !is_enough(enough) {
            return None;
        }
        while enough - too_few > 1 {
            let middle = usize::midpoint(too_few, enough);
            match is_enough(middle) {
                true => enough = middle,
                false => too_few = middle,
            }
        }
        (ROUNDS_MIN..=ROUNDS_ADVISED_MAX).find(|&rounds| kept(rounds) >= enough)
    }
}

/// How many of so many rounds count.
fn kept(rounds: usize) -> usize {
    rounds - 2 * (rounds / 5)
}

/// A trimmed mean, and how uncertain it is.
struct Trimmed {
    /// Mean of what is kept.
    mean: f64,
    /// What the variance of `mean` is the `kept`th part of: that of all values, those that are not kept moved to the
    /// nearest that is, over as many degrees of freedom as are kept less one.
    variance: f64,
    /// How many are kept.
    kept: usize,
}

impl Trimmed {
    /// Requires: there are [`ROUNDS_MIN`] values.
    fn of(mut values: Vec<f64>) -> Self {
        assert!(values.len() >= ROUNDS_MIN, "fewer rounds say nothing about their noise");
        values.sort_by(f64::total_cmp);
        let kept = kept(values.len());
        let cut = (values.len() - kept) / 2;
        let middle = &values[cut..cut + kept];
        let (lowest, highest) = (middle[0], middle[kept - 1]);
        let winsorized: Vec<f64> = values.iter().map(|value| value.clamp(lowest, highest)).collect();
        let centre = winsorized.iter().sum::<f64>() / winsorized.len() as f64;
        let squares: f64 = winsorized.iter().map(|value| (value - centre).powi(2)).sum();
        Self { mean: middle.iter().sum::<f64>() / kept as f64, variance: squares / (kept as f64 - 1.0), kept }
    }
}

/// What all rows together say about the noise of one: a variance, and its degrees of freedom.
#[derive(Clone, Copy, Debug)]
struct Pool {
    variance: f64,
    degrees: f64,
}

impl Pool {
    /// Fewer rows say nothing about each other.
    const ROWS_MIN: usize = 4;

    /// As good as infinitely many, and a number to reckon with.
    const DEGREES_MAX: f64 = 1e4;

    /// By the first two moments of the logarithms of the rows' variances.
    fn of(differences: &[&Difference]) -> Self {
        let known: Vec<_> = differences.iter().filter(|difference| difference.variance > 0.0).collect();
        let count = known.len() as f64;
        if known.len() < Self::ROWS_MIN {
            return Self { variance: 0.0, degrees: 0.0 };
        }
        let centred = |difference: &&&Difference| {
            let half = difference.degrees() / 2.0;
            difference.variance.ln() - digamma(half) + half.ln()
        };
        let centred: Vec<f64> = known.iter().map(centred).collect();
        let mean = centred.iter().sum::<f64>() / count;
        let spread = centred.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let expected = known.iter().map(|difference| trigamma(difference.degrees() / 2.0)).sum::<f64>() / count;
        match spread > expected {
            true => {
                let half = trigamma_inverse(spread - expected);
                let degrees = (2.0 * half).min(Self::DEGREES_MAX);
                Self { variance: (mean + digamma(half) - half.ln()).exp(), degrees }
            }
            // Rows differ by chance alone: all have one variance.
            false => Self { variance: mean.exp(), degrees: Self::DEGREES_MAX },
        }
    }

    /// A row's variance, combined with that of all rows.
    fn moderated(&self, row: &Difference) -> f64 {
        let of_row = row.degrees() * row.variance;
        let moderated = (self.degrees * self.variance + of_row) / (self.degrees + row.degrees());
        // Equal rounds leave nothing to divide by.
        moderated.max(f64::MIN_POSITIVE)
    }
}

/// Likelihoods corrected for their number, in their order.
fn holm(likelihoods: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..likelihoods.len()).collect();
    order.sort_by(|&a, &b| likelihoods[a].total_cmp(&likelihoods[b]));
    let mut corrected = vec![0.0; likelihoods.len()];
    let mut largest = 0.0_f64;
    for (place, &index) in order.iter().enumerate() {
        largest = largest.max(likelihoods[index] * (likelihoods.len() - place) as f64).min(1.0);
        corrected[index] = largest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::student::normal;
    use crate::data::random::Random;

    const THRESHOLD: f64 = 0.05;

    /// Comparisons that are made up of each kind.
    const TRIES: u64 = 100;
    /// Comparisons with a slowdown, where nearly all agree.
    const FEW_TRIES: u64 = 30;

    /// A machine: how its rounds scatter.
    #[derive(Clone, Copy, Debug)]
    struct Machine {
        /// The least and the largest standard deviation of a row's logarithms.
        noise: [f64; 2],
        /// How many rounds in a hundred are disturbed, and take up to twice as long.
        disturbed_percent: usize,
        /// Standard deviation of what a run brings.
        run_noise: f64,
    }

    const QUIET: Machine = Machine { noise: [0.005, 0.01], disturbed_percent: 0, run_noise: RUN_NOISE / 3.0 };
    const USUAL: Machine =
        Machine { noise: [0.01, 0.04], disturbed_percent: 5, run_noise: RUN_NOISE * std::f64::consts::FRAC_1_SQRT_2 };
    const NOISY: Machine =
        Machine { noise: [0.05, 0.10], disturbed_percent: 10, run_noise: RUN_NOISE * std::f64::consts::FRAC_1_SQRT_2 };

    /// A number above 0 and at most 1.
    fn uniform(random: &mut Random) -> f64 {
        (random.below(1 << 30) + 1) as f64 / f64::from(1 << 30)
    }

    fn gauss(random: &mut Random) -> f64 {
        normal(uniform(random), uniform(random))
    }

    impl Machine {
        /// Rows whose first ones are slower by `slowdown` in the second run.
        fn rows(self, count: usize, rounds: usize, slowed: usize, slowdown: f64, random: &mut Random) -> Vec<Rounds> {
            let [least, most] = self.noise;
            let row = |index| {
                let noise = least * (most / least).powf(uniform(random));
                let mut run = |factor: f64| {
                    let middle = 100.0 * factor * (self.run_noise * gauss(random)).exp();
                    let mut round = || {
                        let disturbance = match random.below(100) < self.disturbed_percent {
                            true => 1.0 + uniform(random),
                            false => 1.0,
                        };
                        middle * disturbance * (noise * gauss(random)).exp()
                    };
                    (0..rounds).map(|_| round()).collect()
                };
                Rounds {
                    old: run(1.0),
                    new: run(if index < slowed { 1.0 + slowdown } else { 1.0 }),
                    reference: Vec::new(),
                }
            };
            (0..count).map(row).collect()
        }

        /// The per cent of `tries` comparisons whose findings satisfy `is_so`.
        fn percent(
            self,
            tries: u64,
            (count, rounds, slowed, slowdown): (usize, usize, usize, f64),
            threshold: f64,
            is_so: impl Fn(&[Finding]) -> bool,
        ) -> f64 {
            let is_so = |&seed: &u64| {
                let rows = self.rows(count, rounds, slowed, slowdown, &mut Random::new(seed, 1));
                is_so(&judge(&rows, threshold).into_iter().flatten().collect::<Vec<_>>())
            };
            100.0 * (0..tries).filter(is_so).count() as f64 / tries as f64
        }
    }

    fn is_change(finding: &Finding) -> bool {
        matches!(finding.outcome, Outcome::More | Outcome::Less)
    }

    fn any_change(findings: &[Finding]) -> bool {
        findings.iter().any(is_change)
    }

    const SLOWER_BY: f64 = 0.2;

    fn is_slower(findings: &[Finding]) -> bool {
        findings[0].outcome == Outcome::More
    }

    #[test]
    fn where_nothing_changed_hardly_any_comparison_has_an_alarm() {
        for machine in [QUIET, USUAL, NOISY] {
            for (rows, rounds) in [(1, 3), (1, 5), (5, 10), (30, 3)] {
                let alarms = machine.percent(TRIES, (rows, rounds, 0, 0.0), THRESHOLD, any_change);
                assert!(alarms <= 6.0, "{machine:?}, {rows} rows of {rounds} rounds: {alarms} %");
            }
        }
    }

    #[test]
    fn alarms_are_as_rare_without_a_threshold() {
        for machine in [QUIET, USUAL, NOISY] {
            let alarms = machine.percent(TRIES, (10, 5, 0, 0.0), 1e-9, any_change);
            assert!(alarms <= 7.0, "{machine:?}: {alarms} %");
        }
    }

    #[test]
    fn a_slowdown_is_found_where_the_rounds_are_not_too_few_for_the_noise() {
        let found = |machine: Machine, rows, rounds| {
            machine.percent(FEW_TRIES, (rows, rounds, 1, SLOWER_BY), THRESHOLD, is_slower)
        };
        for (machine, rows, rounds, least) in [
            (QUIET, 30, 3, 99.0),
            (QUIET, 1, 5, 99.0),
            (USUAL, 1, 5, 90.0),
            (USUAL, 30, 5, 80.0),
            (USUAL, 30, 10, 95.0),
        ] {
            let found = found(machine, rows, rounds);
            assert!(found >= least, "{machine:?}, {rows} rows of {rounds} rounds: {found} %");
        }
        let all =
            USUAL.percent(FEW_TRIES, (10, 10, 10, SLOWER_BY), THRESHOLD, |findings| findings.iter().all(is_change));
        assert!(all >= 85.0, "{all} %");
    }

    #[test]
    fn a_slowdown_is_hardly_ever_called_unchanged() {
        let unchanged = |findings: &[Finding]| findings[0].outcome == Outcome::Unchanged;
        for machine in [QUIET, USUAL, NOISY] {
            for rounds in [2, 3, 5, 10] {
                let percent = machine.percent(FEW_TRIES, (5, rounds, 1, SLOWER_BY), THRESHOLD, unchanged);
                assert!(percent <= 1.0, "{machine:?}, {rounds} rounds: {percent} %");
            }
        }
        let quiet = QUIET.percent(FEW_TRIES, (5, 5, 0, 0.0), THRESHOLD, unchanged);
        assert!(quiet >= 98.0, "on a quiet machine it is said that nothing changed: {quiet} %");
    }

    #[test]
    fn with_as_many_rounds_as_are_advised_it_can_be_told() {
        let machine = Machine { noise: [0.04, 0.04], disturbed_percent: 0, run_noise: 0.0 };
        let finding = |rounds, seed| {
            let rows = machine.rows(1, rounds, 0, 0.0, &mut Random::new(seed, 2));
            judge(&rows, 0.1)[0].expect("it has rounds")
        };
        let advised = (0..TRIES).filter_map(|seed| match finding(3, seed).outcome {
            Outcome::TooNoisy(Some(rounds)) => Some((rounds, seed)),
            _ => None,
        });
        let advised: Vec<(usize, u64)> = advised.collect();
        let clear =
            advised.iter().filter(|&&(rounds, seed)| finding(rounds, !seed).outcome == Outcome::Unchanged).count();
        assert!(advised.len() > 50 && advised.iter().all(|(rounds, _)| *rounds > 3), "{advised:?}");
        assert!(clear * 10 >= advised.len() * 6, "{clear} of {}", advised.len());
        let hopeless = Machine { noise: [0.5, 0.5], disturbed_percent: 0, run_noise: 0.0 };
        let rows = hopeless.rows(1, 5, 0, 0.0, &mut Random::new(1, 1));
        assert_eq!(judge(&rows, 0.01)[0].unwrap().outcome, Outcome::TooNoisy(None));
    }

    fn row(old: &[f64], new: &[f64]) -> Rounds {
        Rounds { old: old.to_vec(), new: new.to_vec(), reference: Vec::new() }
    }

    #[test]
    fn a_round_is_compared_with_the_same_round() {
        // The starting engine is faster by a half, which is more than what changed.
        let old = [100.0, 151.0, 101.0, 150.0, 99.0];
        let finding = judge(&[row(&old, &old.map(|time| time * 1.1))], THRESHOLD)[0].unwrap();
        assert_eq!(finding.outcome, Outcome::More);
        assert!((finding.change - 0.1).abs() < 1e-9, "{finding:?}");
        let finding = judge(&[row(&old, &old.map(|time| time / 1.1))], THRESHOLD)[0].unwrap();
        assert_eq!(finding.outcome, Outcome::Less);
    }

    #[test]
    fn one_disturbed_round_of_five_changes_nothing_and_hides_nothing() {
        let (old, mut new) = ([100.0, 101.0, 99.0, 100.0, 100.5], [100.5, 100.0, 99.5, 100.0, 100.0]);
        new[2] = 900.0;
        assert_eq!(judge(&[row(&old, &new)], THRESHOLD)[0].unwrap().outcome, Outcome::Unchanged);
        let slower = new.map(|time| time * 1.2);
        assert_eq!(judge(&[row(&old, &slower)], THRESHOLD)[0].unwrap().outcome, Outcome::More);
    }

    #[test]
    fn what_happened_to_the_reference_is_taken_for_noise() {
        let slower = |factor: f64| Rounds { reference: vec![factor; 5], ..row(&[1.0; 5], &[1.12; 5]) };
        let outcome = |factor| judge(&[slower(factor)], THRESHOLD)[0].unwrap().outcome;
        assert_eq!(
            [1.0, 1.05, 1.3, 0.7].map(outcome),
            [Outcome::More, Outcome::More, Outcome::Drifted, Outcome::Drifted]
        );
    }

    #[test]
    fn rows_of_less_than_two_rounds_are_not_judged_and_others_keep_their_places() {
        let good = row(&[1.0, 1.0, 1.0], &[2.0, 2.0, 2.0]);
        let judged = judge(&[row(&[1.0], &[1.0, 1.0]), good, row(&[], &[])], THRESHOLD);
        assert!(judged[0].is_none() && judged[2].is_none());
        assert!((judged[1].unwrap().change - 1.0).abs() < 1e-9);
    }

    #[test]
    fn likelihoods_are_corrected_by_holm() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in corrected.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{corrected:?}");
        }
    }
}
