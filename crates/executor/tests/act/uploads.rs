//! Files: into file fields, through choosers, and dropped on zones.

use cuebook_executor::ExecutorOptions;
use cuebook_grammar::outcome::Cause;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::lab::{Lab, css_of, failed, lab_with, quick, succeeded};

async fn desk(page: &str) -> (Lab, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "first").unwrap();
    std::fs::write(folder.path().join("b.csv"), "1,2").unwrap();
    let options = ExecutorOptions { upload_roots: vec![folder.path().to_owned()], ..quick() };
    (lab_with(&[("/", page)], options).await, folder)
}

fn upload(css: &str, files: Value) -> (Value, Value) {
    (json!({"it": css_of(css)}), json!({"type": "upload", "targetRef": "it", "files": files}))
}

/// Tells the title which files came.
const TELL: &str = "<script>const tell = async (files) => { const texts = []; for (const f of files) texts.push(f.name + '=' + f.type + '=' + await f.text()); document.title = texts.join('|'); };</script>";

#[tokio::test]
async fn a_multiple_field_accepts_several_files_and_a_single_one_refuses_them() {
    let page = format!(
        "{TELL}<input id=one type=file onchange='tell(files)'><input id=many type=file multiple onchange='tell(files)'>"
    );
    let (mut lab, _folder) = desk(&page).await;
    let (it, mut step) = upload("#many", json!(["a.txt", "b.csv"]));
    step["post"] = json!([{"kind": "titleMatches", "pattern": r"^a\.txt=text/plain=first\|b\.csv=text/csv=1,2$"}]);
    succeeded(lab.step(it, step).await);
    let (it, step) = upload("#one", json!(["a.txt", "b.csv"]));
    let failure = failed(lab.step(it, step).await);
    assert_eq!(failure.cause, Cause::InvalidArgument);
    assert_eq!(lab.eval("one.files.length").await, 0);
}

#[tokio::test]
async fn a_label_and_its_hidden_field_count_as_one() {
    let page = format!("{TELL}<label id=pick>Choose<input type=file hidden onchange='tell(files)'></label>");
    let (mut lab, _folder) = desk(&page).await;
    let (it, mut step) = upload("#pick", json!(["a.txt"]));
    step["post"] = json!([{"kind": "titleMatches", "pattern": "first"}]);
    succeeded(lab.step(it, step).await);
}

#[tokio::test]
async fn a_button_that_opens_a_chooser_gets_the_files() {
    let page = format!(
        "{TELL}<button id=go>Attach</button><script>go.onclick = () => {{ const i = document.createElement('input'); i.type = 'file'; i.onchange = () => tell(i.files); i.click(); }};</script>"
    );
    let (mut lab, _folder) = desk(&page).await;
    let (it, mut step) = upload("#go", json!(["a.txt"]));
    step["post"] = json!([{"kind": "titleMatches", "pattern": "first"}]);
    succeeded(lab.step(it, step).await);
}

#[tokio::test]
async fn a_chooser_for_one_file_gets_no_two_and_a_button_without_one_says_so() {
    let page = "<button id=go>Attach</button><button id=none>Nothing</button><input id=f type=file style='display:none'><script>go.onclick = () => f.click();</script>";
    let (mut lab, _folder) = desk(page).await;
    let (it, step) = upload("#go", json!(["a.txt", "b.csv"]));
    assert_eq!(failed(lab.step(it, step).await).cause, Cause::InvalidArgument);
    assert_eq!(lab.eval("f.files.length").await, 0);
    let (it, step) = upload("#none", json!(["a.txt"]));
    let failure = failed(lab.step(it, step).await);
    assert_eq!(failure.cause, Cause::InvalidArgument);
    assert!(failure.message.contains("chooser"), "{}", failure.message);
}

#[tokio::test]
async fn files_are_dropped_on_a_zone_that_accepts_them() {
    let page = format!(
        "{TELL}<div id=zone style='width:200px;height:100px;background:#eee'>Drop here</div><script>zone.ondragover = (e) => e.preventDefault();\
        zone.ondrop = (e) => {{ e.preventDefault(); tell([...e.dataTransfer.files]); }};</script>"
    );
    let (mut lab, _folder) = desk(&page).await;
    let (it, mut step) = upload("#zone", json!(["a.txt", "b.csv"]));
    step["post"] = json!([{"kind": "titleMatches", "pattern": r"^a\.txt=text/plain=first\|b\.csv=text/csv=1,2$"}]);
    succeeded(lab.step(it, step).await);
}

#[tokio::test]
async fn a_disabled_field_and_a_file_outside_are_refused() {
    let (mut lab, folder) = desk("<input id=f type=file disabled><input id=ok type=file>").await;
    let (it, step) = upload("#f", json!(["a.txt"]));
    assert_eq!(failed(lab.step(it, step).await).cause, Cause::NotEnabled);
    // What the check can tell from a path alone it refuses itself; a link shows only here.
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("link.txt")).unwrap();
    for outside in ["link.txt", "missing.txt"] {
        let (it, step) = upload("#ok", json!([outside]));
        assert_eq!(failed(lab.step(it, step).await).cause, Cause::PolicyBlocked, "{outside}");
    }
    assert_eq!(lab.eval("ok.files.length").await, 0);
}

#[tokio::test]
async fn a_field_in_a_frame_of_another_process_accepts_a_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "first").unwrap();
    let options = ExecutorOptions { upload_roots: vec![folder.path().to_owned()], ..quick() };
    let pages = [
        ("/", "<iframe src='http://localhost:PORT/inner'></iframe>"),
        ("/inner", "<input id=f type=file onchange='note.textContent = files[0].name'><p id=note></p>"),
    ];
    let mut lab = lab_with(&pages, options).await;
    let step = json!({"type": "upload", "targetRef": "f", "files": ["a.txt"], "post": [{"kind": "elementTextEquals", "target": "note", "text": "a.txt"}]});
    succeeded(lab.step(json!({"f": css_of("#f"), "note": css_of("#note")}), step).await);
}
