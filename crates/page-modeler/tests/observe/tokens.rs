//! Cost of an observation to a model, counted with a real tokenizer.

use cuebook_grammar::candidate::{Candidate, ControlKind};
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::render::{TextOptions, delta, estimate_tokens, json, text as render, yaml};
use cuebook_grammar::role::Role;
use tiktoken_rs::{CoreBPE, o200k_base};

use crate::corpus::{PAGES, corpus};
use crate::stage::Stage;

fn count(tokenizer: &CoreBPE, text: &str) -> usize {
    tokenizer.encode_ordinary(text).len()
}

/// Roles that a person acts on, as snapshots write them.
const ACTED_ON: [&str; 18] = [
    "button",
    "link",
    "checkbox",
    "radio",
    "switch",
    "textbox",
    "searchbox",
    "combobox",
    "listbox",
    "slider",
    "spinbutton",
    "tab",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "treeitem",
    "option",
    "gridcell",
];

/// Visible only while it has the focus, so it cannot be clicked before.
const CLIPPED_AWAY: &str = "Skip to content";

/// Returns the elements of a Playwright snapshot that can be acted on: role and name of every line with a reference.
fn acted_on(snapshot: &str) -> Vec<(String, String)> {
    snapshot
        .lines()
        .filter_map(|line| {
            let line = line.trim_start().strip_prefix("- ")?.trim_matches('\'');
            let (role, rest) = line.split_once(' ')?;
            let name = rest.strip_prefix('"').and_then(|rest| rest.split_once("\" [")).map_or("", |(name, _)| name);
            // A cell of a grid that has no name is empty, or holds what is acted on.
            let is_empty = role == "gridcell" && name.is_empty();
            (ACTED_ON.contains(&role) && rest.contains("[ref=") && !is_empty && name != CLIPPED_AWAY)
                .then(|| (role.to_owned(), name.replace("\\\"", "\"")))
        })
        .collect()
}

/// The role as Playwright has it: a colour field is a text field there, and a button to the browser.
fn role_of(candidate: &Candidate) -> String {
    match candidate.control {
        ControlKind::Color => Role::TextBox.to_string(),
        _ => candidate.role.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_observation_takes_half_of_playwrights_tokens_with_every_control() {
    let tokenizer = o200k_base().unwrap();
    let (mut stage, addresses) = corpus().await;
    let (mut ours, mut theirs) = (0, 0);
    for ((name, address), (.., snapshot)) in addresses.iter().zip(PAGES) {
        stage.go(address).await;
        let mut seen = stage.observe(Scope::Full).await;
        // Playwright's tell of one page only.
        seen.tabs.clear();
        let text = render(&seen, &TextOptions::WHOLE);
        let (own, other) = (count(&tokenizer, &text), count(&tokenizer, snapshot));
        ours += own;
        theirs += other;
        let mut left: Vec<(String, &str)> =
            seen.candidates.iter().map(|candidate| (role_of(candidate), candidate.name.as_str())).collect();
        let options = seen.candidates.iter().flat_map(|candidate| &candidate.options);
        left.extend(options.map(|option| ("option".to_owned(), option.label.as_str())));
        let mut wanted = acted_on(snapshot);
        // What Playwright has no name for may have one here: it is what is left of its role in the end.
        wanted.sort_by_key(|(_, name)| name.is_empty());
        wanted.retain(|(role, name)| {
            // Browsers read the marks of a quotation, Playwright does not.
            let found = left
                .iter()
                .position(|(own, called)| own == role && (name.is_empty() || called.replace(['“', '”'], "") == *name));
            found.map(|place| left.swap_remove(place)).is_none()
        });
        let lost = wanted;
        assert!(lost.is_empty(), "{name} lost {lost:?} in\n{text}");
    }
    assert!(ours * 2 <= theirs, "{ours} of {theirs} tokens");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_estimate_of_tokens_is_within_a_quarter_of_a_tokenizers() {
    let tokenizer = o200k_base().unwrap();
    let (mut stage, addresses) = corpus().await;
    for (name, address) in &addresses {
        stage.go(address).await;
        let seen = stage.observe(Scope::Full).await;
        for text in
            [render(&seen, &TextOptions::WHOLE), yaml(&seen, &TextOptions::WHOLE), json(&seen, &TextOptions::WHOLE)]
        {
            let (estimate, real) = (estimate_tokens(&text), count(&tokenizer, &text));
            let ratio = estimate as f64 / real as f64;
            assert!((0.8..=1.25).contains(&ratio), "{name}: {estimate} against {real}");
        }
    }
}

/// Ids in the order of a text.
fn shown_ids(text: &str, seen: &Observation) -> Vec<String> {
    seen.candidates.iter().map(|c| format!("[{}]", c.id)).filter(|id| text.contains(id.as_str())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_holds_the_most_useful_candidates_in_every_form() {
    let tokenizer = o200k_base().unwrap();
    let mut stage = Stage::on(
        "<a href=#>Away</a><div id=cover style='position:absolute;left:0;top:200px;width:300px;height:200px;background:#fff;z-index:1'></div>
         <button style='position:absolute;top:250px;left:20px'>Covered</button>
         <script>for (let i = 0; i < 200; i++) document.write(`<p style='margin-top:400px'><button>Far ${i}</button></p>`)</script>
         <input aria-label=Field style='position:absolute;top:50px;left:0'>",
    )
    .await;
    let seen = stage.observe(Scope::Full).await;
    let options = TextOptions { budget: 400, ..TextOptions::default() };
    let text = render(&seen, &options);
    assert!(count(&tokenizer, &text) <= 500, "{text}");
    let ids = shown_ids(&text, &seen);
    assert!(ids.len() > 5 && ids.len() < 60, "{text}");
    assert!(text.contains("\"Field\"") && text.contains("\"Away\"") && !text.contains("\"Covered\""), "{text}");
    assert!(
        text.contains("# off view\n") && text.contains(&format!("left out: {} candidates beyond", 203 - ids.len())),
        "{text}"
    );
    let written = yaml(&seen, &options);
    assert!(written.contains("# left out: ") && written.contains("- textbox \"Field\" ["), "{written}");
    let document: Observation = serde_json::from_str(&json(&seen, &TextOptions { budget: 4_000, ..options })).unwrap();
    assert!(count(&tokenizer, &serde_json::to_string(&document).unwrap()) <= 5_000);
    assert_eq!(document.candidates.len() as u64 + document.truncated.unwrap().candidates, 203);
    assert!(document.candidates.iter().any(|c| c.name == "Field"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_appeared_disappeared_and_changed_is_written_in_lines() {
    let mut stage =
        Stage::on("<button id=a>Old</button><input type=checkbox id=b aria-label=Agree><button>Same</button>").await;
    let first = stage.observe(Scope::Full).await;
    assert_eq!(delta(&first, &TextOptions::default()), None);
    stage.page_script("a.remove(); b.checked = true; document.body.append(Object.assign(document.createElement('button'), { textContent: 'New' })); 0").await;
    let second = stage.observe(Scope::Full).await;
    assert_eq!(
        delta(&second, &TextOptions::default()).unwrap(),
        "since observation 1: 1 came, 1 went, 1 changed\n+ button \"New\" [c4]\n~ checkbox \"Agree\" [c2] [checked]\n- button \"Old\" [c1]\n"
    );
    let narrow = TextOptions { budget: 45, ..TextOptions::default() };
    assert!(delta(&second, &narrow).unwrap().contains("changes beyond the budget"));
    let third = stage.observe(Scope::Full).await;
    assert_eq!(delta(&third, &TextOptions::default()).unwrap(), "since observation 2: 0 came, 0 went, 0 changed\n");
}
