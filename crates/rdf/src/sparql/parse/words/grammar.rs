//! The grammar of SPARQL 1.1 with what the parser has of 1.2, over the tokens of
//! [`tokens`](crate::sparql::parse::tokens).
//!
//! It is written so that one token decides how to go on, and takes some texts that the parser refuses (`[] .`), but
//! none the other way round. It is compiled only when the parser has refused a text.

use std::collections::HashMap;

use crate::sparql::parse::tokens::{Kind, SYMBOLS, Token};

/// `Rule "what a user calls it" = …`; words in single quotes are keywords or symbols, words in capitals kinds of
/// tokens. What is called nothing is not named in errors.
const RULES: &str = r#"
Query = Prologue QueryBody
QueryBody = SelectQuery | Construct | Describe | Ask
Update = Prologue (Operation (';' Prologue Operation?)*)?
Prologue = ('BASE' IRI | Prefix | 'VERSION' STRING)*
Prefix = 'PREFIX' PREFIX IRI

SelectQuery = SelectClause Dataset* WhereClause Modifiers Values
SubSelect = SelectClause WhereClause Modifiers Values
SelectClause = 'SELECT' ('DISTINCT' | 'REDUCED')? (Star | SelectItem+)
Star = '*'
SelectItem = VARIABLE | SelectAs
SelectAs = '(' Expression 'AS' VARIABLE ')'
Construct = 'CONSTRUCT' (Template Dataset* WhereClause Modifiers Values | Dataset* 'WHERE' Template Modifiers Values)
Template = '{' Triples? '}'
Describe = 'DESCRIBE' ('*' | VariableOrIri+) Dataset* WhereClause? Modifiers Values
Ask = 'ASK' Dataset* WhereClause Modifiers Values
Dataset = 'FROM' 'NAMED'? Iri
WhereClause = 'WHERE'? Group

Modifiers = GroupBy? Having? OrderBy? Slice?
GroupBy = 'GROUP' 'BY' GroupCondition+
GroupCondition = VARIABLE | GroupAs | BuiltInCall | FunctionCall
GroupAs = '(' Expression ('AS' VARIABLE)? ')'
Having = 'HAVING' Constraint+
OrderBy = 'ORDER' 'BY' OrderCondition+
OrderCondition = ('ASC' | 'DESC') Bracketed | Constraint | VARIABLE
Slice = 'LIMIT' INTEGER ('OFFSET' INTEGER)? | 'OFFSET' INTEGER ('LIMIT' INTEGER)?
Values = InlineData?

Group = '{' (SubSelect | GroupBody) '}'
GroupBody = TriplesBlock? (NotTriples '.'? TriplesBlock?)*
TriplesBlock "a triple" = SubjectPath ('.' TriplesBlock?)?
NotTriples "a clause such as FILTER" = Union | Optional | Lateral | Minus | Graph | Service | Filter | Bind | InlineData
Union = Group ('UNION' Group)*
Optional = 'OPTIONAL' Group
Lateral = 'LATERAL' Group
Minus = 'MINUS' Group
Graph = 'GRAPH' VariableOrIri Group
Service = 'SERVICE' 'SILENT'? VariableOrIri Group
Filter = 'FILTER' Constraint
Bind = 'BIND' '(' Expression 'AS' VARIABLE ')'
InlineData = 'VALUES' (OneColumn | Columns)
OneColumn = VARIABLE '{' Value* '}'
Columns = '(' ColumnNames ')' '{' Row* '}'
ColumnNames = VARIABLE*
Row = '(' Value* ')'
Value "a value" = Iri | Literal | 'UNDEF' | TripleTerm

SubjectPath = Term PropertiesPath | NodePath PropertiesPath?
PropertiesPath = VerbPath ObjectsPath (';' (VerbPath ObjectsPath)?)*
VerbPath "a predicate" = VARIABLE | Path
ObjectsPath "an object" = ObjectPath (',' ObjectPath)*
ObjectPath = (Term | NodePath) AnnotationPath*
NodePath = ListPath | BlankPath | ReifiedTriple
ListPath = '(' (Term | NodePath)* ')'
BlankPath = '[' PropertiesPath? ']'
AnnotationPath "" = Reifier | '{|' PropertiesPath '|}'
Path = PathSequence ('|' PathSequence)*
PathSequence = PathStep ('/' PathStep)*
PathStep = '^'? PathPrimary ('?' | '*' | '+')?
PathPrimary = Iri | 'a' | '!' PathNegated | '(' Path ')'
PathNegated = PathOne | '(' (PathOne ('|' PathOne)*)? ')'
PathOne = '^'? (Iri | 'a')

Triples "a triple" = Subject ('.' Triples?)?
Subject = Term Properties | Node Properties?
Properties = Verb Objects (';' (Verb Objects)?)*
Objects "an object" = Object (',' Object)*
Object = (Term | Node) Annotation*
Node = List | Blank | ReifiedTriple
List = '(' (Term | Node)* ')'
Blank = '[' Properties? ']'
Annotation "" = Reifier | '{|' Properties '|}'

Verb "a predicate" = VARIABLE | Iri | 'a'
Reifier = '~' (VARIABLE | Iri | BLANK)?
ReifiedTriple = '<<' ReifiedTerm Verb ReifiedTerm Reifier? '>>'
ReifiedTerm = Term | ReifiedTriple | '[' ']'
TripleTerm = '<<(' ReifiedTerm Verb ReifiedTerm ')>>'
Term "a term" = VARIABLE | Iri | Literal | BLANK | TripleTerm
VariableOrIri = VARIABLE | Iri
Iri "an IRI" = IRI | NAME | PREFIX
Literal "a literal" = STRING (LANGUAGE | '^^' Iri)? | ('+' | '-')? (INTEGER | NUMBER) | 'true' | 'false'

Constraint "a condition in brackets" = Bracketed | BuiltInCall | FunctionCall
Bracketed = '(' Expression ')'
FunctionCall = Iri Arguments
Arguments = '(' (Expression (',' Expression)*)? ')'
Expression "an expression" = And Or
Or "an operator" = ('||' And)*
And = Relation AndMore
AndMore "an operator" = ('&&' Relation)*
Relation = Sum RelationMore
RelationMore "an operator" = (('=' | '!=' | '<' | '>' | '<=' | '>=') Sum | 'IN' Arguments | 'NOT' 'IN' Arguments)?
Sum = Product SumMore
SumMore "an operator" = (('+' | '-') Product)*
Product = Unary ProductMore
ProductMore "an operator" = (('*' | '/') Unary)*
Unary = ('!' | '+' | '-')* Primary
Primary "an expression" = Bracketed | IriOrCall | VARIABLE | Literal | BuiltInCall | TripleTerm
IriOrCall = Iri Arguments?
BuiltInCall "a function" = Aggregate | OneArgument '(' Expression ')' | TwoArguments '(' Expression ',' Expression ')'
  | ThreeArguments '(' Expression ',' Expression ',' Expression ')'
  | ('RAND' | 'NOW' | 'UUID' | 'STRUUID') '(' ')' | 'BNODE' '(' Expression? ')' | 'BOUND' '(' VARIABLE ')'
  | ('SUBSTR' | 'REGEX') '(' Expression ',' Expression (',' Expression)? ')'
  | 'REPLACE' '(' Expression ',' Expression ',' Expression (',' Expression)? ')'
  | ('CONCAT' | 'COALESCE') Arguments | 'EXISTS' Group | 'NOT' 'EXISTS' Group
OneArgument = 'STR' | 'LANG' | 'LANGDIR' | 'DATATYPE' | 'IRI' | 'URI' | 'ABS' | 'CEIL' | 'FLOOR' | 'ROUND' | 'STRLEN'
  | 'UCASE' | 'LCASE' | 'ENCODE_FOR_URI' | 'YEAR' | 'MONTH' | 'DAY' | 'HOURS' | 'MINUTES' | 'SECONDS' | 'TIMEZONE'
  | 'TZ' | 'MD5' | 'SHA1' | 'SHA256' | 'SHA384' | 'SHA512' | 'ISIRI' | 'ISURI' | 'ISBLANK' | 'ISLITERAL'
  | 'ISNUMERIC' | 'HASLANG' | 'HASLANGDIR' | 'SUBJECT' | 'PREDICATE' | 'OBJECT' | 'ISTRIPLE'
TwoArguments = 'LANGMATCHES' | 'CONTAINS' | 'STRSTARTS' | 'STRENDS' | 'STRBEFORE' | 'STRAFTER' | 'STRLANG' | 'STRDT'
  | 'SAMETERM' | 'ADJUST'
ThreeArguments = 'IF' | 'STRLANGDIR' | 'TRIPLE'
Aggregate = 'COUNT' '(' 'DISTINCT'? ('*' | Expression) ')'
  | ('SUM' | 'MIN' | 'MAX' | 'AVG' | 'SAMPLE') '(' 'DISTINCT'? Expression ')'
  | 'GROUP_CONCAT' '(' 'DISTINCT'? Expression (';' 'SEPARATOR' '=' STRING)? ')'

Operation = 'LOAD' 'SILENT'? Iri ('INTO' GraphReference)? | ('CLEAR' | 'DROP') 'SILENT'? GraphTarget
  | 'CREATE' 'SILENT'? GraphReference | ('ADD' | 'MOVE' | 'COPY') 'SILENT'? GraphOrDefault 'TO' GraphOrDefault
  | 'INSERT' (InsertData | InsertPattern Change) | 'DELETE' (DeleteData | DeleteWhere | DeletePattern ('INSERT' InsertPattern)? Change)
  | 'WITH' Iri ('DELETE' DeletePattern ('INSERT' InsertPattern)? | 'INSERT' InsertPattern) Change
InsertData = 'DATA' Quads
DeleteData = 'DATA' Quads
DeleteWhere = 'WHERE' Quads
InsertPattern = Quads
DeletePattern = Quads
Change = Using* 'WHERE' Group
Using = 'USING' 'NAMED'? Iri
GraphReference = 'GRAPH' Iri
GraphTarget = GraphReference | 'DEFAULT' | 'NAMED' | 'ALL'
GraphOrDefault = 'DEFAULT' | 'GRAPH'? Iri
Quads = '{' Triples? (QuadsOfGraph '.'? Triples?)* '}'
QuadsOfGraph = 'GRAPH' VariableOrIri '{' Triples? '}'
"#;

/// A kind of token, as the grammar sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Terminal {
    Word(&'static str),
    Symbol(&'static str),
    Kind(Kind),
    /// `prefix:` without more.
    Prefix,
}

/// A part of a rule, by its number.
pub(crate) type Part = usize;

/// A rule, by its number.
pub(crate) type Rule = usize;

/// A terminal, by its number.
pub(crate) type Number = usize;

/// Terminals, by their numbers.
type Set = [u64; 4];

#[derive(Clone, Debug)]
pub(crate) enum Expression {
    Terminal(Number),
    Rule(Rule),
    Sequence(Vec<Part>),
    Choice(Vec<Part>),
    /// Any number of times.
    Many(Part),
    /// Once or not at all.
    Optional(Part),
}

/// The grammar, compiled.
pub(crate) struct Grammar {
    pub parts: Vec<Expression>,
    /// Name, what a user calls it, body.
    pub rules: Vec<(&'static str, Option<&'static str>, Part)>,
    terminals: Vec<Terminal>,
    /// The numbers of keywords, by the keywords in capitals.
    words: HashMap<String, Number>,
    /// Terminals that a part may begin with.
    first: Vec<Set>,
    /// Whether a part may be empty.
    is_nullable: Vec<bool>,
}

impl Grammar {
    pub(crate) fn new() -> Self {
        let mut reader = Reader::default();
        reader.read_all();
        let word = |(number, terminal): (Number, &Terminal)| match terminal {
            Terminal::Word(word) => Some((word.to_ascii_uppercase(), number)),
            _ => None,
        };
        let mut grammar = Self {
            words: reader.terminals.iter().enumerate().filter_map(word).collect(),
            first: vec![Set::default(); reader.parts.len()],
            is_nullable: vec![false; reader.parts.len()],
            parts: reader.parts,
            rules: reader.rules,
            terminals: reader.terminals,
        };
        assert!(grammar.terminals.len() <= 256, "a set has no more bits");
        while grammar.grow() {}
        grammar
    }

    /// The rule with this name. Requires: there is one.
    pub(crate) fn rule(&self, name: &str) -> Rule {
        self.rules.iter().position(|(rule, ..)| *rule == name).expect("the grammar has the rule")
    }

    pub(crate) fn may_be_empty(&self, part: Part) -> bool {
        self.is_nullable[part]
    }

    pub(crate) fn may_begin(&self, part: Part, terminal: Option<Number>) -> bool {
        terminal.is_some_and(|number| contains(&self.first[part], number))
    }

    pub(crate) fn terminal(&self, number: Number) -> Terminal {
        self.terminals[number]
    }

    /// All keywords.
    pub(crate) fn words(&self) -> impl Iterator<Item = &'static str> {
        self.words_of((0..self.terminals.len()).collect::<Vec<_>>())
    }

    /// The keywords that a part may begin with.
    pub(crate) fn words_that_begin(&self, part: Part) -> impl Iterator<Item = &'static str> {
        let numbers = (0..self.terminals.len()).filter(|number| contains(&self.first[part], *number));
        self.words_of(numbers.collect::<Vec<_>>())
    }

    fn words_of(&self, numbers: Vec<Number>) -> impl Iterator<Item = &'static str> {
        numbers.into_iter().filter_map(|number| match self.terminals[number] {
            Terminal::Word(word) => Some(word),
            _ => None,
        })
    }

    /// The functions that a text may call by a keyword.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &'static str> {
        let (.., body) = self.rules[self.rule("BuiltInCall")];
        self.words_that_begin(body)
    }

    /// The token as the grammar sees it; `None` for what it has not.
    pub(crate) fn number(&self, text: &str, token: &Token) -> Option<Number> {
        let written = token.text(text);
        let terminal = match token.kind {
            Kind::Word => {
                let number = *self.words.get(&written.to_ascii_uppercase())?;
                let is_exact = matches!(self.terminals[number], Terminal::Word("a" | "true" | "false"));
                // These are in lower case alone.
                return (!is_exact || written.bytes().all(|byte| byte.is_ascii_lowercase())).then_some(number);
            }
            Kind::Symbol => Terminal::Symbol(SYMBOLS.iter().find(|symbol| **symbol == written)?),
            Kind::PrefixedName if written.find(':') == Some(written.len() - 1) => Terminal::Prefix,
            Kind::UnclosedString | Kind::Stray => return None,
            kind => Terminal::Kind(kind),
        };
        self.terminals.iter().position(|known| *known == terminal)
    }

    /// Finds more of what parts begin with. Returns whether there was any.
    fn grow(&mut self) -> bool {
        let mut has_grown = false;
        for part in 0..self.parts.len() {
            let (mut first, mut nullable) = (self.first[part], self.is_nullable[part]);
            match &self.parts[part] {
                Expression::Terminal(number) => first[number / 64] |= 1 << (number % 64),
                Expression::Rule(rule) => {
                    let (.., body) = self.rules[*rule];
                    add(&mut first, &self.first[body]);
                    nullable = self.is_nullable[body];
                }
                Expression::Sequence(parts) => {
                    for part in parts {
                        add(&mut first, &self.first[*part]);
                        if !self.is_nullable[*part] {
                            break;
                        }
                    }
                    nullable = parts.iter().all(|part| self.is_nullable[*part]);
                }
                Expression::Choice(parts) => {
                    parts.iter().for_each(|part| add(&mut first, &self.first[*part]));
                    nullable = parts.iter().any(|part| self.is_nullable[*part]);
                }
                Expression::Many(inner) | Expression::Optional(inner) => {
                    add(&mut first, &self.first[*inner]);
                    nullable = true;
                }
            }
            has_grown |= first != self.first[part] || nullable != self.is_nullable[part];
            self.first[part] = first;
            self.is_nullable[part] = nullable;
        }
        has_grown
    }
}

fn contains(set: &Set, number: Number) -> bool {
    set[number / 64] >> (number % 64) & 1 == 1
}

fn add(set: &mut Set, more: &Set) {
    set.iter_mut().zip(more).for_each(|(bits, more)| *bits |= more);
}

/// Reads the rules.
#[derive(Default)]
struct Reader {
    parts: Vec<Expression>,
    rules: Vec<(&'static str, Option<&'static str>, Part)>,
    names: HashMap<&'static str, Rule>,
    terminals: Vec<Terminal>,
    words: Vec<&'static str>,
    at: usize,
}

impl Reader {
    fn read_all(&mut self) {
        self.words = words(RULES);
        for index in 0..self.words.len() {
            let is_head = self.words.get(index + 1) == Some(&"=")
                || self.words.get(index + 2) == Some(&"=") && self.words[index + 1].starts_with('"');
            if is_head && self.words[index].starts_with(|c: char| c.is_ascii_uppercase()) {
                self.names.insert(self.words[index], self.rules.len());
                self.rules.push((self.words[index], None, 0));
            }
        }
        for rule in 0..self.rules.len() {
            self.at += 1;
            let label = self.word().filter(|word| word.starts_with('"')).map(|word| word.trim_matches('"'));
            self.at += 1 + usize::from(label.is_some());
            let body = self.choice();
            self.rules[rule] = (self.rules[rule].0, label, body);
        }
    }

    fn word(&self) -> Option<&'static str> {
        self.words.get(self.at).copied()
    }

    /// Whether the rule ends here: another one begins, or there is no more.
    fn is_end(&self) -> bool {
        let is_equals = |ahead: usize| self.words.get(self.at + ahead) == Some(&"=");
        let label = self.words.get(self.at + 1).is_some_and(|word| word.starts_with('"'));
        self.word().is_none() || is_equals(1) || label && is_equals(2)
    }

    fn add(&mut self, expression: Expression) -> Part {
        self.parts.push(expression);
        self.parts.len() - 1
    }

    fn choice(&mut self) -> Part {
        let mut parts = vec![self.sequence()];
        while self.word() == Some("|") {
            self.at += 1;
            parts.push(self.sequence());
        }
        if parts.len() == 1 { parts[0] } else { self.add(Expression::Choice(parts)) }
    }

    fn sequence(&mut self) -> Part {
        let mut parts = Vec::new();
        while !self.is_end() && !matches!(self.word(), Some("|" | ")")) {
            let part = self.one();
            let repeated = match self.word() {
                Some("*") => self.add(Expression::Many(part)),
                Some("?") => self.add(Expression::Optional(part)),
                Some("+") => {
                    let more = self.add(Expression::Many(part));
                    self.add(Expression::Sequence(vec![part, more]))
                }
                _ => part,
            };
            self.at += usize::from(repeated != part);
            parts.push(repeated);
        }
        if parts.len() == 1 { parts[0] } else { self.add(Expression::Sequence(parts)) }
    }

    fn one(&mut self) -> Part {
        let word = self.words[self.at];
        self.at += 1;
        if word == "(" {
            let inner = self.choice();
            self.at += 1;
            return inner;
        }
        let terminal = match word {
            "IRI" => Terminal::Kind(Kind::Iri),
            "NAME" => Terminal::Kind(Kind::PrefixedName),
            "PREFIX" => Terminal::Prefix,
            "VARIABLE" => Terminal::Kind(Kind::Variable),
            "BLANK" => Terminal::Kind(Kind::BlankNode),
            "STRING" => Terminal::Kind(Kind::String),
            "LANGUAGE" => Terminal::Kind(Kind::Language),
            "INTEGER" => Terminal::Kind(Kind::Integer),
            "NUMBER" => Terminal::Kind(Kind::Number),
            quoted if quoted.starts_with('\'') => {
                let quoted = quoted.trim_matches('\'');
                match quoted.starts_with(|c: char| c.is_ascii_alphabetic()) {
                    true => Terminal::Word(quoted),
                    false => Terminal::Symbol(quoted),
                }
            }
            rule => {
                let rule = *self.names.get(rule).unwrap_or_else(|| panic!("the grammar has no rule {rule}"));
                return self.add(Expression::Rule(rule));
            }
        };
        let known = self.terminals.iter().position(|known| *known == terminal);
        let number = known.unwrap_or_else(|| {
            self.terminals.push(terminal);
            self.terminals.len() - 1
        });
        self.add(Expression::Terminal(number))
    }
}

/// The words of the rules: names, quoted words, operators.
fn words(rules: &'static str) -> Vec<&'static str> {
    let mut words = Vec::new();
    let mut rest = rules.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            letter if letter.is_ascii_alphabetic() => {
                rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())
            }
            _ => 1,
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::predict::predict;
    use super::*;
    use crate::sparql::parse::tokens::tokens;

    #[test]
    fn one_token_decides_between_alternatives() {
        let grammar = Grammar::new();
        for part in &grammar.parts {
            let Expression::Choice(parts) = part else { continue };
            let mut all = Set::default();
            for part in parts {
                let first = grammar.first[*part];
                assert!(all.iter().zip(first).all(|(bits, more)| bits & more == 0), "{part}: {all:?}");
                add(&mut all, &first);
            }
            assert!(parts.iter().filter(|part| grammar.is_nullable[**part]).count() <= 1, "{parts:?}");
        }
    }

    #[test]
    fn texts_of_every_kind_fit() {
        let grammar = Grammar::new();
        for text in [
            "BASE <http://e/> PREFIX : <x#> SELECT DISTINCT ?a (1+2*-?b AS ?c) FROM <g> FROM NAMED :h WHERE { ?a :p ?b ; :q [] , () . }",
            "SELECT * { ?s ^:p/(:q|!(a|^:r))*/:t+ ?o . { SELECT REDUCED ?x {} } UNION { } OPTIONAL { ?s a :T } MINUS { } }",
            "SELECT (COUNT(DISTINCT *) AS ?n) (GROUP_CONCAT(?x ; SEPARATOR=',') AS ?y) {} GROUP BY ?s (?p AS ?q) STR(?x) HAVING (?n > 1)",
            "SELECT ?s { GRAPH ?g { ?s ?p 'x'@en , 1.5e3 , true , \"d\"^^:t } SERVICE SILENT <s> {} } ORDER BY DESC(?s) ?p LIMIT 1 OFFSET 2",
            "SELECT ?s { VALUES (?a ?b) { (1 UNDEF) } VALUES ?c { <x> } BIND(IF(?a IN (1, 2) && !(?b NOT IN ()), 1, 2) AS ?d) }",
            "SELECT ?s { FILTER NOT EXISTS { ?s ?p ?o } FILTER EXISTS { } FILTER :f(?s) FILTER REGEX(?s, 'a', 'i') } VALUES ?s { 1 }",
            "SELECT ?s { << ?s ?p ?o ~ :r >> ?q <<( :a :b :c )>> {| :d 1 |} . ?s ?p ?o ~ {| :e 2 |} LATERAL { ?s ?t ?u } }",
            "CONSTRUCT { ?s a [ :p (1 2) ] . } WHERE { ?s ?p ?o }",
            "CONSTRUCT FROM <g> WHERE { ?s ?p ?o . } LIMIT 5",
            "DESCRIBE ?s <x> { ?s ?p ?o }",
            "ASK { [ :p 1 ] . (1 2) :q _:b . ?s ?p -1 , +2.0 }",
        ] {
            let prediction = predict(&grammar, grammar.rule("Query"), text, &tokens(text));
            assert!(prediction.stop.is_none(), "{text}: {:?}", prediction.stop.map(|stop| (stop.token, stop.expected)));
        }
        for text in [
            "PREFIX : <x> INSERT DATA { :a :b 1 . GRAPH :g { :c :d 2 } . :e :f 3 } ; DELETE DATA { :a :b 1 } ;",
            "WITH :g DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } USING :h USING NAMED :i WHERE { ?s ?p ?o }",
            "DELETE WHERE { ?s ?p ?o } ; INSERT { ?s ?p 1 } WHERE {} ; DELETE { ?s ?p ?o } WHERE {}",
            "LOAD SILENT <f> INTO GRAPH :g ; CLEAR ALL ; DROP SILENT GRAPH :g ; CREATE GRAPH :g ; COPY DEFAULT TO :g ; MOVE GRAPH :g TO :h",
            "",
        ] {
            let prediction = predict(&grammar, grammar.rule("Update"), text, &tokens(text));
            assert!(prediction.stop.is_none(), "{text}: {:?}", prediction.stop.map(|stop| (stop.token, stop.expected)));
        }
    }
}
