//! A suite of test cases as one page: how each case ended, why, and what differs from its recording.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_grammar::report::RunError;
use maud::{Markup, html};

use super::details_of;
use super::overview::table;
use super::shell::{Kind, document};
use super::words::{counted, seconds};
use crate::replay::Divergence;

/// Upper bound of the bytes of all pictures in a page.
const PICTURES: usize = 40 << 20;

/// A test case, as the page of its suite shows it.
#[derive(Clone, Debug)]
pub struct SuiteCase<'a> {
    /// Name of the case.
    pub name: &'a str,
    /// Its importance in one word.
    pub priority: &'a str,
    /// The task in words; empty for a plan from a file.
    pub narrative: &'a str,
    /// Conditions that must hold in the end, in words.
    pub expect: Vec<String>,
    /// How it ended, in one word; `passed` is well.
    pub status: &'a str,
    /// Where its steps came from, in one word.
    pub how: &'a str,
    /// Attempts, the last one included.
    pub attempts: u32,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Failures of its attempts.
    pub failures: &'a [RunError],
    /// Drift and other differences from the recording, each with its pictures: recorded, now, and where they differ.
    pub differences: Vec<(&'a Divergence, [Option<Vec<u8>>; 3])>,
    /// Folders of its runs.
    pub runs: Vec<String>,
}

/// The page of a suite, as one file. Costs a copy of the pictures.
#[must_use]
pub fn suite(name: &str, cases: &[SuiteCase<'_>]) -> String {
    let passed = cases.iter().filter(|case| case.status == "passed").count();
    let class = |case: &SuiteCase<'_>| match case.status {
        "passed" => "ok",
        "failed" => "failed",
        _ => "blocked",
    };
    let mut left = PICTURES;
    let content = html! {
        header {
            h1 { "Suite " (name) ": " (passed) " of " (counted(cases.len() as u64, "case")) " passed" }
        }
        main {
            (table("Cases", "cases", &["Case", "Result", "Priority", "Steps", "Attempts", "Took"], html! {
                @for (at, case) in cases.iter().enumerate() { tr {
                    td.long { a href={ "#case-" (at + 1) } { (case.name) } }
                    td class={ "long " (class(case)) } { (case.status) }
                    td { (case.priority) } td { (case.how) } td { (case.attempts) } td { (seconds(case.duration_ms)) }
                } }
            }))
            @for (at, case) in cases.iter().enumerate() {
                h2 id={ "case-" (at + 1) } { (case.name) ": " (case.status) }
                @if !case.narrative.is_empty() { p { (case.narrative) } }
                dl.facts {
                    dt { "Passes if" }
                    dd { @for condition in &case.expect { div { (condition) } } }
                    @for (attempt, error) in case.failures.iter().enumerate() {
                        dt { "Attempt " (attempt + 1) } dd { (error.code.to_string()) ": " (error.message) }
                    }
                    @if !case.runs.is_empty() {
                        dt { "Logs" } dd { @for run in &case.runs { div { code { (run) } } } }
                    }
                }
                @for (divergence, pictures) in &case.differences {
                    p.why { "Step " (divergence.step) " (" (divergence.action) ")" (details_of(divergence)) }
                    (figures(pictures, &mut left))
                }
            }
        }
    };
    document(&format!("{name}: {passed} of {} passed", counted(cases.len() as u64, "case")), Kind::Overview, &content)
}

fn figures(pictures: &[Option<Vec<u8>>; 3], left: &mut usize) -> Markup {
    let mut shown = |picture: &Option<Vec<u8>>| {
        let bytes = picture.as_ref().filter(|bytes| bytes.len() <= *left)?;
        *left -= bytes.len();
        Some(format!("data:image/png;base64,{}", STANDARD.encode(bytes)))
    };
    html! {
        div.pictures {
            @for (title, picture) in ["Recorded", "Now", "Where they differ"].into_iter().zip(pictures) {
                @if let Some(source) = shown(picture) {
                    figure { img.plot alt=(title) src=(source); figcaption { (title) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::DivergenceKind;

    #[test]
    fn a_page_of_a_suite_shows_each_case_and_escapes_what_it_says() {
        let divergence: Divergence = serde_json::from_value(serde_json::json!({
            "step": 2, "action": "click button \"<b>Save\"", "kind": "requests",
            "recorded": ["POST /save 201"], "replayed": ["POST /save 500"],
        }))
        .unwrap();
        assert_eq!(divergence.kind, DivergenceKind::Requests);
        let case = |name, status, differences| SuiteCase {
            name,
            priority: "high",
            narrative: "Save <it>",
            expect: vec!["the URL matches /done".to_owned()],
            status,
            how: "replayed",
            attempts: 1,
            duration_ms: 1_500,
            failures: &[],
            differences,
            runs: vec!["runs/x".to_owned()],
        };
        let pictures = [Some(b"\x89PNG".to_vec()), None, None];
        let page =
            suite("shop", &[case("Buy", "failed", vec![(&divergence, pictures)]), case("Look", "passed", vec![])]);
        for part in
            ["1 of 2 cases passed", "POST /save 500", "&lt;b&gt;Save", "Save &lt;it&gt;", "data:image/png;base64,"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<b>Save") && !page.contains("<script"), "{page}");
    }
}
