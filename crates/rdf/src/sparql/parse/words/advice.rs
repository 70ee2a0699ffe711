//! Advice for mistakes of grammar that are often made.

use super::grammar::Grammar;
use super::message::Wanted;
use super::nearest::nearest;
use super::predict::Stop;
use crate::sparql::parse::tokens::{Kind, Token, place};

/// Advice in addition to the expected tokens, or instead of them.
pub(crate) enum Advice {
    Also(String),
    Instead(String),
}

use Advice::{Also, Instead};

pub(crate) fn advice(grammar: &Grammar, wanted: Wanted, text: &str, tokens: &[Token], stop: &Stop) -> Option<Advice> {
    let context = Context { grammar, wanted, text, tokens, stop };
    let Some(token) = tokens.get(stop.token) else { return context.end() };
    match token.kind {
        Kind::Word => context.word(token),
        Kind::Symbol => context.symbol(token),
        Kind::UnclosedString => Some(Instead(unclosed_string(token.text(text)))),
        Kind::Stray => Some(Instead(stray(token.text(text)))),
        Kind::Language if matches!(token.text(text), "@prefix" | "@base") => {
            Some(Also("SPARQL writes `PREFIX x: <…>`, without `@` and `.`".to_owned()))
        }
        _ => context.term(token),
    }
}

struct Context<'c> {
    grammar: &'c Grammar,
    wanted: Wanted,
    text: &'c str,
    tokens: &'c [Token],
    stop: &'c Stop,
}

const NOTHING_SELECTED: &str = "SELECT needs variables, or `*` for all";
const UPDATES: [&str; 10] = ["INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH"];
const QUERIES: [&str; 4] = ["SELECT", "CONSTRUCT", "DESCRIBE", "ASK"];
/// In the order in which they come.
const MODIFIERS: [&str; 6] = ["GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES"];

impl Context<'_> {
    /// Whether the rule is open.
    fn is_in(&self, rule: &str) -> bool {
        self.stop.open.contains(&self.grammar.rule(rule))
    }

    /// Whether the rule is the innermost that is open.
    fn is_within(&self, rule: &str) -> bool {
        self.stop.open.last() == Some(&self.grammar.rule(rule))
    }

    fn expects(&self, name: &str) -> bool {
        self.stop.expected.iter().any(|expected| expected == name)
    }

    fn before(&self, back: usize) -> Option<&Token> {
        self.tokens.get(self.stop.token.checked_sub(back)?)
    }

    fn follows(&self, text: &str) -> bool {
        self.before(1).is_some_and(|token| token.text(self.text).eq_ignore_ascii_case(text))
    }

    fn is_outermost(&self) -> bool {
        self.stop.open.len() <= 1
    }

    /// The brackets that are open before the token.
    fn open_brackets(&self) -> Vec<&Token> {
        let mut open: Vec<&Token> = Vec::new();
        for token in self.tokens[..self.stop.token].iter().filter(|token| token.kind == Kind::Symbol) {
            match token.text(self.text) {
                "{" | "(" | "[" | "<<" | "<<(" | "{|" => open.push(token),
                "}" | ")" | "]" | ">>" | ")>>" | "|}" => drop(open.pop()),
                _ => {}
            }
        }
        open
    }

    fn end(&self) -> Option<Advice> {
        if self.tokens.is_empty() {
            return Some(Also("the text is empty".to_owned()));
        }
        if let Some(open) = self.open_brackets().last() {
            let (line, column) = place(self.text, open.range.start);
            return Some(Also(format!("the `{}` of line {line}, column {column} is not closed", open.text(self.text))));
        }
        if self.stop.words.contains(&"USING") {
            return Some(Also("only INSERT DATA and DELETE DATA have no WHERE".to_owned()));
        }
        None
    }

    fn word(&self, token: &Token) -> Option<Advice> {
        let word = token.text(self.text);
        let is_one_of = |words: &[&str]| words.iter().any(|one| one.eq_ignore_ascii_case(word));
        let upper = word.to_ascii_uppercase();
        if self.wanted == Wanted::Query && is_one_of(&UPDATES) && self.is_in_operation() {
            return Some(Instead(format!(
                "{upper} begins an update, but a query is expected; run it with `rdf update`, or send it as an update"
            )));
        }
        if self.wanted == Wanted::Update && is_one_of(&QUERIES) && self.is_in_operation() {
            return Some(Instead(format!(
                "{upper} begins a query, but an update is expected; run it with `rdf query`, or send it as a query"
            )));
        }
        if is_one_of(&["TRUE", "FALSE"]) || upper == "A" && self.expects("a predicate") {
            return Some(Also(format!("write `{}` in lower case", word.to_ascii_lowercase())));
        }
        if self.expects("an operator") {
            match upper.as_str() {
                "AND" => return Some(Also("write `&&`".to_owned())),
                "OR" => return Some(Also("write `||`".to_owned())),
                "LIKE" => return Some(Also("write `REGEX(…)` or `CONTAINS(…)`".to_owned())),
                _ => {}
            }
        }
        if upper == "NOT" && self.is_in("Expression") {
            return Some(Also("write `!` before what is to be false".to_owned()));
        }
        if upper == "AS" && self.expects("an operator") && !self.stop.words.contains(&"AS") {
            return Some(Also("close the bracket before AS".to_owned()));
        }
        if self.touches_string(token) {
            return Some(Also("a quote has ended the string before; write `\\` before a quote within it".to_owned()));
        }
        if self.is_outermost() && is_one_of(&QUERIES) {
            return Some(Also("a text has one query".to_owned()));
        }
        self.word_of_clause(&upper, token).or_else(|| self.unknown_word(token))
    }

    /// Whether an operation, or a query, is about to begin.
    fn is_in_operation(&self) -> bool {
        let before = ["Query", "QueryBody", "Update", "Operation", "Prologue"];
        self.stop.open.iter().all(|rule| before.contains(&self.grammar.rules[*rule].0))
    }

    fn word_of_clause(&self, upper: &str, token: &Token) -> Option<Advice> {
        if self.is_in_select() {
            let is_function = self.grammar.functions().any(|function| function == upper);
            if is_function || upper == "AS" {
                let advice = "put an expression and its name into brackets, as in `(COUNT(?x) AS ?n)`";
                return Some(Also(advice.to_owned()));
            }
            if self.expects("`*`") && matches!(upper, "WHERE" | "FROM") {
                return Some(Also(NOTHING_SELECTED.to_owned()));
            }
        }
        if self.expects("a prefix with its `:`") {
            return Some(Also(format!("write `{}:`, with a colon", token.text(self.text))));
        }
        let rank = MODIFIERS.iter().position(|modifier| *modifier == upper)?;
        if self.is_in("Group") && rank < 5 {
            let advice = format!("close the group with `}}` before {upper}");
            return Some(Also(advice));
        }
        let mut depth = 0_usize;
        for earlier in &self.tokens[..self.stop.token] {
            match earlier.text(self.text) {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                word if depth == 0 => {
                    let later = MODIFIERS.iter().position(|modifier| modifier.eq_ignore_ascii_case(word));
                    if later.is_some_and(|later| later > rank) {
                        return Some(Also(format!("{upper} comes before {}", word.to_ascii_uppercase())));
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Whether another variable of `SELECT` may follow.
    fn is_in_select(&self) -> bool {
        self.is_within("SelectClause") || self.expects("a variable") && self.expects("WHERE")
    }

    fn touches_string(&self, token: &Token) -> bool {
        self.before(1).is_some_and(|before| before.kind == Kind::String && before.range.end == token.range.start)
    }

    fn unknown_word(&self, token: &Token) -> Option<Advice> {
        let word = token.text(self.text);
        let is_called = self.tokens.get(self.stop.token + 1).is_some_and(|next| next.is_symbol(self.text, "("));
        let is_keyword = self.grammar.words().any(|known| known.eq_ignore_ascii_case(word));
        let takes_call =
            ["an expression", "a function", "a condition in brackets"].iter().any(|name| self.expects(name));
        if is_called && takes_call && !is_keyword {
            let known = nearest(word, self.grammar.functions())
                .map_or_else(String::new, |near| format!("; did you mean {near}?"));
            return Some(Instead(format!("`{word}` is not a function of SPARQL{known}")));
        }
        let words = self.stop.words.iter().copied();
        if let Some(near) = nearest(word, words) {
            return Some(Also(format!("did you mean {near}?")));
        }
        let takes_variable = ["a variable", "a triple", "a term", "a predicate", "an object", "an expression"];
        if !is_keyword && takes_variable.iter().any(|name| self.expects(name)) {
            return Some(Also(format!("write `?{word}` for a variable, `:{word}` or `<{word}>` for an IRI")));
        }
        None
    }

    fn symbol(&self, token: &Token) -> Option<Advice> {
        let symbol = token.text(self.text);
        let touches_last = self.before(1).is_some_and(|before| before.range.end == token.range.start);
        match symbol {
            "," if self.expects("a variable") && !self.is_in("Expression") => {
                Some(Also("variables have spaces between them, and no commas".to_owned()))
            }
            ";" if self.is_outermost() && self.wanted == Wanted::Query => {
                Some(Instead("a query has no `;` at its end".to_owned()))
            }
            "." if self.is_in("Prologue") || self.is_in_operation() => {
                Some(Also("a declaration has no `.` at its end".to_owned()))
            }
            "=" if self.follows("=") && touches_last => Some(Instead("`==` is not an operator; write `=`".to_owned())),
            ">" if self.follows("<") && touches_last => Some(Instead("`<>` is not an operator; write `!=`".to_owned())),
            "<" => Some(Instead(broken_iri(&self.text[token.range.end..]))),
            "|" if self.expects("an operator") => Some(Also("write `||`".to_owned())),
            "?" => Some(Also("a variable has a name right after its `?`".to_owned())),
            ")" if self.stop.words.contains(&"AS") => {
                Some(Also("name the value, as in `(COUNT(?x) AS ?n)`".to_owned()))
            }
            ">" if self.follows("=") && touches_last => Some(Instead("`=>` is not an operator; write `>=`".to_owned())),
            "}" | ")" | "]" => self.other_bracket(symbol),
            "{" if self.is_within("SelectClause") => Some(Also(NOTHING_SELECTED.to_owned())),
            "(" if self.follows("NOT") => Some(Also("write `!` before a condition that is to be false".to_owned())),
            _ => None,
        }
    }

    /// A bracket that closes one of another kind.
    fn other_bracket(&self, symbol: &str) -> Option<Advice> {
        let opens = match symbol {
            "}" => "{",
            ")" => "(",
            _ => "[",
        };
        let brackets = self.open_brackets();
        if !brackets.iter().any(|bracket| bracket.is_symbol(self.text, opens)) {
            return Some(Instead(closes_nothing(symbol)));
        }
        let open = *brackets.last()?;
        let (line, column) = place(self.text, open.range.start);
        let open = open.text(self.text);
        (open != opens).then(|| Also(format!("the `{open}` of line {line}, column {column} is not closed")))
    }

    /// A variable, an IRI, a literal or a blank node.
    fn term(&self, token: &Token) -> Option<Advice> {
        if token.text(self.text) == "<>" && self.expects("an operator") {
            return Some(Instead("`<>` is not an operator; write `!=`".to_owned()));
        }
        if self.expects("a condition in brackets") {
            return Some(Instead("expected a condition in brackets, as in `FILTER(?x > 1)`".to_owned()));
        }
        if self.follows("ASC") || self.follows("DESC") {
            let advice = "put what is sorted by into brackets, as in `DESC(?x)`";
            return Some(Also(advice.to_owned()));
        }
        if self.expects("a predicate") && !matches!(token.kind, Kind::Variable | Kind::Iri | Kind::PrefixedName) {
            return Some(Also("a predicate is an IRI, a variable or `a`".to_owned()));
        }
        if self.expects("a prefix with its `:`") {
            let advice = "the prefix comes first, and ends with its colon: `PREFIX x: <…>`";
            return Some(Also(advice.to_owned()));
        }
        if self.expects("`.`") && self.expects("`;`") {
            return Some(Also("a `.` ends a triple before another begins".to_owned()));
        }
        None
    }
}

fn closes_nothing(symbol: &str) -> String {
    format!("this `{symbol}` closes nothing that is open before it")
}

fn unclosed_string(string: &str) -> String {
    let quote = &string[..1];
    let long = quote.repeat(3);
    if string.starts_with(&long) {
        return format!("this string is not closed by {long}");
    }
    format!("this string is not closed on its line; put it into {long} if it has several")
}

fn stray(character: &str) -> String {
    let first = character.chars().next().unwrap_or_default();
    match first {
        '\u{201C}' | '\u{201D}' | '\u{2018}' | '\u{2019}' | '`' | '\u{AB}' | '\u{BB}' => {
            format!("`{first}` is not a quote of SPARQL; write `\"` or `'`")
        }
        '&' => "write `&&`".to_owned(),
        first
            if first.is_whitespace() || first.is_control() || matches!(first, '\u{200B}'..='\u{200F}' | '\u{FEFF}') =>
        {
            format!("U+{:04X} is not white space of SPARQL; write a space", u32::from(first))
        }
        '\u{2212}' | '\u{2013}' | '\u{2014}' => format!("`{first}` is not a minus; write `-`"),
        '\\' => "`\\` is allowed only in strings, IRIs and names".to_owned(),
        first => format!("no token begins with `{first}`"),
    }
}

/// What comes after a `<` that begins neither an IRI nor a comparison.
fn broken_iri(rest: &str) -> String {
    let line = rest.lines().next().unwrap_or_default();
    match line.find('>') {
        Some(end) => {
            match line[..end].chars().find(|c| matches!(c, '\0'..=' ' | '<' | '"' | '{' | '}' | '|' | '^' | '`')) {
                Some(' ') => "an IRI has no spaces; write `%20`".to_owned(),
                Some(other) => format!("an IRI has no `{}`; write its bytes with `%`", other.escape_default()),
                None => "no IRI is expected here".to_owned(),
            }
        }
        None => "this IRI is not closed by `>`".to_owned(),
    }
}
