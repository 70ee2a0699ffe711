//! Student's distribution, and the functions of Euler that describe the distribution of variances.
//!
//! Degrees of freedom need not be whole, and may be infinite. Results are right to eight digits, up to
//! [`DEGREES_MAX`].

use std::f64::consts::TAU;

/// How likely a value as far from 0 as `t`, or further, is on either side.
pub fn two_sided_p(t: f64, degrees: f64) -> f64 {
    let degrees = degrees.min(DEGREES_MAX);
    let whole = degrees + t * t;
    incomplete_beta(degrees / whole, t * t / whole, degrees / 2.0, 0.5)
}

/// The distance from 0 whose [`two_sided_p`] is `p`. Requires: `p` is above 0 and at most 1.
pub fn critical(p: f64, degrees: f64) -> f64 {
    assert!(p > 0.0 && p <= 1.0, "a likelihood");
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided_p(high, degrees) > p {
        high *= 2.0;
    }
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        match two_sided_p(middle, degrees) > p {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// More than so many are taken for so many: critical values are the normal distribution's to four digits then.
const DEGREES_MAX: f64 = 1e4;

/// Halvings after which the rest is below the precision of the numbers.
const BISECTIONS: usize = 50;

/// The logarithm of the gamma function of a positive number (Lanczos, by the coefficients of Numerical Recipes, 3rd
/// edition, 6.1).
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 14] = [
        57.156_235_665_862_92,
        -59.597_960_355_475_49,
        14.136_097_974_741_746,
        -0.491_913_816_097_620_2,
        0.339_946_499_848_118_9e-4,
        0.465_236_289_270_485_8e-4,
        -0.983_744_753_048_795_6e-4,
        0.158_088_703_224_912_5e-3,
        -0.210_264_441_724_104_9e-3,
        0.217_439_618_115_212_6e-3,
        -0.164_318_106_536_763_9e-3,
        0.844_182_239_838_527_4e-4,
        -0.261_908_384_015_814_1e-4,
        0.368_991_826_595_316_2e-5,
    ];
    let shifted = x + 671.0 / 128.0;
    let series = (COEFFICIENTS.iter().zip(1..))
        .fold(0.999_999_999_999_997_1, |sum, (coefficient, place)| sum + coefficient / (x + f64::from(place)));
    (x + 0.5) * shifted.ln() - shifted + (TAU.sqrt() * series / x).ln()
}

/// The regularised incomplete beta function of `x`, whose `complement` to 1 is given with all its digits, by its
/// continued fraction.
fn incomplete_beta(x: f64, complement: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || complement <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let factor = (a * (-complement).ln_1p() + b * complement.ln() + ln_beta_inverse(a, b)).exp();
    match x < (a + 1.0) / (a + b + 2.0) {
        true => factor * beta_fraction(x, a, b) / a,
        false => 1.0 - factor * beta_fraction(complement, b, a) / b,
    }
}

/// The logarithm of 1 by the beta function. For a large `a` the difference of two large logarithms would lose the
/// digits that count.
fn ln_beta_inverse(a: f64, b: f64) -> f64 {
    const LARGE: f64 = 1e5;
    let difference = match a > LARGE {
        true => b * a.ln() + b * (b - 1.0) / (2.0 * a),
        false => ln_gamma(a + b) - ln_gamma(a),
    };
    difference - ln_gamma(b)
}

/// The continued fraction of the incomplete beta function (Lentz's method).
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TERMS_MAX: u32 = 100_000;
    const PRECISION: f64 = 1e-15;
    let not_zero = |value: f64| if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value };
    let mut numerator = 1.0;
    let mut denominator = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = denominator;
    for term in 1..TERMS_MAX {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for coefficient in [even, odd] {
            denominator = 1.0 / not_zero(1.0 + coefficient * denominator);
            numerator = not_zero(1.0 + coefficient / numerator);
            fraction *= denominator * numerator;
        }
        if (denominator * numerator - 1.0).abs() < PRECISION {
            break;
        }
    }
    fraction
}

/// From here on the asymptotic series of [`digamma`] and [`trigamma`] have all digits.
const ASYMPTOTIC: f64 = 10.0;

/// The derivative of the logarithm of the gamma function, of a positive number.
pub fn digamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < ASYMPTOTIC {
        below -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    below + x.ln() - 0.5 / x - y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0 - y / 132.0))))
}

/// The derivative of [`digamma`].
pub fn trigamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < ASYMPTOTIC {
        below += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    below
        + 1.0 / x
        + y / 2.0
        + y / x * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * 5.0 / 66.0))))
}

/// The positive number whose [`trigamma`] is `y`. Requires: `y` is above 0.
pub fn trigamma_inverse(y: f64) -> f64 {
    assert!(y > 0.0, "a variance");
    let (mut low, mut high) = (1.0, 1.0);
    while trigamma(low) < y {
        low /= 2.0;
    }
    while trigamma(high) > y {
        high *= 2.0;
    }
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        match trigamma(middle) > y {
            true => low = middle,
            false => high = middle,
        }
    }
    (low + high) / 2.0
}

/// A value of the standard normal distribution from two numbers above 0 and at most 1 (Box and Muller).
#[cfg(test)]
pub fn normal(radius: f64, angle: f64) -> f64 {
    (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos()
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    fn is_near(found: f64, expected: f64, precision: f64) {
        assert!((found - expected).abs() <= precision * expected.abs().max(1e-300), "{found} instead of {expected}");
    }

    #[test]
    fn likelihoods_are_those_of_closed_forms() {
        for t in [0.1, 1.0, 3.0, 20.0] {
            is_near(two_sided_p(t, 1.0), 1.0 - 2.0 / PI * f64::atan(t), 1e-10);
            is_near(two_sided_p(t, 2.0), 1.0 - t / f64::sqrt(2.0 + t * t), 1e-10);
        }
        assert_eq!(two_sided_p(0.0, 5.0), 1.0);
    }

    #[test]
    fn critical_values_are_those_of_published_tables() {
        let table = [
            (0.05, 1.0, 12.706_204_736),
            (0.05, 4.0, 2.776_445_105),
            (0.01, 8.0, 3.355_387_331),
            (0.001, 30.0, 3.645_958_635),
            (0.05, 1e4, 1.960_201_240),
            (0.05, f64::INFINITY, 1.960_201_240),
        ];
        for (p, degrees, expected) in table {
            is_near(critical(p, degrees), expected, 1e-8);
        }
        is_near(two_sided_p(critical(1e-9, 7.5), 7.5), 1e-9, 1e-7);
    }

    #[test]
    fn derivatives_of_the_gamma_function_have_their_known_values_and_an_inverse() {
        is_near(digamma(1.0), -0.577_215_664_901_532_9, 1e-12);
        is_near(digamma(0.5), -1.963_510_026_021_423_5, 1e-12);
        is_near(trigamma(1.0), PI * PI / 6.0, 1e-12);
        is_near(trigamma(0.5), PI * PI / 2.0, 1e-12);
        for x in [0.01, 0.5, 4.0, 300.0] {
            is_near(trigamma_inverse(trigamma(x)), x, 1e-9);
        }
    }
}
