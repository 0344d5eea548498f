//! Tests of privacy: the page must not notice the modeler, and its secrets must not leave it.

use cuebook_grammar::candidate::ControlKind;
use cuebook_grammar::observation::Scope;
use cuebook_grammar::render::{TextOptions, text, yaml};
use cuebook_grammar::seam::Query;
use serde_json::Value;

use crate::exploring::search;
use crate::stage::{Stage, named, names, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_watches_itself_and_breaks_its_builtins_notices_nothing() {
    let mut stage = Stage::on(
        "<script>window.noticed = [];
         for (const [owner, name] of [[Array.prototype, 'map'], [Array.prototype, 'push'], [JSON, 'stringify'], [Document.prototype, 'querySelectorAll'], [Element.prototype, 'getAttribute'], [Document.prototype, 'elementFromPoint'], [window, 'getComputedStyle']]) {
           const real = owner[name];
           owner[name] = function (...args) { if (!window.quiet) window.noticed.push(name); return Reflect.apply(real, this, args); };
         }
         new MutationObserver((records) => { for (const record of records) window.noticed[window.noticed.length] = record.type; }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
         </script><form><input name=parentNode aria-label=Clobber><input name=getAttribute aria-label=Also><button>Go</button></form><img name=getElementById><img name=querySelectorAll>",
    )
    .await;
    stage.page_script("window.noticed.length = 0; window.globals = Object.getOwnPropertyNames(window).length; 0").await;
    let seen = stage.observe(Scope::Full).await;
    assert_eq!(names(&seen), ["Clobber", "Also", "Go"]);
    stage.explore(Query::Search(search("Go"))).await;
    let noticed = stage.page_script("window.quiet = true; JSON.stringify([window.noticed, window.globals - Object.getOwnPropertyNames(window).length + 2, typeof __cuebook])").await;
    assert_eq!(noticed, Value::String("[[],0,\"undefined\"]".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typed_password_is_nowhere_in_an_observation() {
    let mut stage = Stage::on(
        "<form><label>User <input name=user></label><label>Password <input type=password id=p></label>
         <label>Code <input id=code autocomplete=one-time-code></label><h2 id=echo></h2><button id=b>Log in</button></form>",
    )
    .await;
    stage
        .page_script("p.value = 'hunter2!'; code.value = '884422'; echo.textContent = 'You typed hunter2!'; b.title = 'hunter2!'; document.title = 'x hunter2!'")
        .await;
    for (scope, show) in [(Scope::View, ""), (Scope::Full, "p.type = 'text'")] {
        stage.page_script(&format!("{show};0")).await;
        let seen = stage.read(scope).await;
        let json = serde_json::to_string(&seen).unwrap()
            + &text(&seen, &TextOptions::default())
            + &yaml(&seen, &TextOptions::default());
        assert!(!json.contains("hunter2") && !json.contains("884422"), "{json}");
        assert_eq!(named(&seen, "Password").control, ControlKind::Password);
        assert_eq!(seen.candidates.len(), 4);
    }
}

/// Tabs of another browser context, such as another episode's, are somebody else's.
#[tokio::test(flavor = "multi_thread")]
async fn tabs_of_other_contexts_are_not_listed() {
    let mut stage = Stage::alone("data:text/html,<button>Go</button>").await;
    let here = stage.browser.pages().len();
    let context = stage.browser.new_context(None, until()).await.unwrap();
    let other = stage.browser.new_page_in(&context, "about:blank", until()).await.unwrap();
    assert_eq!(stage.observe(Scope::View).await.tabs.len(), here);
    assert!(!other.is_beside(&stage.page));
    assert_eq!(stage.browser.pages_beside(&other).len(), 1);
    assert_eq!(stage.browser.pages().len(), here + 1);
}
