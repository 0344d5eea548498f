//! Repairs, secrets, redaction, consent.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::seam::{
    Confirm, ConfirmReply, ConfirmRequest, Redactor, Repair, RepairBudget, RepairCase, RepairPolicy, SecretRefusal,
    SecretScope, SecretSource,
};
use cuebook_grammar::secret::Secret;

use crate::Shared;
use crate::shop::{PASSWORD, PASSWORD_REF, Shop};

/// Observes again once if that may help, then asks for a new plan, then abandons the run.
#[derive(Clone, Debug, Default)]
pub struct FakeRepair {
    causes: Shared<Vec<Cause>>,
}

impl FakeRepair {
    /// The causes of all failures, in order.
    #[must_use]
    pub fn causes(&self) -> Vec<Cause> {
        self.causes.lock().clone()
    }
}

impl RepairPolicy for FakeRepair {
    fn next(&mut self, case: &RepairCase<'_>, _: &Observation, budget: &RepairBudget) -> Repair {
        self.causes.lock().push(case.failure.cause);
        let may_pass = matches!(
            case.failure.cause,
            Cause::TargetNotFound | Cause::NotVisible | Cause::NotStable | Cause::NotInView | Cause::Covered
        );
        if case.failure.cause.is_block() || budget.run_repairs_left == 0 {
            Repair::Abandon
        } else if may_pass && case.attempt == 0 && budget.step_attempts_left > 0 {
            Repair::Reobserve(Scope::View)
        } else if budget.can_replan {
            Repair::Replan
        } else {
            Repair::Abandon
        }
    }
}

/// Secrets in memory, each bound to one origin and to password fields.
#[derive(Clone, Debug, Default)]
pub struct FakeSecrets {
    secrets: BTreeMap<CredentialRef, (String, Secret)>,
    given: Shared<Vec<CredentialRef>>,
}

impl FakeSecrets {
    /// The password of the shop, as [`PASSWORD_REF`].
    #[must_use]
    pub fn of_the_shop() -> Self {
        Self::default().with(PASSWORD_REF, Shop::origin(), PASSWORD)
    }

    /// Adds a secret that is given out only for password fields on `origin`.
    #[must_use]
    pub fn with(mut self, name: &str, origin: &str, secret: &str) -> Self {
        self.secrets.insert(CredentialRef::new(name), (origin.to_owned(), Secret::new(secret)));
        self
    }

    /// The names of the resolved secrets, in order.
    #[must_use]
    pub fn given(&self) -> Vec<CredentialRef> {
        self.given.lock().clone()
    }
}

impl SecretSource for FakeSecrets {
    async fn resolve(
        &self,
        reference: &CredentialRef,
        scope: &SecretScope,
        _: Deadline,
    ) -> Result<Secret, SecretRefusal> {
        let (origin, secret) = self.secrets.get(reference).ok_or_else(|| SecretRefusal::Unknown(reference.clone()))?;
        if scope.origin != *origin || scope.page_origin != *origin || !scope.is_password_field {
            return Err(SecretRefusal::OutOfScope { reference: reference.clone(), origin: scope.origin.clone() });
        }
        self.given.lock().push(reference.clone());
        Ok(secret.clone())
    }
}

/// Replaces known secrets in plain text only.
#[derive(Clone, Debug, Default)]
pub struct FakeRedactor {
    secrets: Shared<Vec<String>>,
}

impl Redactor for FakeRedactor {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.secrets.lock().iter().fold(Cow::Borrowed(text), |text, secret| {
            if text.contains(secret) { Cow::Owned(text.replace(secret, "[redacted]")) } else { text }
        })
    }

    fn learn(&self, secret: &str) {
        if secret.chars().count() >= 4 {
            self.secrets.lock().push(secret.to_owned());
        }
    }
}

/// Returns scripted replies in order, then [`ConfirmReply::Unanswered`].
#[derive(Clone, Debug, Default)]
pub struct FakeConfirm {
    answers: Shared<VecDeque<ConfirmReply>>,
    asked: Shared<Vec<ConfirmRequest>>,
}

impl FakeConfirm {
    /// Gives these replies in order, one for each request.
    pub fn answering(answers: impl IntoIterator<Item = ConfirmReply>) -> Self {
        let confirm = Self::default();
        confirm.answers.lock().extend(answers);
        confirm
    }

    /// The requests, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<ConfirmRequest> {
        self.asked.lock().clone()
    }
}

impl Confirm for FakeConfirm {
    async fn confirm(&mut self, request: &ConfirmRequest, _: Deadline) -> ConfirmReply {
        self.asked.lock().push(request.clone());
        self.answers.lock().pop_front().unwrap_or(ConfirmReply::Unanswered)
    }
}
