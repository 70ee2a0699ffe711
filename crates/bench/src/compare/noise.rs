//! What changed from one set of rounds to another beyond noise.
//!
//! Each row is compared by the logarithms of its rounds, so that a change is a factor:
//! (1) The means are trimmed, as Yuen has it (Biometrika 61, 1974): of five rounds or more, a fifth at either end does not count, so that
//! one disturbed round neither makes a change nor hides one.
//! (2) A few rounds tell little about their own noise. What all rows of the comparison tell about it is added (moderated variances: Smyth,
//! Statistical Applications in Genetics and Molecular Biology 3, 2004), the more the more alike they are.
//! (3) Two runs of the same program differ by what no number of rounds shows: where their memory and their code came to lie. Each run
//! brings a noise of [`RUN_NOISE`] of its own.
//! (4) Where many rows are compared, some differ by chance. Likelihoods are corrected for that by Holm's method (Scandinavian Journal of
//! Statistics 6, 1979): that one row or more is called faster or slower where nothing changed is as unlikely as [`FALSE_ALARMS`].

use crate::compare::student::{critical, digamma, trigamma, trigamma_inverse, two_sided_p};

/// The rounds of one row in both files: times, or rates, or shares of a reference's; all above 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds {
    /// In the first file.
    pub old: Vec<f64>,
    /// In the second.
    pub new: Vec<f64>,
}

/// How a row changed. Changes are factors less 1: 0.2 is a fifth more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// The change.
    pub change: f64,
    /// Where the change lies with a confidence of 95 %, not corrected for the number of rows.
    pub interval: [f64; 2],
    /// How likely chance alone makes this change or a larger one, corrected for the number of rows.
    pub p: f64,
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
    /// It changed by less than the threshold, and what is uncertain about that is less than the threshold too.
    Unchanged,
    /// Noise hides what happened. With so many rounds in each file it would show, if any number of them would do.
    TooNoisy(Option<usize>),
}

/// That nothing changed and some row is called changed all the same is as unlikely as this.
pub const FALSE_ALARMS: f64 = 0.05;

/// By how much two runs of the same program differ, beside what their rounds show: the standard deviation of one run's logarithm.
pub const RUN_NOISE: f64 = 0.01;

/// Fewer rounds tell nothing about their noise.
pub const ROUNDS_MIN: usize = 2;

/// So many rounds and no more are ever advised.
const ROUNDS_ADVISED_MAX: usize = 1000;

/// Judges every row; `None` for rows with fewer than [`ROUNDS_MIN`] rounds in a file. `threshold` is the smallest change that counts.
pub fn judge(rows: &[Rounds], threshold: f64) -> Vec<Option<Finding>> {
    let differences: Vec<Option<Difference>> = rows.iter().map(Difference::of).collect();
    let pool = Pool::of(differences.iter().flatten());
    let tests: Vec<Option<Test>> =
        differences.iter().map(|found| found.as_ref().map(|found| found.test(&pool))).collect();
    let corrected = holm(&tests.iter().flatten().map(|test| test.p).collect::<Vec<_>>());
    let rows = corrected.len();
    let mut corrected = corrected.into_iter();
    let judged = tests.into_iter().zip(&differences).map(|(test, difference)| {
        let (test, difference, p) = (test?, difference.as_ref()?, corrected.next()?);
        Some(difference.finding(&test, p, &Bars { threshold: threshold.ln_1p(), rows, pool }))
    });
    judged.collect()
}

/// What a row is judged by.
struct Bars {
    /// The smallest change that counts, as a logarithm.
    threshold: f64,
    /// How many rows are compared.
    rows: usize,
    /// What all rows tell about noise.
    pool: Pool,
}

/// The difference between two sets of rounds, in logarithms.
struct Difference {
    /// Of the trimmed means.
    value: f64,
    /// Of a single round, from both sets.
    variance: f64,
    /// How many degrees of freedom the variance has.
    degrees: f64,
    /// The sum of what one round's variance is divided by, of both sets.
    weight: f64,
}

/// A row's test against no change.
struct Test {
    /// Likelihood of such a difference by chance.
    p: f64,
    /// Half of the interval that has the change with a confidence of 95 %.
    half_width: f64,
}

impl Difference {
    fn of(rounds: &Rounds) -> Option<Self> {
        if rounds.old.len().min(rounds.new.len()) < ROUNDS_MIN {
            return None;
        }
        let (old, new) = (Trimmed::of(&rounds.old), Trimmed::of(&rounds.new));
        let degrees = old.kept + new.kept - 2.0;
        Some(Self {
            value: new.mean - old.mean,
            variance: (old.squares + new.squares) / degrees,
            degrees,
            weight: 1.0 / old.kept + 1.0 / new.kept,
        })
    }

    fn test(&self, pool: &Pool) -> Test {
        let (error, degrees) =
            error(pool.moderated(self.variance, self.degrees), self.weight, pool.degrees + self.degrees);
        let p = two_sided_p(self.value / error, degrees);
        Test { p, half_width: error * critical(CONFIDENCE_MISSING, degrees) }
    }

    fn finding(&self, test: &Test, p: f64, bars: &Bars) -> Finding {
        let factor = |logarithm: f64| logarithm.exp_m1();
        let is_large = self.value.abs() >= bars.threshold;
        let outcome = match (is_large, p < FALSE_ALARMS) {
            (true, true) if self.value < 0.0 => Outcome::Less,
            (true, true) => Outcome::More,
            (false, _) if test.half_width <= bars.threshold => Outcome::Unchanged,
            // It would have to be told from no change among all rows.
            (true, false) => {
                Outcome::TooNoisy(self.rounds_for(self.value.abs(), FALSE_ALARMS / bars.rows as f64, &bars.pool))
            }
            (false, _) => Outcome::TooNoisy(self.rounds_for(bars.threshold, CONFIDENCE_MISSING, &bars.pool)),
        };
        let interval = [-test.half_width, test.half_width].map(|half| factor(self.value + half));
        Finding { change: factor(self.value), interval, p, outcome }
    }

    /// The least number of rounds in each file with which differences beyond `half_width` are as unlikely as `p`, as noise is.
    fn rounds_for(&self, half_width: f64, p: f64, pool: &Pool) -> Option<usize> {
        let variance = pool.moderated(self.variance, self.degrees);
        let is_enough = |rounds: &usize| {
            let kept = kept(*rounds) as f64;
            let (error, degrees) = error(variance, 2.0 / kept, pool.degrees + 2.0 * (kept - 1.0));
            error * critical(p, degrees) <= half_width
        };
        // With more rounds less is trimmed at times, so that it is no matter of halving.
        (ROUNDS_MIN..=ROUNDS_ADVISED_MAX).find(is_enough)
    }
}

/// What the interval leaves out.
const CONFIDENCE_MISSING: f64 = 0.05;

/// Standard deviation of a difference and its degrees of freedom: of rounds with this variance, and of two runs, which is known.
fn error(variance: f64, weight: f64, degrees: f64) -> (f64, f64) {
    let of_rounds = variance * weight;
    let of_both = of_rounds + 2.0 * RUN_NOISE * RUN_NOISE;
    (of_both.sqrt(), degrees * (of_both / of_rounds).powi(2))
}

/// How many of so many rounds count.
fn kept(rounds: usize) -> usize {
    rounds - 2 * (rounds / 5)
}

/// What Yuen's test takes of a set of rounds.
struct Trimmed {
    /// Mean of what is kept.
    mean: f64,
    /// Sum of squares about the mean of all, those that are not kept moved to the nearest that is: over `kept - 1` it is the variance
    /// whose `kept`th part is that of `mean`.
    squares: f64,
    /// How many are kept.
    kept: f64,
}

impl Trimmed {
    fn of(values: &[f64]) -> Self {
        let mut logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        logarithms.sort_by(f64::total_cmp);
        let kept = kept(logarithms.len());
        let cut = (logarithms.len() - kept) / 2;
        let middle = &logarithms[cut..cut + kept];
        let (lowest, highest) = (middle[0], middle[kept - 1]);
        let winsorized: Vec<f64> = logarithms.iter().map(|value| value.clamp(lowest, highest)).collect();
        let centre = winsorized.iter().sum::<f64>() / winsorized.len() as f64;
        Self {
            mean: middle.iter().sum::<f64>() / kept as f64,
            squares: winsorized.iter().map(|value| (value - centre).powi(2)).sum(),
            kept: kept as f64,
        }
    }
}

/// What all rows together tell about the noise of one: a variance, and as how many degrees of freedom it counts.
#[derive(Clone, Copy, Debug)]
struct Pool {
    variance: f64,
    degrees: f64,
}

impl Pool {
    /// Fewer rows tell nothing about each other.
    const ROWS_MIN: usize = 4;

    /// By the first two moments of the logarithms of the rows' variances.
    fn of<'d>(differences: impl Iterator<Item = &'d Difference>) -> Self {
        let known: Vec<&Difference> = differences.filter(|difference| difference.variance > 0.0).collect();
        let count = known.len() as f64;
        if known.len() < Self::ROWS_MIN {
            return Self { variance: 0.0, degrees: 0.0 };
        }
        let centred = |difference: &&Difference| {
            let half = difference.degrees / 2.0;
            difference.variance.ln() - digamma(half) + half.ln()
        };
        let centred: Vec<f64> = known.iter().map(centred).collect();
        let mean = centred.iter().sum::<f64>() / count;
        let spread = centred.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let expected = known.iter().map(|difference| trigamma(difference.degrees / 2.0)).sum::<f64>() / count;
        match spread > expected {
            true => {
                let half = trigamma_inverse(spread - expected);
                Self { variance: (mean + digamma(half) - half.ln()).exp(), degrees: 2.0 * half }
            }
            // Rows differ by chance alone: all have one variance.
            false => Self { variance: mean.exp(), degrees: Self::DEGREES_MAX },
        }
    }

    /// As good as infinitely many, and a number to reckon with.
    const DEGREES_MAX: f64 = 1e6;

    /// A row's variance, with what all rows tell.
    fn moderated(&self, variance: f64, degrees: f64) -> f64 {
        let moderated = (self.degrees * self.variance + degrees * variance) / (self.degrees + degrees);
        // Rounds that are all the same leave nothing to divide by.
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
