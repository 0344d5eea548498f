//! `cuebook mcp --http`: several clients of one server, and who is refused.

use anyhow::{Context as _, Result, ensure};
use cuebook_tests::{HttpClient, HttpServer, Shop};
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Agents that work at once; in the longer tier, twenty do a whole suite.
const AGENTS: usize = 6;

fn server(shop: &Shop, flags: &[&str]) -> Result<HttpServer> {
    let out = shop.runs().display().to_string();
    HttpServer::start(&[&["--out", &out], flags].concat(), shop.runs())
}

fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}

/// The accounts of the site, and how it greets them.
const ACCOUNTS: [(&str, &str, &str); 2] = [("ann", "correct-horse", "Ann"), ("user@example.com", "hunter2", "Sam")];

/// Logs in and looks at who is logged in, while others do the same in the same browser.
async fn log_in(client: &HttpClient<'_>, shop: &Shop, agent: usize) -> Result<()> {
    let [own, other] = [ACCOUNTS[agent % 2], ACCOUNTS[(agent + 1) % 2]];
    let page = client.call("browser_navigate", json!({ "url": shop.url("/login") })).await?;
    ensure!(!page.is_error && page.text.contains("button \"Log in\""), "{agent}: {page:?}");
    let fields = json!([{ "target": "label=Email", "value": own.0 }, { "target": "label=Password", "value": own.1 }]);
    let filled = client.call("browser_fill_form", json!({ "fields": fields })).await?;
    ensure!(!filled.is_error, "{agent}: {filled:?}");
    let entered = client.call("browser_click", json!({ "target": "button \"Log in\"" })).await?;
    ensure!(!entered.is_error && entered.text.contains("/dashboard"), "{agent}: {entered:?}");
    let again = client.call("browser_navigate", json!({ "url": shop.url("/dashboard") })).await?;
    ensure!(again.text.contains(own.2) && !again.text.contains(other.2), "{agent}: {again:?}");
    Ok(())
}

#[test]
fn agents_at_once_each_have_a_context_of_their_own() -> Result<()> {
    let shop = Shop::open()?;
    let server = server(&shop, &[])?;
    runtime()?.block_on(async {
        let agents = (0..AGENTS).map(|agent| {
            let (server, shop) = (&server, &shop);
            async move {
                let client = HttpClient::of(server).await?;
                log_in(&client, shop, agent).await?;
                let closed = client.call("browser_close", json!({})).await?;
                ensure!(closed.text.contains("log: "), "{closed:?}");
                client.leave().await
            }
        });
        try_join_all(agents).await
    })?;
    let state = shop.state();
    let logins = state["logins"].as_array().context("expected logins")?;
    for (user, ..) in ACCOUNTS {
        let of_user = json!({ "user": user, "accepted": true });
        assert_eq!(logins.iter().filter(|login| **login == of_user).count(), AGENTS / 2, "{logins:?}");
    }
    assert_eq!(logins.len(), AGENTS);
    Ok(())
}

#[test]
fn a_named_session_is_shared_and_an_unnamed_one_is_not() -> Result<()> {
    let shop = Shop::open()?;
    let server = server(&shop, &[])?;
    runtime()?.block_on(async {
        let (ann, bob) = (HttpClient::of(&server).await?, HttpClient::of(&server).await?);
        let url = shop.url("/counter");
        ann.call("browser_navigate", json!({ "url": url, "session": "both" })).await?;
        let shared = bob.call("browser_click", json!({ "target": "button \"Count\"", "session": "both" })).await?;
        ensure!(!shared.is_error && shop.hits("counter") == 1, "{shared:?}");
        let own = bob.call("browser_snapshot", json!({})).await?;
        ensure!(!own.text.contains("Count"), "{own:?}");
        for (session, said) in [(json!("a/b"), "letters, digits"), (json!(7), "must be a text")] {
            let refused = ann.call("browser_snapshot", json!({ "session": session })).await?;
            ensure!(refused.is_error && refused.text.contains(said), "{refused:?}");
        }
        Ok(())
    })
}

#[test]
fn nobody_is_answered_without_the_token_under_another_name_or_from_a_page() -> Result<()> {
    let shop = Shop::open()?;
    let server = server(&shop, &["--token", "seven-of-nine"])?;
    assert_eq!(server.token, "seven-of-nine");
    runtime()?.block_on(async {
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let token = ("authorization", "Bearer seven-of-nine");
        for (headers, expected) in [
            (&[][..], 401),
            (&[("authorization", "Bearer seven-of-ten")], 401),
            (&[("authorization", "seven-of-nine")], 401),
            (&[token, ("host", "evil.test")], 403),
            (&[token, ("host", "localhost:1")], 403),
            (&[token, ("origin", "https://evil.test")], 403),
            (&[token, ("origin", "null")], 403),
        ] {
            let (status, _, reply) = server.post(headers, &list).await?;
            ensure!(status.as_u16() == expected && reply["result"] == Value::Null, "{headers:?}: {status} {reply}");
        }
        let long = json!({ "jsonrpc": "2.0", "id": 1, "method": "x".repeat(5 << 20) });
        let (status, ..) = server.post(&[token], &long).await?;
        ensure!(status.as_u16() == 413, "{status}");
        HttpClient::of(&server).await.context("and it goes on")?;
        Ok(())
    })
}

#[test]
fn a_client_of_the_protocol_without_sessions_consents_by_calling_again() -> Result<()> {
    const VERSION: &str = "2026-07-28";
    let shop = Shop::open()?;
    let server = server(&shop, &["--token", "seven-of-nine"])?;
    let call = async |tool: &str, arguments: Value, answered: Value| -> Result<Value> {
        let mut params = json!({ "name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        } });
        if let (Some(params), Value::Object(answered)) = (params.as_object_mut(), answered) {
            params.extend(answered);
        }
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers = [
            ("authorization", "Bearer seven-of-nine"),
            ("mcp-protocol-version", VERSION),
            ("mcp-method", "tools/call"),
            ("mcp-name", tool),
            // There are no sessions of the protocol: it means nothing.
            ("mcp-session-id", tool),
        ];
        let (status, _, reply) = server.post(&headers, &message).await?;
        ensure!(status.is_success(), "{tool}: {status} {reply}");
        Ok(reply["result"].clone())
    };
    runtime()?.block_on(async {
        call("browser_navigate", json!({ "url": shop.url("/dialogs") }), Value::Null).await?;
        call("browser_click", json!({ "target": "button \"Ask to confirm\"" }), Value::Null).await?;
        let accept = json!({ "accept": true });
        let asked = call("browser_handle_dialog", accept.clone(), Value::Null).await?;
        let question = asked["inputRequests"]["consent"]["params"]["message"].as_str().unwrap_or_default();
        ensure!(asked["resultType"] == "input_required" && question.contains("Subscribe"), "{asked}");
        let consent = json!({ "consent": { "action": "accept", "content": {} } });
        let forged = json!({ "requestState": "q99", "inputResponses": consent });
        let refused = call("browser_handle_dialog", accept.clone(), forged).await?;
        ensure!(refused["isError"] == true && refused.to_string().contains("there is no question"), "{refused}");
        let answered = json!({ "requestState": asked["requestState"], "inputResponses": consent });
        let done = call("browser_handle_dialog", accept, answered).await?;
        ensure!(done["isError"] != true && done.to_string().contains("ok: acceptDialog"), "{done}");
        Ok(())
    })
}
