//! Parts that the pages share: the document with its policy, and the notation of durations and counts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::timeline::Shown;

const STYLE: &str = include_str!("style.css");
const RUN: &str = include_str!("run.js");
const LIVE: &str = include_str!("live.js");

/// Kind of a page: what it may load, and its scripts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Many runs. It needs no script.
    Overview,
    /// One run, with its pictures.
    Run,
    /// One run and what comes of it, from its server. So much is in the page.
    Live(Shown),
}

impl Kind {
    fn scripts(self) -> &'static [&'static str] {
        match self {
            Self::Overview => &[],
            Self::Run => &[RUN],
            Self::Live(_) => &[RUN, LIVE],
        }
    }

    /// Our scripts and style by their digests, the pictures of the run, and nothing else.
    fn policy(self) -> String {
        let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
        let sources = match self {
            Self::Overview | Self::Run => "img-src data:",
            Self::Live(_) => "img-src 'self'; connect-src 'self'",
        };
        let scripts: Vec<String> = self.scripts().iter().map(|script| digest(script)).collect();
        let scripts = if scripts.is_empty() { "'none'".to_owned() } else { scripts.join(" ") };
        format!(
            "default-src 'none'; {sources}; style-src {}; script-src {scripts}; base-uri 'none'; form-action 'none'",
            digest(STYLE),
        )
    }
}

pub(super) fn document(title: &str, kind: Kind, content: &Markup) -> String {
    let (class, shown) = match kind {
        Kind::Overview => ("overview", None),
        Kind::Run => ("run", None),
        Kind::Live(shown) => ("run is-live", Some(shown)),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(kind.policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="same-origin";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body class=(class) data-shown=[shown.and_then(|shown| serde_json::to_string(&shown).ok())] {
                (content)
                @for script in kind.scripts() { script { (PreEscaped(script)) } }
            }
        }
    };
    page.into_string()
}
