//! Elements whose `name` or `id` is that of a property which a form or the document has: they change nothing.

use cuebook_grammar::observation::Scope;
use cuebook_grammar::seam::{Finding, Query};
use serde_json::{Value, json};

use crate::exploring::search;
use crate::stage::Stage;

/// A form that needs all of what scripts read to be seen rightly: clipping, slots, frames, labels, rows, text
/// without a box of its own. Every string of `NAMES` is the name of a field of it, of an image, a form and an object.
const PAGE: &str = r#"<title>Names</title>
<form id=f action=/send aria-label=Order style="overflow:auto;width:500px;height:400px;position:relative">
  <h2>Address</h2><label for=mail>Mail</label><input id=mail value=a@b.test>
  <div style="display:contents" tabindex=0>loose text</div>
  <table><tr><td>Ann<td><button type=button>Edit</button><tr><td>Bob<td><button type=button>Edit</button></table>
  <ul><li><a href=/a>First</a><li><a href=/b>Second</a><li><a href=/c>Third</a></ul>
  <select><option>One<option selected>Two</select><div contenteditable>Notes</div>
  <button>Send</button><p style="margin-top:900px"><button type=button>Below</button></p>
</form>
<form style="display:contents" tabindex=0>shown by its text</form>
<x-host></x-host><iframe srcdoc="<button>Inner</button>" width=200 height=60></iframe>
<script>
const host = document.querySelector('x-host');
host.attachShadow({ mode: 'open' }).innerHTML = '<form><button>Shadowed</button><slot></slot></form>';
const forms = [...document.querySelectorAll('form'), host.shadowRoot.querySelector('form')];
const names = new Set();
const chains = [HTMLFormElement, Document, HTMLDocument, ShadowRoot, SVGElement, HTMLInputElement, Range];
for (const { prototype } of chains) {
  for (let holder = prototype; holder; holder = Object.getPrototypeOf(holder)) {
    for (const name of Object.getOwnPropertyNames(holder)) names.add(name);
  }
}
const share = Number(location.hash.slice(1));
let random = share + 1;
const isChosen = () => (random = random * 48271 % 2147483647) % 4 < share;
const all = [...names].map((name, at) => (isChosen() ? name : `plain${at}`));
const fields = all.map((name, at) => `<input type=hidden ${at % 2 ? 'name' : 'id'}="${name}">`).join('');
const loose = all.map((name) => `<img name="${name}"><form name="${name}"></form><object id="${name}"></object>`).join('');
const add = Element.prototype.insertAdjacentHTML;
for (const form of forms) add.call(form, 'beforeend', fields);
add.call(Document.prototype.querySelector.call(document, 'html'), 'beforeend', `<div hidden>${loose}</div>`);
</script>"#;

async fn seen(stage: &mut Stage) -> Value {
    let mut parts = Vec::new();
    for scope in [Scope::Full, Scope::View] {
        let seen = stage.observe(scope).await;
        assert_eq!(seen.truncated.map(|left_out| left_out.elements).unwrap_or_default(), 0);
        parts.push(json!([seen.candidates, seen.sketch, seen.title, seen.viewport]));
    }
    let find = json!({ "selector": "button, form, input:not([type=hidden])", "attributes": ["type"] });
    let find = serde_json::from_value(find).unwrap();
    for query in [Query::Find(find), Query::Search(search("shown by")), Query::Snapshot(Scope::Full)] {
        let Finding::Data(data) = stage.explore(query).await else { panic!("no data") };
        parts.push(data);
    }
    let until = crate::stage::until();
    parts.push(stage.modeler.aria_snapshot(&stage.id, None, until).await.unwrap().yaml.into());
    parts.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_that_are_called_like_properties_change_nothing() {
    let mut stage = Stage::on(PAGE).await;
    let url = stage.page.url();
    let plain = seen(&mut stage).await;
    assert!(plain.to_string().contains("Shadowed") && plain.to_string().contains("Inner"), "{plain:#}");
    for share in 1..=4 {
        let mut stage = Stage::at(&format!("{url}#{share}")).await;
        let clobbered = seen(&mut stage).await;
        for (part, clobbered) in plain.as_array().unwrap().iter().zip(clobbered.as_array().unwrap()) {
            let clobbered: Value =
                serde_json::from_str(&clobbered.to_string().replace(&format!("#{share}"), "")).unwrap();
            assert_eq!(*part, clobbered, "{share} in four of all names");
        }
    }
}
