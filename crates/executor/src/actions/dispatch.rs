//! From an action to the verb that carries it out.

use cuebook_cdp::DialogAnswer;
use cuebook_grammar::action::Action;
use cuebook_grammar::facts::Toggle;
use cuebook_grammar::seam::boxed::{BoxedArtifactSink, BoxedSecretSource};
use cuebook_grammar::wire::Millis;

use crate::actions::ActResult;
use crate::error::ExecutorError;
use crate::run::StepRun;
use crate::stop::{Part, Stop};

impl StepRun<'_> {
    /// Carries the action out.
    pub(crate) async fn act(
        &mut self,
        secrets: &dyn BoxedSecretSource,
        artifacts: &dyn BoxedArtifactSink,
    ) -> Part<ActResult> {
        let step = self.step;
        let done = match step.action() {
            Action::Navigate(action) => self.navigate(action).await,
            Action::GoBack(_) => self.travel(-1).await,
            Action::GoForward(_) => self.travel(1).await,
            Action::Reload(_) => self.reload().await,
            Action::WaitFor(_) => self.wait_for().await,
            Action::Assert(action) => self.assert(&action.condition).await,
            Action::AcceptDialog(action) => {
                let text = action.text.as_ref().map(|text| text.as_str().to_owned());
                self.answer_dialog(&DialogAnswer::Accept { text }).await
            }
            Action::DismissDialog(_) => self.answer_dialog(&DialogAnswer::Dismiss).await,
            _ => return self.act_for_result(secrets, artifacts).await,
        };
        done.map(|()| self.untargeted())
    }

    /// Verbs with a target or a result.
    async fn act_for_result(
        &mut self,
        secrets: &dyn BoxedSecretSource,
        artifacts: &dyn BoxedArtifactSink,
    ) -> Part<ActResult> {
        let step = self.step;
        match step.action() {
            Action::WaitForIdle(action) => self.wait_for_idle(action).await,
            Action::Scroll(action) => self.scroll(action).await,
            Action::ScrollUntil(action) => self.scroll_until(action).await,
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
            other => Err(Stop::Broken(ExecutorError::NotOurs { kind: other.kind() })),
        }
    }
}
