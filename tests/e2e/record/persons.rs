//! Twenty persons, each of whom does something else on the built-in site. What each did is recorded once and repeated in a
//! fresh browser on a fresh site, which then has seen the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use cuebook_cdp::DialogAnswer;
use cuebook_tests::{Person, Shop};
use serde_json::{Value, json};

use super::scene::{CARD, Desk, PASSWORD, Scene, repeat};

/// Recordings at once in one browser.
const AT_ONCE: usize = 3;
/// Everything that the site knows of what was done.
const SEEN: [&str; 8] = ["logins", "logouts", "orders", "submissions", "uploads", "deleted", "edited", "hits"];

/// A person, and what the site has seen when they are done.
struct Case {
    title: &'static str,
    path: &'static str,
    does: fn(&Scene, &Shop, &Person) -> Result<()>,
    /// A place in the site's account, and what is there.
    seen: (&'static str, &'static str),
    /// Flags of the repetition.
    flags: &'static [&'static str],
}

const EXACT: &[&str] = &["--no-repair"];

const CASES: [Case; 20] = [
    Case {
        title: "sends an order",
        path: "/shop",
        does: orders,
        seen: ("/orders/0/delivery/date", "2027-03-15"),
        flags: EXACT,
    },
    Case {
        title: "works in tabs",
        path: "/tabs",
        does: works_in_tabs,
        seen: ("/submissions/0/fields/item", "Wax"),
        flags: EXACT,
    },
    Case {
        title: "works in frames",
        path: "/frames",
        does: works_in_frames,
        seen: ("/submissions/0/form", "branch.same"),
        flags: EXACT,
    },
    Case {
        title: "accepts dialogs",
        path: "/dialogs",
        does: accepts_dialogs,
        seen: ("/submissions/0/fields/name", "Bob"),
        flags: EXACT,
    },
    Case {
        title: "opens a submenu by the pointer",
        path: "/menus",
        does: opens_a_submenu,
        seen: ("/submissions/0/fields/choice", "Export as PDF"),
        flags: EXACT,
    },
    Case {
        title: "dismisses dialogs",
        path: "/dialogs",
        does: dismisses_dialogs,
        seen: ("/submissions/0/fields/city", "Bergen"),
        flags: EXACT,
    },
    Case {
        title: "leaves a page that asks",
        path: "/dialogs",
        does: leaves,
        seen: ("/hits/counter", "1"),
        flags: EXACT,
    },
    Case {
        title: "uses a list box, tabs and a question",
        path: "/menus",
        does: uses_menus,
        seen: ("/submissions/0/fields/choice", "Dotted"),
        flags: EXACT,
    },
    Case {
        title: "takes a suggestion",
        path: "/menus",
        does: takes_a_suggestion,
        seen: ("/submissions/0/fields/choice", "Aarhus"),
        flags: EXACT,
    },
    Case {
        title: "waits for a suggestion and picks a day",
        path: "/widgets",
        does: picks_a_day,
        seen: ("/submissions/1/fields/date", "2027-02-14"),
        flags: EXACT,
    },
    Case {
        title: "makes gestures",
        path: "/widgets",
        does: makes_gestures,
        seen: ("/hits/widgets.context", "1"),
        flags: EXACT,
    },
    Case {
        title: "chooses several of a list",
        path: "/widgets",
        does: chooses_several,
        seen: ("/submissions/0/fields/chosen", "Black, Sepia"),
        flags: EXACT,
    },
    Case { title: "works by keys only", path: "/login", does: works_by_keys, seen: ("/logouts", "1"), flags: EXACT },
    Case {
        title: "works in a frame of another site",
        path: "/frames",
        does: works_in_a_frame_of_another_site,
        seen: ("/submissions/0/form", "branch.cross"),
        flags: EXACT,
    },
    Case {
        title: "fills every kind of field",
        path: "/editors",
        does: fills_fields,
        seen: ("/submissions/0/fields/day", "2027-04-05"),
        flags: EXACT,
    },
    Case {
        title: "uploads files",
        path: "/editors",
        does: uploads,
        seen: ("/uploads/1/name", "second.txt"),
        flags: EXACT,
    },
    Case {
        title: "writes a letter",
        path: "/editors",
        does: writes_a_letter,
        seen: ("/submissions/0/fields/text", "Dear Ann\nYours"),
        flags: EXACT,
    },
    Case {
        title: "drags",
        path: "/editors",
        does: drags,
        seen: ("/submissions/2/fields/order", "Second, Third, First"),
        flags: EXACT,
    },
    Case {
        title: "searches, edits and deletes rows",
        path: "/orders",
        does: works_on_rows,
        seen: ("/deleted/0", "INV-1004"),
        flags: EXACT,
    },
    Case {
        title: "goes back, and scrolls in a pane",
        path: "/",
        does: scrolls,
        seen: ("/submissions/0/fields/seat", "40"),
        // Scrolling is no step: a row that is not there yet is scrolled for.
        flags: &[],
    },
];

fn orders(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.chooses_by_arrows("#notebook-size", 1))?;
    scene.does(person.clicks_near("field", "gift wrap", "notebook"))?;
    scene.does(person.clicks_near("field", "express", "notebook"))?;
    scene.does(person.clicks_near("button", "add to cart", "notebook"))?;
    scene.does(person.clicks("link", "check out"))?;
    scene.does(person.enters("full name", "Ann Archer"))?;
    scene.does(person.enters("email", "ann@example.com"))?;
    scene.does(types_into(person, "delivery date", "03152027"))?;
    scene.does(person.enters("card number", CARD))?;
    scene.does(person.clicks("field", "i accept the terms"))?;
    scene.does(person.clicks("button", "place order"))
}

fn accept(text: Option<&str>) -> DialogAnswer {
    DialogAnswer::Accept { text: text.map(str::to_owned) }
}

fn accepts_dialogs(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.clicks("button", "decline"))?;
    scene.does(person.clicks_and_answers(["button", "show alert", ""], &[accept(None)]))?;
    scene.does(person.clicks_and_answers(["button", "ask to confirm", ""], &[accept(None)]))?;
    scene.does(person.clicks_and_answers(["button", "ask for a name", ""], &[accept(Some("Bob"))]))
}

fn dismisses_dialogs(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.clicks_and_answers(["button", "ask to confirm", ""], &[DialogAnswer::Dismiss]))?;
    scene.does(person.clicks_and_answers(["button", "ask for a name", ""], &[DialogAnswer::Dismiss]))?;
    scene.does(person.clicks("button", "accept cookies"))?;
    scene.does(person.clicks("button", "open address book"))?;
    scene.does(person.enters("city", "Bergen"))?;
    scene.does(person.clicks("button", "save address"))
}

fn leaves(scene: &Scene, shop: &Shop, person: &Person) -> Result<()> {
    scene.does(person.clicks("button", "decline"))?;
    scene.does(person.enters("draft .*", "Half a thought"))?;
    scene.does(person.clicks_and_answers(["link", "leave without saving", ""], &[accept(None)]))?;
    scene.tab(&shop.url("/"))?;
    scene.does(person.clicks("link", "counter"))?;
    scene.does(person.clicks("button", "count"))
}

fn opens_a_submenu(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.clicks("button", "actions"))?;
    scene.does(person.points_to("item", "export"))?;
    scene.does(person.clicks("item", "export as pdf"))
}

fn uses_menus(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.clicks("button", "choose paper"))?;
    scene.does(person.clicks("item", "dotted"))?;
    scene.does(person.clicks("item", "care"))?;
    scene.does(person.presses_key("ArrowRight", 39))?;
    scene.does(person.clicks("button", "how do i return something"))?;
    scene.does(person.clicks("button", "start a return"))
}

fn takes_a_suggestion(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.enters("city", "aa"))?;
    scene.does(person.clicks("item", "aarhus"))
}

fn picks_a_day(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.enters("street .*", "har"))?;
    scene.does(person.clicks("item", "harvest road"))?;
    scene.does(person.clicks("button", "choose date"))?;
    scene.does(person.clicks("button", "next month"))?;
    scene.does(person.clicks("button", "14 february 2027"))
}

fn makes_gestures(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.double_clicks("button", "open twice"))?;
    scene.does(person.right_clicks("button", "more by the other button"))?;
    scene.does(tabs_to(person, "#weight"))?;
    scene.does(person.presses_key("ArrowRight", 39))?;
    scene.does(person.clicks("button", "gift note"))?;
    scene.does(person.enters("text of the note", "For Ann"))?;
    scene.does(person.clicks("button", "keep note"))?;
    scene.does(person.clicks("label", "price alerts"))
}

fn chooses_several(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.clicks("item", "black"))?;
    scene.does(person.clicks("item", "sepia"))?;
    scene.does(person.clicks("button", "send colours"))
}

fn works_by_keys(scene: &Scene, shop: &Shop, person: &Person) -> Result<()> {
    scene.does(tabs_to(person, "#email"))?;
    scene.does(person.types("user@example.com"))?;
    scene.does(tabs_to(person, "#password"))?;
    scene.does(person.types(PASSWORD))?;
    scene.does(tabs_to(person, "[name=stay]"))?;
    scene.does(person.presses_key(" ", 32))?;
    scene.does(tabs_to(person, "main button[type=submit]"))?;
    scene.does(person.presses_key("Enter", 13))?;
    scene.tab(&shop.url("/dashboard"))?;
    scene.does(tabs_to(person, "[action='/logout'] button"))?;
    scene.does(person.presses_key(" ", 32))
}

fn works_in_tabs(scene: &Scene, shop: &Shop, person: &Person) -> Result<()> {
    scene.does(person.clicks("link", "counter in a new tab"))?;
    let second = scene.person(&shop.url("/counter"))?;
    scene.does(second.clicks("button", "count"))?;
    scene.does(person.clicks("button", "open window"))?;
    let third = scene.person(&shop.url("/frames/form?name=popup"))?;
    scene.does(third.enters("item", "Wax"))?;
    scene.does(third.clicks("button", "send order"))?;
    scene.does(person.clicks("button", "close opened window"))
}

fn works_in_frames(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    let same = person.inside("Same-site branch");
    scene.does(same.enters("item", "Ink"))?;
    scene.does(same.clicks("button", "send order"))?;
    let outer = person.inside("Nested branch");
    scene.does(outer.clicks("button", "ring the outer bell"))?;
    let inner = outer.inside("Inner branch");
    scene.does(inner.enters("item", "Seal"))?;
    scene.does(inner.presses_key("Enter", 13))
}

fn works_in_a_frame_of_another_site(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    let cross = person.inside("Cross-site branch");
    scene.does(cross.enters("item", "Wax"))?;
    scene.does(cross.clicks("button", "send order"))?;
    scene.does(person.inside("Inline branch").clicks("button", "ring the bell"))
}

fn fills_fields(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.enters("subject", "Two things"))?;
    scene.does(person.enters("message", "First,"))?;
    scene.does(person.presses_key("Enter", 13))?;
    scene.does(person.types("second."))?;
    scene.does(types_into(person, "day", "04052027"))?;
    scene.does(types_into(person, "time", "0930AM"))?;
    scene.does(tabs_to(person, "#volume"))?;
    scene.does(person.presses_key("ArrowRight", 39))?;
    scene.does(person.enters("copies", "3"))?;
    scene.does(person.clicks("option", "wholesale"))?;
    scene.does(person.enters("country", "Estonia"))?;
    scene.does(person.clicks("field", "send me a copy"))?;
    scene.does(person.clicks("button", "send message"))
}

fn uploads(scene: &Scene, shop: &Shop, person: &Person) -> Result<()> {
    let files = ["first.txt", "second.txt"].map(|name| shop.runs().join(name));
    for file in &files {
        std::fs::write(file, "some text")?;
    }
    scene.does(person.chooses_files("attachment", &files.each_ref().map(AsRef::as_ref)))?;
    scene.does(person.clicks("button", "upload"))
}

fn writes_a_letter(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.enters("letter", "Dear Ann"))?;
    scene.does(person.presses_key("Enter", 13))?;
    scene.does(person.types("Yours"))?;
    scene.does(person.clicks("button", "send letter"))
}

fn drags(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.drags("#drag-ink", "#basket"))?;
    scene.does(person.drags("#drag-wax", "#basket"))?;
    scene.does(person.drags("#sortable li:nth-child(1)", "#sortable li:nth-child(3)"))
}

fn works_on_rows(scene: &Scene, _: &Shop, person: &Person) -> Result<()> {
    scene.does(person.clicks_near("button", "edit", "INV-1002"))?;
    scene.does(person.enters("customer", "Archer and sons"))?;
    scene.does(person.clicks("button", "save.*"))?;
    scene.does(person.enters("search invoices", "INV-1004"))?;
    scene.does(person.presses_key("Enter", 13))?;
    scene.does(person.clicks_and_answers(["button", "delete", "INV-1004"], &[accept(None)]))
}

fn scrolls(scene: &Scene, shop: &Shop, person: &Person) -> Result<()> {
    scene.does(person.clicks("link", "counter"))?;
    scene.does(person.clicks("button", "count"))?;
    scene.does(person.goes_back())?;
    scene.tab(&shop.url("/"))?;
    scene.does(person.clicks("link", "seats"))?;
    scene.does(person.scrolls("#list", "button", "reserve seat 40"))?;
    scene.does(person.clicks("button", "reserve seat 40"))
}

/// Clicks a field of several parts and types digits into them.
async fn types_into(person: &Person, field: &str, keys: &str) -> Result<()> {
    person.clicks("field", field).await?;
    person.types(keys).await
}

/// Presses Tab until something has the focus.
async fn tabs_to(person: &Person, selector: &str) -> Result<()> {
    let is_there = format!("document.activeElement.matches({})", json!(selector));
    for _ in 0..80 {
        if person.reads(&is_there).await? == json!(true) {
            return Ok(());
        }
        person.presses_key("Tab", 9).await?;
    }
    bail!("Tab never comes to {selector}")
}

/// The site's account of what was done.
fn account(shop: &Shop) -> Value {
    let state = shop.state();
    SEEN.into_iter().map(|part| (part.to_owned(), state[part].clone())).collect::<serde_json::Map<_, _>>().into()
}

/// Records a person, and has the recording repeated.
fn play(desk: &Arc<Desk>, case: &Case) -> Result<()> {
    let shop = Shop::open()?;
    let scene = Scene::at(desk, &shop.url(case.path))?;
    let person = scene.person(&shop.url(case.path))?;
    (case.does)(&scene, &shop, &person)?;
    let (place, expected) = case.seen;
    let is_seen = |shop: &Shop| {
        let seen = shop.state().pointer(place).cloned().unwrap_or_default();
        seen.as_str().map_or_else(|| seen.to_string(), str::to_owned) == expected
    };
    ensure!(shop.eventually(is_seen), "expected {expected} at {place} after the person: {:#}", account(&shop));
    let recording = scene.end()?;
    let done = account(&shop);
    let mut plan = recording.plan()?;
    complete(&mut plan, &shop)?;
    let fresh = Shop::open()?;
    let folder = shop.runs().to_string_lossy();
    let mut flags = case.flags.to_vec();
    flags.extend(["--root", &folder]);
    repeat(&fresh, case.path, &plan, &flags)?;
    ensure!(
        fresh.eventually(|fresh| account(fresh) == done),
        "the site saw {:#} of {plan:#}, and {done:#} of the person",
        account(&fresh)
    );
    Ok(())
}

/// Puts the paths of files into a plan, which a page does not learn.
fn complete(plan: &mut Value, shop: &Shop) -> Result<()> {
    for step in plan["steps"].as_array_mut().context("expected steps")? {
        for file in step["files"].as_array_mut().into_iter().flatten() {
            let path = shop.runs().join(file.as_str().context("expected a name")?);
            *file = json!(path);
        }
    }
    Ok(())
}

/// Some of the persons, in one browser.
fn all_are_repeated(cases: &[Case]) -> Result<()> {
    let desk = Arc::new(Desk::open()?);
    let next = AtomicUsize::new(0);
    let failures = std::thread::scope(|scope| {
        let work = || {
            let mut failures = Vec::new();
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = play(&desk, case) {
                    failures.push(format!("{}: {error:#}", case.title));
                }
            }
            failures
        };
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let panicked = |_| vec!["a recording panicked".to_owned()];
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(panicked)).collect::<Vec<_>>()
    });
    ensure!(failures.is_empty(), "{} of {} fail\n{}", failures.len(), cases.len(), failures.join("\n\n"));
    Ok(())
}

#[test]
fn what_three_persons_do_is_repeated() -> Result<()> {
    all_are_repeated(&CASES[..3])
}

#[test]
fn what_the_other_seventeen_persons_do_is_repeated() -> Result<()> {
    all_are_repeated(&CASES[3..])
}
