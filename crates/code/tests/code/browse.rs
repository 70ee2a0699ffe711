//! Definitions, references and names of a small program.

use fulgurite_code::{Columns, Error, Outline, Relative, Role};
use protobuf::Message;
use scip::types::symbol_information::Kind;
use scip::types::{Diagnostic, PositionEncoding, Relationship, SymbolInformation};

use crate::support::{Project, diagnostics, document, implements, index, info, symbol};

fn project() -> Project {
    let project = Project::new();
    project.write(&[
        (
            "src/shape.rs",
            "struct «shape/Circle#»Circle;\nimpl ‹std/Display#›Display for ‹shape/Circle#›Circle { fn «shape/Circle#area().»area() {} }\n",
            vec![
                implements(info("shape/Circle#", Kind::Struct, "Circle"), "std/Display#"),
                info("shape/Circle#area().", Kind::Method, "area"),
            ],
        ),
        (
            "src/main.rs",
            "fn «main().»main() {\n    let «local 1»ä = \"🦀\"; ‹shape/Circle#area().›area(‹local 1›ä);\n}\n",
            vec![info("main().", Kind::Function, "main")],
        ),
    ]);
    project.update();
    project
}

#[test]
fn definitions_and_references_are_found_by_place_and_by_name() {
    let project = project();
    let reader = project.reader();
    assert_eq!(reader.files().unwrap(), ["src/main.rs", "src/shape.rs"]);
    let main = reader.file("./src/main.rs").unwrap();
    // Columns are bytes: `ä` has two and the crab four.
    let uses = reader.symbols_at(&main, 1, 24).unwrap();
    assert_eq!(uses.len(), 1);
    let area = uses[0].symbol;
    assert_eq!(reader.resolve("area").unwrap(), [area]);
    assert_eq!(reader.resolve("Circle::area").unwrap(), [area]);
    assert_eq!(reader.resolve("Circle.Area").unwrap(), [area]);
    assert_eq!(reader.resolve(&symbol("shape/Circle#area().")).unwrap(), [area]);
    let definitions = reader.definitions(area).unwrap();
    assert_eq!((definitions.len(), definitions[0].path.as_str(), definitions[0].span.line), (1, "src/shape.rs", 1));
    let references = reader.references(area).unwrap();
    assert_eq!(
        (references.len(), references[0].path.as_str(), references[0].role),
        (1, "src/main.rs", Role::Reference)
    );
    let described = reader.describe(area).unwrap();
    assert_eq!((described.name.as_str(), described.kind.as_str()), ("area", "method"));
    assert_eq!(described.documentation, ["What `area` does."]);
    assert_eq!(reader.describe(described.enclosing.unwrap()).unwrap().name, "Circle");
    let names = |outline: Outline<'_>| outline.map(|found| found.unwrap().what.name).collect::<Vec<_>>();
    assert_eq!(names(reader.outline(&main).unwrap()), ["main"]);
    assert_eq!(names(reader.whole_outline(&main).unwrap()), ["main", ""]);
    assert_eq!(reader.wide_line(&main, 1).unwrap().as_deref(), Some("    let ä = \"🦀\"; area(ä);"));
    assert_eq!(reader.wide_line(&main, 0).unwrap(), None);
}

#[test]
fn places_say_what_their_columns_count_as_it_depends_on_whether_the_text_was_there() {
    for (has_text, expected) in [(true, Columns::Utf8), (false, Columns::Utf16)] {
        let project = Project::new();
        let encoding = PositionEncoding::UTF16CodeUnitOffsetFromLineStart;
        let (mut document, text) = document("a.rs", "fn «a().»a() {} /* ä */ ‹a().›a()", encoding);
        document.symbols = vec![info("a().", Kind::Function, "a")];
        document.occurrences[1].diagnostics.push(Diagnostic { message: "unused".to_owned(), ..Default::default() });
        if has_text {
            std::fs::write(project.root().join("a.rs"), text).unwrap();
        }
        let mut index = index();
        index.documents.push(document);
        std::fs::write(project.scip(), index.write_to_bytes().unwrap()).unwrap();
        project.update();
        let reader = project.reader();
        let file = reader.file("a.rs").unwrap();
        let defined = reader.outline(&file).unwrap().next().unwrap().unwrap();
        let references = reader.references(defined.symbol).unwrap();
        // The `ä` before it has two bytes.
        let column = if has_text { 19 } else { 18 };
        assert_eq!((references[0].span.column, references[0].columns), (column, expected));
        let definitions = reader.definitions(defined.symbol).unwrap();
        assert_eq!((defined.place.columns, definitions[0].columns), (expected, expected));
        assert_eq!(diagnostics(&reader)[0].columns, expected);
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    let project = Project::new();
    project.write(&[("a.rs", "/* ä */ fn «a().»a() {}\nfn b() {}", vec![info("a().", Kind::Function, "a")])]);
    let path = project.root().join("a.rs");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, ["\u{feff}", &text].concat()).unwrap();
    project.update();
    let reader = project.reader();
    let file = reader.file("a.rs").unwrap();
    assert_eq!(reader.wide_line(&file, 0).unwrap().as_deref(), Some("/* ä */ fn a() {}"));
}

#[test]
fn a_position_right_behind_a_word_is_at_the_word() {
    let project = project();
    let reader = project.reader();
    let main = reader.file("src/main.rs").unwrap();
    for column in [3, 5, 7] {
        assert_eq!(reader.symbols_at(&main, 0, column).unwrap().len(), 1, "column {column}");
    }
    for column in [0, 2, 8] {
        assert!(reader.symbols_at(&main, 0, column).unwrap().is_empty(), "column {column}");
    }
}

#[test]
fn a_file_without_a_line_that_there_can_be_is_neither_a_place_nor_a_name() {
    let project = project();
    let reader = project.reader();
    for (text, expected) in [
        ("src/main.rs", "it is a file; ask about a line of it"),
        ("src/main.rs:0", "lines and columns begin at 1"),
        ("src/main.rs:0:0", "lines and columns begin at 1"),
        ("src/main.rs:1:0", "lines and columns begin at 1"),
        ("src/main.rs:0:4", "lines and columns begin at 1"),
    ] {
        let error = reader.symbols_asked(text).unwrap_err();
        assert!(matches!(error, Error::NotAPlace { .. }), "{error}");
        assert!(error.to_string().starts_with(&format!("{text}: {expected}")), "{error}");
    }
    assert!(matches!(reader.symbols_asked("src/none.rs:0"), Err(Error::NoSuchSymbol { .. })));
    assert!(matches!(reader.symbols_asked("src/none.rs:1"), Err(Error::NoSuchFile { .. })));
}

#[test]
fn names_are_searched_and_misspelt_ones_are_guessed() {
    let project = project();
    let reader = project.reader();
    let names = |text: &str| {
        let found = reader.search(text, 10).unwrap();
        found.iter().map(|symbol| reader.describe(*symbol).unwrap().name).collect::<Vec<_>>()
    };
    assert_eq!(names("A"), ["area", "main"]);
    assert_eq!(names("RC"), ["Circle"]);
    assert_eq!(names("none"), [""; 0]);
    assert_eq!(reader.search("", 2).unwrap().len(), 2);
    let Err(Error::NoSuchSymbol { similar, .. }) = reader.resolve("Circel") else { panic!("there is none") };
    assert_eq!(similar, ["Circle"]);
    let Err(Error::NoSuchFile { similar, .. }) = reader.file("main.rs") else { panic!("there is none") };
    assert_eq!(similar, ["src/main.rs"]);
    let elsewhere = reader.resolve("main::Area").unwrap_err().to_string();
    assert_eq!(elsewhere, "the index has no symbol `Area` within `main`; did you mean `Circle.area`?");
}

#[test]
fn nothing_is_proposed_for_a_text_that_is_too_long_for_a_name() {
    let project = Project::new();
    let long = "n".repeat(300);
    project.write(&[("a.rs", "fn «long().»long() {}", vec![info("long().", Kind::Function, &long)])]);
    project.update();
    let reader = project.reader();
    let Err(Error::NoSuchSymbol { similar, .. }) = reader.resolve(&long[1..]) else { panic!("there is none") };
    assert_eq!(similar, [""; 0]);
    let Err(Error::NoSuchFile { similar, .. }) = reader.file(&format!("{long}/a.rs")) else { panic!("there is none") };
    assert_eq!(similar, [""; 0]);
}

#[test]
fn a_search_returns_the_best_matches_whatever_their_order_in_the_index() {
    let project = Project::new();
    let names = ["Ab", "abcd", "abc", "xab", "ab", "xxab", "b"];
    let marked: String = (0..names.len()).map(|n| format!("fn «f{n}().»f{n}() {{}} ")).collect();
    let infos = names.iter().enumerate().map(|(n, name)| info(&format!("f{n}()."), Kind::Function, name));
    project.write(&[("a.rs", marked.as_str(), infos.collect())]);
    project.update();
    let reader = project.reader();
    let found = |limit: usize| {
        let found = reader.search("ab", limit).unwrap();
        found.iter().map(|symbol| reader.describe(*symbol).unwrap().name).collect::<Vec<_>>()
    };
    let all = ["Ab", "ab", "abc", "abcd", "xab", "xxab"];
    // Names that are equal in lower case are in no order.
    let in_order = |mut found: Vec<String>| {
        let equal = found.len().min(2);
        found[..equal].sort();
        found
    };
    for limit in 2..10 {
        assert_eq!(in_order(found(limit)), all[..all.len().min(limit)], "{limit}");
    }
    assert_eq!((found(0).len(), found(1)[0].to_lowercase().as_str()), (0, "ab"));
}

#[test]
fn a_symbol_is_summed_up_with_the_numbers_of_its_uses() {
    let project = Project::new();
    let base = info("Base#run().", Kind::Method, "run");
    let mut of_child = info("Child#run().", Kind::Method, "run");
    of_child.relationships.push(Relationship {
        symbol: symbol("Base#run()."),
        is_reference: true,
        ..Default::default()
    });
    project.write(&[
        ("base.rs", "fn «Base#run().»run() {} fn «Child#run().»run() {}", vec![base, of_child]),
        ("a.rs", "‹Base#run().›run() ‹Child#run().›run()", vec![]),
        ("b.rs", "‹Base#run().›run()", vec![]),
    ]);
    project.update();
    let reader = project.reader();
    for (name, references, files) in [("Base#run().", 3, 2), ("Child#run().", 3, 2)] {
        let found = reader.resolve(&symbol(name)).unwrap();
        let summary = reader.summary(found[0]).unwrap();
        assert_eq!((summary.references, summary.files), (references, files), "{name}");
        assert_eq!(reader.references(found[0]).unwrap().len() as u64, references, "{name}");
        assert_eq!(summary.located.places, reader.definitions(found[0]).unwrap());
        // Several symbols have each place once.
        assert_eq!(reader.references_of(&[found[0], found[0]]).unwrap(), reader.references(found[0]).unwrap());
    }
    let outside = reader.resolve(&symbol("std/Display#")).unwrap();
    let located = reader.located(outside[0]).unwrap();
    assert_eq!(located.rows().map(|place| place.is_some()).collect::<Vec<_>>(), [false]);
}

#[test]
fn the_beginning_of_a_name_is_found_in_any_case() {
    let project = Project::new();
    let marked = "struct «Greek#»ΟΔΟΣΗΜΑ; struct «Turkish#»İL;";
    let names = vec![info("Greek#", Kind::Struct, "ΟΔΟΣΗΜΑ"), info("Turkish#", Kind::Struct, "İL")];
    project.write(&[("a.rs", marked, names)]);
    project.update();
    let reader = project.reader();
    // A capital sigma at the end of a word would have another lower case than one within.
    for (text, name) in [("ΟΔΟΣ", "Greek#"), ("οδοσ", "Greek#"), ("il", "Turkish#"), ("İ", "Turkish#")] {
        assert_eq!(reader.search(text, 10).unwrap(), reader.resolve(&symbol(name)).unwrap(), "{text}");
    }
}

#[test]
fn what_is_in_an_impl_of_rust_is_a_member_of_the_type() {
    let project = Project::new();
    project.write(&[(
        "a.rs",
        "struct «m/Circle#»Circle; impl Circle { fn «m/impl#[Circle]area().»area(«m/impl#[Circle]area().(x)»x: u8) {} }\n\
         struct «m/Ring#»Ring<T>(T); impl<T> Ring<T> { fn «m/impl#[`Ring<T>`]width().»width() {} }",
        vec![
            info("m/Ring#", Kind::Struct, "Ring"),
            info("m/impl#[`Ring<T>`]width().", Kind::Method, "width"),
            info("m/Circle#", Kind::Struct, "Circle"),
            info("m/impl#[Circle]", Kind::TypeAlias, "Circle"),
            info("m/impl#[Circle]area().", Kind::Method, "area"),
            info("m/impl#[Circle]area().(x)", Kind::Parameter, "x"),
        ],
    )]);
    project.update();
    let reader = project.reader();
    let area = reader.resolve("Circle::area").unwrap()[0];
    let circle = reader.resolve("Circle").unwrap();
    assert_eq!((circle.len(), reader.describe(area).unwrap().enclosing), (1, Some(circle[0])));
    for name in ["Ring.width", "Ring<T>::width"] {
        let width = reader.resolve(name).unwrap()[0];
        assert_eq!(reader.describe(width).unwrap().enclosing, Some(reader.resolve("Ring").unwrap()[0]));
    }
    let parameter = reader.resolve("x").unwrap()[0];
    assert_eq!(reader.describe(parameter).unwrap().enclosing, Some(area));
    // The `impl` has no place, and is not found by name.
    assert_eq!(reader.search("circle", 10).unwrap(), circle);
}

/// Each `impl` of a type listed its parameters among the methods and fields of the type.
#[test]
fn type_parameters_are_no_members_and_those_of_an_impl_are_no_parts_of_the_type() {
    let project = Project::new();
    let parameter = |local: &str, of: &str| SymbolInformation {
        symbol: local.to_owned(),
        enclosing_symbol: symbol(of),
        ..info("", Kind::TypeParameter, "T")
    };
    project.write(&[(
        "a.rs",
        "struct «m/Ring#»Ring<«local 0»T>(T);\n\
         impl<«local 1»T> Ring<T> { fn «m/impl#[`Ring<T>`]width().»width() {} }",
        vec![
            info("m/Ring#", Kind::Struct, "Ring"),
            info("m/impl#[`Ring<T>`]width().", Kind::Method, "width"),
            parameter("local 0", "m/Ring#"),
            parameter("local 1", "m/impl#[`Ring<T>`]"),
        ],
    )]);
    project.update();
    let reader = project.reader();
    let ring = reader.resolve("Ring").unwrap()[0];
    let related = reader.hierarchy(ring).unwrap();
    let members = related.iter().filter(|(relative, _)| *relative == Relative::Member);
    let names: Vec<_> = members.map(|(_, member)| reader.describe(*member).unwrap().name).collect();
    assert_eq!(names, ["width"]);
    for (local, is_of_type) in [("local 0 a.rs", true), ("local 1 a.rs", false)] {
        let parameter = reader.resolve(local).unwrap()[0];
        assert_eq!(reader.describe(parameter).unwrap().enclosing == Some(ring), is_of_type, "{local}");
    }
}

#[test]
fn the_hierarchy_has_containers_members_and_implementations() {
    let project = project();
    let reader = project.reader();
    let related = |name: &str| {
        let symbol = reader.resolve(name).unwrap()[0];
        let found = reader.hierarchy(symbol).unwrap().into_iter();
        found.map(|(relative, other)| (relative, reader.describe(other).unwrap().name)).collect::<Vec<_>>()
    };
    let of_circle = related("Circle");
    assert!(of_circle.contains(&(Relative::Member, "area".to_owned())), "{of_circle:?}");
    assert!(of_circle.contains(&(Relative::Implements, "Display".to_owned())), "{of_circle:?}");
    assert!(related("area").contains(&(Relative::Container, "Circle".to_owned())));
    assert_eq!(related(&symbol("std/Display#")).last(), Some(&(Relative::ImplementedBy, "Circle".to_owned())));
}
