//! A planner from a configuration.
//!
//! Invariant: a key is read from the environment, put into a [`Secret`](cuebook_grammar::secret::Secret), and is neither
//! in a configuration nor in an error.

use std::path::{Path, PathBuf};

use cuebook_grammar::seam::boxed::BoxedPlanner;
#[cfg(feature = "local")]
use cuebook_planner::LocalError;
use cuebook_planner::{Lexical, OpenAiMode, Scripted, ScriptedError};
#[cfg(feature = "models")]
use cuebook_planner::{TemplateError, converse::EngineError};
use serde::Deserialize;

use crate::environment;

/// Which planner, and its settings. As a file: `{"engine": "ollama", "model": "qwen3:8b"}`.
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
    /// Planner to use; the other fields apply to some of them only.
    pub engine: Engine,
    /// The model, as its server names it. Required for the servers of OpenAI and Anthropic; of `local` the path of a GGUF
    /// file.
    #[serde(default)]
    pub model: Option<String>,
    /// The address of the server. Default: `$OLLAMA_HOST`, `$OPENAI_BASE_URL` or `$ANTHROPIC_BASE_URL`, then the usual
    /// address.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The environment variable that holds the key. Default: `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`. A program gets no
    /// variable that looks like a key but this one.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// How an `openai` server gets the grammar. Default: `strict` for OpenAI itself, `schema` for others. Of an `anthropic`
    /// server only `strict` and `computer` apply. A model that [points](OpenAiMode::points) needs
    /// [pictures](crate::AgentBuilder::sight).
    #[serde(default)]
    pub mode: Option<OpenAiMode>,
    /// The prompts of a model. Default: those that [`fitted`](Self::fitted) chooses, else [`PromptSource::Full`].
    #[serde(default)]
    pub prompts: Option<PromptSource>,
    /// The plan of the scripted planner, a JSON file.
    #[serde(default)]
    pub plan: Option<PathBuf>,
    /// The program of the planner `process` and its arguments; no shell reads them.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// The directory of the run whose calls the planner `recorded` answers from.
    #[serde(default)]
    pub calls: Option<PathBuf>,
    /// Upper bound of the tokens of one answer. Default: 4,096; 16,384 for the models of OpenAI and Anthropic.
    #[serde(default)]
    pub answer_tokens: Option<u32>,
    /// Upper bound of the tokens of all requests and answers. Default: 2,000,000.
    #[serde(default)]
    pub run_tokens: Option<u64>,
    /// Drafts of a repair that a model writes, of which the best is taken: 1 to 3. Default: 1.
    #[serde(default)]
    pub drafts: Option<u8>,
    /// Upper bound of the time for one plan, in milliseconds. Default: two minutes.
    #[serde(default)]
    pub plan_timeout_ms: Option<u64>,
    /// The names of the secrets that a model may enter into fields.
    #[serde(default)]
    pub credentials: Vec<String>,
}

/// Prompts of a model: `full`, `compact`, or a folder of templates.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "PathBuf")]
#[non_exhaustive]
pub enum PromptSource {
    /// Rules, verbs, examples, and all that a plan may need.
    Full,
    /// The task, the page and what was done: for models below some three billion parameters, and those trained with it.
    Compact,
    /// Templates in a folder, in place of those of [`Full`](Self::Full).
    Folder(PathBuf),
}

impl From<PathBuf> for PromptSource {
    fn from(path: PathBuf) -> Self {
        match path.to_str() {
            Some("full") => Self::Full,
            Some("compact") => Self::Compact,
            _ => Self::Folder(path),
        }
    }
}

/// A planner, by its name in configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Engine {
    /// Without a model: matches the clauses of the task to candidates.
    Lexical,
    /// A plan from a file.
    Scripted,
    /// A model of Ollama.
    Ollama,
    /// A model of OpenAI or of a compatible server, such as llama.cpp or vLLM.
    OpenAi,
    /// A model of Anthropic or of a compatible server.
    Anthropic,
    /// A model of a GGUF file, in this process, with the feature `local`.
    Local,
    /// A program: a line of JSON for each request, lines of JSON back.
    Process,
    /// The answers of a recorded run.
    Recorded,
}

/// Where the models of an engine are.
struct Server {
    /// The environment variable of the address.
    variable: &'static str,
    /// The usual address: of a local server, or of the provider itself.
    address: &'static str,
    /// The environment variable of the key.
    key: &'static str,
}

impl Engine {
    /// The name in configurations and of the flag `--planner`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Scripted => "scripted",
            Self::Ollama => "ollama",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Local => "local",
            Self::Process => "process",
            Self::Recorded => "recorded",
        }
    }

    /// Returns `true` if pictures of pages may be sent to it.
    #[must_use]
    pub const fn takes_pictures(self) -> bool {
        matches!(self, Self::Ollama | Self::OpenAi | Self::Anthropic | Self::Process)
    }

    /// The feature of this crate that has it.
    const fn feature(self) -> &'static str {
        if matches!(self, Self::Local) { "local" } else { "models" }
    }

    const fn server(self) -> Option<Server> {
        let (variable, address, key) = match self {
            Self::Lexical | Self::Scripted | Self::Local | Self::Process | Self::Recorded => return None,
            Self::Ollama => ("OLLAMA_HOST", "http://127.0.0.1:11434", ""),
            Self::OpenAi => ("OPENAI_BASE_URL", "https://api.openai.com/v1", "OPENAI_API_KEY"),
            Self::Anthropic => ("ANTHROPIC_BASE_URL", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        };
        Some(Server { variable, address, key })
    }
}

/// Why a configuration yields no planner.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlannerConfigError {
    /// The file cannot be read.
    #[error("the configuration {} cannot be read", path.display())]
    File {
        /// Configuration file that was given.
        path: PathBuf,
        /// I/O error from reading it.
        source: std::io::Error,
    },
    /// The text is not a configuration.
    #[error("the configuration of the planner is malformed")]
    Malformed(#[from] serde_json::Error),
    /// No model is named, and the server has many.
    #[error("the planner `{}` needs the name of a model", .0.as_str())]
    NoModel(Engine),
    /// The variable of the key is not set.
    #[error("the planner `{}` needs a key in ${variable}", engine.as_str())]
    NoKey {
        /// Planner that needs a key.
        engine: Engine,
        /// Environment variable that is not set, such as `OPENAI_API_KEY`.
        variable: String,
    },
    /// The scripted planner has no plan.
    #[error("the planner `scripted` needs the file of a plan")]
    NoPlan,
    /// The planner `process` has no program.
    #[error("the planner `process` needs a command")]
    NoCommand,
    /// The planner `recorded` has no run.
    #[error("the planner `recorded` needs the directory of a run")]
    NoCalls,
    /// The recorded run cannot be read.
    #[error("the calls of the recorded run cannot be read")]
    Calls(#[from] cuebook_datalayer::DataError),
    /// No model was called in the recorded run.
    #[error("the run {} records no answer of a model", .0.display())]
    NoAnswers(PathBuf),
    /// This build has not the engine.
    #[error("the planner `{}` needs a build with the feature `{}`", .0.as_str(), .0.feature())]
    NotBuilt(Engine),
    /// The model of the file cannot answer.
    #[cfg(feature = "local")]
    #[error(transparent)]
    Local(#[from] LocalError),
    /// The plan cannot be used.
    #[error(transparent)]
    Plan(#[from] ScriptedError),
    /// The settings of the engine are invalid.
    #[cfg(feature = "models")]
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A prompt cannot be used.
    #[cfg(feature = "models")]
    #[error(transparent)]
    Prompt(#[from] TemplateError),
}

/// The default model of Ollama: small enough for most machines.
pub(crate) const OLLAMA_MODEL: &str = "qwen3:8b";

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
            command: None,
            calls: None,
            answer_tokens: None,
            run_tokens: None,
            drafts: None,
            plan_timeout_ms: None,
            credentials: Vec::new(),
        }
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// [`PlannerConfigError::Malformed`] with the member that is wrong.
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

    /// The planner. Sends nothing to a server.
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
            #[cfg(feature = "models")]
            _ => self.model_planner(),
            #[cfg(not(feature = "models"))]
            engine => Err(PlannerConfigError::NotBuilt(engine)),
        }
    }

    /// The address of the server: the configured one, the one in the environment, or the usual one. Empty for planners
    /// without a server.
    #[must_use]
    pub fn address(&self) -> String {
        let Some(server) = self.engine.server() else { return String::new() };
        match (&self.base_url, environment::variable(server.variable)) {
            (Some(address), _) => address.clone(),
            (None, Some(text)) if self.engine == Engine::Ollama => ollama_host(&text),
            (None, Some(text)) => text,
            (None, None) => server.address.to_owned(),
        }
    }

    /// Returns `true` if the server is that of OpenAI or Anthropic itself.
    #[must_use]
    pub fn is_official(&self) -> bool {
        let is_at = |server: Server| self.address().trim_end_matches('/') == server.address;
        self.engine != Engine::Ollama && self.engine.server().is_some_and(is_at)
    }

    /// The model that requests name. `None` if one has to be configured and is not.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        match (&self.model, self.engine) {
            (Some(model), _) => Some(model),
            (None, Engine::Ollama) => Some(OLLAMA_MODEL),
            // A compatible server usually has one model, and ignores the name.
            (None, Engine::OpenAi) if !self.is_official() => Some("default"),
            (None, _) => None,
        }
    }

    /// The environment variable that holds the key. Empty for planners without one.
    #[must_use]
    pub fn key_variable(&self) -> &str {
        let usual = || self.engine.server().map_or("", |server| server.key);
        self.api_key_env.as_deref().unwrap_or_else(usual)
    }
}

/// The address in `OLLAMA_HOST`, which may hold `host`, `host:port`, `:port`, or a URL. The unspecified address, which
/// servers listen on, becomes the loopback address. Source: Ollama, `envconfig`.
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
    #[cfg(feature = "models")]
    fn a_configuration_names_its_planner_and_every_member() {
        let text = r#"{ "engine": "openai", "baseUrl": "http://127.0.0.1:8080/v1", "mode": "llama-cpp",
            "answerTokens": 900, "planTimeoutMs": 5000, "credentials": ["shop"] }"#;
        let config = PlannerConfig::read(text).unwrap();
        assert_eq!((config.engine, config.mode), (Engine::OpenAi, Some(OpenAiMode::LlamaCpp)));
        assert_eq!((config.model(), config.is_official()), (Some("default"), false));
        assert!(config.planner().is_ok());
        let error = PlannerConfig::read(r#"{ "engine": "lexical", "modle": "x" }"#).unwrap_err();
        assert!(std::error::Error::source(&error).unwrap().to_string().contains("unknown field `modle`"), "{error}");
    }

    #[test]
    #[cfg(feature = "models")]
    fn a_planner_that_lacks_a_key_a_model_or_a_plan_is_an_error() {
        let absent =
            PlannerConfig { api_key_env: Some("CUEBOOK_NO_SUCH_KEY".into()), ..PlannerConfig::new(Engine::OpenAi) };
        let error = absent.planner().err().unwrap();
        assert_eq!(error.to_string(), "the planner `openai` needs a key in $CUEBOOK_NO_SUCH_KEY");
        let own = Some("http://127.0.0.1:1".to_owned());
        let error = PlannerConfig { base_url: own, ..PlannerConfig::new(Engine::Anthropic) }.planner().err().unwrap();
        assert!(matches!(error, PlannerConfigError::NoModel(Engine::Anthropic)), "{error}");
        let error = PlannerConfig::new(Engine::Scripted).planner().err().unwrap();
        assert!(matches!(error, PlannerConfigError::NoPlan), "{error}");
    }

    #[test]
    #[cfg(not(feature = "local"))]
    fn a_model_in_this_process_needs_the_feature() {
        let file = PlannerConfig { model: Some("m.gguf".to_owned()), ..PlannerConfig::new(Engine::Local) };
        let error = file.planner().err().unwrap().to_string();
        assert_eq!(error, "the planner `local` needs a build with the feature `local`");
    }

    #[test]
    #[cfg(not(feature = "models"))]
    fn a_planner_of_a_model_needs_the_feature() {
        let error = PlannerConfig::new(Engine::Ollama).planner().err().unwrap();
        assert!(matches!(error, PlannerConfigError::NotBuilt(Engine::Ollama)), "{error}");
    }
}
