//! Values of arguments, and how they are read.

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use cuebook::{ColorScheme, Device, Engine};
use cuebook_datalayer::metrics::By;
use cuebook_datalayer::replay::{Aspect, BadAspects};
use cuebook_decoding::emit::Target;
use cuebook_export::{Format, Redaction};
use cuebook_grammar::Document;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::observation::Scope;
use cuebook_grammar::policy::{BadCommand, Gate, command_words};
use cuebook_grammar::profile::Profile;
use cuebook_planner::OpenAiMode;
use std::time::Duration;
use url::Url;

/// A step and the secret for it.
pub(crate) fn credential(text: &str) -> Result<(u32, CredentialRef), String> {
    let wrong = || format!("{text:?} is not STEP=SECRET such as 2=shop_password");
    let (step, name) = text.split_once('=').ok_or_else(wrong)?;
    let step = step.parse().ok().filter(|step| *step > 0).ok_or_else(wrong)?;
    Ok((step, CredentialRef::new(name)))
}

pub(crate) fn field_credential(text: &str) -> Result<(String, CredentialRef), String> {
    let parts = text.rsplit_once('=').filter(|(field, name)| !field.trim().is_empty() && !name.trim().is_empty());
    let wrong = || format!("{text:?} is not FIELD=SECRET such as Password=shop_password");
    parts.map(|(field, name)| (field.to_owned(), CredentialRef::new(name))).ok_or_else(wrong)
}

/// A part and the number of parts.
pub(crate) fn shard(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    parts.filter(|(part, of)| (1..=*of).contains(part)).ok_or_else(|| format!("{text:?} is not a part such as 1/3"))
}

/// Parts by which requests are compared.
#[derive(Clone, Debug)]
pub(crate) struct Aspects(pub(crate) Vec<Aspect>);

pub(crate) fn aspects(text: &str) -> Result<Aspects, BadAspects> {
    Aspect::read_list(text).map(Aspects)
}

/// Price of a model, in any currency.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Price {
    /// The model, as its server names it.
    pub(crate) model: String,
    /// Price of a million tokens that it reads.
    pub(crate) input: f64,
    /// Price of a million tokens that it writes.
    pub(crate) output: f64,
}

pub(crate) fn price(text: &str) -> Result<Price, String> {
    let amount = |text: &str| text.trim().parse().ok().filter(|amount: &f64| amount.is_finite() && *amount >= 0.0);
    // A model's name may hold `=`; its price holds none.
    let parts = text.rsplit_once('=').and_then(|(model, amounts)| Some((model, amounts.split_once(',')?)));
    let price = parts.and_then(|(model, (input, output))| {
        Some(Price { model: model.to_owned(), input: amount(input)?, output: amount(output)? })
    });
    price.ok_or_else(|| format!("{text:?} is not MODEL=IN,OUT with prices per million tokens"))
}

/// A number and one of some units, which stand for factors.
pub(crate) fn in_units(text: &str, units: &[(&str, u64)], expected: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default();
    let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let number: Option<u64> = digits.parse().ok();
    number
        .zip(factor)
        .and_then(|(number, factor)| number.checked_mul(factor))
        .ok_or_else(|| format!("`{}` is not {expected}", crate::text::plain(text)))
}

pub(crate) fn age(text: &str) -> Result<Duration, String> {
    let seconds =
        in_units(text, &[("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)], "an age such as 30d, 12h, 5m or 0s")?;
    Ok(Duration::from_secs(seconds))
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];
    in_units(text, &units, "a size such as 10GB, 500MB or 0B")
}

pub(crate) fn format() -> impl TypedValueParser<Value = Format> {
    choice(Format::ALL.map(|format| {
        let help = match format {
            Format::Parquet => "Tables of runs, steps, conditions, candidates, requests and planning, by date",
            Format::StepLog => "One step a line, with the fields of a plain step log",
            Format::Sft => "Chats with tool calls, for supervised fine-tuning",
            Format::HuggingFace => "A folder for Hugging Face `datasets`: the same chats in splits, with a card",
            Format::Preferences => "Pairs of a step that failed and the one that worked on the same page",
            Format::PlaywrightTrace => "One trace a run, for `npx playwright show-trace`",
            Format::PlaywrightTest => "One test a run, for `npx playwright test`",
            Format::Recording => "One recording a run: its plan, ways to find each target, and what came of each step",
            Format::Har => "One HTTP archive a run",
            Format::Mind2Web => "Actions with their candidates, as in Multimodal-Mind2Web",
            Format::Vectors => "A row for each plan: vectors of its page and of its task and steps, by date",
            Format::Otlp => "OpenTelemetry spans of a run, its calls of models and its steps, as OTLP in JSON",
        };
        (format.as_str(), format, help)
    }))
}

pub(crate) fn redaction() -> impl TypedValueParser<Value = Redaction> {
    choice(Redaction::ALL.map(|redaction| {
        let help = match redaction {
            Redaction::None => "Keep everything that is in the log, which holds no secrets of its run",
            Redaction::Strict => "Keep the structure only: no texts, values, queries or pictures",
        };
        (redaction.as_str(), redaction, help)
    }))
}

/// A number from 0 to 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("{text:?} is not a number from 0 to 1"))
}

/// Parses a factor of at least 1.
pub(crate) fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor >= 1.0);
    factor.ok_or_else(|| format!("{text:?} is not a number of at least 1"))
}

/// The words of a command.
#[derive(Clone, Debug)]
pub(crate) struct Words(pub(crate) Vec<String>);

/// Splits a command into words.
pub(crate) fn command_line(text: &str) -> Result<Words, BadCommand> {
    command_words(text).map(Words)
}

/// Checks an address that alerts are posted to. It may hold a secret, and the message does not name it.
pub(crate) fn webhook(text: &str) -> Result<String, &'static str> {
    let is_http = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    Url::parse(text).ok().filter(is_http).map(String::from).ok_or("expected an absolute URL of http or https")
}

/// Names of groups of runs.
pub(crate) fn group_of_runs() -> impl TypedValueParser<Value = By> {
    choice(By::ALL.map(|by| (by.name(), by, "")))
}

/// A value that is written as one of a few names, each with its help.
pub(crate) fn choice<T: Clone + Send + Sync + 'static, const N: usize>(
    values: [(&'static str, T, &'static str); N],
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(values.clone().map(|(name, _, help)| PossibleValue::new(name).help(help)));
    names.try_map(move |name| {
        let known = values.iter().find(|(known, ..)| *known == name);
        known.map(|(_, value, _)| value.clone()).ok_or_else(|| format!("unknown value `{name}`"))
    })
}

pub(crate) fn profile() -> impl TypedValueParser<Value = Profile> {
    choice([
        ("assisted", Profile::Assisted, "None: every step is confirmed"),
        ("semi-auto", Profile::SemiAuto, "Reading"),
        ("auto", Profile::Auto, "Reading and reversible writing"),
        ("unleashed", Profile::Unleashed, "As auto; high-risk actions are available within the policy"),
    ])
}

pub(crate) fn gate() -> impl TypedValueParser<Value = Gate> {
    choice([
        ("effects", Gate::Effects, "Requests with a method other than GET, HEAD and OPTIONS wait for consent"),
        ("off", Gate::Off, "Only requests that the policy file names do"),
    ])
}

/// An attribute that observations read as a test id.
pub(crate) fn test_id_attribute() -> PossibleValuesParser {
    PossibleValuesParser::new(cuebook_probe::ProbeOptions::default().test_id_attributes)
}

/// A planner, as `--planner` names it.
#[derive(Clone, Debug)]
pub(crate) enum PlannerArg {
    /// The planner that is configured, answers or has a key.
    Auto,
    /// A program and its arguments.
    Exec(Vec<String>),
    /// The model of a file, in this process.
    Local(String),
    /// A planner that the flag names.
    Of(Engine),
}

pub(crate) fn planner(text: &str) -> Result<PlannerArg, String> {
    if let Some(command) = text.strip_prefix("exec:") {
        return command_words(command).map(PlannerArg::Exec).map_err(|error| match error {
            BadCommand::Shell(c) => format!("no shell reads the command, and `{c}` needs one: quote it"),
            error => error.to_string(),
        });
    }
    if let Some(file) = text.strip_prefix("local:") {
        return Ok(PlannerArg::Local(file.to_owned()));
    }
    let engines =
        [Engine::Lexical, Engine::Scripted, Engine::Recorded, Engine::Ollama, Engine::OpenAi, Engine::Anthropic];
    let named = engines.into_iter().find(|engine| engine.as_str() == text).map(PlannerArg::Of);
    named.or_else(|| (text == "auto").then_some(PlannerArg::Auto)).ok_or_else(|| {
        let names: Vec<&str> = engines.iter().map(|engine| engine.as_str()).collect();
        format!("expected auto, {}, local:FILE.gguf or exec:COMMAND", names.join(", "))
    })
}

pub(crate) fn vision_engine() -> impl TypedValueParser<Value = Engine> {
    choice([
        ("ollama", Engine::Ollama, "A model of Ollama"),
        ("openai", Engine::OpenAi, "A model of OpenAI or of a compatible server"),
        ("anthropic", Engine::Anthropic, "A model of Anthropic or of a compatible server"),
    ])
}

pub(crate) fn engine_mode() -> impl TypedValueParser<Value = OpenAiMode> {
    choice([
        ("strict", OpenAiMode::Strict, "`response_format` with OpenAI's strict schema"),
        ("schema", OpenAiMode::Schema, "`response_format` with a schema of what a step may be"),
        ("tools", OpenAiMode::Tools, "Tool calls, one per step"),
        ("llama-cpp", OpenAiMode::LlamaCpp, "`grammar` of llama.cpp's server"),
        ("llama-cpp-lines", OpenAiMode::LlamaCppLines, "The same for plans of one step a line: fewer tokens"),
        ("vllm", OpenAiMode::Vllm, "`structured_outputs` of vLLM"),
        ("plain", OpenAiMode::Plain, "No constraint: the prompt names the actions"),
        (
            "computer",
            OpenAiMode::Computer,
            "The model points at a picture, by OpenAI's or Anthropic's tool for computers",
        ),
        ("ui-tars", OpenAiMode::UiTars, "The model points at a picture, in the actions of UI-TARS"),
    ])
}

pub(crate) fn scope() -> impl TypedValueParser<Value = Scope> {
    choice([
        ("view", Scope::View, "The viewport and half a viewport around it"),
        ("full", Scope::Full, "The whole page"),
    ])
}

pub(crate) fn document() -> impl TypedValueParser<Value = Document> {
    choice([
        ("plan", Document::Plan, "A plan"),
        ("observation", Document::Observation, "An observation"),
        ("step-record", Document::StepRecord, "The record of a step"),
        ("planning-record", Document::PlanningRecord, "The record of a call of a model"),
        ("report", Document::Report, "The report of a run"),
        ("policy", Document::Policy, "A policy file"),
        ("planner-input", Document::PlannerInput, "What a planner that is a program gets"),
    ])
}

pub(crate) fn dialect() -> impl TypedValueParser<Value = Target> {
    choice(Target::ALL.map(|target| {
        let help = match target {
            Target::JsonSchema => "JSON Schema 2020-12",
            Target::OpenAi => "`response_format` of OpenAI's structured outputs",
            Target::Tools => "Function definitions, at most twenty",
            Target::Anthropic => "Anthropic's tools, the same for every page",
            Target::AnthropicPage => "Anthropic's tools with the ids of one page",
            Target::Gemini => "Gemini's `responseSchema`",
            Target::Ollama => "Ollama's `format` and llama.cpp's `json_schema`",
            Target::Compatible => "`json_schema` of vLLM, SGLang and other compatible servers",
            Target::Gbnf => "Grammar of llama.cpp",
            Target::Lark => "Grammar of llguidance",
            Target::Ebnf => "Grammar of XGrammar, for vLLM",
            Target::Line => "The line form, as a grammar of llama.cpp",
        };
        (target.as_str(), target, help)
    }))
}

/// Parses `500ms`, `3s` or `2m`: at least 1 ms, at most a day.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{}` is not a duration such as 500ms, 3s or 2m", crate::text::plain(text));
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let unit = text.get(digits.len()..).unwrap_or_default();
    let millis = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        _ => None,
    };
    match millis {
        Some(millis) if (1..=86_400_000).contains(&millis) => Ok(Duration::from_millis(millis)),
        _ => Err(wrong()),
    }
}

/// Completes the address of a browser: `9222` is a port of this machine, `host:9222` speaks HTTP.
pub(crate) fn endpoint(text: &str) -> Result<String, String> {
    let text = text.trim();
    let wrong = || format!("`{}` is not a port, host:port, http://host:port or ws://…", crate::text::plain(text));
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    if is_port(text) {
        return Ok(format!("http://127.0.0.1:{text}"));
    }
    if text.contains("://") {
        return url::Url::parse(text).map(|_| text.to_owned()).map_err(|_| wrong());
    }
    let host = text.rsplit_once(':').filter(|(host, port)| !host.is_empty() && is_port(port));
    let url = host.map(|_| format!("http://{text}")).filter(|url| url::Url::parse(url).is_ok());
    url.ok_or_else(wrong)
}

pub(crate) fn url_parser() -> impl TypedValueParser<Value = String> {
    StringValueParser::new().map(|text| page_url(&text))
}

/// Schemes that digits may follow, as a port follows a host.
pub(crate) const SCHEMES: [&str; 7] = ["javascript", "data", "file", "about", "blob", "mailto", "tel"];

/// Completes a URL without a scheme: `http` for IP addresses and hosts of one label, as local machines have, else
/// `https`.
pub(crate) fn page_url(text: &str) -> String {
    let text = text.trim();
    let (front, rest) = text.split_once(':').unwrap_or((text, ""));
    let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let names_scheme = SCHEMES.iter().any(|scheme| front.eq_ignore_ascii_case(scheme));
    let is_scheme = names_scheme || text.contains(':') && !is_port && !front.contains(['/', '[', '.']);
    if is_scheme || text.is_empty() || text.starts_with(['/', '.']) {
        return text.to_owned();
    }
    let with = |scheme: &str| url::Url::parse(&format!("{scheme}://{text}")).ok();
    let Some(url) = with("https") else { return text.to_owned() };
    let is_local = match url.host() {
        Some(url::Host::Domain(name)) => !name.trim_end_matches('.').contains('.') || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(_) | url::Host::Ipv6(_)) => true,
        None => false,
    };
    if is_local { with("http").unwrap_or(url) } else { url }.to_string()
}

pub(crate) fn device(text: &str) -> Result<Device, String> {
    let names = || Device::names().collect::<Vec<_>>().join(", ");
    Device::named(text).ok_or_else(|| format!("`{}` is no device: {}", crate::text::plain(text), names()))
}

pub(crate) fn color_scheme(text: &str) -> Result<ColorScheme, String> {
    match text {
        "light" => Ok(ColorScheme::Light),
        "dark" => Ok(ColorScheme::Dark),
        other => Err(format!("`{}` is neither light nor dark", crate::text::plain(other))),
    }
}

pub(crate) fn viewport(text: &str) -> Result<(u32, u32), String> {
    let wrong = || format!("`{}` is not WIDTHxHEIGHT from 100x100 to 10000x10000", crate::text::plain(text));
    let (width, height) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
    let side = |text: &str| text.parse().ok().filter(|side| (100..=10_000).contains(side)).ok_or_else(wrong);
    Ok((side(width)?, side(height)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_browser_may_be_its_port() {
        assert_eq!(endpoint("9377").unwrap(), "http://127.0.0.1:9377");
        assert_eq!(endpoint("box:9377").unwrap(), "http://box:9377");
        assert_eq!(endpoint("[::1]:9377").unwrap(), "http://[::1]:9377");
        for whole in ["http://127.0.0.1:9377", "ws://127.0.0.1:9377/devtools/browser/1"] {
            assert_eq!(endpoint(whole).unwrap(), whole);
        }
        for wrong in ["", "0", "99999", "box", ":9377", "box:0", "http://"] {
            assert!(endpoint(wrong).unwrap_err().contains("is not a port"), "{wrong}");
        }
    }

    #[test]
    fn what_a_browser_would_run_is_no_host() {
        for scheme in ["javascript:1", "JavaScript:1", "data:1", "tel:110"] {
            assert_eq!(page_url(scheme), scheme);
        }
        assert_eq!(page_url("localhost:8737"), "http://localhost:8737/");
    }

    #[test]
    fn durations_carry_their_unit() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("3s"), Ok(Duration::from_secs(3)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "3", "s", "-1s", "0s", "3h", "99999999999999999999s", "1.5s", "３s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ages_and_sizes_carry_their_units() {
        assert_eq!(age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(age("0s"), Ok(Duration::ZERO));
        assert_eq!(size("10GB"), Ok(10_000_000_000));
        for wrong in ["", "3", "d", "-1d", "1.5d", "3w", "99999999999999999999d", "18446744073709551615d"] {
            assert!(age(wrong).is_err() && size(&wrong.replace('d', "GB")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn viewports_are_two_numbers() {
        assert_eq!(viewport("332x214"), Ok((332, 214)));
        for wrong in ["", "x", "10x10", "1280", "1280x", "99999x100"] {
            assert!(viewport(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_host_without_a_scheme_gets_one() {
        for (written, meant) in [
            ("example.org", "https://example.org/"),
            ("example.org:8443/a?b#c", "https://example.org:8443/a?b#c"),
            ("127.0.0.1:8790/x", "http://127.0.0.1:8790/x"),
            ("[::1]:80/", "http://[::1]/"),
            ("localhost:3000", "http://localhost:3000/"),
            ("shop.localhost", "http://shop.localhost/"),
            ("intranet/start", "http://intranet/start"),
            (" https://a.test/b ", "https://a.test/b"),
        ] {
            assert_eq!(page_url(written), meant);
        }
        for kept in
            ["about:blank", "javascript:alert(1)", "file:///etc/passwd", "mailto:a@b.c", "/etc/passwd", "", "::"]
        {
            assert_eq!(page_url(kept), kept);
        }
    }
}
