//! Parses a pattern: the grammar of XML Schema 1.1, part 2, appendix G, with what XPath and XQuery Functions 3.1, 5.6.1
//! add to it.
//!
//! Invariants: (1) a pattern that parses nests at most [`NESTING_MAX`] deep. (2) A back-reference names a group that is
//! closed before it.

use std::fmt;

use super::flags::Flags;
use super::sets::{self, Set};

/// Groups within groups, and classes within classes, that a pattern may have.
const NESTING_MAX: usize = 100;

/// A repetition is bounded by so many times at most; a longer one could not be compiled.
const TIMES_MAX: u32 = 1_000_000;

/// A pattern, parsed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// One of these characters.
    Set(Set),
    /// `^`.
    Start,
    /// `$`.
    End,
    Concatenation(Vec<Node>),
    /// The first that leads to a match counts.
    Alternation(Vec<Node>),
    /// With the number of the group, from 1.
    Group(Box<Node>, usize),
    Repetition {
        node: Box<Node>,
        min: u32,
        max: Option<u32>,
        is_greedy: bool,
    },
    BackReference(usize),
}

/// A parsed pattern, and what the choice of an engine depends on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parsed {
    pub node: Node,
    /// Groups that capture.
    pub groups: usize,
    pub has_back_references: bool,
    /// Whether it has `^` or `$`.
    pub has_anchors: bool,
}

/// Why a pattern is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternError {
    /// The character of the pattern that it is about, from 1.
    pub position: usize,
    pub message: String,
}

impl fmt::Display for PatternError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "character {} of the pattern: {}", self.position, self.message)
    }
}

type Result<T> = std::result::Result<T, PatternError>;

/// Parses `pattern`, with what the flags change about its meaning.
pub(crate) fn parse(pattern: &str, flags: Flags) -> Result<Parsed> {
    let characters: Vec<char> = pattern.chars().collect();
    if flags.is_literal {
        let node = Node::Concatenation(characters.into_iter().map(|one| Node::Set(folded(one, flags))).collect());
        return Ok(Parsed { node, groups: 0, has_back_references: false, has_anchors: false });
    }
    let mut parser = Parser {
        characters: &characters,
        at: 0,
        flags,
        class_depth: 0,
        groups_open: Vec::new(),
        groups: 0,
        has_back_references: false,
        has_anchors: false,
    };
    let node = parser.alternation()?;
    match parser.peek() {
        None => {}
        Some(')') => return Err(parser.error("this `)` closes no group; write `\\)` for the character")),
        Some(other) => {
            return Err(parser.error(&format!("`{other}` cannot stand here; write `\\{other}` for the character")));
        }
    }
    let Parser { groups, has_back_references, has_anchors, .. } = parser;
    Ok(Parsed { node, groups, has_back_references, has_anchors })
}

fn folded(character: char, flags: Flags) -> Set {
    let mut set = sets::of_char(character);
    if flags.ignores_case {
        sets::add_case_variants(&mut set);
    }
    set
}

struct Parser<'p> {
    characters: &'p [char],
    at: usize,
    flags: Flags,
    /// Within a class, where the flag `x` removes no white space.
    class_depth: usize,
    /// Groups that are open; `None` for those that do not capture.
    groups_open: Vec<Option<usize>>,
    groups: usize,
    has_back_references: bool,
    has_anchors: bool,
}

impl Parser<'_> {
    fn error(&self, message: &str) -> PatternError {
        PatternError { position: self.at + 1, message: message.to_owned() }
    }

    /// The next character, past white space that the flag `x` removes.
    fn peek(&mut self) -> Option<char> {
        if self.flags.ignores_space && self.class_depth == 0 {
            while matches!(self.characters.get(self.at), Some(' ' | '\t' | '\n' | '\r')) {
                self.at += 1;
            }
        }
        self.characters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    fn take(&mut self, character: char) -> bool {
        let is_next = self.peek() == Some(character);
        self.at += usize::from(is_next);
        is_next
    }

    fn alternation(&mut self) -> Result<Node> {
        let mut branches = vec![self.branch()?];
        while self.take('|') {
            branches.push(self.branch()?);
        }
        Ok(if branches.len() == 1 { branches.swap_remove(0) } else { Node::Alternation(branches) })
    }

    fn branch(&mut self) -> Result<Node> {
        let mut pieces = Vec::new();
        while !matches!(self.peek(), None | Some('|' | ')')) {
            let atom = self.atom()?;
            pieces.push(self.quantified(atom)?);
        }
        Ok(if pieces.len() == 1 { pieces.swap_remove(0) } else { Node::Concatenation(pieces) })
    }

    fn atom(&mut self) -> Result<Node> {
        let place = self.at;
        let Some(character) = self.next() else { return Err(self.error("the pattern ends too early")) };
        Ok(match character {
            '(' => self.group()?,
            '[' => Node::Set(self.class()?),
            '\\' => self.escape()?,
            '.' if self.flags.dot_is_all => Node::Set(sets::every_char()),
            '.' => Node::Set(sets::within_a_line()),
            '^' => {
                self.has_anchors = true;
                Node::Start
            }
            '$' => {
                self.has_anchors = true;
                Node::End
            }
            '?' | '*' | '+' => {
                self.at = place;
                let message =
                    format!("there is nothing that `{character}` repeats; write `\\{character}` for the character");
                return Err(self.error(&message));
            }
            ']' | '{' | '}' => {
                self.at = place;
                return Err(
                    self.error(&format!("`{character}` cannot stand here; write `\\{character}` for the character"))
                );
            }
            other => Node::Set(folded(other, self.flags)),
        })
    }

    /// After `(`.
    fn group(&mut self) -> Result<Node> {
        if self.groups_open.len() >= NESTING_MAX {
            return Err(self.error(&format!("groups nest deeper than {NESTING_MAX}")));
        }
        let begun = self.at;
        let number = if self.take('?') {
            if !self.take(':') {
                return Err(self.error("`(?` begins no group but `(?:`; there is neither look-ahead nor a named group"));
            }
            None
        } else {
            self.groups += 1;
            Some(self.groups)
        };
        self.groups_open.push(number);
        let inner = self.alternation()?;
        if !self.take(')') {
            self.at = begun;
            return Err(PatternError { position: begun, message: "this `(` is not closed".to_owned() });
        }
        self.groups_open.pop();
        Ok(match number {
            Some(number) => Node::Group(Box::new(inner), number),
            None => inner,
        })
    }

    fn quantified(&mut self, atom: Node) -> Result<Node> {
        let (min, max) = match self.peek() {
            Some('?') => (0, Some(1)),
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('{') => {
                self.at += 1;
                return self.times(atom);
            }
            _ => return Ok(atom),
        };
        self.at += 1;
        self.repeated(atom, min, max)
    }

    /// After `{`.
    fn times(&mut self, atom: Node) -> Result<Node> {
        let begun = self.at;
        let Some(min) = self.number()? else { return Err(self.error("a number has to follow `{`")) };
        let max = if self.take(',') { self.number()? } else { Some(min) };
        if !self.take('}') {
            return Err(self.error("`}` has to follow the numbers"));
        }
        if max.is_some_and(|max| max < min) {
            self.at = begun;
            return Err(self.error("the second number is less than the first"));
        }
        self.repeated(atom, min, max)
    }

    fn number(&mut self) -> Result<Option<u32>> {
        let mut number = None;
        while let Some(digit) = self.peek().and_then(|next| next.to_digit(10)) {
            let longer = number.unwrap_or(0_u32).saturating_mul(10).saturating_add(digit);
            if longer > TIMES_MAX {
                return Err(self.error(&format!("more than {TIMES_MAX} times")));
            }
            number = Some(longer);
            self.at += 1;
        }
        Ok(number)
    }

    fn repeated(&mut self, atom: Node, min: u32, max: Option<u32>) -> Result<Node> {
        let is_greedy = !self.take('?');
        if let Some(again @ ('?' | '*' | '+' | '{')) = self.peek() {
            return Err(self.error(&format!("`{again}` repeats a repetition; put that into a group")));
        }
        Ok(Node::Repetition { node: Box::new(atom), min, max, is_greedy })
    }

    /// After `\`, outside of a class.
    fn escape(&mut self) -> Result<Node> {
        match self.peek() {
            Some('1'..='9') => self.back_reference(),
            _ => Ok(Node::Set(match self.escaped()? {
                Escaped::One(character) => folded(character, self.flags),
                Escaped::Set(set) => set,
            })),
        }
    }

    fn back_reference(&mut self) -> Result<Node> {
        let begun = self.at;
        let mut number = 0;
        while let Some(digit) = self.peek().and_then(|next| next.to_digit(10)) {
            let longer = number * 10 + digit as usize;
            // Further digits belong to it while there are so many groups.
            if number > 0 && longer > self.groups {
                break;
            }
            number = longer;
            self.at += 1;
        }
        let is_open = self.groups_open.contains(&Some(number));
        if number > self.groups || is_open {
            self.at = begun;
            return Err(self.error(&format!("`\\{number}` refers to a group that is not closed before it")));
        }
        self.has_back_references = true;
        Ok(Node::BackReference(number))
    }

    /// After `\`.
    fn escaped(&mut self) -> Result<Escaped> {
        let Some(letter) = self.next() else {
            return Err(self.error("nothing follows `\\`; write `\\\\` for the character"));
        };
        if let Some(set) = sets::of_escape(letter) {
            return Ok(Escaped::Set(set));
        }
        Ok(match letter {
            'n' => Escaped::One('\n'),
            'r' => Escaped::One('\r'),
            't' => Escaped::One('\t'),
            '\\' | '|' | '.' | '?' | '*' | '+' | '(' | ')' | '{' | '}' | '-' | '[' | ']' | '^' | '$' => {
                Escaped::One(letter)
            }
            'p' | 'P' => Escaped::Set(self.property(letter == 'P')?),
            other => {
                self.at -= 1;
                return Err(self.error(&format!("`\\{other}` is not an escape; {}", instead_of(other))));
            }
        })
    }

    /// After `\p` and `\P`.
    fn property(&mut self, is_negated: bool) -> Result<Set> {
        let begun = self.at;
        if !self.take('{') {
            return Err(self.error("`{` and the name of a category or block have to follow, as in `\\p{L}`"));
        }
        let mut name = String::new();
        loop {
            match self.next() {
                Some('}') => break,
                Some(character) => name.push(character),
                None => {
                    self.at = begun;
                    return Err(self.error("this `{` is not closed"));
                }
            }
        }
        match sets::of_property(&name) {
            Some(set) => Ok(if is_negated { sets::negated(set) } else { set }),
            None => {
                self.at = begun;
                Err(self.error(&format!(
                    "`{name}` is not a category such as `L` or `Nd`, and no block such as `IsBasicLatin`"
                )))
            }
        }
    }

    /// After `[`: to its `]`.
    fn class(&mut self) -> Result<Set> {
        let begun = self.at;
        if self.class_depth >= NESTING_MAX {
            return Err(self.error(&format!("classes nest deeper than {NESTING_MAX}")));
        }
        self.class_depth += 1;
        let is_negated = self.take('^');
        let mut set = sets::of_ranges(&[]);
        let mut is_first = true;
        loop {
            let Some(next) = self.peek() else {
                return Err(PatternError { position: begun, message: "this `[` is not closed".to_owned() });
            };
            match next {
                ']' if is_first => return Err(self.error("the class is empty; write `\\]` for the character")),
                ']' => break,
                '-' if !is_first && self.characters.get(self.at + 1) == Some(&'[') => break,
                _ => self.member(&mut set, is_first)?,
            }
            is_first = false;
        }
        if is_negated {
            set.negate();
        }
        if self.take('-') {
            self.at += 1;
            let subtracted = self.class()?;
            set.difference(&subtracted);
            if self.peek() != Some(']') {
                return Err(self.error("`]` has to follow the class that is subtracted"));
            }
        }
        self.at += 1;
        self.class_depth -= 1;
        Ok(set)
    }

    /// A character, a range or an escape of a class.
    fn member(&mut self, set: &mut Set, is_first: bool) -> Result<()> {
        let place = self.at;
        let first = match self.next() {
            Some('\\') => match self.escaped()? {
                Escaped::One(character) => character,
                Escaped::Set(escaped) => {
                    set.union(&escaped);
                    return Ok(());
                }
            },
            Some('-') => {
                let is_last = match self.peek() {
                    Some(']') => true,
                    Some('-') => self.characters.get(self.at + 1) == Some(&'['),
                    _ => false,
                };
                if !is_first && !is_last {
                    self.at = place;
                    return Err(self.error("`-` stands for itself first and last in a class alone; write `\\-`"));
                }
                set.union(&sets::of_char('-'));
                return Ok(());
            }
            Some('[') => {
                self.at = place;
                return Err(self.error("`[` cannot stand here; write `\\[` for the character"));
            }
            Some(character) => character,
            None => return Err(self.error("the pattern ends too early")),
        };
        let last = self.end_of_range(first)?;
        let mut range = sets::of_ranges(&[(first, last)]);
        if self.flags.ignores_case {
            sets::add_case_variants(&mut range);
        }
        set.union(&range);
        Ok(())
    }

    /// The last character of a range, or `first` if it is none.
    fn end_of_range(&mut self, first: char) -> Result<char> {
        let after = self.characters.get(self.at + 1);
        if self.peek() != Some('-') || matches!(after, Some('[' | ']') | None) {
            return Ok(first);
        }
        // `a--[b]`: the first hyphen is the last character, the second subtracts.
        if after == Some(&'-') && self.characters.get(self.at + 2) == Some(&'[') {
            return Ok(first);
        }
        self.at += 1;
        let place = self.at;
        let last = match self.next() {
            Some('\\') => match self.escaped()? {
                Escaped::One(character) => character,
                Escaped::Set(_) => {
                    self.at = place;
                    return Err(self.error("a range ends with a character, and not with a class"));
                }
            },
            Some('-') => {
                self.at = place;
                return Err(self.error("a range ends with `\\-`, and not with `-`"));
            }
            Some(character) => character,
            None => return Err(self.error("the pattern ends too early")),
        };
        if last < first {
            self.at = place;
            return Err(self.error(&format!("the range ends before it begins: `{last}` comes before `{first}`")));
        }
        Ok(last)
    }
}

enum Escaped {
    One(char),
    Set(Set),
}

/// What to write for an escape that other languages have.
fn instead_of(letter: char) -> String {
    match letter {
        'b' | 'B' | 'A' | 'z' | 'Z' => "XPath has no such place; it has `^` and `$` alone".to_owned(),
        'u' | 'x' => "write the character itself, or `\\\\u` and its number in the SPARQL string".to_owned(),
        '0' => "back-references begin with `\\1`".to_owned(),
        'h' | 'v' | 'f' | 'R' => "write the characters in a class".to_owned(),
        other if other.is_alphanumeric() => format!("write `{other}` for the character"),
        other => format!("`{other}` stands for itself"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(pattern: &str, flags: &str) -> PatternError {
        parse(pattern, Flags::parse(flags).expect("flags")).expect_err(pattern)
    }

    #[test]
    fn patterns_that_break_the_grammar_are_refused_with_the_character() {
        for (pattern, position) in [
            ("*a", 1),
            ("a**", 3),
            ("a+*", 3),
            ("a*+", 3),
            ("a{2}{3}", 5),
            ("(a", 1),
            ("a)", 2),
            ("[a", 1),
            ("[]", 2),
            ("[^]", 3),
            ("[z-a]", 4),
            ("[a-\\d]", 4),
            ("[a[b]]", 3),
            ("[a-c-e]", 5),
            ("[a-z-[b]c]", 9),
            ("a]", 2),
            ("a}", 2),
            ("a{", 3),
            ("a{,3}", 3),
            ("a{3,1}", 3),
            ("a{2000000}", 9),
            ("\\", 2),
            ("\\b", 2),
            ("\\x41", 2),
            ("\\/", 2),
            ("\\p{Latin}", 3),
            ("\\p{Cs}", 3),
            ("\\p{IsNowhere}", 3),
            ("\\pL", 3),
            ("\\p{L", 3),
            ("(?=a)", 3),
            ("(?i)a", 3),
            ("(?<n>a)", 3),
            ("\\1", 2),
            ("(a\\1)", 4),
            ("(a)\\2", 5),
        ] {
            assert_eq!(error(pattern, "").position, position, "{pattern}: {}", error(pattern, ""));
        }
    }

    #[test]
    fn what_nests_too_deep_is_refused() {
        let nested = |open: &str, close: &str, times: usize| format!("{}a{}", open.repeat(times), close.repeat(times));
        assert!(error(&nested("(", ")", 101), "").message.contains("deeper"));
        assert!(error(&nested("(?:", ")", 5_000), "").message.contains("deeper"));
        assert!(error(&nested("[a-", "]", 5_000), "").message.contains("deeper"));
        parse(&nested("(", ")", 100), Flags::default()).expect("not too deep");
    }

    #[test]
    fn a_back_reference_has_as_many_digits_as_there_are_groups_for() {
        let parsed = parse("(a)\\12", Flags::default()).expect("a pattern");
        assert!(parsed.has_back_references && parsed.groups == 1);
        let Node::Concatenation(nodes) = parsed.node else { panic!("{parsed:?}") };
        assert_eq!(nodes[1..], [Node::BackReference(1), Node::Set(sets::of_char('2'))]);
        let twelve = format!("{}\\12", "(a)".repeat(12));
        let Node::Concatenation(nodes) = parse(&twelve, Flags::default()).expect("a pattern").node else { panic!() };
        assert_eq!(nodes[12..], [Node::BackReference(12)]);
    }
}
