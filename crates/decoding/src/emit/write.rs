//! Writes a document in a dialect.

use super::emission::{Body, Emission, LimitUse, Loss, Target};
use super::{cfg, gbnf, json_cfg, json_schema, lark, line_cfg, providers, share};
use crate::ir::Document;

/// Writes a document in a dialect, whatever its limits. Linear in the document.
#[must_use]
pub fn emit(target: Target, document: &Document) -> Emission {
    let text = |body: String| Emission { target, body: Body::Text(body), lost: Vec::new(), limits: Vec::new() };
    match target {
        Target::JsonSchema => Emission {
            target,
            body: Body::Json(json_schema::write(document)),
            lost: vec![Loss::MemberOrder],
            limits: Vec::new(),
        },
        Target::OpenAi => providers::openai(document),
        Target::Tools => providers::tools(document),
        Target::Anthropic | Target::AnthropicPage => providers::anthropic(target, document),
        Target::Gemini => providers::gemini(document),
        Target::Ollama => providers::ollama(document),
        Target::Compatible => providers::compatible(document),
        Target::Gbnf => with_repetitions(target, &json(document)),
        Target::Line => with_repetitions(target, &line(document)),
        Target::Lark => text(lark::write(&json(document))),
        Target::Ebnf => {
            let body = gbnf::write_ebnf(&share::share(&json(document)));
            Emission { lost: vec![Loss::Lengths, Loss::Patterns], ..text(body) }
        }
    }
}

/// Writes a document as the parameters of one tool, for [`Target::Tools`] and those of Anthropic. For other dialects as [`emit`].
#[must_use]
pub fn emit_tool(target: Target, document: &Document, name: &str, description: &str) -> Emission {
    match target {
        Target::Tools | Target::Anthropic | Target::AnthropicPage => {
            providers::tool(target, document, name, description)
        }
        other => emit(other, document),
    }
}

fn json(document: &Document) -> cfg::Cfg {
    share::share_tails(json_cfg::of(document))
}

fn line(document: &Document) -> cfg::Cfg {
    share::share_tails(line_cfg::of(document))
}

fn with_repetitions(target: Target, grammar: &cfg::Cfg) -> Emission {
    let shared = share::share(grammar);
    let limit = LimitUse { limit: "repetitions", used: shared.greatest_repetition(), allowed: gbnf::MAX_REPETITIONS };
    Emission { target, body: Body::Text(gbnf::write(&shared)), lost: Vec::new(), limits: vec![limit] }
}

/// The line form in Lark, for token masks.
#[must_use]
pub fn line_lark(document: &Document) -> String {
    lark::write(&line(document))
}
