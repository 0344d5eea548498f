use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::plan::{Author, PlanDraft, ViolationCode, Violations};
use crate::policy::Policy;
use crate::sample;

/// Controls in 28 languages and what they do: language, role, name, surroundings, class. Written without a look at the
/// lexicon.
const CONTROLS: &str = include_str!("controls.tsv");

fn control(role: &str, name: &str, extra: &Value) -> Candidate {
    let mut control = sample::page("button \"x\"").candidates.remove(0);
    let text = |key: &str| extra.get(key).and_then(Value::as_str).map(str::to_owned);
    control.role = Role::parse(role).unwrap();
    control.name = name.to_owned();
    control.description = text("description");
    control.surroundings = text("dialog").or_else(|| text("heading"));
    control
}

/// Recall counts every row that needs consent and is asked for, whatever its class.
#[test]
fn the_labelled_controls_ask_where_they_should_and_nowhere_else() {
    let (mut asked, mut harmful, mut alarms, mut harmless) = (0, 0, 0, 0);
    let mut wrong: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in CONTROLS.lines() {
        let [language, role, name, extra, class] = <[&str; 5]>::try_from(row.split('\t').collect::<Vec<_>>()).unwrap();
        let seen = of_click(&control(role, name, &serde_json::from_str(extra).unwrap()));
        let is_harmful = class != "harmless";
        if is_harmful {
            harmful += 1;
            asked += usize::from(seen.needs_consent());
        } else {
            harmless += 1;
            alarms += usize::from(seen.needs_consent());
        }
        if is_harmful != seen.needs_consent() {
            wrong.entry(language).or_default().push(format!("{class} as {}: {role} {name} {extra}", seen.as_str()));
        }
    }
    let share = |part: usize, of: usize| 100.0 * f64::from(part as u32) / f64::from(of as u32);
    let (recall, alarms) = (share(asked, harmful), share(alarms, harmless));
    assert!(recall >= 98.0 && alarms <= 5.0, "recall {recall:.1} %, false alarms {alarms:.1} %: {wrong:#?}");
}

/// Controls in five languages, written for the kinds that hostile pages and reviews brought up: part, language, role,
/// name (as JSON spells it), what else is known, class. The lexicon is tuned on the part `tuning` only.
const LABELS: &str = include_str!("labels.tsv");

/// Of both parts of the labels: those that need consent and ask, and those that need none and ask. No figure may get
/// worse; the first to get better is written here.
const RATCHET: [(&str, u32, u32); 2] = [("tuning", 214, 1), ("held-out", 188, 2)];

#[derive(serde::Deserialize)]
struct Label {
    /// How the control is used: clicked, dropped on (`drag`), or left by Enter (`enter`).
    #[serde(default)]
    verb: String,
    method: Option<String>,
    url: Option<String>,
    to: Option<String>,
}

fn of_label(role: &str, name: &str, extra: &str) -> RiskClass {
    let mut page = sample::page("listitem \"Note 7\"");
    let name: String = serde_json::from_str(&format!("\"{name}\"")).unwrap();
    let label: Label = serde_json::from_str(extra).unwrap();
    let mut target = control(role, &name, &serde_json::from_str(extra).unwrap());
    let absolute = |path: String| format!("https://a.test{path}");
    target.control = sample::page(&format!("{role} \"x\"")).candidates.remove(0).control;
    target.activation.method = label.method;
    target.activation.url = label.url.map(absolute);
    target.destination = label.to.map(absolute);
    target.id = crate::id::CandidateId(2);
    page.candidates.push(target);
    let action = match label.verb.as_str() {
        "drag" => json!({"type": "dragTo", "targetRef": "c1", "to": "c2"}),
        "enter" => json!({"type": "press", "targetRef": "c2", "keys": "Enter"}),
        _ => json!({"type": "click", "targetRef": "c2"}),
    };
    let action = step(action);
    let targets = action.targets().into_iter().filter_map(|target| page.candidate(target.candidate_id()?));
    of(&action, &targets.collect::<Vec<_>>(), &page)
}

#[test]
fn the_labels_ask_no_worse_than_before() {
    for (part, least_asked, most_needless) in RATCHET {
        let (mut asked, mut needless, mut wrong) = (0, 0, Vec::new());
        for row in LABELS.lines() {
            let columns = <[&str; 6]>::try_from(row.split('\t').collect::<Vec<_>>()).unwrap();
            let [of_part, language, role, name, extra, class] = columns;
            if of_part != part {
                continue;
            }
            let asks = of_label(role, name, extra).needs_consent();
            asked += u32::from(asks && class != "harmless");
            needless += u32::from(asks && class == "harmless");
            if asks != (class != "harmless") {
                wrong.push(format!("{class}: {language} {role} {name} {extra}"));
            }
        }
        let is_as_good = asked >= least_asked && needless <= most_needless;
        // What is wrong in the held-out part is not shown: it would be tuned on.
        let wrong = if part == "tuning" { wrong } else { Vec::new() };
        assert!(is_as_good, "{part}: {asked} ask, {needless} ask needlessly: {wrong:#?}");
    }
}

fn step(json: Value) -> Action {
    serde_json::from_value(json).unwrap()
}

/// The risk of a step on the candidate `c1` of a page, which `change` prepared.
fn risk(lines: &str, change: impl FnOnce(&mut Candidate), action: Value) -> RiskClass {
    let mut page = sample::page(lines);
    change(&mut page.candidates[0]);
    let action = step(action);
    let targets = action.targets().into_iter().filter_map(|target| page.candidate(target.candidate_id()?));
    of(&action, &targets.collect::<Vec<_>>(), &page)
}

#[test]
fn what_refuses_cookies_is_harmless_in_their_box_only() {
    let of = |name: &str, path: &str, surroundings: Option<&str>| {
        let change = |it: &mut Candidate| {
            path.clone_into(&mut it.fingerprint.path);
            it.surroundings = surroundings.map(str::to_owned);
        };
        risk(&format!("button \"{name}\""), change, json!({ "type": "click", "targetRef": "c1" }))
    };
    let (page, widget, dialog) = ("body>main>button", "body>div#onetrust-banner-sdk>button", "body>div[dialog]>button");
    assert_eq!(of("Reject all", page, None), RiskClass::Destructive);
    assert_eq!(of("Reject all", widget, None), RiskClass::Write);
    assert_eq!(of("Reject all", dialog, Some("Cookies: we value your privacy")), RiskClass::Write);
    assert_eq!(of("Reject all", dialog, Some("Three applications")), RiskClass::Destructive);
    // A heading says what a page is about, not what asks.
    assert_eq!(of("Reject all", page, Some("Cookie recipes")), RiskClass::Destructive);
    assert_eq!(of("Delete account", widget, None), RiskClass::Destructive);
}

/// Returns the risk of a model's press without a target on a page, and the main target that it is bound to.
fn pressed(lines: &str, keys: &str, change: impl FnOnce(&mut [Candidate])) -> Result<(RiskClass, String), Violations> {
    let mut page = sample::page(lines);
    change(&mut page.candidates);
    let policy = Policy::default().starting_at(&page.url).unwrap();
    let plan = json!({"version": "1.0", "steps": [{"type": "press", "keys": keys}]});
    let plan = PlanDraft::read_value(plan, Author::Model).unwrap().check(&page, &policy).unwrap();
    assert!(plan.needs_observation(0) || keys == "Tab");
    let bound = plan.bind(0, &page)?;
    Ok((bound.risk(), bound.main_target().map(|(name, _)| name.to_string()).unwrap_or_default()))
}

#[test]
fn a_name_is_read_in_every_way_that_a_person_may() {
    let said = |role: &str, name: &str| of_click(&control(role, name, &json!({})));
    for name in [
        "De\u{ad}lete",
        "De\u{200b}lete",
        "De lete",
        "DeleteAll",
        "deleteAll",
        "delete_all",
        "delete.all",
        "De1ete",
        "D3LETE",
        "ユーザーをBANする",
    ] {
        assert_eq!(said("button", name), RiskClass::Destructive, "{name}");
    }
    for name in [
        "i18n",
        "H264",
        "iPhone 15",
        "PayPal",
        "Model_S",
        "v1.0",
        "De l'usine",
        "Undo_delete",
        "clearFilters",
        "Bank account",
        "Urban",
    ] {
        assert_eq!(said("button", name), RiskClass::Write, "{name}");
    }
    assert_eq!(said("button", "Pub1ish"), RiskClass::Send, "a one is an `l` or an `i`");
}

#[test]
fn a_bin_throws_away_what_is_dropped_there_and_shows_it_as_a_link() {
    let click = json!({"type": "click", "targetRef": "c1"});
    assert_eq!(risk("button \"Trash (3)\"", |_| {}, click.clone()), RiskClass::Destructive);
    assert_eq!(risk("link \"Trash\"", |_| {}, click.clone()), RiskClass::Write);
    assert_eq!(risk("button \"Trash settings\"", |_| {}, click), RiskClass::Write);
    let dropped = json!({"type": "dragTo", "targetRef": "c1", "to": "c2"});
    let drop = |page: &str| risk(page, |_| {}, dropped.clone());
    assert_eq!(drop("listitem \"Note 7\"\nlink \"Trash\""), RiskClass::Destructive);
    assert_eq!(drop("listitem \"Trash\"\nlistitem \"Done\""), RiskClass::Write, "what is dragged is no place");
}

#[test]
fn what_is_sent_to_a_path_is_judged_by_its_verb() {
    let enter = || json!({"type": "press", "targetRef": "c1", "keys": "Enter"});
    let sent = |method: &str, path: &str| {
        let (method, url) = (method.to_owned(), format!("https://a.test{path}"));
        let change = move |field: &mut Candidate| {
            field.activation.method = Some(method);
            field.activation.url = Some(url);
        };
        risk("textbox \"Name\"", change, enter())
    };
    for path in ["/pay", "/shop/pay.php", "/pay/5", "/pay;s=1", "/pagar", "/%6Bauf/bezahlen", "/payNow"] {
        assert_eq!(sent("POST", path), RiskClass::Money, "{path}");
        assert_eq!(sent("GET", path), RiskClass::Money, "{path}: pages send forms themselves");
        let link = format!("link \"Go on\" to={path}");
        assert_eq!(
            risk(&link, |_| {}, json!({"type": "click", "targetRef": "c1"})),
            RiskClass::Write,
            "{path} is a page"
        );
    }
    assert_eq!(sent("POST", "/messages/send"), RiskClass::Send);
    for path in ["/search", "/orders/5", "/orders/filter", "/pay/methods", "/"] {
        assert_eq!(sent("POST", path), RiskClass::Write, "{path}");
        assert_eq!(sent("GET", path), RiskClass::Write, "{path}");
    }
}

#[test]
fn keys_are_judged_by_what_has_the_focus() {
    let page = "button \"Delete\"\nlink \"Home\"";
    let focus = |at: usize| move |page: &mut [Candidate]| page[at].states.focused = true;
    for keys in ["Enter", "Return", "NumpadEnter", "Shift+Enter", "Control+Enter", "Space", " "] {
        assert_eq!(pressed(page, keys, focus(0)).unwrap(), (RiskClass::Destructive, "c1".to_owned()), "{keys}");
    }
    assert_eq!(pressed(page, "Enter", focus(1)).unwrap(), (RiskClass::Write, "c2".to_owned()));
    assert_eq!(pressed(page, "Tab", focus(0)).unwrap(), (RiskClass::Write, String::new()));
    assert_eq!(pressed(page, "Enter", |_| {}).unwrap(), (RiskClass::Write, String::new()));
    let both = pressed(page, "Enter", |page| page.iter_mut().for_each(|control| control.states.focused = true));
    assert_eq!(both.unwrap_err()[0].code, ViolationCode::AmbiguousTarget);
    let accessible = |page: &mut [Candidate]| page[0].activation.access_key = Some("x d".into());
    assert_eq!(pressed(page, "Alt+D", accessible).unwrap().0, RiskClass::Destructive);
}

#[test]
fn every_verb_that_a_page_can_act_on_is_judged() {
    for verb in ["click", "hover", "focus", "longPress", "press"] {
        let mut json = json!({"type": verb, "targetRef": "c1"});
        if verb == "press" {
            json["keys"] = "Enter".into();
        }
        assert_eq!(risk("link \"Delete\"", |_| {}, json), RiskClass::Destructive, "{verb}");
    }
    let dropped = json!({"type": "dragTo", "targetRef": "c1", "to": "c2"});
    assert_eq!(risk("listitem \"Invoice 7\"\nbutton \"Delete\"", |_| {}, dropped), RiskClass::Destructive);
    let ticked = json!({"type": "check", "targetRef": "c1"});
    assert_eq!(risk("checkbox \"Delete all my data\"", |_| {}, ticked), RiskClass::Destructive);
    let hovered = json!({"type": "hover", "targetRef": "c1"});
    assert_eq!(risk("link \"Products\"", |_| {}, hovered), RiskClass::Read);
}

#[test]
fn enter_in_a_field_is_what_its_form_does() {
    let pays = |field: &mut Candidate| field.activation.button = Some("Pay now".into());
    let card = |field: &mut Candidate| field.activation.sends = vec![SentField::Card];
    let enter = json!({"type": "press", "targetRef": "c1", "keys": "Enter"});
    assert_eq!(risk("textbox \"Name\"", pays, enter.clone()), RiskClass::Money);
    assert_eq!(risk("textbox \"Name\"", card, enter.clone()), RiskClass::Money);
    assert_eq!(risk("textbox \"Name\"", |_| {}, enter), RiskClass::Write);
    let typed = |text: &str| json!({"type": "type", "targetRef": "c1", "text": text});
    assert_eq!(risk("textbox \"Name\"", pays, typed("Ann\n")), RiskClass::Money);
    assert_eq!(risk("textbox \"Name\"", pays, typed("Ann")), RiskClass::Write);
}

#[test]
fn structure_counts_where_names_say_nothing() {
    let click = || json!({"type": "click", "targetRef": "c1"});
    let method = |control: &mut Candidate| control.activation.method = Some("DELETE".into());
    let address = |control: &mut Candidate| control.activation.url = Some("https://a.test/items/5/delete".into());
    let harmless = |control: &mut Candidate| control.activation.url = Some("https://a.test/delete/5/show".into());
    assert_eq!(risk("button \"Go\"", method, click()), RiskClass::Destructive);
    assert_eq!(risk("button \"Go\"", address, click()), RiskClass::Destructive);
    assert_eq!(risk("button \"Go\"", harmless, click()), RiskClass::Write);
    assert_eq!(risk("link \"Go\" to=/items/5/delete", |_| {}, click()), RiskClass::Destructive);
    let chosen = json!({"type": "select", "targetRef": "c1", "option": "Delete all"});
    assert_eq!(risk("combobox \"Action\" options=\"Show|Delete all\"", |_| {}, chosen), RiskClass::Destructive);
}

#[test]
fn icons_count_where_there_are_no_words() {
    let click = || json!({"type": "click", "targetRef": "c1"});
    let shows = |icon: &'static str| move |control: &mut Candidate| control.activation.icon = Some(icon.to_owned());
    assert_eq!(risk("button \"\"", shows("trash alt"), click()), RiskClass::Destructive);
    assert_eq!(risk("button \"\"", shows("delete"), click()), RiskClass::Destructive);
    assert_eq!(risk("button \"\"", shows("paper plane"), click()), RiskClass::Send);
    assert_eq!(risk("button \"\"", shows("chevron down"), click()), RiskClass::Write);
}

#[test]
fn what_only_agrees_is_judged_by_what_is_asked() {
    let click = || json!({"type": "click", "targetRef": "c1"});
    let asks = |text: &'static str| move |control: &mut Candidate| control.surroundings = Some(text.to_owned());
    assert_eq!(risk("button \"OK\"", asks("Delete all 500 invoices?"), click()), RiskClass::Destructive);
    assert_eq!(risk("button \"Cancel\"", asks("Delete all 500 invoices?"), click()), RiskClass::Write);
    assert_eq!(risk("button \"OK\"", asks("Your filters were removed."), click()), RiskClass::Write);
}

#[test]
fn a_point_risks_what_the_smallest_candidate_below_it_does() {
    let mut page = sample::page("button \"Delete all\"\nbutton \"Save\"\nbutton \"Trash\"");
    (page.viewport.width, page.viewport.height) = (1_000.0, 500.0);
    let boxes = [(0.0, 0.0, 200.0, 200.0), (50.0, 50.0, 40.0, 40.0), (500.0, 50.0, 40.0, 40.0)];
    for (candidate, (x, y, width, height)) in page.candidates.iter_mut().zip(boxes) {
        candidate.rect = Some(crate::geometry::Rect { x, y, width, height });
    }
    let risk = |step: Value| {
        let draft = PlanDraft::read_value(json!({ "version": "1.0", "steps": [step] }), Author::Model).unwrap();
        let policy = Policy::new(crate::profile::Profile::Unleashed).starting_at(&page.url).unwrap();
        let bound = draft.check(&page, &policy).unwrap().bind(0, &page).unwrap();
        // Whatever it hits, it is never repeated.
        assert_eq!(bound.effect(), EffectClass::Destructive);
        let asks = !matches!(bound.consent(), crate::policy::Consent::Granted);
        assert_eq!(asks, bound.risk().needs_consent(), "{:?}", bound.consent());
        bound.risk()
    };
    let at = |x: u32, y: u32| json!({ "x": x, "y": y });
    assert_eq!(risk(json!({ "type": "clickPoint", "point": at(10, 10) })), RiskClass::Destructive);
    assert_eq!(risk(json!({ "type": "longPressPoint", "point": at(10, 10) })), RiskClass::Destructive);
    assert_eq!(risk(json!({ "type": "clickPoint", "point": at(60, 60) })), RiskClass::Write);
    assert_eq!(risk(json!({ "type": "clickPoint", "point": at(400, 400) })), RiskClass::Write);
    let seen_in = json!({ "width": 500, "height": 250 });
    let half = json!({ "type": "clickPoint", "point": at(95, 95), "viewport": seen_in });
    assert_eq!(risk(half), RiskClass::Destructive, "the point is of a picture of half the size");
    assert_eq!(risk(json!({ "type": "dragPoints", "from": at(60, 60), "to": at(510, 60) })), RiskClass::Destructive);
    assert_eq!(risk(json!({ "type": "dragPoints", "from": at(60, 60), "to": at(400, 400) })), RiskClass::Write);
}

#[test]
fn words_at_a_point_are_judged_as_those_of_a_control() {
    for (words, class) in [
        ("Delete everything", RiskClass::Destructive),
        ("Buy now", RiskClass::Money),
        ("Open the map", RiskClass::Write),
        ("", RiskClass::Write),
    ] {
        assert_eq!(of_words_at(words), class, "{words}");
    }
}
