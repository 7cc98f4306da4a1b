//! The plain HTTP API under `/api/files`: the same store, the same codes, with entity tags for editors.

use serde_json::{Value, json};
use testkit::{Client, Request, Response};

use super::{Case, Tenant};

pub(super) const SETTINGS: &str = "";

fn body(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_else(|error| panic!("{error}: {}", response.text()))
}

fn get(t: &mut Tenant<'_>, target: &str) -> Response {
    t.api("GET", target, &[], "")
}

#[track_caller]
fn refused(response: &Response, status: u16, code: &str) {
    let said = body(response);
    assert_eq!((response.status, said["code"].as_str()), (status, Some(code)), "{said}");
    assert!(said["message"].as_str().is_some_and(|text| !text.is_empty()), "{said}");
    assert!(said["retryable"].is_boolean(), "{said}");
}

pub(super) fn cases() -> Vec<Case> {
    [contents(), tags(), refusals(), description()].into_iter().flatten().collect()
}

fn contents() -> Vec<Case> {
    vec![
        Case::new("api_a_file_is_put_and_got", |t| {
            let put = t.api("PUT", "/content?project=p&path=/a.txt", &[], "héllo");
            assert_eq!((put.status, &body(&put)["bytes_written"]), (200, &json!(6)));
            let got = get(t, "/content?project=p&path=/a.txt");
            assert_eq!((got.status, got.text()), (200, "héllo".to_owned()));
            assert_eq!(got.header("content-type"), Some("text/plain; charset=utf-8"));
            assert_eq!(t.read("/a.txt"), "héllo");
        }),
        Case::new("api_putting_replaces_unless_told_otherwise", |t| {
            for (query, text) in
                [("", "one"), ("", "two"), ("&mode=APPEND", "!"), ("&mode=OVERWRITE&offset=1", "W")]
            {
                let put = t.api("PUT", &format!("/content?project=p&path=/a{query}"), &[], text);
                assert_eq!(put.status, 200, "{}", put.text());
            }
            assert_eq!(t.read("/a"), "tWo!");
        }),
        Case::new("api_ranges_of_a_file", |t| {
            t.put("/a", "0123456789");
            assert_eq!(get(t, "/content?project=p&path=/a&offset=3&length=4").text(), "3456");
            assert_eq!(get(t, "/content?project=p&path=/a&offset=99").text(), "");
        }),
        Case::new("api_deleting", |t| {
            t.put("/d/a", "x");
            t.put("/d/b", "x");
            refused(&t.api("DELETE", "/content?project=p&path=/d", &[], ""), 409, "NOT_EMPTY");
            let deleted = t.api("DELETE", "/content?project=p&path=/d&recursive=true", &[], "");
            assert_eq!((deleted.status, &body(&deleted)["deleted_count"]), (200, &json!(2)));
            assert!(!t.exists("/d"));
        }),
        Case::new("api_moving", |t| {
            t.put("/a", "x");
            let arguments = json!({ "project": "p", "from_path": "/a", "to_path": "/b" }).to_string();
            let moved = t.api("POST", "/rename", &[("Content-Type", "application/json")], &arguments);
            assert_eq!((moved.status, &body(&moved)["moved_count"]), (200, &json!(1)));
            refused(
                &t.api("POST", "/rename", &[("Content-Type", "application/json")], &arguments),
                404,
                "NOT_FOUND",
            );
        }),
        Case::new("api_stat_list_and_search_answer_as_the_tools_do", |t| {
            t.put("/d/a.md", "a hurdy-gurdy");
            t.wait_indexed();
            assert_eq!(body(&get(t, "/stat?project=p&path=/d/a.md")), t.stat("/d/a.md"));
            assert_eq!(body(&get(t, "/list?project=p&depth=2")), t.ok("file_list", json!({ "depth": 2 })));
            let found = body(&get(t, "/search?project=p&query=hurdy-gurdy"));
            assert_eq!(found, t.ok("file_search", json!({ "query": "hurdy-gurdy" })));
            assert_eq!(found["chunks"][0]["file_path"], "/d/a.md");
        }),
        Case::new("api_former_contents", |t| {
            t.put("/a", "old");
            t.put("/a", "new");
            let versions = body(&get(t, "/versions?project=p&path=/a"));
            let version = versions["versions"][0]["version"].as_i64().expect("a version");
            let old = get(t, &format!("/version?project=p&path=/a&version={version}"));
            assert_eq!((old.status, old.text()), (200, "old".to_owned()));
            let arguments = json!({ "project": "p", "path": "/a", "version": version }).to_string();
            assert_eq!(
                t.api("POST", "/restore", &[("Content-Type", "application/json")], &arguments).status,
                200
            );
            assert_eq!(t.read("/a"), "old");
        }),
        Case::new("api_projects_of_the_caller", |t| {
            t.put("/a", "12345");
            t.ok("file_write", json!({ "project": "q", "path": "/b", "content": "12" }));
            let projects = body(&get(t, "/projects"));
            let mut shown: Vec<String> = projects["projects"]
                .as_array()
                .unwrap()
                .iter()
                .map(|each| {
                    format!("{} {} {}", each["project"].as_str().unwrap(), each["files"], each["bytes"])
                })
                .collect();
            shown.sort();
            assert_eq!(shown, ["p 1 5", "q 1 2"]);
            assert_eq!(body(&get(&mut t.stranger(), "/projects"))["projects"], json!([]));
        }),
    ]
}

fn tags() -> Vec<Case> {
    vec![
        Case::new("api_the_entity_tag_is_that_of_the_content", |t| {
            t.put("/a", "one");
            let first = get(t, "/content?project=p&path=/a").header("etag").expect("an ETag").to_owned();
            assert_eq!(first, format!("\"{}\"", t.stat("/a")["content_hash"].as_str().unwrap()));
            let range = get(t, "/content?project=p&path=/a&offset=1");
            assert_eq!(range.header("etag"), Some(first.as_str()), "of the whole file");
            let put = t.api("PUT", "/content?project=p&path=/a", &[], "two");
            assert_ne!(put.header("etag"), Some(first.as_str()));
            assert_eq!(put.header("etag"), get(t, "/content?project=p&path=/a").header("etag"));
        }),
        Case::new("api_what_the_client_has_is_not_sent_again", |t| {
            t.put("/a", "one");
            let tag = get(t, "/content?project=p&path=/a").header("etag").expect("an ETag").to_owned();
            let again = t.api("GET", "/content?project=p&path=/a", &[("If-None-Match", &tag)], "");
            assert_eq!((again.status, again.body.len()), (304, 0));
            t.put("/a", "two");
            assert_eq!(
                t.api("GET", "/content?project=p&path=/a", &[("If-None-Match", &tag)], "").status,
                200
            );
        }),
        Case::new("api_a_change_of_another_state_is_412", |t| {
            t.put("/a", "one");
            let tag = get(t, "/content?project=p&path=/a").header("etag").expect("an ETag").to_owned();
            assert_eq!(t.api("PUT", "/content?project=p&path=/a", &[("If-Match", &tag)], "two").status, 200);
            refused(
                &t.api("PUT", "/content?project=p&path=/a", &[("If-Match", &tag)], "three"),
                412,
                "PRECONDITION_FAILED",
            );
            refused(
                &t.api("DELETE", "/content?project=p&path=/a", &[("If-Match", &tag)], ""),
                412,
                "PRECONDITION_FAILED",
            );
            assert_eq!(t.read("/a"), "two");
        }),
        Case::new("api_a_file_that_must_be_new", |t| {
            let first = t.api("PUT", "/content?project=p&path=/a", &[("If-None-Match", "*")], "one");
            assert_eq!(first.status, 200, "{}", first.text());
            refused(
                &t.api("PUT", "/content?project=p&path=/a", &[("If-None-Match", "*")], "two"),
                412,
                "PRECONDITION_FAILED",
            );
            assert_eq!(t.read("/a"), "one");
        }),
        Case::new("api_a_change_under_a_key_happens_once", |t| {
            for _ in 0..2 {
                let put = t.api("PUT", "/content?project=p&path=/a&mode=APPEND&idempotency_key=k", &[], "x");
                assert_eq!(put.status, 200, "{}", put.text());
            }
            assert_eq!(t.read("/a"), "x");
        }),
    ]
}

fn refusals() -> Vec<Case> {
    let codes: &[(&str, &str, u16, &str)] = &[
        ("GET", "/content?project=p&path=/nope", 404, "NOT_FOUND"),
        ("GET", "/content?project=p&path=nope", 400, "INVALID_PATH"),
        ("GET", "/content?project=p%20q&path=/a", 400, "INVALID_PATH"),
        ("GET", "/content?project=p&path=/d", 409, "IS_DIRECTORY"),
        ("GET", "/content?project=p&path=/f&offset=-1", 400, "INVALID_OFFSET"),
        ("GET", "/search?project=p&query=%20", 400, "INVALID_QUERY"),
        ("GET", "/list?project=p&path=/nope", 404, "NOT_FOUND"),
        ("GET", "/list?project=p&depth=-1", 400, "INVALID_OFFSET"),
        ("DELETE", "/content?project=p&path=/d", 409, "NOT_EMPTY"),
        ("PUT", "/content?project=p&path=/f/below", 409, "NOT_DIRECTORY"),
        ("PUT", "/content?project=p&path=/d", 409, "IS_DIRECTORY"),
        ("GET", "/version?project=p&path=/f&version=1234567", 404, "NOT_FOUND"),
    ];
    let codes = codes.iter().enumerate().map(|(number, (method, target, status, code))| {
        let name = format!(
            "f140_api_{}_{}_{number}",
            code.to_lowercase(),
            target.split('?').next().unwrap_or_default().trim_start_matches('/')
        );
        Case::new(name, move |t| {
            t.put("/d/a", "x");
            t.put("/f", "x");
            refused(&t.api(method, target, &[], "x"), *status, code);
        })
    });
    let others = [
        Case::new("api_parameters_are_checked", |t| {
            for target in [
                "/stat",
                "/stat?project=p&nonsense=1",
                "/stat?project=p&project=q",
                "/content?project=p&path=/a&offset=x",
                "/stat?project=%zz",
            ] {
                let response = get(t, target);
                assert_eq!(response.status, 400, "{target}: {}", response.text());
                assert!(body(&response)["code"].is_string());
            }
        }),
        Case::new("api_paths_and_methods_that_are_not_there", |t| {
            assert_eq!(get(t, "/nonsense").status, 404);
            let response = t.api("POST", "/content?project=p&path=/a", &[], "x");
            assert_eq!(response.status, 405);
            assert!(response.header("allow").is_some_and(|allow| allow.contains("PUT")), "{response:?}");
        }),
        Case::new("api_a_body_that_is_not_utf_8", |t| {
            let request = Request::new("PUT", "/api/files/content?project=p&path=/a")
                .bearer(Some(&t.key))
                .body(vec![0xff, 0xfe]);
            let response = t.client.connection.send(&request).expect("an answer");
            refused(&response, 400, "INVALID_QUERY");
            assert!(!t.exists("/a"));
        }),
        Case::new("f013_api_without_a_credential", |t| {
            let request = Request::new("GET", "/api/files/projects");
            let response = t.client.connection.send(&request).expect("an answer");
            assert_eq!(response.status, 401, "{}", response.text());
            assert!(response.header("www-authenticate").is_some());
        }),
        Case::new("f012_api_keeps_tenants_apart", |t| {
            t.put("/a", "mine");
            let mut other = t.stranger();
            refused(&get(&mut other, "/content?project=p&path=/a"), 404, "NOT_FOUND");
            refused(&other.api("DELETE", "/content?project=p&path=/a", &[], ""), 404, "NOT_FOUND");
            assert_eq!(t.read("/a"), "mine");
        }),
    ];
    codes.chain(others).collect()
}

fn description() -> Vec<Case> {
    vec![
        Case::new("api_the_description_is_complete_and_its_references_resolve", |t| {
            let request = Request::new("GET", "/api/openapi.json").bearer(Some(&t.key));
            let response = t.client.connection.send(&request).expect("an answer");
            assert_eq!(response.status, 200);
            let document = body(&response);
            assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1")));
            assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
            let mut ids = std::collections::BTreeSet::new();
            for (path, methods) in document["paths"].as_object().expect("paths") {
                assert!(path.starts_with("/api/files/"), "{path}");
                for (method, operation) in methods.as_object().expect("methods") {
                    assert!(["get", "put", "post", "delete"].contains(&method.as_str()), "{method}");
                    let id = operation["operationId"].as_str().expect("an operationId").to_owned();
                    assert!(ids.insert(id.clone()), "{id} is there twice");
                    assert!(operation["responses"]["200"]["description"].is_string(), "{id}");
                    for parameter in operation["parameters"].as_array().expect("parameters") {
                        assert!(
                            parameter["name"].is_string()
                                && parameter["in"] == "query"
                                && parameter["schema"].is_object(),
                            "{parameter}"
                        );
                    }
                }
            }
            assert!(ids.len() >= 12, "{ids:?}");
            for reference in references(&document) {
                let pointer = reference.trim_start_matches('#');
                assert!(document.pointer(pointer).is_some(), "{reference}");
            }
        }),
        Case::new("api_answers_are_as_described", |t| {
            t.put("/d/a.md", "a hurdy-gurdy");
            t.put("/d/a.md", "a hurdy-gurdy again");
            let request = Request::new("GET", "/api/openapi.json").bearer(Some(&t.key));
            let document = body(&t.client.connection.send(&request).expect("an answer"));
            let targets = [
                "/stat?project=p&path=/d",
                "/stat?project=p&path=/no",
                "/list?project=p&depth=3",
                "/search?project=*&query=hurdy",
                "/versions?project=p&path=/d/a.md",
            ];
            for target in targets {
                let path = target.split('?').next().unwrap_or_default();
                let schema = document.pointer(&format!(
                    "/paths/~1api~1files{}/get/responses/200/content/application~1json/schema",
                    path.replace('/', "~1")
                ));
                let schema = schema.unwrap_or_else(|| panic!("no schema for {target}"));
                let answer = body(&get(t, target));
                let validator = jsonschema::validator_for(schema).expect("a schema");
                let wrong: Vec<String> =
                    validator.iter_errors(&answer).map(|error| error.to_string()).collect();
                assert!(wrong.is_empty(), "{target}: {wrong:?}\n{answer}");
            }
        }),
        Case::new("api_tools_answer_as_their_schemas_say", |t| {
            t.put("/d/a.md", "a hurdy-gurdy");
            let listed = t.client.request("tools/list", json!({}));
            for (tool, arguments) in [
                ("file_stat", json!({ "path": "/d" })),
                ("file_read", json!({ "path": "/d/a.md" })),
                ("file_read", json!({ "path": "/nope" })),
                ("file_list", json!({})),
                ("file_search", json!({ "query": "hurdy" })),
                ("file_write", json!({ "path": "/x", "content": "x" })),
                ("file_versions", json!({ "path": "/d/a.md" })),
            ] {
                let described = listed.result()["tools"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|each| each["name"] == tool)
                    .unwrap();
                let validator = jsonschema::validator_for(&described["outputSchema"]).expect("a schema");
                let answer = t.call(tool, arguments.clone());
                let wrong: Vec<String> =
                    validator.iter_errors(answer.structured()).map(|error| error.to_string()).collect();
                assert!(wrong.is_empty(), "{tool} {arguments}: {wrong:?}");
            }
        }),
    ]
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => {
            let own = map.get("$ref").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(map.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}
