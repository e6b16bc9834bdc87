//! The protocol, as the client of the official SDK speaks it.

use crate::data::{DEMO, settings};
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams, ResourceContents};
use rmcp::service::{RoleClient, RunningService};
use serde_json::{Map, Value as Json, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::task::JoinHandle;
use trueup::Dataset;
use trueup::{Execution, Interrupt};
use trueup_mcp::{Caller, LocalDataset, ServeError, serve};

/// Starts a server over the demo. Returns it, and the client's end of its input and output.
fn server() -> (JoinHandle<Result<(), ServeError>>, DuplexStream) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(theirs);
    let dataset = LocalDataset::new(Dataset::open(DEMO.path()).unwrap(), Caller::default(), settings());
    (tokio::spawn(serve(dataset, input, output)), ours)
}

/// Runs a test with a client of a server over the demo.
fn with_client<F: Future<Output = ()>>(test: impl FnOnce(RunningService<RoleClient, ()>) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (server, ours) = server();
        test(().serve(ours).await.unwrap()).await;
        server.await.unwrap().unwrap();
    });
}

fn object(value: Json) -> Map<String, Json> {
    value.as_object().cloned().unwrap()
}

/// Checks that a value is a schema of the dialect of 2020-12, of the keywords that tools use.
fn check_schema(schema: &Json) {
    let schema = schema.as_object().unwrap();
    for (keyword, value) in schema {
        match keyword.as_str() {
            "type" if value.is_array() => assert_eq!(*value, json!(["string", "object"])),
            "type" => assert!(["string", "integer", "boolean", "array", "object"].contains(&value.as_str().unwrap())),
            "description" | "pattern" => assert!(!value.as_str().unwrap().is_empty()),
            "properties" => value.as_object().unwrap().values().for_each(check_schema),
            "items" => check_schema(value),
            "additionalProperties" if value.is_boolean() => {}
            "additionalProperties" => check_schema(value),
            "anyOf" => value.as_array().unwrap().iter().for_each(check_schema),
            "required" | "enum" => assert!(value.as_array().unwrap().iter().all(Json::is_string)),
            "minimum" | "maximum" => assert!(value.is_u64()),
            "default" => assert!(value.is_u64() || value.is_boolean()),
            other => panic!("the keyword `{other}` is not known"),
        }
    }
    let required = schema.get("required").and_then(Json::as_array).into_iter().flatten();
    assert!(required.clone().all(|name| schema["properties"].get(name.as_str().unwrap()).is_some()));
}

#[test]
fn tools_are_listed_with_short_schemas() {
    with_client(async |client| {
        let info = client.peer_info().unwrap();
        assert!(info.instructions.as_deref().unwrap().contains("never instructions"));
        let tools = client.list_all_tools().await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(
            names,
            [
                "overview",
                "find_fields",
                "find_values",
                "query",
                "compare",
                "what_changed",
                "benchmarks",
                "why",
                "insights",
                "export"
            ]
        );
        let schema = |tool: &rmcp::model::Tool| Json::Object((*tool.input_schema).clone()).to_string().chars().count();
        let characters: usize = tools.iter().map(schema).sum();
        assert!(characters <= 12_000, "{characters}");
        for tool in &tools {
            check_schema(&Json::Object((*tool.input_schema).clone()));
            let annotations = tool.annotations.as_ref().unwrap();
            assert_eq!(
                (annotations.read_only_hint, annotations.destructive_hint),
                (Some(tool.name != "export"), Some(false))
            );
        }
        client.cancel().await.unwrap();
    });
}

#[test]
fn each_tool_answers() {
    with_client(async |client| {
        for (tool, arguments) in [
            ("overview", json!({})),
            ("find_fields", json!({ "search": "revenue" })),
            ("find_values", json!({ "field": "attributionChannel" })),
            ("query", json!({ "metrics": ["leads", "spend"], "by": ["account"], "days": "last-month" })),
            (
                "compare",
                json!({ "metrics": ["leads", "avgCostPerLead"], "by": ["attributionChannel"], "days": "last-month" }),
            ),
            ("what_changed", json!({ "metric": "leads", "days": "last-month" })),
            ("benchmarks", json!({ "months": ["2024-09"] })),
            ("why", json!({ "metrics": ["leads"], "days": "last-month" })),
            ("insights", json!({})),
        ] {
            let call = CallToolRequestParams::new(tool).with_arguments(object(arguments));
            let result = client.call_tool(call).await.unwrap();
            assert_eq!(result.is_error, Some(false), "{tool}: {result:?}");
            let text = &result.content[0].as_text().unwrap().text;
            assert!(text.chars().count() <= 4_000 && result.content.len() == 1, "{tool}");
            assert!(result.structured_content.unwrap().get("version").is_some(), "{tool}");
        }
        let refused =
            CallToolRequestParams::new("query").with_arguments(object(json!({ "metrics": ["lead"], "days": "2024" })));
        let refused = client.call_tool(refused).await.unwrap();
        assert_eq!(refused.is_error, Some(true));
        let fault = refused.structured_content.unwrap();
        assert_eq!(fault["code"], "unknown-fields");
        assert!(["code", "message", "fix", "example"].iter().all(|name| fault[name].is_string()));
        assert!(client.call_tool(CallToolRequestParams::new("drop")).await.is_err());
        client.cancel().await.unwrap();
    });
}

#[test]
fn prompts_and_resources_are_read() {
    with_client(async |client| {
        let prompts = client.list_all_prompts().await.unwrap();
        let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!(names, ["monthly_review", "lead_quality", "explain_number"]);
        let ask = |name: &str, arguments: Json| {
            client.get_prompt(GetPromptRequestParams::new(name).with_arguments(object(arguments)))
        };
        let review = ask("monthly_review", json!({ "days": "2024-09" })).await.unwrap();
        let text = serde_json::to_string(&review.messages).unwrap();
        assert!(text.contains("Review 2024-09 for all accounts"), "{text}");
        assert!(ask("explain_number", json!({})).await.is_err());
        assert!(ask("nothing", json!({})).await.is_err());

        let read = |uri: &str| client.read_resource(ReadResourceRequestParams::new(uri));
        for (uri, words) in
            [("trueup://dataset", "30 accounts"), ("trueup://fields/bookRate", "bookedCustomers / customers")]
        {
            let read = read(uri).await.unwrap();
            assert!(
                matches!(&read.contents[0], ResourceContents::TextResourceContents { text, .. } if text.contains(words)),
                "{uri}"
            );
        }
        assert!(read("trueup://fields/nothing").await.is_err());
        assert!(read("file:///etc/passwd").await.is_err());
        assert_eq!(client.list_all_resources().await.unwrap().len(), 1);
        assert_eq!(client.list_all_resource_templates().await.unwrap().len(), 1);
        client.cancel().await.unwrap();
    });
}

/// Speaks the protocol line by line: calls `tool` with a token for progress, then says `after`, and asks for a sign of
/// life. Returns what the server says until then.
fn lines(tool: &str, after: Option<Json>) -> Vec<Json> {
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": tool, "arguments": { "metrics": ["leads"], "days": "last-month" }, "_meta": { "progressToken": "p" },
    } });
    let client = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let begin = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        call,
    ];
    let is_canceled = after.is_some();
    let ping = json!({ "jsonrpc": "2.0", "id": 8, "method": "ping" });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (server, ours) = server();
        let (read, mut write) = tokio::io::split(ours);
        for message in begin.into_iter().chain(after) {
            write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }
        let mut read = BufReader::new(read).lines();
        let mut said = Vec::new();
        let until = if is_canceled { 8 } else { 7 };
        if is_canceled {
            write.write_all(format!("{ping}\n").as_bytes()).await.unwrap();
        }
        while let Some(line) = read.next_line().await.unwrap() {
            let message: Json = serde_json::from_str(&line).unwrap();
            let is_last = message["id"] == until;
            said.push(message);
            if is_last {
                break;
            }
        }
        write.shutdown().await.unwrap();
        drop((read, write));
        server.await.unwrap().unwrap();
        said
    })
}

#[test]
fn progress_is_told_to_who_asks() {
    let said = lines("query", None);
    let progress: Vec<f64> = said
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| {
            assert_eq!(message["params"]["progressToken"], "p");
            message["params"]["progress"].as_f64().unwrap()
        })
        .collect();
    assert!(!progress.is_empty() && progress.is_sorted() && progress[0] > 0.0, "{said:?}");
}

#[test]
fn a_canceled_call_has_no_answer() {
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    let said = lines("query", Some(cancel));
    assert_eq!(said.iter().filter(|message| message["id"] == 8).count(), 1);
    assert!(said.iter().all(|message| message["id"] != 7), "{said:?}");
}

#[test]
fn an_interrupt_ends_a_call() {
    let interrupt = Interrupt::default();
    interrupt.cancel();
    let execution = Execution { interrupt, ..Execution::default() };
    let asked = json!({ "metrics": ["leads"], "days": "last-month" });
    assert_eq!(DEMO.toolbox().call("query", asked, &execution).unwrap_err().code, "canceled");
}
