//! Settings of a browser context's pages in place of the machine's own: language, time zone, place, device, colours.
//!
//! Invariant: each page and frame of the context has them before its first script runs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::protocol::browser_protocol::emulation::{
    ClearGeolocationOverrideParams, MediaFeature, SetDeviceMetricsOverrideParams, SetEmulatedMediaParams,
    SetGeolocationOverrideParams, SetLocaleOverrideParams, SetTimezoneOverrideParams, SetTouchEmulationEnabledParams,
    SetUserAgentOverrideParams, UserAgentMetadata,
};
use crate::protocol::browser_protocol::network::{
    EmulateNetworkConditionsByRuleParams, NetworkConditions, OverrideNetworkStateParams,
};
use crate::protocol::js_protocol::runtime::EvaluateParams;
use chromiumoxide_types::{Command, Method};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::session::SessionKind;

/// Settings of the pages of a browser context. What is not set is as the browser has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Emulation {
    /// Screen, touch and user agent of a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// The language, such as `de-DE`: of scripts, and in the header `Accept-Language`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The time zone, such as `Europe/Berlin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Where the machine is. A page learns it if it has the permission `geolocation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geolocation: Option<Geolocation>,
    /// The colours that the person prefers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color_scheme: Option<ColorScheme>,
    /// `true` if nothing can be reached, and pages are told so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
}

/// A place on earth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Geolocation {
    /// Degrees north, from -90 to 90.
    pub latitude: f64,
    /// Degrees east, from -180 to 180.
    pub longitude: f64,
    /// Radius of uncertainty, in metres.
    #[serde(default)]
    pub accuracy: f64,
}

/// A setting that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{seen:?} is not {expected}")]
pub struct BadSetting {
    seen: String,
    expected: &'static str,
}

impl FromStr for Geolocation {
    type Err = BadSetting;

    /// Reads `52.52,13.405`, and the accuracy in metres as a third number.
    fn from_str(text: &str) -> Result<Self, BadSetting> {
        let bad = || BadSetting {
            seen: text.chars().take(80).collect(),
            expected: "a latitude from -90 to 90, a longitude from -180 to 180, and metres of accuracy, such as 52.52,13.405",
        };
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse::<f64>()).collect();
        let (latitude, longitude, accuracy) = match numbers.as_deref() {
            Ok(&[latitude, longitude]) => (latitude, longitude, 0.0),
            Ok(&[latitude, longitude, accuracy]) => (latitude, longitude, accuracy),
            _ => return Err(bad()),
        };
        let is_on_earth = (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude);
        let is_finite = accuracy.is_finite() && accuracy >= 0.0;
        if is_on_earth && is_finite { Ok(Self { latitude, longitude, accuracy }) } else { Err(bad()) }
    }
}

/// Colours that a person prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorScheme {
    /// Dark text on light.
    Light,
    /// Light text on dark.
    Dark,
}

/// A device whose screen and name pages see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// Its name; empty for a mere size.
    pub name: String,
    /// Width and height of the viewport, in CSS pixels.
    pub viewport: (u32, u32),
    /// Pixels of the screen for each CSS pixel.
    pub scale: f64,
    /// `true` if it has a touch screen, and obeys the page's `meta viewport`.
    pub is_mobile: bool,
    /// The user agent; `{chrome}` stands for the major version of the browser. Empty for the browser's own.
    pub user_agent: String,
    /// The value of `navigator.platform`.
    pub platform: String,
}

/// Name, width, height, pixels for each CSS pixel, and a mobile user agent with its platform.
type Preset = (&'static str, u32, u32, f64, Option<(&'static str, &'static str)>);

const IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                      Version/18.5 Mobile/15E148 Safari/604.1";
const IPAD: &str = "Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 \
                    Mobile/15E148 Safari/604.1";
const PHONE: &str = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{chrome}.0.0.0 \
                     Mobile Safari/537.36";
const TABLET: &str = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{chrome}.0.0.0 \
                      Safari/537.36";

/// Viewports as the makers' browsers have them below their bars.
const PRESETS: [Preset; 8] = [
    ("iPhone SE", 375, 553, 2.0, Some((IPHONE, "iPhone"))),
    ("iPhone 15", 393, 659, 3.0, Some((IPHONE, "iPhone"))),
    ("iPad Mini", 768, 1024, 2.0, Some((IPAD, "iPad"))),
    ("iPad Pro 11", 834, 1194, 2.0, Some((IPAD, "iPad"))),
    ("Pixel 7", 412, 839, 2.625, Some((PHONE, "Linux armv8l"))),
    ("Galaxy S24", 360, 780, 3.0, Some((PHONE, "Linux armv8l"))),
    ("Galaxy Tab S9", 640, 1024, 2.5, Some((TABLET, "Linux armv8l"))),
    ("Desktop HiDPI", 1280, 720, 2.0, None),
];

impl Device {
    /// A device by its name, in letters of any case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (name, width, height, scale, mobile) = PRESETS.iter().find(|it| it.0.eq_ignore_ascii_case(name))?;
        let (user_agent, platform) = mobile.unwrap_or_default();
        Some(Self {
            name: (*name).to_owned(),
            viewport: (*width, *height),
            scale: *scale,
            is_mobile: mobile.is_some(),
            user_agent: user_agent.to_owned(),
            platform: platform.to_owned(),
        })
    }

    /// A screen of this size, such as `1024x768`, in the browser's own name.
    ///
    /// # Errors
    /// [`BadSetting`] unless both sides are from 1 to 10,000 CSS pixels.
    pub fn of_size(size: &str) -> Result<Self, BadSetting> {
        let side = |text: &str| text.trim().parse::<u32>().ok().filter(|side| (1..=10_000).contains(side));
        let sides = size.split_once('x').and_then(|(width, height)| Some((side(width)?, side(height)?)));
        let viewport = sides.ok_or_else(|| BadSetting {
            seen: size.chars().take(80).collect(),
            expected: "a width and a height from 1 to 10000, such as 1024x768",
        })?;
        let (name, user_agent, platform) = (String::new(), String::new(), String::new());
        Ok(Self { name, viewport, scale: 1.0, is_mobile: false, user_agent, platform })
    }

    /// The names that [`named`](Self::named) knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|it| it.0)
    }
}

/// The browser's own values of what is emulated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Native {
    /// Width and height of every page; `None` keeps the window's.
    pub(crate) viewport: Option<(u32, u32)>,
    pub(crate) user_agent: String,
    /// `true` if it is in a network namespace of its own, which has no network but for the proxy.
    pub(crate) is_in_namespace: bool,
}

/// A command, and its parameters.
pub(crate) type Sent = (Cow<'static, str>, Value);

fn command<C: Command + Method>(params: &C) -> Sent {
    (params.identifier(), serde_json::to_value(params).unwrap_or_else(|_| json!({})))
}

/// The command that says to pages if there is a network; without a statement, the machine's own holds again.
pub(crate) fn network_state(is_offline: bool, is_in_namespace: bool) -> Sent {
    // A browser without a network of its own is told that it has one by a latency, which delays nothing here.
    let latency = if is_in_namespace && !is_offline { 1.0 } else { 0.0 };
    command(&OverrideNetworkStateParams::new(is_offline, latency, -1.0, -1.0))
}

/// Gives the `navigator` of a worker these names, and those that are absent their own values back.
const NAMES: &str = "names => { for (const name of ['userAgent', 'appVersion', 'platform'])
    if (name in names) Object.defineProperty(navigator, name, { value: names[name], configurable: true });
    else delete navigator[name]; }";

impl Emulation {
    /// The commands by which a target gets these settings after those of `former`.
    pub(crate) fn commands(&self, former: &Self, kind: SessionKind, native: &Native) -> Vec<Sent> {
        let mut sent = Vec::new();
        if kind == SessionKind::Worker {
            if (&self.locale, &self.device) != (&former.locale, &former.device) {
                let agent = self.user_agent(native);
                sent.extend([command(&agent), self.names(&agent)]);
            }
            return sent;
        }
        if self.locale != former.locale {
            let locale = self.locale.clone().map(|locale| locale.replace('-', "_"));
            sent.push(command(&SetLocaleOverrideParams { locale }));
        }
        if self.timezone != former.timezone {
            let zone = SetTimezoneOverrideParams::new(self.timezone.clone().unwrap_or_default());
            sent.push(command(&zone));
        }
        if (&self.locale, &self.device) != (&former.locale, &former.device) {
            sent.push(command(&self.user_agent(native)));
        }
        // One for all frames: the end of a frame's session would take it from the page.
        if kind == SessionKind::Page && self.geolocation != former.geolocation {
            sent.push(match self.geolocation {
                Some(Geolocation { latitude, longitude, accuracy }) => {
                    let params = SetGeolocationOverrideParams {
                        latitude: Some(latitude),
                        longitude: Some(longitude),
                        accuracy: Some(accuracy),
                        ..SetGeolocationOverrideParams::default()
                    };
                    command(&params)
                }
                None => command(&ClearGeolocationOverrideParams {}),
            });
        }
        if self.color_scheme != former.color_scheme {
            let value = match self.color_scheme {
                Some(ColorScheme::Light) => "light",
                Some(ColorScheme::Dark) => "dark",
                None => "",
            };
            let features = Some(vec![MediaFeature::new("prefers-color-scheme", value)]);
            sent.push(command(&SetEmulatedMediaParams { media: None, features }));
        }
        if self.offline != former.offline {
            sent.push(network_state(self.offline, native.is_in_namespace));
            let all = NetworkConditions::new("", 0.0, -1.0, -1.0);
            sent.push(command(&EmulateNetworkConditionsByRuleParams::new(self.offline, vec![all])));
        }
        if self.device != former.device {
            let is_mobile = self.device.as_ref().is_some_and(|device| device.is_mobile);
            let touch = SetTouchEmulationEnabledParams { enabled: is_mobile, max_touch_points: None };
            sent.push(command(&touch));
            let of_device = self.device.as_ref().map(|device| (device.viewport, device.scale));
            let metrics = of_device.or_else(|| native.viewport.map(|viewport| (viewport, 1.0)));
            if let (SessionKind::Page, Some(((width, height), scale))) = (kind, metrics) {
                let metrics = SetDeviceMetricsOverrideParams::new(width, height, scale, is_mobile);
                sent.push(command(&metrics));
            }
        }
        sent
    }

    /// Returns `true` if requests name another browser or language than the machine's own.
    pub(crate) fn names_the_browser(&self) -> bool {
        self.device.is_some() || self.locale.is_some()
    }

    /// Has the `navigator` of a worker say what its requests do: the browser's command changes only those.
    fn names(&self, agent: &SetUserAgentOverrideParams) -> Sent {
        let is_native = self.device.as_ref().is_none_or(|device| device.user_agent.is_empty());
        let names = if is_native {
            json!({})
        } else {
            let version = agent.user_agent.strip_prefix("Mozilla/").unwrap_or(&agent.user_agent);
            json!({ "userAgent": agent.user_agent, "appVersion": version, "platform": agent.platform })
        };
        command(&EvaluateParams::new(format!("({NAMES})({names})")))
    }

    fn user_agent(&self, native: &Native) -> SetUserAgentOverrideParams {
        let device = self.device.as_ref().filter(|device| !device.user_agent.is_empty());
        let version = native.user_agent.split("Chrome/").nth(1).and_then(|rest| rest.split('.').next()).unwrap_or("0");
        let agent = device.map_or(native.user_agent.clone(), |device| device.user_agent.replace("{chrome}", version));
        let mut params = SetUserAgentOverrideParams::new(agent);
        params.accept_language.clone_from(&self.locale);
        params.platform = device.map(|device| device.platform.clone());
        let is_chrome = params.user_agent.contains("Chrome/");
        // Safari sends no hints.
        params.user_agent_metadata = device.filter(|_| is_chrome).map(|device| UserAgentMetadata {
            platform: "Android".to_owned(),
            platform_version: "10".to_owned(),
            model: device.name.clone(),
            mobile: device.is_mobile,
            ..hints()
        });
        params
    }
}

impl fmt::Display for Emulation {
    /// Names what differs from the machine's own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.device.as_ref().map(|Device { name, viewport: (width, height), scale, .. }| {
            let own = if name.is_empty() { String::new() } else { format!("{name}, ") };
            format!("{own}{width}x{height} at {scale} pixels each")
        });
        let place = self.geolocation.map(|it| format!("at {},{}", it.latitude, it.longitude));
        let colors = self.color_scheme.map(|scheme| match scheme {
            ColorScheme::Light => "light colours".to_owned(),
            ColorScheme::Dark => "dark colours".to_owned(),
        });
        let zone = self.timezone.as_ref().map(|zone| format!("time zone {zone}"));
        let locale = self.locale.as_ref().map(|locale| format!("language {locale}"));
        let offline = self.offline.then(|| "offline".to_owned());
        let all: Vec<String> = [device, locale, zone, place, colors, offline].into_iter().flatten().collect();
        f.write_str(&if all.is_empty() { "the machine's own settings".to_owned() } else { all.join(", ") })
    }
}

/// Client hints of a device that says nothing about itself.
fn hints() -> UserAgentMetadata {
    UserAgentMetadata {
        brands: None,
        full_version_list: None,
        platform: String::new(),
        platform_version: String::new(),
        architecture: String::new(),
        model: String::new(),
        mobile: false,
        bitness: None,
        wow64: None,
        form_factors: None,
    }
}

/// The settings of each browser context.
#[derive(Debug, Default)]
pub(crate) struct Emulations {
    pub(crate) by_context: HashMap<Option<String>, Arc<Emulation>>,
    pub(crate) native: Native,
}

impl Emulations {
    pub(crate) fn of(&self, context: Option<&String>) -> Arc<Emulation> {
        self.by_context.get(&context.cloned()).cloned().unwrap_or_default()
    }

    /// The commands for a new target of a context.
    pub(crate) fn first(&self, context: Option<&String>, kind: SessionKind) -> Vec<Sent> {
        self.of(context).commands(&Emulation::default(), kind, &self.native)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_sent_and_what_is_unset_is_taken_back() {
        let native = Native {
            viewport: Some((1280, 720)),
            user_agent: "Mozilla/5.0 Chrome/156.0.1.2".to_owned(),
            ..Native::default()
        };
        let plain = Emulation::default();
        let phone = Emulation {
            device: Device::named("pixel 7"),
            locale: Some("de-DE".to_owned()),
            color_scheme: Some(ColorScheme::Dark),
            ..Emulation::default()
        };
        let methods = |now: &Emulation, former: &Emulation, kind| -> Vec<Cow<'static, str>> {
            now.commands(former, kind, &native).into_iter().map(|(method, _)| method).collect()
        };
        assert!(methods(&phone, &phone, SessionKind::Page).is_empty());
        let sent = phone.commands(&plain, SessionKind::Page, &native);
        let agent = sent.iter().find(|it| it.0 == "Emulation.setUserAgentOverride").unwrap();
        assert!(agent.1["userAgent"].as_str().unwrap().contains("Chrome/156.0.0.0 Mobile"), "{agent:?}");
        assert_eq!(agent.1["acceptLanguage"], "de-DE");
        let back = plain.commands(&phone, SessionKind::Page, &native);
        let metrics = back.iter().find(|it| it.0 == "Emulation.setDeviceMetricsOverride").unwrap();
        assert_eq!((&metrics.1["width"], &metrics.1["mobile"]), (&json!(1280), &json!(false)));
        assert!(!methods(&phone, &plain, SessionKind::Frame).contains(&"Emulation.setDeviceMetricsOverride".into()));
    }
}
