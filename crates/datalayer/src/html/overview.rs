//! Many runs as one page: what fails, what is flaky, what is slow.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

use super::shell::{Kind, document};
use super::words::{counted, seconds};
use crate::metrics::{Collector, Mixed, Quantiles, RunLine, Slow};
use crate::run_dir::utc;

/// Units of the chart: one run, and its height.
const BAR: usize = 6;
const HEIGHT: u64 = 60;

/// The page of all runs of a collector. `link` returns the address of a run's own page, if it has one. The latest 500 runs
/// have a line each. `figure` is the SVG of an evaluation that the runs belong to; it is embedded as a picture, so nothing
/// in it can run or load anything.
pub fn overview(collector: &Collector, figure: Option<&str>, link: &dyn Fn(&str) -> Option<String>) -> String {
    let summary = collector.summary();
    let lines: Vec<&RunLine> = collector.runs().collect();
    let run = |id: &str| html! { @match link(id) { Some(href) => a href=(href) { (id) }, None => (id) } };
    let runs = |ids: &[String]| html! { @for (at, id) in ids.iter().enumerate() { @if at > 0 { ", " } (run(id)) } };
    let counts = &summary.runs;
    let header = html! {
        h1 { "Runs: " (counts.ok) " of " (counts.total) " ended well" }
        p.share {
            strong { (share(counts.ok, counts.total)) }
            svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
                rect.whole width="100" height="10" {}
                rect.part width=(counts.ok.saturating_mul(100) / counts.total.max(1)) height="10" {}
            }
        }
        dl.facts {
            @for (name, count) in [("Failed", counts.failed), ("Blocked", counts.blocked), ("Invalid", counts.invalid),
                                   ("Error", counts.error), ("Interrupted", counts.interrupted), ("Cut off", counts.cut_off)] {
                @if count > 0 { dt { (name) } dd { (count) } }
            }
            @if summary.success.duration_ms.count > 0 {
                dt { "A success takes" } dd {
                    (spread(summary.success.duration_ms, seconds))
                    @if summary.success.tokens.max > 0 {
                        "; " (spread(summary.success.tokens, |tokens| counted(tokens, "token")))
                    }
                }
            }
            @if summary.repairs.needed > 0 {
                dt { "Failed at first" } dd {
                    (summary.repairs.needed) " of " (counted(summary.repairs.steps, "step")) ", "
                    (summary.repairs.recovered) " recovered"
                }
            }
        }
    };
    let main = html! {
        @if let Some(svg) = figure {
            h2 { "Episodes" }
            figure {
                img.plot alt="Share of solved episodes with its 95 % interval, by suite and by task that is not always solved"
                    src={ "data:image/svg+xml;base64," (STANDARD.encode(svg)) };
                figcaption { "Solved episodes with the 95 % interval, as the application judged them" }
            }
        }
        (chart(&lines))
        h2 { "What fails" }
        @if summary.failures.is_empty() { p { "No step failed." } } @else {
            (table("Steps that failed", "causes", &["Cause", "Step", "Times", "", "Runs"], html! {
                @let most = summary.failures.first().map_or(1, |first| first.count);
                @for one in &summary.failures { tr {
                    td.long { (one.cause) } td.long { (one.what) } td { (one.count) } td.bar { (bar(one.count, most)) }
                    td.long { (runs(&one.runs)) }
                } }
            }))
        }
        h2 { "What is flaky" }
        @if summary.flaky_targets.is_empty() && summary.flaky_conditions.is_empty() {
            p { "No step and no condition went well in some runs and failed in others." }
        }
        @for (title, mixed) in [("Steps", &summary.flaky_targets), ("Conditions", &summary.flaky_conditions)] {
            @if !mixed.is_empty() { (flaky(title, mixed, &runs)) }
        }
        h2 { "What is slow" }
        @for (title, slow) in [("Steps", &summary.slow_steps), ("Endpoints", &summary.slow_endpoints)] {
            @if !slow.is_empty() { (slowest(title, slow, &run)) }
        }
        @if !summary.verbs.is_empty() {
            h3.block { "Verbs" }
            (table("Verbs", "verbs", &["Verb", "Attempts", "Failed", "p50", "p90", "Longest"], html! {
                @for verb in &summary.verbs { tr {
                    td { (verb.verb) } td { (verb.attempts) } td { (verb.failed) } (durations(verb.duration_ms))
                } }
            }))
        }
        h2 { "Runs" }
        (table("Runs, the latest first", "runs", &["Run", "Result", "Task", "Started", "Took", "Steps", "Tokens"], html! {
            @for line in lines.iter().rev() { tr {
                td.long { (run(&line.run_id)) }
                td class={ "long " (line.result) } {
                    (line.result) @if let Some(cause) = line.cause.as_ref().filter(|_| line.result != "ok") { ": " (cause) }
                }
                td.long { (line.task.as_deref().or(line.title.as_deref()).unwrap_or("A plan")) }
                td { (utc(line.started_ms).replace('T', " ").chars().take(16).collect::<String>()) }
                td { @if let Some(ms) = line.duration_ms { (seconds(ms)) } }
                td { (line.attempts) } td { (line.tokens) }
            } }
        }))
        @if counts.total > lines.len() as u64 { p.faint { "The latest " (lines.len()) " of " (counts.total) " runs." } }
    };
    let title = format!("{} of {} ended well", counts.ok, counted(counts.total, "run"));
    document(&title, Kind::Overview, &html! { header { (header) } main { (main) } })
}

/// A bar for each run: its length is its duration. It goes up from the line if the run ended well, otherwise down. That of
/// a run that was stopped or cut off is hollow.
fn chart(lines: &[&RunLine]) -> Markup {
    // A few bars are not drawn as wide as the page.
    let width = lines.len().max(40) * BAR;
    let height = if lines.iter().all(|line| line.result == "ok") { HEIGHT + 1 } else { 2 * HEIGHT };
    let longest = lines.iter().filter_map(|line| line.duration_ms).max().unwrap_or(0).max(1);
    html! {
        @if lines.len() > 1 {
            figure {
                svg.chart viewBox={ "0 0 " (width) " " (height) } preserveAspectRatio="none" role="img"
                    aria-label="Duration of each run, the oldest first" {
                    @for (at, line) in lines.iter().enumerate() {
                        @let long = (line.duration_ms.unwrap_or(0).saturating_mul(HEIGHT) / longest).max(3);
                        @let top = if line.result == "ok" { HEIGHT - long } else { HEIGHT };
                        rect class=(line.result) x=(at * BAR) y=(top) width=(BAR - 1) height=(long) {
                            title { (line.run_id) ": " (line.result) }
                        }
                    }
                    rect.base y=(HEIGHT) width=(width) height="1" {}
                }
                figcaption {
                    "Duration of each run, the oldest first, up to " (seconds(longest)) ": "
                    span.ok { "▲ ended well" } ", " span.failed { "▼ failed" } ", "
                    span.unknown { "▽ stopped or cut off" }
                }
            }
        }
    }
}

fn flaky(title: &str, mixed: &[Mixed], runs: &dyn Fn(&[String]) -> Markup) -> Markup {
    html! {
        h3.block { (title) }
        (table(title, "flaky", &["What", "Failed", "Of", "", "Runs in which it failed"], html! {
            @for one in mixed { tr {
                td.long { (one.what) } td { (one.failed) } td { (one.ok + one.failed) }
                td.bar { (bar(one.failed, one.ok + one.failed)) } td.long { (runs(&one.runs)) }
            } }
        }))
    }
}

fn slowest(title: &str, slow: &[Slow], run: &dyn Fn(&str) -> Markup) -> Markup {
    html! {
        h3.block { (title) }
        (table(title, "slow", &["What", "Times", "Failed", "p50", "p90", "Longest", "Slowest run"], html! {
            @for one in slow { tr {
                td.long { (one.what) } td { (one.duration_ms.count) } td { (one.failed) } (durations(one.duration_ms))
                td.long { (run(&one.slowest_run)) }
            } }
        }))
    }
}

fn durations(Quantiles { p50, p90, max, .. }: Quantiles) -> Markup {
    html! { @for ms in [p50, p90, max] { td { (seconds(ms)) } } }
}

/// A table. Where there is little room, the style leaves out columns by the `class`.
pub(super) fn table(title: &str, class: &str, columns: &[&str], rows: Markup) -> Markup {
    html! {
        div class={ "table " (class) } tabindex="0" role="group" aria-label=(title) { table {
            thead { tr { @for column in columns {
                @if column.is_empty() { td.bar {} } @else { th scope="col" { (column) } }
            } } }
            tbody { (rows) }
        } }
    }
}

/// A part of a whole. The numbers stand beside it.
fn bar(part: u64, whole: u64) -> Markup {
    let width = part.saturating_mul(100) / whole.max(1);
    html! {
        svg.bar viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" { rect width=(width.max(2)) height="10" {} }
    }
}

fn spread(quantiles: Quantiles, unit: impl Fn(u64) -> String) -> String {
    format!("{} (p50), {} (p90)", unit(quantiles.p50), unit(quantiles.p90))
}

fn share(part: u64, whole: u64) -> String {
    format!("{} %", part.saturating_mul(100) / whole.max(1))
}
