//! `cuebook mcp` as a client holds it.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
#[cfg(target_os = "linux")]
use cuebook_tests::faults::processes::{browsers, leftovers, signal};
use cuebook_tests::{McpClient, Shop, command};
use serde_json::json;

/// A server over the shop, with its runs in the shop's folder.
fn server(shop: &Shop, flags: &[&str]) -> Result<McpClient> {
    let out = shop.runs().display().to_string();
    McpClient::start(&[&["--out", &out], flags].concat(), shop.runs())
}

#[test]
fn a_client_logs_in_and_orders_with_the_tools_that_it_knows() -> Result<()> {
    let shop = Shop::open()?;
    let mut client = server(&shop, &[])?;
    let tools = client.request("tools/list", json!({}))?;
    ensure!(
        tools["tools"].as_array().is_some_and(|tools| tools.len() == 20) && tools["nextCursor"].is_null(),
        "{tools}"
    );

    let page = client.call("browser_navigate", json!({ "url": shop.url("/login") }))?;
    ensure!(
        page.text.starts_with("### Result\nok: navigate") && page.text.contains("button \"Log in\" [c"),
        "{page:?}"
    );
    let fields =
        json!([{ "target": "label=Email", "value": "ann" }, { "target": "label=Password", "value": "correct-horse" }]);
    let filled = client.call("browser_fill_form", json!({ "fields": fields }))?;
    // Both in one line, and nothing of what was set is said again.
    ensure!(!filled.is_error && filled.text.starts_with("### Result\nok: setValue [c"), "{filled:?}");
    ensure!(!filled.text.contains("correct-horse") && filled.text.contains("nothing else changed"), "{filled:?}");
    let entered = client.call("browser_click", json!({ "target": "button \"Log in\"", "element": "the button" }))?;
    ensure!(entered.text.contains("the page is now") && entered.text.contains("/dashboard"), "{entered:?}");
    let chosen =
        client.call("browser_select_option", json!({ "target": "label=Product", "values": ["Notebook, $12.90"] }))?;
    ensure!(!chosen.is_error, "{chosen:?}");
    let ordered = client.call("browser_click", json!({ "target": "button \"Order\"" }))?;
    ensure!(ordered.text.contains("needs consent") && shop.state()["orders"] == json!([]), "{ordered:?}");
    let agreed = client.call("browser_confirm", json!({ "id": "q1", "decision": "allow" }))?;
    ensure!(agreed.text.contains("/order/5001") && !agreed.is_error, "{agreed:?}");
    assert_eq!(shop.state()["orders"].as_array().map(Vec::len), Some(1));
    let picture = client.call("browser_take_screenshot", json!({}))?;
    assert_eq!(picture.pictures, 1, "{picture:?}");

    let closed = client.call("browser_close", json!({}))?;
    let dir = closed.text.lines().find_map(|line| line.strip_prefix("log: ")).context("no log")?.to_owned();
    ensure!(client.leave()?.success());
    let judged = shop.cuebook(&["judge", &dir])?;
    assert_eq!(judged.code, 0, "{judged:?}");
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(Path::new(&dir).join("report.json"))?)?;
    assert_eq!((report["result"].as_str(), report["steps"].as_array().map(Vec::len)), (Some("ok"), Some(7)));
    Ok(())
}

#[test]
fn one_tool_with_selectors_and_a_stored_secret_logs_in() -> Result<()> {
    let shop = Shop::open()?;
    let secrets = shop.runs().join("secrets.toml");
    let text = format!("[password]\nvalue = \"correct-horse\"\norigins = [\"{}\"]\n", shop.origin());
    std::fs::write(&secrets, text)?;
    #[cfg(unix)]
    std::fs::set_permissions(&secrets, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let mut client = server(&shop, &["--tools", "dom", "--secrets", &secrets.display().to_string()])?;
    let page = client.call("browser_dom", json!({ "action": "goto", "url": shop.url("/login") }))?;
    ensure!(page.text.contains("form#login: 3 inputs"), "{page:?}");
    let sequence = json!({ "action": "execute_sequence", "steps": [
        { "action": "key_press", "selector": "input[type=email], #email", "text": "ann" },
        { "action": "key_press", "selector": "#password", "credential_ref": "password" },
        { "action": "click", "selector": "button[type=submit]" },
    ] });
    let entered = client.call("browser_dom", sequence)?;
    ensure!(entered.text.contains("/dashboard") && !entered.is_error, "{entered:?}");
    assert_eq!(shop.state()["logins"], json!([{ "user": "ann", "accepted": true }]));
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error_that_says_what_would_and_the_server_goes_on() -> Result<()> {
    let shop = Shop::open()?;
    let mut client = server(&shop, &[])?;
    client.call("browser_navigate", json!({ "url": shop.url("/counter") }))?;
    for (tool, arguments, said) in [
        ("browser_click", json!({ "target": "c999" }), "`c999` is no candidate"),
        ("browser_click", json!({ "target": "the big button" }), "name an element by its id (c3)"),
        ("browser_click", json!({ "x": 1 }), "it takes target, element"),
        ("browser_clack", json!({}), "there is no tool \"browser_clack\""),
        ("browser_tabs", json!({ "action": "select", "tab": "t7" }), "there is no tab \"t7\"; open are t1"),
        ("browser_run_plan", json!({ "plan": { "steps": [{ "type": "clack" }] } }), "clack"),
        ("browser_navigate", json!({ "url": "http://10.0.0.1/" }), "is not a public address"),
        ("browser_navigate", json!({ "url": "file:///etc/passwd" }), "file: URLs are not allowed"),
        ("browser_confirm", json!({ "id": "q9", "decision": "allow" }), "no question is open"),
    ] {
        let answered = client.call(tool, arguments)?;
        ensure!(answered.is_error && answered.text.contains(said), "{tool}: {answered:?}");
    }
    client.write("{\"jsonrpc\": \"2.0\", \"id\"\n")?;
    let long = client.call("browser_find", json!({ "text": "x".repeat(10_000_000) }))?;
    ensure!(long.is_error && long.text.len() < 2_000, "{}", long.text.len());
    let clicked = client.call("browser_click", json!({ "target": "button \"Count\"" }))?;
    ensure!(clicked.text.starts_with("### Result\nok: click button \"Count\""), "{clicked:?}");
    assert_eq!(shop.hits("counter"), 1);
    Ok(())
}

#[test]
fn a_message_that_is_no_json_is_said_to_be_skipped() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = command()?;
    server.arg("mcp").env("TMPDIR", folder.path()).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut server = server.spawn()?;
    let mut input = server.stdin.take().context("no standard input")?;
    input.write_all(b"{\"jsonrpc\": \"2.0\", \"id\"\n")?;
    drop(input);
    let output = server.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(said.contains("Ignoring unparsable incoming message"), "{said}");
    Ok(())
}

#[test]
fn a_dialog_is_a_state_that_a_tool_ends_and_its_words_are_in_the_question() -> Result<()> {
    let shop = Shop::open()?;
    let mut client = server(&shop, &[])?;
    client.call("browser_navigate", json!({ "url": shop.url("/dialogs") }))?;
    let asked = client.call("browser_click", json!({ "target": "button \"Ask to confirm\"" }))?;
    ensure!(asked.text.contains("### Modal state\n- [\"confirm\" dialog with message \"Subscribe"), "{asked:?}");
    let answered = client.call("browser_handle_dialog", json!({ "accept": true }))?;
    let question = format!("acceptDialog \"Subscribe to the price list?\" on {}", shop.origin());
    ensure!(answered.text.contains(&question), "{answered:?}");
    let meanwhile = client.call("browser_click", json!({ "target": "c1" }))?;
    ensure!(meanwhile.is_error && meanwhile.text.contains("answer question q1"), "{meanwhile:?}");
    let denied = client.call("browser_confirm", json!({ "id": "q1", "decision": "deny" }))?;
    ensure!(denied.is_error && denied.text.contains("confirmationDenied"), "{denied:?}");
    let dismissed = client.call("browser_handle_dialog", json!({ "accept": false }))?;
    ensure!(!dismissed.is_error && dismissed.text.contains("button \"Show alert\""), "{dismissed:?}");
    client.call("browser_click", json!({ "target": "button \"Show alert\"" }))?;
    let accepted = client.call("browser_handle_dialog", json!({ "accept": true }))?;
    ensure!(!accepted.is_error && !accepted.text.contains("consent"), "an alert has one answer: {accepted:?}");
    Ok(())
}

#[test]
fn a_client_that_can_ask_a_person_is_asked_through() -> Result<()> {
    let shop = Shop::open()?;
    let out = shop.runs().display().to_string();
    let mut client = McpClient::with(&json!({ "elicitation": {} }), &["--out", &out], shop.runs())?;
    client.call("browser_navigate", json!({ "url": shop.url("/dialogs") }))?;
    client.call("browser_click", json!({ "target": "button \"Ask to confirm\"" }))?;
    let accepted = client.call("browser_handle_dialog", json!({ "accept": true }))?;
    ensure!(accepted.text.contains("ok: acceptDialog") && !accepted.is_error, "{accepted:?}");
    ensure!(client.questions.len() == 1 && client.questions[0].contains("Subscribe"), "{:?}", client.questions);
    Ok(())
}

#[test]
fn a_call_that_is_cancelled_ends_at_once_and_the_next_one_works() -> Result<()> {
    let shop = Shop::open()?;
    let mut client = server(&shop, &[])?;
    client.call("browser_navigate", json!({ "url": shop.url("/counter") }))?;
    let began = Instant::now();
    let waiting = json!({ "name": "browser_wait_for", "arguments": { "text": "never there" } });
    let id = client.begin("tools/call", waiting)?;
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }))?;
    let clicked = client.call("browser_click", json!({ "target": "button \"Count\"" }))?;
    ensure!(!clicked.is_error && shop.hits("counter") == 1, "{clicked:?}");
    // The text would have been waited for longer.
    ensure!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    Ok(())
}

#[test]
fn progress_goes_to_a_client_that_asks_for_it_grows_and_ends_before_the_answer() -> Result<()> {
    let shop = Shop::open()?;
    let mut client = server(&shop, &[])?;
    let (opened, progress) = client.follow("browser_navigate", json!({ "url": shop.url("/counter") }))?;
    ensure!(!opened.is_error && !progress.is_empty(), "{opened:?} {progress:?}");
    let count = json!({ "type": "click", "targetRef": "button \"Count\"" });
    let (ran, progress) = client.follow("browser_run_plan", json!({ "plan": [count, count, count] }))?;
    let numbers = || progress.iter().map(|one| one["progress"].as_f64().unwrap_or_default());
    ensure!(!ran.is_error && numbers().is_sorted_by(|one, next| one < next), "{progress:?}");
    let last = progress.last().context("no progress")?;
    ensure!(last["progress"] == 3.0 && last["total"] == 3.0, "{last}");
    ensure!(last["message"].as_str().is_some_and(|text| text.starts_with("ok: click button \"Count\"")), "{last}");
    let (_, progress) = client.follow("browser_wait_for", json!({ "time": 2.5 }))?;
    ensure!(progress.iter().any(|one| one["message"] == "2 s"), "{progress:?}");
    let before = client.notifications.len();
    client.call("browser_run_plan", json!({ "plan": [count] }))?;
    client.call("browser_snapshot", json!({}))?;
    assert_eq!(client.notifications.len(), before, "nobody asked");
    Ok(())
}

#[test]
fn the_roots_of_a_client_narrow_what_the_policy_opens_and_follow_its_changes() -> Result<()> {
    let shop = Shop::open()?;
    let folder = tempfile::tempdir()?;
    let base = folder.path().canonicalize()?;
    for (name, text) in [("own/a.txt", "own"), ("other/b.txt", "other")] {
        std::fs::create_dir_all(base.join(name).parent().context("a folder")?)?;
        std::fs::write(base.join(name), text)?;
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(base.join("other/b.txt"), base.join("own/linked.txt"))?;
    let (out, opened) = (shop.runs().display().to_string(), base.display().to_string());
    let flags = ["--out", &out, "--root", &opened];
    let mut client = McpClient::with(&json!({ "roots": { "listChanged": true } }), &flags, shop.runs())?;
    client.roots = vec![format!("file://{}", base.join("own").display())];
    client.call("browser_navigate", json!({ "url": shop.url("/editors") }))?;
    assert_eq!(client.asked_for_roots, 0, "no file was named");
    let upload = |client: &mut McpClient, path: &str| {
        client.call("browser_file_upload", json!({ "target": "css=input[type=file]", "paths": [path] }))
    };
    let outside = base.join("other/b.txt").display().to_string();
    for path in [outside.as_str(), "../other/b.txt", "linked.txt", "/etc/passwd"] {
        let refused = upload(&mut client, path)?;
        ensure!(refused.is_error && refused.text.contains("the roots of the client are"), "{path}: {refused:?}");
    }
    let own = upload(&mut client, "a.txt")?;
    ensure!(!own.is_error && client.asked_for_roots > 0, "{own:?}");
    client.roots = vec![format!("file://{}", base.join("other").display()), "file:///etc".to_owned()];
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }))?;
    let other = upload(&mut client, &outside)?;
    ensure!(!other.is_error, "{other:?}");
    let unopened = upload(&mut client, "/etc/hostname")?;
    ensure!(
        unopened.is_error && !unopened.text.contains("the roots of the client"),
        "a root opens nothing: {unopened:?}"
    );
    Ok(())
}

#[test]
fn the_schemas_have_the_ids_of_the_page_only_where_they_were_asked_for() -> Result<()> {
    let shop = Shop::open()?;
    let mut client = server(&shop, &["--live-schema"])?;
    assert_eq!(client.hello["capabilities"]["tools"]["listChanged"], true, "{:?}", client.hello);
    let targets = |client: &mut McpClient| -> Result<serde_json::Value> {
        let tools = client.request("tools/list", json!({}))?["tools"].take();
        let click = tools.as_array().and_then(|all| all.iter().find(|tool| tool["name"] == "browser_click"));
        Ok(click.context("no browser_click")?["inputSchema"]["properties"]["target"]["enum"].clone())
    };
    assert_eq!(targets(&mut client)?, json!(null));
    let page = client.call("browser_navigate", json!({ "url": shop.url("/counter") }))?;
    let ids = targets(&mut client)?;
    let shown = ids.as_array().context("no ids")?.iter().filter_map(|id| id.as_str());
    ensure!(
        shown.clone().count() > 0 && shown.clone().all(|id| page.text.contains(&format!("[{id}]"))),
        "{ids} {page:?}"
    );
    client.call("browser_click", json!({ "target": "button \"Count\"" }))?;
    client.call("browser_snapshot", json!({}))?;
    client.call("browser_navigate", json!({ "url": shop.url("/login"), "session": "another" }))?;
    let changes = |client: &McpClient| {
        client.notifications.iter().filter(|one| one["method"] == "notifications/tools/list_changed").count()
    };
    assert_eq!(changes(&client), 1, "{:?}", client.notifications);
    client.call("browser_navigate", json!({ "url": shop.url("/login") }))?;
    assert_eq!(targets(&mut client)?.as_array().map(|now| *now == *ids.as_array().expect("ids")), Some(false));
    assert_eq!(changes(&client), 2);
    let quiet = server(&shop, &[])?;
    ensure!(quiet.hello["capabilities"]["tools"]["listChanged"] != true, "{:?}", quiet.hello);
    Ok(())
}

#[test]
fn three_tools_are_enough_and_all_of_them_share_a_session() -> Result<()> {
    let shop = Shop::open()?;
    let mut slim = server(&shop, &["--tools", "slim"])?;
    let page = slim.call("browser_look", json!({ "url": shop.url("/counter") }))?;
    ensure!(page.text.contains("button \"Count\" [c"), "{page:?}");
    let count = json!({ "type": "click", "targetRef": "button \"Count\"" });
    slim.call("browser_run_plan", json!({ "plan": { "steps": [count] } }))?;
    let read = slim.call("browser_extract", json!({}))?;
    ensure!(read.text.contains("Counted by the server: 1"), "{read:?}");
    let missing = slim.call("browser_click", json!({ "target": "c1" }))?;
    ensure!(missing.is_error && missing.text.contains("there are browser_look, browser_run_plan"), "{missing:?}");

    let mut all = server(&shop, &["--tools", "all"])?;
    let tools = all.request("tools/list", json!({}))?;
    ensure!(tools["tools"].as_array().is_some_and(|tools| tools.len() > 20), "{tools}");
    all.call("browser_look", json!({ "url": shop.url("/counter") }))?;
    let dom = all.call("browser_dom", json!({ "action": "click", "selector": "css=main button" }))?;
    ensure!(!dom.is_error, "{dom:?}");
    let clicked = all.call("browser_click", json!({ "target": "button \"Count\"" }))?;
    ensure!(!clicked.is_error && shop.hits("counter") == 3, "{clicked:?}");
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left_when_the_client_the_server_or_the_browser_dies() -> Result<()> {
    let shop = Shop::open()?;
    let opened = || -> Result<McpClient> {
        let mut client = server(&shop, &[])?;
        client.call("browser_navigate", json!({ "url": shop.url("/counter") }))?;
        ensure!(!browsers(shop.runs()).is_empty(), "the browser has its profile elsewhere");
        Ok(client)
    };
    let is_empty = |shop: &Shop| browsers(shop.runs()).is_empty();
    ensure!(
        opened()?.leave()?.success() && shop.eventually(|shop| leftovers(shop.runs()).is_empty()),
        "a client that ends"
    );

    let mut killed = opened()?;
    killed.server.kill()?;
    ensure!(shop.eventually(is_empty), "a server that is killed");

    let mut client = opened()?;
    for browser in browsers(shop.runs()) {
        signal("-KILL", browser);
    }
    ensure!(shop.eventually(is_empty));
    let gone = client.call("browser_click", json!({ "target": "button \"Count\"" }))?;
    ensure!(gone.is_error && gone.text.contains("the next call starts a new one"), "{gone:?}");
    let anew = client.call("browser_navigate", json!({ "url": shop.url("/counter") }))?;
    ensure!(!anew.is_error && anew.text.contains("button \"Count\""), "{anew:?}");
    Ok(())
}
