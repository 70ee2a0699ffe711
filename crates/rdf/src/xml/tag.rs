//! Start tags: their attributes, with what the document type declares of them.

use std::collections::{HashMap, HashSet};

use super::characters::local_begin;
use super::cursor::{Cursor, Match, Stop};
use super::entities::Expansion;
use super::error::Problem;
use super::namespaces::{Name, Namespaces};

/// A start tag. Its memory is used again by the next one.
pub struct Tag {
    name: Name,
    attributes: Vec<Attribute>,
    /// How many of them are of this tag.
    count: usize,
    pub is_empty_element: bool,
}

/// An attribute of a tag.
#[derive(Clone, Debug)]
pub struct Attribute {
    name: Name,
    value: String,
    /// Its place in the tag.
    offset: usize,
}

impl Attribute {
    pub fn name(&self) -> &Name {
        &self.name
    }

    pub fn value(&self) -> &str {
        &self.value
    }

    /// The prefix that it declares.
    fn declared_prefix(&self) -> Option<&str> {
        match self.name.qualified.strip_prefix("xmlns")? {
            "" => Some(""),
            rest => rest.strip_prefix(':'),
        }
    }
}

/// What is declared of the attributes of an element.
#[derive(Debug, Default)]
pub struct DeclaredAttributes {
    /// Of those that are not `CDATA`.
    tokenized: HashSet<String>,
    defaults: Vec<(String, String)>,
    known: HashSet<String>,
}

impl DeclaredAttributes {
    /// Of several declarations the first is binding. Returns whether this is it.
    pub fn declare(&mut self, name: &str, is_tokenized: bool, default: Option<String>) -> bool {
        let is_first = self.known.insert(name.to_owned());
        if is_first {
            if is_tokenized {
                self.tokenized.insert(name.to_owned());
            }
            let default = default.map(|value| if is_tokenized { collapsed(&value) } else { value });
            self.defaults.extend(default.map(|value| (name.to_owned(), value)));
        }
        is_first
    }
}

impl Tag {
    pub fn new(namespaces: &Namespaces) -> Self {
        let name = Name::new(String::new(), 0, namespaces.none());
        Self { name, attributes: Vec::new(), count: 0, is_empty_element: false }
    }

    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The attributes that declare no prefix.
    pub fn attributes(&self) -> impl Iterator<Item = &Attribute> {
        self.attributes[..self.count].iter().filter(|attribute| attribute.declared_prefix().is_none())
    }

    fn push(&mut self, name: &str, offset: usize) -> Result<&mut Attribute, Problem> {
        let local = local_begin(name).ok_or_else(|| no_name(name, offset))?;
        if self.count == self.attributes.len() {
            let name = Name::new(String::new(), 0, self.name.namespace.clone());
            self.attributes.push(Attribute { name, value: String::new(), offset });
        }
        let attribute = &mut self.attributes[self.count];
        self.count += 1;
        attribute.name.set(name, local);
        attribute.value.clear();
        attribute.offset = offset;
        Ok(attribute)
    }

    /// Takes a start tag. Returns its length.
    pub fn take(&mut self, text: &str, expansion: &mut Expansion<'_>) -> Match<usize> {
        let mut cursor = Cursor::new(text);
        self.count = 0;
        cursor.advance(1);
        let name = cursor.name("the name of an element, or `&lt;` for `<` itself,")?;
        let local = local_begin(name).ok_or_else(|| Stop::Problem(no_name(name, 1)))?;
        self.name.set(name, local);
        loop {
            let has_space = cursor.spaces();
            match cursor.peek()? {
                b'>' => {
                    cursor.advance(1);
                    self.is_empty_element = false;
                    return Ok(cursor.at());
                }
                b'/' => {
                    cursor.expect("/>", "a tag")?;
                    self.is_empty_element = true;
                    return Ok(cursor.at());
                }
                _ if !has_space => return Err(cursor.problem("white space or `>` must stand here in a tag")),
                _ => self.take_attribute(&mut cursor, expansion)?,
            }
        }
    }

    fn take_attribute(&mut self, cursor: &mut Cursor<'_>, expansion: &mut Expansion<'_>) -> Match<()> {
        let offset = cursor.at();
        let name = cursor.name("an attribute, or `>`,")?;
        cursor.spaces();
        cursor.peek()?;
        cursor.expect("=", "an attribute")?;
        cursor.spaces();
        let quote = cursor.peek()?;
        if !matches!(quote, b'"' | b'\'') {
            return Err(cursor.problem("the value of an attribute must be quoted"));
        }
        cursor.advance(1);
        let (begin, inner) = (cursor.at(), cursor.rest());
        let Some(length) = memchr::memchr2(quote, b'<', inner.as_bytes()) else { return Err(Stop::More) };
        if inner.as_bytes()[length] == b'<' {
            cursor.advance(length);
            return Err(cursor.problem("`<` in the value of an attribute; write `&lt;`"));
        }
        cursor.advance(length + 1);
        let attribute = self.push(name, offset).map_err(Stop::Problem)?;
        expansion.normalize(&inner[..length], begin, &mut attribute.value).map_err(Stop::Problem)
    }

    /// Applies what the document type declares: types other than `CDATA` have their spaces normalized, and defaults are
    /// added.
    pub fn complete(
        &mut self,
        declared: &HashMap<String, DeclaredAttributes>,
        expansion: &mut Expansion<'_>,
    ) -> Result<(), Problem> {
        let Some(declared) = declared.get(&self.name.qualified) else { return Ok(()) };
        for attribute in &mut self.attributes[..self.count] {
            if declared.tokenized.contains(&attribute.name.qualified) {
                attribute.value = collapsed(&attribute.value);
            }
        }
        let present: HashSet<String> =
            self.attributes[..self.count].iter().map(|attribute| attribute.name.qualified.clone()).collect();
        for (name, value) in &declared.defaults {
            if !present.contains(name) {
                expansion.budget.expand(name.len() + value.len() + 1, 0)?;
                self.push(name, 0)?.value.push_str(value);
            }
        }
        Ok(())
    }

    /// Declares the prefixes of the tag, whose element is the `depth`-th that is open, and resolves its names.
    pub fn resolve(&mut self, namespaces: &mut Namespaces, depth: usize) -> Result<(), Problem> {
        let attributes = &mut self.attributes[..self.count];
        for attribute in attributes.iter() {
            if let Some(prefix) = attribute.declared_prefix() {
                namespaces
                    .declare(depth, prefix, &attribute.value)
                    .map_err(|message| Problem::new(attribute.offset, message))?;
            }
        }
        self.name.namespace = match self.name.prefix() {
            "xmlns" => return Err(Problem::new(1, "the prefix `xmlns` is for declarations of prefixes")),
            prefix => namespaces.of(prefix).cloned().ok_or_else(|| undeclared(prefix, 1))?,
        };
        for attribute in attributes.iter_mut() {
            attribute.name.namespace = match (attribute.declared_prefix(), attribute.name.prefix()) {
                (Some(_), _) | (_, "") => namespaces.none(),
                (None, prefix) => namespaces.of(prefix).cloned().ok_or_else(|| undeclared(prefix, attribute.offset))?,
            };
        }
        check_unique(attributes)
    }
}

/// The constraints "unique att spec" and "attributes unique".
fn check_unique(attributes: &[Attribute]) -> Result<(), Problem> {
    // Those that declare prefixes are in a namespace that no other attribute can be in.
    let is_declaration = |attribute: &Attribute| attribute.declared_prefix().is_some();
    let is_same = |one: &Attribute, other: &Attribute| {
        one.name.local() == other.name.local()
            && is_declaration(one) == is_declaration(other)
            && one.name.namespace == other.name.namespace
    };
    let twice = |attribute: &Attribute| {
        let name = &attribute.name.qualified;
        Problem::new(attribute.offset, format!("the tag has the attribute `{name}` twice, by this name or another"))
    };
    if attributes.len() <= COMPARED_MAX {
        for (index, attribute) in attributes.iter().enumerate() {
            if attributes[..index].iter().any(|before| is_same(before, attribute)) {
                return Err(twice(attribute));
            }
        }
        return Ok(());
    }
    // Attributes that look the same; as good as always none or one.
    let mut seen: HashMap<_, Vec<&Attribute>> = HashMap::with_capacity(attributes.len());
    for attribute in attributes {
        let key = (is_declaration(attribute), attribute.name.namespace.hash(), attribute.name.local());
        let alike = seen.entry(key).or_default();
        if alike.iter().any(|before| is_same(before, attribute)) {
            return Err(twice(attribute));
        }
        alike.push(attribute);
    }
    Ok(())
}

fn no_name(name: &str, offset: usize) -> Problem {
    Problem::new(offset, format!("`{name}` is not a name in XML with namespaces: one colon, with a name on both sides"))
}

fn undeclared(prefix: &str, offset: usize) -> Problem {
    Problem::new(offset, format!("the prefix `{prefix}` is not declared; declare it by xmlns:{prefix}=\"…\""))
}

/// A value without spaces at its ends, and with one between its tokens.
fn collapsed(value: &str) -> String {
    value.split(' ').filter(|token| !token.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Attributes that are compared with each other; of more, a table is made.
const COMPARED_MAX: usize = 16;
