//! Facts that are printed are read as the same facts.

use fulgurite_facts::{
    Expansion, FactId, FactSink, PredicateId, Printer, Reads, Schema, Type, Value, decode, encode, write_batch,
};

use crate::memory::Memory;
use crate::random_types::{Random, predicate_id, random_type, random_value};

/// All facts as batches, as `facts dump` prints them.
fn dumped(schema: &Schema, memory: &Memory) -> String {
    let lookup = |id| memory.fact_by_id(id);
    let mut printer = Printer::new(schema, &lookup);
    let mut batches = Vec::new();
    for (index, (predicate, ..)) in memory.facts().iter().enumerate() {
        let fact = printer.fact(FactId::FIRST.plus(index as u64), Expansion::FLAT).expect("stored facts print");
        let name = schema.predicate(*predicate).expect("facts are of the schema").full_name();
        batches.push(format!(r#"{{ "predicate": "{name}", "facts": [{fact}] }}"#));
    }
    format!("[{}]", batches.join(",\n"))
}

/// Prints all facts, and reads them again.
fn check(schema: &Schema, memory: &Memory) {
    let text = dumped(schema, memory);
    let mut read = Memory::default();
    write_batch(schema, text.as_bytes(), &mut read).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(read.facts(), memory.facts(), "{text}");
}

#[test]
fn nothing_is_printed_and_read_outside_of_records_too() {
    let schema = "schema j.1 {
        predicate List : [maybe string]
        predicate Value : string -> maybe nat
        predicate Key : maybe string
        predicate Records : [maybe { x : string }]
        predicate Nested : [maybe maybe nat]
        predicate Field : { m : maybe maybe nat, s : { a : maybe nat | b } }
        }";
    let schema = Schema::parse("j.angle", schema).expect("the schema is right");
    let batches = r#"[
        { "predicate": "j.List", "facts": [{ "key": ["a", null] }] },
        { "predicate": "j.Value", "facts": [{ "key": "a", "value": null }, { "key": "b", "value": 0 }] },
        { "predicate": "j.Key", "facts": [{ "key": null }, { "key": "" }] },
        { "predicate": "j.Records", "facts": [{ "key": [null, {}, { "x": "a" }] }] },
        { "predicate": "j.Nested", "facts": [{ "key": [null, { "just": null }, { "just": 1 }, 2] }] },
        { "predicate": "j.Field", "facts": [{ "key": { "s": { "a": null } } },
                                            { "key": { "m": { "just": null }, "s": { "b": {} } } }] } ]"#;
    let mut memory = Memory::default();
    write_batch(&schema, batches.as_bytes(), &mut memory).unwrap_or_else(|error| panic!("{error}"));
    check(&schema, &memory);

    let just = |value: Value| Value::Maybe(Some(Box::new(value)));
    let nested = schema.find("j.Nested").expect("it is declared");
    let fact = memory.facts().iter().find(|fact| fact.0 == nested.id).expect("it was written");
    let number = |number: u64| just(just(Value::Nat(number)));
    let expected = Value::Array(vec![Value::Maybe(None), just(Value::Maybe(None)), number(1), number(2)]);
    assert_eq!(decode(&nested.key, &fact.1), Ok(expected));
}

#[test]
fn batches_are_read_in_all_forms_of_glean() {
    let schema = "schema j.1 { predicate P : string  predicate Q : { p : P } }";
    let schema = Schema::parse("j.angle", schema).expect("the schema is right");
    let batches = r#"[
        { "schema_id": "0123" },
        { "facts": [{ "id": 1, "key": "a" }, { "key": "b" }], "schema_id": "0123", "predicate": "j.P.1" },
        { "predicate": { "name": "j.Q", "version": 1 }, "facts": [{ "key": { "p": 1 } }] } ]"#;
    let mut memory = Memory::default();
    assert_eq!(write_batch(&schema, batches.as_bytes(), &mut memory).unwrap_or_else(|error| panic!("{error}")), 3);
    assert_eq!(memory.facts().len(), 3);
}

#[test]
fn random_facts_are_printed_and_read_as_the_same_facts() {
    let name = |id: PredicateId| format!("P{}", id.get() - PredicateId::FIRST.get());
    for seed in 1..=200 {
        let mut random = Random(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed) | 1);
        let types: Vec<Type> = (0..3).map(|index| random_type(&mut random, index, 3)).collect();
        let declared = types.iter().enumerate();
        let declared: Vec<String> =
            declared.map(|(index, ty)| format!("predicate P{index} : {}", ty.display(&name))).collect();
        let schema = format!("schema j.1 {{\n{}\n}}", declared.join("\n"));
        let schema = Schema::parse("j.angle", &schema).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{schema}"));
        let mut memory = Memory::default();
        for (index, ty) in types.iter().enumerate() {
            for _ in 0..4 {
                let Some(value) = random_value(&mut random, ty, &memory) else { continue };
                let key = encode(ty, &value).expect("the value is of the type");
                memory.define(predicate_id(index), &key, &[]).expect("a fact without a value");
            }
        }
        check(&schema, &memory);
    }
}
