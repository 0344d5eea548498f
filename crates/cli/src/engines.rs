//! From flags and the environment to a model engine.
//!
//! Invariant: keys are read here, put into a [`Secret`], and told nowhere.

use cuebook_decoding::Caps;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::secret::Secret;
use cuebook_planner::converse::{ChatEngine, EngineError};
use cuebook_planner::{Anthropic, Limits, ModelPlanner, Ollama, OpenAi, OpenAiMode, Prompts};

use crate::args::{EngineArgs, EngineMode};
use crate::compose::with_sources;
use crate::environment;
use crate::exit::Refusal;
use crate::planner::{Advice, AnyPlanner};
use crate::text::plain;

/// The model that Ollama is asked for unless another is named: small enough for most machines.
const OLLAMA_MODEL: &str = "qwen3:8b";

/// A planner over a model of Ollama.
pub(crate) fn ollama(args: &EngineArgs) -> Result<AnyPlanner, Refusal> {
    let host = args.base_url.clone().or_else(|| environment::variable("OLLAMA_HOST").map(|host| ollama_host(&host)));
    let host = host.unwrap_or_else(|| Ollama::HOST.to_owned());
    let model = args.model.clone().unwrap_or_else(|| OLLAMA_MODEL.to_owned());
    let engine = Ollama::new(&host, model.clone()).map_err(unusable)?;
    let shown = plain(&model);
    let advice = Advice {
        unreachable: format!(
            "start it with `ollama serve` (https://ollama.com), fetch the model with `ollama pull {shown}`, or say \
             where it is with --base-url or $OLLAMA_HOST; --planner lexical needs no model"
        ),
        rejected: format!("fetch the model with `ollama pull {shown}`, or name another with --model"),
    };
    Ok(AnyPlanner::Ollama(Box::new(planner(engine, args, SMALL_ANSWER)?), advice))
}

/// A planner over a model of OpenAI, or of what speaks like it.
pub(crate) fn openai(args: &EngineArgs) -> Result<AnyPlanner, Refusal> {
    let base_url = args.base_url.clone().or_else(|| environment::variable("OPENAI_BASE_URL"));
    let base_url = base_url.unwrap_or_else(|| OpenAi::BASE_URL.to_owned());
    let is_openai = base_url.trim_end_matches('/') == OpenAi::BASE_URL;
    let variable = args.api_key_env.as_deref().unwrap_or("OPENAI_API_KEY");
    let key = key(variable, args.api_key_env.is_some() || is_openai, "openai")?;
    // A server of one's own has one model, and most do not look at its name.
    let model = match &args.model {
        Some(model) => model.clone(),
        None if is_openai => return Err(no_model("openai")),
        None => "default".to_owned(),
    };
    let mode = match args.engine_mode {
        Some(EngineMode::Strict) => OpenAiMode::Strict,
        Some(EngineMode::Schema) => OpenAiMode::Schema,
        Some(EngineMode::Tools) => OpenAiMode::Tools,
        Some(EngineMode::LlamaCpp) => OpenAiMode::LlamaCpp,
        Some(EngineMode::LlamaCppLines) => OpenAiMode::LlamaCppLines,
        Some(EngineMode::Vllm) => OpenAiMode::Vllm,
        Some(EngineMode::Plain) => OpenAiMode::Plain,
        None if is_openai => OpenAiMode::Strict,
        None => OpenAiMode::Schema,
    };
    let mut engine = OpenAi::new(&base_url, model).map_err(unusable)?.with_mode(mode);
    if let Some(key) = key {
        engine = engine.with_key(key).map_err(unusable)?;
    }
    let advice = Advice {
        unreachable: if is_openai {
            "is this machine on the network? --base-url names another server, such as http://127.0.0.1:8080/v1 of \
             `llama-server -m MODEL.gguf`"
                .to_owned()
        } else {
            "start it, such as with `llama-server -m MODEL.gguf --port 8080` or `vllm serve MODEL`, or say where it is \
             with --base-url; --planner lexical needs no model"
                .to_owned()
        },
        rejected: format!("look at --model, at the key in ${variable}, and at --engine-mode"),
    };
    let answer = if is_openai { LARGE_ANSWER } else { SMALL_ANSWER };
    Ok(AnyPlanner::OpenAi(Box::new(planner(engine, args, answer)?), advice))
}

/// A planner over a model of Anthropic, or of what speaks like it.
pub(crate) fn anthropic(args: &EngineArgs) -> Result<AnyPlanner, Refusal> {
    let base_url = args.base_url.clone().or_else(|| environment::variable("ANTHROPIC_BASE_URL"));
    let base_url = base_url.unwrap_or_else(|| Anthropic::BASE_URL.to_owned());
    let is_anthropic = base_url.trim_end_matches('/') == Anthropic::BASE_URL;
    let variable = args.api_key_env.as_deref().unwrap_or("ANTHROPIC_API_KEY");
    let key = key(variable, args.api_key_env.is_some() || is_anthropic, "anthropic")?;
    let model = args.model.clone().ok_or_else(|| no_model("anthropic"))?;
    let mut engine = Anthropic::new(&base_url, model).map_err(unusable)?;
    if let Some(key) = key {
        engine = engine.with_key(key).map_err(unusable)?;
    }
    let advice = Advice {
        unreachable:
            "is this machine on the network? --base-url names another server; --planner lexical needs no model"
                .to_owned(),
        rejected: format!("look at --model and at the key in ${variable}"),
    };
    let answer = if is_anthropic { LARGE_ANSWER } else { SMALL_ANSWER };
    Ok(AnyPlanner::Anthropic(Box::new(planner(engine, args, answer)?), advice))
}

/// The most tokens of an answer of a small model, whose context is small as well.
const SMALL_ANSWER: u32 = 4_096;

/// The most tokens of an answer of a large model: it may think before it answers.
const LARGE_ANSWER: u32 = 16_384;

fn planner<E: ChatEngine>(engine: E, args: &EngineArgs, answer: u32) -> Result<ModelPlanner<E>, Refusal> {
    let limits = Limits {
        output_tokens: args.answer_tokens.unwrap_or(answer),
        run_tokens: args.run_tokens,
        plan_time: args.plan_timeout,
        first_byte: args.plan_timeout.mul_f64(0.75),
        ..Limits::default()
    };
    let credentials = environment::secret_names().into_iter().map(CredentialRef::new).collect();
    let planner = ModelPlanner::new(engine).with_limits(limits).with_caps(Caps { credentials, ..Caps::default() });
    match &args.prompt {
        Some(dir) => {
            let prompts = Prompts::from_dir(dir)
                .map_err(|error| Refusal::invalid(ErrorCode::InvalidPrompt, with_sources(&error)))?;
            Ok(planner.with_prompts(prompts))
        }
        None => Ok(planner),
    }
}

fn unusable(error: EngineError) -> Refusal {
    Refusal::invalid(ErrorCode::InvalidEngine, with_sources(&error))
}

fn no_model(planner: &str) -> Refusal {
    Refusal::invalid(ErrorCode::Usage, format!("expected --model NAME with the planner `{planner}`"))
}

/// The key in a variable; refused where there is none and one is needed.
fn key(variable: &str, is_needed: bool, planner: &str) -> Result<Option<Secret>, Refusal> {
    match environment::variable(variable) {
        Some(key) => Ok(Some(Secret::new(key.trim()))),
        None if is_needed => {
            let message = format!(
                "expected a key in ${} for the planner `{planner}`, saw none; --base-url names a server without keys",
                plain(variable)
            );
            Err(Refusal::unusable(ErrorCode::NoKey, message))
        }
        None => Ok(None),
    }
}

/// An address from what `OLLAMA_HOST` may hold: `host`, `host:port`, `:port`, or a URL. An address to listen on
/// everywhere is asked on this machine. Source: Ollama, `envconfig`.
fn ollama_host(text: &str) -> String {
    let text = text.trim().trim_matches(['"', '\'']).trim_end_matches('/');
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let (authority, path) =
        rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let host = match host {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        host => host,
    };
    let port = match (port, scheme) {
        (Some(port), _) => format!(":{port}"),
        (None, "") => ":11434".to_owned(),
        (None, _) => String::new(),
    };
    let scheme = if scheme.is_empty() { "http" } else { scheme };
    format!("{scheme}://{host}{port}{path}")
}

#[cfg(test)]
mod tests {
    use super::ollama_host;

    #[test]
    fn the_host_of_ollama_is_read_as_ollama_reads_it() {
        for (text, address) in [
            ("127.0.0.1", "http://127.0.0.1:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080"),
            (":8080", "http://127.0.0.1:8080"),
            ("box:8080/", "http://box:8080"),
            ("[::1]", "http://[::1]:11434"),
            ("[::]:80", "http://[::1]:80"),
            ("https://box.test", "https://box.test"),
            ("https://box.test:9/ollama/", "https://box.test:9/ollama"),
        ] {
            assert_eq!(ollama_host(text), address, "{text}");
        }
    }
}
