//! Addresses as we and as Chrome read them: whatever we would let pass leads Chrome to the same scheme, host and port.
//!
//! `cargo xtask soak --urls N` compares the same in large numbers, by the variables that are read here.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use cuebook::environment::variable;
use cuebook_cdp::Browser;
use serde_json::{Value, json};
use tempfile::TempDir;

use cuebook_grammar::policy::Policy;

use super::soon;

const COUNT: usize = 20_000;
/// Addresses that Chrome is asked about in one call.
const BATCH: usize = 10_000;

/// Parts that addresses are made of: what separates, what is skipped, what is mapped, what is an address in disguise.
const PARTS: &[&str] = &[
    "https:",
    "http:",
    "HTTPS:",
    "ht\ntps:",
    "ws:",
    "ftp:",
    "file:",
    "javascript:",
    "data:",
    "blob:",
    "about:blank",
    "view-source:",
    "//",
    "/",
    "\\",
    "\\\\",
    "/\\",
    "@",
    ":",
    ":443",
    ":80",
    ":8443",
    ":0",
    ":65536",
    ":٤٤٣",
    "?",
    "#",
    ";",
    "..",
    ".",
    "%2e",
    "%2F",
    "%40",
    "%00",
    "%20",
    "%E3%80%82",
    "。",
    "．",
    "｡",
    " ",
    "\t",
    "\n",
    "\r",
    "\u{0}",
    "\u{1f}",
    "\u{7f}",
    "\u{a0}",
    "\u{ad}",
    "\u{200b}",
    "\u{200d}",
    "\u{202e}",
    "\u{2028}",
    "\u{feff}",
    "\u{fffd}",
    "shop.test",
    "SHOP.test",
    "ＳＨＯＰ",
    "shоp",
    "evil.test",
    "xn--shp-ted",
    "xn--",
    "xn--a",
    "ß",
    "ẞ",
    "ς",
    "İ",
    "ı",
    "ſ",
    "K",
    "℀",
    "㎏",
    "①②⑦",
    "1",
    "127.0.0.1",
    "0x7f.1",
    "017700000001",
    "2130706433",
    "4294967296",
    "0x",
    "08",
    "256",
    "[::1]",
    "[::ffff:7f00:1]",
    "[fe80::1%25eth0]",
    "[",
    "]",
    "localhost",
    "user",
    "user:pass",
    "a",
    "-",
    "_",
    "*",
    "^",
    "|",
    "<",
    ">",
    "{",
    "}",
    "`",
    "'",
    "\"",
    "+",
    "=",
    "&",
    "~",
    "!",
    "$",
    "(",
    ")",
    ",",
];

/// Draws numbers from a seed.
struct Random(u64);

impl Random {
    /// The next number of `SplitMix64`.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap_or(0)
    }

    fn pick(&mut self) -> &'static str {
        PARTS.get(self.below(PARTS.len())).copied().unwrap_or("a")
    }

    fn address(&mut self) -> String {
        let mut address = match self.below(4) {
            0 => String::new(),
            1 => "https:".to_owned(),
            2 => "https://shop.test".to_owned(),
            _ => "http://".to_owned(),
        };
        for _ in 0..self.below(7) {
            match self.below(12) {
                // Any character of the first planes, so that no list of ours decides what is tried.
                0 => address.extend(char::from_u32((self.next() % 0x3_0000) as u32)),
                1 => address.push(char::from((self.next() % 128) as u8)),
                _ => address.push_str(self.pick()),
            }
        }
        address
    }
}

/// Scheme, host with its port, and whether there is a user name or a password.
type UrlParts = (String, String, bool);

/// Reads an address under a policy that lets everything of the web pass: its parts, and the URL that Chrome will get.
fn read(policy: &Policy, address: &str) -> Option<(UrlParts, String)> {
    let (url, _) = policy.loading(address).ok()?;
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let host = format!("{}{port}", url.host_str().unwrap_or_default());
    Some(((url.scheme().to_owned(), host, false), url.into()))
}

const READ: &str = "addresses => addresses.map(address => {
    try {
        const { protocol, host, username, password } = new URL(address);
        return [protocol.slice(0, -1), host, username + password !== ''];
    } catch { return null; }
})";

#[tokio::test(flavor = "multi_thread")]
async fn s07_what_we_let_pass_leads_chrome_to_the_same_host() -> Result<()> {
    let number = |name: &str| variable(name).and_then(|value| value.parse::<u64>().ok());
    let count = number("CUEBOOK_URLS").map_or(COUNT, |count| usize::try_from(count).unwrap_or(COUNT));
    let mut random = Random(number("CUEBOOK_URLS_SEED").unwrap_or(7));
    let profiles = TempDir::new()?;
    let options = cuebook_testkit::browser(profiles.path());
    let browser = Browser::launch(&options, soon()).await?;
    let page = browser.new_page("about:blank", soon()).await?;
    let world = page.world(&page.main_frame().id, soon()).await?;
    let ask = async |addresses: &[String]| -> Result<Vec<Option<UrlParts>>> {
        Ok(world.call(READ, &[json!(addresses)], soon()).await?)
    };
    // One that starts on this machine closes neither public nor private hosts to pages.
    let policy = Policy::default().starting_at("http://localhost/")?;
    let (mut both, mut only_we, mut only_chrome, mut wrong) = (0, 0, 0, Vec::new());
    let started = Instant::now();
    for done in (0..count).step_by(BATCH) {
        let addresses: Vec<String> = (done..count.min(done + BATCH)).map(|_| random.address()).collect();
        let ours: Vec<Option<(UrlParts, String)>> = addresses.iter().map(|address| read(&policy, address)).collect();
        let canonical: Vec<String> = ours.iter().flatten().map(|(_, canonical)| canonical.clone()).collect();
        let (theirs, again) = (ask(&addresses).await?, ask(&canonical).await?);
        let mut again = again.into_iter();
        for ((address, ours), theirs) in addresses.iter().zip(ours).zip(theirs) {
            let Some((ours, canonical)) = ours else {
                only_chrome += usize::from(theirs.is_some());
                continue;
            };
            let again = again.next().context("an answer is missing")?;
            // Chrome is given the canonical form of what was judged.
            if again.as_ref().is_some_and(|again| *again != ours) {
                wrong.push(json!({ "address": address, "canonical": canonical, "ours": ours, "chrome": again }));
            }
            match theirs {
                None => only_we += 1,
                Some(theirs) if theirs != ours => {
                    wrong.push(json!({ "address": address, "ours": ours, "chrome": theirs }));
                }
                Some(_) => both += 1,
            }
        }
    }
    let figures = json!({
        "addresses": count, "sameInBoth": both, "onlyWeLetPass": only_we, "onlyChromeReads": only_chrome,
        "disagreements": wrong.len(), "milliseconds": started.elapsed().as_millis() as u64,
        "examples": wrong.iter().take(20).collect::<Vec<&Value>>(),
    });
    if let Some(out) = variable("CUEBOOK_URLS_OUT") {
        std::fs::write(out, format!("{figures:#}\n"))?;
    }
    ensure!(both > count / 10, "too few of the addresses parse: {figures:#}");
    ensure!(wrong.is_empty(), "{figures:#}");
    Ok(())
}
