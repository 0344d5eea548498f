//! Files: in file fields, through choosers, and dropped on zones.

use std::path::{Path, PathBuf};

use cuebook_cdp::protocol::browser_protocol::dom::SetFileInputFilesParams;
use cuebook_cdp::{Delivery, Session};
use cuebook_grammar::action::Upload;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::render::cut;
use serde::{Deserialize, Serialize};

use crate::actions::ActResult;
use crate::hit_target::Gesture;
use crate::input::devices::{DragKind, Place};
use crate::run::StepRun;
use crate::script::{Expected, Need};
use crate::stop::{Part, call_stop, probe_stop};

/// The generated parameters leave out an empty list, which Chrome requires, and take paths as text.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SetFiles {
    files: Vec<PathBuf>,
    backend_node_id: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chooser {
    #[serde(default)]
    mode: String,
    #[serde(default)]
    backend_node_id: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Dragged<'a> {
    items: [(); 0],
    files: &'a [PathBuf],
    /// Bit mask of the allowed drag operations: only copying.
    drag_operations_mask: u8,
}

/// A receiver of files.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Taker {
    id: u64,
    /// `true` if a file field accepts several files; `None` for other elements.
    #[serde(default)]
    multiple: Option<bool>,
    /// A control: it opens a chooser if anything does.
    pressed: bool,
}

const CHOOSER: &str = "Page.fileChooserOpened";

impl StepRun<'_> {
    /// Uploads files below the declared directories through a file field, the chooser that a control opens, or a drop
    /// zone.
    pub(crate) async fn upload(&mut self, action: &Upload) -> Part<ActResult> {
        let mut files = Vec::new();
        for file in &action.files {
            files.push(granted(file.as_str(), &self.options.upload_roots)?);
        }
        let by = self.ready_by();
        loop {
            let main = self.resolve_main(by).await?;
            let world = self.world_of(&main.key, Stage::Act).await?;
            let taker: Option<Taker> =
                self.ask(&world, "(cb, id) => cb.act.taker(id)", &[main.key.node.into()], Stage::Act).await?;
            let Some(taker) = taker else {
                self.main_is_gone()?;
                continue;
            };
            let Some(multiple) = taker.multiple else {
                if !taker.pressed
                    && let Some(acted) = self.drop_files(&files).await?
                {
                    return Ok(acted);
                }
                return self.choose_files(&files).await;
            };
            let field = main.part(|main| main.at(taker.id));
            let ready = match self.ready(&field, Need { enabled: true, ..Need::default() }, by).await {
                Ok(ready) => ready,
                Err(stop) => {
                    self.retry_if_stale(stop)?;
                    continue;
                }
            };
            self.fits(&files, multiple)?;
            self.watch_for(&ready).await?;
            let (asked, until) = (world.clone(), self.until);
            let id = field.key.node;
            let nodes = self
                .race(Stage::Act, async move { asked.nodes("(cb, id) => [cb.byId(id)]", &[id.into()], until).await })
                .await?
                .map_err(|error| probe_stop(error, Stage::Act))?;
            let Some(node) = nodes.first().copied() else {
                self.main_is_gone()?;
                continue;
            };
            let sent = self.script(&ready).await?;
            self.set_files(world.world().session(), files, node).await?;
            return Ok(ActResult::by(sent));
        }
    }

    fn fits(&self, files: &[PathBuf], multiple: bool) -> Part<()> {
        if multiple || files.len() <= 1 {
            return Ok(());
        }
        let message = format!("the field accepts one file, the step names {}", files.len());
        Err(self.act_failure(Cause::InvalidArgument, message).into())
    }

    async fn set_files(&mut self, session: &Session, files: Vec<PathBuf>, backend_node_id: i64) -> Part<()> {
        let params = SetFiles { files, backend_node_id };
        let call = session.call_raw(SetFileInputFilesParams::IDENTIFIER, params, self.until);
        self.race(Stage::Act, call).await?.map(drop).map_err(|error| call_stop(error, Stage::Act))
    }

    /// Clicks the target and answers the chooser that it opens.
    async fn choose_files(&mut self, files: &[PathBuf]) -> Part<ActResult> {
        let mut opened = self.page.session_events(&[CHOOSER], 4);
        let ready = self.ready_main(Need { stand_in: true, ..Need::pointer(None) }).await?;
        let acted = self.click_once(&ready).await?;
        let by = self.within(self.options.post_timeout).min(self.answer_by());
        let waited = self.race(Stage::Act, tokio::time::timeout_at(by.into(), opened.next())).await?;
        let Ok(Some(Delivery::Event(event))) = waited else {
            let message = "the target is no file field, opens no file chooser and accepts no dropped files";
            return Err(self.act_failure(Cause::InvalidArgument, message).into());
        };
        let chooser: Option<Chooser> = event.parse().ok();
        let Some((node, mode)) = chooser.and_then(|chooser| Some((chooser.backend_node_id?, chooser.mode))) else {
            let message =
                "the file chooser belongs to a script and not to a file field, which is not supported".to_owned();
            return Err(self.act_failure(Cause::Unsupported, message).into());
        };
        self.fits(files, mode == "selectMultiple")?;
        self.set_files(event.session(), files.to_vec(), node).await?;
        Ok(acted)
    }

    /// Drags files over the target and drops them; `None` if the page does not accept them. Those are not dropped: the
    /// browser would open them.
    async fn drop_files(&mut self, files: &[PathBuf]) -> Part<Option<ActResult>> {
        let need = Need { enabled: false, within: true, ..Need::pointer(None) };
        let ready = self.ready_main(need).await?;
        let key = ready.target().at(ready.receiver).key;
        let (over, at) = self.receiver_of(&key.frame.as_str().into(), ready.point).await?;
        let over = Place::Process(over);
        let gesture = Gesture::mouse(key.clone(), Expected { types: &["drop"], count: 1 });
        let armed = self.arm(&ready, gesture).await?;
        let mut sent = self.send(armed)?;
        let dragged = Dragged { items: [], files, drag_operations_mask: 1 };
        let data = serde_json::to_value(dragged).unwrap_or_default();
        self.ask::<bool>(&ready.world, "(cb) => cb.act.followDrag()", &[], Stage::Act).await?;
        let moved = async {
            sent.drag(&over, DragKind::Enter, at, &data).await?;
            sent.drag(&over, DragKind::Over, at, &data).await
        };
        let moved = self.race(Stage::Act, moved).await?.map_err(|error| call_stop(error, Stage::Act));
        let asked = "(cb, id) => cb.act.takesDrop(id)";
        let takes: bool = self.ask(&ready.world, asked, &[key.node.into()], Stage::Act).await?;
        moved?;
        if !takes {
            let cancelled = self.race(Stage::Act, sent.drag(&over, DragKind::Cancel, at, &data)).await?;
            return cancelled.map(|()| None).map_err(|error| call_stop(error, Stage::Act));
        }
        let dropped = sent.drag(&over, DragKind::Drop, at, &data);
        let reports = sent.take_reports();
        let (dropped, report, began) = self.deliver(&ready.world, reports, dropped).await?;
        let acted = ActResult::by(sent);
        dropped.map_err(|error| call_stop(error, Stage::Act))?;
        Ok(Some(ActResult { sealed: self.arrived(report.as_ref(), began)?, ..acted }))
    }
}

/// The file, if it lies below one of the roots once all links are followed.
fn granted(file: &str, roots: &[PathBuf]) -> Part<PathBuf> {
    for root in roots {
        let Ok(root) = root.canonicalize() else { continue };
        if let Ok(found) = root.join(Path::new(file)).canonicalize()
            && found.starts_with(&root)
            && found.is_file()
        {
            return Ok(found);
        }
    }
    let name = cut(file, 200);
    let message = format!("{name:?} is no file below a directory that is declared for uploads");
    Err(StepFailure::new(Stage::Act, Cause::PolicyBlocked, message).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_a_declared_directory_are_granted() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        let root = outside.path().join("shared");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("note.txt"), "x").unwrap();
        let roots = [root.clone()];
        assert!(granted("note.txt", &roots).is_ok());
        assert!(granted(root.join("note.txt").to_str().unwrap(), &roots).is_ok());
        assert!(granted("../secret", &roots).is_err());
        assert!(granted("missing", &roots).is_err());
        assert!(granted("note.txt", &[]).is_err());
    }
}
