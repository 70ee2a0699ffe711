//! Patterns and results as XPath and XQuery Functions 3.1 (5.6) and XML Schema 1.1 (part 2, appendix G) give them.

use super::engine::{CallError, Pattern, native};

fn matches(pattern: &str, flags: &str, text: &str) -> bool {
    let compiled = Pattern::new(pattern, flags).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    let is_match = compiled.is_match(text).unwrap_or_else(|exhausted| panic!("{pattern}: {exhausted:?}"));
    if let Some(native) = native(pattern, flags) {
        let native = regex::Regex::new(&native).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        assert_eq!(native.is_match(text), is_match, "{pattern} in {text:?}");
    }
    is_match
}

fn replaced(text: &str, pattern: &str, replacement: &str, flags: &str) -> Result<String, CallError> {
    let pattern = Pattern::new(pattern, flags)?;
    let replacement = pattern.replacement(replacement)?;
    Ok(pattern.replaced(text, &replacement)?.unwrap_or_else(|| text.to_owned()))
}

/// Pattern, flags, texts that match, texts that do not.
type Row = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

fn check(rows: &[Row]) {
    for (pattern, flags, matching, others) in rows {
        for text in *matching {
            assert!(matches(pattern, flags, text), "{pattern} with {flags:?} matches {text:?}");
        }
        for text in *others {
            assert!(!matches(pattern, flags, text), "{pattern} with {flags:?} does not match {text:?}");
        }
    }
}

#[test]
fn classes_are_those_of_xml_schema() {
    check(&[
        ("^[a-z-[aeiou]]+$", "", &["xyz", "bcd"], &["abc", "e", ""]),
        ("^[^a-z-[x]]$", "", &["A", "1"], &["b", "x"]),
        ("^[a-z-[b-y-[m]]]$", "", &["a", "m", "z"], &["b", "y"]),
        ("^[\\w-[\\d]]+$", "", &["ab", "é+"], &["a1", "a_"]),
        ("^[-a]+$", "", &["-a-"], &["b"]),
        ("^[a-]+$", "", &["-a-"], &["b"]),
        ("^[a--[b]]+$", "", &["a-"], &["b"]),
        ("^[\\-a]+$", "", &["-a-"], &["b"]),
        ("^[^^]$", "", &["a"], &["^"]),
        ("^[a^]+$", "", &["a^"], &["b"]),
        ("^[.*+?(){}|$]+$", "", &[".*+?(){}|$"], &["a", "\\"]),
        ("^[\\[\\]\\\\\\^]+$", "", &["[]\\^"], &["a"]),
        ("^[\\n\\r\\t]+$", "", &["\n\r\t"], &["n", " "]),
        ("^[a\\p{Nd}]+$", "", &["a1٣"], &["b"]),
        ("^[^\\s\\S]$", "", &[], &["a", " "]),
        ("[&&a]", "", &["&", "a"], &["b"]),
        ("^[a~~b]+$", "", &["a~b"], &["c"]),
    ]);
    for pattern in ["[#--]", "[]", "[a[:alpha:]]"] {
        assert!(matches!(Pattern::new(pattern, ""), Err(CallError::Pattern(_))), "{pattern}");
    }
}

#[test]
fn escapes_are_those_of_xml_schema() {
    check(&[
        ("^\\p{IsBasicLatin}+$", "", &["abc~\u{7f}"], &["é"]),
        ("^\\P{IsBasicLatin}+$", "", &["éя"], &["éa"]),
        ("^\\p{IsLatin-1Supplement}$", "", &["é"], &["a", "ā"]),
        ("^\\p{IsGreek}+$", "", &["αβγ"], &["abc"]),
        ("^\\p{IsGreekandCoptic}+$", "", &["αβγ"], &["abc"]),
        ("^\\p{IsCJKUnifiedIdeographs}$", "", &["語"], &["の"]),
        ("^\\p{L}+$", "", &["aÉя語"], &["a1"]),
        ("^\\p{Lu}$", "", &["É"], &["é"]),
        ("^\\P{L}$", "", &["1"], &["a"]),
        ("^\\p{Sc}$", "", &["$", "€"], &["a"]),
        ("^\\p{Cn}$", "", &["\u{378}"], &["a"]),
        ("^\\i\\c*$", "", &["a-b.c", "_x", ":y", "é1"], &["1a", "-a", "a b"]),
        ("^\\I$", "", &["1", "-"], &["a", ":"]),
        ("^\\C+$", "", &[" /"], &["a", "-"]),
        ("^\\d+$", "", &["42", "٤٢"], &["a", "Ⅷ"]),
        ("^\\D$", "", &["a"], &["4"]),
        ("^\\w+$", "", &["a1+", "$"], &["a b", "_", "a.b"]),
        ("^\\W$", "", &["_", " ", "."], &["a"]),
        ("^\\s+$", "", &[" \t\n\r"], &["\u{a0}", "\u{b}", "\u{c}"]),
        ("^\\S$", "", &["\u{a0}"], &[" "]),
        ("^\\.\\?\\*\\+\\(\\)\\{\\}\\|\\-\\[\\]\\^\\$\\\\$", "", &[".?*+(){}|-[]^$\\"], &["a"]),
    ]);
}

#[test]
fn dots_and_anchors_are_those_of_xpath() {
    check(&[
        ("^.$", "", &["a", "\u{2028}", "\u{85}"], &["\n", "\r", ""]),
        ("^.$", "s", &["a", "\n", "\r"], &[""]),
        ("a$", "", &["ba"], &["a\n", "ab"]),
        ("^b", "", &["ba"], &["a\nb"]),
        ("^b", "m", &["a\nb", "b"], &["a\rb", "ab"]),
        ("a$", "m", &["a\nb", "a\n", "a"], &["a\rb"]),
        ("\\n^", "m", &["a\nb"], &["a\n", "\n"]),
        ("\\n$", "m", &["\n\n"], &["a\n", "\n"]),
        ("^$", "m", &["", "\n", "a\n\nb"], &["a\n", "a\nb"]),
        ("a^*b", "", &["ab"], &["a^b"]),
    ]);
}

#[test]
fn quantifiers_groups_and_back_references_work() {
    check(&[
        ("^a{2}$", "", &["aa"], &["a", "aaa"]),
        ("^a{2,}$", "", &["aa", "aaaa"], &["a"]),
        ("^a{2,3}$", "", &["aa", "aaa"], &["a", "aaaa"]),
        ("^a{0}b$", "", &["b"], &["ab"]),
        ("^(?:ab|c)+$", "", &["abc"], &["ac"]),
        ("^(a|)b$", "", &["ab", "b"], &["aab"]),
        ("", "", &["", "a"], &[]),
        ("()", "", &["a"], &[]),
        ("^(.)(.)\\2\\1$", "", &["abba"], &["abab"]),
        ("^(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\\10$", "", &["abcdefghijj"], &["abcdefghija0"]),
        ("^(a)\\10$", "", &["aa0"], &["aa"]),
        ("^(?:(a)|(b))\\2$", "", &["a", "bb"], &["b"]),
        ("^((.)\\2)+$", "", &["aabb"], &["aab"]),
    ]);
}

#[test]
fn case_variants_are_matched_in_ranges_and_negated_classes_and_not_in_categories() {
    check(&[
        ("^z$", "i", &["z", "Z"], &["y"]),
        ("^[A-Z]+$", "i", &["aZ", "\u{212A}", "ſ"], &["é"]),
        ("^[A-Z-[IO]]+$", "i", &["aB"], &["i", "I", "o", "O"]),
        ("^[^Q]$", "i", &["a", "A"], &["q", "Q"]),
        ("^\\p{Lu}$", "i", &["A"], &["a"]),
        ("^[\\p{Lu}b]$", "i", &["A", "b", "B"], &["a"]),
        ("^([md])[aeiou]\\1$", "i", &["Mum", "mom", "Dad", "DUD"], &["mud"]),
        ("^σ$", "i", &["Σ", "ς"], &["s"]),
        ("^straße$", "i", &["STRAẞE"], &["STRASSE"]),
        ("a.b", "qi", &["xA.By"], &["axb"]),
    ]);
}

#[test]
fn white_space_is_removed_outside_of_classes_alone() {
    check(&[
        ("^a b\n c$", "x", &["abc"], &["a b c"]),
        ("^[a b]+$", "x", &["a b"], &["c"]),
        ("^\\p{ Is BasicLatin }+$", "x", &["hello"], &["é"]),
        ("^a{ 2 , 3 }$", "x", &["aa"], &["a"]),
        ("^\\ s$", "x", &[" "], &["s"]),
        ("^a#b$", "x", &["a#b"], &["a"]),
        ("a b", "", &["a b"], &["ab"]),
        ("a b", "qx", &["a b"], &["ab"]),
        ("^", "qm", &["a^b"], &["a"]),
    ]);
}

#[test]
fn replacing_is_that_of_the_specification() {
    for (text, pattern, replacement, flags, expected) in [
        ("abracadabra", "bra", "*", "", "a*cada*"),
        ("abracadabra", "a.*a", "*", "", "*"),
        ("abracadabra", "a.*?a", "*", "", "*c*bra"),
        ("abracadabra", "a", "", "", "brcdbr"),
        ("abracadabra", "a(.)", "a$1$1", "", "abbraccaddabbra"),
        ("AAAA", "A+", "b", "", "b"),
        ("AAAA", "A+?", "b", "", "bbbb"),
        ("darted", "^(.*?)d(.*)$", "$1c$2", "", "carted"),
        ("reluctant", "r.*?t", "X", "", "Xant"),
        ("abcd", "(ab)|(a)", "[1=$1][2=$2]", "", "[1=ab][2=]cd"),
        ("$kMoon 77", "(\\$k[a-zA-Z]+) ([0-9]+)", "$1\\$z$2", "", "$kMoon$z77"),
        ("a\\b", "\\\\", "\\\\\\\\", "", "a\\\\b"),
        ("a/b/c", "/", "$0$0", "", "a//b//c"),
        ("a.b.c", ".", "$1\\", "q", "a$1\\b$1\\c"),
        ("a\nb\n", "^[a-z]", "<$0>", "m", "<a>\n<b>\n"),
        ("aabbc", "(.)\\1", "<$1>", "", "<a><b>c"),
        ("aaAA", "(a)\\1", "<$1>", "i", "<a><A>"),
        ("none", "x", "y", "", "none"),
        ("", "x", "y", "", ""),
        ("abc", "(b)", "$12", "", "ab2c"),
        ("éaé", "é", "e$0", "", "eéaeé"),
        ("ab", "(x)?a", "[$1]", "", "[]b"),
    ] {
        assert_eq!(replaced(text, pattern, replacement, flags).as_deref(), Ok(expected), "{pattern} in {text}");
    }
}

#[test]
fn calls_without_a_value_have_the_error_of_the_specification() {
    let code = |pattern: &str, replacement: &str, flags: &str| {
        replaced("text", pattern, replacement, flags).expect_err(pattern).to_string()
    };
    for flags in ["y", "g", "I", "ii-", " "] {
        assert!(code("a", "b", flags).contains("FORX0001"), "{flags}");
    }
    assert!(replaced("text", "a", "b", "ismxi").is_ok(), "a flag may be there twice");
    for pattern in ["(", "a**", "[a", "\\1"] {
        assert!(code(pattern, "b", "").contains("FORX0002"), "{pattern}");
    }
    for pattern in [".*?", "a*", "", "()", "^", "$", "x?", "(a)*\\1", "^$", "a{0}", "|a"] {
        assert!(code(pattern, "b", "").contains("FORX0003"), "{pattern}");
    }
    assert!(code("^", "b", "m").contains("FORX0003"));
    for replacement in ["$", "a$b", "\\", "a\\b", "$$1"] {
        assert!(code("a", replacement, "").contains("FORX0004"), "{replacement}");
    }
    assert!(replaced("text", "t", "$", "q").is_ok());
}

#[test]
fn a_pattern_that_is_too_large_is_refused() {
    for pattern in ["\\w{100000}", "((\\w{1000}){1000}){1000}", &"a".repeat((1 << 20) + 1)] {
        assert_eq!(Pattern::new(pattern, "").expect_err("too large"), CallError::TooLarge);
    }
    check(&[("^\\w{1,64}@\\w{1,255}$", "", &["me@here", "é@x"], &["me@", "a b@c"])]);
    let deep = format!("{}a{}", "(?:(".repeat(50), ")|b)*".repeat(50));
    assert!(Pattern::new(&deep, "").expect("not too deep").is_match("b").expect("steps"));
}
