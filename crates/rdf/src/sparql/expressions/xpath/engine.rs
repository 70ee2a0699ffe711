//! [`Pattern`]: a pattern that is ready to be matched, by the engine that fits it.
//!
//! | pattern | engine |
//! |---|---|
//! | with back-references, or whose automaton would be too large | the [backtracking](super::backtrack) one |
//! | with `^` or `$`, and the flag `m` | the crate `regex`; for texts that end with a newline, the backtracking one |
//! | any other | the crate `regex`, in time linear in the text |

use std::fmt;

use regex::{Captures, Regex, RegexBuilder};

use super::backtrack::{Exhausted, Program, Steps};
use super::flags::Flags;
use super::pattern::{self, Parsed, PatternError};
use super::replacement::Replacement;
use super::write::written;

/// Bytes that a pattern may have.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Bytes that the automaton of a pattern may take.
const AUTOMATON_BYTES_MAX: usize = 4 << 20;

/// What the evaluator's own `REGEX` allows an automaton. Requires: it is what `spareval` has.
const NATIVE_BYTES_MAX: usize = 1_000_000;

/// Levels that the crate `regex` may see: a group of ours is a few of its.
const LEVELS_MAX: u32 = 2_000;

/// A pattern with its flags, compiled.
#[derive(Debug)]
pub(crate) struct Pattern {
    engine: Engine,
    flags: Flags,
    groups: usize,
    matches_empty: Result<bool, Exhausted>,
}

#[derive(Debug)]
enum Engine {
    Automaton(Regex),
    Backtracking(Program),
    /// The second for texts that end with a newline.
    Lines(Regex, Program),
}

/// Why a call of `REGEX` or `REPLACE` has no value, by the codes of XPath and XQuery Functions 3.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// FORX0001.
    Flag(char),
    /// FORX0002.
    Pattern(PatternError),
    /// FORX0002: an implementation may have limits.
    TooLarge,
    /// FORX0003.
    MatchesEmpty,
    /// FORX0004, with the character of the replacement string, from 1.
    Replacement(usize, &'static str),
    /// The search for a match takes more steps than it may.
    Exhausted(Exhausted),
}

impl fmt::Display for CallError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(letter) => write!(out, "`{letter}` is not a flag; the flags are s, m, i, x and q (FORX0001)"),
            Self::Pattern(error) => write!(out, "{error} (FORX0002)"),
            Self::TooLarge => out.write_str(
                "the pattern is too large when it is compiled; repeat less, or use smaller classes (FORX0002)",
            ),
            Self::MatchesEmpty => {
                out.write_str("REPLACE cannot replace matches of a pattern that matches the empty string (FORX0003)")
            }
            Self::Replacement(position, message) => {
                write!(out, "character {position} of the replacement: {message} (FORX0004)")
            }
            Self::Exhausted(Exhausted { steps }) => {
                write!(out, "the pattern was not matched in {steps} steps; make it match in fewer ways")
            }
        }
    }
}

impl From<Exhausted> for CallError {
    fn from(exhausted: Exhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

fn parse(pattern: &str, flags: &str) -> Result<(Parsed, Flags), CallError> {
    let flags = Flags::parse(flags).map_err(CallError::Flag)?;
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(CallError::TooLarge);
    }
    Ok((pattern::parse(pattern, flags).map_err(CallError::Pattern)?, flags))
}

/// The pattern for the evaluator's own `REGEX` without flags, if that matches it as XPath does.
pub(crate) fn native(pattern: &str, flags: &str) -> Option<String> {
    let (parsed, flags) = parse(pattern, flags).ok()?;
    if parsed.has_back_references || flags.has_lines && parsed.has_anchors {
        return None;
    }
    let written = written(&parsed.node, flags.has_lines);
    RegexBuilder::new(&written).size_limit(NATIVE_BYTES_MAX).build().ok()?;
    Some(written)
}

impl Pattern {
    pub(crate) fn new(pattern: &str, flags: &str) -> Result<Self, CallError> {
        let (parsed, flags) = parse(pattern, flags)?;
        let program = || Program::new(&parsed.node, parsed.groups, flags).map_err(|_| CallError::TooLarge);
        let automaton = || {
            let written = written(&parsed.node, flags.has_lines);
            // What was parsed and written here is a pattern there, unless it is too large.
            RegexBuilder::new(&written).size_limit(AUTOMATON_BYTES_MAX).nest_limit(LEVELS_MAX).build().ok()
        };
        let automaton = if parsed.has_back_references { None } else { automaton() };
        let engine = match automaton {
            None => Engine::Backtracking(program()?),
            Some(automaton) if flags.has_lines && parsed.has_anchors => Engine::Lines(automaton, program()?),
            Some(automaton) => Engine::Automaton(automaton),
        };
        let matches_empty = engine.is_match("");
        Ok(Self { engine, flags, groups: parsed.groups, matches_empty })
    }

    /// `fn:matches`.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool, Exhausted> {
        self.engine.is_match(text)
    }

    /// The replacement string, parsed for this pattern.
    pub(crate) fn replacement(&self, text: &str) -> Result<Replacement, CallError> {
        if self.flags.is_literal {
            return Ok(Replacement::literal(text));
        }
        Replacement::parse(text, self.groups).map_err(|error| CallError::Replacement(error.position, error.message))
    }

    /// Whether `REPLACE` can have this pattern: one that does not match the empty string.
    pub(crate) fn check_replaces(&self) -> Result<(), CallError> {
        if self.matches_empty? { Err(CallError::MatchesEmpty) } else { Ok(()) }
    }

    /// `fn:replace`. `None` if nothing matches: the text is the result.
    pub(crate) fn replaced(&self, text: &str, replacement: &Replacement) -> Result<Option<String>, CallError> {
        self.check_replaces()?;
        match &self.engine {
            Engine::Backtracking(program) => by_program(program, text, replacement),
            Engine::Lines(_, program) if text.ends_with('\n') => by_program(program, text, replacement),
            Engine::Automaton(regex) | Engine::Lines(regex, _) => Ok(by_automaton(regex, text, replacement)),
        }
    }
}

impl Engine {
    fn is_match(&self, text: &str) -> Result<bool, Exhausted> {
        match self {
            Self::Backtracking(program) => Ok(program.find(text, 0, &mut Steps::for_text(text))?.is_some()),
            Self::Lines(_, program) if text.ends_with('\n') => {
                Ok(program.find(text, 0, &mut Steps::for_text(text))?.is_some())
            }
            Self::Automaton(regex) | Self::Lines(regex, _) => Ok(regex.is_match(text)),
        }
    }
}

fn by_automaton(regex: &Regex, text: &str, replacement: &Replacement) -> Option<String> {
    let mut out = String::new();
    let mut end = 0;
    let mut append = |captures: &Captures<'_>| {
        let whole = captures.get_match();
        out.push_str(&text[end..whole.start()]);
        replacement.append(|number| captures.get(number).map(|group| group.as_str()), &mut out);
        end = whole.end();
        crate::sparql::evaluation::interrupt::check();
    };
    let mut matches = regex.captures_iter(text).peekable();
    matches.peek()?;
    matches.for_each(|captures| append(&captures));
    out.push_str(&text[end..]);
    Some(out)
}

fn by_program(program: &Program, text: &str, replacement: &Replacement) -> Result<Option<String>, CallError> {
    let mut out = String::new();
    let mut end = 0;
    let mut is_found = false;
    let mut steps = Steps::for_text(text);
    while let Some(slots) = program.find(text, end, &mut steps)? {
        let group = |number: usize| Some(&text[slots[2 * number]?..slots[2 * number + 1]?]);
        let (Some(start), Some(behind)) = (slots[0], slots[1]) else { break };
        if behind == start {
            return Err(CallError::MatchesEmpty);
        }
        is_found = true;
        out.push_str(&text[end..start]);
        replacement.append(group, &mut out);
        end = behind;
    }
    out.push_str(&text[end..]);
    Ok(is_found.then_some(out))
}
