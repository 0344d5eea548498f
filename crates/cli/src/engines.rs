//! From flags to a planner over a model, and advice for when its server fails.

use cuebook::{Engine, PlannerConfig, PlannerConfigError};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::report::ErrorCode;

use crate::args::EngineArgs;
use crate::exit::Refusal;
use crate::planner::{Advice, AnyPlanner};
use crate::text::{plain, with_sources};

/// The planner `engine` with the settings of the flags, for plans that may name the `credentials`.
pub(crate) fn planner(engine: Engine, args: &EngineArgs, credentials: Vec<String>) -> Result<AnyPlanner, Refusal> {
    let mut config = PlannerConfig::new(engine);
    config.model.clone_from(&args.model);
    config.base_url.clone_from(&args.base_url);
    config.api_key_env.clone_from(&args.api_key_env);
    config.mode = args.engine_mode;
    config.prompts.clone_from(&args.prompt);
    config.answer_tokens = args.answer_tokens;
    config.run_tokens = Some(args.run_tokens);
    config.plan_timeout_ms = Some(millis(args.plan_timeout));
    config.credentials = credentials;
    let planner = config.planner().map_err(refusal)?;
    Ok(AnyPlanner::advised(planner, advice(&config)))
}

fn advice(config: &PlannerConfig) -> Advice {
    let variable = plain(config.key_variable());
    let (unreachable, rejected) = match config.engine {
        Engine::Ollama => {
            let model = plain(config.model().unwrap_or_default());
            let unreachable = format!(
                "start it with `ollama serve` (https://ollama.com) and fetch the model with `ollama pull {model}`, or \
                 set its address with --base-url or $OLLAMA_HOST; --planner lexical needs no model"
            );
            (unreachable, format!("fetch the model with `ollama pull {model}`, or name another one with --model"))
        }
        Engine::OpenAi if config.is_official() => (
            "check the network connection; --base-url selects another server, such as http://127.0.0.1:8080/v1 of \
             `llama-server -m MODEL.gguf`"
                .to_owned(),
            format!("check --model, the key in ${variable}, and --engine-mode"),
        ),
        Engine::OpenAi => (
            "start it, for example with `llama-server -m MODEL.gguf --port 8080` or `vllm serve MODEL`, or set its \
             address with --base-url; --planner lexical needs no model"
                .to_owned(),
            format!("check --model, the key in ${variable}, and --engine-mode"),
        ),
        _ => (
            "check the network connection; --base-url selects another server; --planner lexical needs no model"
                .to_owned(),
            format!("check --model and the key in ${variable}"),
        ),
    };
    Advice { unreachable, rejected }
}

fn refusal(error: PlannerConfigError) -> Refusal {
    let message = plain(&error.to_string());
    match error {
        PlannerConfigError::NoModel(_) => Refusal::invalid(ErrorCode::Usage, format!("{message}: use --model NAME")),
        PlannerConfigError::NoKey { .. } => {
            let message = format!("{message}; --base-url selects a server without keys");
            Refusal::unusable(ErrorCode::NoKey, message)
        }
        #[cfg(feature = "models")]
        PlannerConfigError::Prompt(error) => Refusal::invalid(ErrorCode::InvalidPrompt, with_sources(&error)),
        error => Refusal::invalid(ErrorCode::InvalidEngine, with_sources(&error)),
    }
}
