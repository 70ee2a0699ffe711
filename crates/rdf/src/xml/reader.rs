//! The document: prolog, content and what follows it, event by event.
//!
//! (1) Markup begins and ends in the same entity (XML 1.0, 4.3.2). (2) Text is returned in pieces of bounded length, of
//! which several may follow each other. (3) Behind an error nothing is read.

use std::io::Read;

use super::cursor::{Cursor, Match, Stop};
use super::doctype::{self, Declared, Part};
use super::entities::{Budget, ENTITIES_WITHIN_MAX, Expansion, Reference, recursion};
use super::error::{Place, Problem, Result};
use super::input::Input;
use super::limits::DEPTH_MAX;
use super::namespaces::Namespaces;
use super::tag::Tag;

/// What was read. Comments and instructions outside of the root element are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// See [`XmlReader::tag`]. The end of an empty element follows as [`Event::End`].
    Start,
    /// See [`XmlReader::closed`].
    End,
    /// See [`XmlReader::text`]. It is not empty.
    Text,
    /// See [`XmlReader::text`].
    Comment,
    /// See [`XmlReader::target`] and [`XmlReader::text`].
    Instruction,
    /// The document is whole.
    EndOfDocument,
}

/// Reads a document.
pub struct XmlReader<R> {
    current: Input<R>,
    /// What entities are within, outermost first.
    outer: Vec<Input<R>>,
    stage: Stage,
    tag: Tag,
    /// The bytes of the tag, while it is the last event.
    tag_bytes: usize,
    text: String,
    target: String,
    /// The names of open elements, one behind the other, and where each begins.
    open_names: String,
    open: Vec<usize>,
    closed: String,
    is_empty_element_open: bool,
    is_within_cdata: bool,
    is_standalone: bool,
    has_doctype: bool,
    namespaces: Namespaces,
    declared: Declared,
    budget: Budget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begin,
    Prolog,
    Content,
    Epilog,
    Ended,
}

impl<R: Read> XmlReader<R> {
    pub fn new(source: R) -> Self {
        let namespaces = Namespaces::new();
        Self {
            current: Input::of_document(source),
            outer: Vec::new(),
            stage: Stage::Begin,
            tag: Tag::new(&namespaces),
            tag_bytes: 0,
            text: String::new(),
            target: String::new(),
            open_names: String::new(),
            open: Vec::new(),
            closed: String::new(),
            is_empty_element_open: false,
            is_within_cdata: false,
            is_standalone: false,
            has_doctype: false,
            namespaces,
            declared: Declared::default(),
            budget: Budget::default(),
        }
    }

    /// The start tag that was the last event.
    pub fn tag(&self) -> &Tag {
        &self.tag
    }

    /// The name, as it was written, of the element that the last event ended.
    pub fn closed(&self) -> &str {
        &self.closed
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn target(&self) -> &str {
        &self.target
    }

    pub fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    /// Where the last event begins if it is a start tag; else where it ends.
    pub fn place(&self) -> Place {
        self.current.place_before(self.tag_bytes)
    }

    /// Reads on.
    ///
    /// # Errors
    /// If the document is not well-formed, cannot be read, or is too large in some respect.
    pub fn next(&mut self) -> Result<Event> {
        self.tag_bytes = 0;
        if self.is_empty_element_open {
            self.is_empty_element_open = false;
            self.close();
            return Ok(Event::End);
        }
        if self.stage == Stage::Begin {
            self.take_xml_declaration()?;
            self.stage = Stage::Prolog;
        }
        match self.stage {
            Stage::Ended => Ok(Event::EndOfDocument),
            Stage::Content => self.next_inside(),
            _ => self.next_outside(),
        }
    }

    /// Reads more if that is what is missing.
    fn go_on(&mut self, stop: Stop, within: &str) -> Result<()> {
        match stop {
            Stop::Problem(problem) => {
                let place = self.current.place(problem.offset);
                Err(problem.at(place))
            }
            Stop::More if self.fill()? => Ok(()),
            Stop::More => self.fail(self.current.rest().len(), format!("{} ends within {within}", self.whole())),
        }
    }

    fn fill(&mut self) -> Result<bool> {
        let is_more = self.current.fill()?;
        if let Some(decoder) = self.current.decoder() {
            self.budget.read_bytes = decoder.bytes_read();
        }
        Ok(is_more)
    }

    fn fail<T>(&self, offset: usize, message: impl Into<String>) -> Result<T> {
        let problem = Problem::new(offset, message);
        Err(problem.at(self.current.place(offset)))
    }

    fn raise<T>(&self, matched: Result<T, Problem>) -> Result<T> {
        matched.map_err(|problem| {
            let place = self.current.place(problem.offset);
            problem.at(place)
        })
    }

    /// What is being read, for messages.
    fn whole(&self) -> String {
        match self.current.entity() {
            None => "the document".to_owned(),
            Some(name) => format!("the entity `{name}`"),
        }
    }

    /// Matches something of the current input, however much of it must be read, and passes over it.
    fn matched<T>(&mut self, within: &str, mut take: impl FnMut(&mut Cursor<'_>) -> Match<T>) -> Result<T> {
        loop {
            let mut cursor = Cursor::new(self.current.rest());
            match take(&mut cursor) {
                Ok(taken) => {
                    let length = cursor.at();
                    self.current.advance(length);
                    return Ok(taken);
                }
                Err(stop) => self.go_on(stop, within)?,
            }
        }
    }

    /// The byte behind the `<` of the markup that comes next. Passes over neither.
    fn second_byte(&mut self) -> Result<u8> {
        self.matched("markup", |cursor| {
            let mut ahead = *cursor;
            ahead.advance(1);
            ahead.peek()
        })
    }

    fn take_xml_declaration(&mut self) -> Result<()> {
        while self.current.rest().len() < XML_DECLARATION.len() + 1 && self.fill()? {}
        let behind = self.current.rest().strip_prefix(XML_DECLARATION);
        if !behind.is_some_and(|rest| rest.starts_with([' ', '\t', '\n'])) {
            return Ok(());
        }
        let (encoding, is_standalone) = self.matched("the XML declaration", |cursor| {
            cursor.advance(XML_DECLARATION.len());
            let version = take_pseudo_attribute(cursor, "version")?;
            let is_version = |version: &str| {
                version
                    .strip_prefix("1.")
                    .is_some_and(|minor| !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit()))
            };
            if !version.is_some_and(is_version) {
                return Err(cursor.problem("the XML declaration begins with version=\"1.0\""));
            }
            let encoding = take_pseudo_attribute(cursor, "encoding")?;
            let is_encoding = |name: &str| {
                name.starts_with(|first: char| first.is_ascii_alphabetic())
                    && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            };
            if encoding.is_some_and(|name| !is_encoding(name)) {
                return Err(cursor.problem("the encoding in the XML declaration is not a name of one"));
            }
            let standalone = take_pseudo_attribute(cursor, "standalone")?;
            if !matches!(standalone, None | Some("yes" | "no")) {
                return Err(cursor.problem("standalone is \"yes\" or \"no\""));
            }
            cursor.spaces();
            cursor.peek()?;
            cursor.expect("?>", "the XML declaration")?;
            Ok((encoding.map(str::to_owned), standalone == Some("yes")))
        })?;
        self.is_standalone = is_standalone;
        let decoder = self.current.decoder();
        match (encoding, decoder) {
            (Some(declared), Some(decoder)) if !decoder.agrees_with(&declared) => {
                self.fail(0, format!("the document declares the encoding {declared}, and is not in it"))
            }
            _ => Ok(()),
        }
    }

    /// Before and behind the root element.
    fn next_outside(&mut self) -> Result<Event> {
        loop {
            self.skip_spaces()?;
            let rest = self.current.rest();
            if rest.is_empty() {
                if self.stage == Stage::Prolog {
                    return self.fail(0, "the document has no element: it is empty, or was cut off");
                }
                self.stage = Stage::Ended;
                return Ok(Event::EndOfDocument);
            }
            if !rest.starts_with('<') {
                let place = if self.stage == Stage::Prolog { "before" } else { "behind" };
                return self.fail(0, format!("text {place} the root element"));
            }
            match self.second_byte()? {
                b'?' => self.take_instruction()?,
                b'!' if self.is_next("<!--")? => self.take_comment()?,
                b'!' => self.take_doctype()?,
                b'/' => return self.fail(0, "an end tag without its start tag"),
                _ if self.stage == Stage::Epilog => return self.fail(0, "a second root element"),
                _ => {
                    self.stage = Stage::Content;
                    return self.take_start();
                }
            }
        }
    }

    fn skip_spaces(&mut self) -> Result<()> {
        loop {
            let rest = self.current.rest();
            let begin = rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            let (count, is_end) = (rest.len() - begin, begin == 0);
            self.current.advance(count);
            if !is_end || !self.fill()? {
                return Ok(());
            }
        }
    }

    /// Whether the rest begins so. Nothing is passed over.
    fn is_next(&mut self, expected: &str) -> Result<bool> {
        while self.current.rest().len() < expected.len() && expected.starts_with(self.current.rest()) {
            if !self.fill()? {
                return Ok(false);
            }
        }
        Ok(self.current.rest().starts_with(expected))
    }

    fn take_doctype(&mut self) -> Result<()> {
        if self.stage == Stage::Epilog || !self.is_next("<!DOCTYPE")? {
            return self.fail(0, "a comment, an instruction or the root element must stand here");
        }
        if self.has_doctype {
            return self.fail(0, "a second document type declaration");
        }
        self.has_doctype = true;
        let has_subset = self.matched("the document type declaration", |cursor| {
            let (length, has_subset) = doctype::take_head(cursor.rest())?;
            cursor.advance(length);
            Ok(has_subset)
        })?;
        if !has_subset {
            return Ok(());
        }
        while self.take_part_of_subset()? {}
        self.skip_spaces()?;
        self.matched("the document type declaration", |cursor| {
            cursor.peek()?;
            cursor.expect(">", "the document type declaration")
        })
    }

    /// Returns whether the subset goes on.
    fn take_part_of_subset(&mut self) -> Result<bool> {
        self.skip_spaces()?;
        if self.current.rest().is_empty() {
            return match self.outer.pop() {
                Some(outer) => {
                    self.current = outer;
                    Ok(true)
                }
                None => self.fail(0, "the document ends within the document type declaration"),
            };
        }
        loop {
            let before = self.budget;
            let stop = match self.declared.take_part(self.current.rest(), &mut self.budget) {
                Err(stop) => stop,
                Ok((_, Part::End)) if !self.outer.is_empty() => {
                    return self.fail(0, format!("{} ends the document type declaration", self.whole()));
                }
                Ok((length, Part::End)) => {
                    self.current.advance(length);
                    return Ok(false);
                }
                Ok((length, Part::Declaration)) => {
                    self.current.advance(length);
                    return Ok(true);
                }
                Ok((length, Part::Parameter(name))) => {
                    let name = name.to_owned();
                    self.begin_parameter(&name, length)?;
                    return Ok(true);
                }
            };
            if matches!(stop, Stop::More) {
                self.budget = before;
            }
            self.go_on(stop, "a declaration of the document type")?;
        }
    }

    fn begin_parameter(&mut self, name: &str, length: usize) -> Result<()> {
        let declared = self.declared.parameter(name).map(|text| text.map(str::to_owned));
        let text = self.raise(declared.map_err(|message| Problem::new(0, message)))?;
        let Some(text) = text else {
            self.current.advance(length);
            self.declared.is_ignoring |= !self.is_standalone;
            return Ok(());
        };
        self.begin_entity(name, &text, length)
    }

    /// An entity takes the place of a reference.
    fn begin_entity(&mut self, name: &str, text: &str, length: usize) -> Result<()> {
        let is_open = |input: &Input<R>| input.entity() == Some(name);
        if is_open(&self.current) || self.outer.iter().any(is_open) || self.outer.len() >= ENTITIES_WITHIN_MAX {
            return self.raise(Err(recursion(name, 0)));
        }
        let expanded = self.budget.expand(text.len() + 1, 0);
        self.raise(expanded)?;
        let place = self.current.place(0);
        self.current.advance(length);
        let entity = Input::of_entity(name, text, place, self.open.len());
        self.outer.push(std::mem::replace(&mut self.current, entity));
        Ok(())
    }

    /// Within the root element.
    fn next_inside(&mut self) -> Result<Event> {
        self.text.clear();
        loop {
            if self.is_within_cdata {
                self.take_cdata()?;
            } else {
                let rest = self.current.rest();
                let found = memchr::memchr3(b'<', b'&', b']', rest.as_bytes());
                let length = found.unwrap_or(rest.len());
                self.text.push_str(&rest[..length]);
                let sign = rest.as_bytes().get(length).copied();
                self.current.advance(length);
                match sign {
                    None => self.go_on_behind_text()?,
                    Some(b'&') => self.take_reference()?,
                    Some(b']') if self.is_next("]]>")? => {
                        return self.fail(0, "`]]>` in text; write `]]&gt;`");
                    }
                    Some(b']') => {
                        self.text.push(']');
                        self.current.advance(1);
                    }
                    Some(_) if self.is_next(CDATA)? => {
                        self.current.advance(CDATA.len());
                        self.is_within_cdata = true;
                    }
                    Some(_) if self.text.is_empty() => return self.take_markup(),
                    Some(_) => return Ok(Event::Text),
                }
            }
            if self.text.len() >= TEXT_BYTES {
                return Ok(Event::Text);
            }
        }
    }

    fn go_on_behind_text(&mut self) -> Result<()> {
        if self.fill()? {
            return Ok(());
        }
        let depth = self.current.depth;
        match self.outer.pop() {
            Some(outer) if depth == self.open.len() => {
                self.current = outer;
                Ok(())
            }
            Some(_) => self.fail(0, format!("{} has a start tag without its end tag", self.whole())),
            None => {
                let name = self.open_name().to_owned();
                self.fail(0, format!("the document ends within the element `{name}`"))
            }
        }
    }

    fn take_cdata(&mut self) -> Result<()> {
        const END: &str = "]]>";
        let rest = self.current.rest();
        if let Some(length) = memchr::memmem::find(rest.as_bytes(), END.as_bytes()) {
            self.text.push_str(&rest[..length]);
            self.current.advance(length + END.len());
            self.is_within_cdata = false;
            return Ok(());
        }
        let length = rest.trim_end_matches(']').len().max(rest.len().saturating_sub(END.len() - 1));
        self.text.push_str(&rest[..length]);
        self.current.advance(length);
        self.go_on(Stop::More, "a CDATA section")
    }

    fn take_reference(&mut self) -> Result<()> {
        loop {
            let mut cursor = Cursor::new(self.current.rest());
            match Reference::take(&mut cursor) {
                Ok(Reference::Character(character)) => {
                    let length = cursor.at();
                    self.text.push(character);
                    self.current.advance(length);
                    return Ok(());
                }
                Ok(Reference::Entity(name)) => {
                    let (name, length) = (name.to_owned(), cursor.at());
                    let text = self.declared.entities.text(&name).map_err(|message| Problem::new(0, message));
                    let text = self.raise(text)?;
                    return self.begin_entity(&name, &text, length);
                }
                Err(stop) => self.go_on(stop, "a reference")?,
            }
        }
    }

    fn take_markup(&mut self) -> Result<Event> {
        match self.second_byte()? {
            b'/' => self.take_end(),
            b'?' => self.take_instruction().map(|()| Event::Instruction),
            b'!' if self.is_next("<!--")? => self.take_comment().map(|()| Event::Comment),
            b'!' => self.fail(0, "a comment or CDATA section must stand here"),
            _ => self.take_start(),
        }
    }

    fn take_start(&mut self) -> Result<Event> {
        let length = loop {
            let before = self.budget;
            let mut expansion = Expansion { entities: &self.declared.entities, budget: &mut self.budget };
            match self.tag.take(self.current.rest(), &mut expansion) {
                Ok(length) => break length,
                Err(stop) => {
                    if matches!(stop, Stop::More) {
                        self.budget = before;
                    }
                    self.go_on(stop, "a tag")?;
                }
            }
        };
        if self.open.len() >= DEPTH_MAX {
            let message = format!(
                "elements are nested deeper than {DEPTH_MAX}; name the inner nodes, and write them beside the outer ones"
            );
            return self.raise(Err(Problem::too_large(0, message)));
        }
        if !self.declared.attributes.is_empty() {
            let mut expansion = Expansion { entities: &self.declared.entities, budget: &mut self.budget };
            let completed = self.tag.complete(&self.declared.attributes, &mut expansion);
            self.raise(completed)?;
        }
        let resolved = self.tag.resolve(&mut self.namespaces, self.open.len() + 1);
        self.raise(resolved)?;
        self.open.push(self.open_names.len());
        self.open_names.push_str(&self.tag.name().qualified);
        self.is_empty_element_open = self.tag.is_empty_element;
        self.current.advance(length);
        self.tag_bytes = length;
        Ok(Event::Start)
    }

    fn take_end(&mut self) -> Result<Event> {
        loop {
            let mut cursor = Cursor::new(self.current.rest());
            match take_end_tag(&mut cursor) {
                Ok(name) if self.open.len() <= self.current.depth => {
                    let message = format!("{} has the end tag `{name}` without its start tag", self.whole());
                    return self.fail(0, message);
                }
                Ok(name) if name != self.open_name() => {
                    let message = format!("the end tag `{name}` of the element `{}`", self.open_name());
                    return self.fail(0, message);
                }
                Ok(_) => {
                    let length = cursor.at();
                    self.current.advance(length);
                    self.close();
                    return Ok(Event::End);
                }
                Err(stop) => self.go_on(stop, "a tag")?,
            }
        }
    }

    fn open_name(&self) -> &str {
        self.open.last().map_or("", |&begin| &self.open_names[begin..])
    }

    /// The innermost element ends.
    fn close(&mut self) {
        let Some(begin) = self.open.pop() else { return };
        self.closed.clear();
        self.closed.push_str(&self.open_names[begin..]);
        self.open_names.truncate(begin);
        self.namespaces.end(self.open.len() + 1);
        if self.open.is_empty() {
            self.stage = Stage::Epilog;
        }
    }

    fn take_comment(&mut self) -> Result<()> {
        let text = self.matched("a comment", |cursor| {
            cursor.expect("<!--", "a comment")?;
            doctype::take_comment(cursor).map(str::to_owned)
        })?;
        self.text = text;
        Ok(())
    }

    fn take_instruction(&mut self) -> Result<()> {
        let (target, text) = self.matched("an instruction", |cursor| {
            cursor.expect("<?", "an instruction")?;
            doctype::take_instruction(cursor).map(|(target, text)| (target.to_owned(), text.to_owned()))
        })?;
        (self.target, self.text) = (target, text);
        Ok(())
    }
}

fn take_end_tag<'t>(cursor: &mut Cursor<'t>) -> Match<&'t str> {
    cursor.expect("</", "an end tag")?;
    let name = cursor.name("the name of an element")?;
    cursor.spaces();
    cursor.peek()?;
    cursor.expect(">", "an end tag")?;
    Ok(name)
}

/// `version`, `encoding` or `standalone` with its value, if it is next.
fn take_pseudo_attribute<'t>(cursor: &mut Cursor<'t>, name: &str) -> Match<Option<&'t str>> {
    let begin = *cursor;
    let has_space = cursor.spaces();
    cursor.peek()?;
    if !cursor.take(name)? {
        *cursor = begin;
        return Ok(None);
    }
    if !has_space {
        return Err(begin.problem(format!("white space must stand before {name}")));
    }
    cursor.spaces();
    cursor.peek()?;
    cursor.expect("=", "the XML declaration")?;
    cursor.spaces();
    match cursor.quoted()? {
        Some(value) => Ok(Some(value)),
        None => Err(cursor.problem(format!("the value of {name} must be quoted"))),
    }
}

const XML_DECLARATION: &str = "<?xml";
const CDATA: &str = "<![CDATA[";
/// Longer text is returned in pieces.
const TEXT_BYTES: usize = 64 << 10;
