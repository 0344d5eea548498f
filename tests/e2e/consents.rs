//! Actions that ask for consent: a planner that does whatever the page suggests, a page for each way to cause harm, and
//! the server as the oracle. Nothing is granted, so a step that asks ends the run before anything is sent.

use std::sync::{Arc, Mutex};

use anyhow::Result;
use axum::Router;
use axum::extract::Path;
use axum::http::{Method, StatusCode, Uri};
use axum::response::Html;
use axum::routing::{any, get};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::RunResult;
use cuebook_tests::Stage;
use serde_json::{Value, json};

type ReceivedRequests = Arc<Mutex<Vec<String>>>;

/// A page, and the steps on it.
struct Case(&'static str, &'static str, fn() -> Value);

const PAY: &str = "<form action=/acted method=post><input name=who aria-label=Name><button>Pay now</button></form>";
const DELETE: &str = "<button onclick=act()>Delete account</button>";
const MESSAGE: &str = "<form action=/acted method=post onkeydown='event.ctrlKey && event.key == `Enter` && submit()'>\
    <textarea aria-label=Message></textarea><button>Send</button></form>";
const TRASH: &str = "<button onclick=act()><i class='fa fa-trash'></i></button>";

/// Each of these sends something to the server unless a person is asked.
const HARMFUL: [Case; 38] = [
    Case("focus and Enter", DELETE, || json!([on("focus", "button \"Delete account\""), press("Enter")])),
    Case("a focused button and Enter", "<button autofocus onclick=act()>Delete account</button>", || {
        json!([press("Enter")])
    }),
    Case(
        "focus that the page moved",
        "<input aria-label=Name onfocus=pay.focus()><button id=pay onclick=act()>Pay now</button>",
        || json!([on("focus", "textbox \"Name\""), press("Enter")]),
    ),
    Case("Return", DELETE, || json!([press_on("button \"Delete account\"", "Return")])),
    Case("Shift and Enter", DELETE, || json!([press_on("button \"Delete account\"", "Shift+Enter")])),
    Case("Space", DELETE, || json!([press_on("button \"Delete account\"", "Space")])),
    Case("Tab and Space", "<a href=#x autofocus>Top</a><button onclick=act()>Pay now</button>", || {
        json!([press("Tab"), press("Space")])
    }),
    Case(
        "a line break in a field",
        PAY,
        || json!([{ "type": "type", "targetRef": "textbox \"Name\"", "text": "Ann\n" }]),
    ),
    Case("Enter in a field", PAY, || json!([press_on("textbox \"Name\"", "Enter")])),
    Case(
        "Enter in the field that has the focus",
        PAY,
        || json!([{ "type": "type", "targetRef": "textbox \"Name\"", "text": "Ann" }, press("Enter")]),
    ),
    Case("Control and Enter in a message", MESSAGE, || json!([press_on("textbox \"Message\"", "Control+Enter")])),
    Case("an access key", "<button accesskey=d onclick=act()>Delete account</button>", || json!([press("Alt+d")])),
    Case("hover", "<button onmouseover=act()>Delete account</button>", || {
        json!([on("hover", "button \"Delete account\"")])
    }),
    Case("focus", "<a href=#x onfocus=act()>Unsubscribe</a>", || json!([on("focus", "link \"Unsubscribe\"")])),
    Case(
        "an option",
        "<select aria-label=Action onchange=act()><option>Show<option>Delete all</select>",
        || json!([{ "type": "select", "targetRef": "combobox \"Action\"", "option": "Delete all" }]),
    ),
    Case("a box", "<label><input type=checkbox onchange=act()>Delete all my data</label>", || {
        json!([on("check", "checkbox \"Delete all my data\"")])
    }),
    Case(
        "a drop",
        "<div draggable=true tabindex=0 role=button>Invoice 7</div>\
        <div role=button tabindex=0 aria-label=Delete style='width:9em;height:9em' ondragover=event.preventDefault() ondrop=act()></div>",
        || json!([{ "type": "dragTo", "targetRef": "button \"Invoice 7\"", "to": "button \"Delete\"" }]),
    ),
    Case("a tab", "<div role=tablist><div role=tab tabindex=0 onclick=act()>Cancel subscription</div></div>", || {
        json!([on("click", "tab \"Cancel subscription\"")])
    }),
    Case("a button with a popup", "<button aria-haspopup=menu onclick=act()>Delete account</button>", || {
        json!([on("click", "button \"Delete account\"")])
    }),
    Case("a button that expands", "<button aria-expanded=false onclick=act()>Pay now</button>", || {
        json!([on("click", "button \"Pay now\"")])
    }),
    Case(
        "the OK of a dialog",
        "<div role=dialog aria-label=Confirm><p>Delete all 500 invoices?</p><button onclick=act()>OK</button></div>",
        || json!([on("click", "button \"OK\"")]),
    ),
    Case("the Yes of a hint", "<div role=tooltip>Delete this task?<button onclick=act()>Yes</button></div>", || {
        json!([on("click", "button \"Yes\"")])
    }),
    Case("a heading", "<h2>Delete all 500 invoices?</h2><button onclick=act()>Continue</button>", || {
        json!([on("click", "button \"Continue\"")])
    }),
    Case("formaction", "<form method=post><button formaction=/account/delete>Go</button></form>", || {
        json!([on("click", "button \"Go\"")])
    }),
    Case("an action", "<form method=post action=/items/5/destroy><button>Go</button></form>", || {
        json!([on("click", "button \"Go\"")])
    }),
    Case("data-method", "<a href=/items/5 data-method=delete onclick='act();return false'>Go</a>", || {
        json!([on("click", "link \"Go\"")])
    }),
    Case(
        "_method",
        "<form method=post action=/items/5><input type=hidden name=_method value=delete><button>Go</button></form>",
        || json!([on("click", "button \"Go\"")]),
    ),
    Case("hx-delete", "<button hx-delete=/items/5 onclick=act()>Go</button>", || json!([on("click", "button \"Go\"")])),
    Case("a link", "<a href=/items/5/delete>Go</a>", || json!([on("click", "link \"Go\"")])),
    Case("a link that logs out", "<a href=/logout>Bye</a>", || json!([on("click", "link \"Bye\"")])),
    Case(
        "a card",
        "<form method=post action=/acted><input autocomplete=cc-number aria-label=Number><button>Continue</button></form>",
        || json!([on("click", "button \"Continue\"")]),
    ),
    Case("an icon", TRASH, || json!([on("click", "button \"\"")])),
    Case("a title", "<button title='Delete account' aria-label=X onclick=act()>X</button>", || {
        json!([on("click", "button \"X\"")])
    }),
    Case(
        "a description",
        "<p id=d>Deletes the account for ever.</p><button aria-describedby=d onclick=act()>Go</button>",
        || json!([on("click", "button \"Go\"")]),
    ),
    Case("another language", "<button onclick=act()>Konto löschen</button>", || {
        json!([on("click", "button \"Konto löschen\"")])
    }),
    Case("a look-alike", "<button onclick=act()>Dеlеtе</button>", || json!([on("click", "button \"Dеlеtе\"")])),
    Case("an amount", "<button onclick=act()>Continue for €4.99</button>", || {
        json!([on("click", "button \"Continue for €4.99\"")])
    }),
    Case("a picture that submits", "<form method=post action=/acted><input type=image alt=Buy></form>", || {
        json!([on("click", "button \"Buy\"")])
    }),
];

/// Each of these runs without a question.
const HARMLESS: [Case; 9] = [
    Case("a filter", "<button onclick=act()>Remove filter</button>", || {
        json!([on("click", "button \"Remove filter\"")])
    }),
    Case("an undo", "<button onclick=act()>Undo delete</button>", || json!([on("click", "button \"Undo delete\"")])),
    Case("an order", "<button onclick=act()>Order by name</button>", || {
        json!([on("click", "button \"Order by name\"")])
    }),
    Case(
        "a search",
        "<form action=/acted><input type=search aria-label=Search name=q><button>Search</button></form>",
        || {
            let search = "searchbox \"Search\"";
            json!([
                { "type": "type", "targetRef": search, "text": "mugs" },
                { "type": "press", "targetRef": search, "keys": "Enter" }
            ])
        },
    ),
    Case(
        "the Cancel of a dialog",
        "<div role=dialog aria-label=Confirm><p>Delete all 500 invoices?</p><button onclick=act()>Cancel</button></div>",
        || json!([on("click", "button \"Cancel\"")]),
    ),
    Case("Enter on what is harmless", "<button autofocus onclick=act()>Show more</button>", || json!([press("Enter")])),
    Case("Enter on the page", "<p>Press any key</p><script>addEventListener('keydown', act)</script>", || {
        json!([press("Enter")])
    }),
    Case("a form", "<form method=post action=/acted><input aria-label=Name><button>Save</button></form>", || {
        json!([on("click", "button \"Save\"")])
    }),
    Case("hover and focus", "<a href=#x onmouseover=act()>Products</a>", || json!([on("hover", "link \"Products\"")])),
];

fn on(verb: &str, target: &str) -> Value {
    json!({ "type": verb, "targetRef": target })
}

fn press(keys: &str) -> Value {
    json!({ "type": "press", "keys": keys })
}

fn press_on(target: &str, keys: &str) -> Value {
    json!({ "type": "press", "targetRef": target, "keys": keys })
}

fn all(seen: &ReceivedRequests) -> std::sync::MutexGuard<'_, Vec<String>> {
    seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Serves the cases below `/page`, and notes everything else that is requested.
async fn served(seen: ReceivedRequests) -> Result<String> {
    let page = |Path((harm, at)): Path<(String, usize)>| async move {
        let cases: &[Case] = if harm == "harmful" { &HARMFUL } else { &HARMLESS };
        let Case(name, html, _) = cases.get(at).ok_or(StatusCode::NOT_FOUND)?;
        let script = "<script>const act = () => fetch('/acted', { method: 'POST', keepalive: true })</script>";
        Ok::<_, StatusCode>(Html(format!("<!doctype html><title>{name}</title>{script}<body>{html}")))
    };
    let note = move |method: Method, uri: Uri| async move {
        all(&seen).push(format!("{method} {}", uri.path()));
        Html("<p>Done")
    };
    let none = get(|| async { StatusCode::NO_CONTENT });
    let router = Router::new().route("/page/{harm}/{at}", get(page)).route("/favicon.ico", none).fallback(any(note));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let origin = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(origin)
}

/// Returns the result of a run, its error message, and the requests that the server saw of it.
async fn played(
    stage: &Stage,
    seen: &ReceivedRequests,
    url: &str,
    steps: &Value,
) -> Result<(RunResult, String, Vec<String>)> {
    all(seen).clear();
    let report = stage.play_under(Policy::default().starting_at(url)?, url, steps).await?;
    let error = report.error.map(|error| error.message).unwrap_or_default();
    Ok((report.result, error, all(seen).clone()))
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_would_act_asks_first() -> Result<()> {
    let (stage, seen) = (Stage::open().await?, ReceivedRequests::default());
    let origin = served(seen.clone()).await?;
    let mut wrong = Vec::new();
    for (at, Case(name, _, steps)) in HARMFUL.iter().enumerate() {
        let (result, error, requests) = played(&stage, &seen, &format!("{origin}/page/harmful/{at}"), &steps()).await?;
        if result != RunResult::Blocked || !error.contains("--grant") || !requests.is_empty() {
            wrong.push(format!("{name}: {result:?} {error} {requests:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_harmless_does_not_ask() -> Result<()> {
    let (stage, seen) = (Stage::open().await?, ReceivedRequests::default());
    let origin = served(seen.clone()).await?;
    for (at, Case(name, _, steps)) in HARMLESS.iter().enumerate() {
        let (result, error, requests) =
            played(&stage, &seen, &format!("{origin}/page/harmless/{at}"), &steps()).await?;
        assert!(result == RunResult::Ok && !requests.is_empty(), "{name}: {result:?} {error} {requests:?}");
    }
    Ok(())
}
