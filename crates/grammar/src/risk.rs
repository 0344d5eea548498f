//! Risk of a step, judged by what was observed, never by what the model claims.
//!
//! Structure first: the method and the address of the request that an activation makes, and the fields that it sends.
//! Then words: those of the control, of what describes it, and, where it only agrees, of the dialog that asks. It errs
//! towards asking: a word too many costs a confirmation, a word too few costs an order.

#[cfg(test)]
mod tests;
mod words;

use percent_encoding::percent_decode_str;
use url::Url;

use crate::action::{Action, Press, Select, TypeText};
use crate::candidate::{Activation, Candidate, ControlKind, SelectOption, SentField};
use crate::effect::EffectClass;
use crate::facts::DialogKind;
use crate::geometry::{Point, ViewportSize};
use crate::observation::{Challenge, Observation};
use crate::role::Role;
use crate::secret::WireText;
use crate::wire::words;

words! {
    /// Possible cost of a step, as grants name it.
    pub enum RiskClass {
        /// Changes nothing; a grant cannot name it.
        Read = "read",
        /// Makes a change that can be undone.
        Write = "write",
        /// Enters or submits a secret, such as a password or a one-time code.
        Credential = "credential",
        /// Sends something to other people, or lets them follow the person.
        Send = "send",
        /// Costs money, such as an order or a payment.
        Money = "money",
        /// Cannot be undone, such as a deletion.
        Destructive = "destructive",
    }
}

/// The least that an effect risks.
impl From<EffectClass> for RiskClass {
    fn from(effect: EffectClass) -> Self {
        match effect {
            EffectClass::ReadOnly => Self::Read,
            EffectClass::Idempotent | EffectClass::Reversible => Self::Write,
            EffectClass::Destructive => Self::Destructive,
        }
    }
}

impl RiskClass {
    /// Reads a class as a grant writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|class| class.as_str() == text)
    }

    /// Returns `true` if a person is asked unless it was granted.
    #[must_use]
    pub const fn needs_consent(self) -> bool {
        matches!(self, Self::Credential | Self::Send | Self::Money | Self::Destructive)
    }

    /// The corresponding effect class.
    #[must_use]
    pub const fn effect(self) -> EffectClass {
        match self {
            Self::Read => EffectClass::ReadOnly,
            Self::Write | Self::Credential => EffectClass::Reversible,
            Self::Send | Self::Money | Self::Destructive => EffectClass::Destructive,
        }
    }
}

/// Returns the risk of an action on these targets of a page, the main one first.
#[must_use]
pub fn of(action: &Action, targets: &[&Candidate], page: &Observation) -> RiskClass {
    let is_wall = page.sketch.challenge == Some(Challenge::CookieWall);
    match targets.first().filter(|target| clicks(action, target)) {
        Some(target) if is_wall && words::agrees(&target.name) => of_action(action, targets, page).max(RiskClass::Send),
        // What would be grave elsewhere, such as `Reject all`, is what a person without an opinion wants here.
        Some(target) if (is_wall || is_of_cookies(target)) && words::refuses(&target.name) => of_structure(target),
        _ => of_action(action, targets, page),
    }
}

/// Parts of the names of widgets that ask for consent to cookies, and the word itself where it is another one.
const COOKIES: [&str; 24] = [
    "cookie",
    "onetrust",
    "didomi",
    "usercentrics",
    "qc-cmp",
    "cmpbox",
    "fc-consent",
    "sp_message",
    "gdpr",
    "dsgvo",
    "rgpd",
    "kakor",
    "evästee",
    "informasjonskaps",
    "sütik",
    "çerez",
    "ciastecz",
    "クッキー",
    "쿠키",
    "คุกกี้",
    "עוגיות",
    "ملفات تعريف",
    "कुकी",
    "куки",
];

/// Returns `true` for what lies in a box whose markup is named for cookies, or in a dialog that asks about them. Not for
/// what stands below such a heading: that page may be about them.
fn is_of_cookies(target: &Candidate) -> bool {
    let says = |text: &str| {
        let text = text.to_lowercase();
        COOKIES.iter().any(|part| text.contains(part))
    };
    let path = &target.fingerprint.path;
    says(path) || (path.contains("dialog") && target.surroundings.as_deref().is_some_and(says))
}

/// Returns the reason for the risk of an action on a target, in words that follow "counts as money": `for its name`.
/// `None` if no single thing is the reason.
#[must_use]
pub fn why(action: &Action, target: Option<&Candidate>, class: RiskClass) -> Option<&'static str> {
    if class == RiskClass::Credential && action.credential().is_some() {
        return Some("because it enters a secret");
    }
    let target = target?;
    let is = |text: Option<&str>| {
        let said = |text: &str| words::class_of_sentences(text) == Some(class) || words::class_of(text) == Some(class);
        let costs = |text: &str| class == RiskClass::Money && words::has_amount(text);
        let ends = |text: &str| class == RiskClass::Destructive && words::is_final(text);
        text.is_some_and(|text| said(text) || costs(text) || ends(text))
    };
    let sends = |field: &SentField| match field {
        SentField::Card => class == RiskClass::Money,
        SentField::Password | SentField::OneTimeCode => class == RiskClass::Credential,
    };
    let leads = |url: Option<&str>| class == RiskClass::Destructive && url.is_some_and(|url| of_path(url) == class);
    let activation = &target.activation;
    let deletes = class == RiskClass::Destructive && activation.method.as_deref() == Some("DELETE");
    let icon = activation.icon.as_deref().and_then(words::class_of_icon) == Some(class);
    [
        (class == RiskClass::Credential && target.is_sensitive(), "because the field is for a secret"),
        (is(Some(&target.name)), "for its name"),
        (icon, "for its icon"),
        (is(target.description.as_deref()), "for its description"),
        (activation.sends.iter().any(sends), "for what its form sends"),
        (deletes, "because it sends DELETE"),
        (leads(activation.url.as_deref()) || leads(target.destination.as_deref()), "for where it leads"),
        (is(activation.button.as_deref()), "for the button of its form"),
        (is(target.surroundings.as_deref()), "for what stands around it"),
    ]
    .into_iter()
    .find_map(|(holds, words)| holds.then_some(words))
}

/// Returns `true` if an action activates this candidate and the candidate holds no value.
fn clicks(action: &Action, target: &Candidate) -> bool {
    let activates = match action {
        Action::Press(press) => activates(&press.keys),
        _ => matches!(action, Action::Click(_) | Action::LongPress(_)),
    };
    activates && target.control == ControlKind::Plain
}

fn of_action(action: &Action, targets: &[&Candidate], page: &Observation) -> RiskClass {
    let target = targets.first().copied();
    match action {
        Action::Click(_) | Action::LongPress(_) | Action::Check(_) | Action::Uncheck(_) => {
            target.map_or(RiskClass::Write, of_click)
        }
        // Pages act on both, as on a click.
        Action::Hover(_) | Action::Focus(_) => {
            target.map(of_click).filter(|class| class.needs_consent()).unwrap_or(RiskClass::Read)
        }
        Action::DragTo(_) => {
            let takes_away = targets.iter().skip(1).any(|end| words::has_bin(&end.name));
            let dropped = if takes_away { RiskClass::Destructive } else { RiskClass::Write };
            targets.iter().map(|end| of_click(end)).max().unwrap_or(RiskClass::Write).max(dropped)
        }
        Action::Press(press) => of_press(press, target, page),
        Action::Type(_) | Action::SetValue(_) => {
            let is_secret = action.credential().is_some() || target.is_some_and(Candidate::is_sensitive);
            let class = if is_secret { RiskClass::Credential } else { RiskClass::Write };
            class.max(target.filter(|target| submits(action, target)).map_or(RiskClass::Read, of_submission))
        }
        Action::Select(select) => target.map_or(RiskClass::Write, |target| of_options(target, select)),
        // An alert has one answer, which decides nothing.
        Action::AcceptDialog(_) if page.dialog.as_ref().is_some_and(|it| it.kind == DialogKind::Alert) => {
            RiskClass::Read
        }
        Action::ClickPoint(click) => of_points(&[click.point], click.viewport, page),
        Action::LongPressPoint(press) => of_points(&[press.point], press.viewport, page),
        Action::DragPoints(drag) => of_points(&[drag.from, drag.to], drag.viewport, page),
        Action::Fetch(fetch) if fetch.is_reading() => RiskClass::Read,
        Action::Fetch(_) => RiskClass::Send,
        _ => action.kind().meta().effect.into(),
    }
}

/// Returns the risk of pressing at points of a picture of this size: that of the candidates which lie there. The executor
/// judges the words of what else lies there ([`of_words_at`]).
fn of_points(points: &[Point], seen_in: Option<ViewportSize>, page: &Observation) -> RiskClass {
    let placed = |point: &Point| match seen_in {
        Some(seen) => Point {
            x: point.x * page.viewport.width / f64::from(seen.width.max(1)),
            y: point.y * page.viewport.height / f64::from(seen.height.max(1)),
        },
        None => *point,
    };
    // A drag ends in a bin that takes what is dropped.
    let takes_away = |end: &Candidate| points.len() > 1 && words::has_bin(&end.name);
    let of = |under: &Candidate| if takes_away(under) { RiskClass::Destructive } else { of_click(under) };
    points.iter().filter_map(|point| page.under(placed(point))).map(of).max().unwrap_or(RiskClass::Write)
}

/// Returns the risk of pressing what is named so and is no candidate: a text that its page listens for. The text is the
/// page's, at most a few words.
#[must_use]
pub fn of_words_at(text: &str) -> RiskClass {
    let final_words = || words::is_final(text).then_some(RiskClass::Destructive);
    words::class_of(text).or_else(|| words::class_of_sentences(text)).or_else(final_words).unwrap_or(RiskClass::Write)
}

/// Returns `true` if an action presses at a point of a picture, and not on a candidate.
#[must_use]
pub const fn points(action: &Action) -> bool {
    matches!(action, Action::ClickPoint(_) | Action::LongPressPoint(_) | Action::DragPoints(_))
}

/// Returns `true` if an action goes to whatever has the focus and activates it there.
#[must_use]
pub fn follows_focus(action: &Action) -> bool {
    matches!(action, Action::Press(press) if press.target_ref.is_none() && activates(&press.keys))
}

/// Returns `true` if the risk of an action depends on the page although it names no target.
#[must_use]
pub fn needs_page(action: &Action) -> bool {
    match action {
        Action::AcceptDialog(_) => true,
        Action::Press(press) => follows_focus(action) || press.keys.contains("Alt"),
        _ => points(action),
    }
}

/// Returns the risk of keys: of an access key, the click that it stands for; of Enter and Space, what they activate.
fn of_press(press: &Press, target: Option<&Candidate>, page: &Observation) -> RiskClass {
    let keys = press.keys.as_str();
    let pressed = keys.contains("Alt").then(|| key_of(keys).to_lowercase());
    let has_key = |candidate: &&Candidate| {
        let keys = candidate.activation.access_key.as_deref().unwrap_or_default();
        keys.split_whitespace().any(|key| pressed.as_deref() == Some(&*key.to_lowercase()))
    };
    let by_access_key = page.candidates.iter().filter(has_key).map(of_click).max();
    let by_focus = target.filter(|_| activates(keys)).map(|target| of_key(target, keys));
    by_access_key.into_iter().chain(by_focus).max().unwrap_or(RiskClass::Write)
}

/// Returns `true` if text has a line break that acts as Enter, since it is typed into a field of one line.
#[must_use]
pub fn submits(action: &Action, target: &Candidate) -> bool {
    let is_line = !matches!(target.control, ControlKind::Multiline | ControlKind::RichText);
    is_line && matches!(action, Action::Type(typed) if has_line_break(typed))
}

fn has_line_break(typed: &TypeText) -> bool {
    typed.text.as_ref().and_then(WireText::clear).is_some_and(|text| text.contains(['\n', '\r']))
}

/// Returns `true` if a key activates what has the focus, with whatever modifiers.
fn activates(keys: &str) -> bool {
    matches!(key_of(keys), "Enter" | "Return" | "NumpadEnter" | "Space" | "Spacebar" | " ")
}

fn key_of(keys: &str) -> &str {
    keys.rsplit_once('+').map_or(keys, |(_, key)| if key.is_empty() { "+" } else { key })
}

/// Returns the risk of a key for the candidate that has the focus.
fn of_key(target: &Candidate, keys: &str) -> RiskClass {
    let is_space = matches!(key_of(keys), "Space" | "Spacebar" | " ");
    match target.control {
        ControlKind::Plain | ControlKind::File => of_click(target),
        ControlKind::Check if is_space => of_click(target),
        ControlKind::Multiline | ControlKind::RichText if !keys.contains('+') => RiskClass::Write,
        _ if is_space => RiskClass::Write,
        _ => of_submission(target),
    }
}

/// Returns the risk of the form of a field when Enter is pressed in it.
fn of_submission(field: &Candidate) -> RiskClass {
    let button = field.activation.button.as_deref().map_or(RiskClass::Write, |name| of_words(name, field));
    button.max(of_request(&field.activation))
}

/// Returns the risk of choosing an option: pages act on the choice.
fn of_options(target: &Candidate, select: &Select) -> RiskClass {
    let is_chosen = |at: usize, option: &SelectOption| {
        select.option.choices.iter().any(|choice| choice.means(at, Some(&option.value), &option.label))
    };
    let chosen = target.options.iter().enumerate().filter(|(at, option)| is_chosen(*at, option));
    chosen.filter_map(|(_, option)| words::class_of(&option.label)).max().unwrap_or(RiskClass::Write)
}

/// Returns the risk of clicking a candidate.
#[must_use]
pub fn of_click(target: &Candidate) -> RiskClass {
    // A click on a field only enters it.
    let is_entered = target.role.is_text_entry() || !matches!(target.control, ControlKind::Plain | ControlKind::Check);
    let words = if is_entered { RiskClass::Write } else { of_words(&target.name, target) };
    words.max(of_structure(target))
}

/// Returns the risk of the requests of a candidate: that of its activation, and its destination.
fn of_structure(target: &Candidate) -> RiskClass {
    of_request(&target.activation).max(target.destination.as_deref().map_or(RiskClass::Write, of_path))
}

/// Returns the risk of a control of this name, where it stands.
fn of_words(name: &str, control: &Candidate) -> RiskClass {
    let is_button = control.role == Role::Button;
    let costs = |text: &str| words::has_amount(text).then_some(RiskClass::Money);
    let said = |text: &str| {
        let is_final = || words::is_final(text).then_some(RiskClass::Destructive);
        words::class_of_sentences(text).or_else(|| costs(text)).or_else(is_final)
    };
    let described = || control.description.as_deref().and_then(said);
    let asked = || {
        let around = control.surroundings.as_deref()?;
        let is_agreed = words::agrees(name);
        let is_final = is_button && !words::refuses(name) && words::is_final(around);
        let class = is_agreed.then(|| said(around)).flatten();
        class.or_else(|| is_final.then_some(RiskClass::Destructive))
    };
    // A link or a tab of this name shows what was thrown away.
    let throws = || {
        (matches!(control.role, Role::Button | Role::MenuItem) && words::is_bin(name)).then_some(RiskClass::Destructive)
    };
    let own = words::class_of(name).or_else(throws).or_else(|| costs(name).filter(|_| is_button));
    let pictured = || control.activation.icon.as_deref().and_then(words::class_of_icon);
    own.or_else(pictured).or_else(described).or_else(asked).unwrap_or(RiskClass::Write)
}

/// Returns the risk of the request of an activation, by its method, its address and the fields that it sends.
fn of_request(activation: &Activation) -> RiskClass {
    let is_deletion = activation.method.as_deref() == Some("DELETE");
    let sent = |field: &SentField| match field {
        SentField::Card => RiskClass::Money,
        SentField::Password | SentField::OneTimeCode => RiskClass::Credential,
    };
    let sends = activation.sends.iter().map(sent).max().unwrap_or(RiskClass::Write);
    let path = activation.url.as_deref().map_or(RiskClass::Write, of_sent_path);
    if is_deletion { RiskClass::Destructive } else { sends.max(path) }
}

/// Returns the risk of a path by itself: `/items/5/delete`. Only the last word counts, since `/orders/5` is an address.
fn of_path(url: &str) -> RiskClass {
    let last = path_words(url).pop().unwrap_or_default();
    let ends_session = matches!(&*last.to_lowercase(), "logout" | "log out" | "logoff" | "signout" | "sign out");
    let is_destructive = ends_session || words::class_of(&last) == Some(RiskClass::Destructive);
    if is_destructive { RiskClass::Destructive } else { RiskClass::Write }
}

/// Returns the risk of a path to which a form is sent: `/pay`, `/pay/5`. As the address of a link, `/checkout` is only
/// a page. The method does not matter: many pages send the form themselves and state none.
fn of_sent_path(url: &str) -> RiskClass {
    let is_id = |word: &String| word.chars().any(|c| c.is_ascii_digit());
    let words = path_words(url);
    let verb = words.iter().rfind(|word| !is_id(word)).and_then(|verb| words::class_of(verb));
    verb.unwrap_or(RiskClass::Write).max(of_path(url))
}

/// The parts of a path as words, without endings such as `.php`.
fn path_words(url: &str) -> Vec<String> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    let parts = url.path_segments().into_iter().flatten().filter(|part| !part.is_empty());
    let word = |part: &str| {
        let part = part.split_once(';').map_or(part, |(part, _)| part);
        let name = part.rsplit_once('.').map_or(part, |(name, _)| name);
        percent_decode_str(name).decode_utf8_lossy().replace(['-', '_'], " ")
    };
    parts.map(word).collect()
}
