//! What SCIP says beside definitions, references and descriptions.

use fulgurite_code::{CODE_SCHEMA, DiagnosticTag, Role, Severity, increment_path, index_files, open_index};
use fulgurite_facts::{Expansion, FactDatabase, QueryLimits, Schema, Store};
use protobuf::{EnumOrUnknown, Message, MessageField};
use scip::types::symbol_information::Kind;
use scip::types::{Diagnostic, Index, Occurrence, PositionEncoding, Signature, SymbolRole, SyntaxKind};
use serde_json::{Value as Json, json};

use crate::support::{Project, diagnostics, document, index, info, symbol};

/// A file with a function, and a use of it about which everything is said that SCIP has fields for.
pub fn described(message: &str) -> Index {
    let encoding = PositionEncoding::UTF8CodeUnitOffsetFromLineStart;
    let (mut document, text) = document("a.rs", "fn «a().»a() {}\nx = ‹a().›a();\n\"text\"", encoding);
    document.text = text;
    let used = &mut document.occurrences[1];
    used.symbol_roles = SymbolRole::Import as i32 | SymbolRole::ReadAccess as i32 | SymbolRole::Test as i32;
    used.enclosing_range = vec![1, 4, 7];
    used.override_documentation = vec!["At this place.".to_owned()];
    used.syntax_kind = EnumOrUnknown::new(SyntaxKind::IdentifierFunction);
    used.diagnostics.push(Diagnostic {
        severity: EnumOrUnknown::new(scip::types::Severity::Warning),
        code: "W1".to_owned(),
        message: message.to_owned(),
        source: "lint".to_owned(),
        tags: vec![EnumOrUnknown::new(scip::types::DiagnosticTag::Deprecated)],
        ..Default::default()
    });
    document.occurrences.push(Occurrence {
        range: vec![2, 0, 6],
        syntax_kind: EnumOrUnknown::new(SyntaxKind::StringLiteral),
        diagnostics: vec![Diagnostic { message: "unused".to_owned(), ..Default::default() }],
        ..Default::default()
    });
    let mut function = info("a().", Kind::Function, "a");
    function.signature_documentation = MessageField::some(Signature {
        language: "Rust".to_owned(),
        text: "fn a(b: B)".to_owned(),
        occurrences: vec![Occurrence { range: vec![0, 8, 9], symbol: symbol("B#"), ..Default::default() }],
        ..Default::default()
    });
    document.symbols = vec![function];
    let mut external = info("B#", Kind::Class, "B");
    external.signature_documentation =
        MessageField::some(Signature { language: "java".to_owned(), text: "class B".to_owned(), ..Default::default() });
    let mut index = index();
    index.metadata.as_mut().unwrap().project_root = "file:///project".to_owned();
    index.documents.push(document);
    index.external_symbols.push(external);
    index
}

fn write(project: &Project, index: &Index) {
    std::fs::write(project.scip(), index.write_to_bytes().unwrap()).unwrap();
}

fn project() -> Project {
    let project = Project::new();
    write(&project, &described("use `b`"));
    project.update();
    project
}

/// The results of a query, as JSON.
fn results(project: &Project, query: &str) -> Vec<String> {
    let reader = open_index(&project.database()).unwrap().reader().unwrap();
    let page = reader.query(query, &QueryLimits::default()).unwrap();
    let mut printed: Vec<String> =
        reader.print(&page, Expansion::FLAT).unwrap().iter().map(ToString::to_string).collect();
    printed.sort();
    printed
}

fn quoted(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| format!("\"{text}\"")).collect()
}

#[test]
fn everything_that_is_said_of_a_place_is_a_fact() {
    let project = project();
    let (function, class) = (symbol("a()."), symbol("B#"));
    let roles = |role: &str| {
        results(&project, &format!("S where scip.OccurrenceRole {{ symbol = code.Symbol S, role = {role} }}"))
    };
    assert_eq!(roles("readAccess"), quoted(&[&function]));
    assert_eq!(roles("test"), quoted(&[&function]));
    let reader = project.reader();
    let used = reader.uses(&reader.file("a.rs").unwrap()).unwrap();
    // The strongest role is that of the occurrence.
    assert_eq!(used.iter().map(|used| used.role).collect::<Vec<_>>(), [Role::Definition, Role::Import]);
    assert_eq!(roles("imported"), [""; 0]);
    let kinds = results(&project, "K where scip.Highlight { kind = K }");
    assert_eq!(kinds, quoted(&["identifier function", "string literal"]));
    assert_eq!(results(&project, "C where scip.EnclosingRange _ -> { endColumn = C }"), ["8"]);
    assert_eq!(results(&project, "D where scip.OverrideDocumentation _ -> D"), [r#"["At this place."]"#]);
    assert_eq!(results(&project, "T where scip.InSignature { target = code.Symbol T }"), quoted(&[&class]));
    let within = "C where scip.SignatureOccurrence { target = code.Symbol _, range = { column = C } }";
    assert_eq!(results(&project, within), ["9"]);
    // The language of the function's signature is that of its file.
    let languages = "{ S, L } where scip.SignatureLanguage { symbol = code.Symbol S } -> L";
    let languages = results(&project, languages);
    assert!(languages.len() == 1 && languages[0].contains("java") && languages[0].contains(&class), "{languages:?}");
    let text = results(&project, "T where scip.FileText _ -> T");
    assert!(text.len() == 1 && text[0].contains("x = a();"), "{text:?}");
}

#[test]
fn the_index_names_its_indexer_and_the_packages_of_symbols() {
    let project = project();
    let tools = results(&project, "R where scip.Metadata { tool = \"test\", projectRoot = R }");
    assert_eq!(tools, quoted(&["file:///project"]));
    let of_package = "S where scip.PackageSymbol { package = { name = \"demo\" }, symbol = code.Symbol S }";
    assert_eq!(results(&project, of_package), quoted(&[&symbol("B#"), &symbol("a().")]));
    let reader = project.reader();
    let described = reader.describe(reader.resolve("a").unwrap()[0]).unwrap();
    assert_eq!(described.package.unwrap().to_string(), "demo");
}

#[test]
fn diagnostics_are_listed_in_the_order_of_places() {
    let project = project();
    let reader = project.reader();
    let found = diagnostics(&reader);
    let [first, second] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((first.path.as_str(), first.span.line, first.span.column), ("a.rs", 1, 4));
    assert_eq!((first.severity, first.code.as_str(), first.source.as_str()), (Severity::Warning, "W1", "lint"));
    assert_eq!((first.message.as_str(), first.tags.as_slice()), ("use `b`", &[DiagnosticTag::Deprecated][..]));
    assert_eq!((second.severity, second.message.as_str()), (Severity::Unspecified, "unused"));
    let of_file = reader.diagnostics(Some(&reader.file("a.rs").unwrap())).unwrap();
    assert_eq!(of_file.map(Result::unwrap).collect::<Vec<_>>(), found);
}

#[test]
fn a_change_of_details_alone_is_a_change_of_the_file() {
    let project = project();
    assert_eq!(project.update().written, None);
    write(&project, &described("use `c`"));
    let updated = project.update();
    assert_eq!((updated.files, updated.added, updated.changed, updated.removed), (1, 0, 1, 0));
    let messages: Vec<_> = diagnostics(&project.reader()).into_iter().map(|diagnostic| diagnostic.message).collect();
    assert_eq!(messages, ["use `c`", "unused"]);
}

#[test]
fn another_version_of_the_indexer_alone_is_no_change_and_is_written_with_the_next_one() {
    let project = project();
    let by_version = |version: &str, message: &str| {
        let mut index = described(message);
        index.metadata.as_mut().unwrap().tool_info.as_mut().unwrap().version = version.to_owned();
        index
    };
    let versions = || results(&project, "V where scip.Metadata { version = V }");
    write(&project, &by_version("2", "use `b`"));
    let updated = project.update();
    assert_eq!((updated.written, updated.facts, updated.files), (None, 0, 1));
    assert_eq!((project.names().len(), versions()), (3, quoted(&[""])));
    // Nor is it one that the indexer no longer names itself.
    let mut nameless = described("use `b`");
    nameless.metadata = MessageField::some(scip::types::Metadata::default());
    write(&project, &nameless);
    assert_eq!(project.update().written, None);
    write(&project, &by_version("2", "use `c`"));
    assert_eq!(project.update().changed, 1);
    assert_eq!(versions(), quoted(&["2"]));
}

#[test]
fn the_order_in_which_an_indexer_says_things_is_no_change() {
    let project = project();
    let mut permuted = described("use `b`");
    let document = &mut permuted.documents[0];
    document.occurrences.reverse();
    // What is said twice is said once.
    document.occurrences.push(document.occurrences[0].clone());
    write(&project, &permuted);
    assert_eq!(project.update().written, None);
    // In signatures, too.
    let signature = |columns: &[i32]| {
        let mut index = described("use `b`");
        let of_column = |column: &i32| Occurrence {
            range: vec![0, *column, *column + 1],
            symbol: symbol("B#"),
            ..Default::default()
        };
        let signature = index.documents[0].symbols[0].signature_documentation.as_mut().unwrap();
        signature.occurrences = columns.iter().map(of_column).collect();
        index
    };
    write(&project, &signature(&[8, 3]));
    assert_eq!(project.update().changed, 1);
    write(&project, &signature(&[3, 8, 3]));
    assert_eq!(project.update().written, None);
}

#[test]
fn an_occurrence_in_a_signature_with_a_malformed_range_is_passed_over() {
    let project = Project::new();
    let mut index = described("use `b`");
    let malformed = Occurrence { range: vec![0, 9, 8], symbol: symbol("C#"), ..Default::default() };
    let signature = index.documents[0].symbols[0].signature_documentation.as_mut().unwrap();
    signature.occurrences.insert(0, malformed.clone());
    index.external_symbols[0].signature_documentation.as_mut().unwrap().occurrences.push(malformed);
    write(&project, &index);
    assert_eq!(project.update().files, 1);
    let found = results(&project, "T where scip.InSignature { target = code.Symbol T }");
    assert_eq!(found, quoted(&[&symbol("B#")]));
}

/// Writes what an earlier version wrote of a file that uses the function `one` in some lines, and may define it in one.
fn write_earlier(database: &FactDatabase, path: &str, defined: Option<u64>, used: &[u64]) {
    let (file, one) = (json!({ "key": path }), json!({ "key": symbol("one().") }));
    let range = |line: u64| json!({ "line": line, "column": 4, "endLine": line, "endColumn": 7 });
    let keys = |facts: Vec<Json>| facts.into_iter().map(|key| json!({ "key": key })).collect::<Vec<Json>>();
    let at = |line: &u64, role: &str| json!({ "file": file, "range": range(*line), "symbol": one, "role": role });
    let defined: Vec<u64> = defined.into_iter().collect();
    let definition = |line: &u64| json!({ "symbol": one, "file": file, "range": range(*line) });
    let definitions = defined.iter().map(|line| json!({ "key": definition(line), "value": {} }));
    let mut occurrences: Vec<Json> = defined.iter().map(|line| at(line, "definition")).collect();
    occurrences.extend(used.iter().map(|line| at(line, "reference")));
    let description =
        json!({ "name": "one", "kind": "function", "signature": "fn one()", "documentation": ["What `one` does."] });
    let described = defined.iter().map(|_| json!({ "key": { "symbol": one, "file": file }, "value": description }));
    let named = defined.iter().map(|_| json!({ "lower": "one", "symbol": one }));
    let info = json!({ "key": file, "value": { "language": "rust", "columns": "utf8" } });
    let batches = json!([
        { "predicate": "code.Digest.1", "facts": [{ "key": path, "value": format!("{:032x}", used.len()) }] },
        { "predicate": "code.FileInfo.1", "facts": [info] },
        { "predicate": "code.SymbolInfo.1", "facts": described.collect::<Vec<Json>>() },
        { "predicate": "code.Name.1", "facts": keys(named.collect()) },
        { "predicate": "code.Definition.1", "facts": definitions.collect::<Vec<Json>>() },
        { "predicate": "code.Reference.1", "facts": keys(used.iter().map(|line| at(line, "reference")).collect()) },
        { "predicate": "code.Occurrence.1", "facts": keys(occurrences) },
    ]);
    database.write_json(batches.to_string().as_bytes(), Some(path)).unwrap();
}

/// An index of an earlier version: `lib.rs` defines `one` in line 2, and `old.rs` uses `one` in lines 3 and 5. In the
/// incremental database, `old.rs` uses it in line 7 alone.
fn earlier() -> Project {
    let project = Project::new();
    let schema = || Schema::parse("code.angle", CODE_SCHEMA).unwrap();
    let base = FactDatabase::create(project.database(), schema()).unwrap();
    write_earlier(&base, "lib.rs", Some(2), &[]);
    write_earlier(&base, "old.rs", None, &[3, 5]);
    base.complete().unwrap();
    let options = Store::options().base(base.store()).hide_units(["old.rs"]);
    let top = FactDatabase::create_with(options, increment_path(&project.database(), 1), schema()).unwrap();
    write_earlier(&top, "old.rs", None, &[7]);
    top.complete().unwrap();
    top.close().unwrap();
    base.close().unwrap();
    project
}

#[test]
fn an_index_of_an_earlier_version_is_read_with_its_increments() {
    let project = earlier();
    let reader = project.reader();
    assert_eq!(reader.files().unwrap(), ["lib.rs", "old.rs"]);
    let (library, old) = (reader.file("lib.rs").unwrap(), reader.file("old.rs").unwrap());
    let outline: Vec<_> = reader.outline(&library).unwrap().map(Result::unwrap).collect();
    let [defined] = outline.as_slice() else { panic!("{outline:?}") };
    assert_eq!((defined.what.name.as_str(), defined.place.span.line, defined.place.extent), ("one", 1, None));
    assert_eq!(reader.outline(&old).unwrap().count(), 0);
    let one = reader.resolve("one").unwrap();
    assert_eq!((one.as_slice(), reader.search("on", 10).unwrap()), (&[defined.symbol][..], one.clone()));
    let described = reader.describe(one[0]).unwrap();
    assert_eq!((described.kind.as_str(), described.signature.as_str()), ("function", "fn one()"));
    assert_eq!(described.documentation, ["What `one` does."]);
    let references: Vec<_> =
        reader.references(one[0]).unwrap().into_iter().map(|place| (place.path, place.span.line)).collect();
    assert_eq!(references, [("old.rs".to_owned(), 6)]);
    assert_eq!(reader.uses(&old).unwrap().len(), 1);
    assert!(diagnostics(&reader).is_empty());
}

#[test]
fn an_index_of_an_earlier_version_is_replaced_by_an_update_and_its_increments_do_not_fit_the_new_one() {
    let project = earlier();
    let increment = increment_path(&project.database(), 1);
    let left = std::fs::read(&increment).unwrap();
    write(&project, &described("use `b`"));
    let updated = project.update();
    assert_eq!(updated.written, Some(project.database()));
    assert_eq!((updated.added, updated.changed, updated.removed), (1, 0, 2));
    assert_eq!(project.names(), ["code.ful", "index.scip", "project"]);
    let messages = || {
        let found = diagnostics(&project.reader()).into_iter().map(|diagnostic| diagnostic.message);
        found.collect::<Vec<String>>()
    };
    // A process that is killed before it removes the increments leaves them.
    std::fs::write(&increment, left).unwrap();
    assert_eq!(index_files(&project.database()).unwrap(), [project.database()]);
    assert_eq!((project.reader().files().unwrap(), messages().len()), (vec!["a.rs".to_owned()], 2));
    assert_eq!(project.update().written, None);
    write(&project, &described("use `c`"));
    assert_eq!(project.update().written.as_ref(), Some(&increment));
    assert_eq!(index_files(&project.database()).unwrap(), [project.database(), increment.clone()]);
    assert_eq!(messages(), ["use `c`", "unused"]);
}
