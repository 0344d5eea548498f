//! The verbs, one file for each kind.

mod check;
mod clean_html;
mod click;
mod dialog;
mod enter_text;
mod evaluate;
mod extract;
mod list_box;
mod navigate;
mod pointer;
mod press;
mod screenshot;
mod scroll;
mod select;
mod set_value;
mod tab;
mod upload;
mod wait;

use cuebook_cdp::DialogAnswer;
use cuebook_grammar::action::Action;
use cuebook_grammar::facts::Toggle;
use cuebook_grammar::id::PageId;
use cuebook_grammar::seam::{ArtifactSink, SecretSource};
use cuebook_grammar::wire::Millis;
use serde_json::Value;

use crate::actionability::Ready;
use crate::error::ExecutorError;
use crate::hit_target::Sealed;
use crate::run::{Entered, Resolved, Run};
use crate::stage::{Release, Sent, Target};
use crate::stop::{Part, Stop};

/// What an action brought. Made of what it went through: there is none for a target that was not found.
#[derive(Debug)]
pub(crate) struct Acted {
    /// What it read.
    pub(crate) data: Option<Value>,
    /// The tab that is current from now on.
    pub(crate) page: Option<PageId>,
    /// What the field made of its input.
    pub(crate) entered: Option<Entered>,
    /// The target saw the beginning only.
    pub(crate) sealed: Option<Sealed>,
}

impl Acted {
    const fn new() -> Self {
        Self { data: None, page: None, entered: None, sealed: None }
    }

    /// By this gesture or script, which ends here.
    pub(crate) fn by<D: Release>(sent: Sent<D>) -> Self {
        drop(sent);
        Self::new()
    }

    /// The target was as wanted already, or was only to be looked at.
    pub(crate) const fn nothing(_: &Target<Resolved>) -> Self {
        Self::new()
    }

    /// The verb is about no element: it opened a page, answered a dialog, read or waited.
    pub(crate) const fn untargeted() -> Self {
        Self::new()
    }
}

/// Input by a script of ours, which holds nothing.
pub(crate) struct Script;

impl Release for Script {
    fn release(&mut self) {}
}

impl Run<'_> {
    /// A script of ours is about to act on a target.
    pub(crate) async fn script(&mut self, ready: &Ready) -> Part<Sent<Script>> {
        let watching = self.watch_for(ready).await?;
        self.about_to_send()?;
        Ok(ready.arm(watching, Script).send(&mut self.ledger))
    }
}

impl Run<'_> {
    /// Carries the action out.
    pub(crate) async fn act<S: SecretSource, A: ArtifactSink>(&mut self, secrets: &S, artifacts: &A) -> Part<Acted> {
        let step = self.step;
        match step.action() {
            Action::Navigate(action) => self.navigate(action).await.map(|()| Acted::untargeted()),
            Action::GoBack(_) => self.travel(-1).await.map(|()| Acted::untargeted()),
            Action::GoForward(_) => self.travel(1).await.map(|()| Acted::untargeted()),
            Action::Reload(_) => self.reload().await.map(|()| Acted::untargeted()),
            Action::WaitFor(_) => self.wait_for().await.map(|()| Acted::untargeted()),
            Action::WaitForIdle(action) => self.wait_for_idle(action).await,
            Action::Scroll(action) => self.scroll(action).await,
            Action::SwitchTab(action) => self.switch_tab(action.tab).await,
            Action::CloseTab(action) => self.close_tab(action.tab).await,
            Action::Click(action) => self.click(action).await,
            Action::Clear(_) => self.clear().await,
            Action::SelectText(_) => self.select_text().await,
            Action::Type(action) => self.type_text(action, secrets).await,
            Action::SetValue(action) => self.set_value(action, secrets).await,
            Action::Press(action) => self.press(action).await,
            Action::Select(action) => self.select(action).await,
            Action::Check(action) => self.set_checked(action, Toggle::True).await,
            Action::Uncheck(action) => self.set_checked(action, Toggle::False).await,
            Action::Hover(action) => self.hover(action).await,
            Action::Focus(_) => self.focus().await,
            Action::DragTo(action) => self.drag_to(action).await,
            Action::Upload(action) => self.upload(action).await,
            Action::LongPress(action) => self.long_press(action).await,
            Action::ClickPoint(action) => self.click_point(action.point, action.viewport).await,
            Action::DragPoints(action) => {
                let took = action.duration_ms.map(Millis::duration);
                self.drag_points(action.from, action.to, action.viewport, took).await
            }
            Action::LongPressPoint(action) => {
                let hold = action.duration_ms.map(Millis::duration);
                self.long_press_point(action.point, action.viewport, hold).await
            }
            Action::Extract(action) => self.extract(&action.query).await,
            Action::Evaluate(action) => self.evaluate(action).await,
            Action::GetDom(action) => self.get_dom(action.target_ref.as_ref()).await,
            Action::Screenshot(action) => self.screenshot(action, artifacts).await,
            Action::Assert(action) => self.assert(&action.condition).await.map(|()| Acted::untargeted()),
            Action::AcceptDialog(action) => {
                let text = action.text.as_ref().map(|text| text.as_str().to_owned());
                self.answer_dialog(&DialogAnswer::Accept { text }).await.map(|()| Acted::untargeted())
            }
            Action::DismissDialog(_) => self.answer_dialog(&DialogAnswer::Dismiss).await.map(|()| Acted::untargeted()),
            other => Err(Stop::Broken(ExecutorError::NotOurs { kind: other.kind() })),
        }
    }
}
