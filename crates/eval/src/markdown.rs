//! Results as Markdown: what the documentation quotes and a pull request shows.

use std::fmt::Write as _;

use crate::calibration::Calibration;
use crate::compare::Comparison;
use crate::episode::Outcome;
use crate::summary::{EvalResults, Summary, Totals};

/// Unsolved episodes that are listed.
const LISTED: usize = 40;

impl Summary {
    /// A table by suite, and by task below it.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let head = "| | episodes | solved | rate | 95 % | repaired | silently wrong | unwanted | median | p95 |\n\
                    | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |\n";
        let mut out = head.to_owned();
        for (suite, totals) in &self.suites {
            row(&mut out, &format!("**{}**", escaped(suite)), totals);
        }
        if self.suites.len() > 1 {
            row(&mut out, "**all**", &self.totals);
        }
        let unsolved: Vec<_> = self.tasks.iter().filter(|task| task.totals.succeeded < task.totals.episodes).collect();
        if !unsolved.is_empty() {
            out.push_str("\nTasks with an unsolved episode:\n\n");
            out.push_str(head);
            for task in unsolved {
                row(&mut out, &format!("{}/{}", escaped(&task.suite), escaped(&task.task)), &task.totals);
            }
        }
        out.extend(self.calibration.as_ref().map(Calibration::to_markdown));
        if self.totals.broken > 0 {
            let _ = write!(out, "\n{} episodes could not be judged and count nowhere.\n", self.totals.broken);
        }
        out
    }
}

fn row(out: &mut String, name: &str, totals: &Totals) {
    let Totals { episodes, succeeded, repaired, silent_wrong, unwanted, median_ms, p95_ms, .. } = totals;
    let (rate, low, high) = (100.0 * totals.rate, 100.0 * totals.interval.low, 100.0 * totals.interval.high);
    let _ = writeln!(
        out,
        "| {name} | {episodes} | {succeeded} | {rate:.1} % | {low:.1}–{high:.1} % | {repaired} | {silent_wrong} | \
         {unwanted} | {median_ms:.0} ms | {p95_ms:.0} ms |"
    );
}

impl EvalResults {
    /// The unsolved episodes and why, the silently wrong ones first.
    #[must_use]
    pub fn failures_to_markdown(&self) -> String {
        let mut unsolved: Vec<_> = self.episodes.iter().filter(|result| !result.is_solved()).collect();
        unsolved.sort_by_key(|result| (result.outcome != Outcome::SilentlyWrong, result.key()));
        if unsolved.is_empty() {
            return "Every episode was solved.\n".to_owned();
        }
        let mut out = "| episode | outcome | why |\n| --- | --- | --- |\n".to_owned();
        for result in unsolved.iter().take(LISTED) {
            let outcome = match result.outcome {
                Outcome::Solved => "solved",
                Outcome::Failed => "failed",
                Outcome::SilentlyWrong => "**silently wrong**",
                Outcome::Broken => "broken",
            };
            let why = escaped(result.why.as_deref().unwrap_or_default());
            let _ = writeln!(out, "| {} | {outcome} | {why} |", escaped(&result.key().to_string()));
        }
        if unsolved.len() > LISTED {
            let _ = write!(out, "\n{} more.\n", unsolved.len() - LISTED);
        }
        out
    }
}

impl Comparison {
    /// Returns the changes between the two evaluations in Markdown.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let Self { episodes, before, after, gained, lost, probability, silent_wrong, .. } = self;
        let verdict = match (self.is_significant(), after.cmp(before)) {
            (_, std::cmp::Ordering::Equal) => "no difference",
            (false, _) => "within noise",
            (true, std::cmp::Ordering::Less) => "worse",
            (true, std::cmp::Ordering::Greater) => "better",
        };
        let mut out = format!(
            "Solved {before} → {after} of {episodes} episodes that both have ({gained} gained, {lost} lost): \
             {verdict} (p = {probability:.3}).\nSilently wrong {} → {}.\n",
            silent_wrong.0, silent_wrong.1
        );
        if let Some(ratio) = self.median_slowdown {
            let slower = if self.is_slower() { ": slower" } else { "" };
            let _ = writeln!(out, "Median duration × {ratio:.2}{slower} (p = {:.3}).", self.slowdown_probability);
        }
        if self.unpaired > 0 {
            let _ = writeln!(out, "{} episodes have a result in one of them only.", self.unpaired);
        }
        if !self.changes.is_empty() {
            out.push_str("\n| task | episodes | before | after |\n| --- | ---: | ---: | ---: |\n");
            for change in &self.changes {
                let name = format!("{}/{}", escaped(&change.suite), escaped(&change.task));
                let _ = writeln!(out, "| {name} | {} | {} | {} |", change.episodes, change.before, change.after);
            }
        }
        out
    }
}

/// Text that a page may have written, inside of a cell.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '&' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
