//! Getting done with what was bought: from the cart to the words that say it is ordered.
//!
//! Invariant: a purchase counts as done when the page says so, or when the page's own control for it was pressed
//! and nothing leads further. Otherwise the way goes on, or a person is asked for what the checkout wants.

use cuebook_grammar::candidate::{Candidate, Capability};
use cuebook_grammar::facts::Toggle;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::role::Role;

use super::super::grounding::Hit;
use super::super::page::{Page, Served, is_clickable, is_entry, missing};
use super::super::phrase::Phrase;
use super::super::text::words;

/// What a page says once an order is placed.
const SAID: &[&str] = &[
    "thank you",
    "thanks for",
    "order confirm",
    "order complete",
    "order placed",
    "order received",
    "order has been placed",
    "order was placed",
    "order is on its way",
    "placed your order",
    "received your order",
    "purchase complete",
    "purchase confirm",
    "payment received",
    "payment successful",
];
/// What places an order.
const FINAL: &[&str] = &[
    "place order",
    "place your order",
    "place my order",
    "submit order",
    "confirm order",
    "confirm purchase",
    "complete order",
    "complete purchase",
    "order now",
    "buy now",
    "pay now",
    "pay",
    "confirm and pay",
];
/// What leads there.
const ONWARD: &[&str] = &[
    "check out",
    "checkout",
    "proceed to checkout",
    "go to checkout",
    "continue to checkout",
    "secure checkout",
    "go to cart",
    "view cart",
    "view basket",
];
/// What holds the things.
const CARTS: &[&str] = &["cart", "basket", "bag", "trolley"];
/// The most controls that are pressed on the way.
const MAX_PRESSED: usize = 6;

/// The next step towards the end of a purchase.
pub(super) fn conclude(page: &Page<'_>, verb: &str) -> Served {
    if says_so(page.observation) {
        return Served::Done;
    }
    let pressed = page.progress.ways.iter().filter(|way| way.target_ref.is_some()).count();
    if pressed >= MAX_PRESSED {
        return Served::Cannot("expected the page to say that the order is placed, saw one step after another".into());
    }
    let is_new = |candidate: &&Candidate| {
        let title = candidate.title();
        is_clickable(candidate)
            && matches!(candidate.role, Role::Button | Role::Link)
            && !candidate.ambiguous
            && !candidate.states.disabled
            && !page.is_done_on(candidate)
            && !page.progress.ways.iter().any(|way| way.target.as_deref() == Some(&title))
    };
    let called = |names: &[&str]| {
        let names: Vec<Vec<String>> = names.iter().map(|name| words(name)).collect();
        page.views.iter().map(|view| view.candidate).filter(is_new).find(|candidate| {
            let name = words(&candidate.name);
            names.contains(&name)
        })
    };
    if let Some(last) = called(FINAL) {
        let wanted = wanted(page, last);
        return if wanted.is_empty() {
            press(page, last)
        } else {
            Served::Ask(format!(
                "before {:?} the page asks for {}: what should be there?",
                last.name,
                wanted.join(", ")
            ))
        };
    }
    let cart = || {
        page.views.iter().map(|view| view.candidate).filter(is_new).find(|candidate| {
            let name = words(&candidate.name);
            let holds = name.first().is_some_and(|word| CARTS.contains(&word.as_str()));
            holds && name.iter().skip(1).all(|word| word.bytes().all(|byte| byte.is_ascii_digit()) && word != "0")
        })
    };
    if let Some(next) = called(ONWARD).or_else(cart) {
        return press(page, next);
    }
    // The page's own control for it was pressed, and it offers no more.
    let verb = words(verb);
    let is_own = page.progress.last_pressed.as_deref().is_some_and(|title| {
        let said = words(title);
        verb.iter().all(|word| said.contains(word))
    });
    let still_open = page.views.iter().any(|view| {
        let name = words(&view.candidate.name);
        FINAL.iter().any(|last| words(last) == name)
    });
    if is_own && pressed == 0 && !still_open {
        return Served::Done;
    }
    let what = Phrase { raw: "word that the order is placed, or a checkout".into(), ..Phrase::named("checkout") };
    missing(&what, &[])
}

fn press<'a>(page: &Page<'a>, candidate: &'a Candidate) -> Served {
    let mut step = page.click(Hit { candidate, score: 0.8, confidence: 0.7 });
    step.leaves = true;
    Served::Way(vec![step])
}

/// Whether the page itself says that something was ordered.
fn says_so(observation: &Observation) -> bool {
    let sketch = &observation.sketch;
    let texts = std::iter::once(observation.title.as_str())
        .chain(sketch.headings.iter().map(|heading| heading.text.as_str()))
        .chain(sketch.live.iter().map(|live| live.text.as_str()))
        .chain(sketch.modal.as_deref())
        .chain(observation.dialog.as_ref().map(|dialog| dialog.message.as_str()));
    texts.map(|text| words(text).join(" ")).any(|text| SAID.iter().any(|said| text.contains(&words(said).join(" "))))
}

/// What the form of a control still wants, by name.
fn wanted(page: &Page<'_>, control: &Candidate) -> Vec<String> {
    let is_wanted = |candidate: &&Candidate| {
        let states = &candidate.states;
        let is_empty = candidate.value.as_ref().is_none_or(|value| value.clear() == Some(""));
        let is_off = candidate.supports(Capability::CheckOn) && states.checked == Some(Toggle::False);
        let of_form = control.form.is_none() || candidate.form == control.form;
        of_form && states.required && !states.disabled && ((is_entry(candidate) && is_empty) || is_off)
    };
    let fields = page.views.iter().map(|view| view.candidate).filter(is_wanted);
    fields.take(12).map(|candidate| format!("{:?}", candidate.name)).collect()
}
