//! Whatever is said and whatever is seen: no panic, an end, and a draft that passes the check.

use proptest::prelude::*;

use super::fixture::{SimulatedRun, ends, page, short};

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

    /// The fixture checks every draft: what is named is a candidate of the page.
    #[test]
    fn every_draft_passes_the_check_and_every_run_ends(task in task(), lines in prop::collection::vec(line(), 0..8)) {
        let lines: Vec<String> = lines.into_iter().map(|line| line.replace(['\u{2028}', '\u{85}', '\u{b}', '\u{c}'], " ")).collect();
        let observation = page(&lines.join("\n"));
        let mut run = SimulatedRun::of(&task);
        let mut ended = false;
        for _ in 0..80 {
            let draft = run.plan(&observation);
            prop_assert!((1..=12).contains(&draft.steps.len()));
            ended = ends(&draft);
            if ended { break; }
            run.did_all(&draft, &observation);
        }
        prop_assert!(ended, "{task:?} on {lines:?} does not end");
    }

    /// A word that nothing on the page accounts for is in a question or a refusal, wherever it stands.
    #[test]
    fn no_run_finishes_with_a_word_left(at in 0..9_usize, word in "zq[a-z]{3,8}") {
        let observation = page("textbox \"Name\"\n checkbox \"News\"\n combobox \"Size\" options=Small|Large\n button \"Save\"");
        let mut words: Vec<&str> = "Select Large , tick News , press Save".split(' ').collect();
        words.insert(at.min(words.len()), &word);
        let task = words.join(" ");
        let mut run = SimulatedRun::of(&task);
        let mut said = String::new();
        for _ in 0..20 {
            let draft = run.plan(&observation);
            said = short(&draft);
            if ends(&draft) { break; }
            run.did_all(&draft, &observation);
        }
        prop_assert!(said.starts_with("askUser") || said.starts_with("fail"), "{task}: {said}");
    }
}
