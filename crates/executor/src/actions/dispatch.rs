//! From an action to the verb that carries it out.

use cuebook_cdp::DialogAnswer;
use cuebook_grammar::action::Action;
use cuebook_grammar::facts::Toggle;
use cuebook_grammar::seam::BoxFuture;
use cuebook_grammar::seam::boxed::{BoxedArtifactSink, BoxedSecretSource};

use crate::actions::ActResult;
use crate::error::ExecutorError;
use crate::run::StepRun;
use crate::stop::{Part, Stop};

/// The future of a verb, made in a frame of its own. Made in the caller's, those of all verbs would lie on the stack side by
/// side in a build without optimisation: half a megabyte.
fn verb<'a, T, F: Future<Output = Part<T>> + Send + 'a>(make: impl FnOnce() -> F) -> BoxFuture<'a, Part<T>> {
    Box::pin(make())
}

impl StepRun<'_> {
    /// Carries the action out.
    pub(crate) async fn act(
        &mut self,
        secrets: &dyn BoxedSecretSource,
        artifacts: &dyn BoxedArtifactSink,
    ) -> Part<ActResult> {
        let step = self.step;
        let done = match step.action() {
            Action::Navigate(action) => verb(|| self.navigate(action)).await,
            Action::GoBack(_) => verb(|| self.travel(-1)).await,
            Action::GoForward(_) => verb(|| self.travel(1)).await,
            Action::Reload(_) => verb(|| self.reload()).await,
            Action::WaitFor(_) => verb(|| self.wait_for()).await,
            Action::Assert(action) => verb(|| self.assert(&action.condition)).await,
            Action::AcceptDialog(action) => {
                let text = action.text.as_ref().map(|text| text.as_str().to_owned());
                let answer = DialogAnswer::Accept { text };
                verb(|| self.answer_dialog(&answer)).await
            }
            Action::DismissDialog(_) => verb(|| self.answer_dialog(&DialogAnswer::Dismiss)).await,
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
            Action::WaitForIdle(action) => verb(|| self.wait_for_idle(action)).await,
            Action::Scroll(action) => verb(|| self.scroll(action)).await,
            Action::ScrollUntil(action) => verb(|| self.scroll_until(action)).await,
            Action::SwitchTab(action) => verb(|| self.switch_tab(action.tab)).await,
            Action::CloseTab(action) => verb(|| self.close_tab(action.tab)).await,
            Action::Click(action) => verb(|| self.click(action)).await,
            Action::Clear(_) => verb(|| self.clear()).await,
            Action::SelectText(_) => verb(|| self.select_text()).await,
            Action::Type(action) => verb(|| self.type_text(action, secrets)).await,
            Action::SetValue(action) => verb(|| self.set_value(action, secrets)).await,
            Action::Press(action) => verb(|| self.press(action)).await,
            Action::Select(action) => verb(|| self.select(action)).await,
            Action::Check(action) => verb(|| self.set_checked(action, Toggle::True)).await,
            Action::Uncheck(action) => verb(|| self.set_checked(action, Toggle::False)).await,
            Action::Hover(action) => verb(|| self.hover(action)).await,
            Action::Focus(_) => verb(|| self.focus()).await,
            Action::DragTo(action) => verb(|| self.drag_to(action)).await,
            Action::Upload(action) => verb(|| self.upload(action)).await,
            Action::LongPress(action) => verb(|| self.long_press(action)).await,
            Action::ClickPoint(action) => verb(|| self.click_point(action)).await,
            Action::DragPoints(action) => verb(|| self.drag_points(action)).await,
            Action::LongPressPoint(action) => verb(|| self.long_press_point(action)).await,
            Action::Extract(action) => verb(|| self.extract(&action.query)).await,
            Action::Evaluate(action) => verb(|| self.evaluate(action)).await,
            Action::GetDom(action) => verb(|| self.get_dom(action.target_ref.as_ref())).await,
            Action::Screenshot(action) => verb(|| self.screenshot(action, artifacts)).await,
            other => Err(Stop::Broken(ExecutorError::NotOurs { kind: other.kind() })),
        }
    }
}
