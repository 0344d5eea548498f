//! Policy: where a run may act, what it may do there, and what a person must agree to.
//!
//! Invariants:
//! - The operator fixes a policy before page content is seen; a page or a model can only narrow it.
//! - URLs are compared as (scheme, host, port) after WHATWG parsing, never as text.
//! - A rule that does not parse is an error: nothing is skipped.

mod address;
#[cfg(test)]
mod cases;
mod file;
mod load;
mod origin;
mod outside;
mod permissions;
mod requests;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Component;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::action::{Action, ActionKind, Owner};
use crate::arguments::Shape;
use crate::candidate::Candidate;
use crate::effect::EffectClass;
use crate::id::CredentialRef;
use crate::observation::Observation;
use crate::plan::Author;
use crate::profile::Profile;
use crate::render::excerpt;
use crate::risk::RiskClass;
use crate::step::{RiskLevel, Step};
use crate::wire::{Probability, ShortText, words};

use address::{is_metadata, is_private, is_private_ip};
pub use file::{ActionEntry, BadPolicy, Otherwise, PolicyFile, Rate, Roots, VolatileParts};
pub use load::Opening;
pub use origin::{BadOriginRule, OriginRule};
pub use outside::{BadCommand, CommandLine, CommandRule, Outside, words as command_words};
pub use permissions::{BadPermission, PagePermission};
pub use requests::{AddedHeaders, BadRequestRule, CannedResponse, Gate, RequestAction, RequestEntry, RequestVerdict};

/// A refusal by the policy: which rule, and why. The rule is a stable code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message} (rule {})", rule.as_str())]
pub struct Denied {
    /// Rule that denies it.
    pub rule: Rule,
    /// Message: what is denied, and what to do.
    pub message: String,
}

words! {
    /// The rules of the policy.
    #[non_exhaustive]
    pub enum Rule {
        /// Not `http`, `https` or `about:blank`.
        Scheme = "scheme",
        /// An origin that is not allowed.
        Origin = "origin",
        /// A loopback, private, link-local or metadata address that was not named.
        PrivateAddress = "privateAddress",
        /// A user name or password in the URL.
        UserInfo = "userInfo",
        /// Neither an absolute URL nor a tunnel's host and port, or a host with `*`.
        Unparsable = "unparsable",
        /// A redirect to an origin that is not allowed.
        Redirect = "redirect",
        /// The profile does not open this.
        Profile = "profile",
        /// A secret for an origin or a field that it is not bound to.
        SecretScope = "secretScope",
        /// A secret in clear where only a reference may stand.
        RawSecret = "rawSecret",
        /// Too many actions on an origin.
        Rate = "rate",
        /// An origin that the operator denied.
        Denied = "denied",
        /// A verb that the operator did not allow, or denied.
        Action = "action",
        /// A file outside of the declared directories.
        Root = "root",
        /// A command that was not declared.
        Command = "command",
        /// A request that a rule names.
        Request = "request",
    }
}

/// Consent given ahead: a class of risk on an origin, written `CLASS@ORIGIN`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Class of risk that is granted.
    pub class: RiskClass,
    /// Origin that it is granted for.
    pub origin: OriginRule,
}

/// A grant that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadGrant {
    /// No `@`, or an unknown class.
    #[error("`{seen}` is not CLASS@ORIGIN with class write, credential, send, money or destructive")]
    Form {
        /// The start of what was seen, escaped.
        seen: String,
    },
    /// The part after the `@`.
    #[error(transparent)]
    Origin(#[from] BadOriginRule),
}

impl Grant {
    /// Reads `money@https://shop.example`.
    ///
    /// # Errors
    /// [`BadGrant`].
    pub fn parse(text: &str, default_scheme: &str) -> Result<Self, BadGrant> {
        let form = || BadGrant::Form { seen: excerpt(text, 100) };
        let (class, origin) = text.split_once('@').ok_or_else(form)?;
        let class = RiskClass::parse(class).filter(|class| *class != RiskClass::Read).ok_or_else(form)?;
        Ok(Self { class, origin: OriginRule::parse(origin, default_scheme)? })
    }
}

/// An action that an operator registered. Planners can call only registered actions, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredAction {
    /// Unique name: 1 to 60 letters, digits, `_` and `-`, and no verb of the language.
    pub name: ShortText,
    /// JSON Schema of its arguments.
    pub schema: serde_json::Value,
    /// Effect of the action on the world.
    pub effect: EffectClass,
    /// Its purpose, for the planner.
    pub description: ShortText,
}

/// An action that cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadAction {
    /// The name is not an identifier of at most 60 characters.
    #[error("`{0}` is not a name of 1 to 60 letters, digits, `_` and `-`")]
    Name(String),
    /// Another action or a verb of the language has the name.
    #[error("the name `{0}` is in use")]
    Taken(String),
    /// The description is too long.
    #[error("the description of `{0}` is longer than 200 characters")]
    Description(String),
    /// A grammar cannot bound the arguments.
    #[error(
        "the schema of `{0}` is not supported: use closed objects, bounded strings and integers, booleans, enums, and arrays of those"
    )]
    Schema(String),
    /// The command is not words.
    #[error("the command of `{name}`: {source}")]
    Command {
        /// Name of the action.
        name: String,
        /// Fault of the command.
        source: BadCommand,
    },
}

impl RegisteredAction {
    /// An action that a grammar can bound, and the shape of its arguments.
    ///
    /// # Errors
    /// [`BadAction`]
    pub fn checked(
        name: &str,
        description: &str,
        effect: EffectClass,
        schema: serde_json::Value,
    ) -> Result<(Self, Shape), BadAction> {
        let shown = || excerpt(name, 60);
        let is_name = (1..=60).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        let name = ShortText::new(name).ok().filter(|_| is_name).ok_or_else(|| BadAction::Name(shown()))?;
        if ActionKind::ALL.iter().any(|kind| kind.meta().name == name.as_str()) {
            return Err(BadAction::Taken(shown()));
        }
        let description = ShortText::new(description).ok().filter(|text| text.chars().count() <= 200);
        let description = description.ok_or_else(|| BadAction::Description(shown()))?;
        let Some(shape @ Shape::Object(_)) = Shape::read(&schema) else { return Err(BadAction::Schema(shown())) };
        Ok((Self { name, schema, effect, description }, shape))
    }

    /// An action that a policy can open to planners. `schema` is the JSON Schema of its arguments.
    #[must_use]
    pub fn new(name: &str, description: &str, effect: EffectClass, schema: serde_json::Value) -> Self {
        Self { name: ShortText::cut(name), schema, effect, description: ShortText::cut(description) }
    }
}

/// The consent that a step needs before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// No consent is needed.
    Granted,
    /// A person must agree, unless this grant was given ahead.
    Ask {
        /// In the form of `--grant`.
        grant: String,
    },
}

/// Permissions of a run: what it may do, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    profile: Profile,
    start: Option<Url>,
    act: Vec<OriginRule>,
    /// Of those, the ones that a plan restricts itself to; absent: all.
    narrowed: Option<Vec<OriginRule>>,
    /// Where pages may load from, besides those.
    read: Vec<OriginRule>,
    /// `true` if pages may load only from listed origins.
    loads_listed: bool,
    denied: Vec<OriginRule>,
    confirmed: Vec<OriginRule>,
    open_by_default: bool,
    /// The verbs that are open; absent: as the profile says.
    verbs: Option<Vec<ActionKind>>,
    denied_verbs: Vec<ActionKind>,
    confirmed_verbs: Vec<ActionKind>,
    outside: Outside,
    grants: Vec<Grant>,
    registered: Vec<RegisteredAction>,
    /// Directories whose pages are open, by `file:` URLs.
    page_roots: Vec<String>,
    /// Gate for requests; absent: as the profile says.
    gate: Option<Gate>,
    requests: Vec<requests::RequestRule>,
    permissions: Vec<PagePermission>,
    volatile: VolatileParts,
    /// On each origin; absent: no limit.
    rate: Rate,
    /// The confidence below which a step of a model is asked about.
    ask_below: Option<Probability>,
    /// `true` if requests that may change something are denied.
    only_reads: bool,
    /// Origins that secrets are bound to, as far as they are known.
    secrets: BTreeMap<CredentialRef, Vec<String>>,
}

impl Default for Policy {
    fn default() -> Self {
        Self::new(Profile::default())
    }
}

impl Policy {
    /// A policy that allows acting nowhere yet.
    #[must_use]
    pub const fn new(profile: Profile) -> Self {
        Self {
            profile,
            start: None,
            act: Vec::new(),
            narrowed: None,
            read: Vec::new(),
            loads_listed: false,
            denied: Vec::new(),
            confirmed: Vec::new(),
            open_by_default: false,
            verbs: None,
            denied_verbs: Vec::new(),
            confirmed_verbs: Vec::new(),
            outside: Outside {
                hosts: Vec::new(),
                read_roots: Vec::new(),
                write_roots: Vec::new(),
                commands: Vec::new(),
                shell_lines: Vec::new(),
                programs: BTreeMap::new(),
            },
            grants: Vec::new(),
            registered: Vec::new(),
            page_roots: Vec::new(),
            gate: None,
            requests: Vec::new(),
            permissions: Vec::new(),
            volatile: VolatileParts { query: Vec::new(), body: Vec::new() },
            rate: Rate { steps_per_minute: None, total_steps_per_minute: None },
            ask_below: None,
            only_reads: false,
            secrets: BTreeMap::new(),
        }
    }

    /// Starts at `url`, whose origin is allowed, private addresses included.
    ///
    /// # Errors
    /// [`Denied`] if the URL does not parse, or its scheme is neither `http` nor `https`; a `file:` URL has to lie in a
    /// directory that [`Policy::opening_pages`] opened before.
    pub fn starting_at(mut self, url: &str) -> Result<Self, Denied> {
        let url = self.page_url(url)?;
        self.start = Some(url);
        Ok(self)
    }

    /// Parts of requests and answers that are other ones in each run.
    #[must_use]
    pub const fn volatile(&self) -> &VolatileParts {
        &self.volatile
    }

    /// The page that the run starts on.
    #[must_use]
    pub(crate) const fn start(&self) -> Option<&Url> {
        self.start.as_ref()
    }

    /// Opens pages in files below a directory, an absolute path, to navigation and acting. The operator is
    /// responsible for where symbolic links in it lead.
    #[must_use]
    pub fn opening_pages(mut self, dir: impl Into<String>) -> Self {
        self.page_roots.push(dir.into());
        self
    }

    /// Opens every public origin to navigation and acting, except those that are denied.
    #[must_use]
    pub const fn opening_public(mut self) -> Self {
        self.open_by_default = true;
        self
    }

    /// Allows acting on the origins of `entry` too. From then on pages load from listed origins only.
    ///
    /// # Errors
    /// [`BadOriginRule`].
    pub fn allowing(mut self, entry: &str) -> Result<Self, BadOriginRule> {
        let rule = OriginRule::parse(entry, self.default_scheme())?;
        if !self.act.contains(&rule) {
            self.act.push(rule);
        }
        self.loads_listed = true;
        Ok(self)
    }

    /// Acts only on those of the allowed origins that `entries` name, too.
    ///
    /// # Errors
    /// The index of the first entry that is no origin, and [`BadOriginRule`].
    pub(crate) fn narrowed_to<'a>(
        mut self,
        entries: impl Iterator<Item = &'a str>,
    ) -> Result<Self, (usize, BadOriginRule)> {
        let scheme = self.default_scheme();
        let rules =
            entries.enumerate().map(|(index, entry)| OriginRule::parse(entry, scheme).map_err(|bad| (index, bad)));
        self.narrowed = Some(rules.collect::<Result<_, _>>()?);
        Ok(self)
    }

    /// Grants ahead.
    ///
    /// # Errors
    /// [`BadGrant`].
    pub fn granting(mut self, grant: &str) -> Result<Self, BadGrant> {
        let grant = Grant::parse(grant, self.default_scheme())?;
        self.grants.push(grant);
        Ok(self)
    }

    /// Opens a registered action to planners.
    #[must_use]
    pub fn registering(mut self, action: RegisteredAction) -> Self {
        self.registered.push(action);
        self
    }

    /// Opens more outside the page, in addition to what is already open.
    #[must_use]
    pub fn opening(mut self, outside: Outside) -> Self {
        self.outside.hosts.extend(outside.hosts);
        self.outside.read_roots.extend(outside.read_roots);
        self.outside.write_roots.extend(outside.write_roots);
        self.outside.commands.extend(outside.commands);
        self.outside.shell_lines.extend(outside.shell_lines);
        self.outside.programs.extend(outside.programs);
        self
    }

    /// How many steps a minute may open a page or change something.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns the resources that are open outside the page.
    #[must_use]
    pub const fn outside(&self) -> &Outside {
        &self.outside
    }

    /// The scheme that entries without one get: that of the start URL, else `https`.
    #[must_use]
    pub fn default_scheme(&self) -> &str {
        self.start.as_ref().map(Url::scheme).filter(|scheme| *scheme == "http").unwrap_or("https")
    }

    /// The origins that a run may go to: `https://`, the host with its port if that is not the usual one,
    /// and whether only hosts below it are meant. Private hosts are named only where they are exact.
    pub fn spelled_origins(&self) -> impl Iterator<Item = (String, String, bool)> {
        self.spelled(&[])
    }

    /// Like [`Self::spelled_origins`], including the origins that only `fetch` may request.
    pub fn fetched_origins(&self) -> impl Iterator<Item = (String, String, bool)> {
        self.spelled(&self.outside.hosts)
    }

    fn spelled<'a>(&'a self, more: &'a [OriginRule]) -> impl Iterator<Item = (String, String, bool)> + 'a {
        let spelled = |url: &Url| {
            let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
            (format!("{}://", url.scheme()), format!("{}{port}", url.host_str().unwrap_or_default()))
        };
        let start = self.start.iter().filter(|url| matches!(url.scheme(), "http" | "https")).map(move |url| {
            let (front, host) = spelled(url);
            (front, host, false)
        });
        let rules = self.act.iter().chain(more).filter_map(move |rule| {
            let port = rule.port.map_or_else(String::new, |port| format!(":{port}"));
            let url = Url::parse(&format!("{}://{}{port}/", rule.scheme, rule.host)).ok()?;
            if rule.subdomains && (is_private(&url) || matches!(url.host(), Some(Host::Ipv4(_) | Host::Ipv6(_)))) {
                return None;
            }
            let (front, host) = spelled(&url);
            Some((front, host, rule.subdomains))
        });
        start.chain(rules)
    }

    /// The actions that an operator registered.
    #[must_use]
    pub fn registered_actions(&self) -> &[RegisteredAction] {
        &self.registered
    }

    /// The capability profile, which decides how much happens without asking.
    #[must_use]
    pub const fn profile(&self) -> Profile {
        self.profile
    }

    /// Returns this policy with the `wanted` profile, if that is more careful.
    #[must_use]
    pub fn lowered_to(&self, wanted: Option<Profile>) -> Self {
        let profile = wanted.map_or(self.profile, |wanted| wanted.min(self.profile));
        Self { profile, ..self.clone() }
    }

    /// Denies every request of a page that may change something, whatever a rule says: all but `GET`, `HEAD` and `OPTIONS`.
    #[must_use]
    pub fn only_reading(mut self) -> Self {
        self.only_reads = true;
        self.gating(Gate::Effects)
    }

    /// States that the fields of a secret are on these origins only, such as `https://shop.test`. The check of a plan then
    /// refuses a step that enters it elsewhere; what has no statement is judged when its step runs.
    #[must_use]
    pub fn binding(mut self, secret: CredentialRef, origins: Vec<String>) -> Self {
        self.secrets.insert(secret, origins);
        self
    }

    /// The origins that a secret is bound to; `None` if they are not known.
    #[must_use]
    pub fn bound_origins(&self, secret: &CredentialRef) -> Option<&[String]> {
        self.secrets.get(secret).map(Vec::as_slice)
    }

    /// The secrets whose origins are known, with these.
    pub fn bound_secrets(&self) -> impl Iterator<Item = (&CredentialRef, &[String])> {
        self.secrets.iter().map(|(name, origins)| (name, origins.as_slice()))
    }

    /// The registered action of this name.
    #[must_use]
    pub fn registered(&self, name: &str) -> Option<&RegisteredAction> {
        self.registered.iter().find(|action| action.name.as_str() == name)
    }

    /// Checks that a run may go to `url`, and returns the URL in its canonical form.
    ///
    /// ```
    /// use cuebook_grammar::policy::{Policy, Rule};
    ///
    /// let policy = Policy::default().starting_at("https://shop.test/cart").unwrap().allowing("*.cdn.test").unwrap();
    /// assert!(policy.navigation("https://img.cdn.test/a.png").is_ok());
    /// assert_eq!(policy.navigation("https://evil.test/").unwrap_err().rule, Rule::Origin);
    /// assert_eq!(policy.navigation("http://127.0.0.1/").unwrap_err().rule, Rule::PrivateAddress);
    /// ```
    ///
    /// # Errors
    /// [`Denied`] with the rule: scheme, user information, private address, or origin.
    pub fn navigation(&self, url: &str) -> Result<Url, Denied> {
        let url = self.page_url(url)?;
        if matches!(url.scheme(), "about" | "file") {
            return Ok(url);
        }
        self.not_ruled_out(&url)?;
        if self.is_named(&url) || (self.open_by_default && !is_private(&url)) {
            return Ok(url);
        }
        Err(not_open(&url))
    }

    /// Checks that `fetch` may request `url`, and returns the URL in its canonical form. The caller still has to check
    /// the addresses of its host with [`Policy::reaching`].
    ///
    /// # Errors
    /// [`Denied`] with the rule, as for [`Policy::navigation`].
    pub fn fetching(&self, url: &str) -> Result<Url, Denied> {
        let url = parse_url(url)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Denied {
                rule: Rule::Scheme,
                message: format!("{}: URLs are not allowed, only http and https", url.scheme()),
            });
        }
        self.not_ruled_out(&url)?;
        let declared = self.outside.covers(&url)
            && (!is_private(&url) || self.outside.hosts.iter().any(|rule| rule.covers(&url) && !rule.subdomains));
        if declared || self.is_named(&url) {
            return Ok(url);
        }
        Err(not_open(&url))
    }

    /// Checks that a request to `url` may go to `ip`, one of the addresses of its host. A public name that leads to a
    /// private address is refused unless that address is allowed by itself; metadata services always are refused.
    ///
    /// # Errors
    /// [`Denied`] with rule `privateAddress`.
    pub fn reaching(&self, url: &Url, ip: IpAddr) -> Result<(), Denied> {
        let named = || {
            let start = self.start.as_ref().and_then(|start| match start.host() {
                Some(Host::Ipv4(v4)) => Some(IpAddr::V4(v4)),
                Some(Host::Ipv6(v6)) => Some(IpAddr::V6(v6)),
                _ => None,
            });
            start == Some(ip) || self.act.iter().any(|rule| rule.names(ip)) || self.outside.names(ip)
        };
        if !is_metadata(ip) && (!is_private_ip(ip) || is_private(url) || named()) {
            return Ok(());
        }
        let host = url.host_str().unwrap_or_default();
        Err(Denied {
            rule: Rule::PrivateAddress,
            message: format!("{host} resolves to the private address {ip}, which is not allowed by name"),
        })
    }

    /// Returns the effect of an action on the world: for one that an operator registered, the effect that was
    /// registered with it.
    pub(crate) fn effect_of(&self, action: &Action) -> EffectClass {
        let registered = match action {
            Action::Call(call) => self.registered(&call.name),
            _ => None,
        };
        registered.map_or_else(|| action.kind().meta().effect, |registered| registered.effect)
    }

    /// Checks that a plan may use the verb at all.
    ///
    /// # Errors
    /// [`Denied`] with rule `action`.
    pub fn verb(&self, action: &Action) -> Result<(), Denied> {
        let kind = action.kind();
        let is_start = matches!((action, &self.start), (Action::Navigate(navigate), Some(start))
            if Url::parse(&navigate.url).is_ok_and(|url| url == *start));
        if (is_start || self.lists(kind)) && !self.denied_verbs.contains(&kind) {
            return Ok(());
        }
        let name = kind.meta().name;
        Err(Denied { rule: Rule::Action, message: format!("the policy does not allow the verb `{name}`") })
    }

    fn lists(&self, kind: ActionKind) -> bool {
        let meta = kind.meta();
        let only_reads = meta.effect == EffectClass::ReadOnly && meta.owner != Owner::Handler;
        only_reads || self.verbs.as_ref().is_none_or(|verbs| verbs.contains(&kind))
    }

    /// Returns `true` if a planner may use the verb somewhere: neither the lists nor the profile close it. Other
    /// declarations that it needs, such as directories, are not considered here.
    #[must_use]
    pub fn offers(&self, kind: ActionKind) -> bool {
        let is_listed = self.lists(kind) && !self.denied_verbs.contains(&kind);
        is_listed && (self.profile.opens_raw_access() || !(kind.is_beyond_page() || kind.is_raw()))
    }

    /// Returns `true` if the operator named the origin of `url`.
    fn is_named(&self, url: &Url) -> bool {
        self.is_start(url) || self.act.iter().any(|rule| rule.covers(url) && (!rule.subdomains || !is_private(url)))
    }

    fn not_ruled_out(&self, url: &Url) -> Result<(), Denied> {
        if self.denied.iter().any(|rule| rule.covers(url)) {
            let origin = url.origin().ascii_serialization();
            let message = format!("the policy denies the origin {origin}");
            return Err(Denied { rule: Rule::Denied, message });
        }
        if self.narrowed.as_ref().is_some_and(|rules| !rules.iter().any(|rule| rule.covers(url))) {
            let origin = url.origin().ascii_serialization();
            let message = format!("the plan's own allowedDomains leave out the origin {origin}");
            return Err(Denied { rule: Rule::Origin, message });
        }
        Ok(())
    }

    /// Checks that a run may act on a candidate: in a frame of its origin, or of a file in a directory whose pages are
    /// open.
    ///
    /// # Errors
    /// As [`Policy::acting_in`], and [`Denied`] with rule `root`.
    pub fn acting_on(&self, candidate: &Candidate, observation: &Observation) -> Result<(), Denied> {
        let frame = usize::try_from(candidate.frame).ok().and_then(|frame| observation.frames.get(frame));
        match frame {
            Some(frame) if frame.url.starts_with("file:") => self.navigation(&frame.url).map(drop),
            Some(frame) => self.acting_in(&frame.origin),
            None => Ok(()),
        }
    }

    /// A URL that a page may have, in its canonical form.
    fn page_url(&self, text: &str) -> Result<Url, Denied> {
        let url = parse_url(text)?;
        if url.scheme() != "file" {
            return Ok(url);
        }
        if self.page_roots.is_empty() {
            let message = "file: URLs are not allowed (--file-root DIR opens the pages below DIR)";
            return Err(Denied { rule: Rule::Scheme, message: message.to_owned() });
        }
        let path = url.to_file_path().ok();
        let is_open = path.is_some_and(|path| {
            let climbs = path.components().any(|part| part == Component::ParentDir);
            !climbs && self.page_roots.iter().any(|root| path.starts_with(root))
        });
        if is_open {
            return Ok(url);
        }
        let roots = self.page_roots.join(", ");
        Err(Denied { rule: Rule::Root, message: format!("{url} is not a file below {roots}") })
    }

    /// Checks that a run may act in a frame of this origin, serialised as browsers do.
    ///
    /// # Errors
    /// [`Denied`] with rule `origin` or `privateAddress`; opaque origins are never allowed.
    pub fn acting_in(&self, origin: &str) -> Result<(), Denied> {
        if origin == "null" {
            return Err(Denied { rule: Rule::Origin, message: "an opaque origin is not an allowed origin".into() });
        }
        self.navigation(origin).map(drop)
    }

    /// The consent that this action needs on `origin`, given its risk.
    ///
    /// Everything that the policy's `confirm` names is always confirmed, even in an operator's plan. Declaring a
    /// directory or a command is consent to use it. Everything else is decided by [`Policy::consent`].
    #[must_use]
    pub fn consent_to(
        &self,
        action: &Action,
        class: RiskClass,
        origin: &str,
        author: Author,
        estimate: Option<RiskLevel>,
    ) -> Consent {
        let kind = action.kind();
        let url = Url::parse(origin).ok();
        let is_confirmed = |url: &Url| self.confirmed.iter().any(|rule| rule.covers(url));
        if self.confirmed_verbs.contains(&kind) || (class != RiskClass::Read && url.as_ref().is_some_and(is_confirmed))
        {
            return self.unless_granted(class, origin, url.as_ref());
        }
        if matches!(kind, ActionKind::WriteFile | ActionKind::Shell) {
            return Consent::Granted;
        }
        self.consent(class, origin, author, estimate)
    }

    /// Returns `true` if steps are judged by their confidence, which is measured when an answer is complete.
    #[must_use]
    pub const fn asks_by_confidence(&self) -> bool {
        self.ask_below.is_some()
    }

    /// The risk of a step as its planner estimates it: high if it states less confidence than the policy asks for.
    #[must_use]
    pub(crate) fn estimate(&self, step: &Step) -> Option<RiskLevel> {
        let is_doubtful = step.confidence.zip(self.ask_below).is_some_and(|(stated, least)| stated < least);
        if is_doubtful { Some(RiskLevel::High) } else { step.estimated_risk }
    }

    /// The consent that entering text of another origin needs on `origin`: it counts as sending.
    #[must_use]
    pub fn consent_to_carry(&self, origin: &str) -> Consent {
        self.unless_granted(RiskClass::Send, origin, Url::parse(origin).ok().as_ref())
    }

    fn unless_granted(&self, class: RiskClass, origin: &str, url: Option<&Url>) -> Consent {
        let granted =
            url.is_some_and(|url| self.grants.iter().any(|grant| grant.class == class && grant.origin.covers(url)));
        if granted {
            return Consent::Granted;
        }
        let class = if class == RiskClass::Read { RiskClass::Write } else { class };
        Consent::Ask { grant: format!("{}@{origin}", class.as_str()) }
    }

    /// The consent that a step of this risk needs on `origin`.
    ///
    /// An operator's plan is consent to its steps. For other plans the profile decides, grants apply, and the planner's own
    /// estimate can only make it stricter.
    #[must_use]
    pub fn consent(&self, class: RiskClass, origin: &str, author: Author, estimate: Option<RiskLevel>) -> Consent {
        if author == Author::Operator {
            return Consent::Granted;
        }
        let url = Url::parse(origin).ok();
        let on_start = self.start.as_ref().zip(url.as_ref()).is_some_and(|(start, url)| start.origin() == url.origin());
        let asks = match self.profile {
            Profile::Assisted => true,
            Profile::SemiAuto => class != RiskClass::Read,
            Profile::Auto | Profile::Unleashed => {
                let beyond_login = class.needs_consent() && !(class == RiskClass::Credential && on_start);
                beyond_login || estimate == Some(RiskLevel::High)
            }
        };
        if asks { self.unless_granted(class, origin, url.as_ref()) } else { Consent::Granted }
    }
}

fn not_open(url: &Url) -> Denied {
    let (rule, what) = if is_private(url) {
        (Rule::PrivateAddress, "a public address, and not allowed by name")
    } else {
        (Rule::Origin, "an allowed origin")
    };
    Denied { rule, message: format!("{} is not {what}", url.origin().ascii_serialization()) }
}

fn parse_url(text: &str) -> Result<Url, Denied> {
    let url = Url::parse(text).map_err(|error| Denied {
        rule: Rule::Unparsable,
        message: format!("`{}` is not an absolute URL ({error})", excerpt(text, 200)),
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Denied { rule: Rule::UserInfo, message: "expected a URL without user name and password".into() });
    }
    if url.host_str().is_some_and(|host| host.contains('*')) {
        // Chrome escapes it and would go to another host.
        return Err(Denied { rule: Rule::Unparsable, message: "expected a host without `*`".into() });
    }
    match url.scheme() {
        "http" | "https" => Ok(url),
        "about" if url.as_str() == "about:blank" => Ok(url),
        "file" => Ok(url),
        scheme => Err(Denied {
            rule: Rule::Scheme,
            message: format!(
                "{}: URLs are not allowed, only http, https and about:blank",
                scheme.chars().take(40).collect::<String>()
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        Policy::default().starting_at("https://shop.test/cart").unwrap().allowing("*.cdn.test").unwrap()
    }

    fn rule(url: &str) -> Option<Rule> {
        policy().navigation(url).err().map(|denied| denied.rule)
    }

    #[test]
    fn the_start_origin_and_named_subdomains_are_open() {
        assert_eq!(rule("https://shop.test/x"), None);
        assert_eq!(rule("HTTPS://ＳＨＯＰ.test/"), None);
        assert_eq!(rule("https://img.cdn.test/a.png"), None);
    }

    #[test]
    fn look_alikes_other_ports_and_other_schemes_are_refused() {
        for url in [
            "https://shop.test.evil.test/",
            "https://evilshop.test/",
            "https://cdn.test/",
            "https://xcdn.test/",
            "https://shop.test:8443/",
            "http://shop.test/",
            "https:\\\\evil.test",
            "https://shоp.test/",
        ] {
            assert_eq!(rule(url), Some(Rule::Origin), "{url}");
        }
        assert_eq!(rule("https://shop.test@evil.test/"), Some(Rule::UserInfo));
        for url in
            ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "chrome://settings", "about:srcdoc"]
        {
            assert_eq!(rule(url), Some(Rule::Scheme), "{url}");
        }
    }

    #[test]
    fn pages_in_files_are_open_below_a_declared_directory_only() {
        let policy = Policy::default().opening_pages("/srv/pages").starting_at("file:///srv/pages/a.html").unwrap();
        let rule = |url: &str| policy.navigation(url).err().map(|denied| denied.rule);
        assert_eq!(rule("file:///srv/pages/sub/b.html?x#y"), None);
        for url in
            ["file:///etc/passwd", "file:///srv/pages/../x", "file:///srv/pages/..%2Fx", "file://host/srv/pages/a"]
        {
            assert_eq!(rule(url), Some(Rule::Root), "{url}");
        }
        assert_eq!(rule("https://shop.test/"), Some(Rule::Origin));
        assert!(policy.fetching("file:///srv/pages/a.html").is_err());
        assert!(policy.allowing("shop.test").unwrap().navigation("https://shop.test/").is_ok());
    }

    #[test]
    fn private_addresses_are_refused_in_every_spelling() {
        for url in [
            "http://2130706433/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://127.1/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
            "http://%31%32%37.0.0.1/",
            "http://①②⑦.0.0.1/",
            "http://169.254.169.254/",
            "http://[fd00:ec2::254]/",
            "http://metadata.google.internal/",
            "http://localhost:3000/",
        ] {
            assert_eq!(rule(url), Some(Rule::PrivateAddress), "{url}");
        }
        let named = Policy::default().starting_at("http://127.0.0.1:8000/").unwrap();
        assert!(named.navigation("http://127.0.0.1:8000/login").is_ok());
        assert!(named.navigation("http://127.0.0.1:8001/").is_err());
    }

    #[test]
    fn public_names_do_not_lead_to_private_addresses() {
        let policy = Policy::default().starting_at("http://localhost:8000/").unwrap().allowing("shop.test").unwrap();
        let reach = |policy: &Policy, url: &str, ip: &str| {
            policy.reaching(&Url::parse(url).unwrap(), ip.parse().unwrap()).map_err(|denied| denied.rule)
        };
        assert_eq!(reach(&policy, "https://shop.test/", "93.184.216.34"), Ok(()));
        assert_eq!(reach(&policy, "http://localhost:8000/", "127.0.0.1"), Ok(()));
        assert_eq!(reach(&policy, "https://shop.test/", "10.0.0.5"), Err(Rule::PrivateAddress));
        assert_eq!(reach(&policy, "https://shop.test/", "::ffff:127.0.0.1"), Err(Rule::PrivateAddress));
        let named = policy.allowing("https://10.0.0.5").unwrap();
        assert_eq!(reach(&named, "https://shop.test/", "10.0.0.5"), Ok(()));
        let metadata = named.allowing("http://169.254.169.254").unwrap();
        assert_eq!(reach(&metadata, "http://169.254.169.254/", "169.254.169.254"), Err(Rule::PrivateAddress));
    }

    #[test]
    fn money_asks_for_the_grant_that_would_suffice() {
        let asked = policy().consent(RiskClass::Money, "https://shop.test", Author::Model, None);
        assert_eq!(asked, Consent::Ask { grant: "money@https://shop.test".into() });
        let granted = policy().granting("money@https://shop.test").unwrap();
        assert_eq!(granted.consent(RiskClass::Money, "https://shop.test", Author::Model, None), Consent::Granted);
        assert_eq!(policy().consent(RiskClass::Credential, "https://shop.test", Author::Model, None), Consent::Granted);
        assert_ne!(
            policy().consent(RiskClass::Credential, "https://a.cdn.test", Author::Model, None),
            Consent::Granted
        );
    }

    #[test]
    fn entries_that_are_not_origins_are_errors() {
        for entry in ["", "https://", "a b", "*", "shop.*.test", "https://shop.test/path", "ftp://x", "user@host"] {
            assert!(OriginRule::parse(entry, "https").is_err(), "{entry}");
        }
    }
}
