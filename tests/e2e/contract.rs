//! The contract of the command line: one document, exit codes, errors that say what to do.

use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use anyhow::Result;
use cuebook_tests::{CliOutput, Shop, command, cuebook};
use serde_json::json;

use super::replay::Changing;

#[test]
fn wrong_flags_are_a_report_with_exit_code_2() -> Result<()> {
    for args in [
        &["exec"][..],
        &["run", "x", "--url", "http://127.0.0.1:1/", "--timeout", "3"],
        &["observe", "http://127.0.0.1:1/", "--viewport", "big"],
        &["fly"],
    ] {
        let mut args = args.to_vec();
        args.push("--json");
        let ended = cuebook(&args)?;
        assert_eq!(ended.code, 2, "{args:?}: {ended:?}");
        assert_eq!(ended.json()?["result"], "invalid");
    }
    Ok(())
}

#[test]
fn every_violation_of_a_plan_has_code_path_and_message() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("plan.json");
    let plan = json!({ "version": "1.0", "candidates": {}, "steps": [
        { "type": "click", "targetRef": "missing" },
        { "type": "clik", "targetRef": "a" },
        { "type": "type", "targetRef": "a", "text": 5 },
        { "type": "click", "targetRef": "a", "post": [{ "kind": "urlMatches", "pattern": "(" }] }
    ] });
    std::fs::write(&path, plan.to_string())?;
    let ended = cuebook(&["check", &path.to_string_lossy(), "--json"])?;
    assert_eq!(ended.code, 2, "{ended:?}");
    let report = ended.json()?;
    let paths: Vec<_> =
        report["error"]["violations"].as_array().into_iter().flatten().map(|v| v["path"].clone()).collect();
    assert_eq!(paths, ["/steps/1/type", "/steps/2/text"], "{report:#}");

    let plan = json!({ "version": "1.0", "candidates": {}, "steps": [
        { "type": "click", "targetRef": "missing" },
        { "type": "waitFor", "condition": { "kind": "urlMatches", "pattern": "(" } },
        { "type": "navigate", "url": "javascript:alert(1)" }
    ] });
    std::fs::write(&path, plan.to_string())?;
    let report = cuebook(&["check", &path.to_string_lossy(), "--json"])?.json()?;
    let codes: Vec<_> =
        report["error"]["violations"].as_array().into_iter().flatten().map(|v| v["code"].clone()).collect();
    assert_eq!(codes, ["unknownTarget", "invalidCondition", "policyBlocked"], "{report:#}");
    Ok(())
}

#[test]
fn a_missing_browser_is_exit_code_3_and_says_how_to_get_one() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.exec(
        "/login",
        &json!({ "version": "1.0", "steps": [{ "type": "reload" }] }),
        &["--chrome", "/nowhere/chrome"],
    )?;
    assert_eq!(ended.code, 3, "{ended:?}");
    assert_eq!(ended.json()?["error"]["code"], "noBrowser");
    assert!(ended.stderr.contains("apt-get install chromium"), "{ended:?}");
    Ok(())
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_a_browser_starts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (plan, file, missing) = (path("plan.json"), path("file"), path("missing/file"));
    std::fs::write(&plan, json!({ "version": "1.0", "steps": [{ "type": "reload" }] }).to_string())?;
    std::fs::write(&file, "kept")?;
    let url = "http://127.0.0.1:9/";
    for words in [
        &["exec", &plan, "--url", url, "--save-storage", &missing][..],
        &["exec", &plan, "--url", url, "--downloads", &file],
        &["record", url, "--headless", "--output", &file],
        &["record", url, "--headless", "--force", "--output", &missing],
        &["propose", url, "--output", &file],
        &["propose", url, "--output", &missing],
    ] {
        let ended = cuebook(&[words, &["--chrome", "/nowhere/chrome", "--json"]].concat())?;
        assert_eq!(ended.code, 3, "{words:?}: {ended:?}");
        assert_eq!(ended.json()?["error"]["code"], "cannotWrite", "{words:?}: {ended:?}");
    }
    assert_eq!(std::fs::read_to_string(&file)?, "kept");
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 2, "something is left of a file that was to be written");
    Ok(())
}

#[test]
fn a_url_that_refuses_is_a_failed_start_step() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.cuebook(&["run", "click the button", "--url", "http://127.0.0.1:9/"])?;
    assert_eq!(ended.code, 1, "{ended:?}");
    let report = ended.json()?;
    assert_eq!(report["steps"][0]["origin"], "start");
    assert_eq!(report["steps"][0]["failure"]["cause"], "navigationFailed", "{report:#}");
    Ok(())
}

#[test]
fn a_page_that_never_settles_can_be_observed_and_operated() -> Result<()> {
    let shop = Shop::open()?;
    let observed = shop.cuebook(&["observe", &shop.url("/slow/restless"), "--format", "json"])?;
    assert_eq!(observed.code, 0, "{observed:?}");
    assert!(!observed.json()?["candidates"].as_array().map_or(0, Vec::len).eq(&0));
    let plan = json!({ "version": "1.0", "steps": [{ "type": "assert", "condition": { "kind": "titleMatches", "pattern": "." } },
        { "type": "waitFor", "condition": { "kind": "networkIdle", "timeoutMs": 1200 } }] });
    let report = shop.exec("/slow/restless", &plan, &["--no-repair"])?.json()?;
    assert_eq!(report["steps"][2]["failure"]["cause"], "effectUnknown", "{report:#}");
    Ok(())
}

#[test]
fn a_script_that_does_not_come_to_its_end_is_no_success() -> Result<()> {
    let shop = Shop::open()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("plan.json");
    let url = shop.url("/login");
    let by_role = |role: &str, name: &str| json!({ "strategy": "byRole", "role": role, "name": name });
    let candidates = json!({ "link": by_role("link", "Shop"), "button": by_role("button", "Log in"),
        "field": by_role("textbox", "Email") });
    for (steps, code) in [
        (
            json!([{ "type": "click", "targetRef": "link" }, { "type": "type", "targetRef": "field", "text": "x", "timeoutMs": 500 }]),
            "targetNotFound",
        ),
        (json!([{ "type": "click", "targetRef": "button", "post": [{ "kind": "newTab" }] }]), "postconditionFailed"),
        (json!([{ "type": "click", "targetRef": "c999" }]), "unknownTarget"),
    ] {
        std::fs::write(&path, json!({ "version": "1.0", "candidates": candidates, "steps": steps }).to_string())?;
        let script = ["run", "x", "--planner", "scripted", "--plan", &path.to_string_lossy(), "--url", &url];
        let ended = shop.cuebook(&script)?;
        assert_ne!(ended.code, 0, "{ended:?}");
        assert_eq!(ended.json()?["error"]["code"], code, "{ended:?}");
    }
    Ok(())
}

/// The proxy connects, so it alone knows why it could not.
#[test]
fn a_server_that_is_not_reached_fails_as_without_the_proxy() -> Result<()> {
    let shop = Shop::open()?;
    let closed = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    for (url, error) in [
        (format!("http://{closed}/"), "net::ERR_CONNECTION_REFUSED"),
        ("http://nobody.invalid/".to_owned(), "net::ERR_NAME_NOT_RESOLVED"),
        ("https://nobody.invalid/".to_owned(), "net::ERR_NAME_NOT_RESOLVED"),
    ] {
        let plan = json!({ "version": "1.0", "steps": [{ "type": "navigate", "url": url }] });
        let origin = url.trim_end_matches('/');
        let ended = shop.exec("/login", &plan, &["--allow", origin, "--no-repair"])?;
        let message = ended.json()?["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(ended.code == 1 && message.contains(error) && message.contains(origin), "{url}: {message}");
    }
    let script = format!("fetch('http://{closed}/', {{ mode: 'no-cors' }}).catch((error) => error.name)");
    let plan = json!({ "version": "1.0", "steps": [{ "type": "evaluate", "script": script }] });
    let flags = ["--allow", &format!("http://{closed}"), "--profile", "unleashed", "--no-repair"];
    let report = shop.exec("/login", &plan, &flags)?.json()?;
    let step = &report["steps"][1];
    assert_eq!(step["data"], "TypeError", "{report:#}");
    let logged = step["effects"]["consoleErrors"].to_string();
    assert!(logged.contains("net::ERR_CONNECTION_REFUSED") && !logged.contains("EMPTY_RESPONSE"), "{report:#}");
    Ok(())
}

#[test]
fn another_origin_needs_to_be_allowed() -> Result<()> {
    let shop = Shop::open()?;
    let elsewhere = format!("{}/login", shop.second_origin());
    let plan = json!({ "version": "1.0", "steps": [{ "type": "navigate", "url": elsewhere }] });
    let ended = shop.exec("/login", &plan, &[])?;
    assert_eq!(ended.code, 4, "{ended:?}");
    assert_eq!(ended.json()?["error"]["code"], "policyBlocked");
    let allowed = shop.exec("/login", &plan, &["--allow", shop.second_origin()])?;
    assert_eq!(allowed.code, 0, "{allowed:?}");
    Ok(())
}

/// Without the right to make a namespace, one that is asked for is an error, and otherwise the flags do.
#[test]
#[expect(clippy::print_stderr, reason = "what is skipped has to be in plain sight")]
fn without_the_right_to_a_namespace_only_a_run_that_asks_for_one_ends() -> Result<()> {
    let shop = Shop::open()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("plan.json");
    std::fs::write(&path, json!({ "version": "1.0", "steps": [{ "type": "reload" }] }).to_string())?;
    let out = folder.path().join("runs");
    let run = |isolation: &str| -> Result<Output> {
        let plain = command()?;
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]).arg(plain.get_program());
        command.arg("exec").arg(&path).args([
            "--json",
            "--isolation",
            isolation,
            "--url",
            &shop.url("/login"),
            "--out",
        ]);
        Ok(command.arg(&out).stderr(Stdio::null()).output()?)
    };
    let Some(flags) = run("auto").ok().filter(|flags| !flags.stdout.is_empty()) else {
        eprintln!("skipped: setpriv is missing, or needs root");
        return Ok(());
    };
    let report: serde_json::Value = serde_json::from_slice(&flags.stdout)?;
    assert_eq!((&report["result"], &report["isolation"]), (&json!("ok"), &json!("flags")), "{report:#}");
    let refused = run("namespace")?;
    let report: serde_json::Value = serde_json::from_slice(&refused.stdout)?;
    assert_eq!((refused.status.code(), &report["error"]["code"]), (Some(3), &json!("noBrowser")), "{report:#}");
    let message = report["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("CAP_SYS_ADMIN") && message.contains("unshare"), "{message}");
    Ok(())
}

#[test]
fn a_report_says_what_the_policy_covered_and_explain_which_rule_decides() -> Result<()> {
    let shop = Shop::open()?;
    let plan = json!({ "version": "1.0", "steps": [{ "type": "reload" }] });
    let contained = shop.exec("/login", &plan, &["--isolation", "auto"])?.json()?;
    assert_eq!((&contained["result"], &contained["enforcement"]), (&json!("ok"), &json!("egress")), "{contained:#}");
    // Which of the two depends on the rights of the one who runs the tests.
    assert!(
        ["namespace", "flags"].map(|isolation| json!(isolation)).contains(&contained["isolation"]),
        "{contained:#}"
    );
    let flags = shop.exec("/login", &plan, &["--isolation", "flags"])?.json()?;
    assert_eq!((&flags["enforcement"], &flags["isolation"]), (&json!("egress"), &json!("flags")), "{flags:#}");
    let asked = shop.exec("/login", &plan, &["--isolation", "namespace"])?;
    match contained["isolation"] == "namespace" {
        true => assert_eq!(asked.json()?["isolation"], "namespace", "{asked:?}"),
        false => assert_eq!(asked.code, 3, "{asked:?}"),
    }
    let direct = shop.exec("/login", &plan, &["--direct"])?.json()?;
    assert_eq!(direct["isolation"], serde_json::Value::Null);
    assert_eq!(direct["enforcement"], "navigation");
    assert!(direct["enforcementNote"].as_str().is_some_and(|note| note.contains("proxy")), "{direct:#}");
    let url = "https://img.cdn.example/a.png";
    let ground = ["--url", "https://shop.example", "--allow", "pay.example", "--json"];
    let explain = |more: &[&str]| cuebook(&[&["policy", "explain", url], &ground[..], more].concat());
    let denied = explain(&[])?;
    assert_eq!((denied.code, &denied.json()?["load"]["rule"]), (1, &json!("origin")), "{denied:?}");
    let read = explain(&["--read", "*.cdn.example"])?;
    assert_eq!((read.code, &read.json()?["load"]["rule"]), (0, &json!("read")), "{read:?}");
    assert_eq!(read.json()?["act"]["allowed"], false);
    Ok(())
}

#[test]
fn an_endpoint_without_a_browser_is_exit_code_3() -> Result<()> {
    let ended = cuebook(&["observe", "http://127.0.0.1:9/", "--cdp", "http://127.0.0.1:9", "--json"])?;
    assert_eq!(ended.code, 3, "{ended:?}");
    assert_eq!(ended.json()?["error"]["code"], "noBrowser");
    Ok(())
}

#[test]
fn a_second_interrupt_ends_at_once() -> Result<()> {
    // A browser that takes the connection and never answers: the first interrupt has nothing to end in order.
    let silent = std::net::TcpListener::bind("127.0.0.1:0")?;
    let runs = tempfile::tempdir()?;
    let mut child = command()?
        .args(["run", "wait", "--url", "http://127.0.0.1:1/", "--cdp", &format!("http://{}", silent.local_addr()?)])
        .arg("--out")
        .arg(runs.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let _connection = silent.accept()?;
    let code = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    };
    // Without a second signal that counts, the attempt to reach the browser ends it, with code 3.
    assert_eq!(code, Some(130));
    Ok(())
}

#[test]
fn an_upload_is_judged_against_the_declared_directories() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("plan.json");
    let file = folder.path().join("a.txt").to_string_lossy().into_owned();
    let plan = json!({ "version": "1.0", "candidates": { "field": { "strategy": "css", "selector": "input" } },
        "steps": [{ "type": "upload", "targetRef": "field", "files": [file] }] });
    std::fs::write(&path, plan.to_string())?;
    let (plan, root) = (path.to_string_lossy().into_owned(), folder.path().to_string_lossy().into_owned());
    let ended = cuebook(&["check", &plan, "--json"])?;
    assert_eq!(ended.code, 4, "{ended:?}");
    let violation = ended.json()?["error"]["violations"][0].clone();
    assert_eq!((&violation["rule"], &violation["path"]), (&json!("root"), &json!("/steps/0/files/0")));
    assert_eq!(
        violation["message"],
        format!(
            "upload of {file} is not allowed: no directory is declared for reading \
             (add \"roots\": {{\"read\": [\"{root}\"]}} to the policy, or --root {root})"
        )
    );
    assert_eq!(cuebook(&["check", &plan, "--root", &root, "--json"])?.code, 0);
    Ok(())
}

#[test]
fn people_read_step_numbers_and_machines_paths() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("plan.json");
    let plan = json!({ "version": "1.0", "steps": [{ "type": "reload" }, { "type": "click", "targetRef": "c9" }] });
    std::fs::write(&path, plan.to_string())?;
    let ended = cuebook(&["check", &path.to_string_lossy(), "--json"])?;
    assert!(ended.stderr.contains("  step 2 (/steps/1): "), "{}", ended.stderr);
    assert_eq!(ended.json()?["error"]["violations"][0]["path"], "/steps/1");
    Ok(())
}

#[test]
fn a_page_in_a_file_is_open_below_its_declared_directory() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let pages = folder.path().canonicalize()?;
    std::fs::write(pages.join("page.html"), "<title>Local</title><button onclick='title = 1'>Go</button>")?;
    let url = format!("file://{}/page.html", pages.display());
    let refused = cuebook(&["observe", &url, "--json"])?;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("--file-root"), "{refused:?}");
    let root = pages.to_string_lossy().into_owned();
    let observed = cuebook(&["observe", &url, "--file-root", &root, "--json"])?;
    assert_eq!(observed.code, 0, "{observed:?}");
    assert_eq!(observed.json()?["title"], "Local");
    let shop = Shop::open()?;
    let ran = shop.cuebook(&["run", "Click \"Go\"", "--url", &url, "--file-root", &root])?;
    assert_eq!(ran.code, 0, "{ran:?}");
    Ok(())
}

#[test]
fn a_page_that_is_only_observed_reaches_nothing_private_either() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let pages = folder.path().canonicalize()?;
    let server = TcpListener::bind("127.0.0.1:0")?;
    server.set_nonblocking(true)?;
    let image = format!("<p>Seen</p><img src='http://{}/'>", server.local_addr()?);
    std::fs::write(pages.join("page.html"), image)?;
    let (url, root) = (format!("file://{}/page.html", pages.display()), pages.to_string_lossy().into_owned());
    for (flags, arrives) in [(&["--isolation", "auto"][..], false), (&["--direct"], true)] {
        let observed = cuebook(&[&["observe", &url, "--file-root", &root], flags].concat())?;
        assert_eq!(observed.code, 0, "{observed:?}");
        assert_eq!(server.accept().is_ok(), arrives, "{flags:?}");
        while server.accept().is_ok() {}
    }
    Ok(())
}

/// Returns the forms in which models and the own grammars write one and the same plan.
fn forms() -> Vec<(&'static str, String)> {
    let step = |kind: &str| json!({ "type": kind });
    let tool = |kind: &str| json!({ "tool": kind });
    let plan = json!({ "version": "1.0", "steps": [step("reload"), step("goBack")] }).to_string();
    let call = |kind: &str| json!({ "name": kind, "arguments": "{}" });
    let used = |kind: &str| json!({ "type": "tool_use", "id": "t", "name": "history", "input": { "thought": "", "type": kind } });
    vec![
        ("a plan", plan.clone()),
        ("a byte order mark", format!("\u{feff}{plan}")),
        ("a fence", format!("The plan:\n```json\n{plan}\n```\nIt goes back.")),
        (
            "a last step apart",
            json!({ "version": "1.0", "steps": [step("reload")], "last": step("goBack") }).to_string(),
        ),
        ("steps of tools", json!({ "steps": [tool("reload"), tool("goBack")] }).to_string()),
        ("a list of tools", json!([tool("reload"), tool("goBack")]).to_string()),
        ("calls of OpenAI", json!({ "tool_calls": [call("reload"), call("goBack")] }).to_string()),
        ("uses of Anthropic", json!({ "content": [used("reload"), used("goBack")] }).to_string()),
        ("actions of browser_dom", json!([{ "action": "scroll" }, { "action": "get_dom" }]).to_string()),
        ("lines", "# Once more.\nreload()\ngoBack()\n".to_owned()),
        ("lines in a fence", "```\nreload()\ngoBack()\n```".to_owned()),
    ]
}

#[test]
fn a_plan_is_checked_in_every_form_that_is_written() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("plan.txt");
    let check = |text: &str| -> Result<CliOutput> {
        std::fs::write(&path, text)?;
        cuebook(&["check", &path.to_string_lossy()])
    };
    for (form, text) in forms() {
        let ended = check(&text)?;
        assert_eq!((ended.code, ended.stdout.trim()), (0, "ok: a plan of 2 steps"), "{form}: {ended:?}");
    }
    let ended = check("<Thought>Once more.</Thought>\n<Action>reload()</Action>")?;
    assert_eq!((ended.code, ended.stdout.trim()), (0, "ok: a plan of 1 step"), "{ended:?}");
    Ok(())
}

#[test]
fn what_is_written_twice_or_is_no_plan_is_refused_with_its_place() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("plan.txt");
    let plan = |steps: &str| format!(r#"{{"version":"1.0","steps":[{steps}]}}"#);
    for (text, at, message) in [
        (plan(r#"{"type":"reload","type":"goBack"}"#), "", "`type` appears twice at line 1 column 59"),
        (
            plan(r#"{"type":"click","targetRef":"c1","target_ref":"c2"}"#),
            "/steps/0/target_ref",
            "`targetRef` appears twice, once as `target_ref`",
        ),
        (plan(r#"{"type":"reload","speed":3}"#), "/steps/0/speed", "unknown field `speed`"),
        (
            format!("{} {}", plan(r#"{"type":"reload"}"#), plan(r#"{"type":"goBack"}"#)),
            "",
            "trailing characters at line 1",
        ),
        (format!("```\n{0}\n```\n```\n{0}\n```", plan(r#"{"type":"reload"}"#)), "", "there is more than one plan"),
        (plan(r#"{"type":"reload"},"#), "", "trailing comma at line 1 column"),
        ("click(c1,targetRef=c2)".to_owned(), "/steps/0", "`targetRef` once only"),
        (r#"{"last":{"type":"relaod"}}"#.to_owned(), "/last/type", "unknown value `relaod`"),
        ("version: 1.0".to_owned(), "", "is not a plan: JSON, calls of tools"),
    ] {
        std::fs::write(&path, &text)?;
        let ended = cuebook(&["check", &path.to_string_lossy(), "--json"])?;
        assert_eq!(ended.code, 2, "{text}: {ended:?}");
        let violation = ended.json()?["error"]["violations"][0].clone();
        assert_eq!(violation["path"], at, "{text}: {violation}");
        assert!(violation["message"].as_str().is_some_and(|said| said.contains(message)), "{text}: {violation}");
    }
    Ok(())
}

#[test]
fn a_plan_of_lines_is_executed_and_is_a_script() -> Result<()> {
    let (shop, folder) = (Shop::open()?, tempfile::tempdir()?);
    let (path, url) = (folder.path().join("plan.txt"), shop.url("/login"));
    std::fs::write(&path, "# Once more.\nreload() => titleMatches(\"Sign in\")\n")?;
    let file = path.to_string_lossy();
    let ended = shop.cuebook(&["exec", &file, "--url", &url])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.json()?["steps"][1]["action"]["type"], "reload");
    let ended = shop.cuebook(&["run", "x", "--planner", "scripted", "--plan", &file, "--url", &url])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    Ok(())
}

#[test]
fn a_plan_runs_in_the_viewport_that_it_was_made_for_unless_a_flag_says_otherwise() -> Result<()> {
    let site = Changing::open()?;
    site.put("/", "<p id=size></p><script>size.textContent = innerWidth + 'x' + innerHeight</script>");
    let plan = json!({ "version": "1.0", "context": { "viewport": { "width": 644, "height": 422 } },
        "candidates": { "size": { "strategy": "css", "selector": "#size" } },
        "steps": [{ "type": "extract", "query": { "targetRef": "size", "kind": "text" } }] });
    let file = site.folder.path().join("plan.json");
    std::fs::write(&file, plan.to_string())?;
    let file = file.to_string_lossy();
    let exec = ["exec", &file, "--url", &site.origin, "--isolation", "auto"];
    for (flags, size) in [(&[][..], "644x422"), (&["--viewport", "700x500"], "700x500")] {
        let ended = site.cuebook(&[&exec, flags].concat())?;
        assert_eq!((ended.code, &ended.json()?["steps"][1]["data"]), (0, &json!(size)), "{ended:?}");
    }
    Ok(())
}

#[test]
fn schema_prints_the_published_documents_and_the_grammar_of_a_page() -> Result<()> {
    let site = Changing::open()?;
    site.put("/", "<button>Save draft</button><a href=/x>Elsewhere</a>");
    let plan = cuebook(&["schema"])?;
    assert_eq!((plan.code, &plan.json()?), (0, &cuebook(&["schema", "plan"])?.json()?), "{plan:?}");
    assert!(plan.json()?["$defs"].as_object().is_some_and(|defs| defs.len() > 10), "{plan:?}");
    assert!(cuebook(&["schema", "policy"])?.json()?["properties"]["roots"].is_object());

    let observed = cuebook(&["observe", &site.origin, "--json"])?;
    let file = site.folder.path().join("page.json");
    std::fs::write(&file, &observed.stdout)?;
    let file = file.to_string_lossy();
    let ids = observed.json()?["candidates"].as_array().cloned().unwrap_or_default();
    let grammar = |flags: &[&str]| cuebook(&[&["schema", "--observation", &file], flags].concat());
    let gbnf = grammar(&["--target", "gbnf"])?;
    assert!(gbnf.code == 0 && gbnf.stdout.contains("root ::="), "{gbnf:?}");
    let told = grammar(&["--target", "openai", "--json"])?.json()?;
    assert_eq!((ids.len(), &told["candidates"]), (2, &json!(2)), "{told}");
    for id in ids.iter().filter_map(|candidate| candidate["id"].as_str()) {
        assert!(gbnf.stdout.contains(id) && told["body"].to_string().contains(id), "{id}");
    }
    let wrong = cuebook(&["schema", "policy", "--target", "gbnf", "--json"])?;
    assert_eq!((wrong.code, &wrong.json()?["error"]["code"]), (2, &json!("usage")), "{wrong:?}");
    Ok(())
}

#[test]
fn check_knows_where_secrets_belong_and_reads_no_value() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (plan, secrets) = (folder.path().join("plan.json"), folder.path().join("secrets.toml"));
    // A command that would fail if it were asked for the value.
    std::fs::write(&secrets, "shop = { command = [\"/nowhere\"], origins = [\"https://shop.example\"] }\n")?;
    #[cfg(unix)]
    std::fs::set_permissions(&secrets, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let (plan, secrets) = (plan.to_string_lossy(), secrets.to_string_lossy());
    for (url, code) in [("https://shop.example/login", 0), ("https://pay.example/", 4)] {
        let steps = json!([{ "type": "navigate", "url": url },
            { "type": "setValue", "targetRef": "code", "credentialRef": "shop" }]);
        let declared = json!({ "code": { "strategy": "css", "selector": "input" } });
        std::fs::write(&*plan, json!({ "version": "1.0", "candidates": declared, "steps": steps }).to_string())?;
        let check = ["check", &plan, "--allow", "https://pay.example", "--allow", "https://shop.example", "--json"];
        assert_eq!(cuebook(&check)?.code, 0);
        let ended = cuebook(&[&check[..], &["--secrets", &secrets]].concat())?;
        assert_eq!(ended.code, code, "{ended:?}");
        assert!(code == 0 || ended.json()?["error"]["violations"][0]["rule"] == "secretScope", "{ended:?}");
    }
    Ok(())
}
