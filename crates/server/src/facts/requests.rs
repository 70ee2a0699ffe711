//! Queries as clients send them: `UserQuery`, `UserQueryBatch`, `UserQueryFacts`, `ValidateSchema`.

use std::time::Duration;

use fulgurite_facts::FactId;
use serde_json::Value as Json;

use crate::facts::fields::Fields;
use crate::http::refusal::Refusal;

/// A query.
pub struct UserQuery {
    pub text: String,
    pub options: Options,
}

/// Several queries, with the same options.
#[derive(Debug)]
pub struct UserQueryBatch {
    pub queries: Vec<String>,
    pub options: Options,
}

/// Facts by their ids.
pub struct UserQueryFacts {
    /// Each id, and whether the facts that it refers to are printed too.
    pub facts: Vec<(FactId, bool)>,
    pub options: Options,
}

/// What `UserQueryOptions` says.
#[derive(Debug, Default)]
pub struct Options {
    /// Also the facts that results refer to.
    pub recursive: bool,
    /// In their places, not in `nestedFacts`.
    pub expands: bool,
    pub results_max: Option<u64>,
    pub bytes_max: Option<u64>,
    pub time_max: Option<Duration>,
    pub continuation: Option<Vec<u8>>,
    pub collects_searched: bool,
    pub omits_results: bool,
}

impl UserQuery {
    /// # Errors
    /// 400 with the field that is wrong.
    pub fn of_body(body: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::of_body(body)?;
        let text = fields.text("query")?.ok_or_else(|| fields.wrong("query", "is missing: a query in Angle"))?;
        fields.refuse(&["predicate"], "write the predicate in the query")?;
        let options = options_and_others(&mut fields)?;
        fields.end()?;
        Ok(Self { text, options })
    }
}

impl UserQueryBatch {
    /// # Errors
    /// 400 with the field that is wrong.
    pub fn of_body(body: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::of_body(body)?;
        let queries = fields.texts("queries")?;
        let queries = queries.ok_or_else(|| fields.wrong("queries", "is missing: a list of queries in Angle"))?;
        if queries.len() > QUERIES_MAX {
            let what = format!("has {} queries; send at most {QUERIES_MAX} at once", queries.len());
            return Err(fields.wrong("queries", &what));
        }
        fields.refuse(&["predicate"], "write the predicate in each query")?;
        let options = options_and_others(&mut fields)?;
        fields.end()?;
        if options.continuation.is_some() {
            let message = "options.continuation is for one query; send it to /userQuery with its query";
            return Err(Refusal::bad_request(message));
        }
        Ok(Self { queries, options })
    }
}

impl UserQueryFacts {
    /// # Errors
    /// 400 with the field that is wrong.
    pub fn of_body(body: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::of_body(body)?;
        let mut facts = Vec::new();
        for mut fact in fields.objects("facts")? {
            let id = fact.number("id")?.and_then(FactId::new);
            let id = id.ok_or_else(|| fact.wrong("id", "must be the id of a fact"))?;
            let recursive = fact.flag("recursive")?;
            refuse_versions(&mut fact)?;
            fact.end()?;
            facts.push((id, recursive));
        }
        let options = options_and_others(&mut fields)?;
        fields.end()?;
        let of_queries = [
            ("continuation", options.continuation.is_some()),
            ("max_results", options.results_max.is_some()),
            ("collect_facts_searched", options.collects_searched),
        ];
        if let Some((name, _)) = of_queries.iter().find(|(_, is_set)| *is_set) {
            let message = format!("options.{name} is for queries; facts by id have no pages and are not searched");
            return Err(Refusal::bad_request(message));
        }
        Ok(Self { facts, options })
    }
}

/// The text of the schema in `ValidateSchema`.
///
/// # Errors
/// 400 with the field that is wrong.
pub fn schema_of_body(body: &[u8]) -> Result<String, Refusal> {
    let mut fields = Fields::of_body(body)?;
    let text = fields.text("schema")?.ok_or_else(|| fields.wrong("schema", "is missing: a schema in Angle"))?;
    fields.end()?;
    Ok(text)
}

/// The fields that both kinds of queries have.
fn options_and_others(fields: &mut Fields) -> Result<Options, Refusal> {
    refuse_versions(fields)?;
    fields.ignore(&["client_info"]);
    let of_encodings = encoding(fields)?;
    let mut options = match fields.object("options")? {
        Some(options) => self::options(options)?,
        None => Options { expands: true, ..Options::default() },
    };
    options.expands = of_encodings.unwrap_or(options.expands);
    Ok(options)
}

fn refuse_versions(fields: &mut Fields) -> Result<(), Refusal> {
    fields.refuse(
        &["predicate_version", "schema_version", "schema_id"],
        "the schema is that of the database; write versions in the query, as src.File.1",
    )
}

fn options(mut fields: Fields) -> Result<Options, Refusal> {
    match fields.any("syntax") {
        None => {}
        Some(Json::String(syntax)) if syntax == "ANGLE" => {}
        Some(Json::Number(number)) if number.as_u64() == Some(ANGLE) => {}
        Some(_) => return Err(fields.wrong("syntax", "must be \"ANGLE\" (or 2): other queries are not supported")),
    }
    fields.refuse(&["store_derived_facts"], "this server only reads; `fulgurite facts derive` stores them")?;
    fields.refuse(&["no_base64_binary"], "arrays of bytes are base 64")?;
    fields.refuse(&["debug"], "`fulgurite facts query --profile` shows what is searched")?;
    fields.refuse(&["just_check"], "a query is always run; limit its `max_results`")?;
    fields.refuse(&["expand_predicates"], "use `recursive`, which expands all facts")?;
    fields.ignore(&["use_bytecode"]);
    let options = Options {
        recursive: fields.flag("recursive")?,
        expands: fields.flag_or("expand_results", true)?,
        results_max: fields.limit("max_results")?,
        bytes_max: fields.limit("max_bytes")?,
        time_max: fields.limit("max_time_ms")?.map(Duration::from_millis),
        continuation: fields.object("continuation")?.map(continuation).transpose()?,
        collects_searched: fields.flag("collect_facts_searched")?,
        omits_results: fields.flag("omit_results")?,
    };
    fields.end()?;
    Ok(options)
}

/// Whether the first encoding that can be had expands results; `None` if there are no encodings.
fn encoding(fields: &mut Fields) -> Result<Option<bool>, Refusal> {
    let encodings = fields.objects("encodings")?;
    if encodings.is_empty() {
        return Ok(None);
    }
    for mut encoding in encodings {
        if let Some(mut json) = encoding.object("json")? {
            let expands = json.flag("expand_results")?;
            json.refuse(&["no_base64_binary"], "arrays of bytes are base 64")?;
            json.end()?;
            return Ok(Some(expands));
        }
    }
    Err(fields.wrong("encodings", "has none that is supported; use [{\"json\": {}}]"))
}

/// The bytes of a continuation. Of Glean's fields, ours has only one.
fn continuation(mut fields: Fields) -> Result<Vec<u8>, Refusal> {
    let text = fields.text("continuation")?.ok_or_else(|| fields.wrong("continuation", "is missing"))?;
    fields.end()?;
    let is_hexadecimal = text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hexadecimal {
        return Err(Refusal::bad_request("options.continuation is not one that a page of results had"));
    }
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16);
    let bytes: Result<Vec<u8>, _> = (0..text.len()).step_by(2).map(digits).collect();
    bytes.map_err(|error| Refusal::failure(format!("hexadecimal digits are no number: {error}")))
}

/// The number of Angle in `QuerySyntax`.
const ANGLE: u64 = 2;
/// So many queries a batch has at most. Its time is that of one query.
const QUERIES_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<Options, String> {
        let body = format!(r#"{{"query": "a.B _", {text}}}"#);
        UserQuery::of_body(body.as_bytes()).map(|query| query.options).map_err(|refusal| refusal.message.into_owned())
    }

    #[test]
    fn what_glean_defaults_to_is_the_default() {
        let all = options(
            r#""options": {"recursive": true, "max_results": 5, "max_bytes": 6, "max_time_ms": 7, "syntax": 2,
            "expand_results": false, "continuation": {"continuation": "00fF"}, "collect_facts_searched": true,
            "omit_results": true, "store_derived_facts": false, "no_base64_binary": false, "use_bytecode": true,
            "just_check": false, "expand_predicates": [], "debug": {"ir": false, "bytecode": false}},
            "client_info": {"name": "a"}, "predicate": """#,
        );
        let all = all.unwrap();
        assert!(all.recursive && !all.expands && all.collects_searched && all.omits_results);
        assert_eq!((all.results_max, all.bytes_max), (Some(5), Some(6)));
        assert_eq!(all.time_max, Some(Duration::from_millis(7)));
        assert_eq!(all.continuation.as_deref(), Some(&[0x00, 0xff][..]));
        let none = options(r#""options": null"#).unwrap();
        assert!(!none.recursive && none.expands && none.results_max.is_none() && none.continuation.is_none());
        assert!(!options(r#""encodings": [{"bin": {}}, {"json": {}}]"#).unwrap().expands);
        assert!(options(r#""encodings": [{"json": {"expand_results": true}}]"#).unwrap().expands);
    }

    #[test]
    fn a_field_that_is_wrong_is_named() {
        for (text, expected) in [
            (r#""options": {"max_result": 5}"#, "unknown field `options.max_result`"),
            (r#""options": {"max_results": 0}"#, "options.max_results must be at least 1"),
            (r#""options": {"max_results": -1}"#, "options.max_results must be a non-negative integer"),
            (r#""options": {"max_bytes": "5"}"#, "options.max_bytes must be a non-negative integer"),
            (r#""options": {"recursive": 1}"#, "options.recursive must be true or false"),
            (r#""options": {"syntax": 1}"#, "options.syntax must be \"ANGLE\""),
            (r#""options": {"store_derived_facts": true}"#, "options.store_derived_facts is not supported"),
            (r#""options": {"just_check": true}"#, "options.just_check is not supported"),
            (r#""options": {"expand_predicates": [{"name": "a.B"}]}"#, "options.expand_predicates is not supported"),
            (r#""options": {"debug": {"ir": false, "bytecode": true}}"#, "options.debug is not supported"),
            (r#""predicate": "a.B""#, "predicate is not supported"),
            (r#""predicate_version": 0"#, "predicate_version is not supported"),
            (r#""options": {"continuation": {"continuation": "0"}}"#, "is not one that a page"),
            (r#""options": {"continuation": {"continuation": "é0"}}"#, "is not one that a page"),
            (r#""options": {"continuation": {"continuation": "+f"}}"#, "is not one that a page"),
            (r#""options": {"continuation": {}}"#, "options.continuation.continuation is missing"),
            (r#""options": []"#, "options must be an object"),
            (r#""predicate_version": 2"#, "predicate_version is not supported"),
            (r#""encodings": [{"compact": {}}]"#, "encodings has none"),
            (r#""encodings": [7]"#, "encodings[0] must be an object"),
        ] {
            let refused = options(text).expect_err(text);
            assert!(refused.contains(expected), "{text}: {refused}");
        }
        let refused = |body: &str| UserQueryFacts::of_body(body.as_bytes()).err().unwrap().message;
        assert!(refused(r#"{"facts": [{"id": 1024}, {"id": 0}]}"#).contains("facts[1].id must be"));
        assert!(
            refused(r#"{"facts": [{"id": 1024, "recursiv": true}]}"#).contains("unknown field `facts[0].recursiv`")
        );
        for option in [r#""max_results": 5"#, r#""collect_facts_searched": true"#] {
            let body = format!(r#"{{"facts": [{{"id": 1024}}], "options": {{{option}}}}}"#);
            assert!(refused(&body).contains("is for queries"), "{option}");
        }
        assert!(UserQuery::of_body(b"{\"query\": 1}").err().unwrap().message.contains("query must be a string"));
        assert!(UserQuery::of_body(b"{\n\"query\": }").err().unwrap().message.contains("line 2 column"));
        assert!(UserQuery::of_body(b"[]").err().unwrap().message.contains("object"));
    }

    #[test]
    fn a_batch_has_a_list_of_queries_and_one_set_of_options() {
        let of_body = |body: &str| UserQueryBatch::of_body(body.as_bytes()).map_err(|refused| refused.message);
        let batch = of_body(r#"{"queries": ["a.B _", "a.C _"], "options": {"max_results": 5}, "predicate": ""}"#);
        let batch = batch.unwrap();
        assert_eq!((batch.queries.len(), batch.queries[1].as_str()), (2, "a.C _"));
        assert_eq!(batch.options.results_max, Some(5));
        let many = format!(r#"{{"queries": [{}"a.B _"]}}"#, r#""a.B _","#.repeat(QUERIES_MAX));
        for (body, expected) in [
            ("{}", "queries is missing"),
            (r#"{"queries": "a.B _"}"#, "queries must be an array"),
            (r#"{"queries": ["a.B _", 7]}"#, "queries[1] must be a string"),
            (r#"{"queries": [], "query": "a.B _"}"#, "unknown field `query`"),
            (r#"{"queries": [], "predicate": "a.B"}"#, "predicate is not supported"),
            (r#"{"queries": [], "options": {"continuation": {"continuation": "00"}}}"#, "is for one query"),
            (many.as_str(), "queries has 1001 queries; send at most 1000 at once"),
        ] {
            let refused = of_body(body).expect_err(body);
            assert!(refused.contains(expected), "{body}: {refused}");
        }
    }
}
