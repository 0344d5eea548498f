//! A planner from a configuration file.
//!
//! Invariant: a key is read from the environment, put into a [`Secret`], and stands neither in a configuration nor in
//! an error.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cuebook_decoding::Caps;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::seam::boxed::BoxedPlanner;
use cuebook_grammar::secret::Secret;
use cuebook_lexical::Lexical;
use cuebook_planner::converse::{ChatEngine, EngineError};
use cuebook_planner::{
    Anthropic, Limits, ModelPlanner, Ollama, OpenAi, OpenAiMode, Prompts, Scripted, ScriptedError, TemplateError,
};
use serde::Deserialize;

use crate::environment;

/// Who plans, and how. As a file: `{"engine": "ollama", "model": "qwen3:8b"}`.
///
/// ```
/// use cuebook::PlannerConfig;
///
/// let config = PlannerConfig::read(r#"{ "engine": "lexical" }"#)?;
/// let planner = config.planner()?;
/// # Ok::<(), cuebook::PlannerConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct PlannerConfig {
    /// Who plans.
    pub engine: Engine,
    /// The model, as its server names it. Needed where the server belongs to OpenAI or Anthropic.
    #[serde(default)]
    pub model: Option<String>,
    /// Where the server is; else `$OLLAMA_HOST`, `$OPENAI_BASE_URL` or `$ANTHROPIC_BASE_URL`, then the usual place.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The variable that holds the key; else `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// How the grammar reaches the model of an `openai` server; else `strict` for OpenAI itself, `schema` for others.
    #[serde(default)]
    pub mode: Option<EngineMode>,
    /// A folder of prompts.
    #[serde(default)]
    pub prompts: Option<PathBuf>,
    /// The plan of the scripted planner, a JSON file.
    #[serde(default)]
    pub plan: Option<PathBuf>,
    /// The most tokens of one answer; else 4,096, and 16,384 for OpenAI's and Anthropic's own models.
    #[serde(default)]
    pub answer_tokens: Option<u32>,
    /// The most tokens of all answers; else 2,000,000.
    #[serde(default)]
    pub run_tokens: Option<u64>,
    /// The most time for one plan, in milliseconds; else two minutes.
    #[serde(default)]
    pub plan_timeout_ms: Option<u64>,
    /// The names of the secrets that a model may put into fields.
    #[serde(default)]
    pub credentials: Vec<String>,
}

/// Who plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Engine {
    /// The planner without a model.
    Lexical,
    /// A plan from a file.
    Scripted,
    /// A model of Ollama.
    Ollama,
    /// A model of OpenAI, or of a server that speaks like it.
    OpenAi,
    /// A model of Anthropic, or of a server that speaks like it.
    Anthropic,
}

impl Engine {
    /// The name as configurations and the flag `--planner` have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Scripted => "scripted",
            Self::Ollama => "ollama",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// How the grammar reaches the model of an `openai` server: `cuebook_planner::OpenAiMode` with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EngineMode {
    /// `response_format` with OpenAI's strict schema.
    Strict,
    /// `response_format` with a schema that states every bound.
    Schema,
    /// Calls of tools, one a step.
    Tools,
    /// `grammar`, as llama.cpp's server takes it.
    LlamaCpp,
    /// The same for plans of a step a line, which take a fraction of the tokens.
    LlamaCppLines,
    /// `structured_outputs`, as vLLM takes it.
    Vllm,
    /// No constraint: the form stands in the prompt, and the check decides.
    Plain,
}

/// Why a configuration gives no planner.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlannerConfigError {
    /// The file cannot be read.
    #[error("the configuration {} cannot be read", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The text is no configuration.
    #[error("expected the configuration of a planner")]
    Malformed(#[from] serde_json::Error),
    /// No model is named where the server has many.
    #[error("expected a model for the planner `{}`, saw none", .0.as_str())]
    NoModel(Engine),
    /// The variable of the key is not set.
    #[error("expected a key in ${variable} for the planner `{}`, saw none", engine.as_str())]
    NoKey {
        /// Who plans.
        engine: Engine,
        /// The variable.
        variable: String,
    },
    /// The scripted planner has no plan.
    #[error("expected the file of a plan for the planner `scripted`, saw none")]
    NoPlan,
    /// The plan cannot be used.
    #[error(transparent)]
    Plan(#[from] ScriptedError),
    /// The settings of the engine do not fit.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A prompt cannot be used.
    #[error(transparent)]
    Prompt(#[from] TemplateError),
}

/// The model that Ollama is asked for unless another is named: small enough for most machines.
const OLLAMA_MODEL: &str = "qwen3:8b";
/// The most tokens of an answer of a small model, whose context is small as well.
const SMALL_ANSWER: u32 = 4_096;
/// The most tokens of an answer of a large model: it may think before it answers.
const LARGE_ANSWER: u32 = 16_384;
const PLAN_TIME: Duration = Duration::from_secs(120);

impl PlannerConfig {
    /// The engine with its defaults.
    #[must_use]
    pub const fn new(engine: Engine) -> Self {
        Self {
            engine,
            model: None,
            base_url: None,
            api_key_env: None,
            mode: None,
            prompts: None,
            plan: None,
            answer_tokens: None,
            run_tokens: None,
            plan_timeout_ms: None,
            credentials: Vec::new(),
        }
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// [`PlannerConfigError::Malformed`] with the member that does not fit.
    pub fn read(text: &str) -> Result<Self, PlannerConfigError> {
        Ok(serde_json::from_str(text)?)
    }

    /// Reads a JSON file.
    ///
    /// # Errors
    /// [`PlannerConfigError::File`], [`PlannerConfigError::Malformed`].
    pub fn from_file(path: &Path) -> Result<Self, PlannerConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| PlannerConfigError::File { path: path.to_owned(), source })?;
        Self::read(&text)
    }

    /// The planner. Nothing is sent to a server yet.
    ///
    /// # Errors
    /// [`PlannerConfigError`]
    pub fn planner(&self) -> Result<Box<dyn BoxedPlanner>, PlannerConfigError> {
        match self.engine {
            Engine::Lexical => Ok(Box::new(Lexical)),
            Engine::Scripted => {
                let path = self.plan.as_deref().ok_or(PlannerConfigError::NoPlan)?;
                Ok(Box::new(Scripted::from_file(path)?))
            }
            Engine::Ollama => self.ollama(),
            Engine::OpenAi => self.openai(),
            Engine::Anthropic => self.anthropic(),
        }
    }

    /// Where the server is: as configured, as the environment says, or the usual place. Empty for planners without one.
    #[must_use]
    pub fn address(&self) -> String {
        let (variable, usual) = match self.engine {
            Engine::Lexical | Engine::Scripted => return String::new(),
            Engine::Ollama => ("OLLAMA_HOST", Ollama::HOST),
            Engine::OpenAi => ("OPENAI_BASE_URL", OpenAi::BASE_URL),
            Engine::Anthropic => ("ANTHROPIC_BASE_URL", Anthropic::BASE_URL),
        };
        match (&self.base_url, environment::variable(variable)) {
            (Some(address), _) => address.clone(),
            (None, Some(text)) if self.engine == Engine::Ollama => ollama_host(&text),
            (None, Some(text)) => text,
            (None, None) => usual.to_owned(),
        }
    }

    /// Whether the server is OpenAI's or Anthropic's own.
    #[must_use]
    pub fn is_official(&self) -> bool {
        let own = match self.engine {
            Engine::OpenAi => OpenAi::BASE_URL,
            Engine::Anthropic => Anthropic::BASE_URL,
            Engine::Lexical | Engine::Scripted | Engine::Ollama => return false,
        };
        self.address().trim_end_matches('/') == own
    }

    /// The model that is asked for; none where one has to be named and is not.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        match (&self.model, self.engine) {
            (Some(model), _) => Some(model),
            (None, Engine::Ollama) => Some(OLLAMA_MODEL),
            // A server of one's own has one model, and most do not look at its name.
            (None, Engine::OpenAi) if !self.is_official() => Some("default"),
            (None, _) => None,
        }
    }

    /// The variable that holds the key.
    #[must_use]
    pub fn key_variable(&self) -> &str {
        match (&self.api_key_env, self.engine) {
            (Some(variable), _) => variable,
            (None, Engine::Anthropic) => "ANTHROPIC_API_KEY",
            (None, _) => "OPENAI_API_KEY",
        }
    }

    fn ollama(&self) -> Result<Box<dyn BoxedPlanner>, PlannerConfigError> {
        let engine = Ollama::new(&self.address(), self.named_model()?)?;
        self.with_limits(engine)
    }

    fn openai(&self) -> Result<Box<dyn BoxedPlanner>, PlannerConfigError> {
        let key = self.key()?;
        let mode = match self.mode {
            Some(EngineMode::Strict) => OpenAiMode::Strict,
            Some(EngineMode::Schema) => OpenAiMode::Schema,
            Some(EngineMode::Tools) => OpenAiMode::Tools,
            Some(EngineMode::LlamaCpp) => OpenAiMode::LlamaCpp,
            Some(EngineMode::LlamaCppLines) => OpenAiMode::LlamaCppLines,
            Some(EngineMode::Vllm) => OpenAiMode::Vllm,
            Some(EngineMode::Plain) => OpenAiMode::Plain,
            None if self.is_official() => OpenAiMode::Strict,
            None => OpenAiMode::Schema,
        };
        let mut engine = OpenAi::new(&self.address(), self.named_model()?)?.with_mode(mode);
        if let Some(key) = key {
            engine = engine.with_key(key)?;
        }
        self.with_limits(engine)
    }

    fn anthropic(&self) -> Result<Box<dyn BoxedPlanner>, PlannerConfigError> {
        let key = self.key()?;
        let mut engine = Anthropic::new(&self.address(), self.named_model()?)?;
        if let Some(key) = key {
            engine = engine.with_key(key)?;
        }
        self.with_limits(engine)
    }

    fn with_limits<E: ChatEngine + 'static>(&self, engine: E) -> Result<Box<dyn BoxedPlanner>, PlannerConfigError> {
        let plan_time = self.plan_timeout_ms.map_or(PLAN_TIME, Duration::from_millis);
        let defaults = Limits::default();
        let answer = if self.is_official() { LARGE_ANSWER } else { SMALL_ANSWER };
        let limits = Limits {
            output_tokens: self.answer_tokens.unwrap_or(answer),
            run_tokens: self.run_tokens.unwrap_or(defaults.run_tokens),
            plan_time,
            first_byte: plan_time.mul_f64(0.75),
            ..defaults
        };
        let credentials = self.credentials.iter().map(CredentialRef::new).collect();
        let planner = ModelPlanner::new(engine).with_limits(limits).with_caps(Caps { credentials, ..Caps::default() });
        Ok(match &self.prompts {
            Some(folder) => Box::new(planner.with_prompts(Prompts::from_dir(folder)?)),
            None => Box::new(planner),
        })
    }

    fn named_model(&self) -> Result<&str, PlannerConfigError> {
        self.model().ok_or(PlannerConfigError::NoModel(self.engine))
    }

    /// The key; an error where the server wants one, or a variable is named, and there is none.
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
    use super::*;

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
    #[test]
    fn a_configuration_names_its_planner_and_every_member() {
        let text = r#"{ "engine": "openai", "baseUrl": "http://127.0.0.1:8080/v1", "mode": "llama-cpp",
            "answerTokens": 900, "planTimeoutMs": 5000, "credentials": ["shop"] }"#;
        let config = PlannerConfig::read(text).unwrap();
        assert_eq!((config.engine, config.mode), (Engine::OpenAi, Some(EngineMode::LlamaCpp)));
        assert_eq!((config.model(), config.is_official()), (Some("default"), false));
        assert!(config.planner().is_ok());
        let error = PlannerConfig::read(r#"{ "engine": "lexical", "modle": "x" }"#).unwrap_err();
        assert!(std::error::Error::source(&error).unwrap().to_string().contains("unknown field `modle`"), "{error}");
    }

    #[test]
    fn what_a_planner_needs_and_does_not_have_is_an_error() {
        let absent =
            PlannerConfig { api_key_env: Some("CUEBOOK_NO_SUCH_KEY".into()), ..PlannerConfig::new(Engine::OpenAi) };
        let error = absent.planner().err().unwrap();
        assert_eq!(error.to_string(), "expected a key in $CUEBOOK_NO_SUCH_KEY for the planner `openai`, saw none");
        let own = Some("http://127.0.0.1:1".to_owned());
        let error = PlannerConfig { base_url: own, ..PlannerConfig::new(Engine::Anthropic) }.planner().err().unwrap();
        assert!(matches!(error, PlannerConfigError::NoModel(Engine::Anthropic)), "{error}");
        let error = PlannerConfig::new(Engine::Scripted).planner().err().unwrap();
        assert!(matches!(error, PlannerConfigError::NoPlan), "{error}");
    }
}
