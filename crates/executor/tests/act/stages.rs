//! Orders of acting that do not compile: the stages are values that only the stage before can make.

use std::process::Command;

use crate::lab::environment;

/// Beginning of every case: a target, and devices that count as such.
const START: &str = "#![allow(warnings)]\n#[path = \"STAGE\"] mod stage;\nuse stage::*;\n\
    struct Devices;\nimpl Devices { fn press(&mut self) {} }\nimpl Release for Devices { fn release(&mut self) {} }\n\
    fn main() { let mut looking = Looking::begin(); let target = looking.found(\"button\"); let watching = looking.watch();\n";

/// Returns the compiler's errors for a body after [`START`]; empty if it compiles.
fn errors(body: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("case.rs");
    let stage = concat!(env!("CARGO_MANIFEST_DIR"), "/src/stage.rs");
    std::fs::write(&source, format!("{}{body}\n}}\n", START.replace("STAGE", stage))).unwrap();
    let compiler = environment("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler)
        .args(["--edition=2024", "--crate-type=bin", "--emit=metadata", "--out-dir"])
        .arg(folder.path())
        .arg(source)
        .output()
        .unwrap();
    assert_eq!(output.status.success(), output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn only_the_right_order_of_acting_compiles() {
    let right = "let mut sent = target.ready(1).arm(watching, Devices).send(&mut looking); sent.press(); let judged = sent.end();";
    assert_eq!(errors(right), "");
    for (guarantee, wrong, code) in [
        ("a target is found by looking for it", "Target(\"button\");", "E0423"),
        ("a target that is not ready has no devices", "target.arm(watching, Devices);", "E0599"),
        ("nothing is ready without a target", "Ready { target, spot: 1 };", "E0451"),
        ("nothing is armed before the page is watched", "target.ready(1).arm(Devices);", "E0061"),
        ("watching cannot be claimed", "Watching(());", "E0423"),
        ("nothing is sent before it is armed", "Sent(Devices);", "E0423"),
        ("what is armed has not begun", "target.ready(1).arm(watching, Devices).press();", "E0599"),
        (
            "a gesture is sent once",
            "let armed = target.ready(1).arm(watching, Devices); armed.send(&mut looking); armed.send(&mut looking);",
            "E0382",
        ),
        ("what is armed cannot be judged", "target.ready(1).arm(watching, Devices).end();", "E0599"),
        ("nothing is judged without proof", "Judged(());", "E0423"),
        (
            "a gesture that has ended sends nothing more",
            "let mut sent = Armed::anywhere(watching, Devices).send(&mut looking); sent.end(); sent.press();",
            "E0382",
        ),
        ("what was sent is recorded", "target.ready(1).arm(watching, Devices).send();", "E0061"),
        ("what was sent stays sent", "looking.sent = 0;", "E0616"),
        (
            "only what a guard reports of a gesture undoes it",
            "target.ready(1).arm(watching, Devices).send(&mut looking).end_guarded(&mut looking, &true);",
            "E0277",
        ),
        (
            "a gesture is undone once",
            "struct Whole; impl Guarded for Whole { fn is_stopped_whole(&self) -> bool { true } } \
             let sent = target.ready(1).arm(watching, Devices).send(&mut looking); \
             sent.end_guarded(&mut looking, &Whole); sent.end_guarded(&mut looking, &Whole);",
            "E0382",
        ),
        (
            "devices cannot be kept past the end",
            "let sent = Armed::anywhere(watching, Devices).send(&mut looking); let kept: Devices = *sent;",
            "E0507",
        ),
    ] {
        let errors = errors(wrong);
        assert!(errors.contains(&format!("error[{code}]")), "{guarantee}: {errors}");
    }
}
