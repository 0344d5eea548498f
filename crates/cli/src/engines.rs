//! From flags to a planner, and advice for when its server or program fails.

use std::path::Path;

use cuebook::{Detected, Engine, PlannerConfig, PlannerConfigError, PromptSource};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::boxed::BoxedPlanner;
use cuebook_planner::{Looking, OpenAiMode};

use crate::args::{EngineArgs, PlannerArg};
use crate::exit::{Output, Refusal};
use crate::planner::{Advice, AnyPlanner};
use crate::progress;
use crate::text::{plain, with_sources};

/// The planner of `--planner` with the settings of the flags, for plans that may name the `credentials`.
pub(crate) async fn planner(
    arg: &PlannerArg,
    calls: Option<&Path>,
    args: &EngineArgs,
    credentials: Vec<String>,
    output: Output,
) -> Result<AnyPlanner, Refusal> {
    let mut config = settings(arg, args);
    config.calls = calls.map(Path::to_owned);
    config.credentials = credentials;
    if matches!(arg, PlannerArg::Auto) {
        let found = config.detected().await;
        if !output.quiet {
            progress::say(&format!("planner: {}", described(&found)));
        }
        config = found.config;
    }
    config = fitted(config, output).await;
    if (args.vision || args.vision_after_failure) && !config.engine.takes_pictures() {
        let flag = if args.vision { "--vision" } else { "--vision-after-failure" };
        let message = format!("{flag} needs a planner with a model, and `{}` has none", config.engine.as_str());
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    let looker = looker(args)?;
    if looker.is_some() && !config.engine.takes_pictures() {
        let engine = config.engine.as_str();
        let message = format!("--vision-features needs a planner with a model or a program, and `{engine}` has none");
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    let points = config.mode.is_some_and(OpenAiMode::points);
    if points && looker.is_some() {
        let message = "a model that points sees the picture itself: --vision-features is for those that do not";
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    if points && !args.vision {
        let message = "a model that points at a picture needs --vision, the consent to send pictures to its server";
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    if points
        && !matches!(
            (config.engine, config.mode),
            (Engine::OpenAi, _) | (Engine::Anthropic, Some(OpenAiMode::Computer))
        )
    {
        let engine = config.engine.as_str();
        let message = format!(
            "the planner `{engine}` cannot point: expected --engine-mode computer with openai or anthropic, or ui-tars with openai"
        );
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    let planner = config.planner().map_err(refusal)?;
    let planner = looking(planner, looker, args);
    // A recording has what its model was asked to mend.
    let mends =
        matches!(config.engine, Engine::Ollama | Engine::OpenAi | Engine::Anthropic | Engine::Local | Engine::Recorded);
    let mut planner = AnyPlanner::advised(planner, advice(&config));
    planner.mends = mends;
    Ok(planner)
}

/// The model that lists what pictures show, if `--vision-features` names one.
pub(crate) fn looker(args: &EngineArgs) -> Result<Option<Box<dyn BoxedPlanner>>, Refusal> {
    let Some(engine) = args.vision_features else { return Ok(None) };
    let mut config = PlannerConfig::new(engine);
    config.model.clone_from(&args.vision_model);
    config.base_url.clone_from(&args.vision_base_url);
    config.api_key_env.clone_from(&args.vision_api_key_env);
    config.run_tokens = Some(args.run_tokens);
    config.plan_timeout_ms = Some(millis(args.plan_timeout));
    if config.model.is_none() && engine == Engine::Ollama {
        let message = "--vision-features needs a model that sees: use --vision-model NAME, such as qwen2.5vl:7b";
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    config.planner().map(Some).map_err(|error| {
        let mut refused = refusal(error);
        refused.error.message = format!("--vision-features: {}", vision_words(&refused.error.message));
        refused
    })
}

/// A remedy with the flags of the model that looks.
fn vision_words(message: &str) -> String {
    message.replace("--model", "--vision-model").replace("--base-url", "--vision-base-url")
}

/// The planner, with what the other model lists of pictures. Without `--vision`, it gets no picture itself.
pub(crate) fn looking(
    planner: Box<dyn BoxedPlanner>,
    looker: Option<Box<dyn BoxedPlanner>>,
    args: &EngineArgs,
) -> Box<dyn BoxedPlanner> {
    let Some(looker) = looker else { return planner };
    let looking = Looking::new(planner, looker);
    Box::new(if args.vision || args.vision_after_failure { looking } else { looking.in_words() })
}

/// The planner of `--planner` with the settings of the flags. Which one `auto` is, is not detected yet.
pub(crate) fn settings(arg: &PlannerArg, args: &EngineArgs) -> PlannerConfig {
    let (engine, command) = match arg {
        PlannerArg::Auto => (Engine::Lexical, None),
        PlannerArg::Exec(words) => (Engine::Process, Some(words.clone())),
        PlannerArg::Local(_) => (Engine::Local, None),
        PlannerArg::Of(engine) => (*engine, None),
    };
    let mut config = PlannerConfig::new(engine);
    config.command = command;
    config.model.clone_from(&args.model);
    if let PlannerArg::Local(file) = arg {
        config.model = Some(file.clone());
    }
    config.base_url.clone_from(&args.base_url);
    config.api_key_env.clone_from(&args.api_key_env);
    config.mode = args.engine_mode;
    config.prompts = args.prompt.clone().map(PromptSource::from);
    config.answer_tokens = args.answer_tokens;
    config.run_tokens = Some(args.run_tokens);
    config.drafts = Some(args.drafts);
    config.plan_timeout_ms = Some(millis(args.plan_timeout));
    config
}

/// The settings with the prompts that fit the model; a line says so if these are the compact ones.
pub(crate) async fn fitted(config: PlannerConfig, output: Output) -> PlannerConfig {
    let (config, small) = config.fitted().await;
    if let Some(parameters) = small.filter(|_| !output.quiet) {
        let millions = parameters / 1_000_000;
        progress::say(&format!(
            "prompts: compact, for a model of {millions} million parameters (--prompt full for all)"
        ));
    }
    config
}

/// The planner that `auto` is, why, and what that means, in one line.
pub(crate) fn described(found: &Detected) -> String {
    let Detected { config, why, .. } = found;
    let (name, why) = (config.engine.as_str(), plain(why));
    match config.engine {
        Engine::Lexical => format!(
            "{name}, because {why}; it does what the words of the task name, such as `log in as ann`, and judges \
             nothing that a page says. For a model: `ollama pull qwen3:8b`, $OPENAI_API_KEY, $ANTHROPIC_API_KEY, \
             or --planner exec:COMMAND"
        ),
        _ => {
            let (model, address) = (plain(config.model().unwrap_or_default()), plain(&config.address()));
            let sent = if found.is_remote() { "; pages are sent there (--planner lexical sends nothing)" } else { "" };
            format!("{name} {model} at {address}, because {why}{sent}")
        }
    }
}

/// Remedies for a server or a program that fails.
pub(crate) fn advice(config: &PlannerConfig) -> Advice {
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
        Engine::Process => ("check the command after exec:".to_owned(), String::new()),
        Engine::Local => (String::new(), String::new()),
        _ => (
            "check the network connection; --base-url selects another server; --planner lexical needs no model"
                .to_owned(),
            format!("check --model and the key in ${variable}"),
        ),
    };
    Advice { unreachable, rejected }
}

pub(crate) fn refusal(error: PlannerConfigError) -> Refusal {
    let message = plain(&error.to_string());
    match error {
        PlannerConfigError::NoModel(_) => Refusal::invalid(ErrorCode::Usage, format!("{message}: use --model NAME")),
        PlannerConfigError::NoCalls => Refusal::invalid(ErrorCode::Usage, format!("{message}: use --calls RUN")),
        PlannerConfigError::NoKey { .. } => {
            let message = format!("{message}; --base-url selects a server without keys");
            Refusal::unusable(ErrorCode::NoKey, message)
        }
        #[cfg(feature = "models")]
        PlannerConfigError::Prompt(error) => Refusal::invalid(ErrorCode::InvalidPrompt, with_sources(&error)),
        error => Refusal::invalid(ErrorCode::InvalidEngine, with_sources(&error)),
    }
}
