//! Containment with a real Chrome: the hostile server is the oracle, and each probe has a control without the defence.

#![expect(clippy::print_stderr, reason = "what is skipped or has no control has to be in plain sight")]

mod certificate;
mod ground;
mod hostile;
mod rebinding;
mod steps;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cuebook::egress::{Uncontained, listen, self_test};
use cuebook::network::{Decision, Egress, Limits, System};
use cuebook_cdp::protocol::browser_protocol::page::{GetAppManifestParams, NavigateParams};
use cuebook_cdp::protocol::browser_protocol::target::CreateTargetParams;
use cuebook_cdp::{Browser, LaunchError, LaunchOptions, Namespace, Page, TargetId, WaitUntil};
use cuebook_grammar::policy::Policy;
use tempfile::TempDir;

use ground::Ground;
use hostile::{Hostile, serve_page};

const PATIENCE: Duration = Duration::from_secs(60);
/// Time for all probes to be heard of, or denied.
const TRYING: Duration = Duration::from_secs(30);

/// Probes of what this Chrome does not do at all, and why. Once one is heard, it belongs to the others.
const SILENT: [(&str, &str); 1] = [("ping", "--no-pings, which every browser of ours has, switches it off")];
/// Probes that a Chrome with a proxy does not try, and why: with the defence, they are neither heard nor denied.
const UNTRIED: [(&str, &str); 2] = [
    ("speculatedprefetch", "no prefetching across sites where there is a proxy"),
    (AT_TIMES, "left to a scheduler, which waits for a better network"),
];
/// A probe whose control is left to a scheduler of Chrome, which under load starts it late or never.
const AT_TIMES: &str = "backgroundfetch";
/// Probes that only a resolver hears of, or that need a port of their own on a name: none without a namespace.
const APART: [&str; 2] = ["dnsprefetch", "webauthn"];

/// Every probe by a tab of its own gets one.
const PROBES_TABS: usize = 200;

fn soon() -> Instant {
    Instant::now() + PATIENCE
}

fn options(profiles: &TempDir) -> LaunchOptions {
    let options = cuebook_testkit::whole_browser(profiles.path());
    LaunchOptions { opened_tabs: PROBES_TABS, ..options }
}

/// Flags that open what Chrome would not do by itself, or what we switch off: with the defence and without.
fn opened(options: &mut LaunchOptions) {
    let flags = [
        // In place of ours, which switch prerendering off.
        "--disable-features=LocalNetworkAccessChecks,HttpsUpgrades",
        "--enable-features=DeferRendererTasksAfterInput",
        "--ignore-certificate-errors",
        "--enable-experimental-web-platform-features",
    ];
    options.extra_args.extend(flags.map(Into::into));
}

/// A page that no other one hides.
async fn window(browser: &Browser) -> Result<Page> {
    let params = CreateTargetParams { new_window: Some(true), ..CreateTargetParams::new("about:blank") };
    let target = TargetId::from(browser.session().call(params, soon()).await?.target_id.inner().as_str());
    until(|| browser.page(&target).is_some()).await;
    browser.page(&target).context("expected a window")
}

/// Returns the failures that probes report in their pages.
async fn complaints(browser: &Browser) -> String {
    let mut all = String::new();
    for page in browser.pages() {
        let Ok(world) = page.world(&page.main_frame().id, Instant::now() + Duration::from_secs(1)).await else {
            continue;
        };
        let said = world.evaluate("document.documentElement.dataset.failed ?? ''", soon());
        all.push_str(
            &tokio::time::timeout(Duration::from_secs(1), said).await.map_or(String::new(), Result::unwrap_or_default),
        );
    }
    all
}

/// Opens the pages that try everything, and tries what only the protocol does. Returns the names of the probes, in lower
/// case, without those that cannot be heard on this ground.
async fn try_all(
    browser: &Browser,
    ground: &Ground,
    hostile: &Hostile,
    urls: &[String; 2],
) -> Result<BTreeSet<String>> {
    let mut tried = BTreeSet::new();
    for url in [urls[1].clone(), urls[0].clone(), format!("{}#tabs", urls[0]), format!("{}#tabs", urls[1])] {
        let page = window(browser).await?;
        page.goto(&url, WaitUntil::Load, soon()).await?;
        let world = page.world(&page.main_frame().id, soon()).await?;
        let title: String = world.evaluate("document.title", soon()).await?;
        ensure!(!title.contains('(') && title != "trying", "probes did not start: {title}");
        tried.extend(title.split(' ').map(str::to_lowercase));
        // Chrome fetches a manifest when it is asked for it.
        page.session().request(GetAppManifestParams::default(), soon()).await.ok();
    }
    let page = browser.new_page("about:blank", soon()).await?;
    let source = format!("view-source:http://p-viewSource-q.evil.test:{}/", hostile.ports["http"]);
    page.session().request(NavigateParams::new(source), soon()).await?;
    tried.insert("viewsource".to_owned());
    tried.retain(|name| ground.is_apart() || !APART.contains(&name.as_str()));
    Ok(tried)
}

/// Waits until something holds, or the time for probes is over.
async fn until(holds: impl Fn() -> bool) {
    let end = Instant::now() + TRYING;
    while !holds() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn is_silent(name: &str) -> bool {
    SILENT.iter().any(|(silent, _)| *silent == name)
}

/// Everything that heard of a probe: the hostile server, and the resolver for what is only looked up.
fn heard(ground: &Ground, hostile: &Hostile) -> BTreeSet<String> {
    let asked = ground.asked.names();
    let looked_up = asked.iter().filter_map(|name| Some(name.strip_prefix("p-")?.split_once("-q.")?.0.to_owned()));
    let looked_up = looked_up.filter(|name| APART.contains(&name.as_str()));
    hostile.heard.names().into_iter().chain(looked_up).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_defence_every_probe_reaches_the_hostile_server() -> Result<()> {
    let ground = Ground::open().await?;
    let hostile = Hostile::open(&ground)?;
    let urls = serve_page(&ground, &hostile.ports)?;
    let profiles = TempDir::new()?;
    let mut options = ground.options(&profiles)?;
    opened(&mut options);
    if !ground.is_apart() {
        options.extra_args.push("--host-resolver-rules=MAP *.test 127.0.0.1".into());
    }
    let datagrams = ground.datagrams()?;
    let browser = Browser::launch(&options, soon()).await?;
    let tried = try_all(&browser, &ground, &hostile, &urls).await?;
    let missing = || {
        let heard = heard(&ground, &hostile);
        let due = tried.iter().filter(|name| !heard.contains(*name) && !is_silent(name) && *name != AT_TIMES);
        due.cloned().collect::<Vec<_>>()
    };
    until(|| missing().is_empty()).await;
    if !missing().is_empty() {
        // A machine under load: once more, what is left has the browser to itself.
        try_all(&browser, &ground, &hostile, &urls).await?;
        until(|| missing().is_empty()).await;
    }
    let said = complaints(&browser).await;
    ensure!(missing().is_empty(), "probes without a positive control: {:?}; they say: {said}", missing());
    for (name, why) in SILENT {
        ensure!(tried.contains(name), "no such probe: {name}");
        ensure!(!heard(&ground, &hostile).contains(name), "{name} is heard now: it has a control");
        eprintln!("no control: {name}: {why}");
    }
    if !heard(&ground, &hostile).contains(AT_TIMES) {
        eprintln!("no control this time: {AT_TIMES}: left to a scheduler");
    }
    if ground.is_apart() {
        let asked = ground.asked.names().len();
        ensure!(asked > 20, "expected the resolver to be asked, saw {asked} names");
        ensure!(ground.datagrams()? > datagrams, "expected UDP, saw none");
    }
    let controls = tried.intersection(&heard(&ground, &hostile)).count();
    eprintln!("{} probes, {controls} with a control", tried.len());
    Ok(())
}

/// The names in the hosts that were denied.
fn denied_names(decisions: Vec<Decision>) -> impl Iterator<Item = String> {
    let hosts = decisions.into_iter().filter(|one| one.verdict.is_denial()).map(|one| one.host);
    hosts.filter_map(|host| Some(host.to_lowercase().strip_prefix("p-")?.split_once("-q.")?.0.to_owned()))
}

/// Tries everything, and waits until each probe that names itself in its host was denied. Then what asks for this machine
/// or sends UDP had its time, too.
async fn all_denied(
    browser: &Browser,
    egress: &Egress,
    ground: &Ground,
    hostile: &Hostile,
    urls: &[String; 2],
) -> Result<()> {
    let mut policy = Policy::default().starting_at(&urls[0])?.allowing(&urls[0])?.allowing(&urls[1])?;
    policy = policy.allowing(&urls[0].replace("127.0.0.1", "localhost"))?;
    egress.set_policy(policy);
    let tried = try_all(browser, ground, hostile, urls).await?;
    let unnamed = |name: &str| {
        let ports = hostile.ports.as_object().is_some_and(|ports| ports.keys().any(|port| port.to_lowercase() == name));
        let untried = UNTRIED.iter().any(|(untried, _)| *untried == name);
        ports
            || untried
            || name.starts_with("loopback")
            || name == "imgbyaddress"
            || APART.contains(&name)
            || is_silent(name)
    };
    let mut denied = BTreeSet::new();
    let end = Instant::now() + TRYING;
    let missing = |denied: &BTreeSet<String>| {
        tried.iter().filter(|name| !unnamed(name) && !denied.contains(*name)).cloned().collect::<Vec<_>>()
    };
    while !missing(&denied).is_empty() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(50)).await;
        denied.extend(denied_names(egress.decisions().take()));
    }
    ensure!(hostile.heard.names().is_empty(), "reached the hostile server: {:?}", hostile.heard.names());
    let said = complaints(browser).await;
    ensure!(missing(&denied).is_empty(), "neither heard nor denied: {:?}; they say: {said}", missing(&denied));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_defence_no_probe_reaches_the_hostile_server() -> Result<()> {
    let ground = Ground::open().await?;
    let hostile = Hostile::open(&ground)?;
    let urls = serve_page(&ground, &hostile.ports)?;
    let profiles = TempDir::new()?;
    let egress = Egress::over(ground.listener()?, ground.everywhere(), Limits::default())?;
    let mut options = LaunchOptions { proxy: Some(egress.address()), ..ground.options(&profiles)? };
    opened(&mut options);
    let datagrams = ground.datagrams()?;
    let browser = Browser::launch(&options, soon()).await?;
    self_test(&browser, None, &egress, ground.namespace(), soon()).await?;
    all_denied(&browser, &egress, &ground, &hostile, &urls).await?;
    ensure!(ground.asked.names().is_empty(), "looked up: {:?}", ground.asked.names());
    ensure!(ground.datagrams()? == datagrams, "sent {} datagrams", ground.datagrams()? - datagrams);
    Ok(())
}

/// Here, the namespace does it alone: of the flags, there is only the proxy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_namespace_no_probe_reaches_the_hostile_server() -> Result<()> {
    let Ok(namespace) = Namespace::new().map(Arc::new) else {
        eprintln!("skipped: there is no network namespace");
        return Ok(());
    };
    let ground = Ground::open().await?;
    let hostile = Hostile::open(&ground)?;
    let urls = serve_page(&ground, &hostile.ports)?;
    let profiles = TempDir::new()?;
    let egress = Egress::over(listen(Some(&namespace))?, ground.everywhere(), Limits::default())?;
    let mut options = LaunchOptions { namespace: Some(namespace), ..options(&profiles) };
    options.extra_args.push(format!("--proxy-server=http://{}", egress.address()).into());
    // Otherwise it would look for the page on its own loopback.
    options.extra_args.push("--proxy-bypass-list=<-loopback>".into());
    opened(&mut options);
    let datagrams = ground.datagrams()?;
    let browser = Browser::launch(&options, soon()).await?;
    all_denied(&browser, &egress, &ground, &hostile, &urls).await?;
    ensure!(ground.asked.names().is_empty() && ground.datagrams()? == datagrams, "something arrived");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_one_of_the_flags_the_self_test_refuses() -> Result<()> {
    for absent in 0..4 {
        let profiles = TempDir::new()?;
        let egress = Egress::bind(System).await?;
        let mut options = options(&profiles);
        let flags = [
            format!("--proxy-server=http://{}", egress.address()),
            "--proxy-bypass-list=<-loopback>".to_owned(),
            "--webrtc-ip-handling-policy=disable_non_proxied_udp".to_owned(),
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1".to_owned(),
        ];
        let kept = flags.iter().enumerate().filter(|(index, _)| *index != absent);
        options.extra_args.extend(kept.map(|(_, flag)| flag.into()));
        let browser = Browser::launch(&options, soon()).await?;
        let refused = self_test(&browser, None, &egress, None, soon()).await.err();
        let refused = refused.with_context(|| format!("without {}: expected a refusal", flags[absent]))?;
        let fits = match absent {
            0 | 1 => matches!(refused, Uncontained::Loopback | Uncontained::Unseen { .. } | Uncontained::Udp),
            2 => matches!(refused, Uncontained::Udp),
            _ => matches!(refused, Uncontained::Names),
        };
        ensure!(fits, "without {}: {refused}", flags[absent]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_is_not_in_its_namespace_is_refused() -> Result<()> {
    let Ok(namespace) = Namespace::new() else {
        eprintln!("skipped: there is no network namespace");
        return Ok(());
    };
    let profiles = TempDir::new()?;
    let egress = Egress::bind(System).await?;
    let options = LaunchOptions { proxy: Some(egress.address()), ..options(&profiles) };
    let browser = Browser::launch(&options, soon()).await?;
    let refused =
        self_test(&browser, None, &egress, Some(&namespace), soon()).await.err().context("expected a refusal")?;
    ensure!(matches!(refused, Uncontained::Outside), "{refused}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_argument_that_leads_past_the_proxy_is_refused() -> Result<()> {
    let profiles = TempDir::new()?;
    let egress = Egress::bind(System).await?;
    let mut options = LaunchOptions { proxy: Some(egress.address()), ..options(&profiles) };
    options.extra_args.push("--proxy-bypass-list=*".into());
    let error = Browser::launch(&options, soon()).await.err().context("expected a refusal")?;
    ensure!(matches!(error, LaunchError::PastProxy { .. }) && error.to_string().contains("bypass-list=*"), "{error}");
    Ok(())
}
