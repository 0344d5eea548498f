//! The planner of `auto`: what is configured, else what answers, else what has a key, else no model.

#[cfg(feature = "models")]
use std::time::Duration;

#[cfg(feature = "models")]
use cuebook_planner::engine::ollama::{OllamaModel, models};
#[cfg(feature = "models")]
use cuebook_planner::{OpenAiMode, engine::openai};
use url::{Host, Url};

#[cfg(feature = "models")]
use crate::environment;
#[cfg(feature = "models")]
use crate::planners::PromptSource;
use crate::planners::{Engine, PlannerConfig};

/// How long a server may take to say which models it has.
#[cfg(feature = "models")]
const PATIENCE: Duration = Duration::from_millis(300);
/// The models that are named where only a key says which provider it is.
#[cfg(feature = "models")]
const MODELS: [(Engine, &str); 2] = [(Engine::OpenAi, "gpt-5-mini"), (Engine::Anthropic, "claude-sonnet-4-5")];
/// The sizes in bytes of the models that `auto` chooses: from about three billion parameters on, and such that one
/// machine holds them.
#[cfg(feature = "models")]
const SIZES: std::ops::RangeInclusive<u64> = 1_800_000_000..=24_000_000_000;

/// Parameters of a model below which it gets the compact prompts.
#[cfg(feature = "models")]
const SMALL: u64 = 3_000_000_000;

/// The planner that was found, and why it is that one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Detected {
    /// The planner and its settings.
    pub config: PlannerConfig,
    /// Why: `$OPENAI_API_KEY is set`.
    pub why: String,
}

impl Detected {
    /// Returns `true` if pages are sent to another machine.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        let address = self.config.address();
        match Url::parse(&address).ok().as_ref().and_then(Url::host) {
            Some(Host::Domain(name)) => name != "localhost" && !name.ends_with(".localhost"),
            Some(Host::Ipv4(ip)) => !ip.is_loopback(),
            Some(Host::Ipv6(ip)) => !ip.is_loopback(),
            None => false,
        }
    }
}

impl PlannerConfig {
    /// The planner that these settings and the environment lead to, whatever [`engine`](Self::engine) says: a program
    /// or a model that is configured, else an Ollama that answers and has a model that fits, else a provider whose key
    /// is in the environment, else the lexical planner. Takes at most 300 ms; sends no page.
    pub async fn detected(&self) -> Detected {
        if self.command.is_some() {
            let config = Self { engine: Engine::Process, ..self.clone() };
            return Detected { config, why: "a command is configured".to_owned() };
        }
        #[cfg(feature = "models")]
        if let Some(found) = self.with_model().await {
            return found;
        }
        let why = "no model is configured, no Ollama with a model that fits answers, and no key is set".to_owned();
        Detected { config: Self { engine: Engine::Lexical, ..self.clone() }, why }
    }

    /// These settings as they fit the model, where no prompts are stated and its server tells its size: below three
    /// billion parameters it gets the compact prompts, and from llama.cpp the grammar of lines. Returns the number of
    /// parameters if it is that small. Takes at most 300 ms; sends no page.
    pub async fn fitted(self) -> (Self, Option<u64>) {
        #[cfg(feature = "models")]
        return self.sized().await;
        #[cfg(not(feature = "models"))]
        (self, None)
    }

    #[cfg(feature = "models")]
    async fn sized(self) -> (Self, Option<u64>) {
        if self.prompts.is_some() || self.is_official() {
            return (self, None);
        }
        let address = self.address();
        let sized = async {
            match self.engine {
                Engine::Ollama => {
                    let name = self.model()?;
                    let latest = format!("{name}:latest");
                    let listed = models(&address).await.ok()?;
                    listed.into_iter().find(|known| known.name == name || known.name == latest)?.parameters
                }
                Engine::OpenAi => openai::parameters(&address, self.model()).await.ok()?,
                #[cfg(feature = "local")]
                Engine::Local => cuebook_planner::LocalModel::parameters(self.model()?.as_ref()).ok(),
                _ => None,
            }
        };
        let sized = tokio::time::timeout(PATIENCE, sized).await.ok().flatten();
        let Some(small) = sized.filter(|parameters| *parameters < SMALL) else { return (self, None) };
        let lines = (self.engine == Engine::OpenAi).then_some(OpenAiMode::LlamaCppLines);
        (Self { prompts: Some(PromptSource::Compact), mode: self.mode.or(lines), ..self }, Some(small))
    }

    #[cfg(feature = "models")]
    async fn with_model(&self) -> Option<Detected> {
        let found = |engine: Engine, model: Option<&str>, why: String| {
            let model = model.map(str::to_owned).or_else(|| self.model.clone());
            Some(Detected { config: Self { engine, model, ..self.clone() }, why })
        };
        let at_ollama = Self { engine: Engine::Ollama, ..self.clone() }.address();
        let listed = tokio::time::timeout(PATIENCE, models(&at_ollama)).await.ok().and_then(Result::ok);
        let fitting = listed.as_deref().and_then(fitting);
        if self.base_url.is_some() {
            return match listed {
                Some(_) => {
                    found(Engine::Ollama, self.model.as_deref().or(fitting), "the address is an Ollama's".into())
                }
                None => found(Engine::OpenAi, None, "an address is configured, and it is not an Ollama's".into()),
            };
        }
        let key = |engine: Engine| {
            let config = Self { engine, ..self.clone() };
            environment::variable(config.key_variable()).map(|_| format!("${} is set", config.key_variable()))
        };
        let address = environment::variable("OPENAI_BASE_URL").map(|_| "$OPENAI_BASE_URL is set".to_owned());
        let (openai, anthropic) = (address.or_else(|| key(Engine::OpenAi)), key(Engine::Anthropic));
        if let Some(model) = &self.model {
            let latest = format!("{model}:latest");
            if listed.iter().flatten().any(|known| known.name == *model || known.name == latest) {
                return found(Engine::Ollama, None, "it answers and has the model".into());
            }
            return match (openai, anthropic) {
                (_, Some(why)) if model.starts_with("claude") => found(Engine::Anthropic, None, why),
                (Some(why), _) => found(Engine::OpenAi, None, why),
                _ => found(Engine::Ollama, None, "a model is configured, and no other server is".into()),
            };
        }
        if let Some(model) = fitting {
            return found(Engine::Ollama, Some(model), "it answers and has the model".into());
        }
        for ((engine, model), why) in MODELS.into_iter().zip([openai, anthropic]) {
            if let Some(why) = why {
                // A server of one's own usually has one model, and ignores the name.
                let is_official = Self { engine, ..self.clone() }.is_official();
                return found(engine, is_official.then_some(model), why);
            }
        }
        None
    }
}

/// The default model if it is there, else the largest that fits.
#[cfg(feature = "models")]
fn fitting(models: &[OllamaModel]) -> Option<&str> {
    let default = models.iter().find(|model| model.name == crate::planners::OLLAMA_MODEL);
    let writes = |model: &&OllamaModel| SIZES.contains(&model.size) && !model.family.contains("bert");
    default.or_else(|| models.iter().filter(writes).max_by_key(|model| model.size)).map(|model| model.name.as_str())
}

#[cfg(all(test, feature = "models"))]
mod tests {
    use super::*;

    fn model(name: &str, family: &str, size: u64) -> OllamaModel {
        OllamaModel { name: name.to_owned(), family: family.to_owned(), size, parameters: None }
    }

    #[test]
    fn the_default_model_wins_else_the_largest_that_fits() {
        let small = model("qwen3:0.6b", "qwen3", 500_000_000);
        let embedder = model("nomic-embed-text", "nomic-bert", 2_000_000_000);
        let cloud = model("gpt-oss:120b-cloud", "gptoss", 384);
        let huge = model("llama3.1:405b", "llama", 230_000_000_000);
        let mut models = vec![small, embedder, cloud, huge];
        assert_eq!(fitting(&models), None);
        models.push(model("llama3.2:3b", "llama", 2_000_000_000));
        models.push(model("gemma3:12b", "gemma3", 8_100_000_000));
        assert_eq!(fitting(&models), Some("gemma3:12b"));
        models.push(model("qwen3:8b", "qwen3", 5_200_000_000));
        assert_eq!(fitting(&models), Some("qwen3:8b"));
    }

    #[tokio::test]
    async fn what_is_configured_is_not_searched_for() {
        let command = Some(vec!["planner".to_owned()]);
        let found = PlannerConfig { command, ..PlannerConfig::new(Engine::Lexical) }.detected().await;
        assert_eq!((found.config.engine, found.is_remote()), (Engine::Process, false));
        // Port 1 answers nothing.
        let base_url = Some("http://127.0.0.1:1/v1".to_owned());
        let found = PlannerConfig { base_url, ..PlannerConfig::new(Engine::Lexical) }.detected().await;
        assert_eq!((found.config.engine, found.is_remote()), (Engine::OpenAi, false));
        assert_eq!(found.config.model(), Some("default"));
    }

    #[test]
    fn another_machine_is_remote() {
        let at = |url: &str| PlannerConfig { base_url: Some(url.into()), ..PlannerConfig::new(Engine::Ollama) };
        let is_remote = |url| Detected { config: at(url), why: String::new() }.is_remote();
        assert!(is_remote("http://box:11434") && is_remote("https://api.openai.com/v1"));
        assert!(!is_remote("http://[::1]:11434") && !is_remote("http://localhost:8080/v1"));
    }
}
