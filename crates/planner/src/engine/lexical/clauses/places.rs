//! Where to go, how far to scroll, what to wait for.

use cuebook_grammar::action::Direction;

use super::super::clause::{Act, Awaited, Place};
use super::super::lexicon::DETERMINERS;
use super::super::phrase::Phrase;
use super::super::text::Span;
use super::read::without_purpose;

pub(super) fn scroll(rest: Span<'_>) -> Act {
    let direction = rest.tokens.iter().find_map(|token| {
        Some(match token.lower.as_str() {
            "down" => Direction::Down,
            "up" => Direction::Up,
            "left" => Direction::Left,
            "right" => Direction::Right,
            "bottom" | "end" => Direction::Bottom,
            "top" | "beginning" | "start" => Direction::Top,
            _ => return None,
        })
    });
    let to = rest.tokens.iter().rposition(|token| token.is_any(&["to", "of"])).map(|at| rest.from(at + 1));
    let thing = to.or_else(|| direction.is_none().then_some(rest)).map(Phrase::of).filter(|phrase| {
        !phrase.is_bare()
            && !matches!(phrase.name.to_lowercase().as_str(), "bottom" | "top" | "end" | "page" | "down" | "up")
    });
    Act::Scroll { direction, to: thing }
}

pub(super) fn wait(rest: Span<'_>) -> Act {
    let rest = rest.trimmed().without_leading(&["for", "until", "till", "about", "that", "on"]);
    let number = rest.tokens.iter().position(|token| token.text.parse::<f64>().is_ok());
    if let Some(at) = number
        && let Some(unit) = rest.get(at + 1)
        && let Some(count) = rest.get(at).and_then(|token| token.text.parse::<f64>().ok())
    {
        let factor = match unit.lower.as_str() {
            "second" | "seconds" | "s" | "sec" | "secs" => 1_000.0,
            "millisecond" | "milliseconds" | "ms" => 1.0,
            "minute" | "minutes" | "min" | "mins" => 60_000.0,
            _ => 0.0,
        };
        let millis = (count * factor).clamp(0.0, 600_000.0);
        if millis > 0.0 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped to 0..=600000 above"
            )]
            return Act::Wait(Awaited::Span(millis as u32));
        }
    }
    const ARRIVES: &[&str] = &[
        "appears",
        "appear",
        "shows",
        "show",
        "visible",
        "is",
        "to",
        "be",
        "shown",
        "displayed",
        "up",
        "there",
        "comes",
    ];
    const GOES: &[&str] = &["disappears", "disappear", "vanishes", "vanish", "gone", "hidden", "goes"];
    if rest.is_empty()
        || rest
            .tokens
            .iter()
            .any(|t| t.is_any(&["loads", "load", "loaded", "idle", "finishes", "quiet", "ready", "network"]))
            && rest.quoted().is_none()
    {
        return Act::Wait(Awaited::Quiet);
    }
    let goes = rest.tokens.iter().any(|token| token.is_any(GOES));
    let text = match rest.quoted() {
        Some((_, quoted)) => quoted.text.clone(),
        None => rest
            .without_leading(DETERMINERS)
            .without_leading(&["text", "message"])
            .without_trailing(ARRIVES)
            .without_trailing(GOES)
            .without_trailing(&["is", "has", "to"])
            .meant(),
    };
    if text.is_empty() {
        return Act::Wait(Awaited::Quiet);
    }
    Act::Wait(if goes { Awaited::Goes(text) } else { Awaited::Appears(text) })
}

/// The URL or path that a text is, if it is one.
pub(super) fn url(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let is_path = text.starts_with('/') && !text.starts_with("//");
    let is_absolute = lower.starts_with("http://") || lower.starts_with("https://") || lower == "about:blank";
    if is_path || is_absolute {
        return Some(text.to_owned());
    }
    let host = lower.split(['/', ':', '?']).next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let plain = |label: &&str| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let looks_like_host = labels.len() >= 2
        && labels.iter().all(plain)
        && labels
            .last()
            .is_some_and(|top| (2..=6).contains(&top.len()) && top.chars().all(|c| c.is_ascii_alphabetic()))
        && !["pdf", "txt", "csv", "png", "jpg", "html", "docx", "xlsx", "zip", "json", "xml", "js", "css", "md"]
            .contains(labels.last().unwrap_or(&""));
    let is_local = host == "localhost" && lower.contains(':');
    (looks_like_host || is_local).then(|| format!("{}://{text}", if is_local { "http" } else { "https" }))
}

pub(super) fn go(word: &str, rest: Span<'_>) -> Act {
    let rest = rest.trimmed().without_leading(&["to", "into", "up"]);
    let bare =
        rest.without_leading(DETERMINERS).without_leading(&["url", "page", "address", "website", "site", "path"]);
    if let [only] = bare.tokens
        && let Some(url) = url(&only.text)
    {
        return Act::Go(Place::Url(url));
    }
    if rest.starts_with(&["back"]) {
        return Act::Back;
    }
    let target = Phrase::of(without_purpose(rest));
    if word != "open" && target.role == Some(super::super::lexicon::RoleWord::Tab) {
        return Act::SwitchTo(target);
    }
    Act::Go(Place::Thing(target))
}
