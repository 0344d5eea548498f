//! The browser: found, its profiles, started; and the planner.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use cuebook::{Containment, Isolation, environment};
use cuebook_cdp::{find_chrome, is_root, sweep};

use super::check::Check;
use crate::args::{BrowserArgs, DoctorArgs, PlannerArg};
use crate::browser::{close_tab, open_tab, search_places};
use crate::engines;
use crate::exit::Output;
use crate::progress::say;
use crate::text::{plain, with_sources};

/// The browser that a run would have.
pub(super) fn found(args: &BrowserArgs, fix: bool, output: Output) -> Check {
    let may = may_install();
    let look = || match find_chrome(&search_places(args)) {
        Ok(binary) => Check::ok("browser", plain(&binary.path.display().to_string())),
        Err(_) if args.cdp.is_some() => Check::ok("browser", "none is installed; --cdp names a running one"),
        Err(error) => {
            let install = "install Chrome or Chromium (Debian: apt-get install chromium), or set $CHROME";
            let check = Check::fail("browser", with_sources(&error), install);
            // One that is named and missing is not what an installation would bring.
            if may && args.chrome.is_none() { check.fixable() } else { check }
        }
    };
    Check::mended(look, fix, || install(output))
}

/// Packages are installed by root of a Debian-like system only, from the system's own sources.
fn may_install() -> bool {
    let is_debian = std::fs::read_to_string("/etc/os-release").is_ok_and(|text| is_debian_like(&text));
    is_debian && is_root()
}

/// `true` if `os-release` names Debian or a distribution made from it.
fn is_debian_like(os_release: &str) -> bool {
    let ids =
        os_release.lines().filter_map(|line| line.split_once('=')).filter(|(key, _)| matches!(*key, "ID" | "ID_LIKE"));
    ids.flat_map(|(_, value)| value.trim_matches(['"', '\'']).split_whitespace()).any(|id| id == "debian")
}

fn install(output: Output) -> std::io::Result<()> {
    // Without a network it fails soon.
    let soon = ["-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=20"];
    for arguments in [&["update"][..], &["install", "-y", "--no-install-recommends", "chromium"]] {
        if !output.quiet {
            say(&format!("apt-get {}", arguments.join(" ")));
        }
        let mut apt = Command::new("apt-get");
        apt.args(soon).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        let status = apt.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        if !status.success() {
            return Err(std::io::Error::other(format!("apt-get {}: {status}", arguments.join(" "))));
        }
    }
    Ok(())
}

/// The folder of profiles, without what dead browsers left.
pub(super) fn profiles(fix: bool) -> Check {
    let root = environment::profile_root();
    let shown = plain(&root.display().to_string());
    if let Err(error) = std::fs::create_dir_all(&root).and_then(|()| tempfile_in(&root)) {
        return Check::fail("profiles", format!("{shown}: {error}"), "make the folder writable, or set TMPDIR");
    }
    if !fix {
        return Check::ok("profiles", shown);
    }
    match sweep(&root) {
        Ok(swept) => {
            let detail = format!("{shown}; removed {}, {} in use", swept.removed, swept.in_use);
            Check { is_fixed: swept.removed + swept.killed > 0, ..Check::ok("profiles", detail) }
        }
        Err(error) => Check::fail("profiles", format!("{shown}: {error}"), "remove the folder"),
    }
}

/// Writes and removes a file in `root`.
fn tempfile_in(root: &Path) -> std::io::Result<()> {
    tempfile::Builder::new().prefix("doctor-").tempfile_in(root)?.close()
}

/// Never a fault: a run without a model has the lexical planner.
pub(super) async fn planner(args: &DoctorArgs) -> Check {
    let config = engines::settings(&args.planner, &args.engine);
    let detail = match &args.planner {
        PlannerArg::Auto => engines::described(&config.detected().await),
        _ => format!("{}, as configured", config.engine.as_str()),
    };
    Check::ok("planner", detail)
}

/// The browser once it runs, with what keeps it behind the proxy.
pub(super) async fn started(args: &BrowserArgs) -> Check {
    let began = Instant::now();
    match open_tab(args, Containment::Proxy).await {
        Ok(tab) => {
            let version = plain(&tab.browser.version().product);
            let (transport, isolation) = (tab.browser.transport(), tab.isolation());
            close_tab(tab).await;
            let kept = match isolation {
                Some(Isolation::Namespace) => "behind the proxy by a network namespace",
                Some(_) => "behind the proxy by flags of the browser",
                None => "not contained, since it was running",
            };
            let detail = format!("{version} over {transport:?} in {} ms, {kept}", began.elapsed().as_millis());
            Check::ok("start", detail)
        }
        Err(refusal) => {
            let advice = "start it by hand to see what it says; --no-sandbox where its own sandbox cannot work";
            Check::fail("start", refusal.error.message, advice)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_debian_like;

    #[test]
    fn chromium_is_installed_on_debian_and_its_children_alone() {
        assert!(is_debian_like("NAME=x\nID=debian\n"));
        assert!(is_debian_like("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"));
        assert!(!is_debian_like("ID=fedora\nPRETTY_NAME=\"not debian\"\n"));
        assert!(!is_debian_like(""));
    }
}
