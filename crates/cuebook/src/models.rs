//! Planners over models, from a configuration.

#[cfg(feature = "local")]
use std::path::Path;
#[cfg(feature = "local")]
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cuebook_datalayer::{Run, RunDir};
use cuebook_decoding::Caps;
#[cfg(feature = "local")]
use cuebook_decoding::mask::{DecodeOptions, Form};
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::planning::{CallEnd, CallPurpose};
use cuebook_grammar::record::PlanningRecord;
use cuebook_grammar::seam::boxed::BoxedPlanner;
use cuebook_grammar::secret::Secret;
use cuebook_planner::converse::ChatEngine;
use cuebook_planner::{
    Anthropic, Limits, ModelPlanner, Ollama, OpenAi, OpenAiMode, OpenAiResponses, Process, Prompts, Recorded,
};
#[cfg(feature = "local")]
use cuebook_planner::{LocalError, LocalModel, TokenMask};

use crate::environment;
use crate::planners::{Engine, PlannerConfig, PlannerConfigError, PromptSource};

/// Upper bound of the tokens of an answer of a local model, whose context is small.
const LOCAL_ANSWER: u32 = 4_096;
/// Upper bound of the tokens of an answer of a provider's model, which may reason before it answers.
const PROVIDER_ANSWER: u32 = 16_384;
const PLAN_TIME: Duration = Duration::from_secs(120);

impl PlannerConfig {
    pub(crate) fn model_planner(&self) -> Result<Box<dyn BoxedPlanner>, PlannerConfigError> {
        match self.engine {
            Engine::Process => return self.with_limits(self.program()?),
            Engine::Recorded => return self.with_limits(self.recorded()?),
            #[cfg(feature = "local")]
            Engine::Local => return self.with_limits(self.local()?),
            _ => {}
        }
        let model = self.model().ok_or(PlannerConfigError::NoModel(self.engine));
        let address = self.address();
        match self.engine {
            Engine::Ollama => self.with_limits(Ollama::new(&address, model?)?),
            Engine::OpenAi => {
                let key = self.key()?;
                if self.mode == Some(OpenAiMode::Computer) {
                    let engine = OpenAiResponses::new(&address, model?)?;
                    return self.with_limits(match key {
                        Some(key) => engine.with_key(key)?,
                        None => engine,
                    });
                }
                let default = if self.is_official() { OpenAiMode::Strict } else { OpenAiMode::Schema };
                let engine = OpenAi::new(&address, model?)?.with_mode(self.mode.unwrap_or(default));
                self.with_limits(match key {
                    Some(key) => engine.with_key(key)?,
                    None => engine,
                })
            }
            Engine::Anthropic => {
                let key = self.key()?;
                let engine = Anthropic::new(&address, model?)?;
                let engine = match self.mode {
                    Some(OpenAiMode::Computer) => engine.pointing()?,
                    Some(OpenAiMode::Strict) => engine.for_each_page(),
                    _ => engine,
                };
                self.with_limits(match key {
                    Some(key) => engine.with_key(key)?,
                    None => engine,
                })
            }
            engine => Err(PlannerConfigError::NotBuilt(engine)),
        }
    }

    fn with_limits<E: ChatEngine + 'static>(&self, engine: E) -> Result<Box<dyn BoxedPlanner>, PlannerConfigError> {
        let plan_time = self.plan_timeout_ms.map_or(PLAN_TIME, Duration::from_millis);
        let defaults = Limits::default();
        let answer = if self.is_official() { PROVIDER_ANSWER } else { LOCAL_ANSWER };
        let limits = Limits {
            output_tokens: self.answer_tokens.unwrap_or(answer),
            run_tokens: self.run_tokens.unwrap_or(defaults.run_tokens),
            drafts: self.drafts.map_or(defaults.drafts, usize::from).clamp(1, 3),
            plan_time,
            first_byte: plan_time.mul_f64(0.75),
            ..defaults
        };
        let credentials = self.credentials.iter().map(CredentialRef::new).collect();
        let planner = ModelPlanner::new(engine).with_limits(limits).with_caps(Caps { credentials, ..Caps::default() });
        Ok(Box::new(match &self.prompts {
            Some(PromptSource::Folder(folder)) => planner.with_prompts(Prompts::from_dir(folder)?),
            Some(PromptSource::Compact) => planner.with_prompts(Prompts::compact()),
            Some(PromptSource::Full) | None => planner,
        }))
    }

    /// Loads the model once: the planners of a process share the last one.
    #[cfg(feature = "local")]
    fn local(&self) -> Result<TokenMask<Arc<LocalModel>>, PlannerConfigError> {
        static LOADED: Mutex<Option<(String, Arc<LocalModel>)>> = Mutex::new(None);
        let path = self.model.as_ref().ok_or(PlannerConfigError::NoModel(Engine::Local))?;
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let model = match loaded.take() {
            Some((known, model)) if known == *path => model,
            _ => Arc::new(LocalModel::open(Path::new(path))?),
        };
        *loaded = Some((path.clone(), Arc::clone(&model)));
        drop(loaded);
        let vocabulary = model.vocabulary().clone();
        // Small models write lines, as what is trained on logs does.
        let form = if self.prompts == Some(PromptSource::Compact) { Form::Lines } else { Form::Json };
        let engine = TokenMask::new(model, vocabulary).map_err(LocalError::from)?;
        Ok(engine.with_options(DecodeOptions { form, ..DecodeOptions::default() }, 0))
    }

    fn program(&self) -> Result<Process, PlannerConfigError> {
        let command = self.command.clone().filter(|words| !words.is_empty()).ok_or(PlannerConfigError::NoCommand)?;
        let allowed = self.api_key_env.as_deref();
        let withheld = environment::confidential().filter(|name| name.to_str() != allowed || allowed.is_none());
        Ok(Process::new(command, withheld))
    }

    fn recorded(&self) -> Result<Recorded, PlannerConfigError> {
        let path = self.calls.as_deref().ok_or(PlannerConfigError::NoCalls)?;
        let run = Run::read(&RunDir::open(path)?.log_path())?;
        let is_answer = |record: &PlanningRecord| {
            record.call.purpose != CallPurpose::Look && !matches!(record.call.end, CallEnd::Failed { .. })
        };
        if !run.calls.iter().any(is_answer) {
            return Err(PlannerConfigError::NoAnswers(path.to_owned()));
        }
        Ok(Recorded::from_calls(run.calls.into_iter().map(|record| record.call)))
    }

    /// The key. An error if the server or the configuration requires one and the variable is not set.
    fn key(&self) -> Result<Option<Secret>, PlannerConfigError> {
        let variable = self.key_variable();
        match environment::variable(variable) {
            Some(key) => Ok(Some(Secret::new(key.trim()))),
            None if self.api_key_env.is_some() || self.is_official() => {
                Err(PlannerConfigError::NoKey { engine: self.engine, variable: variable.to_owned() })
            }
            None => Ok(None),
        }
    }
}
