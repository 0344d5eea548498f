//! The page that the engines plan on: a form with two fields, a check box, a link and a button.

use cuebook_grammar::observation::Observation;
use cuebook_grammar::policy::Policy;
use serde_json::{Value, json};

/// URL of the page.
pub(crate) const HERE: &str = "http://shop.test/order";

/// Task that fits the page, with a character outside ASCII.
pub(crate) const TASK: &str = "order for Zoë";

/// `c1` Name and `c2` City are text fields, `c3` Gift wrap a check box, `c4` Terms a link, `c5` Send a button.
pub(crate) fn page() -> Observation {
    let candidate = |id: &str, role: &str, name: &str, control: &str| {
        let editable = matches!(control, "text");
        json!({
            "id": id, "role": role, "name": name, "control": control, "states": { "editable": editable },
            "fingerprint": { "role": role, "name": name, "path": format!("html/body/{id}") },
        })
    };
    let mut gift = candidate("c3", "checkbox", "Gift wrap", "check");
    gift["states"]["checked"] = json!("false");
    let mut terms = candidate("c4", "link", "Terms", "plain");
    terms["destination"] = json!("http://shop.test/terms");
    serde_json::from_value(json!({
        "schemaVersion": "1.0", "id": 1, "page": "p1", "scope": "view", "url": HERE, "title": "Order",
        "viewport": {
            "width": 800.0, "height": 600.0, "scrollX": 0.0, "scrollY": 0.0,
            "pageWidth": 800.0, "pageHeight": 600.0, "devicePixelRatio": 1.0,
        },
        "frames": [{ "url": HERE, "origin": "http://shop.test", "name": "", "outOfProcess": false }],
        "candidates": [
            candidate("c1", "textbox", "Name", "text"), candidate("c2", "textbox", "City", "text"), gift, terms,
            candidate("c5", "button", "Send", "plain"),
        ],
        "fingerprint": "0000000000000000",
    }))
    .expect("the page is an observation")
}

/// Returns the policy of the page: the one of any run that starts there.
pub(crate) fn policy() -> Policy {
    Policy::default().starting_at(HERE).expect("the page has an origin")
}

/// A plan for the task; its text has characters of two, three and four bytes.
pub(crate) fn order() -> Vec<Value> {
    vec![
        json!({ "type": "type", "targetRef": "c1", "text": "Zoë" }),
        json!({ "type": "type", "targetRef": "c2", "text": "東京 🎭" }),
        json!({ "type": "click", "targetRef": "c5" }),
    ]
}

#[cfg(test)]
mod tests {
    use cuebook_decoding::{PlanStream, read, specialise};
    use cuebook_grammar::plan::Author;

    use super::*;

    #[test]
    fn the_plan_is_a_sentence_of_the_page_and_passes_the_check() {
        let (page, policy) = (page(), policy());
        let spec = specialise(&page, &policy);
        let (last, steps) = order().split_last().map(|(last, steps)| (last.clone(), steps.to_vec())).unwrap();
        let text = json!({ "version": "1.0", "steps": steps, "last": last }).to_string();
        let mut stream = PlanStream::new(spec.document());
        assert_eq!(stream.push(text.as_bytes()).unwrap().len(), 3);
        let draft = read::read(&text, Author::Model).unwrap();
        draft.check(&page, &policy).unwrap();
    }
}
