//! Costs of grammars for decoders in time, and of pages and plans in tokens.
//!
//! Invariant: times are measured in a program of the grammar's own; here they are put into tables.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tiktoken_rs::o200k_base;
use xtask::chrome;
use xtask::commands::{build_cuebook, cargo, output_of, root, stage};
use xtask::site::Site;

use super::{Arguments, DOCUMENT, document};

/// Pages of the built-in site, small and large.
const PAGES: [&str; 8] = ["login", "dashboard", "shop", "orders", "widgets", "hostile", "grid?n=100", "grid?n=1000"];
const FORMATS: [&str; 3] = ["text", "yaml", "json"];

/// Measures, prints tables, and writes what was asked for.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let out = root().join("target/decoding-bench.json");
    let mut command = cargo(&["bench", "--package=cuebook-decoding", "--bench=decoding", "--", "measure"]);
    stage("grammars for decoders", command.arg(&out))?;
    let text = fs::read_to_string(&out).with_context(|| format!("expected {}", out.display()))?;
    let mut results: Value = serde_json::from_str(&text).context("expected an object of numbers")?;
    results["pages"] = pages()?;
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    results["machine"] = format!("{cores} cores, {} {}", std::env::consts::OS, std::env::consts::ARCH).into();
    let tables = tables(&results);
    println!("\n{tables}");
    if let Some(file) = &arguments.json {
        fs::write(file, format!("{results:#}\n")).with_context(|| format!("cannot write {}", file.display()))?;
    }
    if arguments.docs {
        document::write_block(&root().join(DOCUMENT), "decoding", &tables)?;
    }
    Ok(())
}

/// Returns the cost in tokens of observations of the built-in site's pages.
fn pages() -> Result<Value> {
    let tokenizer = o200k_base().context("cannot read the tokenizer")?;
    let chrome = chrome::find_or_install()?;
    let cuebook = build_cuebook()?;
    let site = Site::start(&cuebook)?;
    let mut pages = Vec::new();
    for page in PAGES {
        let observed = |format: &str, scope: &str| -> Result<String> {
            let mut command = Command::new(&cuebook);
            command.args(["observe", &format!("{}/{page}", site.origin()), "--format", format, "--scope", scope]);
            output_of(command.arg("--chrome").arg(&chrome))
        };
        let json: Value = serde_json::from_str(&observed("json", "view")?).context("an observation is JSON")?;
        let mut row = json!({ "page": page, "candidates": json["candidates"].as_array().map_or(0, Vec::len) });
        for format in FORMATS {
            row[format] = tokenizer.encode_ordinary(&observed(format, "view")?).len().into();
        }
        pages.push(row);
    }
    Ok(pages.into())
}

fn tables(results: &Value) -> String {
    let list = |name: &str| results[name].as_array().cloned().unwrap_or_default();
    let p = |value: &Value| format!("{} / {}", short(&value["p50"]), short(&value["p99"]));
    let sizes = list("sizes");
    let row = |title: &str, cell: &dyn Fn(&Value) -> String| {
        let cells: Vec<String> = sizes.iter().map(cell).collect();
        format!("| {title} | {} |\n", cells.join(" | "))
    };
    let heads: Vec<String> = sizes.iter().map(|size| format!("{} candidates", size["candidates"])).collect();
    let mut out = format!(
        "Vocabulary of {} tokens (o200k_base), {}; release build. Start-up, once for a tokenizer: {} ms.\n\n",
        results["vocabulary"]["tokens"],
        results["machine"].as_str().unwrap_or_default(),
        short(&results["vocabulary"]["startUpMs"]),
    );
    out.push_str(&format!("| p50 / p99 | {} |\n| --- |{}\n", heads.join(" | "), " ---: |".repeat(sizes.len())));
    out.push_str(&row("specialise, ms", &|size| p(&size["specialiseMs"])));
    for (target, title) in [("json-schema", "JSON Schema"), ("openai", "OpenAI"), ("gbnf", "GBNF"), ("lark", "Lark")] {
        out.push_str(&row(&format!("write as {title}, ms"), &|size| p(&size["emitMs"][target])));
    }
    out.push_str(&row("bytes as JSON Schema; GBNF", &|size| {
        format!("{}; {}", size["emitMs"]["json-schema"]["bytes"], size["emitMs"]["gbnf"]["bytes"])
    }));
    out.push_str(&row("write, compile and first mask, ms", &|size| p(&size["compileMs"])));
    out.push_str(&row("the same for a grammar that is kept, µs", &|size| p(&size["knownUs"])));
    out.push_str(&row("a mask, µs", &|size| p(&size["masks"])));
    out.push_str(&row("tokens that are forced, %", &|size| size["masks"]["forcedPercent"].to_string()));
    let streams = &results["streams"];
    out.push_str(&format!(
        "\nSteps out of a stream, nanoseconds a byte: {} with a grammar, {} without.\n",
        short(&streams["planStreamNsPerByte"]),
        short(&streams["unconstrainedNsPerByte"])
    ));
    out.push_str("\n| tokens of plans | plans | JSON | indented JSON | lines | JSON ÷ lines |\n");
    out.push_str("| --- | ---: | ---: | ---: | ---: | ---: |\n");
    for (name, title) in [("written", "as people would want them"), ("sampled", "drawn from the grammar, short texts")]
    {
        let form = &results["forms"][name];
        let count = |name: &str| form[name].as_f64().unwrap_or(0.0);
        out.push_str(&format!(
            "| {title} | {} | {} | {} | {} | {:.2} |\n",
            form["plans"],
            form["jsonTokens"],
            form["indentedJsonTokens"],
            form["lineTokens"],
            count("jsonTokens") / count("lineTokens").max(1.0)
        ));
    }
    out.push_str("\n| tokens of an observation (view) | candidates | text | YAML | JSON |\n");
    out.push_str("| --- | ---: | ---: | ---: | ---: |\n");
    for page in list("pages") {
        let name = page["page"].as_str().unwrap_or_default();
        let cells: Vec<String> = FORMATS.iter().map(|format| page[*format].to_string()).collect();
        out.push_str(&format!("| /{name} | {} | {} |\n", page["candidates"], cells.join(" | ")));
    }
    out
}

/// As many digits as such a number is worth.
fn short(number: &Value) -> String {
    match number.as_f64() {
        Some(number) if number >= 100.0 => format!("{number:.0}"),
        Some(number) => format!("{number:.1}"),
        None => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::tables;

    #[test]
    fn every_number_has_its_place() {
        let times = json!({ "p50": 1.5, "p99": 2.5, "bytes": 99 });
        let size = json!({
            "candidates": 10, "specialiseMs": times, "compileMs": times, "knownUs": times,
            "emitMs": { "json-schema": times, "openai": times, "gbnf": times, "lark": times },
            "masks": { "p50": 30, "p99": 1800, "forcedPercent": 47 },
        });
        let form = json!({ "plans": 3, "jsonTokens": 150, "indentedJsonTokens": 300, "lineTokens": 60 });
        let text = tables(&json!({
            "vocabulary": { "tokens": 200_019, "startUpMs": 800 }, "machine": "2 cores", "sizes": [size],
            "streams": { "planStreamNsPerByte": 30, "unconstrainedNsPerByte": 10 },
            "forms": { "written": form, "sampled": form },
            "pages": [{ "page": "login", "candidates": 11, "text": 300, "yaml": 400, "json": 3000 }],
        }));
        for line in [
            "| specialise, ms | 1.5 / 2.5 |",
            "| bytes as JSON Schema; GBNF | 99; 99 |",
            "| a mask, µs | 30.0 / 1800 |",
            "| as people would want them | 3 | 150 | 300 | 60 | 2.50 |",
            "| /login | 11 | 300 | 400 | 3000 |",
        ] {
            assert!(text.contains(line), "expected {line} in\n{text}");
        }
        assert!(!text.contains("null"), "{text}");
    }
}
