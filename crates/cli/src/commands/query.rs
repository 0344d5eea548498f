//! `cuebook query`: SQL over the tables of recorded runs, with DataFusion.
//!
//! Invariant: a query reads the tables and nothing else; it can neither write nor name a file.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::Path;

use cuebook_export::{Format, Options, Redaction, export};
use cuebook_grammar::report::ErrorCode;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::WriterBuilder;
use datafusion::arrow::json::writer::JsonArray;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::args::QueryArgs;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::exporting::{self, in_temporary_folder, refusal};
use crate::progress;
use crate::text::{plain, with_sources};

const TABLES: [&str; 6] = ["runs", "steps", "conditions", "candidates", "requests", "planning"];
/// Characters of a cell of a printed table.
const CELL: usize = 80;

/// Result of a query.
struct QueryOutput {
    schema: SchemaRef,
    rows: Vec<RecordBatch>,
    /// Problems with parts of the runs that could not be read.
    unreadable: Vec<String>,
}

pub(crate) async fn run(args: QueryArgs, output: Output) -> Exit {
    let is_csv = args.csv;
    let printed = answered(args, output).await.and_then(|answer| {
        for problem in &answer.unreadable {
            progress::say(&format!("note: {}", plain(problem)));
        }
        let printed = if output.json {
            json(&answer).map(|rows| print_json(&rows))
        } else if is_csv {
            csv(&answer).map(|text| print_text(&text))
        } else {
            table(&answer).map(|text| print_text(&text))
        };
        printed.map_err(|error| unusable(&error.into()))
    });
    match printed {
        Ok(()) => Exit::OK,
        Err(refusal) => refusal.print(output),
    }
}

async fn answered(args: QueryArgs, output: Output) -> Result<QueryOutput, Refusal> {
    let runs = exporting::runs(&args.runs)?;
    in_temporary_folder(move |folder| {
        let out = args.tables.unwrap_or(folder);
        let options =
            Options { format: Format::Parquet, redaction: Redaction::None, out, rewrite: false, pictures: false };
        let exported = export(&runs, &options, &mut exporting::progress(output)).map_err(refusal)?;
        if exported.runs == 0 {
            let problems = exported.unreadable.join("; ");
            return Err(Refusal::invalid(ErrorCode::Unreadable, format!("no run can be read: {}", plain(&problems))));
        }
        let (schema, rows) = Handle::current().block_on(select(&options.out, &args.sql)).map_err(|e| unusable(&e))?;
        Ok(QueryOutput { schema, rows, unreadable: exported.unreadable })
    })
    .await
}

fn unusable(error: &DataFusionError) -> Refusal {
    Refusal::invalid(ErrorCode::Usage, with_sources(error))
}

async fn select(tables: &Path, sql: &str) -> Result<(SchemaRef, Vec<RecordBatch>), DataFusionError> {
    let context = SessionContext::new_with_config(SessionConfig::new().with_information_schema(true));
    for table in TABLES {
        let partition = ("date".to_owned(), DataType::Utf8);
        let options = ParquetReadOptions::default().table_partition_cols(vec![partition]);
        // With the separator at its end it is a folder.
        let folder = format!("{}/", tables.join(table).display());
        context.register_parquet(table, folder, options).await?;
    }
    let reading = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    let rows = context.sql_with_options(sql, reading).await?;
    let schema = rows.schema().inner().clone();
    Ok((schema, rows.collect().await?))
}

/// An object a row; absent values are null.
fn json(answer: &QueryOutput) -> Result<Value, ArrowError> {
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(Vec::new());
    writer.write_batches(&answer.rows.iter().collect::<Vec<_>>())?;
    writer.finish()?;
    serde_json::from_slice(&writer.into_inner()).map_err(|error| ArrowError::JsonError(error.to_string()))
}

/// The texts of all cells, row by row.
fn cells(answer: &QueryOutput, mut row: impl FnMut(Vec<String>)) -> Result<(), ArrowError> {
    let format = FormatOptions::default();
    for batch in &answer.rows {
        let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &format));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        for at in 0..batch.num_rows() {
            let cells = columns.iter().map(|column| column.value(at).try_to_string());
            row(cells.collect::<Result<_, _>>()?);
        }
    }
    Ok(())
}

fn names(answer: &QueryOutput) -> Vec<String> {
    answer.schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// By RFC 4180. On a terminal, control characters are escaped.
fn csv(answer: &QueryOutput) -> Result<String, ArrowError> {
    let is_terminal = std::io::stdout().is_terminal();
    let mut out = String::new();
    let mut line = |cells: Vec<String>| {
        let cell = |cell: String| {
            let cell = if is_terminal { plain(&cell) } else { cell };
            if cell.contains(['"', ',', '\r', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
        };
        out.push_str(&cells.into_iter().map(cell).collect::<Vec<_>>().join(","));
        out.push_str("\r\n");
    };
    line(names(answer));
    cells(answer, line)?;
    Ok(out)
}

fn table(answer: &QueryOutput) -> Result<String, ArrowError> {
    let shown = |cell: &String| {
        let cell = plain(cell);
        let is_long = cell.chars().count() > CELL;
        if is_long { cell.chars().take(CELL - 1).chain(['…']).collect() } else { cell }
    };
    let mut rows = vec![names(answer).iter().map(shown).collect::<Vec<String>>()];
    cells(answer, |cells| rows.push(cells.iter().map(shown).collect()))?;
    let width = |column: usize| rows.iter().filter_map(|row| Some(row.get(column)?.chars().count())).max();
    let fields = answer.schema.fields();
    let widths: Vec<usize> = (0..fields.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for (at, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for ((cell, width), field) in row.iter().zip(&widths).zip(fields) {
            // Writing to a string cannot fail.
            let _ = if field.data_type().is_numeric() {
                write!(line, "{cell:>width$}  ")
            } else {
                write!(line, "{cell:<width$}  ")
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
        if at == 0 {
            let _ = writeln!(out, "{}", widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("  "));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{Int64Array, StringArray};
    use datafusion::arrow::datatypes::{Field, Schema};

    use super::*;

    fn answer() -> QueryOutput {
        let schema = Arc::new(Schema::new(vec![
            Field::new("name", DataType::Utf8, true),
            Field::new("steps", DataType::Int64, true),
        ]));
        let names = StringArray::from(vec![Some("a\u{1b}[31m, \"b\"\n"), None, Some(&*"x".repeat(100))]);
        let steps = Int64Array::from(vec![Some(12), Some(3), None]);
        let rows = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(names), Arc::new(steps)]).unwrap();
        QueryOutput { schema, rows: vec![rows], unreadable: Vec::new() }
    }

    #[test]
    fn a_table_is_aligned_and_moves_no_cursor() {
        let text = table(&answer()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[2].starts_with("a\\u{1b}[31m, \"b\"\\n") && lines[2].ends_with("   12"), "{text}");
        assert!(lines[3].trim() == "3" && lines[4].ends_with('…'), "{text}");
        assert_eq!(lines[1].chars().count(), lines[2].chars().count(), "{text}");
    }

    #[test]
    fn csv_quotes_what_would_break_a_line_and_json_keeps_nulls() {
        let text = csv(&answer()).unwrap();
        assert!(text.starts_with("name,steps\r\n\"a\u{1b}[31m, \"\"b\"\"\n\",12\r\n,3\r\nxxx"), "{text:?}");
        let json = json(&answer()).unwrap();
        assert_eq!((&json[1]["name"], &json[0]["steps"]), (&Value::Null, &Value::from(12)));
    }

    #[tokio::test]
    async fn a_query_can_not_write_or_name_a_file() {
        let context = SessionContext::new();
        let reading = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        for sql in [
            "create external table x stored as csv location '/etc/passwd'",
            "copy (select 1) to '/tmp/x.csv'",
            "set datafusion.execution.batch_size = 1",
            "select * from '/etc/passwd'",
        ] {
            assert!(context.sql_with_options(sql, reading).await.is_err(), "{sql}");
        }
    }
}
