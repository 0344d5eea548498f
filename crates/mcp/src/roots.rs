//! The folders that a client opens to its server: its roots. They narrow what the policy allows, and never widen it.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use cuebook_grammar::render::quoted;
use cuebook_session::{Call, Request};
use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use serde_json::{Map, Value};
use tokio::time::timeout;
use url::Url;

/// Time for a client to name its roots.
const PATIENCE: Duration = Duration::from_secs(10);

/// Arguments of tools that name a file, and whether a plain name is that of one in the folder of the run.
const FILES: [(&str, bool); 3] = [("filename", true), ("bodyFile", true), ("paths", false)];
/// Members of steps that name files, with their verbs.
const MEMBERS: [(&str, &str); 3] = [("upload", "files"), ("readFile", "path"), ("writeFile", "path")];

/// Folders, with symbolic links resolved. The first one is where relative paths begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roots(Vec<PathBuf>);

impl Roots {
    /// The folders among some URIs. Others, and folders that are not there, open nothing.
    pub(crate) fn of<'a>(uris: impl Iterator<Item = &'a str>) -> Self {
        let folder = |uri: &str| Url::parse(uri).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok();
        Self(uris.filter_map(folder).filter_map(|folder| folder.canonicalize().ok()).collect())
    }

    /// The path without symbolic links, if it lies in one of the folders. Its last part need not be there, so that it can be
    /// written.
    ///
    /// # Errors
    /// The folders.
    fn within(&self, path: &str) -> Result<String, String> {
        let refused = |why: &str| {
            let folders: Vec<String> = self.0.iter().map(|root| root.display().to_string()).collect();
            match &folders[..] {
                [] => format!("{} {why}: the client has roots, and lists no folder of this machine", quoted(path, 200)),
                folders => format!("{} {why}: the roots of the client are {}", quoted(path, 200), folders.join(", ")),
            }
        };
        let first = self.0.first().ok_or_else(|| refused("is in no root"))?;
        let whole = first.join(path);
        let resolved = match whole.canonicalize() {
            Ok(resolved) => resolved,
            // Something that leads nowhere is not for writing through.
            Err(_) if whole.symlink_metadata().is_ok() => return Err(refused("cannot be resolved")),
            Err(_) => new_file(&whole).ok_or_else(|| refused("is in no folder that is there"))?,
        };
        if !self.0.iter().any(|root| resolved.starts_with(root)) {
            return Err(refused("is in no root"));
        }
        resolved.into_os_string().into_string().map_err(|_| refused("is not written in Unicode"))
    }

    fn check(&self, value: &mut Value) -> Result<(), String> {
        match value {
            Value::String(path) => *path = self.within(path)?,
            Value::Array(paths) => paths.iter_mut().try_for_each(|path| self.check(path))?,
            // What is neither is refused for what it is.
            _ => {}
        }
        Ok(())
    }

    /// Resolves the files that the arguments of a tool name.
    ///
    /// # Errors
    /// The first one that lies in none of the folders.
    pub(crate) fn check_arguments(&self, arguments: &mut Map<String, Value>) -> Result<(), String> {
        let mut named = arguments.iter_mut().filter(|(name, value)| is_file(name, value));
        named.try_for_each(|(_, value)| self.check(value))
    }

    /// Resolves the files that the steps of a call name.
    ///
    /// # Errors
    /// The first one that lies in none of the folders.
    pub(crate) fn check_request(&self, request: &mut Request) -> Result<(), String> {
        let steps = match &mut request.call {
            Call::Act(steps) | Call::Plan { plan: Value::Array(steps), .. } => steps,
            Call::Plan { plan, .. } => match plan.get_mut("steps").and_then(Value::as_array_mut) {
                Some(steps) => steps,
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        for step in steps.iter_mut().filter_map(Value::as_object_mut) {
            let verb = step.get("type").and_then(Value::as_str).unwrap_or_default();
            let member = MEMBERS.iter().find(|(own, _)| *own == verb).map(|(_, member)| *member);
            if let Some(value) = member.and_then(|member| step.get_mut(member)) {
                self.check(value)?;
            }
        }
        Ok(())
    }
}

/// The roots of a client as they are now; `None` if the client has no such thing. They are asked for each time: files are
/// rarely named, and a notice that they changed may arrive after the call that it came before.
///
/// # Errors
/// Why they are not known. No file may be used then.
pub(crate) async fn of_client(context: &RequestContext<RoleServer>) -> Result<Option<Roots>, String> {
    if context.client_capabilities().and_then(|capabilities| capabilities.roots).is_none() {
        return Ok(None);
    }
    if context.protocol_version().as_ref().is_none_or(ProtocolVersion::has_initialize) {
        return asked(context).await.map(Some);
    }
    Err("the client declares roots, and its version of the protocol has no way to ask for them: no file can be used"
        .to_owned())
}

#[expect(deprecated, reason = "clients have roots until the protocol drops them")]
async fn asked(context: &RequestContext<RoleServer>) -> Result<Roots, String> {
    let unknown = |why: String| format!("the client does not name its roots, so that no file can be used: {why}");
    let listed =
        timeout(PATIENCE, context.peer.list_roots()).await.map_err(|_| unknown("no answer came".to_owned()))?;
    let listed = listed.map_err(|error| unknown(quoted(&error.to_string(), 200)))?;
    Ok(Roots::of(listed.roots.iter().map(|root| root.uri.as_str())))
}

/// Returns `true` if the steps of a call, or the arguments of its tool, name a file.
pub(crate) fn names_files(arguments: &Map<String, Value>, request: &Request) -> bool {
    let is_of_file = |step: &Value| MEMBERS.iter().any(|(verb, _)| step["type"] == *verb);
    let steps = match &request.call {
        Call::Act(steps) | Call::Plan { plan: Value::Array(steps), .. } => steps.as_slice(),
        Call::Plan { plan, .. } => plan["steps"].as_array().map(Vec::as_slice).unwrap_or_default(),
        _ => &[],
    };
    arguments.iter().any(|(name, value)| is_file(name, value)) || steps.iter().any(is_of_file)
}

/// Returns `true` if an argument names a file of the client.
fn is_file(name: &str, value: &Value) -> bool {
    let is_plain = |path: &str| Path::new(path).file_name().is_some_and(|file| file == path);
    FILES.iter().any(|(of, may_be_kept)| *of == name && !(*may_be_kept && value.as_str().is_some_and(is_plain)))
}

/// The path of a file that is not there yet, in a folder that is.
fn new_file(path: &Path) -> Option<PathBuf> {
    let Some(Component::Normal(name)) = path.components().next_back() else { return None };
    Some(path.parent()?.canonicalize().ok()?.join(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(path: &Path) -> String {
        Url::from_file_path(path).unwrap().to_string()
    }

    #[cfg(unix)]
    #[test]
    fn a_path_is_in_a_root_wherever_links_and_dots_lead() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["first/sub", "second", "outside"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        for name in ["first/a.txt", "second/b.txt", "outside/c.txt", "firstly.txt"] {
            std::fs::write(base.join(name), "x").unwrap();
        }
        for (to, from) in [("outside", "first/out"), ("outside/c.txt", "first/c.txt"), ("second/b.txt", "first/b.txt")]
        {
            std::os::unix::fs::symlink(base.join(to), base.join(from)).unwrap();
        }
        std::os::unix::fs::symlink(base.join("outside/new.txt"), base.join("first/dangling.txt")).unwrap();
        let uris = [file(&base.join("first")), "https://a.test/".to_owned(), file(&base.join("second"))];
        let roots = Roots::of(uris.iter().map(String::as_str));
        let whole = |path: &str| base.join(path).display().to_string();
        for (path, leads) in [
            ("a.txt".to_owned(), "first/a.txt"),
            ("./sub/../a.txt".to_owned(), "first/a.txt"),
            ("sub/new.png".to_owned(), "first/sub/new.png"),
            ("b.txt".to_owned(), "second/b.txt"),
            (whole("second/b.txt"), "second/b.txt"),
        ] {
            assert_eq!(roots.within(&path), Ok(whole(leads)), "{path}");
        }
        for path in [
            "../outside/c.txt".to_owned(),
            "c.txt".to_owned(),
            "out/c.txt".to_owned(),
            "out/new.txt".to_owned(),
            "dangling.txt".to_owned(),
            "nowhere/new.txt".to_owned(),
            "sub/../..".to_owned(),
            whole("firstly.txt"),
            whole("outside/c.txt"),
            "/etc/passwd".to_owned(),
            "..".to_owned(),
        ] {
            assert!(roots.within(&path).unwrap_err().contains("the roots of the client are"), "{path}");
        }
        let none = Roots::of(["https://a.test/"].into_iter());
        assert!(none.within("a.txt").unwrap_err().contains("lists no folder"));
    }

    #[test]
    fn every_way_to_name_a_file_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::of([file(folder.path()).as_str()].into_iter());
        let outside = json!("/etc/passwd");
        let upload = json!({ "type": "upload", "targetRef": "c1", "files": [outside] });
        for name in ["filename", "bodyFile", "paths"] {
            let mut arguments = Map::from_iter([(name.to_owned(), outside.clone())]);
            assert!(names_files(&arguments, &Request::of(Call::Look)), "{name}");
            roots.check_arguments(&mut arguments).unwrap_err();
        }
        for call in [
            Call::Act(vec![upload.clone()]),
            Call::Plan { plan: json!([upload]), is_dry: false },
            Call::Plan { plan: json!({ "steps": [{ "type": "readFile", "path": outside }] }), is_dry: false },
            Call::Plan { plan: json!({ "steps": [{ "type": "writeFile", "path": outside }] }), is_dry: false },
        ] {
            let mut request = Request::of(call);
            assert!(names_files(&Map::new(), &request), "{request:?}");
            roots.check_request(&mut request).unwrap_err();
        }
        let click = Request::of(Call::Act(vec![json!({ "type": "click", "targetRef": "c1" })]));
        assert!(!names_files(&Map::new(), &click));
    }
}
