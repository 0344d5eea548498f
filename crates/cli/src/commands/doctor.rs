//! `cuebook doctor`: whether the browser can be found and started, and which planner a run would have.

use std::time::Instant;

use cuebook::{Containment, environment};
use cuebook_cdp::find_chrome;
use serde::Serialize;

use crate::args::{DoctorArgs, PlannerArg};
use crate::browser::{close_tab, open_tab, search_places};
use crate::engines;
use crate::exit::{Exit, Output, print_json, print_text};
use crate::text::{plain, with_sources};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Diagnosis {
    version: &'static str,
    ok: bool,
    checks: Vec<Check>,
}

pub(crate) async fn run(args: DoctorArgs, output: Output) -> Exit {
    let mut checks = Vec::new();
    let found = find_chrome(&search_places(&args.browser));
    let has_browser = args.browser.cdp.is_some() || found.is_ok();
    match &found {
        Ok(binary) => {
            checks.push(Check { name: "browser", ok: true, detail: plain(&binary.path.display().to_string()) })
        }
        Err(error) => checks.push(Check {
            name: "browser",
            ok: args.browser.cdp.is_some(),
            detail: format!(
                "{}; install Chrome or Chromium (Debian: apt-get install chromium), or set $CHROME",
                with_sources(error)
            ),
        }),
    }
    checks.push(planner(&args).await);
    let root = environment::profile_root();
    let writable = std::fs::create_dir_all(&root).and_then(|()| tempfile_in(&root));
    checks.push(match writable {
        Ok(()) => Check { name: "profiles", ok: true, detail: plain(&root.display().to_string()) },
        Err(error) => {
            Check { name: "profiles", ok: false, detail: format!("{}: {error}", plain(&root.display().to_string())) }
        }
    });
    if has_browser && !args.quick {
        checks.push(start(&args).await);
    }
    let ok = checks.iter().all(|check| check.ok);
    let diagnosis = Diagnosis { version: env!("CARGO_PKG_VERSION"), ok, checks };
    if output.json {
        print_json(&diagnosis);
    } else {
        for check in &diagnosis.checks {
            let mark = if check.ok { "ok  " } else { "FAIL" };
            print_text(&format!("{mark} {}: {}\n", check.name, check.detail));
        }
    }
    if ok { Exit::OK } else { Exit::NO_BROWSER }
}

/// Never a fault: a run without a model has the lexical planner.
async fn planner(args: &DoctorArgs) -> Check {
    let config = engines::settings(&args.planner, &args.engine);
    let detail = match &args.planner {
        PlannerArg::Auto => engines::described(&config.detected().await),
        _ => format!("{}, as configured", config.engine.as_str()),
    };
    Check { name: "planner", ok: true, detail }
}

async fn start(args: &DoctorArgs) -> Check {
    let began = Instant::now();
    match open_tab(&args.browser, Containment::Proxy).await {
        Ok(tab) => {
            let version = plain(&tab.browser.version().product);
            let transport = tab.browser.transport();
            close_tab(tab).await;
            Check {
                name: "start",
                ok: true,
                detail: format!("{version} over {transport:?} in {} ms", began.elapsed().as_millis()),
            }
        }
        Err(refusal) => Check { name: "start", ok: false, detail: refusal.error.message },
    }
}

/// Writes and removes a file in `root`.
fn tempfile_in(root: &std::path::Path) -> std::io::Result<()> {
    let path = root.join(format!("doctor-{}", std::process::id()));
    std::fs::write(&path, b"")?;
    std::fs::remove_file(path)
}
