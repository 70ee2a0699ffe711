//! Symbols as SCIP writes them: `scheme manager package version descriptors`, or `local id`.

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
        b'[' => return bracketed(b']', "type parameter"),
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
}
