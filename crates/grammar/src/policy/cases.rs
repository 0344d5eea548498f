//! Addresses that try to pass for another one, by the numbers of `docs/security-cases.md`. A run starts on
//! `https://shop.test`, and its pages may load from `https://cdn.shop.test` as well.

use serde_json::json;
use url::Url;

use crate::id::PageId;
use crate::observation::Observation;
use crate::plan::{Author, PlanDraft};
use crate::policy::{Policy, Rule};
use crate::profile::Profile;

fn policy(profile: Profile) -> Policy {
    let policy = Policy::new(profile).starting_at("https://shop.test/").unwrap();
    policy.allowing("https://shop.test").unwrap().reading("https://cdn.shop.test").unwrap()
}

/// Number, address, the rule that refuses it.
const REFUSED: &[(u8, &str, Rule)] = &[
    (1, "https://shop.test@evil.test/", Rule::UserInfo),
    (1, "https://:pass@shop.test/", Rule::UserInfo),
    (2, "https://shop.test:443@evil.test", Rule::UserInfo),
    (2, "https://shop.test%20@evil.test", Rule::UserInfo),
    (2, "https://shop.test%40evil.test", Rule::Unparsable),
    (3, "https://shop.test.evil.test", Rule::Origin),
    (3, "https://evilshop.test", Rule::Origin),
    (3, "https://a.shop.test", Rule::Origin),
    (4, "https://shop.test../", Rule::Origin),
    (6, "https://shоp.test", Rule::Origin),
    (6, "https://xn--shp-ted.test", Rule::Origin),
    (7, "https:\\\\evil.test", Rule::Origin),
    (7, "https:evil.test", Rule::Origin),
    (7, "https:/evil.test", Rule::Origin),
    (7, "ht\ntps://evil.test/", Rule::Origin),
    (7, "https://ev\til.test/", Rule::Origin),
    (7, " \u{1}https://evil.test/ ", Rule::Origin),
    (7, "https://shop.test\u{0}.evil.test/", Rule::Unparsable),
    (7, "//evil.test/", Rule::Unparsable),
    (7, "https://*.shop.test/", Rule::Unparsable),
    (8, "http://2130706433", Rule::PrivateAddress),
    (8, "http://0x7f.1", Rule::PrivateAddress),
    (8, "http://017700000001", Rule::PrivateAddress),
    (8, "http://127.1", Rule::PrivateAddress),
    (8, "http://127.0.0.1.", Rule::PrivateAddress),
    (8, "http://[::1]", Rule::PrivateAddress),
    (8, "http://[::ffff:7f00:1]", Rule::PrivateAddress),
    (8, "http://[64:ff9b::7f00:1]", Rule::PrivateAddress),
    (8, "http://%31%32%37.0.0.1", Rule::PrivateAddress),
    (8, "http://①②⑦.0.0.1", Rule::PrivateAddress),
    (8, "http://0.0.0.0", Rule::PrivateAddress),
    (8, "http://10.0.0.5", Rule::PrivateAddress),
    (8, "http://LOCALHOST", Rule::PrivateAddress),
    (9, "http://169.254.169.254", Rule::PrivateAddress),
    (9, "http://[fd00:ec2::254]", Rule::PrivateAddress),
    (9, "http://metadata.google.internal", Rule::PrivateAddress),
    (10, "https://shop.test:8443", Rule::Origin),
    (10, "https://shop.test:80", Rule::Origin),
    (11, "http://shop.test", Rule::Origin),
    (11, "http://shop.test:443", Rule::Origin),
    (12, "javascript:fetch('//evil.test')", Rule::Scheme),
    (12, " java\tscript:fetch('//evil.test')", Rule::Scheme),
    (13, "data:text/html,<form action=//evil.test>", Rule::Scheme),
    (14, "blob:https://shop.test/4e1f5b2c-0000-4000-8000-000000000000", Rule::Scheme),
    (15, "file:///etc/passwd", Rule::Scheme),
    (15, "view-source:file:///etc/passwd", Rule::Scheme),
    (15, "view-source:https://evil.test", Rule::Scheme),
    (15, "filesystem:https://shop.test/temporary/a", Rule::Scheme),
    (15, "chrome://settings", Rule::Scheme),
    (15, "devtools://devtools/bundled/inspector.html", Rule::Scheme),
    (15, "chrome-extension://abcdefghijklmnop/x.html", Rule::Scheme),
    (15, "about:srcdoc", Rule::Scheme),
    (15, "about:blank#x", Rule::Scheme),
    (15, "intent://evil.test#Intent;scheme=https;end", Rule::Scheme),
    (15, "mailto:a@evil.test", Rule::Scheme),
    (15, "ws://shop.test", Rule::Scheme),
    (15, "ftp://shop.test", Rule::Scheme),
];

/// Number, address, and where it leads.
const OPEN: &[(u8, &str, &str)] = &[
    (4, "https://shop.test./", "https://shop.test./"),
    (5, "HTTPS://ＳＨＯＰ.test", "https://shop.test/"),
    (5, "https://shop\u{ad}.test", "https://shop.test/"),
    (5, "https://SHOP.TEST:443/a", "https://shop.test/a"),
    // To Chrome, too, a backslash ends the host.
    (7, "https://shop.test\\@evil.test", "https://shop.test/@evil.test"),
    (15, "about:blank", "about:blank"),
];

#[test]
fn s01_to_s15_no_spelling_of_another_address_passes_for_an_allowed_one() {
    for profile in [Profile::Assisted, Profile::SemiAuto, Profile::Auto, Profile::Unleashed] {
        let policy = policy(profile);
        for (number, url, rule) in REFUSED {
            let seen = policy.navigation(url).map_err(|denied| denied.rule);
            assert_eq!(seen, Err(*rule), "S-{number:02} {url:?}");
            assert!(policy.loading(url).is_err(), "S-{number:02} {url:?} may be loaded");
            assert!(policy.fetching(url).is_err(), "S-{number:02} {url:?} may be fetched");
        }
        for (number, url, to) in OPEN {
            let seen = policy.navigation(url).map(String::from);
            assert_eq!(seen.as_deref(), Ok(*to), "S-{number:02} {url:?}");
        }
        let cdn = "https://cdn.shop.test/a.png";
        assert_eq!(policy.navigation(cdn).map_err(|denied| denied.rule), Err(Rule::Origin));
        assert!(policy.loading(cdn).is_ok());
    }
}

#[test]
fn s01_to_s15_no_plan_of_a_model_leads_there() {
    let page = Observation::blank(PageId::new("tab"), "https://shop.test/");
    let leads = |url: &str| {
        let plan = json!({ "version": "1.0", "steps": [{ "type": "navigate", "url": url }] });
        PlanDraft::read_value(plan, Author::Model).and_then(|draft| draft.check(&page, &policy(Profile::Unleashed)))
    };
    assert!(leads("https://shop.test/cart").is_ok());
    for (number, url, _) in REFUSED {
        assert!(leads(url).is_err(), "S-{number:02} {url:?}");
    }
}

#[test]
fn s06_a_look_alike_is_named_as_what_it_is() {
    let denied = policy(Profile::Auto).navigation("https://shоp.test").unwrap_err();
    assert!(denied.message.contains("https://xn--shp-ted.test"), "{denied}");
}

#[test]
fn s09_metadata_services_stay_closed_however_they_are_named() {
    let policy = ["http://169.254.169.254", "http://[fd00:ec2::254]", "http://metadata.google.internal"]
        .iter()
        .fold(policy(Profile::Unleashed), |policy, entry| policy.allowing(entry).unwrap());
    for (url, ip) in [
        ("http://169.254.169.254/latest", "169.254.169.254"),
        ("http://[fd00:ec2::254]/latest", "fd00:ec2::254"),
        ("http://metadata.google.internal/", "169.254.169.254"),
        ("http://metadata.google.internal/", "::ffff:169.254.169.254"),
    ] {
        let (url, ip) = (Url::parse(url).unwrap(), ip.parse().unwrap());
        assert_eq!(policy.loading_from(&url, ip).map_err(|denied| denied.rule), Err(Rule::PrivateAddress), "{url}");
        assert_eq!(policy.reaching(&url, ip).map_err(|denied| denied.rule), Err(Rule::PrivateAddress), "{url}");
    }
}
