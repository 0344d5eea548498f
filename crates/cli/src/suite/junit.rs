//! Results as JUnit XML, as CI servers read it.
//!
//! A failure is a `failure` with its code as the type; the failed attempts of a flaky case are `flakyFailure`s. Texts of
//! pages are escaped, and characters that XML cannot hold are left out.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};

use super::results::{CaseResult, Results, Status};
use crate::commands::replay::divergence_in_words;

/// Writes the results as one JUnit document with a single test suite.
pub(crate) fn junit(results: &Results) -> Result<String, quick_junit::SerializeError> {
    let mut suite = TestSuite::new(&results.suite);
    suite.add_test_cases(results.cases.iter().map(|case| test_case(&results.suite, case)));
    suite.set_time(results.cases.iter().map(time).sum());
    let mut report = Report::new("cuebook");
    report.add_test_suite(suite);
    report.to_string()
}

fn time(case: &CaseResult) -> Duration {
    Duration::from_millis(case.duration_ms)
}

fn test_case(suite: &str, case: &CaseResult) -> TestCase {
    let reruns = |failures: &[cuebook_grammar::report::RunError]| -> Vec<TestRerun> {
        let rerun = |error: &cuebook_grammar::report::RunError| {
            let mut rerun = TestRerun::new(NonSuccessKind::Failure);
            rerun.set_type(error.code.to_string()).set_message(&error.message);
            rerun
        };
        failures.iter().map(rerun).collect()
    };
    let status = match (case.status, case.failures.split_last()) {
        (Status::Failed, last) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            if let Some((error, before)) = last {
                status.set_type(error.code.to_string()).set_message(&error.message);
                status.add_reruns(reruns(before));
            }
            status
        }
        _ => {
            let mut status = TestCaseStatus::success();
            status.add_reruns(reruns(&case.failures));
            status
        }
    };
    let mut written = TestCase::new(&case.name, status);
    written.set_classname(suite).set_time(time(case));
    let priority = serde_json::to_value(case.priority).ok();
    let priority = priority.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    for (name, value) in
        [("priority", priority.as_str()), ("steps", case.how.as_str()), ("status", case.status.as_str())]
    {
        written.add_property(Property::new(name, value));
    }
    let drift: Vec<String> = case.drift.iter().map(divergence_in_words).collect();
    if !drift.is_empty() {
        written.set_system_out(drift.join("\n"));
    }
    written
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::outcome::Cause;
    use cuebook_grammar::report::RunError;

    use super::*;
    use crate::suite::How;

    fn case(name: &str, status: Status, failures: usize) -> CaseResult {
        CaseResult {
            name: name.to_owned(),
            priority: Default::default(),
            status,
            how: How::Replayed,
            attempts: 1,
            duration_ms: 1500,
            failures: (0..failures).map(|_| RunError::new(Cause::Covered, "<b> & \u{1b}[31m \u{0} ]]>")).collect(),
            drift: Vec::new(),
            differences: Vec::new(),
            recording: None,
            runs: Vec::new(),
            first_run: None,
            held: Vec::new(),
            steps: None,
        }
    }

    #[test]
    fn each_case_is_counted_as_it_ended_and_hostile_text_stays_text() {
        let mut results = Results::of("shop".to_owned());
        results.add(case("a <script>", Status::Passed, 0));
        results.add(case("b", Status::Flaky, 1));
        results.add(case("c", Status::Failed, 2));
        let xml = junit(&results).unwrap();
        let read = Report::deserialize_from_str(&xml).unwrap();
        assert_eq!((read.tests, read.failures, read.errors), (3, 1, 0), "{xml}");
        assert_eq!(xml.matches("<flakyFailure").count(), 1, "{xml}");
        assert!(!xml.contains("<script>") && !xml.contains('\u{1b}') && !xml.contains('\u{0}'), "{xml}");
        assert_eq!(read.test_suites[0].test_cases[0].name.as_str(), "a <script>");
        assert_eq!(results.in_words(), "3 cases: 1 passed, 1 flaky, 1 failed");
    }
}
