//! From flags to a model engine, and what to do where it does not answer.

use cuebook::{Engine, EngineMode, PlannerConfig, PlannerConfigError, environment};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::report::ErrorCode;

use crate::args::{EngineArgs, EngineMode as ModeFlag};
use crate::compose::with_sources;
use crate::exit::Refusal;
use crate::planner::{Advice, AnyPlanner};
use crate::text::plain;

/// A planner over a model.
pub(crate) fn planner(engine: Engine, args: &EngineArgs) -> Result<AnyPlanner, Refusal> {
    let mut config = PlannerConfig::new(engine);
    config.model.clone_from(&args.model);
    config.base_url.clone_from(&args.base_url);
    config.api_key_env.clone_from(&args.api_key_env);
    config.mode = args.engine_mode.map(mode);
    config.prompts.clone_from(&args.prompt);
    config.answer_tokens = args.answer_tokens;
    config.run_tokens = Some(args.run_tokens);
    config.plan_timeout_ms = Some(millis(args.plan_timeout));
    config.credentials = environment::secret_names();
    let planner = config.planner().map_err(refusal)?;
    Ok(AnyPlanner::advised(planner, advice(&config)))
}

const fn mode(flag: ModeFlag) -> EngineMode {
    match flag {
        ModeFlag::Strict => EngineMode::Strict,
        ModeFlag::Schema => EngineMode::Schema,
        ModeFlag::Tools => EngineMode::Tools,
        ModeFlag::LlamaCpp => EngineMode::LlamaCpp,
        ModeFlag::LlamaCppLines => EngineMode::LlamaCppLines,
        ModeFlag::Vllm => EngineMode::Vllm,
        ModeFlag::Plain => EngineMode::Plain,
    }
}

fn advice(config: &PlannerConfig) -> Advice {
    let variable = plain(config.key_variable());
    let (unreachable, rejected) = match config.engine {
        Engine::Ollama => {
            let model = plain(config.model().unwrap_or_default());
            let unreachable = format!(
                "start it with `ollama serve` (https://ollama.com), fetch the model with `ollama pull {model}`, or say \
                 where it is with --base-url or $OLLAMA_HOST; --planner lexical needs no model"
            );
            (unreachable, format!("fetch the model with `ollama pull {model}`, or name another with --model"))
        }
        Engine::OpenAi if config.is_official() => (
            "is this machine on the network? --base-url names another server, such as http://127.0.0.1:8080/v1 of \
             `llama-server -m MODEL.gguf`"
                .to_owned(),
            format!("look at --model, at the key in ${variable}, and at --engine-mode"),
        ),
        Engine::OpenAi => (
            "start it, such as with `llama-server -m MODEL.gguf --port 8080` or `vllm serve MODEL`, or say where it is \
             with --base-url; --planner lexical needs no model"
                .to_owned(),
            format!("look at --model, at the key in ${variable}, and at --engine-mode"),
        ),
        _ => (
            "is this machine on the network? --base-url names another server; --planner lexical needs no model"
                .to_owned(),
            format!("look at --model and at the key in ${variable}"),
        ),
    };
    Advice { unreachable, rejected }
}

fn refusal(error: PlannerConfigError) -> Refusal {
    match error {
        PlannerConfigError::NoModel(engine) => {
            let message = format!("expected --model NAME with the planner `{}`", engine.as_str());
            Refusal::invalid(ErrorCode::Usage, message)
        }
        PlannerConfigError::NoKey { engine, variable } => {
            let (variable, planner) = (plain(&variable), engine.as_str());
            let message = format!(
                "expected a key in ${variable} for the planner `{planner}`, saw none; --base-url names a server \
                 without keys"
            );
            Refusal::unusable(ErrorCode::NoKey, message)
        }
        PlannerConfigError::Prompt(error) => Refusal::invalid(ErrorCode::InvalidPrompt, with_sources(&error)),
        error => Refusal::invalid(ErrorCode::InvalidEngine, with_sources(&error)),
    }
}
