//! What a step risks, judged by what was observed, never by what the model claims.
//!
//! The lexicon holds names of controls in a few languages, compared as whole words. It errs towards asking: a word too
//! many costs a confirmation, a word too few costs an order.

use crate::action::{Action, ActionKind};
use crate::candidate::{Candidate, ControlKind};
use crate::effect::EffectClass;
use crate::role::Role;
use crate::wire::words;

words! {
    /// What a step may cost, as grants name it.
    pub enum RiskClass {
        /// Reads.
        Read = "read",
        /// Makes a change that can be undone.
        Write = "write",
        /// Enters a secret.
        Credential = "credential",
        /// Sends something to other people.
        Send = "send",
        /// Costs money.
        Money = "money",
        /// Cannot be undone.
        Destructive = "destructive",
    }
}

impl RiskClass {
    /// Reads a class as a grant writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|class| class.as_str() == text)
    }

    /// Whether a person is asked unless it was granted.
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

const DESTRUCTIVE: &[&str] = &[
    "delete",
    "remove",
    "erase",
    "destroy",
    "wipe",
    "purge",
    "drop",
    "terminate",
    "deactivate",
    "unsubscribe",
    "revoke",
    "reset",
    "discard",
    "löschen",
    "entfernen",
    "supprimer",
    "effacer",
    "eliminar",
    "borrar",
    "elimina",
    "удалить",
    "削除",
    "删除",
];
const MONEY: &[&str] = &[
    "buy",
    "pay",
    "purchase",
    "checkout",
    "order",
    "donate",
    "transfer",
    "withdraw",
    "bid",
    "subscribe",
    "refund",
    "invest",
    "kaufen",
    "bezahlen",
    "bestellen",
    "überweisen",
    "acheter",
    "payer",
    "commander",
    "comprar",
    "pagar",
    "купить",
    "оплатить",
    "購入",
    "购买",
    "支付",
];
const SEND: &[&str] = &[
    "send",
    "publish",
    "post",
    "tweet",
    "share",
    "invite",
    "reply",
    "forward",
    "email",
    "senden",
    "veröffentlichen",
    "teilen",
    "envoyer",
    "publier",
    "enviar",
    "publicar",
    "отправить",
    "送信",
    "发送",
];

/// What an action on a target risks.
///
/// Opening a menu or a link named "Orders" is not ordering: words count on buttons and menu items, not on
/// plain links, tabs and fields.
#[must_use]
pub fn of(action: &Action, target: Option<&Candidate>) -> RiskClass {
    match action.kind() {
        ActionKind::Click | ActionKind::LongPress => target.map_or(RiskClass::Write, of_click),
        ActionKind::Press => match target {
            Some(target) if presses_button(action) => of_click(target),
            _ => RiskClass::Write,
        },
        ActionKind::Type | ActionKind::SetValue => {
            let secret = action.credential().is_some() || target.is_some_and(Candidate::is_sensitive);
            if secret { RiskClass::Credential } else { RiskClass::Write }
        }
        ActionKind::Fetch => match action {
            Action::Fetch(fetch) if fetch.is_reading() => RiskClass::Read,
            _ => RiskClass::Send,
        },
        kind => match kind.meta().effect {
            EffectClass::ReadOnly => RiskClass::Read,
            EffectClass::Idempotent | EffectClass::Reversible => RiskClass::Write,
            EffectClass::Destructive => RiskClass::Destructive,
        },
    }
}

fn presses_button(action: &Action) -> bool {
    matches!(action, Action::Press(press) if matches!(press.keys.as_str(), "Enter" | "Space" | " "))
}

/// What clicking a candidate risks.
#[must_use]
pub fn of_click(target: &Candidate) -> RiskClass {
    let acts = matches!(target.role, Role::Button | Role::MenuItem | Role::Generic | Role::Option)
        && target.control == ControlKind::Plain;
    let opens = target.states.haspopup.is_some() || target.states.expanded.is_some();
    let leads = target.destination.as_deref().is_some_and(|url| !url.starts_with("javascript:"));
    if (!acts && leads) || opens {
        return if leads && of_name(&target.name) == Some(RiskClass::Destructive) {
            RiskClass::Destructive
        } else {
            RiskClass::Write
        };
    }
    if !acts && target.role != Role::Link {
        return RiskClass::Write;
    }
    of_name(&target.name).unwrap_or(RiskClass::Write)
}

fn of_name(name: &str) -> Option<RiskClass> {
    let words: Vec<String> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase).collect();
    let has = |lexicon: &[&str]| {
        words.iter().any(|word| lexicon.contains(&word.as_str()))
            || lexicon.iter().any(|entry| !entry.is_ascii() && name.to_lowercase().contains(entry))
    };
    if has(DESTRUCTIVE) {
        Some(RiskClass::Destructive)
    } else if has(MONEY) {
        Some(RiskClass::Money)
    } else if has(SEND) {
        Some(RiskClass::Send)
    } else {
        None
    }
}
