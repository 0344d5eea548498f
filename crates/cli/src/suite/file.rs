//! The file of a suite, in TOML.
//!
//! Invariants:
//! - What is not understood is an error with its line, never ignored.
//! - Names are unique, and so are the files of their recordings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cuebook_datalayer::replay::Aspect;
use cuebook_datalayer::traffic::Volatile;
use cuebook_grammar::condition::Condition;
use cuebook_grammar::id::{CredentialRef, TargetRef};
use cuebook_grammar::locator::Locator;
use cuebook_grammar::policy::VolatileParts;
use cuebook_grammar::report::ErrorCode;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use url::Url;

use crate::exit::Refusal;
use crate::input;
use crate::text::{plain, plain_lines};

/// Test cases of a suite file, in the order of the file.
pub(crate) struct Suite {
    pub(crate) cases: Vec<Case>,
    /// Parts of requests and answers that are other ones in each run.
    pub(crate) volatile: VolatileParts,
}

/// A test case, checked, with an absolute URL.
pub(crate) struct Case {
    pub(crate) name: String,
    /// The task in words; may be empty beside a plan.
    pub(crate) narrative: String,
    pub(crate) priority: Priority,
    pub(crate) context: Context,
    /// The page to start on.
    pub(crate) url: String,
    /// The file of the plan, instead of a planner.
    pub(crate) plan: Option<PathBuf>,
    /// Conditions that must hold in the end; never empty.
    pub(crate) expect: Vec<Condition>,
    /// The targets of the conditions.
    pub(crate) candidates: BTreeMap<TargetRef, Locator>,
    /// Secrets for steps of the recording whose text is not recorded, by 1-based step.
    pub(crate) credentials: BTreeMap<u32, CredentialRef>,
    /// Parts by which the requests of a replay are compared with those of its recording; empty if they are not compared.
    pub(crate) requests: Vec<Aspect>,
    /// How alike the screenshots of a replay must be to those of its recording, from 0 to 1; `None` if there are none.
    pub(crate) pictures: Option<f64>,
}

/// How important a case is. It is reported, told to the planner, and decides nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Priority {
    Critical,
    High,
    #[default]
    Medium,
    Low,
}

impl Priority {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// Sharing of a browser between cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Context {
    /// A browser of its own.
    #[default]
    Fresh,
    /// The browser of all shared cases, which run in the order of the file.
    Shared,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSuite {
    url: Option<Spanned<String>>,
    requests: Option<Spanned<String>>,
    pictures: Option<Spanned<f64>>,
    #[serde(default)]
    volatile: VolatileParts,
    #[serde(rename = "case", default)]
    cases: Vec<Spanned<RawCase>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    name: Spanned<String>,
    narrative: Option<Spanned<String>>,
    #[serde(default)]
    priority: Priority,
    #[serde(default)]
    context: Context,
    url: Option<Spanned<String>>,
    plan: Option<PathBuf>,
    expect: Spanned<Vec<Condition>>,
    #[serde(default)]
    candidates: BTreeMap<TargetRef, Locator>,
    #[serde(default)]
    credentials: BTreeMap<Spanned<String>, String>,
    requests: Option<Spanned<String>>,
    pictures: Option<Spanned<f64>>,
}

/// Reads `method,url,status`; empty if nothing is stated.
fn aspects(stated: Option<&Spanned<String>>) -> Result<Vec<Aspect>, Wrong> {
    let Some(text) = stated.filter(|text| !text.get_ref().is_empty()) else { return Ok(Vec::new()) };
    Aspect::read_list(text.get_ref()).map_err(|error| wrong(Some(text.span().start), format!("`requests`: {error}")))
}

/// A share from 0 to 1; 0 compares nothing.
fn share(stated: Option<&Spanned<f64>>) -> Result<Option<f64>, Wrong> {
    let Some(share) = stated else { return Ok(None) };
    let seen = *share.get_ref();
    if (0.0..=1.0).contains(&seen) {
        return Ok(Some(seen).filter(|share| *share > 0.0));
    }
    Err(wrong(Some(share.span().start), format!("`pictures` is {seen}: it must be a share from 0 to 1, such as 0.98")))
}

impl Suite {
    /// Reads the suite at `path`. URLs are relative to `base`, else to the suite's own.
    pub(crate) fn read(path: &Path, base: Option<&str>) -> Result<Self, Refusal> {
        let text = input::text(path)?;
        Self::parse(&text, path.parent().unwrap_or(Path::new("")), base).map_err(|error| {
            let shown = plain(&path.display().to_string());
            let line = error.at.map_or_else(String::new, |at| format!(" line {}", line_of(&text, at)));
            Refusal::invalid(ErrorCode::Malformed, format!("{shown}{line}: {}", plain_lines(&error.message)))
        })
    }

    fn parse(text: &str, beside: &Path, base: Option<&str>) -> Result<Self, Wrong> {
        let raw: RawSuite = toml::from_str(text)
            .map_err(|error| Wrong { at: error.span().map(|span| span.start), message: error.message().to_owned() })?;
        let base = match (base, &raw.url) {
            (Some(base), _) => Some(Url::parse(base).map_err(|error| wrong(None, format!("--url {base}: {error}")))?),
            (None, Some(own)) => Some(Url::parse(own.get_ref()).map_err(|error| {
                wrong(Some(own.span().start), format!("{:?} is not an absolute URL: {error}", own.get_ref()))
            })?),
            (None, None) => None,
        };
        if raw.cases.is_empty() {
            return Err(wrong(None, "the suite has no [[case]]".to_owned()));
        }
        let of_suite = (aspects(raw.requests.as_ref())?, share(raw.pictures.as_ref())?);
        Volatile::new([&raw.volatile]).map_err(|error| wrong(None, format!("`volatile`: {error}")))?;
        let mut cases: Vec<Case> = Vec::new();
        for raw in raw.cases {
            let at = raw.span().start;
            let case = raw.into_inner().checked(at, beside, base.as_ref(), &of_suite)?;
            let (name, at) = case;
            if let Some(twin) = cases.iter().find(|other| slug(&other.name) == slug(&name.name)) {
                let message = format!(
                    "the name {:?} is taken by the case {:?}; letters and digits must differ",
                    name.name, twin.name
                );
                return Err(wrong(Some(at), message));
            }
            cases.push(name);
        }
        Ok(Self { cases, volatile: raw.volatile })
    }
}

struct Wrong {
    /// Offset in the file in bytes; `None` if the error has no place there.
    at: Option<usize>,
    message: String,
}

fn wrong(at: Option<usize>, message: String) -> Wrong {
    Wrong { at, message }
}

/// Returns the 1-based line of the byte offset `at`.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

impl RawCase {
    /// The case, and where its name is.
    fn checked(
        self,
        at: usize,
        beside: &Path,
        base: Option<&Url>,
        (requests, pictures): &(Vec<Aspect>, Option<f64>),
    ) -> Result<(Case, usize), Wrong> {
        let name_at = self.name.span().start;
        let name = self.name.into_inner();
        if slug(&name).is_empty() || name.chars().count() > 100 {
            let message = format!("{name:?} is not a name of at most 100 characters with letters or digits");
            return Err(wrong(Some(name_at), message));
        }
        let narrative_at = self.narrative.as_ref().map_or(name_at, |narrative| narrative.span().start);
        let narrative = self.narrative.map(Spanned::into_inner);
        if narrative.as_ref().is_some_and(|narrative| narrative.trim().is_empty()) {
            return Err(wrong(Some(narrative_at), format!("the narrative of {name:?} is empty")));
        }
        if narrative.is_none() && self.plan.is_none() {
            let message = format!("{name:?} has no steps: it needs a `narrative` for a planner, or a `plan`");
            return Err(wrong(Some(name_at), message));
        }
        let url_at = self.url.as_ref().map_or(at, |url| url.span().start);
        let url = match (self.url.map(Spanned::into_inner), base) {
            (Some(url), Some(base)) => base.join(&url).map_err(|error| error.to_string()),
            (Some(url), None) => {
                Url::parse(&url).map_err(|error| format!("{error}; the suite has no `url` to start from"))
            }
            (None, Some(base)) => Ok(base.clone()),
            (None, None) => Err("neither the case nor the suite has one".to_owned()),
        };
        let url = url.map_err(|error| wrong(Some(url_at), format!("the `url` of {name:?}: {error}")))?;
        let expect_at = self.expect.span().start;
        let expect = self.expect.into_inner();
        if expect.is_empty() {
            return Err(wrong(Some(expect_at), format!("the `expect` of {name:?} has no conditions")));
        }
        let mut named = expect.iter().flat_map(Condition::targets);
        if let Some(target) = named.find(|target| !self.candidates.contains_key(*target)) {
            let message = format!("`expect` of {name:?} names {target}, which is not in its `candidates`");
            return Err(wrong(Some(expect_at), message));
        }
        let mut credentials = BTreeMap::new();
        for (step, secret) in self.credentials {
            let number = step.get_ref().parse().ok().filter(|number| *number > 0);
            let number = number.ok_or_else(|| {
                wrong(Some(step.span().start), format!("{:?} is not the number of a step", step.get_ref()))
            })?;
            credentials.insert(number, CredentialRef::new(secret));
        }
        let case = Case {
            name,
            narrative: narrative.unwrap_or_default(),
            priority: self.priority,
            context: self.context,
            url: url.to_string(),
            plan: self.plan.map(|plan| beside.join(plan)),
            expect,
            candidates: self.candidates,
            credentials,
            requests: if self.requests.is_some() { aspects(self.requests.as_ref())? } else { requests.clone() },
            pictures: if self.pictures.is_some() { share(self.pictures.as_ref())? } else { *pictures },
        };
        Ok((case, name_at))
    }
}

impl Case {
    /// Its expectations in words, with the locators of their targets.
    pub(crate) fn expected(&self) -> Vec<String> {
        let name =
            |target: &TargetRef| self.candidates.get(target).map_or_else(|| target.to_string(), ToString::to_string);
        self.expect.iter().map(|condition| condition.in_words_naming(&name)).collect()
    }

    /// The part of `of` that the case belongs to, from 1: by its name, or one part for all shared cases, as they build on
    /// one another. It does not depend on other cases.
    pub(crate) fn shard(&self, of: u32) -> u32 {
        let key = if self.context == Context::Shared { "shared" } else { &self.name };
        let part = stable_hash(key.as_bytes()) % u64::from(of.max(1));
        u32::try_from(part).unwrap_or_default() + 1
    }
}

/// The name as the name of a file: letters and digits in lower case, everything else as one `-`.
pub(crate) fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// FNV-1a of 64 bits: the same on every machine and in every version.
/// Source: Fowler, Noll, Vo and Eastlake, "The FNV Non-Cryptographic Hash Algorithm".
pub(crate) fn stable_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = "[[case]]\nname = \"Log in\"\nnarrative = \"Log in\"\n\
                        expect = [{ kind = \"urlMatches\", pattern = \"/dashboard\" }]\n";

    fn read(text: &str) -> Result<Suite, String> {
        Suite::parse(text, Path::new("suites"), None).map_err(|error| {
            let line = error.at.map_or_else(String::new, |at| format!("{}: ", line_of(text, at)));
            format!("{line}{}", error.message)
        })
    }

    #[test]
    fn a_case_has_defaults_and_urls_are_relative_to_the_suite() {
        let suite = read(&format!("url = \"http://shop.test/a/\"\n{CASE}url = \"b\"\nplan = \"p.json\"\n"))
            .unwrap_or_else(|error| panic!("{error}"));
        let case = &suite.cases[0];
        assert_eq!(
            (case.url.as_str(), case.priority, case.context),
            ("http://shop.test/a/b", Priority::Medium, Context::Fresh)
        );
        assert_eq!(case.plan.as_deref(), Some(Path::new("suites/p.json")));
    }

    #[test]
    fn what_is_wrong_is_an_error_with_its_line() {
        let url = "url = \"http://shop.test/\"\n";
        let cases = [
            (String::new(), "the suite has no [[case]]"),
            ("cases = []\n".to_owned(), "1: unknown field `cases`"),
            (format!("url = \"shop\"\n{CASE}"), "1: \"shop\" is not an absolute URL"),
            (CASE.to_owned(), "1: the `url` of \"Log in\": neither"),
            (format!("{url}[[case]]\nname = \"x\"\n"), "2: missing field `expect`"),
            (format!("{url}{}", CASE.replace("narrative", "#")), "3: \"Log in\" has no steps"),
            (format!("{url}{CASE}prio = 1\n"), "6: unknown field `prio`"),
            (format!("{url}{CASE}priority = \"urgent\"\n"), "6: unknown variant `urgent`"),
            (format!("{url}{CASE}\n{CASE}"), "8: the name \"Log in\" is taken"),
            (format!("{url}{}", CASE.replace("Log in\"\nn", "?\"\nn")), "3: \"?\" is not a name"),
            (format!("{url}{}", CASE.replace("pattern", "patern")), "5:"),
            (format!("{url}{}", CASE.replace("urlMatches", "urlSings")), "5:"),
            (format!("{url}{}", CASE.replace("[{", "[] #")), "5: the `expect` of \"Log in\" has no conditions"),
            (
                format!(
                    "{url}{}",
                    CASE.replace("\"urlMatches\", pattern = \"/dashboard\"", "\"visible\", target = \"x\"")
                ),
                "5: `expect` of \"Log in\" names x",
            ),
            (format!("{url}{CASE}credentials = {{ first = \"x\" }}\n"), "6: \"first\" is not the number of a step"),
            (format!("{url}requests = \"url,state\"\n{CASE}"), "2: `requests`: \"state\" is no part of a request"),
            (format!("{url}{CASE}requests = \"status\"\n"), "6: `requests`: requests cannot be compared without"),
            (format!("{url}pictures = 98.0\n{CASE}"), "2: `pictures` is 98: it must be a share"),
            (format!("{url}{CASE}[volatile]\nbody = [\"items.id\"]\n"), "`volatile`: \"items.id\" is no JSONPath"),
        ];
        for (text, expected) in cases {
            let error = read(&text).err().unwrap_or_else(|| panic!("accepted: {text}"));
            assert!(error.starts_with(expected), "{text}: {error}, not {expected}");
        }
    }

    #[test]
    fn a_case_stays_in_its_part_and_shared_cases_stay_together() {
        let suite = |names: &[&str], context: &str| {
            let cases: String = names.iter().map(|name| CASE.replace("Log in", name) + context).collect();
            read(&format!("url = \"http://shop.test/\"\n{cases}")).unwrap_or_else(|error| panic!("{error}")).cases
        };
        let names: Vec<String> = (0..60).map(|number| format!("case {number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let parts: Vec<u32> = suite(&names, "").iter().map(|case| case.shard(3)).collect();
        for part in 1..=3 {
            assert!(parts.iter().filter(|own| **own == part).count() > 10, "{parts:?}");
        }
        assert_eq!(stable_hash(b"case 1"), 0x58b0_244b_10cd_b076, "the parts of committed suites must not move");
        let shared: std::collections::BTreeSet<u32> =
            suite(&names, "context = \"shared\"\n").iter().map(|case| case.shard(3)).collect();
        assert_eq!(shared.len(), 1);
    }
}
