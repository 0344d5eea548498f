//! Vectors of pages and plans in Parquet.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{Array as _, RecordBatch};
use cuebook_datalayer::embedding;
use cuebook_export::{Format, Redaction};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::step::Step;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use crate::sample::{NOON, PERSONAL, Runs, files, login_page};

fn read(out: &Path) -> RecordBatch {
    let names: Vec<String> = files(out).into_keys().filter(|name| name.starts_with("vectors/")).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(out.join(&names[0])).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap();
    let of = |key: &str| metadata.iter().find(|one| one.key == key).and_then(|one| one.value.clone());
    assert_eq!(of("cuebook.vectorDimensions").as_deref(), Some("256"));
    assert_eq!(of("cuebook.vectorFunction").as_deref(), Some(embedding::FUNCTION));
    let mut batches = reader.build().unwrap();
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    batch
}

fn text(rows: &RecordBatch, column: &str, at: usize) -> String {
    rows.column_by_name(column).unwrap().as_string::<i32>().value(at).to_owned()
}

fn vector(rows: &RecordBatch, column: &str, at: usize) -> Vec<f32> {
    let lists = rows.column_by_name(column).unwrap().as_fixed_size_list();
    assert_eq!(lists.value_length(), 256);
    lists.value(at).as_primitive::<Float32Type>().values().to_vec()
}

/// The vector of the plan of the sample, on this page.
fn of_plan(task: &str, page: &Observation, text: &str) -> Vec<f32> {
    let steps = [
        (json!({ "type": "type", "targetRef": "c1", "text": text }), 0),
        (json!({ "type": "click", "targetRef": "c2" }), 1),
    ];
    let step = |(step, at): &(Value, usize)| {
        let step: Step = serde_json::from_value(step.clone()).unwrap();
        (step, &page.candidates[*at].fingerprint)
    };
    let steps: Vec<_> = steps.iter().map(step).collect();
    embedding::plan(task, steps.iter().map(|(step, print)| (step, vec![*print]))).unwrap().to_vec()
}

#[test]
fn a_plan_and_its_page_are_a_row_with_their_vectors() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    runs.login_until("r2", 1, &json!({}), Some("ok"));
    let (out, exported) = runs.export(Format::Vectors, Redaction::None);
    assert_eq!((exported.runs, exported.written.len(), exported.unreadable.len()), (2, 1, 0), "{exported:?}");
    let rows = read(&out);
    assert_eq!(rows.num_rows(), 2, "the repair of r1 is of no plan");
    assert_eq!((text(&rows, "run_id", 0), text(&rows, "run_id", 1)), ("r1".to_owned(), "r2".to_owned()));
    assert_eq!((text(&rows, "outcome", 0), text(&rows, "outcome", 1)), ("failed".to_owned(), "ok".to_owned()));
    assert_eq!(text(&rows, "failure_cause", 0), "postconditionFailed");
    assert!(rows.column_by_name("failure_cause").unwrap().is_null(1));
    assert_eq!(text(&rows, "task", 0), format!("Log {PERSONAL} in"));
    assert_eq!(rows.column_by_name("observation").unwrap().as_primitive::<Int64Type>().value(0), 1);
    let steps: Value = serde_json::from_str(&text(&rows, "steps_json", 0)).unwrap();
    assert_eq!(
        (&steps[0]["type"], &steps[1]["type"], steps.as_array().unwrap().len()),
        (&json!("type"), &json!("click"), 2)
    );
    let page = login_page();
    assert_eq!(vector(&rows, "page_vector", 0), embedding::page(&page).unwrap());
    assert_eq!(vector(&rows, "plan_vector", 0), of_plan(&format!("Log {PERSONAL} in"), &page, PERSONAL));
    let (_, again) = runs.export(Format::Vectors, Redaction::None);
    assert_eq!((again.written.len(), again.kept), (0, 1));
}

#[test]
fn a_strict_export_makes_vectors_of_what_it_shows() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    let (out, _) = runs.export(Format::Vectors, Redaction::Strict);
    let rows = read(&out);
    assert!(!format!("{rows:?}").contains(PERSONAL), "{rows:?}");
    let page = vector(&rows, "page_vector", 0);
    assert_ne!(page, embedding::page(&login_page()).unwrap(), "the names are not in it");
    assert!(page.iter().any(|number| *number != 0.0));
    assert_ne!(vector(&rows, "plan_vector", 0), of_plan(&format!("Log {PERSONAL} in"), &login_page(), PERSONAL));
    assert_eq!((text(&rows, "outcome", 0), text(&rows, "task", 0)), ("failed".to_owned(), "[redacted]".to_owned()));
}
