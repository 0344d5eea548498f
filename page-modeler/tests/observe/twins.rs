//! What tells candidates of one role and name apart.

use cuebook_grammar::candidate::NameSource;
use cuebook_grammar::observation::Scope;
use cuebook_grammar::secret::DigestKey;
use cuebook_probe::{Ask, Probe};

use crate::stage::{Stage, until};

#[tokio::test(flavor = "multi_thread")]
async fn twins_in_rows_lists_and_dialogs_carry_contexts() {
    let mut stage = Stage::on(
        "<table><tr><th>Mail</th><th></th></tr><tr><td>john@example.com</td><td><button>Edit</button></td></tr>
         <tr><td>jane@example.com</td><td><button>Edit</button></td></tr></table>
         <ul><li>Invoice 7 <button>Delete</button><li>Invoice 8 <button>Delete</button></ul>
         <div role=dialog aria-label=Settings><button>Save</button></div><div role=dialog aria-label=Profile><button>Save</button></div>
         <p><button>Same</button><button>Same</button></p>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let contexts = |name: &str| -> Vec<_> {
        seen.candidates.iter().filter(|c| c.name == name).map(|c| c.context.clone().unwrap_or_default()).collect()
    };
    assert_eq!(contexts("Edit"), ["row: john@example.com", "row: jane@example.com"]);
    assert_eq!(contexts("Delete"), ["list item: Invoice 7", "list item: Invoice 8"]);
    assert_eq!(contexts("Save"), ["dialog: Settings", "dialog: Profile"]);
    let ambiguous: Vec<_> = seen.candidates.iter().filter(|c| c.ambiguous).map(|c| c.name.as_str()).collect();
    assert_eq!(ambiguous, ["Same", "Same"]);
    assert!(seen.candidates.iter().all(|c| c.name_source == NameSource::Browser));
    // Every locator of a candidate leads to its own node.
    let probe = Probe::attach(stage.page.clone(), DigestKey::new([5; 32]), until()).await.unwrap();
    for candidate in &seen.candidates {
        assert!(!candidate.locators.is_empty(), "{}", candidate.title());
        for locator in &candidate.locators {
            let located = probe.locate(locator, &Ask::default(), until()).await.unwrap();
            let found = located.unique().unwrap_or_else(|| panic!("{} by {locator}", candidate.title()));
            assert_eq!(Some(&found.key), candidate.node.as_ref(), "{} by {locator}", candidate.title());
        }
    }
}
