//! Whatever is said and whatever is seen: no panic, an end, and a draft that passes the check.

use proptest::prelude::*;

use super::fixture::{done, draft, page};

fn word() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "click",
        "press",
        "enter",
        "type",
        "select",
        "check",
        "uncheck",
        "the",
        "a",
        "button",
        "link",
        "\"",
        "'",
        "“",
        "and",
        "then",
        ",",
        ".",
        "in",
        "of",
        "Save",
        "Name",
        "password",
        "log",
        "as",
        "with",
        "all",
        "except",
        "first",
        "last",
        "to",
        "go",
        "search",
        "for",
        "wait",
        "until",
        "verify",
        "that",
        "is",
        "don't",
        "{{x}}",
        "://",
        "{{",
        "by",
        "clicking",
        "both",
        "fields",
        "set",
        ":",
        "=",
        "drag",
        "what",
        "use",
        "scroll",
        "upload",
        "/",
        "close",
        "tab",
        "dialog",
        "«",
        "ß",
        "İ",
        "🦀",
        "c2",
        "3rd",
        "credential",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => "\\PC{0,6}", 1 => any::<String>().prop_map(|text| text.chars().take(6).collect())]
}

fn task() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 0..24).prop_map(|words| words.join(" "))
}

fn line() -> impl Strategy<Value = String> {
    let role = prop::sample::select(vec![
        "button",
        "link",
        "textbox",
        "checkbox",
        "radio",
        "combobox",
        "tab",
        "generic",
        "searchbox",
        "menuitem",
        "listbox",
        "slider",
    ]);
    let name = prop_oneof![word(), Just("Save".to_owned()), Just(String::new()), "[a-zA-Z ]{0,12}"];
    let more = prop::sample::select(vec![
        "",
        "ambiguous",
        "password",
        "checked",
        "disabled",
        "[row: a]",
        "options=A|B|Save",
        "popup",
        "form=f",
        "value=x",
        "to=/a",
    ]);
    (role, name, more)
        .prop_map(|(role, name, more)| format!("{role} \"{}\" {more}", name.replace(['"', '\n', '\r', '[', ']'], " ")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_draft_passes_the_check_and_every_run_ends(task in task(), lines in prop::collection::vec(line(), 0..8)) {
        let lines: Vec<String> = lines.into_iter().map(|line| line.replace(['\u{2028}', '\u{85}', '\u{b}', '\u{c}'], " ")).collect();
        let observation = page(&lines.join("\n"));
        let mut history = Vec::new();
        let mut ended = false;
        for _ in 0..80 {
            // The fixture checks every draft.
            let draft = draft(&task, &observation, &history);
            prop_assert!((1..=6).contains(&draft.steps.len()));
            for step in &draft.steps {
                ended |= matches!(step.action.kind().meta().name, "finish" | "fail" | "askUser");
                history.push(done(step, &observation));
            }
            if ended { break; }
        }
        prop_assert!(ended, "{task:?} on {lines:?} does not end");
    }
}
