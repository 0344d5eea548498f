//! Suites of test cases: recorded once, replayed from then on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use cuebook_tests::{CliOutput, Shop, command, cuebook, cuebook_alone};
use quick_junit::Report;
use serde_json::{Value, json};

use super::replay::{Changing, text};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/suite.toml");

/// A suite with one case on `origin`, in a folder of its own.
fn one_case(site: &Changing, more: &str) -> Result<PathBuf> {
    let path = site.folder.path().join("drafts.toml");
    let suite = format!(
        "url = \"{}\"\n[[case]]\nname = \"A draft is kept\"\nnarrative = 'Press \"Save draft\"'\n\
         expect = [{{ kind = \"elementTextEquals\", target = \"said\", text = \"kept\" }}]\n\
         candidates.said = {{ strategy = \"css\", selector = \"#said\" }}\n{more}",
        site.origin
    );
    fs::write(&path, suite)?;
    Ok(path)
}

const SAVE: &str = "<p id=said></p><button id=save onclick=\"said.textContent = 'kept'\">Save draft</button>";

fn test(site: &Changing, suite: &Path, flags: &[&str]) -> Result<CliOutput> {
    site.cuebook(&[&["test", text(suite)?, "--timeout", "3s"], flags].concat())
}

fn statuses(results: &Value) -> Vec<(String, String)> {
    let word = |case: &Value, member: &str| case[member].as_str().unwrap_or_default().to_owned();
    results["cases"].as_array().into_iter().flatten().map(|case| (word(case, "status"), word(case, "how"))).collect()
}

#[test]
fn ten_cases_are_recorded_and_then_replayed_without_a_planner() -> Result<()> {
    let shop = Shop::open()?;
    let suite = shop.runs().join("suite.toml");
    fs::copy(EXAMPLE, &suite)?;
    let junit = shop.runs().join("junit.xml");
    let origin = shop.origin().to_owned();
    // A planner that cannot plan: the second time, none is needed.
    let planners: [&[&str]; 2] =
        [&["--planner", "lexical"], &["--planner", "ollama", "--base-url", "http://127.0.0.1:9/", "--model", "none"]];
    for (round, planner) in planners.into_iter().enumerate() {
        let flags = ["test", text(&suite)?, "--url", &origin, "--junit", text(&junit)?];
        let ended = shop.cuebook(&[&flags[..], planner].concat())?;
        assert_eq!(ended.code, 0, "round {round}: {ended:?}");
        let results = ended.json()?;
        assert_eq!(results["counts"], json!({ "passed": 10, "drifted": 0, "flaky": 0, "failed": 0 }), "{results:#}");
        let how = if round == 0 { "planned" } else { "replayed" };
        assert!(statuses(&results).iter().all(|(_, own)| own == how), "{results:#}");
        let report = Report::deserialize_from_str(&fs::read_to_string(&junit)?)?;
        assert_eq!((report.tests, report.failures, report.errors), (10, 0, 0));
        assert_eq!(report.test_suites[0].test_cases.len(), 10);
    }
    let recordings = fs::read_dir(shop.runs().join("suite.recordings"))?.count();
    assert_eq!(recordings, 10);
    Ok(())
}

#[test]
fn drift_is_reported_until_it_is_accepted() -> Result<()> {
    let site = Changing::open()?;
    site.put("/", SAVE);
    let suite = one_case(&site, "")?;
    assert_eq!(test(&site, &suite, &[])?.code, 0);
    let recording = site.folder.path().join("drafts.recordings/a-draft-is-kept.json");
    let before = fs::read_to_string(&recording)?;

    site.put("/", &SAVE.replace("Save draft", "Keep draft"));
    let drifted = test(&site, &suite, &[])?;
    let results = drifted.json()?;
    assert_eq!((drifted.code, &results["counts"]["drifted"]), (0, &json!(1)), "{drifted:?}");
    assert_eq!(results["cases"][0]["drift"][0]["kind"], "target", "{results:#}");
    assert_eq!(fs::read_to_string(&recording)?, before, "nothing is changed unless asked for");
    assert_eq!(test(&site, &suite, &["--update"])?.json()?["counts"]["drifted"], 1);
    assert_ne!(fs::read_to_string(&recording)?, before);
    assert_eq!(test(&site, &suite, &[])?.json()?["counts"]["passed"], 1);

    site.put("/", "<p id=said></p>");
    let failed = test(&site, &suite, &[])?;
    let results = failed.json()?;
    assert_eq!((failed.code, &results["counts"]["failed"]), (1, &json!(1)), "{failed:?}");
    assert_eq!(results["cases"][0]["failures"][0]["code"], "targetNotFound");
    Ok(())
}

/// A button whose handler sends the time, in the address and in the body.
const SEND: &str = "<style>button{width:300px;height:200px}</style><p id=said></p><button onclick=\"fetch('/sent.js?t=' + \
    performance.now(), {method: 'POST', body: '{}'}).then(r => r.json()).then(() => said.textContent = 'kept')\">\
    Save draft</button>";

#[test]
fn requests_bodies_and_pictures_are_compared_where_a_suite_says_so() -> Result<()> {
    let site = Changing::open()?;
    site.put("/", SEND);
    site.put("/sent.js", r#"{"id": 7, "at": 1}"#);
    let suite = one_case(
        &site,
        "requests = \"method,url,status,body\"\npictures = 0.98\n[volatile]\nquery = [\"t\"]\nbody = [\"$.at\"]\n",
    )?;
    let html = site.folder.path().join("suite.html");
    let only = |flags: &[&str]| -> Result<(String, Value)> {
        let ended = test(&site, &suite, &[&["--html", text(&html)?], flags].concat())?;
        let case = ended.json()?["cases"][0].clone();
        Ok((case["status"].as_str().context(format!("{ended:?}"))?.to_owned(), case))
    };
    let recorded = only(&[])?;
    assert_eq!(recorded.0, "passed", "{:#}", recorded.1);
    let folder = site.folder.path().join("drafts.recordings");
    let recording: Value = serde_json::from_slice(&fs::read(folder.join("a-draft-is-kept.json"))?)?;
    let trace = &recording["traces"][1];
    let sent = &trace["requests"][0];
    assert_eq!((&trace["method"], &trace["step"], &sent["method"]), (&json!("dom"), &json!(1), &json!("POST")));
    assert_eq!((&sent["body"]["text"], &sent["requestBody"]["text"]), (&json!(r#"{"id": 7, "at": 1}"#), &json!("{}")));
    let target = recording["targets"].as_object().context("targets")?.values().next().context("a target")?;
    assert!(target["selectors"]["xpath"].as_str().is_some_and(|path| path.ends_with("/button[1]")), "{target:#}");
    assert!(target["selectors"]["point"]["y"].is_number(), "{target:#}");

    site.put("/sent.js", r#"{"at": 2, "id": 7}"#);
    let replayed = only(&[])?;
    assert_eq!((replayed.0.as_str(), &replayed.1["how"]), ("passed", &json!("replayed")), "{:#}", replayed.1);

    site.put("/sent.js", r#"{"at": 2, "id": 8}"#);
    let (status, case) = only(&[])?;
    assert_eq!((status.as_str(), &case["failures"][0]["code"]), ("failed", &json!("differsFromRecording")), "{case:#}");
    assert_eq!(case["differences"][0]["kind"], "bodies");
    assert!(case["differences"][0]["replayed"][0].as_str().is_some_and(|now| now.contains("\"id\":8")), "{case:#}");

    site.put("/sent.js", r#"{"at": 3, "id": 7}"#);
    site.put("/", &SEND.replace("sent.js", "other.js"));
    site.put("/other.js", r#"{"at": 3, "id": 7}"#);
    let kinds = |case: &Value| -> Vec<Value> {
        case["differences"].as_array().into_iter().flatten().map(|one| json!([one["step"], one["kind"]])).collect()
    };
    let (_, case) = only(&[])?;
    assert_eq!(kinds(&case), [json!([0, "bodies"]), json!([1, "requests"])], "{case:#}");

    site.put("/", &SEND.replace("<style>", "<style>button{background:#000;color:#fff}"));
    let (status, case) = only(&[])?;
    let picture = case["differences"].as_array().into_iter().flatten().find(|one| one["kind"] == "picture");
    let picture = picture.context(format!("{case:#}"))?;
    assert_eq!(status, "failed");
    let marked = Path::new(case["runs"][0].as_str().context("a run")?)
        .join(picture["picture"].as_str().context("a picture of the difference")?);
    assert!(fs::read(marked)?.starts_with(b"\x89PNG"));
    let page = fs::read_to_string(&html)?;
    let pictures = page.matches("data:image/png").count();
    assert!(pictures > 0 && pictures % 3 == 0, "recorded, now, and the difference: {pictures}");
    assert!(page.contains("Where they differ") && page.contains("differsFromRecording"), "{}", page.len());

    assert_eq!(only(&["--update"])?.0, "drifted");
    assert_eq!(only(&[])?.0, "passed");
    Ok(())
}

#[test]
fn another_narrative_is_recorded_again_and_a_wrong_expectation_is_not() -> Result<()> {
    let site = Changing::open()?;
    site.put("/", &SAVE.replace("'kept'", "'lost'"));
    let suite = one_case(&site, "")?;
    let failed = test(&site, &suite, &[])?;
    assert_eq!(failed.code, 1, "{failed:?}");
    assert_eq!(failed.json()?["cases"][0]["failures"][0]["code"], "postconditionFailed", "{failed:?}");
    assert!(!site.folder.path().join("drafts.recordings").exists());
    site.put("/", SAVE);
    assert_eq!(statuses(&test(&site, &suite, &[])?.json()?), [("passed".to_owned(), "planned".to_owned())]);
    let told = fs::read_to_string(&suite)?.replace("Press ", "Click ");
    fs::write(&suite, told)?;
    assert_eq!(statuses(&test(&site, &suite, &[])?.json()?), [("passed".to_owned(), "planned".to_owned())]);
    assert_eq!(statuses(&test(&site, &suite, &[])?.json()?), [("passed".to_owned(), "replayed".to_owned())]);
    Ok(())
}

#[test]
fn a_case_that_passes_only_later_is_flaky_in_every_report() -> Result<()> {
    let site = Changing::open()?;
    // In a shared context the page remembers that it was tried before.
    let page = "<p id=said></p><button id=save onclick=\"said.textContent = localStorage.tried ? 'kept' : 'not yet'; \
                localStorage.tried = 1\">Save draft</button>";
    site.put("/", page);
    let suite = one_case(&site, "context = \"shared\"\n")?;
    let junit = site.folder.path().join("junit.xml");
    let ended = test(&site, &suite, &["--retries", "2", "--junit", text(&junit)?])?;
    let results = ended.json()?;
    assert_eq!((ended.code, &results["counts"]["flaky"]), (0, &json!(1)), "{ended:?}");
    assert_eq!((&results["cases"][0]["attempts"], &results["counts"]["passed"]), (&json!(2), &json!(0)));
    let xml = fs::read_to_string(&junit)?;
    assert_eq!(Report::deserialize_from_str(&xml)?.tests, 1);
    assert!(xml.contains("<flakyFailure") && xml.contains("\"flaky\""), "{xml}");
    Ok(())
}

#[test]
fn a_plan_from_a_file_is_recorded_with_its_secret_as_a_name() -> Result<()> {
    let shop = Shop::open()?;
    let folder = shop.runs();
    let plan = json!({
        "version": "1.0",
        "candidates": { "email": { "strategy": "byTestId", "testId": "email-input" },
                        "password": { "strategy": "byTestId", "testId": "password-input" },
                        "submit": { "strategy": "byRole", "role": "button", "name": "Log in" } },
        "steps": [{ "type": "type", "targetRef": "email", "text": "ann" },
                  { "type": "type", "targetRef": "password", "credentialRef": "shop_password" },
                  { "type": "click", "targetRef": "submit", "post": [{ "kind": "urlChanges" }] }],
    });
    fs::write(folder.join("login.json"), plan.to_string())?;
    let secrets = folder.join("secrets.toml");
    fs::write(&secrets, "shop_password.value = \"correct-horse\"\n")?;
    #[cfg(unix)]
    fs::set_permissions(&secrets, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let suite = folder.join("suite.toml");
    fs::write(
        &suite,
        "[[case]]\nname = \"Log in\"\nnarrative = \"Log in\"\nplan = \"login.json\"\nurl = \"URL\"\n\
         expect = [{ kind = \"urlMatches\", pattern = \"/dashboard\" }]\n"
            .replace("URL", &shop.url("/login")),
    )?;
    for how in ["given", "replayed"] {
        let ended = shop.cuebook(&["test", text(&suite)?, "--secrets", text(&secrets)?])?;
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(statuses(&ended.json()?), [("passed".to_owned(), how.to_owned())]);
    }
    let recording = fs::read_to_string(folder.join("suite.recordings/log-in.json"))?;
    assert!(recording.contains("shop_password") && !recording.contains("correct-horse"), "{recording}");
    assert_eq!(shop.state()["logins"].as_array().map_or(0, Vec::len), 2);
    Ok(())
}

/// However its steps were written: a login whose secret the case names is recorded with its name and replayed.
#[test]
fn a_login_in_clear_becomes_one_with_the_secret_that_its_case_names() -> Result<()> {
    let shop = Shop::open()?;
    let folder = shop.runs();
    let plan = json!({
        "version": "1.0",
        "candidates": { "email": { "strategy": "byTestId", "testId": "email-input" },
                        "password": { "strategy": "byTestId", "testId": "password-input" },
                        "submit": { "strategy": "byRole", "role": "button", "name": "Log in" } },
        "steps": [{ "type": "type", "targetRef": "email", "text": "ann" },
                  { "type": "type", "targetRef": "password", "text": "correct-horse" },
                  { "type": "click", "targetRef": "submit", "post": [{ "kind": "urlChanges" }] }],
    });
    fs::write(folder.join("login.json"), plan.to_string())?;
    let secrets = folder.join("secrets.toml");
    fs::write(&secrets, "shop.value = \"correct-horse\"\n")?;
    #[cfg(unix)]
    fs::set_permissions(&secrets, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let suite = folder.join("suite.toml");
    let case = |name: &str, steps: &str| {
        format!(
            "[[case]]\nname = \"{name}\"\n{steps}\nurl = \"{}\"\ncredentials = {{ 2 = \"shop\" }}\n\
             expect = [{{ kind = \"urlMatches\", pattern = \"/dashboard\" }}]\n",
            shop.url("/login")
        )
    };
    let words = "narrative = 'Type \"ann\" into Email, type \"correct-horse\" into Password and press \"Log in\"'";
    fs::write(&suite, case("Given", "plan = \"login.json\"") + &case("Planned", words))?;
    for how in [["given", "planned"], ["replayed", "replayed"]] {
        let ended = shop.cuebook(&["test", text(&suite)?, "--secrets", text(&secrets)?, "--jobs", "2"])?;
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(statuses(&ended.json()?), how.map(|how| ("passed".to_owned(), how.to_owned())));
    }
    for name in ["given", "planned"] {
        let recording = fs::read_to_string(folder.join(format!("suite.recordings/{name}.json")))?;
        assert!(recording.contains("\"shop\"") && !recording.contains("correct-horse"), "{recording}");
    }
    Ok(())
}

/// A case that cannot be replayed, one whose expectation fails, and one that passes: one of three ended well.
#[test]
fn a_case_is_one_unit_in_the_counts_and_for_the_gate() -> Result<()> {
    let site = Changing::open()?;
    site.put("/", &format!("{SAVE}<input type=password aria-label=Secret>"));
    let suite = site.folder.path().join("units.toml");
    let case = |name: &str, narrative: &str, text: &str| {
        format!(
            "[[case]]\nname = \"{name}\"\nnarrative = '{narrative}'\n\
             expect = [{{ kind = \"elementTextEquals\", target = \"said\", text = \"{text}\" }}]\n\
             candidates.said = {{ strategy = \"css\", selector = \"#said\" }}\n"
        )
    };
    let save = "Press \"Save draft\"";
    let cases = [
        case("Passes", save, "kept"),
        case("Expects too much", save, "lost"),
        case("Cannot be replayed", "Type \"hunter2\" into Secret", ""),
    ];
    fs::write(&suite, format!("url = \"{}\"\n{}", site.origin, cases.concat()))?;
    let ended = test(&site, &suite, &[])?;
    let results = ended.json()?;
    assert_eq!((ended.code, &results["counts"]["passed"], &results["counts"]["failed"]), (1, &json!(1), &json!(2)));
    let runs = site.folder.path().join("runs");
    let stats = cuebook(&["stats", text(&runs)?, "--json"])?;
    assert_eq!(stats.code, 0, "{stats:?}");
    let counted = stats.json()?;
    assert_eq!((&counted["runs"]["total"], &counted["runs"]["ok"]), (&json!(3), &json!(1)), "{counted:#}");
    let baseline = site.folder.path().join("baseline.json");
    fs::write(&baseline, r#"{ "runs": { "total": 3, "ok": 3, "successRate": 1.0 } }"#)?;
    let gated = cuebook(&["stats", text(&runs)?, "--gate", text(&baseline)?])?;
    assert_eq!(gated.code, 1, "{gated:?}");
    Ok(())
}

#[test]
fn parts_of_a_suite_partition_it_and_a_wrong_suite_starts_no_browser() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let suite = folder.path().join("suite.toml");
    let run = |flags: &[&str]| -> Result<CliOutput> {
        let out = folder.path().join("runs");
        cuebook(&[&["test", text(&suite)?, "--chrome", "/nowhere", "--out", text(&out)?, "--json"], flags].concat())
    };
    fs::copy(EXAMPLE, &suite)?;
    let good = run(&["--filter", "newsletter"])?;
    assert_eq!((good.code, &good.json()?["error"]["code"]), (3, &json!("noBrowser")), "{good:?}");
    let none = run(&["--filter", "nothing like it"])?;
    assert_eq!((none.code, &none.json()?["error"]["code"]), (2, &json!("usage")), "{none:?}");
    assert_eq!(run(&["--shard", "4/3"])?.code, 2);

    let whole = fs::read_to_string(EXAMPLE)?;
    let wrong = [
        (
            whole.replace("kind = \"visible\", target = \"notice\"", "kind = \"visible\", target = \"nobody\""),
            "malformed",
        ),
        (whole.replace("priority = \"low\"", "priority = \"lowest\""), "malformed"),
        (whole.replace("urlMatches\", pattern = \"/cart$\"", "urlMatches\", pattern = \"(\""), "invalidCondition"),
        (whole.replace("context = \"shared\"", "plan = \"missing.json\""), "unreadable"),
    ];
    for (text, code) in wrong {
        assert_ne!(text, whole);
        fs::write(&suite, text)?;
        let refused = run(&[])?;
        assert_eq!((refused.code, &refused.json()?["error"]["code"]), (2, &json!(code)), "{refused:?}");
    }
    fs::write(&suite, "url = \"http://a.test\"\n\n[[case]]\nname = \"x\"\nnarative = \"y\"\n")?;
    let message = run(&[])?.json()?["error"]["message"].as_str().context("expected a message")?.to_owned();
    assert!(message.contains("suite.toml line 5: unknown field `narative`"), "{message}");
    Ok(())
}

#[test]
fn an_interrupted_suite_closes_its_browsers_and_reports_what_ran() -> Result<()> {
    let site = Changing::open()?;
    site.put("/", SAVE);
    let never = "[[case]]\nname = \"Never\"\nnarrative = 'Press \"Save draft\"'\ncontext = \"shared\"\n\
                 expect = [{ kind = \"urlMatches\", pattern = \"/nowhere\" }]\n";
    let suite = one_case(&site, &format!("context = \"shared\"\n{never}"))?;
    let junit = site.folder.path().join("junit.xml");
    let (runs, temporary) = (site.folder.path().join("runs"), site.folder.path().join("tmp"));
    fs::create_dir(&temporary)?;
    let child = command()?
        .args(["test", text(&suite)?, "--json", "--retries", "9", "--junit", text(&junit)?, "--out", text(&runs)?])
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // The second case fails as often as it is tried, for five seconds each time.
    site.until(|| fs::read_dir(&runs).map_or(0, Iterator::count) >= 4)?;
    // A case that is tried again is not judged before it is over.
    let rules = site.folder.path().join("alerts.toml");
    fs::write(&rules, "[[rule]]\nname = \"ends\"\nrate = \"runs.successRate\"\nmin = 0.9\nmin_runs = 1\n")?;
    let look = || cuebook(&["watch", text(&runs)?, "--rules", text(&rules)?, "--once", "--json"]);
    let looked = look()?;
    assert_eq!((looked.code, &looked.json()?["alerts"]), (0, &json!([])), "{looked:?}");
    Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    let ended = child.wait_with_output()?;
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    let looked = look()?;
    let alert = &looked.json()?["alerts"][0];
    assert_eq!((looked.code, &alert["now"], &alert["runs"]), (1, &json!(0.5), &json!(2)), "{looked:?}");
    assert_eq!(Report::deserialize_from_str(&fs::read_to_string(&junit)?)?.tests, 1);
    let left: Vec<_> = fs::read_dir(&temporary)?
        .flatten()
        .flat_map(|folder| fs::read_dir(folder.path()))
        .flatten()
        .flatten()
        .collect();
    assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().starts_with("profile-")), "{left:?}");
    Ok(())
}

#[test]
fn proposed_cases_of_the_built_in_site_pass_as_they_are() -> Result<()> {
    let shop = Shop::open()?;
    let suite = shop.runs().join("proposed.toml");
    let proposed = cuebook_alone(&["propose", &shop.url("/"), "--max", "6", "-o", text(&suite)?, "--json"])?;
    assert_eq!(proposed.code, 0, "{proposed:?}");
    let said = proposed.json()?;
    assert_eq!(said["cases"].as_array().map(Vec::len), Some(6), "{said:#}");
    let written = fs::read_to_string(&suite)?;
    assert_eq!(said["suite"], json!(written));
    for part in ["kind = \"urlMatches\"", "strategy = \"byRole\"", "# [[case]]", "<EMAIL>", "not followed (--max"] {
        assert!(written.contains(part), "{part} in {written}");
    }
    // Nothing was sent, and the second time says the same.
    assert_eq!(shop.state()["submissions"].as_array().map_or(0, Vec::len), 0, "{}", shop.state());
    let again = cuebook_alone(&["propose", &shop.url("/"), "--max", "6", "--quiet"])?;
    assert_eq!((again.code, again.stdout.as_str()), (0, written.as_str()));
    assert_eq!(cuebook_alone(&["propose", &shop.url("/"), "-o", text(&suite)?])?.code, 3, "it exists");
    let tested = shop.cuebook(&["test", text(&suite)?, "--planner", "lexical"])?;
    let results = tested.json()?;
    assert_eq!((tested.code, &results["counts"]["passed"]), (0, &json!(6)), "{results:#}");
    Ok(())
}

#[test]
fn a_site_without_an_end_is_proposed_within_bounds_and_nothing_changes_on_it() -> Result<()> {
    let site = Changing::open()?;
    let links: String = (0..300).map(|n| format!("<a href='/list?page={n}'>Page {n}</a> ")).collect();
    site.put(
        "/",
        &format!(
            "<h1>Start \u{202e}\"here\"</h1>{links}<a href='/logout'>Log out</a><a href='/items/9/delete'>Delete item</a>
             <a href='/broken'>Broken</a><a href='http://other.test/'>Other</a><script>fetch('/track', {{ method: 'POST' }})</script>"
        ),
    );
    site.put(
        "/list",
        &format!(
            "<h1>List</h1>{links}<form action=/search name=search><input aria-label=Words><button>Find</button></form>"
        ),
    );
    let proposed = cuebook_alone(&["propose", &site.origin, "--max", "5", "--json"])?;
    assert_eq!(proposed.code, 0, "{proposed:?}");
    let said = proposed.json()?;
    assert_eq!(said["cases"].as_array().map(Vec::len), Some(2), "{said:#}");
    let notes = said["notes"].to_string();
    for note in ["/broken", "that only a query tells from others", "like one that has a case"] {
        assert!(notes.contains(note), "{note} in {notes}");
    }
    let asked = site.requested();
    for never in ["/logout", "/items/9/delete", "/track", "/search"] {
        assert!(!asked.iter().any(|path| path == never), "{never} in {asked:?}");
    }
    assert!(asked.iter().filter(|path| *path == "/list").count() <= 4, "{asked:?}");
    Ok(())
}
