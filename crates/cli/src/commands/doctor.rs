//! `cuebook doctor`: judges this machine, part by part, and mends what it can.

mod browser;
mod check;
mod files;

use serde::Serialize;

use crate::args::{DoctorArgs, line};
use crate::config::fields::Table;
use crate::exit::{Exit, Output, print_json, print_text};
use crate::text::plain_lines;
use check::{Check, State};

/// The document of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Diagnosis {
    version: &'static str,
    /// `true` if nothing failed.
    ok: bool,
    checks: Vec<Check>,
}

pub(crate) async fn run(args: DoctorArgs, output: Output) -> Exit {
    let fix = args.fix;
    let mut checks = vec![files::configuration(&Table::of(&line()), fix), browser::found(&args.browser, fix, output)];
    let has_browser =
        args.browser.cdp.is_some() || checks.iter().all(|check| check.name != "browser" || check.is_well());
    checks.push(browser::planner(&args).await);
    checks.push(browser::profiles(fix));
    checks.push(files::sessions(fix));
    checks.extend(args.secrets.as_deref().map(|path| files::secrets(path, fix)));
    checks.push(files::out(&args.out));
    checks.push(files::clients(fix));
    if has_browser && !args.quick {
        checks.push(browser::started(&args.browser).await);
    }
    let ok = checks.iter().all(|check| check.state != State::Fail);
    let is_unusable =
        |check: &Check| check.state == State::Fail && matches!(check.name, "browser" | "profiles" | "start");
    let exit = match ok {
        true => Exit::OK,
        false if checks.iter().any(is_unusable) => Exit::NO_BROWSER,
        false => Exit::FAILED,
    };
    let diagnosis = Diagnosis { version: env!("CARGO_PKG_VERSION"), ok, checks };
    if output.json {
        print_json(&diagnosis);
        return exit;
    }
    for check in &diagnosis.checks {
        let mark = match check.state {
            State::Ok => "ok  ",
            State::Warn => "WARN",
            State::Fail => "FAIL",
        };
        let fixed = if check.is_fixed { " (fixed)" } else { "" };
        print_text(&format!("{mark} {}: {}{fixed}\n", check.name, plain_lines(&check.detail)));
        if let Some(advice) = &check.advice {
            let how = if check.is_fixable { "; --fix does it" } else { "" };
            print_text(&format!("     {}{how}\n", plain_lines(advice)));
        }
    }
    exit
}
