//! Files in file fields.

use std::path::{Path, PathBuf};

use cuebook_grammar::action::Upload;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use serde::Serialize;

use crate::run::Run;
use crate::script::Field;
use crate::stop::{Part, call_stop, probe_stop};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SetFiles {
    files: Vec<PathBuf>,
    backend_node_id: i64,
}

impl Run<'_> {
    /// Chooses files below the declared directories.
    pub(crate) async fn upload(&mut self, action: &Upload) -> Part<()> {
        let mut files = Vec::new();
        for file in &action.files {
            files.push(granted(file.as_str(), &self.options.upload_roots)?);
        }
        let main = self.resolve_main(self.ready_by()).await?;
        let world = self.world_of(&main.key, Stage::Act).await?;
        let field: Option<Field> =
            self.ask(&world, "(cb, id) => cb.act.field(id)", &[main.key.node.into()], Stage::Act).await?;
        let Some(field) = field else {
            return Err(self.act_failure(
                Cause::TargetStale,
                "expected the target in the document, saw it removed".to_owned(),
                None,
            ));
        };
        let takes: Option<bool> =
            self.ask(&world, "(cb, id) => cb.act.takesFiles(id)", &[field.id.into()], Stage::Act).await?;
        match takes {
            None => {
                return Err(self.act_failure(
                    Cause::InvalidArgument,
                    "expected a file field, saw none".to_owned(),
                    None,
                ));
            }
            Some(false) if files.len() > 1 => {
                let message = format!("expected one file for a field that takes one, saw {}", files.len());
                return Err(self.act_failure(Cause::InvalidArgument, message, None));
            }
            Some(_) => {}
        }
        self.arm(None).await?;
        let (asked, until) = (world.clone(), self.until);
        let nodes = self
            .race(Stage::Act, async move { asked.nodes("(cb, id) => [cb.byId(id)]", &[field.id.into()], until).await })
            .await?
            .map_err(|error| probe_stop(error, Stage::Act))?;
        let Some(backend_node_id) = nodes.first().copied() else {
            return Err(self.act_failure(
                Cause::TargetStale,
                "expected the target in the document, saw it removed".to_owned(),
                None,
            ));
        };
        self.about_to_send()?;
        let session = world.world().session().clone();
        let call = session.call_raw("DOM.setFileInputFiles", SetFiles { files, backend_node_id }, self.until);
        self.race(Stage::Act, call).await?.map(drop).map_err(|error| call_stop(error, Stage::Act))
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
    let name: String = file.chars().take(200).collect();
    let message = format!("expected a file below a declared directory, saw {name:?}");
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
