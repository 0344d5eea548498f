//! `cuebook run` with model planners, as a user runs it: servers are simulated, everything else is in earnest.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use cuebook_tests::{CliOutput, Shop, command, finished, in_shared_browser};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::engines::servers::{Dialect, Part, Play, ScriptedReply, Server};
use super::engines::{KEY, TASK, clerk, listed, prompt};

/// A server, and the runtime that it lives in.
struct Model {
    server: Server,
    runtime: Runtime,
}

impl Model {
    fn new(open: impl Future<Output = Server>) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let server = runtime.block_on(open);
        Ok(Self { server, runtime })
    }

    /// The flags that choose it.
    fn flags(&self, dialect: Dialect) -> Vec<String> {
        flags(dialect, &self.server.origin())
    }
}

fn flags(dialect: Dialect, origin: &str) -> Vec<String> {
    let (planner, base_url, mode) = match dialect {
        Dialect::Ollama => ("ollama", origin.to_owned(), None),
        Dialect::Anthropic => ("anthropic", origin.to_owned(), None),
        Dialect::OpenAi => ("openai", format!("{origin}/v1"), Some("strict")),
        Dialect::OpenAiTools => ("openai", format!("{origin}/v1"), Some("tools")),
        Dialect::OwnServer => ("openai", format!("{origin}/v1"), None),
        Dialect::LlamaCpp => ("openai", format!("{origin}/v1"), Some("llama-cpp")),
        Dialect::Vllm => ("openai", format!("{origin}/v1"), Some("vllm")),
        Dialect::Responses => ("openai", format!("{origin}/v1"), Some("computer")),
    };
    let mut flags = vec!["--planner", planner, "--base-url", &base_url, "--model", "tiny"];
    flags.extend(mode.into_iter().flat_map(|mode| ["--engine-mode", mode]));
    flags.into_iter().map(str::to_owned).collect()
}

/// `cuebook run`, with keys in the environment as a user has them.
fn run_command(shop: &Shop, flags: &[String]) -> Result<Command> {
    run_on(shop, "/login", TASK, flags)
}

fn run_on(shop: &Shop, path: &str, task: &str, flags: &[String]) -> Result<Command> {
    let mut cuebook = command()?;
    cuebook.args(["run", task, "--url", &shop.url(path), "--json", "--out"]).arg(shop.runs()).args(flags);
    cuebook.env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY);
    Ok(cuebook)
}

fn run(shop: &Shop, flags: &[String]) -> Result<CliOutput> {
    ended(&mut run_command(shop, flags)?)
}

fn ended(command: &mut Command) -> Result<CliOutput> {
    let ended = finished(in_shared_browser(command))?;
    ensure!(!format!("{ended:?}").contains(KEY), "the key leaked");
    Ok(ended)
}

/// The files below a folder that hold a text.
fn holding(folder: &Path, text: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(holding(&path, text)?);
        } else if String::from_utf8_lossy(&std::fs::read(&path)?).contains(text) {
            found.push(path.display().to_string());
        }
    }
    Ok(found)
}

fn message(report: &Value) -> &str {
    report["error"]["message"].as_str().unwrap_or_default()
}

#[test]
fn each_model_planner_logs_in_and_leaves_what_it_was_asked() -> Result<()> {
    for dialect in Dialect::ALL {
        let shop = Shop::open()?;
        let model = Model::new(Server::choosing(move |_, request| Some(clerk(dialect, request))))?;
        let ended = run(&shop, &model.flags(dialect))?;
        assert_eq!(ended.code, 0, "{dialect:?}: {ended:?}");
        assert_eq!(shop.state()["logins"], json!([{ "user": "ann", "accepted": true }]), "{dialect:?}");
        let dir = ended.run_dir()?;
        assert!(!holding(&dir, "planningIndex")?.is_empty(), "{dialect:?}: the calls are in the log");
        assert_eq!(holding(shop.runs(), KEY)?, Vec::<String>::new(), "{dialect:?}");
        assert_eq!(holding(shop.runs(), "correct-horse")?, Vec::<String>::new(), "{dialect:?}");
    }
    Ok(())
}

#[test]
fn anthropics_strict_mode_sends_the_ids_of_each_page() -> Result<()> {
    let shop = Shop::open()?;
    let model = Model::new(Server::choosing(move |_, request| Some(clerk(Dialect::Anthropic, request))))?;
    let flags = [model.flags(Dialect::Anthropic), vec!["--engine-mode".to_owned(), "strict".to_owned()]].concat();
    let ended = run(&shop, &flags)?;
    assert_eq!(ended.code, 0, "{ended:?}");
    let requests = model.server.requests();
    let first = requests.first().context("a request")?;
    let body = first.json();
    let tools = body["tools"].as_array().context("tools")?;
    let click = tools.iter().find(|tool| tool["name"] == "click").context("a tool for clicks")?;
    let ids = click["input_schema"]["properties"]["targetRef"]["enum"].as_array().context("ids")?;
    assert!(
        !ids.is_empty() && prompt(first).contains(&format!("[{}]", ids[0].as_str().unwrap_or_default())),
        "{click}"
    );
    Ok(())
}

/// The first command of the documentation, with the test's site and server.
#[test]
fn the_lines_of_the_documentation_that_plug_a_model_log_in() -> Result<()> {
    let docs = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/planners.md"))?;
    let line = docs.lines().find(|line| line.starts_with("cuebook run ")).context("no command")?;
    let shop = Shop::open()?;
    let model = Model::new(Server::choosing(move |_, request| Some(clerk(Dialect::Ollama, request))))?;
    let words = cuebook_grammar::policy::command_words(&line.replace("http://127.0.0.1:8737", shop.origin()))?;
    let mut cuebook = command()?;
    cuebook.args(words.iter().skip(1)).env("OLLAMA_HOST", model.server.origin()).arg("--out").arg(shop.runs());
    let ended = finished(in_shared_browser(&mut cuebook))?;
    ensure!(ended.code == 0, "{line}: {ended:?}");
    assert_eq!(shop.state()["logins"], json!([{ "user": "ann", "accepted": true }]));
    Ok(())
}

/// The first picture in a request, as base64.
fn picture(request: &Value) -> Option<String> {
    match request {
        Value::String(text) => text.find("iVBORw0KGgo").and_then(|at| text.get(at..)).map(str::to_owned),
        Value::Array(items) => items.iter().find_map(picture),
        Value::Object(members) => members.values().find_map(picture),
        _ => None,
    }
}

#[test]
fn a_model_that_sees_gets_a_picture_of_each_page_and_no_other_model_does() -> Result<()> {
    for dialect in [Dialect::Ollama, Dialect::OwnServer, Dialect::Anthropic] {
        for (flag, sees) in [(Some("--vision"), true), (None, false)] {
            let shop = Shop::open()?;
            let model = Model::new(Server::choosing(move |_, request| Some(clerk(dialect, request))))?;
            let mut flags = model.flags(dialect);
            flags.extend(flag.map(str::to_owned));
            let ended = run(&shop, &flags)?;
            assert_eq!(ended.code, 0, "{dialect:?}: {ended:?}");
            let requests = model.server.requests();
            assert!(!requests.is_empty());
            for request in requests.iter().filter(|request| !request.body.is_empty()) {
                let picture = picture(&request.json());
                assert_eq!(picture.is_some(), sees, "{dialect:?}");
                assert!(picture.is_none_or(|picture| picture.len() > 2_000), "{dialect:?}: it shows something");
            }
            // The log says that there was one, and does not keep it.
            let dir = ended.run_dir()?;
            assert_eq!(!holding(&dir, "[picture: image/png, ")?.is_empty(), sees, "{dialect:?}");
            assert_eq!(holding(&dir, "iVBORw0KGgo")?, Vec::<String>::new(), "{dialect:?}");
        }
    }
    Ok(())
}

#[test]
fn a_model_that_points_gets_a_picture_and_its_tool_with_consent_only() -> Result<()> {
    let given_up = ScriptedReply::of([Part::Call("fail".to_owned(), json!({ "reason": "no" }).to_string())]);
    for (dialect, mode, tool) in [
        (Dialect::Responses, "computer", "computer"),
        (Dialect::Anthropic, "computer", "computer_20250124"),
        (Dialect::OwnServer, "ui-tars", ""),
    ] {
        let shop = Shop::open()?;
        let answer = match tool {
            "" => ScriptedReply::text("Thought: No.\nAction: call_user(content='Shall I?')"),
            _ => given_up.clone(),
        };
        let model = Model::new(Server::playing([dialect.saying(&answer)]))?;
        let mut flags = model.flags(dialect);
        if dialect != Dialect::Responses {
            flags.extend(["--engine-mode".to_owned(), mode.to_owned()]);
        }
        let ended = run(&shop, &flags)?;
        assert_eq!(ended.code, 2, "{dialect:?}: {ended:?}");
        assert!(message(&ended.json()?).contains("needs --vision"), "{dialect:?}: {ended:?}");
        flags.push("--vision".to_owned());
        let ended = run(&shop, &flags)?;
        let asked = model.server.requests();
        let first = asked.iter().find(|request| !request.body.is_empty()).context("it is asked")?.json();
        assert!(picture(&first).is_some_and(|picture| picture.len() > 2_000), "{dialect:?}: {ended:?}");
        assert_eq!(first["tools"][0]["type"].as_str().unwrap_or_default(), tool, "{dialect:?}");
        let prompt = first.to_string();
        assert!(prompt.contains(TASK) && !prompt.contains("[c1]"), "it names no candidates: {dialect:?}");
    }
    let shop = Shop::open()?;
    let ended = run(&shop, &["--planner", "lexical", "--engine-mode", "computer", "--vision"].map(str::to_owned))?;
    assert_eq!(ended.code, 2, "{ended:?}");
    Ok(())
}

#[test]
fn pictures_for_who_cannot_see_are_refused_before_anything_happens() -> Result<()> {
    let shop = Shop::open()?;
    for planner in ["lexical", "scripted"] {
        let flags = ["--planner", planner, "--plan", "plan.json", "--vision"].map(str::to_owned);
        let ended = run(&shop, &flags)?;
        assert_eq!(ended.code, 2, "{planner}: {ended:?}");
        assert!(message(&ended.json()?).contains("--vision"), "{planner}: {ended:?}");
    }
    assert_eq!(shop.state()["logins"], json!([]));
    Ok(())
}

#[test]
fn where_no_engine_answers_it_says_so_and_what_to_do() -> Result<()> {
    for (dialect, advice) in
        [(Dialect::Ollama, "ollama serve"), (Dialect::OwnServer, "llama-server"), (Dialect::Anthropic, "--base-url")]
    {
        let shop = Shop::open()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let origin = runtime.block_on(Server::nowhere());
        let ended = run(&shop, &flags(dialect, &origin))?;
        assert_eq!(ended.code, 3, "{dialect:?}: {ended:?}");
        let report = ended.json()?;
        assert_eq!((&report["result"], &report["error"]["code"]), (&json!("error"), &json!("plannerUnavailable")));
        let said = message(&report);
        assert!(said.contains(&origin) && said.contains(advice), "{said}");
        // The call that came to nothing is in the log as well.
        assert!(!holding(&ended.run_dir()?, "unreachable")?.is_empty(), "{dialect:?}");
        assert_eq!(shop.state()["logins"], json!([]));
    }
    Ok(())
}

#[test]
fn a_model_that_is_not_there_is_named() -> Result<()> {
    let dialect = Dialect::Ollama;
    let shop = Shop::open()?;
    let model = Model::new(Server::playing([dialect.error(404, "model 'tiny' not found")]))?;
    let ended = run(&shop, &model.flags(dialect))?;
    assert_eq!(ended.code, 3, "{ended:?}");
    let report = ended.json()?;
    assert!(message(&report).contains("model 'tiny' not found"), "{report:#}");
    assert!(message(&report).contains("ollama pull tiny"), "{report:#}");
    assert_eq!(model.server.requests().len(), 1);
    Ok(())
}

#[test]
fn no_step_of_an_invalid_plan_is_carried_out() -> Result<()> {
    for dialect in [Dialect::Ollama, Dialect::OpenAiTools, Dialect::Anthropic] {
        let shop = Shop::open()?;
        let wrong = dialect.plan(&[json!({ "type": "click", "targetRef": "c999" })]);
        let model = Model::new(Server::playing([dialect.saying(&wrong)]))?;
        let ended = run(&shop, &model.flags(dialect))?;
        assert_ne!(ended.code, 0, "{dialect:?}: {ended:?}");
        let report = ended.json()?;
        assert!(message(&report).contains("valid plan"), "{report:#}");
        let steps = report["steps"].as_array().context("steps")?;
        assert!(
            steps.iter().all(|step| step["type"] == "navigate" || step["action"]["type"] == "navigate"),
            "{report:#}"
        );
        assert_eq!(model.server.requests().len(), 2, "{dialect:?}");
        assert_eq!(shop.state()["logins"], json!([]));
    }
    Ok(())
}

#[test]
fn a_dry_run_shows_the_plan_and_does_nothing() -> Result<()> {
    let dialect = Dialect::Ollama;
    let shop = Shop::open()?;
    let model = Model::new(Server::choosing(move |_, request| Some(clerk(dialect, request))))?;
    let mut flags = model.flags(dialect);
    flags.push("--dry-run".to_owned());
    let ended = run(&shop, &flags)?;
    assert_eq!(ended.code, 0, "{ended:?}");
    let report = ended.json()?;
    assert_eq!(report["steps"].as_array().map(Vec::len), Some(3), "{report:#}");
    assert_eq!(shop.state()["logins"], json!([]));
    assert_eq!(model.server.requests().len(), 2, "one of them for another form");
    Ok(())
}

#[test]
fn an_interrupt_while_the_model_thinks_ends_the_run_and_the_connection() -> Result<()> {
    let dialect = Dialect::Ollama;
    let shop = Shop::open()?;
    let model = Model::new(Server::playing([dialect.opening().hold()]))?;
    let mut cuebook = run_command(&shop, &model.flags(dialect))?;
    let child = cuebook.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    model.runtime.block_on(model.server.asked(0));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    ensure!(sent.success(), "the signal was not sent");
    let output = child.wait_with_output()?;
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(model.runtime.block_on(model.server.hung_up(0)).hung_up);
    let report: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(report["result"], "interrupted");
    Ok(())
}

#[test]
fn a_model_that_says_nothing_ends_with_the_plans_time() -> Result<()> {
    let dialect = Dialect::OwnServer;
    let shop = Shop::open()?;
    let model = Model::new(Server::playing([Play::nothing().hold()]))?;
    let mut flags = model.flags(dialect);
    flags.extend(["--plan-timeout".to_owned(), "2s".to_owned()]);
    let ended = run(&shop, &flags)?;
    assert_eq!(ended.code, 3, "{ended:?}");
    let report = ended.json()?;
    assert!(message(&report).contains("--plan-timeout"), "{report:#}");
    Ok(())
}

#[test]
fn a_model_that_refuses_is_heard() -> Result<()> {
    let dialect = Dialect::Anthropic;
    let shop = Shop::open()?;
    let refusal = ScriptedReply::text("I will not.").ending(super::engines::servers::End::Refused);
    let model = Model::new(Server::playing([dialect.saying(&refusal)]))?;
    let ended = run(&shop, &model.flags(dialect))?;
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(message(&ended.json()?).contains("refuses"), "{ended:?}");
    assert_eq!(model.server.requests().len(), 1);
    Ok(())
}

/// A server that requires a call sends no text before it: the thought is in the call.
#[test]
fn what_a_call_of_a_tool_remembers_is_in_the_next_prompt() -> Result<()> {
    for dialect in [Dialect::OpenAiTools, Dialect::Anthropic] {
        let shop = Shop::open()?;
        let model = Model::new(Server::choosing(move |_, request| {
            let prompt = prompt(request);
            let thought = "The form is there. Remember: the code is 4711.";
            let steps = match prompt.contains("| the code is 4711.") {
                true => {
                    vec![json!({ "type": "finish", "thought": "It is known.", "result": "4711", "from": ["Email"] })]
                }
                false => vec![
                    json!({ "type": "searchPage", "thought": thought, "query": "Email" }),
                    json!({ "type": "scroll", "thought": "Then the rest.", "direction": "down" }),
                ],
            };
            Some(dialect.saying(&dialect.plan(&steps)))
        }))?;
        let flags = model.flags(dialect);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let ended = shop.run("/login", "Which code belongs to the email?", &flags)?;
        assert_eq!(ended.code, 0, "{dialect:?}: {ended:?}");
        assert_eq!(ended.json()?["answer"], "4711", "{dialect:?}");
        assert_eq!(model.server.requests().len(), 2, "{dialect:?}");
        // The whole thought is in the log, as the reasoning of the call.
        assert!(!holding(&ended.run_dir()?, "Then the rest.")?.is_empty(), "{dialect:?}");
    }
    Ok(())
}

/// The files of the policy are in the prompt and in the grammar, and one of them is uploaded.
#[test]
fn a_model_uploads_a_file_that_the_policy_declares() -> Result<()> {
    for dialect in [Dialect::OwnServer, Dialect::LlamaCpp, Dialect::OpenAiTools] {
        let (shop, folder) = (Shop::open()?, tempfile::tempdir()?);
        std::fs::write(folder.path().join("cv.txt"), "I am ann.")?;
        let model = Model::new(Server::choosing(move |_, request| {
            let prompt = prompt(request);
            let offers = prompt.contains("Files that may be uploaded: \"cv.txt\"\n");
            let is_written = request.json().to_string().matches("cv.txt").count() > prompt.matches("cv.txt").count();
            let field = listed(&prompt, "button \"Attachment\"");
            let step = match field.filter(|_| offers && is_written && !prompt.contains("| upload(")) {
                Some(field) => json!({ "type": "upload", "targetRef": field, "files": ["cv.txt"] }),
                None if prompt.contains("| upload(") => json!({ "type": "finish", "result": "cv.txt" }),
                None => json!({ "type": "fail", "reason": "no file may be uploaded" }),
            };
            Some(dialect.saying(&dialect.plan(&[step])))
        }))?;
        let root = folder.path().to_string_lossy().into_owned();
        let flags = [model.flags(dialect), vec!["--root".to_owned(), root]].concat();
        let ended = ended(&mut run_on(&shop, "/editors", "Attach my CV", &flags)?)?;
        assert_eq!(ended.code, 0, "{dialect:?}: {ended:?}");
        let report = ended.json()?;
        assert_eq!(report["answer"], "cv.txt", "{dialect:?}: {report:#}");
        let uploads =
            report["steps"].as_array().context("steps")?.iter().filter(|one| one["action"]["type"] == "upload");
        assert_eq!(uploads.map(|one| &one["result"]).collect::<Vec<_>>(), ["ok"], "{dialect:?}: {report:#}");
    }
    Ok(())
}

/// A server of llama.cpp with a model of this size, which finishes on any page.
fn llama(parameters: u64) -> Result<Model> {
    let models = json!({ "object": "list", "data": [{ "id": "tiny", "meta": { "n_params": parameters } }] });
    let dialect = Dialect::LlamaCpp;
    Model::new(Server::having(Some(models), move |_, _| Some(dialect.saying(&ScriptedReply::text("goBack()\n")))))
}

#[test]
fn a_small_model_is_asked_in_the_brief_form_and_may_write_lines() -> Result<()> {
    let asked = |parameters: u64, more: &[&str]| -> Result<(Value, CliOutput)> {
        let shop = Shop::open()?;
        let model = llama(parameters)?;
        let mut flags = self::flags(Dialect::OwnServer, &model.server.origin());
        flags.extend(["--dry-run"].iter().chain(more).map(|flag| (*flag).to_owned()));
        let ended = run(&shop, &flags)?;
        Ok((model.server.requests().first().context("no request")?.json(), ended))
    };
    let (body, ended) = asked(134_515_008, &[])?;
    let user = body["messages"][1]["content"].as_str().context("no text")?;
    assert!(user.starts_with(&format!("Task: {TASK}\nPage:\n")) && user.ends_with("\nNext:"), "{user}");
    assert!(user.contains("- button \"Log in\" [c") && !user.contains("Remember"), "{user}");
    let grammar = body["grammar"].as_str().context("no grammar")?;
    assert!(grammar.contains("click(") && !grammar.contains("explanation"), "{grammar}");
    assert!(ended.stderr.contains("prompts: compact, for a model of 134 million parameters"), "{ended:?}");

    for (parameters, more) in [(8_000_000_000, &[][..]), (134_515_008, &["--prompt", "full"])] {
        let (body, ended) = asked(parameters, more)?;
        let user = body["messages"][1]["content"].as_str().context("no text")?;
        assert!(user.contains("\n| - button \"Log in\" [c") && body["grammar"].is_null(), "{user}");
        assert!(!ended.stderr.contains("compact"), "{ended:?}");
    }
    Ok(())
}

/// Returns `true` if the grammar that a request carries, where it is a JSON Schema, takes the plan.
fn takes(dialect: Dialect, request: &Value, plan: &Value) -> bool {
    let schema = match dialect {
        Dialect::Ollama => &request["format"],
        Dialect::OwnServer => &request["response_format"]["json_schema"]["schema"],
        _ => return true,
    };
    jsonschema::draft202012::is_valid(schema, plan)
}

#[test]
fn every_model_planner_reads_typed_data_by_a_schema_that_it_wrote() -> Result<()> {
    let fields = json!([{ "name": "harbour master", "type": "string" }, { "name": "berths", "type": "integer" },
        { "name": "tides[].place", "type": "string" }, { "name": "tides[].morning", "type": "number" },
        { "name": "tides[].chart", "type": "url" }]);
    let extract = json!({ "type": "extract", "query": { "kind": "schema", "schema": fields } });
    for dialect in Dialect::ALL {
        let shop = Shop::open()?;
        let written = extract.clone();
        let model = Model::new(Server::choosing(move |_, request| {
            let has_read = prompt(request).contains("Halvorsen\\\"") || prompt(request).contains("Halvorsen\",");
            let step = if has_read { json!({ "type": "finish", "result": "214" }) } else { written.clone() };
            Some(dialect.saying(&dialect.plan(&[step])))
        }))?;
        let ended = ended(&mut run_on(&shop, "/almanac", "How many berths are there?", &model.flags(dialect))?)?;
        assert_eq!(ended.code, 0, "{dialect:?}: {ended:?}");
        let whole = json!({ "version": "1.0", "reasoningSummary": "", "goal": [], "goalReason": "", "steps": [],
            "last": extract });
        let requests = model.server.requests();
        let asked = requests.iter().find(|request| !request.body.is_empty()).context("no request")?;
        assert!(takes(dialect, &asked.json(), &whole), "{dialect:?}");
        let report = ended.json()?;
        let steps = report["steps"].as_array().context("steps")?;
        let read = steps.iter().find(|step| step["action"]["type"] == "extract").context("no extract")?;
        // The log has the schema that the fields denote.
        let place = "/action/query/schema/properties/tides/items/properties/morning/type";
        assert_eq!(read.pointer(place), Some(&json!("number")), "{read:#}");
        let row = |place: &str, morning: f64, chart: u8| json!({ "place": place, "morning": morning, "chart": shop.url(&format!("/almanac?chart={chart}")) });
        let expected = json!({ "harbour master": "Ines Halvorsen", "berths": 214,
            "tides": [row("Northpier", 4.1, 1), row("Old Quay", 3.85, 2), row("Lighthouse", 4.45, 3)] });
        assert_eq!(read["data"], expected, "{dialect:?}");
    }
    Ok(())
}

#[test]
fn exec_asks_for_as_many_drafts_of_a_repair_as_the_flag_says() -> Result<()> {
    let plan = json!({ "version": "1.0",
        "candidates": { "gone": { "strategy": "byTestId", "testId": "no-such-thing" } },
        "steps": [{ "type": "click", "targetRef": "gone", "timeoutMs": 500 }] });
    for drafts in [None, Some("3")] {
        let shop = Shop::open()?;
        let gives_up = Dialect::OpenAi.plan(&[json!({ "type": "fail", "reason": "there is no such thing" })]);
        let model = Model::new(Server::playing([Dialect::OpenAi.saying(&gives_up)]))?;
        let file = shop.runs().join("plan.json");
        std::fs::create_dir_all(shop.runs())?;
        std::fs::write(&file, plan.to_string())?;
        let mut cuebook = command()?;
        cuebook.arg("exec").arg(&file).args(["--url", &shop.url("/almanac"), "--json", "--out"]).arg(shop.runs());
        cuebook.args(["--repair-planner", "openai", "--base-url", &format!("{}/v1", model.server.origin())]);
        cuebook.args(["--model", "tiny", "--engine-mode", "strict"]).env("OPENAI_API_KEY", KEY);
        cuebook.args(drafts.into_iter().flat_map(|drafts| ["--drafts", drafts]));
        let ended = ended(&mut cuebook)?;
        assert_eq!(ended.code, 1, "{ended:?}");
        let requests = model.server.requests();
        let asked = requests.iter().find(|request| !request.body.is_empty()).with_context(|| format!("{ended:?}"))?;
        assert_eq!(asked.json().get("n").cloned(), drafts.map(|_| json!(3)));
    }
    Ok(())
}
