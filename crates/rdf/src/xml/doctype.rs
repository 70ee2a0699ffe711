//! The document type declaration (XML 1.0, 2.8, 3.2, 3.3 and 4.2): the syntax of the whole internal subset, and what a
//! reader that does not validate must take from it, which is entities and the types and defaults of attributes.

use std::collections::HashMap;

use super::characters::is_of_public_identifier;
use super::cursor::{Cursor, Match, Stop};
use super::entities::{Budget, Entities, Entity, Expansion, Reference};
use super::error::Problem;
use super::limits::ENTITY_BYTES_MAX;
use super::tag::DeclaredAttributes;

/// What a document type declares.
#[derive(Debug, Default)]
pub struct Declared {
    pub entities: Entities,
    parameters: HashMap<String, Entity>,
    /// By the names of elements.
    pub attributes: HashMap<String, DeclaredAttributes>,
    /// Behind a parameter entity that is not read, what is declared is not taken (XML 1.0, 5.1).
    pub is_ignoring: bool,
}

/// What follows a part of the subset.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'t> {
    Declaration,
    /// A reference to a parameter entity.
    Parameter(&'t str),
    /// The `]`.
    End,
}

/// Takes the head, `<!DOCTYPE` and all before the subset. Returns its length, and whether there is a subset.
pub fn take_head(text: &str) -> Match<(usize, bool)> {
    let mut cursor = Cursor::new(text);
    cursor.expect("<!DOCTYPE", "the document type declaration")?;
    cursor.spaces_before("the name of the document type")?;
    cursor.name("the name of the document type")?;
    let has_space = cursor.spaces();
    if !matches!(cursor.peek()?, b'[' | b'>') {
        if !has_space {
            return Err(cursor.problem("white space must stand behind the name of the document type"));
        }
        take_external(&mut cursor, false)?;
        cursor.spaces();
    }
    if cursor.take("[")? {
        return Ok((cursor.at(), true));
    }
    cursor.expect(">", "the document type declaration")?;
    Ok((cursor.at(), false))
}

impl Declared {
    /// Takes the next part of the subset, behind white space. Returns its length.
    pub fn take_part<'t>(&mut self, text: &'t str, budget: &mut Budget) -> Match<(usize, Part<'t>)> {
        let mut cursor = Cursor::new(text);
        let part = match cursor.peek()? {
            b']' => {
                cursor.advance(1);
                Part::End
            }
            b'%' => {
                cursor.advance(1);
                let name = cursor.plain_name("the name of a parameter entity")?;
                cursor.expect(";", "a reference to a parameter entity")?;
                Part::Parameter(name)
            }
            _ => {
                self.take_declaration(&mut cursor, budget)?;
                Part::Declaration
            }
        };
        Ok((cursor.at(), part))
    }

    /// The replacement text of a parameter entity; none if it is in another file.
    ///
    /// # Errors
    /// If it is not declared.
    pub fn parameter(&self, name: &str) -> Result<Option<&str>, String> {
        match self.parameters.get(name) {
            Some(Entity::Internal(text)) => Ok(Some(text)),
            Some(_) => Ok(None),
            None if self.is_ignoring => Ok(None),
            None => Err(format!("the parameter entity `{name}` is not declared")),
        }
    }

    fn take_declaration(&mut self, cursor: &mut Cursor<'_>, budget: &mut Budget) -> Match<()> {
        if cursor.take("<!--")? {
            return take_comment(cursor).map(drop);
        }
        if cursor.take("<?")? {
            return take_instruction(cursor).map(drop);
        }
        if cursor.take("<!ELEMENT")? {
            cursor.spaces_before("the name of an element")?;
            cursor.name("the name of an element")?;
            cursor.spaces_before("what an element contains")?;
            take_content_model(cursor)?;
            cursor.spaces();
        } else if cursor.take("<!ATTLIST")? {
            self.take_attributes(cursor, budget)?;
        } else if cursor.take("<!ENTITY")? {
            self.take_entity(cursor, budget)?;
        } else if cursor.take("<!NOTATION")? {
            cursor.spaces_before("the name of a notation")?;
            cursor.plain_name("the name of a notation")?;
            cursor.spaces_before("the identifier of a notation")?;
            take_external(cursor, true)?;
            cursor.spaces();
        } else {
            return Err(cursor.problem("a declaration of the document type must stand here, or `]`"));
        }
        cursor.peek()?;
        cursor.expect(">", "a declaration of the document type")
    }

    fn take_entity(&mut self, cursor: &mut Cursor<'_>, budget: &mut Budget) -> Match<()> {
        let begin = cursor.at();
        cursor.spaces_before("the name of an entity")?;
        let is_parameter = cursor.take("%")?;
        if is_parameter {
            cursor.spaces_before("the name of an entity")?;
        }
        let name = cursor.plain_name("the name of an entity")?;
        cursor.spaces_before("the value of an entity")?;
        let before = *cursor;
        let entity = match cursor.quoted()? {
            Some(value) => {
                let text = replacement(value, before.at() + 1).map_err(Stop::Problem)?;
                budget.declare(text.len() + name.len(), begin).map_err(Stop::Problem)?;
                Entity::Internal(text.into())
            }
            None => {
                take_external(cursor, false)?;
                let has_space = cursor.spaces();
                match !is_parameter && cursor.peek()? == b'N' {
                    false => Entity::External,
                    true if !has_space => return Err(cursor.problem("white space must stand before `NDATA`")),
                    true => {
                        cursor.expect("NDATA", "the declaration of an entity")?;
                        cursor.spaces_before("the name of a notation")?;
                        cursor.plain_name("the name of a notation")?;
                        Entity::Unparsed
                    }
                }
            }
        };
        cursor.spaces();
        if self.is_ignoring {
            return Ok(());
        }
        if is_parameter {
            self.parameters.entry(name.to_owned()).or_insert(entity);
        } else {
            check_predefined(name, &entity).map_err(|message| before.problem(message))?;
            self.entities.declare(name, entity);
        }
        Ok(())
    }

    fn take_attributes(&mut self, cursor: &mut Cursor<'_>, budget: &mut Budget) -> Match<()> {
        cursor.spaces_before("the name of an element")?;
        let element = cursor.name("the name of an element")?;
        loop {
            let has_space = cursor.spaces();
            if cursor.peek()? == b'>' {
                return Ok(());
            }
            if !has_space {
                return Err(cursor.problem("white space must stand before the name of an attribute"));
            }
            let begin = cursor.at();
            let name = cursor.name("the name of an attribute")?;
            cursor.spaces_before("the type of an attribute")?;
            let is_tokenized = take_attribute_type(cursor)?;
            cursor.spaces_before("the default of an attribute")?;
            let default = self.take_default(cursor, budget)?;
            if self.is_ignoring {
                continue;
            }
            let bytes = element.len() + 3 * name.len() + default.as_ref().map_or(0, String::len);
            budget.declare(bytes, begin).map_err(Stop::Problem)?;
            self.attributes.entry(element.to_owned()).or_default().declare(name, is_tokenized, default);
        }
    }

    fn take_default(&self, cursor: &mut Cursor<'_>, budget: &mut Budget) -> Match<Option<String>> {
        if cursor.take("#REQUIRED")? || cursor.take("#IMPLIED")? {
            return Ok(None);
        }
        if cursor.take("#FIXED")? {
            cursor.spaces_before("the default of an attribute")?;
        }
        let begin = cursor.at();
        let Some(value) = cursor.quoted()? else {
            return Err(cursor.problem("the default of an attribute must be quoted"));
        };
        let mut out = String::new();
        let mut expansion = Expansion { entities: &self.entities, budget };
        expansion.normalize(value, begin + 1, &mut out).map_err(Stop::Problem)?;
        Ok(Some(out))
    }
}

/// A comment, behind its `<!--`. Returns what it says.
pub fn take_comment<'t>(cursor: &mut Cursor<'t>) -> Match<&'t str> {
    let begin = *cursor;
    let text = cursor.until("--")?;
    match cursor.peek()? {
        b'>' => {
            cursor.advance(1);
            Ok(text)
        }
        _ => {
            let mut at = begin;
            at.advance(text.len());
            Err(at.problem("`--` within a comment"))
        }
    }
}

/// A processing instruction, behind its `<?`. Returns its target, and what follows that.
pub fn take_instruction<'t>(cursor: &mut Cursor<'t>) -> Match<(&'t str, &'t str)> {
    let begin = *cursor;
    let target = cursor.plain_name("the target of an instruction")?;
    if target.eq_ignore_ascii_case("xml") {
        let message = match target {
            "xml" => "an XML declaration stands at the very beginning of a document, and nowhere else",
            _ => "the target of an instruction must not be `xml`",
        };
        return Err(begin.problem(message));
    }
    let has_space = cursor.spaces();
    if cursor.take("?>")? {
        return Ok((target, ""));
    }
    match has_space {
        true => Ok((target, cursor.until("?>")?)),
        false => Err(cursor.problem("white space or `?>` must stand behind the target of an instruction")),
    }
}

/// `ExternalID`, or `PublicID` too if it is of a notation. What it names is not read.
fn take_external(cursor: &mut Cursor<'_>, is_of_notation: bool) -> Match<()> {
    let is_public = cursor.take("PUBLIC")?;
    if !is_public && !cursor.take("SYSTEM")? {
        return Err(cursor.problem("a quoted value, `SYSTEM` or `PUBLIC` must stand here"));
    }
    if is_public {
        cursor.spaces_before("a public identifier")?;
        let begin = *cursor;
        let Some(identifier) = cursor.quoted()? else { return Err(cursor.problem("a public identifier is quoted")) };
        if !identifier.bytes().all(is_of_public_identifier) {
            return Err(begin.problem("a public identifier has a character that is not permitted in it"));
        }
        if is_of_notation {
            let mut behind = *cursor;
            behind.spaces();
            if behind.peek()? == b'>' {
                return Ok(());
            }
        }
    }
    cursor.spaces_before("a system identifier")?;
    match cursor.quoted()? {
        Some(_) => Ok(()),
        None => Err(cursor.problem("a system identifier is quoted")),
    }
}

/// The replacement text of an entity: references to characters are resolved, those to entities stay (XML 1.0, 4.4.5 and
/// 4.4.7).
fn replacement(value: &str, offset: usize) -> Result<String, Problem> {
    if value.len() > ENTITY_BYTES_MAX {
        let message = format!("an entity of more than {} MiB; write what it stands for", ENTITY_BYTES_MAX >> 20);
        return Err(Problem::too_large(offset, message));
    }
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(length) = rest.find(['&', '%']) {
        out.push_str(&rest[..length]);
        rest = &rest[length..];
        let at = offset + value.len() - rest.len();
        if rest.starts_with('%') {
            let message = "`%` within a declaration of the internal subset; write `&#37;`";
            return Err(Problem::new(at, message));
        }
        let mut cursor = Cursor::new(rest);
        let reference = Reference::take(&mut cursor).map_err(|stop| match stop {
            Stop::More => Problem::new(at, "a reference ends with `;`"),
            Stop::Problem(problem) => Problem { offset: at, ..problem },
        })?;
        match reference {
            Reference::Character(character) if rest.starts_with("&#") => out.push(character),
            _ => out.push_str(&rest[..cursor.at()]),
        }
        rest = cursor.rest();
    }
    out.push_str(rest);
    Ok(out)
}

/// The five entities that need no declaration may have one that changes nothing (XML 1.0, 4.6).
fn check_predefined(name: &str, entity: &Entity) -> Result<(), String> {
    let character = match name {
        "lt" => '<',
        "amp" => '&',
        "gt" => '>',
        "apos" => '\'',
        "quot" => '"',
        _ => return Ok(()),
    };
    let is_same = |text: &str| {
        let mut cursor = Cursor::new(text);
        let is_reference = text.starts_with("&#")
            && matches!(Reference::take(&mut cursor), Ok(Reference::Character(found)) if found == character)
            && cursor.rest().is_empty();
        is_reference || text.chars().eq([character])
    };
    match entity {
        Entity::Internal(text) if is_same(text) => Ok(()),
        _ => Err(format!("the entity `{name}` stands for `{character}`, and cannot be declared to be something else")),
    }
}

/// The type of an attribute. Returns whether its values are tokens.
fn take_attribute_type(cursor: &mut Cursor<'_>) -> Match<bool> {
    if cursor.peek()? == b'(' {
        take_choice(cursor, false)?;
        return Ok(true);
    }
    match cursor.name("the type of an attribute")? {
        "CDATA" => Ok(false),
        "ID" | "IDREF" | "IDREFS" | "ENTITY" | "ENTITIES" | "NMTOKEN" | "NMTOKENS" => Ok(true),
        "NOTATION" => {
            cursor.spaces_before("the names of notations")?;
            take_choice(cursor, true)?;
            Ok(true)
        }
        other => Err(cursor.problem(format!("`{other}` is not a type of an attribute"))),
    }
}

/// Names or name tokens in brackets, with `|` between them.
fn take_choice(cursor: &mut Cursor<'_>, is_of_names: bool) -> Match<()> {
    cursor.expect("(", "the type of an attribute")?;
    loop {
        cursor.spaces();
        match is_of_names {
            true => cursor.name("the name of a notation")?,
            false => cursor.token("a value of an attribute")?,
        };
        cursor.spaces();
        if cursor.take(")")? {
            return Ok(());
        }
        cursor.expect("|", "the type of an attribute")?;
    }
}

/// What an element may contain (productions 46 to 51).
fn take_content_model(cursor: &mut Cursor<'_>) -> Match<()> {
    if cursor.peek()? != b'(' {
        return match cursor.name("`EMPTY`, `ANY` or `(`")? {
            "EMPTY" | "ANY" => Ok(()),
            other => Err(cursor.problem(format!("`{other}` is not what an element may contain"))),
        };
    }
    let mut mixed = *cursor;
    mixed.advance(1);
    mixed.spaces();
    if mixed.take("#PCDATA")? {
        *cursor = mixed;
        return take_mixed(cursor);
    }
    // Of each open bracket: what stands between its parts, once that is known.
    let mut open: Vec<Option<u8>> = Vec::new();
    loop {
        cursor.spaces();
        if cursor.take("(")? {
            open.push(None);
            continue;
        }
        cursor.name("the name of an element, or `(`,")?;
        take_occurrence(cursor)?;
        loop {
            cursor.spaces();
            let sign = cursor.peek()?;
            let Some(separator) = open.last_mut() else { return Ok(()) };
            match sign {
                b')' => {
                    cursor.advance(1);
                    open.pop();
                    take_occurrence(cursor)?;
                    if open.is_empty() {
                        return Ok(());
                    }
                }
                b'|' | b',' if separator.is_none_or(|separator| separator == sign) => {
                    *separator = Some(sign);
                    cursor.advance(1);
                    break;
                }
                _ => return Err(cursor.problem("`,`, `|` or `)` must stand here, and the same throughout a bracket")),
            }
        }
    }
}

fn take_occurrence(cursor: &mut Cursor<'_>) -> Match<()> {
    if matches!(cursor.peek()?, b'?' | b'*' | b'+') {
        cursor.advance(1);
    }
    Ok(())
}

/// Behind `#PCDATA`.
fn take_mixed(cursor: &mut Cursor<'_>) -> Match<()> {
    let mut has_names = false;
    loop {
        cursor.spaces();
        if cursor.take(")")? {
            break;
        }
        cursor.expect("|", "the content of an element")?;
        cursor.spaces();
        cursor.name("the name of an element")?;
        has_names = true;
    }
    match has_names {
        true => cursor.expect("*", "the content of an element"),
        false => cursor.take("*").map(drop),
    }
}
