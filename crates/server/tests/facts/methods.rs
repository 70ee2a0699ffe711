//! Each method, with its fields.

use serde_json::{Value as Json, json};

use crate::client::get;
use crate::fixture::{Fixture, NUMBERS, json_of};

fn read(fixture: &Fixture, target: &str) -> Json {
    json_of(&get(target).ask(fixture.address).expect(200))
}

#[test]
fn databases_are_listed_with_name_hash_and_state() {
    let fixture = Fixture::new();
    let listed = read(&fixture, "/listDatabases");
    let [code, empty] = listed["databases"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&code["repo"]["name"], &empty["repo"]["name"]), (&json!("code"), &json!("empty")));
    assert_eq!(code["status"], "Incomplete");
    let hash = code["repo"]["hash"].as_str().unwrap();
    assert!(hash.len() == 32 && code["repo"]["hash"] != empty["repo"]["hash"], "{listed}");
    assert_eq!(read(&fixture, &format!("/getDatabase?repo=code/{hash}"))["database"], *code);
    let refused = get(&format!("/getDatabase?repo=empty/{hash}")).ask(fixture.address).expect(404);
    assert!(refused.body.contains("has the hash"), "{refused:?}");
    get("/getDatabase?repo=other").ask(fixture.address).expect(404);
    let refused = get("/getDatabase").ask(fixture.address).expect(400);
    assert!(refused.body.contains("code, empty"), "{refused:?}");
    fixture.database.complete().unwrap();
    assert_eq!(read(&fixture, "/getDatabase?repo=code")["database"]["status"], "Complete");
}

#[test]
fn the_schema_names_each_predicate_by_its_id_and_statistics_count_its_facts() {
    let fixture = Fixture::new();
    let info = read(&fixture, "/getSchemaInfo?repo=code");
    assert!(info["schema"].as_str().unwrap().contains("predicate Line : { file : File, number : nat } -> string"));
    let ids = info["predicateIds"].as_object().unwrap();
    let id_of = |name: &str| ids.iter().find(|(_, predicate)| predicate["name"] == name).unwrap().0;
    assert_eq!(ids[id_of("src.File")], json!({ "name": "src.File", "version": 1 }));
    let stats = read(&fixture, "/predicateStats?repo=code");
    assert_eq!(stats[id_of("src.Number")]["count"], NUMBERS);
    assert_eq!(stats[id_of("src.Line")]["count"], 3);
    assert_eq!(read(&fixture, "/predicateStats?repo=empty"), json!({}));
    let range = read(&fixture, "/factIdRange?repo=code");
    assert_eq!(range, json!({ "start": 1024, "finish": 1024 + 4 + NUMBERS }));
    assert_eq!(read(&fixture, "/firstFreeId?repo=code"), range["finish"]);
}

#[test]
fn a_fact_is_read_by_its_id() {
    let fixture = Fixture::new();
    let line = fixture.results("src.Line { number = 2 }", &json!({}));
    let id = line["facts"][0]["id"].as_u64().unwrap();
    let fact = read(&fixture, &format!("/queryFact?repo=code&id={id}"));
    assert_eq!((&fact["id"], &fact["value"], &fact["key"]["number"]), (&json!(id), &json!("line 2"), &json!(2)));
    assert_eq!(fact["key"]["file"].as_object().unwrap().len(), 1, "{fact}");
    let fact = read(&fixture, &format!("/queryFact?repo=code&id={id}&recursive=true"));
    assert_eq!(fact["key"]["file"]["key"], "a.rs");
    assert!(fact["type"].as_u64().unwrap() >= 1024);
    get("/queryFact?repo=code&id=999999").ask(fixture.address).expect(404);
    for wrong in ["", "&id=0", "&id=x", "&id=-1", "&id=1024&id=1025", "&id=1024&recursive=maybe"] {
        get(&format!("/queryFact?repo=code{wrong}")).ask(fixture.address).expect(400);
    }
}

#[test]
fn facts_are_read_by_their_ids_in_their_order_with_null_for_those_that_there_are_not() {
    let fixture = Fixture::new();
    let lines = fixture.results("src.Line _", &json!({}));
    let id = |number: usize| lines["facts"][number]["id"].as_u64().unwrap();
    let body = json!({ "facts": [{ "id": id(2), "recursive": true }, { "id": 999_999 }, { "id": id(0) }] });
    let found = json_of(&fixture.post("/userQueryFacts?repo=code", &body).expect(200));
    let facts = found["facts"].as_array().unwrap();
    assert_eq!((facts.len(), &facts[1]), (3, &Json::Null));
    assert_eq!((&facts[0]["value"], &facts[2]["value"]), (&json!("line 3"), &json!("line 1")));
    assert_eq!(facts[0]["key"]["file"]["key"], "a.rs");
    assert!(facts[2]["key"]["file"].get("key").is_none(), "{found}");
    assert_eq!(found["stats"]["result_count"], 3);
}

#[test]
fn results_have_the_facts_that_they_refer_to_in_place_or_apart() {
    let fixture = Fixture::new();
    let flat = fixture.results("src.Line { number = 1 }", &json!({}));
    let file = flat["facts"][0]["key"]["file"].clone();
    assert_eq!(file.as_object().unwrap().len(), 1, "only its id: {flat}");
    assert_eq!((&flat["nestedFacts"], &flat["type"]), (&json!({}), &json!("src.Line.1")));
    let whole = fixture.results("src.Line { number = 1 }", &json!({ "recursive": true }));
    assert_eq!(whole["facts"][0]["key"]["file"]["key"], "a.rs");
    assert_eq!(whole["stats"]["num_facts"], 2);
    let apart = json!({ "recursive": true, "expand_results": false });
    let apart = fixture.results("src.Line _", &apart);
    assert_eq!(apart["facts"][0]["key"]["file"], file);
    let id = file["id"].to_string();
    assert_eq!(apart["nestedFacts"], json!({ id: { "id": file["id"], "key": "a.rs" } }));
    let derived = json!({ "recursive": true, "expand_results": false });
    let derived = fixture.results("src.FileOf { number = 2 }", &derived);
    assert_eq!((&derived["facts"][0]["key"]["number"], &derived["nestedFacts"]), (&json!(2), &apart["nestedFacts"]));
    let value = fixture.results("F where src.Line { file = F, number = 1 }", &json!({ "expand_results": false }));
    assert_eq!(value["facts"], json!([{ "id": file["id"], "key": "a.rs" }]));
}

#[test]
fn statistics_and_omitted_results_are_as_the_options_say() {
    let fixture = Fixture::new();
    let options = json!({ "omit_results": true, "collect_facts_searched": true });
    let omitted = fixture.results("src.Number _", &options);
    assert_eq!((&omitted["facts"], &omitted["stats"]["result_count"]), (&json!([]), &json!(NUMBERS)));
    let searched = omitted["stats"]["facts_searched"].as_object().unwrap();
    assert_eq!(searched.values().next().unwrap(), NUMBERS);
    assert!(omitted["stats"]["elapsed_ns"].as_u64().unwrap() > 0);
    assert!(fixture.results("src.Number 1", &json!({}))["stats"].get("facts_searched").is_none());
}

#[test]
fn a_schema_is_validated() {
    let fixture = Fixture::new();
    let ask = |schema: &str| fixture.post("/validateSchema", &json!({ "schema": schema }));
    ask("schema a.1 { predicate B : string }").expect(200);
    let refused = ask("schema a.1 { predicate B : strin }").expect(400);
    assert!(refused.body.starts_with("schema:1:"), "{refused:?}");
    let refused = ask("schema a.1 { predicate B : string { 1 } }").expect(400);
    assert!(refused.body.starts_with("schema:1:"), "{refused:?}");
}

#[test]
fn the_page_has_all_of_its_files_and_a_policy() {
    let fixture = Fixture::new();
    for (path, kind, part) in [
        ("/", "text/html", "<h1>Facts</h1>"),
        ("/page.js", "text/javascript", "userQuery"),
        ("/page.css", "text/css", "textarea"),
    ] {
        let answer = get(path).ask(fixture.address).expect(200);
        assert!(answer.media_type() == kind && answer.body.contains(part), "{answer:?}");
        assert!(answer.header("content-security-policy").unwrap().contains("default-src 'none'"));
    }
}
