//! Pages and policies for properties, and for the measurements in `benches/decoding`.

use cuebook_decoding::Caps;
use cuebook_grammar::arbitrary;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::facts::{DialogFact, DialogKind};
use cuebook_grammar::id::{CredentialRef, PageId};
use cuebook_grammar::observation::{Observation, TabSummary, Viewport};
use cuebook_grammar::policy::{CommandRule, OriginRule, Outside, Policy, RegisteredAction};
use cuebook_grammar::profile::Profile;
use cuebook_grammar::wire::ShortText;
use proptest::prelude::*;
use serde_json::json;

/// Something of everything that lies outside of the page.
pub(crate) fn outside() -> Outside {
    let command = |rule| CommandRule::parse(rule).unwrap();
    Outside {
        hosts: ["https://api.test", "*.files.test"].map(|host| OriginRule::parse(host, "https").unwrap()).to_vec(),
        read_roots: vec!["/data".to_owned()],
        write_roots: vec!["/out".to_owned()],
        commands: vec![command("git log *"), command("date"), command("'it'\\''s here' --safe")],
        shell_lines: vec!["ls | wc -l".to_owned()],
        ..Outside::default()
    }
}

/// Pages and policies of every kind that changes what may be written.
pub(crate) fn ground() -> BoxedStrategy<(Observation, Policy)> {
    (arbitrary::page(), 0_usize..4, any::<bool>(), any::<bool>(), 0_u8..6)
        .prop_map(|(mut observation, tabs, raw, wide, dialog)| {
            observation.viewport = Viewport { width: 1280.0, height: 720.0, ..Viewport::default() };
            observation.tabs = (0..tabs)
                .map(|tab| TabSummary {
                    page: PageId::new(tab.to_string()),
                    url: String::new(),
                    title: String::new(),
                    current: tab == 0,
                })
                .collect();
            if dialog == 0 {
                observation.dialog = Some(DialogFact { kind: DialogKind::Confirm, message: "Sure?".to_owned() });
            }
            let profile = if raw { Profile::Unleashed } else { Profile::Auto };
            let mut policy = Policy::new(profile).starting_at("https://shop.test/start").unwrap();
            if wide {
                policy = policy.opening(outside());
                policy = policy.allowing("*.cdn.test").unwrap().allowing("http://127.0.0.1:8080").unwrap().registering(
                    RegisteredAction {
                        name: ShortText::new("sendMail").unwrap(),
                        schema: json!({
                            "type": "object",
                            "properties": {
                                "to": { "type": "string", "maxLength": 40 },
                                "copies": { "type": "integer", "minimum": -3, "maximum": 117 },
                                "urgent": { "type": "boolean" },
                            },
                            "additionalProperties": false,
                        }),
                        effect: EffectClass::Destructive,
                        description: ShortText::new("Sends mail").unwrap(),
                    },
                );
            }
            (observation, policy)
        })
        .boxed()
}

pub(crate) fn caps() -> Caps {
    Caps {
        credentials: vec![CredentialRef::new("shop")],
        files: vec!["cv.pdf".to_owned(), "a \"b\".txt".to_owned()],
        ..Caps::default()
    }
}
