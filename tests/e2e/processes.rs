//! Planners and actions that are programs, and the planner that `auto` is, as a user runs them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cuebook_tests::{CliOutput, Shop, command};
use serde_json::{Value, json};

const TASK: &str = "Log in as ann with password correct-horse";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

/// A program that presses the button `Count` once, then finishes.
fn counts(folder: &Path) -> Result<String> {
    let script = r#"while read -r request; do case $request in
    *'"step":{"type":"click"'*) echo '{"type":"finish","result":"Count"}' ;;
    *) id=$(printf %s "$request" | grep -o '"id":"c[0-9]*","role":"button","type":"plain","label":"Count"' |
           cut -d'"' -f4)
       echo '{"tool":"click","args":{"id":"'$id'"},"explanation":"it counts"}' ;;
    esac; echo '{"done":true,"usage":{"inputTokens":11,"outputTokens":5}}'; done"#;
    let path = folder.join("counts.sh");
    std::fs::write(&path, script)?;
    Ok(format!("exec:sh {}", path.display()))
}

/// The records of calls in the log of a run.
fn calls(run: &Path) -> Result<Vec<Value>> {
    let run = cuebook_datalayer::Run::read(&run.join("log.jsonl"))?;
    Ok(run.calls.iter().map(|record| serde_json::to_value(&record.call)).collect::<Result<_, _>>()?)
}

#[test]
fn a_planner_in_ten_lines_of_sh_logs_in_and_its_calls_are_in_the_log() -> Result<()> {
    let shop = Shop::open()?;
    let planner = format!("exec:sh {}", example("planner.sh").display());
    let ended = shop.cuebook(&["run", TASK, "--url", &shop.url("/login"), "--planner", &planner])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(shop.state()["logins"], json!([{ "user": "ann", "accepted": true }]));
    let calls = calls(&ended.run_dir()?)?;
    assert_eq!(calls.len(), 2);
    assert_eq!((&calls[0]["engine"], &calls[0]["end"]), (&json!("process"), &json!("accepted")));
    assert!(calls.iter().all(|call| !call.to_string().contains("correct-horse")), "{calls:#?}");
    Ok(())
}

#[test]
fn the_calls_of_a_run_answer_another_one() -> Result<()> {
    let (shop, folder) = (Shop::open()?, tempfile::tempdir()?);
    let (url, planner) = (shop.url("/counter"), counts(folder.path())?);
    let ended = shop.cuebook(&["run", "Press Count", "--url", &url, "--planner", &planner])?;
    assert_eq!((ended.code, shop.hits("counter")), (0, 1), "{ended:?}");
    assert_eq!(ended.json()?["usage"]["inputTokens"], 22);
    let calls = ended.run_dir()?.display().to_string();
    let again = ["run", "Press Count", "--url", &url, "--planner", "recorded", "--calls", &calls];
    let ended = shop.cuebook(&again)?;
    assert_eq!((ended.code, shop.hits("counter")), (0, 2), "{ended:?}");
    assert_eq!(ended.json()?["answer"], "Count");

    let ended = shop.cuebook(&["run", "x", "--url", &url, "--planner", "recorded"])?;
    assert!(ended.code == 2 && ended.json()?["error"]["message"].to_string().contains("--calls"), "{ended:?}");
    let nothing = folder.path().display().to_string();
    let ended = shop.cuebook(&["run", "x", "--url", &url, "--planner", "recorded", "--calls", &nothing])?;
    assert!(ended.code == 2 && ended.json()?["error"]["code"] == "invalidEngine", "{ended:?}");
    Ok(())
}

#[test]
fn a_program_that_cannot_plan_is_an_error_that_says_why() -> Result<()> {
    let shop = Shop::open()?;
    let url = shop.url("/counter");
    for (planner, code, part) in [
        ("exec:/nowhere/planner", 3, "check the command after exec:"),
        (
            "exec:sh -c 'echo no model >&2; exit 7'",
            3,
            "(exit code 7) before its answer was complete; its standard error ends: no model",
        ),
        ("exec:sh -c 'while read -r l; do echo thinking; done'", 1, "`thinking`"),
        ("exec:planner | tee log", 2, "no shell reads the command, and `|` needs one"),
        ("exec:", 2, "a command has 1 to 200 words, not 0"),
        ("magic", 2, "expected auto, lexical"),
    ] {
        let ended = shop.cuebook(&["run", "Press Count", "--url", &url, "--planner", planner])?;
        let message = ended.json()?["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(ended.code == code && message.contains(part), "{planner}: {ended:?}");
    }
    assert_eq!(shop.hits("counter"), 0);
    Ok(())
}

#[test]
fn a_planner_given_to_exec_repairs_a_step_that_nothing_else_helps() -> Result<()> {
    let (shop, folder) = (Shop::open()?, tempfile::tempdir()?);
    let plan = folder.path().join("plan.json");
    // The button of the dialog's page is named otherwise by now.
    let step = json!({ "type": "click", "targetRef": "count" });
    let gone = json!({ "strategy": "byRole", "role": "button", "name": "Increment" });
    std::fs::write(&plan, json!({ "version": "1.0", "candidates": { "count": gone }, "steps": [step] }).to_string())?;
    let script = r#"while read -r request; do
    case $request in *'"cause":"targetNotFound"'*) ;; *) echo '{"type":"fail","reason":"no failure"}'; continue ;; esac
    id=$(printf %s "$request" | grep -o '"id":"c[0-9]*","role":"button","type":"plain","label":"Count"' | cut -d'"' -f4)
    echo '{"version":"1.0","steps":[{"type":"click","targetRef":"'$id'"},{"type":"finish"}]}'; done"#;
    let planner = folder.path().join("repairs.sh");
    std::fs::write(&planner, script)?;
    let planner = format!("exec:sh {}", planner.display());
    let (plan, url) = (plan.display().to_string(), shop.url("/counter"));
    let exec = ["exec", &plan, "--url", &url, "--timeout", "2s"];

    let ended = shop.cuebook(&exec)?;
    assert_eq!((ended.code, shop.hits("counter")), (1, 0), "{ended:?}");
    let ended = shop.cuebook(&[&exec[..], &["--repair-planner", &planner]].concat())?;
    assert_eq!((ended.code, shop.hits("counter")), (0, 1), "{ended:?}");
    let origins: Vec<Value> =
        ended.json()?["steps"].as_array().context("steps")?.iter().map(|step| step["origin"].clone()).collect();
    assert_eq!(origins.last(), Some(&json!("repair")), "{origins:?}");
    assert_eq!(calls(&ended.run_dir()?)?[0]["purpose"], "repair");
    Ok(())
}

#[test]
fn an_interrupt_ends_the_planner_with_what_it_started() -> Result<()> {
    let (shop, folder) = (Shop::open()?, tempfile::tempdir()?);
    let ids = folder.path().join("ids");
    let planner = format!("exec:sh -c 'read -r line; sleep 600 & echo $! $$ >{}; wait'", ids.display());
    let child = command()?
        .args(["run", "Press Count", "--url", &shop.url("/counter"), "--json", "--out"])
        .arg(shop.runs())
        .args(["--planner", &planner])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let until = Instant::now() + Duration::from_secs(60);
    let ids = loop {
        let text = std::fs::read_to_string(&ids).unwrap_or_default();
        if text.ends_with('\n') {
            break text;
        }
        ensure!(Instant::now() < until, "the planner never got a request");
        std::thread::yield_now();
    };
    Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    assert_eq!(child.wait_with_output()?.status.code(), Some(130));
    for id in ids.split_whitespace() {
        // Nobody but init reaps the grandchild.
        let is_gone = || {
            !Command::new("sh")
                .args(["-c", &format!("ps -o stat= -p {id} | grep -qv Z")])
                .status()
                .is_ok_and(|s| s.success())
        };
        while !is_gone() {
            ensure!(Instant::now() < until, "process {id} still runs");
        }
    }
    Ok(())
}

#[test]
fn a_policy_registers_a_program_as_an_action_with_consent_by_its_effect() -> Result<()> {
    let (shop, folder) = (Shop::open()?, tempfile::tempdir()?);
    let schema = json!({ "type": "object", "properties": { "sku": { "type": "string", "maxLength": 20 } },
        "required": ["sku"] });
    let action = |name: &str, effect: &str| json!({ "name": name, "description": "Looks it up", "effect": effect, "schema": schema, "command": "cat" });
    let policy = folder.path().join("policy.json");
    std::fs::write(
        &policy,
        json!({ "actions": [action("look", "readOnly"), action("order", "destructive")] }).to_string(),
    )?;
    let policy = policy.display().to_string();
    for (name, code) in [("look", 0), ("order", 4)] {
        let planner = format!(
            r#"exec:sh -c 'read -r line; case $line in *"\"name\":\"{name}\""*) ;; *) exit 9 ;; esac
            echo "{{\"steps\":[{{\"tool\":\"{name}\",\"args\":{{\"sku\":\"p-1\"}}}},{{\"tool\":\"finish\",\"args\":{{}}}}]}}"; cat'"#
        );
        let url = shop.url("/counter");
        let ended = shop.cuebook(&["run", "Look", "--url", &url, "--policy", &policy, "--planner", &planner])?;
        assert_eq!(ended.code, code, "{ended:?}");
        let report = ended.json()?;
        let call = report["steps"].as_array().into_iter().flatten().find(|step| step["action"]["type"] == "call");
        match code {
            0 => assert_eq!(call.context("no call")?["data"], json!({ "sku": "p-1" })),
            _ => assert_eq!(report["error"]["code"], "confirmationDenied", "{report:#}"),
        }
    }
    Ok(())
}

/// The planner that `doctor` names under these variables.
fn auto(variables: &[(&str, &str)], flags: &[&str]) -> Result<String> {
    let mut doctor = command()?;
    for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"] {
        doctor.env_remove(name);
    }
    // Port 1 answers nothing.
    doctor.env("CUEBOOK_PLANNER", "auto").env("OLLAMA_HOST", "127.0.0.1:1").envs(variables.iter().copied());
    let output = doctor.args(["doctor", "--quick", "--json"]).args(flags).output()?;
    let diagnosis: Value = serde_json::from_slice(&output.stdout)?;
    let checks = diagnosis["checks"].as_array().context("no checks")?;
    let planner = checks.iter().find(|check| check["name"] == "planner").context("no planner")?;
    Ok(planner["detail"].as_str().unwrap_or_default().to_owned())
}

/// A server that lists these models to whoever asks, for the rest of the process.
fn ollama(models: &Value) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let body = json!({ "models": models }).to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let is_list = lines.next().is_some_and(|line| line.starts_with("GET /api/tags "));
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let status = if is_list { "200 OK" } else { "404 Not Found" };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            drop((&stream).write_all(format!("{head}{body}").as_bytes()));
        }
    });
    Ok(address)
}

#[test]
fn auto_is_what_is_configured_then_what_answers_then_has_a_key_then_none() -> Result<()> {
    let lexical = auto(&[], &[])?;
    assert!(
        lexical.starts_with("lexical, because no model is configured") && lexical.contains("exec:COMMAND"),
        "{lexical}"
    );
    let openai = "openai gpt-5-mini at https://api.openai.com/v1, because $OPENAI_API_KEY is set; pages are sent there";
    let keys = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")];
    assert!(auto(&keys, &[])?.starts_with(openai), "{}", auto(&keys, &[])?);
    let anthropic = auto(&keys[1..], &[])?;
    assert!(anthropic.starts_with("anthropic claude-sonnet-4-5 at https://api.anthropic.com, because"), "{anthropic}");

    let host =
        ollama(&json!([{ "name": "gemma3:12b", "size": 8_000_000_000_u64, "details": { "family": "gemma3" } }]))?;
    let local = [("OLLAMA_HOST", host.as_str()), ("OPENAI_API_KEY", "k")];
    let found = format!("ollama gemma3:12b at http://{host}, because it answers and has the model");
    assert_eq!(auto(&local, &[])?, found);
    assert_eq!(auto(&local, &["--model", "gemma3:12b"])?, found);
    assert!(auto(&local, &["--model", "gpt-5"])?.starts_with("openai gpt-5 at https://api.openai.com"));
    let own = auto(&local, &["--base-url", "http://127.0.0.1:1/v1"])?;
    assert!(own.starts_with("openai default at http://127.0.0.1:1/v1, because an address is configured"), "{own}");
    // One without a model that fits is passed over; silence costs 300 ms.
    let empty =
        ollama(&json!([{ "name": "nomic-embed-text", "size": 274_000_000, "details": { "family": "nomic-bert" } }]))?;
    assert!(auto(&[("OLLAMA_HOST", &empty), ("OPENAI_API_KEY", "k")], &[])?.starts_with("openai"));
    let silent = TcpListener::bind("127.0.0.1:0")?;
    assert!(auto(&[("OLLAMA_HOST", &silent.local_addr()?.to_string())], &[])?.starts_with("lexical"));
    Ok(())
}

#[test]
fn a_run_without_a_planner_says_in_one_line_which_one_it_has() -> Result<()> {
    let shop = Shop::open()?;
    let mut run = command()?;
    for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "CUEBOOK_PLANNER"] {
        run.env_remove(name);
    }
    run.env("OLLAMA_HOST", "127.0.0.1:1").args(["run", TASK, "--url", &shop.url("/login"), "--json", "--out"]);
    let output = run.arg(shop.runs()).stdin(Stdio::null()).output()?;
    let ended = CliOutput {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    assert_eq!(ended.code, 0, "{ended:?}");
    let said: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("planner: ")).collect();
    assert!(said.len() == 1 && said[0].starts_with("planner: lexical, because no model is configured"), "{ended:?}");
    assert_eq!(shop.state()["logins"], json!([{ "user": "ann", "accepted": true }]));
    Ok(())
}

#[test]
fn what_the_documentation_shows_first_is_at_most_ten_lines_each() -> Result<()> {
    let script = std::fs::read_to_string(example("planner.sh"))?;
    let program = script.lines().filter(|line| !line.starts_with('#')).count();
    let text = std::fs::read_to_string(example("own_planner.rs"))?;
    let own = text.split("ANCHOR: planner\n").nth(1).and_then(|rest| rest.split("// ANCHOR_END").next());
    let own = own.context("no anchor")?.lines().count();
    assert!(program <= 10 && own <= 10, "{program} and {own} lines");
    let python = std::fs::read_to_string(example("planner.py"))?;
    assert!(python.lines().count() <= 30);
    Ok(())
}
