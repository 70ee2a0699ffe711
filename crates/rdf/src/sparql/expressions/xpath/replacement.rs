//! Replacement strings of `REPLACE`: XPath and XQuery Functions 3.1, 5.6.4.

/// A replacement string, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replacement(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// What a group matched; 0 is the whole match.
    Group(usize),
}

/// Where a replacement string is none, by its characters, from 1, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplacementError {
    pub position: usize,
    pub message: &'static str,
}

impl Replacement {
    /// All of the string, without variables: with the flag `q`.
    pub(crate) fn literal(text: &str) -> Self {
        Self(vec![Part::Text(text.to_owned())])
    }

    /// Parses the string for a pattern with so many groups.
    pub(crate) fn parse(text: &str, groups: usize) -> Result<Self, ReplacementError> {
        let characters: Vec<char> = text.chars().collect();
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut at = 0;
        while let Some(&character) = characters.get(at) {
            let next = characters.get(at + 1);
            match (character, next) {
                ('\\', Some('\\' | '$')) => {
                    literal.extend(next);
                    at += 2;
                }
                ('\\', _) => {
                    let message = "`\\` comes before `$` or `\\` alone; write `\\\\` for the character";
                    return Err(ReplacementError { position: at + 1, message });
                }
                ('$', Some(digit)) if digit.is_ascii_digit() => {
                    let digits = characters[at + 1..].iter().take_while(|digit| digit.is_ascii_digit()).count();
                    let (group, taken) = variable(&characters[at + 1..at + 1 + digits], groups);
                    if !literal.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut literal)));
                    }
                    parts.extend(group.map(Part::Group));
                    at += 1 + taken;
                }
                ('$', _) => {
                    let message = "`$` comes before the number of a group alone; write `\\$` for the character";
                    return Err(ReplacementError { position: at + 1, message });
                }
                _ => {
                    literal.push(character);
                    at += 1;
                }
            }
        }
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self(parts))
    }

    /// Appends the string for a match.
    pub(crate) fn append<'t>(&self, group: impl Fn(usize) -> Option<&'t str>, out: &mut String) {
        for part in &self.0 {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Group(number) => out.push_str(group(*number).unwrap_or_default()),
            }
        }
    }
}

/// The group that digits name, and how many of the digits belong to its number: as many as there is such a group for.
/// One digit is always a number, and stands for nothing if there is no such group.
fn variable(digits: &[char], groups: usize) -> (Option<usize>, usize) {
    let number = |digits: &[char]| {
        digits
            .iter()
            .try_fold(0_usize, |number, digit| number.checked_mul(10)?.checked_add(digit.to_digit(10)? as usize))
    };
    for taken in (2..=digits.len()).rev() {
        match number(&digits[..taken]) {
            Some(number) if number <= groups => return (Some(number), taken),
            Some(number) if number <= 9 => return (None, taken),
            _ => {}
        }
    }
    (number(&digits[..1]).filter(|number| *number <= groups), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str, groups: &[&str]) -> String {
        let replacement = Replacement::parse(text, groups.len() - 1).expect(text);
        let mut out = String::new();
        replacement.append(|number| groups.get(number).copied(), &mut out);
        out
    }

    #[test]
    fn variables_have_as_many_digits_as_there_are_groups_for() {
        let two = ["[0]", "[1]", "[2]"];
        for (text, expected) in [
            ("a$1b", "a[1]b"),
            ("$0$0", "[0][0]"),
            ("$2$1", "[2][1]"),
            ("$3", ""),
            ("$9x", "x"),
            ("$12", "[1]2"),
            ("$123", "[1]23"),
            ("$30", "0"),
            ("$01", "[1]"),
            ("$09", ""),
            ("$0012", "[1]2"),
            ("$99999999999999999999999", "9999999999999999999999"),
            ("\\$1", "$1"),
            ("\\\\$1", "\\[1]"),
            ("", ""),
        ] {
            assert_eq!(replaced(text, &two), expected, "{text}");
        }
        let twelve: Vec<String> = (0..=12).map(|number| format!("<{number}>")).collect();
        let twelve: Vec<&str> = twelve.iter().map(String::as_str).collect();
        assert_eq!(replaced("$12$13$120", &twelve), "<12><1>3<12>0");
    }

    #[test]
    fn a_sign_that_begins_nothing_is_an_error_with_its_place() {
        for (text, position) in
            [("$", 1), ("a$", 2), ("$x", 1), ("ab\\", 3), ("\\n", 1), ("$1\\1", 3), ("$$1", 1), ("\\\\\\", 3)]
        {
            assert_eq!(Replacement::parse(text, 1).expect_err(text).position, position, "{text}");
        }
    }
}
