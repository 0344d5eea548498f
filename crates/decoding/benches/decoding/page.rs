//! Pages of a given size, of the kinds of things that pages have.

use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{FrameSummary, Observation};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::profile::Profile;
use serde_json::{Value, json};

/// A page of `count` candidates whose ids begin at `first`: of ten, six are links and buttons, two are fields, one is
/// a box to tick and one a list of five options.
pub(crate) fn page(count: usize, first: usize) -> Observation {
    let candidates: Vec<Value> = (0..count)
        .map(|n| {
            let (role, control) = match n % 10 {
                0 | 1 => ("textbox", "text"),
                2 => ("checkbox", "check"),
                3 => ("combobox", "select"),
                4..=6 => ("link", "plain"),
                _ => ("button", "plain"),
            };
            let name = format!("{role} number {n}");
            let mut candidate = json!({
                "id": format!("c{}", first + n), "role": role, "name": name, "control": control,
                "states": { "editable": control == "text" },
                "fingerprint": { "role": role, "name": name, "path": format!("main>div:{n}") },
            });
            if control == "select" {
                candidate["options"] =
                    (0..5).map(|o| json!({ "value": o.to_string(), "label": format!("Option {o}") })).collect();
            }
            candidate
        })
        .collect();
    let frame = FrameSummary {
        parent: None,
        url: "https://shop.test/".to_owned(),
        origin: "https://shop.test".to_owned(),
        name: String::new(),
        out_of_process: false,
        omitted: None,
    };
    Observation {
        frames: vec![frame],
        candidates: serde_json::from_value(candidates.into()).unwrap(),
        ..Observation::blank(PageId::new("tab"), "https://shop.test/")
    }
}

/// Returns the policy of a run that was started on the page's site.
pub(crate) fn policy() -> Policy {
    Policy::new(Profile::Auto).starting_at("https://shop.test/").unwrap()
}
