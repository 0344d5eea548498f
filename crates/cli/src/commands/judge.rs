//! `cuebook judge`: judges the conditions of a run again, from its log.

use cuebook_datalayer::{Judgement, Run, RunDir, judge};
use cuebook_grammar::report::ErrorCode;
use serde::Serialize;

use crate::args::JudgeArgs;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::progress;
use crate::text::{plain, with_sources};

/// Document that `--json` prints for a judged run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdicts {
    agrees: bool,
    judged: u64,
    committed: usize,
    open: usize,
    torn: bool,
    differences: Vec<String>,
}

pub(crate) fn run(args: &JudgeArgs, output: Output) -> Exit {
    let run = match RunDir::open(&args.run).and_then(|dir| Run::read(&dir.log_path())) {
        Ok(run) => run,
        Err(error) => return Refusal::invalid(ErrorCode::Unreadable, with_sources(&error)).print(output),
    };
    let judgement = judge(&run);
    let verdicts = verdicts(&run, &judgement);
    if output.json {
        print_json(&verdicts);
    } else {
        if verdicts.torn {
            progress::say("note: the last entry of the log is incomplete");
        }
        let differences = verdicts.differences.len();
        print_text(&format!("{} verdicts judged again, {differences} differ\n", verdicts.judged));
        for difference in &verdicts.differences {
            print_text(&format!("  {difference}\n"));
        }
    }
    if verdicts.agrees { Exit::OK } else { Exit::FAILED }
}

fn verdicts(run: &Run, judgement: &Judgement) -> Verdicts {
    let line = |difference: &cuebook_datalayer::Difference| {
        plain(&format!("stepIndex {} attempt {}: {:?}", difference.step_index, difference.attempt, difference.what))
    };
    Verdicts {
        agrees: judgement.agrees(),
        judged: judgement.judged,
        committed: run.steps.len(),
        open: run.open.len(),
        torn: run.torn.is_some(),
        differences: judgement.differences.iter().map(line).collect(),
    }
}
