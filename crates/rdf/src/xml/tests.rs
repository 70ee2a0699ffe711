//! Well-formedness, rule by rule. A differential test against other readers is in `proofs/conformance`.

use super::*;

/// What a document says: `<name` for a start tag with its attributes, `>` for an end, text as it is.
fn read(bytes: &[u8]) -> Result<String, String> {
    let mut reader = XmlReader::new(bytes);
    let mut out = String::new();
    loop {
        let event = reader.next().map_err(|error| match error {
            XmlError::Malformed { place, message } | XmlError::TooLarge { place, message } => {
                format!("{}:{}: {message}", place.line, place.column)
            }
            XmlError::Read(error) => error.to_string(),
        })?;
        match event {
            Event::EndOfDocument => return Ok(out),
            Event::Start => {
                out.push_str(&format!("<{}", reader.tag().name().qualified));
                for attribute in reader.tag().attributes() {
                    out.push_str(&format!(" {}={}", attribute.name().qualified, attribute.value()));
                }
                out.push('|');
            }
            Event::End => out.push('>'),
            Event::Text => out.push_str(reader.text()),
            Event::Comment => out.push_str(&format!("!{}!", reader.text())),
            Event::Instruction => out.push_str(&format!("?{} {}?", reader.target(), reader.text())),
        }
    }
}

/// Also read a byte at a time: what is found does not depend on where the source pauses.
fn both(text: &str) -> Result<String, String> {
    struct Slow<'t>(&'t [u8]);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.len().min(out.len()).min(1);
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
    let whole = read(text.as_bytes());
    let mut reader = XmlReader::new(Slow(text.as_bytes()));
    let slowly = loop {
        match reader.next() {
            Ok(Event::EndOfDocument) => break true,
            Ok(_) => {}
            Err(_) => break false,
        }
    };
    assert_eq!(whole.is_ok(), slowly, "{text}");
    whole
}

#[test]
fn documents_have_one_element() {
    for (text, part) in [
        ("", "1:1: the document has no element"),
        (" \n", "2:1: the document has no element"),
        ("<!-- c -->", "1:11: the document has no element"),
        ("<?xml version='1.0'?>", "no element"),
        ("<a/><b/>", "1:5: a second root element"),
        ("<a/>x", "1:5: text behind the root element"),
        ("x<a/>", "1:1: text before the root element"),
        ("<a>", "1:4: the document ends within the element `a`"),
        ("<a><b></b>", "ends within the element `a`"),
        ("<a", "ends within a tag"),
        ("<a x='1", "ends within a tag"),
        ("<a>hal", "1:7: the document ends within the element `a`"),
        ("<a><!-- ", "ends within a comment"),
        ("<a><![CDATA[x]]", "ends within a CDATA section"),
        ("<a></b>", "1:4: the end tag `b` of the element `a`"),
        ("</a>", "an end tag without its start tag"),
        ("<a/></a>", "an end tag without its start tag"),
        ("<a/><![CDATA[]]>", "must stand here"),
        ("<a/>&amp;", "text behind"),
    ] {
        let error = both(text).expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
    }
    for text in ["<a/>", "\n<a></a >\n<!-- c --><?p?>", "<?xml version='1.0'?>\n<!DOCTYPE a>\n<a/>"] {
        assert!(both(text).is_ok(), "{text}: {:?}", both(text));
    }
}

#[test]
fn markup_that_xml_does_not_permit_is_an_error_with_its_place() {
    for (text, part) in [
        ("<a>\0</a>", "1:4: U+0000"),
        ("<a>&#0;</a>", "1:4: U+0000"),
        ("<a>\u{ffff}</a>", "1:4: U+FFFF"),
        ("<a>&#xFFFE;</a>", "U+FFFE"),
        ("<a>&#xD800;</a>", "not a character"),
        ("<a>&#x110000;</a>", "not a character"),
        ("<a>&#;</a>", "a reference to a character"),
        ("<a>&amp</a>", "`;` is missing"),
        ("<a> & </a>", "the name of an entity"),
        ("<a>&u;</a>", "1:4: the entity `u` is not declared"),
        ("<a>\n ]]></a>", "2:2: `]]>` in text"),
        ("<a><!-- - -- --></a>", "1:11: `--` within a comment"),
        ("<a><!-- ---></a>", "`--` within a comment"),
        ("<a x='<'/>", "1:7: `<` in the value of an attribute"),
        ("<a x='1' x='2'/>", "1:10: the tag has the attribute `x` twice"),
        ("<a xmlns:p='u' xmlns:q='u' p:x='' q:x=''/>", "`q:x` twice"),
        ("<a xmlns:p='u' xmlns:p='u'/>", "`xmlns:p` twice"),
        ("<a x='1'y='2'/>", "white space"),
        ("<a x=1/>", "must be quoted"),
        ("<a x/>", "`=` is missing"),
        ("<a><?xml version='1.0'?></a>", "XML declaration"),
        ("<a><?XML x?></a>", "must not be `xml`"),
        (" <?xml version='1.0'?><a/>", "very beginning"),
        ("<?xml version='2.0'?><a/>", "version"),
        ("<?xml encoding='UTF-8'?><a/>", "version"),
        ("<a><1/></a>", "the name of an element"),
        ("<p:a/>", "1:2: the prefix `p` is not declared"),
        ("<a p:x=''/>", "the prefix `p` is not declared"),
        ("<a xmlns:p=''/>", "cannot be undeclared"),
        ("<a xmlns:xmlns='u'/>", "`xmlns` must not be declared"),
        ("<a xmlns:xml='u'/>", "the prefix `xml`"),
        ("<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>", "no other prefix"),
        ("<a xmlns='http://www.w3.org/2000/xmlns/'/>", "no other prefix"),
        ("<xmlns:a/>", "prefix `xmlns`"),
        ("<a:b:c xmlns:a='u'/>", "not a name"),
        ("<a:/>", "not a name"),
        ("<a/ >", "`/>` is missing"),
    ] {
        let error = both(text).expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn line_ends_and_values_are_normalized() {
    for (text, expected) in [
        ("<a>1\r\n2\r3\n4&#13;&#10;</a>", "<a|1\n2\n3\n4\r\n>"),
        ("<a x='1\r\n2\t3\n4&#10;&#13;&#9;&lt;'/>", "<a x=1 2 3 4\n\r\t<|>"),
        ("<a>]]&gt;&#x5d;]>]</a>", "<a|]]>]]>]>"),
        ("<a><![CDATA[<]]]]>]&amp;&apos;</a>", "<a|<]]]&'>"),
        ("<a><!-- c --><?p  d ?><b/></a>", "<a|! c !?p d ?<b|>>"),
        ("<!DOCTYPE a [<!ENTITY e 'x&#60;b/>y'><!ENTITY f '&e;&e;'>]><a>&f;</a>", "<a|x<b|>yx<b|>y>"),
        ("<!DOCTYPE a [<!ENTITY e ' &#9;&#38;lt;'>]><a x='&e;'/>", "<a x=  <|>"),
        (
            "<!DOCTYPE a [<!ATTLIST a d CDATA 'v' t NMTOKENS #IMPLIED><!ATTLIST a d CDATA 'w'>]><a t=' 1  2 '/>",
            "<a t=1 2 d=v|>",
        ),
        ("<!DOCTYPE a [<!ENTITY % p \"<!ENTITY e 'v'>\">%p;]><a>&e;</a>", "<a|v>"),
        ("<!DOCTYPE a [<!ENTITY e '1'><!ENTITY e '2'>]><a>&e;</a>", "<a|1>"),
    ] {
        assert_eq!(both(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn entities_are_bounded_whole_and_never_read_from_elsewhere() {
    let doubled: String = (1..40).map(|n| format!("<!ENTITY e{n} '&e{0};&e{0};'>", n - 1)).collect();
    for (subset, content, part) in [
        ("<!ENTITY r '&r;'>".to_owned(), "<a>&r;</a>", "stands for itself"),
        ("<!ENTITY r '&q;'><!ENTITY q '&r;'>".to_owned(), "<a x='&r;'/>", "stands for itself"),
        (format!("<!ENTITY e0 'xx'>{doubled}"), "<a>&e30;</a>", "take too much memory"),
        (format!("<!ENTITY e0 'xx'>{doubled}"), "<a x='&e30;'/>", "take too much memory"),
        (format!("<!ENTITY long '{}'>", "x".repeat(2 << 20)), "<a/>", "more than 1 MiB"),
        ("<!ENTITY x SYSTEM '/etc/passwd'>".to_owned(), "<a>&x;</a>", "in another file"),
        ("<!ENTITY x SYSTEM '/etc/passwd'>".to_owned(), "<a x='&x;'/>", "in another file"),
        ("<!ENTITY x SYSTEM 'x' NDATA n>".to_owned(), "<a>&x;</a>", "not parsed"),
        ("<!ENTITY o '<b>'>".to_owned(), "<a>&o;</b></a>", "without its end tag"),
        ("<!ENTITY o '</a><a>'>".to_owned(), "<a>&o;</a>", "without its start tag"),
        ("<!ENTITY o '<'>".to_owned(), "<a>&o;b/></a>", "ends within"),
        ("<!ENTITY l '&#60;'>".to_owned(), "<a x='&l;'/>", "`<` in the value"),
        ("<!ENTITY % r '%r;'>".to_owned(), "<a/>", "`%` within a declaration"),
        ("<!ENTITY % r '&#37;r;'>%r;".to_owned(), "<a/>", "stands for itself"),
        ("<!ENTITY lt 'x'>".to_owned(), "<a/>", "cannot be declared to be something else"),
    ] {
        let error = read(format!("<!DOCTYPE a [{subset}]>{content}").as_bytes()).expect_err(part);
        assert!(error.contains(part), "{error} ({part})");
    }
    // What follows an entity that is not read may depend on it.
    let ignored = "<!DOCTYPE a [<!ENTITY % x SYSTEM 'x'>%x;<!ENTITY e 'v'>]><a>&e;</a>";
    assert!(both(ignored).expect_err("it is not declared").contains("`e` is not declared"));
    let standalone = format!("<?xml version='1.0' standalone='yes'?>{ignored}");
    assert_eq!(both(&standalone).as_deref(), Ok("<a|v>"));
}

#[test]
fn encodings_are_found_and_others_are_refused() {
    let utf16 = |text: &str, is_big: bool| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(|unit| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let declared = "<?xml version='1.0' encoding='UTF-16'?><a>é\u{1f600}</a>";
    for bytes in [
        "\u{feff}<a>é\u{1f600}</a>".as_bytes().to_vec(),
        utf16("<a>é\u{1f600}</a>", true),
        utf16(declared, false),
        utf16(declared, true)[2..].to_vec(),
        utf16(declared, false)[2..].to_vec(),
        utf16(&declared.replace("UTF-16", "utf-16le"), false)[2..].to_vec(),
        b"<?xml version='1.0' encoding='iso-8859-1'?><a>\xe9&#x1f600;</a>".to_vec(),
        b"<?xml version='1.0' encoding=\"US-ASCII\"?><a>&#xe9;&#x1f600;</a>".to_vec(),
    ] {
        assert_eq!(read(&bytes).as_deref(), Ok("<a|é\u{1f600}>"), "{bytes:x?}");
    }
    for (bytes, part) in [
        (b"<?xml version='1.0' encoding='Shift_JIS'?><a/>".to_vec(), "the encoding Shift_JIS is not supported"),
        (b"<?xml version='1.0' encoding='UTF-16'?><a/>".to_vec(), "is not in it"),
        (b"<\0a\0/\0>\0".to_vec(), "no byte order mark"),
        (utf16("<?xml version='1.0'?><a/>", true)[2..].to_vec(), "no declaration of the encoding"),
        (utf16("<?xml version='1.0' encoding='UTF-8'?><a/>", false)[2..].to_vec(), "no declaration of the encoding"),
        (b"<a>\n\xe9</a>".to_vec(), "2:1: these bytes are no character in UTF-8"),
        (b"<?xml version='1.0' encoding='US-ASCII'?><a>\xe9</a>".to_vec(), "not a character in US-ASCII"),
        (b"<a>\xe2\x82".to_vec(), "1:4: the document ends within a character"),
        (utf16("<?xml version='1.0' encoding='UTF-8'?><a/>", true), "declares the encoding UTF-8"),
        ([&utf16("<a>", false)[..], &[0, 0xd8, b'x', 0]].concat(), "half of a surrogate pair"),
    ] {
        let error = read(&bytes).expect_err(part);
        assert!(error.contains(part), "{error} ({part})");
    }
}

#[test]
fn what_is_open_and_what_is_held_is_bounded() {
    let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    assert!(read(nested(512).as_bytes()).is_ok());
    let error = read(nested(513).as_bytes()).expect_err("it is too deep");
    assert!(error.starts_with(&format!("1:{}: elements are nested deeper than 512", 512 * 3 + 1)), "{error}");
    let comment = format!("<a><!--{}", "x".repeat(HELD_BYTES_MAX + (1 << 20)));
    assert!(read(comment.as_bytes()).expect_err("it is too long").contains("longer than 32 MiB"));
    let text = format!("<a>{}</a>", "x".repeat(1 << 20));
    assert_eq!(read(text.as_bytes()).expect("text is not held").len(), (1 << 20) + 4);
}
