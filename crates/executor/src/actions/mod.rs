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

use crate::error::ExecutorError;
use crate::run::Run;
use crate::stop::{Part, Stop};

/// What an action brought.
#[derive(Debug, Default)]
pub(crate) struct Acted {
    /// What it read.
    pub(crate) data: Option<Value>,
    /// The tab that is current from now on.
    pub(crate) page: Option<PageId>,
}

impl Run<'_> {
    /// Carries the action out.
    pub(crate) async fn act<S: SecretSource, A: ArtifactSink>(&mut self, secrets: &S, artifacts: &A) -> Part<Acted> {
        let step = self.step;
        match step.action() {
            Action::Navigate(action) => self.navigate(action).await,
            Action::GoBack(_) => self.travel(-1).await,
            Action::GoForward(_) => self.travel(1).await,
            Action::Reload(_) => self.reload().await,
            Action::WaitFor(_) => self.wait_for().await,
            Action::WaitForIdle(action) => return self.wait_for_idle(action).await,
            Action::Scroll(action) => self.scroll(action).await,
            Action::SwitchTab(action) => return self.switch_tab(action.tab).await,
            Action::CloseTab(action) => return self.close_tab(action.tab).await,
            Action::Click(action) => self.click(action).await,
            Action::Clear(_) => self.clear().await,
            Action::SelectText(_) => self.select_text().await,
            Action::Type(action) => self.type_text(action, secrets).await,
            Action::SetValue(action) => self.set_value(action, secrets).await,
            Action::Press(action) => self.press(action).await,
            Action::Select(action) => return self.select(action).await,
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
            Action::Extract(action) => return self.extract(&action.query).await,
            Action::Evaluate(action) => return self.evaluate(action).await,
            Action::GetDom(action) => return self.get_dom(action.target_ref.as_ref()).await,
            Action::Screenshot(action) => return self.screenshot(action, artifacts).await,
            Action::Assert(action) => self.assert(&action.condition).await,
            Action::AcceptDialog(action) => {
                let text = action.text.as_ref().map(|text| text.as_str().to_owned());
                self.answer_dialog(&DialogAnswer::Accept { text }).await
            }
            Action::DismissDialog(_) => self.answer_dialog(&DialogAnswer::Dismiss).await,
            other => return Err(Stop::Broken(ExecutorError::NotOurs { kind: other.kind() })),
        }
        .map(|()| Acted::default())
    }
}
