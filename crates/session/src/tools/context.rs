//! The tools for what surrounds a page: its state, its settings, its console and its requests.

use serde_json::{Map, Value, json};

use crate::arguments::{Arguments, Form, may, needed};
use crate::call::{Call, ContextCall};
use crate::context::body;
use crate::tool::{Hint, Order, TAB, Tool, call, text, verb};

const FILENAME: &str =
    "File: for a model a plain name, in the folder of the run or a directory that the server was started with";

pub(crate) const CONTEXT: [Tool; 10] = [
    Tool {
        name: "browser_storage_state",
        verb: verb("state-save", &[], &["filename"]),
        title: "Save cookies and storage",
        about: "Saves cookies and local storage to a file of Playwright's form, readable for you alone. Says which cookies \
                there are and when they expire, never their values.",
        hint: Hint::Reads,
        arguments: &[needed("filename", Form::File, FILENAME)],
        order: |given| of(ContextCall::SaveState(text(given, "filename"))),
    },
    Tool {
        name: "browser_set_storage_state",
        verb: verb("state-load", &[], &["filename"]),
        title: "Load cookies and storage",
        about: "Adds the cookies and the local storage of a file that browser_storage_state or Playwright wrote. Open pages \
                see them when they are loaded again.",
        hint: Hint::Acts,
        arguments: &[needed("filename", Form::File, FILENAME)],
        order: |given| of(ContextCall::LoadState(text(given, "filename"))),
    },
    Tool {
        name: "browser_cookies",
        verb: verb("cookies", &["cookie"], &["action", "name", "value"]),
        title: "Cookies",
        about: "Lists cookies without their values, sets one for an address, or clears those of a name or all of them.",
        hint: Hint::Acts,
        arguments: &[
            may("action", Form::One(&["list", "set", "clear"]), "What to do; list if absent"),
            may("name", Form::Text, "Name of the cookie"),
            may("value", Form::Text, "Value to set"),
            may("url", Form::Text, "Address that the cookie is set for; that of the page if absent"),
        ],
        order: |given| {
            of(match (given.text("action"), given.text("name"), given.text("value"), given.text("url")) {
                (None | Some("list"), name, None, None) => ContextCall::Cookies(name.map(str::to_owned)),
                (Some("clear"), name, None, None) => ContextCall::ClearCookies(name.map(str::to_owned)),
                (Some("set"), Some(name), Some(value), url) => ContextCall::SetCookie {
                    name: name.to_owned(),
                    value: value.to_owned(),
                    url: url.map(str::to_owned),
                },
                (Some("set"), ..) => return Err("browser_cookies needs name and value to set one".to_owned()),
                _ => return Err("browser_cookies takes value and url with set alone".to_owned()),
            })
        },
    },
    Tool {
        name: "browser_emulate",
        verb: verb("emulate", &["set"], &[]),
        title: "Emulate a device or place",
        about: "Sets the device, language, time zone, place, colours or connection that pages see, for all tabs; what is not \
                named stays. An empty text takes a setting back, reset all of them.",
        hint: Hint::Moves,
        arguments: &[
            may("device", Form::Text, "Name of a device, such as Pixel 7 or iPhone 15"),
            may("viewport", Form::Text, "Width and height instead of a device, such as 1024x768"),
            may("locale", Form::Text, "Language, such as de-DE"),
            may("timezone", Form::Text, "Time zone, such as Europe/Berlin"),
            may("geolocation", Form::Text, "LATITUDE,LONGITUDE[,METRES]; a page needs the permission"),
            may("colorScheme", Form::One(&["", "light", "dark"]), "Colours that the person prefers"),
            may("offline", Form::One(&["true", "false"]), "Reach nothing"),
            may("reset", Form::Flag, "Take all settings back first"),
        ],
        order: |given| of(ContextCall::Emulate(given.members())),
    },
    Tool {
        name: "browser_resize",
        verb: verb("resize", &[], &["width", "height"]),
        title: "Resize the view",
        about: "Sets width and height of the view, for all tabs.",
        hint: Hint::Moves,
        arguments: &[
            needed("width", Form::Number, "Width in CSS pixels"),
            needed("height", Form::Number, "Height in CSS pixels"),
        ],
        order: |given| {
            let side = |name: &str| given.number(name).unwrap_or_default();
            let viewport = json!(format!("{}x{}", side("width"), side("height")));
            of(ContextCall::Emulate(Map::from_iter([("viewport".to_owned(), viewport)])))
        },
    },
    Tool {
        name: "browser_console_messages",
        verb: verb("console", &[], &["level"]),
        title: "Messages of the console",
        about: "Lists what pages wrote to their consoles, and errors that nothing caught, the newest last.",
        hint: Hint::Reads,
        arguments: &[may(
            "level",
            Form::One(&["error", "warning", "info", "log", "debug"]),
            "Least important level to list; log if absent",
        )],
        order: |given| of(ContextCall::Console(given.text("level").unwrap_or("log").to_owned())),
    },
    Tool {
        name: "browser_network_requests",
        verb: verb("requests", &["network"], &["filter"]),
        title: "Requests",
        about: "Lists the requests of pages with status and time, the newest last; with index, one of them with headers and \
                bodies. Secrets and headers that hold credentials are redacted.",
        hint: Hint::Reads,
        arguments: &[
            may("filter", Form::Text, "Part of a URL, or failed for those without a good status"),
            may("index", Form::Number, "Number of a request in the list"),
        ],
        order: |given| match (given.number("index"), given.text("filter")) {
            (None, filter) => of(ContextCall::Requests(filter.map(str::to_owned))),
            (Some(index), None) if index >= 1.0 && index.fract() == 0.0 => of(ContextCall::Request(index)),
            (Some(_), None) => Err("index is the number of a request in the list".to_owned()),
            (Some(_), Some(_)) => Err("browser_network_requests takes one of filter and index".to_owned()),
        },
    },
    Tool {
        name: "browser_route",
        verb: verb("route", &["mock"], &["url"]),
        title: "Answer requests",
        about: "Answers the requests to a URL in place of its server from now on, or blocks them; in the URL, * stands for any \
                characters of the path. Without a URL, lists the rules. Pages do not learn of it; the folder of the run keeps it.",
        hint: Hint::Acts,
        arguments: &[
            may("url", Form::Text, "URL, such as https://shop.test/api/*"),
            may("methods", Form::Texts, "Methods, such as GET; all if absent"),
            may("status", Form::Number, "Status of the answer; 200 if absent"),
            may("body", Form::Text, "Body of the answer; sent as JSON if it is that"),
            may("bodyFile", Form::File, "File with the body instead: text of at most 1 MiB"),
            may("headers", Form::Texts, "Headers of the answer, each as Name: value"),
            may("block", Form::Flag, "Block the requests instead"),
        ],
        order: route,
    },
    Tool {
        name: "browser_unroute",
        verb: verb("unroute", &["unmock"], &["url"]),
        title: "Stop answering requests",
        about: "Removes the rules that browser_route made for a URL, as it was stated.",
        hint: Hint::Acts,
        arguments: &[needed("url", Form::Text, "The URL of the rule")],
        order: |given| of(ContextCall::Unroute(text(given, "url"))),
    },
    Tool {
        name: "browser_pdf_save",
        verb: verb("pdf", &[], &["filename"]),
        title: "Save as PDF",
        about: "Saves the page as a PDF, in a browser without a window.",
        hint: Hint::Reads,
        arguments: &[needed("filename", Form::File, FILENAME), TAB],
        order: |given| of(ContextCall::Pdf(text(given, "filename"))),
    },
];

fn of(what: ContextCall) -> Result<Order, String> {
    call(Call::Context(what), false)
}

/// A rule of the policy's `requests`.
fn route(given: &Arguments) -> Result<Order, String> {
    let Some(url) = given.text("url") else { return of(ContextCall::Routes) };
    let action = if given.is_set("block") {
        json!("deny")
    } else {
        let status = given.number("status").unwrap_or(200.0);
        if status.fract() != 0.0 || !(100.0..600.0).contains(&status) {
            return Err("status is a number from 100 to 599".to_owned());
        }
        let mut headers = Map::new();
        for header in given.value("headers").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            let (name, value) = header.split_once(':').ok_or("a header is written as Name: value")?;
            headers.insert(name.trim().to_owned(), json!(value.trim()));
        }
        let body = body(given.text("body").unwrap_or_default());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and below 600")]
        let status = status as u16;
        json!({ "respond": { "status": status, "headers": headers, "body": body } })
    };
    let methods = given.value("methods").cloned().unwrap_or_else(|| json!([]));
    let rule = json!({ "url": url, "methods": methods, "do": action });
    match given.text("bodyFile") {
        None => of(ContextCall::Route(rule)),
        Some(_) if given.is_set("block") || given.text("body").is_some() => {
            Err("browser_route takes one of body, bodyFile and block".to_owned())
        }
        Some(file) => of(ContextCall::RouteFile { rule, file: file.to_owned() }),
    }
}
