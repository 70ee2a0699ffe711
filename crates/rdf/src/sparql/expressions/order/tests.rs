//! The order is total, whatever is sorted, and agrees with the operators where these are defined.

use std::cmp::Ordering;

use oxrdf::vocab::{rdf, xsd};
use oxrdf::{BlankNode, Literal, NamedNode, NamedNodeRef, NamedOrBlankNode, Triple, Variable};
use spareval::QueryEvaluator;
use sparopt::algebra::Expression;

use super::*;
use crate::sparql::expressions::ill_typed::marked_term;

fn compare(left: &Term, right: &Term) -> Ordering {
    Key::of(left.as_ref()).compare_values(&Key::of(right.as_ref())).then_with(|| compare_forms(left, right))
}

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_of<'t, T: ?Sized>(&mut self, choices: &[&'t T]) -> &'t T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn digits(&mut self, length_max: u64) -> String {
        let length = if self.below(4) == 0 { 1 + self.below(length_max) } else { 1 + self.below(3) };
        (0..length).map(|_| char::from(b'0' + self.below(10) as u8)).collect()
    }

    fn integer(&mut self) -> Literal {
        let types = [xsd::INTEGER, xsd::INT, xsd::LONG, xsd::UNSIGNED_BYTE, xsd::NON_POSITIVE_INTEGER];
        let datatype = types[self.below(5) as usize];
        let text = match self.below(6) {
            0 => self
                .one_of(&["9007199254740993", "9223372036854775807", "-9223372036854775809", "007", "-0", "+1"])
                .to_owned(),
            _ => format!("{}{}", self.one_of(&["", "-", "+"]), self.digits(60)),
        };
        Literal::new_typed_literal(text, datatype)
    }

    fn decimal(&mut self) -> Literal {
        let text = format!("{}{}.{}", self.one_of(&["", "-"]), self.digits(40), self.digits(40));
        Literal::new_typed_literal(text, xsd::DECIMAL)
    }

    fn real(&mut self) -> Literal {
        let datatype = [xsd::DOUBLE, xsd::FLOAT][self.below(2) as usize];
        let text = match self.below(3) {
            0 => self
                .one_of(&["NaN", "INF", "-INF", "-0.0E0", "0", "1e400", "-1e-400", "9007199254740992", "1.0E0", "0.1"])
                .to_owned(),
            1 => format!("{}{}e{}", self.one_of(&["", "-"]), self.digits(20), self.below(30)),
            _ => format!("{}{}.{}", self.one_of(&["", "-"]), self.digits(5), self.digits(9)),
        };
        Literal::new_typed_literal(text, datatype)
    }

    fn time(&mut self) -> Literal {
        let year = match self.below(5) {
            0 => format!("{}1{}", self.one_of(&["", "-"]), self.digits(40)),
            1 => self.one_of(&["0000", "-0001", "9999", "12000"]).to_owned(),
            _ => format!("20{:02}", self.below(4)),
        };
        let year = if year.trim_start_matches('-').len() < 4 { format!("{year}000") } else { year };
        let (month, day) = (self.below(13), self.below(32));
        let (hour, minute) = (self.below(25), self.below(3) * 30);
        let fraction = self.one_of(&["", ".5", ".50", ".1234567890123456789012", ".0"]);
        let zone = self.one_of(&["", "", "Z", "+00:00", "+14:00", "-14:00", "+05:30", "-11:59", "+15:00"]);
        let (text, datatype) = match self.below(8) {
            0 | 1 => (
                format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:00{fraction}{zone}"),
                if self.below(5) == 0 { xsd::DATE_TIME_STAMP } else { xsd::DATE_TIME },
            ),
            2 => (format!("{year}-{month:02}-{day:02}{zone}"), xsd::DATE),
            3 => (format!("{hour:02}:{minute:02}:00{fraction}{zone}"), xsd::TIME),
            4 => (format!("{year}-{month:02}{zone}"), xsd::G_YEAR_MONTH),
            5 => (format!("{year}{zone}"), xsd::G_YEAR),
            6 => (format!("--{month:02}-{day:02}{zone}"), xsd::G_MONTH_DAY),
            _ => match self.below(2) {
                0 => (format!("--{month:02}{zone}"), xsd::G_MONTH),
                _ => (format!("---{day:02}{zone}"), xsd::G_DAY),
            },
        };
        Literal::new_typed_literal(text, datatype)
    }

    fn duration(&mut self) -> Literal {
        let sign = self.one_of(&["", "-"]);
        let (text, datatype) = match self.below(4) {
            0 => (format!("{sign}P{}M", self.digits(25)), xsd::YEAR_MONTH_DURATION),
            1 => {
                (format!("{sign}P{}DT{}.{}S", self.digits(25), self.digits(3), self.digits(25)), xsd::DAY_TIME_DURATION)
            }
            2 => (format!("{sign}P{}D", 28 + self.below(4)), xsd::DURATION),
            _ => (format!("{sign}P{}Y{}MT{}M", self.digits(3), self.digits(2), self.digits(4)), xsd::DURATION),
        };
        Literal::new_typed_literal(text, datatype)
    }

    fn literal(&mut self) -> Literal {
        match self.below(10) {
            0 => self.integer(),
            1 => self.decimal(),
            2 => self.real(),
            3 | 4 => self.time(),
            5 => self.duration(),
            6 => Literal::new_typed_literal(self.one_of(&["true", "false", "1", "0", "yes"]), xsd::BOOLEAN),
            7 => Literal::new_simple_literal(format!("{} km", self.below(100))),
            8 => {
                let (text, language) =
                    (self.one_of(&["a", "b", "é", "𐀀", "\u{ffff}"]), self.one_of(&["en", "fr", "en-gb"]));
                match self.below(3) {
                    0 => Literal::new_directional_language_tagged_literal_unchecked(text, language, BaseDirection::Rtl),
                    1 => Literal::new_directional_language_tagged_literal_unchecked(text, language, BaseDirection::Ltr),
                    _ => Literal::new_language_tagged_literal_unchecked(text, language),
                }
            }
            _ => {
                let types = [xsd::INTEGER, xsd::DATE_TIME, rdf::HTML, xsd::DURATION, xsd::DECIMAL];
                let datatype = types[self.below(5) as usize];
                Literal::new_typed_literal(
                    self.one_of(&["2018-02-30T00:00:00Z", "x", "1e3", "", "P", "<b/>"]),
                    datatype,
                )
            }
        }
    }

    fn term(&mut self, depth: u32) -> Term {
        let node = |number| NamedNode::new_unchecked(format!("http://e/{number}"));
        match self.below(12) {
            0 => node(self.below(5)).into(),
            1 => BlankNode::new_unchecked(format!("b{}", self.below(5))).into(),
            2 if depth < 2 => {
                let subject: NamedOrBlankNode = match self.below(2) {
                    0 => node(self.below(2)).into(),
                    _ => BlankNode::new_unchecked("s").into(),
                };
                Triple::new(subject, node(self.below(2)), self.term(depth + 1)).into()
            }
            _ => self.literal().into(),
        }
    }
}

/// What the evaluator's operator says.
fn operator(name: &str, left: &Term, right: &Term) -> Option<bool> {
    let names = ["a", "b"].map(Variable::new_unchecked);
    let [a, b] = names.each_ref().map(|name| Box::new(Expression::from(name.clone())));
    let expression = if name == "<" { Expression::Less(a, b) } else { Expression::Equal(a, b) };
    let values = names.iter().zip([left, right].map(|term| marked_term(term.clone())));
    QueryEvaluator::new().evaluate_effective_boolean_value_expression(&expression, values)
}

#[test]
fn any_mix_of_terms_is_in_one_total_order_that_agrees_with_the_operators() {
    let (mut less, mut equal) = (0, 0);
    for seed in 1..=6 {
        let mut random = Random(seed);
        let mut terms: Vec<Term> = (0..300).map(|_| random.term(0)).collect();
        terms.sort_by(compare);
        for (place, left) in terms.iter().enumerate() {
            for right in &terms[place..] {
                let order = compare(left, right);
                assert_eq!(order.reverse(), compare(right, left), "seed {seed}: {left} and {right}");
                assert!(order.is_le(), "seed {seed}: {left} stands before {right}");
                assert_eq!(order.is_eq(), left == right, "seed {seed}: {left} and {right}");
                let by_value = Key::of(left.as_ref()).compare_values(&Key::of(right.as_ref()));
                assert!(by_value.is_le(), "seed {seed}: {left} stands before {right}");
                assert_ne!(operator("<", right, left), Some(true), "seed {seed}: {right} < {left}");
                less += u32::from(operator("<", left, right) == Some(true));
                if by_value.is_eq() && left != right {
                    assert_ne!(operator("=", left, right), Some(false), "seed {seed}: {left} and {right}");
                    equal += 1;
                }
            }
        }
    }
    assert!(less > 10_000 && equal > 100, "{less} {equal}");
}

fn typed(text: &str, datatype: NamedNodeRef<'_>) -> Term {
    Literal::new_typed_literal(text, datatype).into()
}

#[test]
fn terms_of_each_kind_are_in_the_order_of_the_table() {
    let ascending: Vec<Term> = vec![
        BlankNode::new_unchecked("b").into(),
        NamedNode::new_unchecked("http://e/").into(),
        typed("-INF", xsd::DOUBLE),
        typed("-100000000000000000000", xsd::INTEGER),
        typed("0.0000000000000000000000001", xsd::DECIMAL),
        typed("0.1", xsd::DECIMAL),
        typed("0.1", xsd::DOUBLE),
        typed("0.1", xsd::FLOAT),
        typed("9007199254740992", xsd::DOUBLE),
        typed("9007199254740993", xsd::INTEGER),
        typed("9007199254740993.5", xsd::DECIMAL),
        typed("100000000000000000000", xsd::NON_NEGATIVE_INTEGER),
        typed("1e300", xsd::DOUBLE),
        typed("INF", xsd::FLOAT),
        typed("NaN", xsd::DOUBLE),
        Literal::new_simple_literal("17 km").into(),
        Literal::new_language_tagged_literal_unchecked("17 km", "en").into(),
        Literal::new_simple_literal("82 km").into(),
        typed("0", xsd::BOOLEAN),
        typed("true", xsd::BOOLEAN),
        typed("-100000000000000000000-01-01T00:00:00Z", xsd::DATE_TIME),
        typed("2019-06-02T10:00:00", xsd::DATE_TIME),
        typed("2019-06-02T10:00:00Z", xsd::DATE_TIME),
        typed("2019-06-02T10:00:00.00000000000000000000000001Z", xsd::DATE_TIME),
        typed("12000-12-31T00:00:00Z", xsd::DATE_TIME),
        typed("100000000000000000000-01-01T00:00:00Z", xsd::DATE_TIME),
        typed("2018-02-28", xsd::DATE),
        typed("23:00:00", xsd::TIME),
        typed("P30D", xsd::DURATION),
        typed("P1M", xsd::DURATION),
        typed("P32D", xsd::DURATION),
        typed("2018-02-30T00:00:00Z", xsd::DATE_TIME),
        typed("x", xsd::INTEGER),
        Triple::new(BlankNode::new_unchecked("b"), NamedNode::new_unchecked("http://e/"), Literal::from(1)).into(),
    ];
    for pair in ascending.windows(2) {
        assert_eq!(compare(&pair[0], &pair[1]), Ordering::Less, "{} and {}", pair[0], pair[1]);
    }
}

/// Reading a number of ten million digits takes minutes, and nothing stops it.
#[test]
fn dates_and_durations_of_too_many_digits_are_other_literals() {
    let digits = |count: usize| "1".repeat(count);
    let other = |text: String, datatype| matches!(Key::of(typed(&text, datatype).as_ref()), Key::Other { .. });
    assert!(!other(digits(DIGITS_MAX), xsd::G_YEAR));
    assert!(other(digits(DIGITS_MAX + 1), xsd::G_YEAR));
    assert!(other(format!("-{}-01-01T00:00:00Z", digits(10_000_000)), xsd::DATE_TIME));
    assert!(!other(format!("P{}D", digits(DIGITS_MAX - 2)), xsd::DAY_TIME_DURATION));
    for text in [format!("P{}D", digits(DIGITS_MAX)), format!("PT0.{}S", digits(10_000_000))] {
        assert!(other(text, xsd::DURATION));
    }
    let equal = |left: String, right: String| {
        let [left, right] = [left, right].map(|text| typed(&text, xsd::G_YEAR));
        Key::of(left.as_ref()).equals(&Key::of(right.as_ref()))
    };
    assert_eq!(equal(digits(DIGITS_MAX + 1), digits(4)), None);
}

#[test]
fn terms_of_one_value_differ_by_their_forms_alone() {
    for group in [
        &[
            ("1", xsd::INTEGER),
            ("01", xsd::INT),
            ("1.00", xsd::DECIMAL),
            ("1e0", xsd::FLOAT),
            ("1", xsd::UNSIGNED_BYTE),
        ][..],
        &[("0", xsd::INTEGER), ("-0.0", xsd::DECIMAL), ("-0e0", xsd::DOUBLE)],
        &[
            ("2020-01-01T00:00:00Z", xsd::DATE_TIME),
            ("2019-12-31T24:00:00Z", xsd::DATE_TIME),
            ("2020-01-01T02:00:00.0+02:00", xsd::DATE_TIME),
        ],
        &[("P1Y", xsd::DURATION), ("P12M", xsd::YEAR_MONTH_DURATION)],
        &[("true", xsd::BOOLEAN), ("1", xsd::BOOLEAN)],
    ] {
        let terms: Vec<Term> = group.iter().map(|(text, datatype)| typed(text, *datatype)).collect();
        for (left, right) in terms.iter().flat_map(|left| terms.iter().map(move |right| (left, right))) {
            let keys = [left, right].map(|term| Key::of(term.as_ref()));
            assert_eq!(keys[0].compare_values(&keys[1]), Ordering::Equal, "{left} and {right}");
            assert_eq!(compare(left, right).is_eq(), left == right, "{left} and {right}");
        }
    }
}
