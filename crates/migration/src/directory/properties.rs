//! Files of Java's `Properties`: lines of keys and values.

/// The keys and values of a text, in their order.
pub fn parse(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim_start().to_owned();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        while has_open_escape(&line) {
            line.pop();
            line.push_str(lines.next().unwrap_or_default().trim_start());
        }
        found.push(split(&line));
    }
    found
}

/// Whether a line goes on: it ends with an odd number of backslashes.
fn has_open_escape(line: &str) -> bool {
    line.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1
}

fn split(line: &str) -> (String, String) {
    let (mut key, mut characters) = (String::new(), line.chars().peekable());
    while let Some(character) = characters.next_if(|character| !is_separator(*character)) {
        push(&mut key, character, &mut characters);
    }
    while characters.next_if(|character| character.is_ascii_whitespace()).is_some() {}
    if characters.next_if(|character| matches!(character, '=' | ':')).is_some() {
        while characters.next_if(|character| character.is_ascii_whitespace()).is_some() {}
    }
    let mut value = String::new();
    while let Some(character) = characters.next() {
        push(&mut value, character, &mut characters);
    }
    (key, value)
}

fn is_separator(character: char) -> bool {
    matches!(character, '=' | ':') || character.is_ascii_whitespace()
}

/// Appends a character, or what it escapes. (`\uXXXX` stays as it is: no key or value that matters has one.)
fn push(text: &mut String, character: char, rest: &mut impl Iterator<Item = char>) {
    match character {
        '\\' => text.extend(rest.next().map(|escaped| match escaped {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\x0c',
            other => other,
        })),
        other => text.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_read_as_java_reads_them() {
        let text = "#LMDB triples\n!x=y\n\nversion=1\ntriple-indexes = spoc,posc\na\\:b:c\\=d\n  long = one, \\\n   two\nalone\n";
        let expected =
            [("version", "1"), ("triple-indexes", "spoc,posc"), ("a:b", "c=d"), ("long", "one, two"), ("alone", "")];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(parse(text), expected);
    }
}
