//! Symbols as SCIP writes them: `scheme manager package version descriptors`, or `local id`.

use std::fmt;

use scip::types;

use crate::model::Role;

/// A descriptor: a step on the way to a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor<'s> {
    /// Where it begins in the symbol.
    pub start: usize,
    /// Its name, without marks.
    pub name: &'s str,
    /// What it stands for, as a word.
    pub kind: &'static str,
}

/// The descriptors of a symbol. `None`, if it is not as SCIP writes symbols; a local symbol has none.
#[must_use]
pub fn descriptors(symbol: &str) -> Option<Vec<Descriptor<'_>>> {
    let mut at = 0;
    for _ in 0..4 {
        at = end_of_field(symbol, at)?;
    }
    let mut found = Vec::new();
    while at < symbol.len() {
        let (descriptor, end) = descriptor(symbol, at)?;
        found.push(descriptor);
        at = end;
    }
    Some(found)
}

/// The symbol that another is part of, by its name: that without the last descriptor.
#[must_use]
pub fn parent(symbol: &str) -> Option<&str> {
    let descriptors = descriptors(symbol)?;
    match descriptors.as_slice() {
        [_, .., last] => Some(&symbol[..last.start]),
        _ => None,
    }
}

/// The name of a type without its parameters, which rust-analyzer writes after it: of `Store<S>` it is `Store`.
#[must_use]
pub fn without_parameters(name: &str) -> &str {
    match name.split_once('<') {
        Some((before, rest)) if !before.is_empty() && rest.ends_with('>') => before,
        _ => name,
    }
}

/// A symbol that only its file has: its id.
#[must_use]
pub fn local(symbol: &str) -> Option<&str> {
    symbol.strip_prefix("local ")
}

/// The name and the kind of a symbol, as far as they are in the symbol itself.
#[must_use]
pub fn name_and_kind(symbol: &str) -> (String, String) {
    match descriptors(symbol).as_deref() {
        Some([.., last]) => (last.name.to_owned(), last.kind.to_owned()),
        _ if local(symbol).is_some() => (String::new(), "local".to_owned()),
        _ => (symbol.to_owned(), String::new()),
    }
}

/// A symbol that no other file has: a local one has the path of its file behind it.
pub fn symbol_in(symbol: &str, path: &str) -> String {
    match local(symbol) {
        Some(_) => format!("{symbol} {path}"),
        None => symbol.to_owned(),
    }
}

/// `AbstractMethod` as `abstract method`.
pub fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 2);
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// The strongest of the roles, which are bits.
pub fn role(bits: i32) -> Role {
    let is = |role: types::SymbolRole| bits & role as i32 != 0;
    match () {
        () if is(types::SymbolRole::Definition) => Role::Definition,
        () if is(types::SymbolRole::ForwardDefinition) => Role::Declaration,
        () if is(types::SymbolRole::Import) => Role::Import,
        () if is(types::SymbolRole::WriteAccess) => Role::Write,
        () if is(types::SymbolRole::ReadAccess) => Role::Read,
        () => Role::Reference,
    }
}

/// The package that a symbol is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// The scheme of the symbol: usually the name of the indexer.
    pub scheme: String,
    /// The package manager, such as `cargo`.
    pub manager: String,
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
}

/// As `cargo serde 1.0.0`: the manager, the name and the version, as far as the symbol has them.
impl fmt::Display for Package {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.manager, &self.name, &self.version].into_iter().filter(|part| !part.is_empty());
        for (number, part) in parts.enumerate() {
            let between = if number == 0 { "" } else { " " };
            write!(out, "{between}{part}")?;
        }
        Ok(())
    }
}

/// The package of a symbol. `None`, if the symbol is local, is not as SCIP writes symbols, or names no package.
#[must_use]
pub fn package(symbol: &str) -> Option<Package> {
    if local(symbol).is_some() {
        return None;
    }
    descriptors(symbol)?;
    let mut at = 0;
    let mut field = || {
        let end = end_of_field(symbol, at)?;
        // The space that ends the field is not a part of it, and two spaces in it are one.
        let text = symbol[at..end - 1].replace("  ", " ");
        at = end;
        Some(if text == "." { String::new() } else { text })
    };
    let package = Package { scheme: field()?, manager: field()?, name: field()?, version: field()? };
    (!package.name.is_empty()).then_some(package)
}

/// After the space that ends a field; two spaces are one of the field.
fn end_of_field(symbol: &str, from: usize) -> Option<usize> {
    let bytes = symbol.as_bytes();
    let mut at = from;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == b' ')?;
        if bytes.get(at + 1) != Some(&b' ') {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// The descriptor at `start`, and where it ends.
fn descriptor(symbol: &str, start: usize) -> Option<(Descriptor<'_>, usize)> {
    let bytes = symbol.as_bytes();
    let bracketed = |close: u8, kind| {
        let (name, end) = name(symbol, start + 1)?;
        (bytes.get(end) == Some(&close)).then_some((Descriptor { start, name, kind }, end + 1))
    };
    match bytes[start] {
        b'(' => return bracketed(b')', "parameter"),
        b'[' => return bracketed(b']', TYPE_PARAMETER),
        _ => {}
    }
    let (name, end) = name(symbol, start)?;
    let kind = match bytes.get(end)? {
        b'/' => "namespace",
        b'#' => "type",
        b'.' => "term",
        b':' => "meta",
        b'!' => "macro",
        b'(' => {
            let close = end + symbol[end..].find(").")?;
            return Some((Descriptor { start, name, kind: "method" }, close + 2));
        }
        _ => return None,
    };
    Some((Descriptor { start, name, kind }, end + 1))
}

/// The name at `start`, plain or between backticks, and where it ends.
fn name(symbol: &str, start: usize) -> Option<(&str, usize)> {
    let bytes = symbol.as_bytes();
    if bytes.get(start) != Some(&b'`') {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_+-$".contains(byte);
        let length = bytes.get(start..)?.iter().take_while(|byte| plain(byte)).count();
        return (length > 0).then(|| (&symbol[start..start + length], start + length));
    }
    let mut at = start + 1;
    loop {
        at += symbol.get(at..)?.find('`')?;
        if bytes.get(at + 1) != Some(&b'`') {
            return Some((&symbol[start + 1..at], at + 1));
        }
        at += 2;
    }
}

/// The kind of type parameters, of descriptors and of symbols that are described.
pub const TYPE_PARAMETER: &str = "type parameter";

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(symbol: &str) -> Option<Vec<(&str, &'static str)>> {
        Some(descriptors(symbol)?.into_iter().map(|step| (step.name, step.kind)).collect())
    }

    #[test]
    fn symbols_are_taken_apart() {
        let method = "rust-analyzer cargo facts 0.1.0 query/impl#[Compiler][`From<a``b>`]new(+1).(text)";
        assert_eq!(
            steps(method),
            Some(vec![
                ("query", "namespace"),
                ("impl", "type"),
                ("Compiler", "type parameter"),
                ("From<a``b>", "type parameter"),
                ("new", "method"),
                ("text", "parameter"),
            ])
        );
        assert_eq!(parent(method), Some(&method[..method.len() - "(text)".len()]));
        assert_eq!(steps("scheme . two  words . a.B#c!d:"), steps("s . . . a.B#c!d:"));
        assert_eq!(parent("s . . . a."), None);
        assert_eq!(local("local 7"), Some("7"));
        assert_eq!(name_and_kind("s . . . a/B#run()."), ("run".to_owned(), "method".to_owned()));
    }

    #[test]
    fn anything_else_is_no_symbol() {
        for text in ["", "a", "a b c d", "local 1", "s . . . a", "s . . . a(", "s . . . `a", "s . . . [a", "s . . . é."]
        {
            assert_eq!(descriptors(text), None, "{text}");
        }
        assert_eq!(descriptors("s . . . "), Some(Vec::new()));
    }

    #[test]
    fn kinds_are_words() {
        assert_eq!((words("AbstractMethod").as_str(), words("Enum").as_str()), ("abstract method", "enum"));
    }

    #[test]
    fn symbols_name_their_packages() {
        let found = package("rust-analyzer cargo two  words 1.0 a/B#").expect("it has a package");
        assert_eq!((found.scheme.as_str(), found.name.as_str()), ("rust-analyzer", "two words"));
        assert_eq!(found.to_string(), "cargo two words 1.0");
        assert_eq!(package("test . demo . main().").expect("it has a package").to_string(), "demo");
        for none in ["local 7", "test . . . main().", "ctags a.c f(function)", ""] {
            assert_eq!(package(none), None, "{none}");
        }
    }
}
