//! Sources as they are written, and what comes of a target in them.

use std::fs;
use std::path::Path;

use cuebook_datalayer::fragile::{Fragile, FragileTarget};
use cuebook_grammar::candidate::ControlKind;
use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::role::Role;
use cuebook_grammar::sample;
use tempfile::TempDir;

use super::*;
use crate::markup::{Markup, Syntax};

const ALL: [&str; 4] = ["data-testid", "data-test-id", "data-test", "data-qa"];

fn target(role: Role, tag: &str, name: &str) -> FragileTarget {
    let mut target = FragileTarget::default();
    target.role = role;
    target.name = name.to_owned();
    target.element = Some(Box::new(ElementFacts { tag: tag.to_owned(), ..ElementFacts::default() }));
    target
}

fn element(target: &mut FragileTarget) -> &mut ElementFacts {
    target.element.as_mut().unwrap()
}

/// The button of a page, with the path and the context of an observation.
fn observed(name: &str, path: &str, context: &str) -> FragileTarget {
    let mut candidate = sample::page(&format!("button {name:?}")).candidates.remove(0);
    candidate.fingerprint.path = path.to_owned();
    candidate.context = Some(context.to_owned()).filter(|context| !context.is_empty());
    let mut target = button(name);
    target.candidate = Some(Box::new(candidate));
    target
}

fn button(name: &str) -> FragileTarget {
    target(Role::Button, "button", name)
}

fn fragile(targets: Vec<FragileTarget>) -> Fragile {
    let mut fragile = Fragile::default();
    fragile.targets = targets;
    fragile
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Reads the folder, proposes, and writes. Returns the outcomes in short.
fn write(folder: &Path, targets: Vec<FragileTarget>) -> Vec<String> {
    let source = Source::read(folder).unwrap();
    let all = ALL.map(str::to_owned);
    let proposal = suggest(&source, fragile(targets), Attributes { chosen: "data-testid", all: &all });
    proposal.write().unwrap();
    proposal.suggestions.iter().map(|suggestion| short(&suggestion.outcome)).collect()
}

fn short(outcome: &Outcome) -> String {
    let at = |place: &Place| format!("{}:{}", place.file, place.line);
    match outcome {
        Outcome::Added { test_id, place } => format!("{test_id} {}", at(place)),
        Outcome::Present { attribute, .. } => format!("present {attribute}"),
        Outcome::NotFound => "not found".to_owned(),
        Outcome::Ambiguous { places } => {
            format!("ambiguous {}", places.iter().map(at).collect::<Vec<_>>().join(" "))
        }
        Outcome::Repeated { by, .. } => format!("repeated by {by}"),
        Outcome::Component { places } => format!("component {}", places[0].tag),
    }
}

/// One file, one target: the outcome, and the file afterwards.
fn one(path: &str, text: &str, target: FragileTarget) -> (String, String) {
    let folder = folder(&[(path, text)]);
    let outcome = write(folder.path(), vec![target]).remove(0);
    (outcome, fs::read_to_string(folder.path().join(path)).unwrap())
}

#[test]
fn an_id_stands_after_the_tag_and_nothing_else_changes() {
    let text = "\u{feff}<form id=\"checkout\">\r\n\t<!-- <button>Place order</button> -->\r\n\t<button\r\n\t\tclass=go >Place\r\n order</button>\r\n</form>";
    let (outcome, written) = one("index.html", text, button("Place order"));
    assert_eq!(outcome, "checkout-place-order index.html:3");
    assert_eq!(written, text.replace("<button\r", "<button data-testid=\"checkout-place-order\"\r"));
}

#[test]
fn html_is_matched_by_label_placeholder_value_href_and_alt() {
    let page = "<label>Full name <input></label><label for=m>E-mail</label><input id=m>\
                <input placeholder='Postal &amp; code'><input type=submit value=Send><input type=password>\
                <a href='/help'><img alt=Help></a><textarea aria-label=Note></textarea>";
    let field = |name: &str| target(Role::TextBox, "input", name);
    let labelled = |name: &str, label: &str| {
        let mut target = field(name);
        element(&mut target).labels.push(label.to_owned());
        target
    };
    let mut postal = field("Postal & code");
    element(&mut postal).placeholder = Some("Postal & code".to_owned());
    let targets = vec![
        field("Full name"),
        labelled("E-mail", "E-mail"),
        postal,
        target(Role::Button, "input", "Send"),
        target(Role::Link, "a", "Help"),
        target(Role::TextBox, "textarea", "Note"),
        target(Role::TextBox, "textarea", "Other"),
    ];
    let folder = folder(&[("page.html", page)]);
    let outcomes = write(folder.path(), targets);
    assert_eq!(
        outcomes,
        [
            "full-name page.html:1",
            "e-mail page.html:1",
            "postal-code page.html:1",
            "send page.html:1",
            "help page.html:1",
            "note page.html:1",
            "not found"
        ]
    );
    let written = fs::read_to_string(folder.path().join("page.html")).unwrap();
    for part in [
        "Full name <input data-testid=\"full-name\">",
        "<input data-testid=\"e-mail\" id=m>",
        "<input data-testid=\"postal-code\" placeholder",
        "<input data-testid=\"send\" type=submit",
        "<a data-testid=\"help\" href",
    ] {
        assert!(written.contains(part), "{part} in {written}");
    }
}

#[test]
fn jsx_and_tsx_are_read_with_expressions_and_fragments() {
    let text = r#"export function CheckoutForm<T,>({ busy, ...rest }: Props<T>) {
  return (
    <>
      {/* <button>Place order</button> */}
      <Field render={<button>Inner</button>} />
      <input type="email" placeholder={'Your e-mail'} value={mail} onChange={(e) => set(e.target.value)} />
      {busy ? <Spinner /> : <button {...rest} className={cx("a", { b: busy })} type="submit">Place {"order"}</button>}
      <button onClick={() => go<T>(1)}>{busy ? "Saving" : `Save`}</button>
      <button>Cart ({count})</button>
    </>
  );
}
"#;
    for name in ["CheckoutForm.tsx", "CheckoutForm.jsx"] {
        let text =
            if name.ends_with("jsx") { text.replace("<T,>", "").replace(": Props<T>", "") } else { text.to_owned() };
        let text = if name.ends_with("jsx") { text.replace("go<T>", "go") } else { text };
        let folder = folder(&[(name, &text)]);
        let mut email = target(Role::TextBox, "input", "Your e-mail");
        element(&mut email).placeholder = Some("Your e-mail".to_owned());
        let targets =
            vec![button("Place order"), button("Save"), button("Cart (3)"), button("Inner"), email, button("Gone")];
        let outcomes = write(folder.path(), targets);
        let expected = ["place-order", "save", "cart", "inner", "your-e-mail"].map(|id| format!("checkout-form-{id} "));
        for (outcome, expected) in outcomes.iter().zip(expected) {
            assert!(outcome.starts_with(&expected), "{name}: {outcomes:?}");
        }
        assert_eq!(outcomes[5], "not found");
        let written = fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(written.contains("<button data-testid=\"checkout-form-place-order\" {...rest}"), "{written}");
        assert!(written.contains("<input data-testid=\"checkout-form-your-e-mail\" type="), "{written}");
        let again = Source::read(folder.path()).unwrap();
        assert!(!again.files[0].markup.elements.is_empty());
        assert_eq!(write(folder.path(), vec![button("Save")]), ["present data-testid=\"checkout-form-save\""]);
    }
}

#[test]
fn templates_of_vue_are_read_with_directives_and_choices() {
    let text = "<script setup lang=\"ts\">\nconst a = x < 1 ? '<b>' : `</template>`\n</script>\n\n<template>\n  <section>\n    \
                <button @click=\"a > 1 && go()\" :class=\"{ on: a }\"><span v-if=\"busy\">Saving</span><span v-else>Save</span></button>\n    \
                <button v-else :disabled=\"x\">{{ ok ? 'Pay now' : 'Wait' }}</button>\n    \
                <li v-for=\"one in all\" :key=\"one.id\"><button>Remove</button></li>\n    <BaseButton label=\"Send\" />\n    \
                <router-link to=\"/help\">Help</router-link>\n  </section>\n</template>\n<style>b > i {}</style>\n";
    let folder = folder(&[("src/CartPage.vue", text)]);
    let targets =
        vec![button("Save"), button("Pay now"), button("Remove"), button("Send"), target(Role::Link, "a", "Help")];
    assert_eq!(
        write(folder.path(), targets),
        [
            "cart-page-save src/CartPage.vue:7",
            "cart-page-pay-now src/CartPage.vue:8",
            "repeated by `v-for`",
            "component BaseButton",
            "cart-page-help src/CartPage.vue:11"
        ]
    );
}

#[test]
fn what_a_loop_makes_gets_no_id() {
    let row = "export const Row = ({ item }) => <li><button>Delete</button></li>;";
    let list = "const List = () => <ul>{items.map((item) => <Row key={item} item={item} />)}</ul>;\n\
                const Other = () => <p>{items.map(i => <button>Pick</button>)}<button>New</button></p>";
    let folder = folder(&[
        ("Row.jsx", row),
        ("List.jsx", list),
        ("t.html", "{% for a in b %}<button>Buy</button>{% endfor %}<button>Ok</button>"),
    ]);
    assert_eq!(
        write(folder.path(), vec![button("Delete"), button("Pick"), button("New"), button("Buy"), button("Ok")]),
        [
            "repeated by `.map()` in List.jsx:1",
            "repeated by `.map()`",
            "list-new List.jsx:2",
            "repeated by a loop of the template",
            "t-ok t.html:1"
        ]
    );
    let mut twin = button("Edit");
    twin.alike = 3;
    let mut other = button("Open Bob");
    other.others.insert("Open Ann".to_owned());
    assert_eq!(one("a.jsx", "const A = () => <button>Edit</button>", twin).0, "repeated by a page has 3 of them");
    assert_eq!(
        one("a.jsx", "const A = ({who}) => <button>Open {who}</button>", other).0,
        "repeated by a page has \"Open Ann\" as well"
    );
}

#[test]
fn several_places_are_named_unless_one_fits_better() {
    let page = "<form id=billing><button>Save</button></form><form id=shipping><button>Save</button></form>";
    assert_eq!(one("a.html", page, button("Save")).0, "ambiguous a.html:1 a.html:1");
    let mut within = observed("Save", "html>body>form#shipping>button", "");
    within.alike = 2;
    let (outcome, written) = one("a.html", page, within);
    assert_eq!(outcome, "shipping-save a.html:1");
    assert!(written.contains("<form id=shipping><button data-testid"), "{written}");
    let near =
        "<section><h2>Home</h2><button>Edit</button></section><section><h2>Work</h2><button>Edit</button></section>";
    let (_, written) = one("a.html", near, observed("Edit", "html>body>section>button", "group: Work"));
    assert!(written.contains("<h2>Work</h2><button data-testid"), "{written}");
}

#[test]
fn a_target_of_a_selector_is_found_by_its_classes() {
    let mut target = FragileTarget::default();
    target.locator = Some(Locator::css("form > .btn.primary:enabled"));
    let page = "<button class=btn>A</button><button class='primary wide btn' id=pay>Pay</button>";
    assert_eq!(one("shop.html", page, target.clone()).0, "shop-pay shop.html:1");
    target.locator = Some(Locator::css("INPUT#a[name='zip'][type=text]"));
    assert_eq!(one("shop.html", "<input name=zip><input id=a name=zip>", target.clone()).0, "shop-a shop.html:1");
    for hostile in ["[", "[=", "#é.é#", "a[b", ":::", ">", "...."] {
        target.locator = Some(Locator::css(hostile));
        assert_ne!(one("shop.html", page, target.clone()).0, "");
    }
}

#[test]
fn ids_collide_with_nothing_in_the_source_or_on_the_pages() {
    let files = [
        ("a.html", "<button>Save</button><i data-qa=x></i>"),
        ("save.test.ts", "getByTestId('a-save')"),
        ("b.tsx", "const B = () => <button data-test={id}>Keep</button>; const C = () => <button>Drop</button>"),
    ];
    let folder = folder(&files);
    let source = Source::read(folder.path()).unwrap();
    let all = ALL.map(str::to_owned);
    let mut seen = fragile(vec![button("Save"), button("Keep"), button("Drop"), button("drop")]);
    seen.test_ids = ["a-save-button", "b-drop"].map(str::to_owned).into();
    let proposed = || suggest(&source, seen.clone(), Attributes { chosen: "data-qa", all: &all });
    let outcomes: Vec<String> = proposed().suggestions.iter().map(|one| short(&one.outcome)).collect();
    assert_eq!(outcomes, ["a-save-2 a.html:1", "present data-test", "b-drop-button b.tsx:1", "b-drop-button b.tsx:1"]);
    assert_eq!(proposed().patch(), proposed().patch());
    let patch = proposed().patch();
    assert_eq!(patch.matches("\n+").count(), 4, "two files, one line each: {patch}");
    assert!(patch.starts_with("--- a/a.html\n+++ b/a.html\n@@"), "{patch}");
    assert_eq!(fs::read_to_string(folder.path().join("a.html")).unwrap(), files[0].1, "nothing is written by itself");
}

#[test]
fn what_is_ignored_built_hidden_or_beside_is_not_patched() {
    let page = "<button>Save</button>";
    let mut files: Vec<(&str, &str)> = [
        "node_modules/a/x.html",
        "dist/x.html",
        "app/build/x.html",
        ".cache/x.html",
        "generated/x.html",
        "x.min.html",
        "Save.stories.jsx",
    ]
    .map(|path| (path, page))
    .into();
    files.extend([(".gitignore", "generated/\n*.min.html\n"), ("src/x.html", page)]);
    assert_eq!(write(folder(&files).path(), vec![button("Save")]), ["x-save src/x.html:1"]);
    // A folder that is named is read, whatever it is called.
    let built = folder(&[("dist/x.html", page)]);
    assert_eq!(write(&built.path().join("dist"), vec![button("Save")]), ["x-save x.html:1"]);
}

#[test]
fn a_file_that_changed_or_became_a_link_is_refused_with_all_others() {
    let page = "<button>Save</button><button>Keep</button>";
    let folder =
        folder(&[("a.html", "<button>Keep</button>"), ("in/b.html", "<button>Save</button>"), ("out.txt", page)]);
    let source = Source::read(&folder.path().join(".")).unwrap();
    let all = ALL.map(str::to_owned);
    let targets = fragile(vec![button("Save"), button("Keep")]);
    let proposal = suggest(&source, targets, Attributes { chosen: "data-testid", all: &all });
    assert_eq!(proposal.files().collect::<Vec<_>>(), ["a.html", "in/b.html"]);
    let path = folder.path().join("in/b.html");
    fs::write(&path, "<button>Save</button> ").unwrap();
    assert!(matches!(proposal.write(), Err(SuggestError::Changed { path }) if path == Path::new("in/b.html")));
    fs::remove_file(&path).unwrap();
    #[cfg(unix)]
    {
        let victim = TempDir::new().unwrap();
        fs::write(victim.path().join("b.html"), "<button>Save</button>").unwrap();
        std::os::unix::fs::symlink(victim.path().join("b.html"), &path).unwrap();
        assert!(matches!(proposal.write(), Err(SuggestError::Outside { .. })));
        // The folder of the file leads out.
        fs::remove_dir_all(folder.path().join("in")).unwrap();
        std::os::unix::fs::symlink(victim.path(), folder.path().join("in")).unwrap();
        assert!(matches!(proposal.write(), Err(SuggestError::Outside { .. })));
        assert_eq!(fs::read_to_string(victim.path().join("b.html")).unwrap(), "<button>Save</button>");
        let again = Source::read(folder.path()).unwrap();
        assert_eq!(again.files.len(), 1, "links are not read");
    }
    assert_eq!(fs::read_to_string(folder.path().join("a.html")).unwrap(), "<button>Keep</button>");
}

#[test]
fn an_attribute_of_every_element_is_read_again() {
    let html =
        "<!doctype html><p>a<br/><input disabled><a href=x>b</a><MyItem\n/><svg><path d='M1'/></svg><li>c<li>d</p>";
    let vue =
        "<script>let a = '<b>'</script><template><p v-if=\"a > b\" @click='x'>{{ a < b }}<my-item/></p></template>";
    let jsx = "const A = () => <><a.B c={<i/>} {...d}>{e ? <p>f</p> : <q/>}</a.B><ns:g/>{h.map((i) => <li key={i}>j</li>)}</>;";
    let tsx = "const A = <T,>(x: T): JSX.Element => <List<T> of={x as T}>{(y: T) => <Item<T>/>}</List>;";
    for (name, text, count) in [("a.html", html, 8), ("a.vue", vue, 3), ("a.jsx", jsx, 6), ("a.tsx", tsx, 2)] {
        let syntax = Syntax::of(Path::new(name)).unwrap();
        let first = Markup::read(text, syntax, "a");
        let mut changed = text.to_owned();
        for element in first.elements.iter().rev() {
            changed.insert_str(element.insert_at, " data-testid=\"x\"");
        }
        let again = Markup::read(&changed, syntax, "a");
        let tags = |markup: &Markup| markup.elements.iter().map(|element| element.tag.clone()).collect::<Vec<_>>();
        assert_eq!(tags(&again), tags(&first), "{changed}");
        assert!(again.elements.iter().all(|element| element.literal("data-testid") == Some("x")), "{changed}");
        assert!(first.elements.len() >= count, "{name}: {:?}", tags(&first));
    }
}

#[test]
fn hostile_source_is_bounded_and_does_not_fail() {
    let deep_html = "<div>\n".repeat(100_000) + "<button>Save</button>";
    let deep_jsx = format!("const A = () => {}<b/>{};", "<a>{x &&\n".repeat(20_000), "}</a>\n".repeat(20_000));
    let files = [
        ("deep.html", deep_html.as_str()),
        ("deep.jsx", deep_jsx.as_str()),
        ("broken.tsx", "const A = () => <button>Save</buton><<<{{{ `${ <"),
        ("unclosed.vue", "<template><button>Save<div><template v-for=></p><button"),
        ("noise.html", "<<<>>&&&<button <button \u{0}\u{202e}{{ {{ }} {% for %}"),
    ];
    for (path, text) in files {
        let syntax = Syntax::of(Path::new(path)).unwrap();
        let markup = Markup::read(text, syntax, "x");
        assert!(markup.elements.len() <= 50_000, "{path}");
        for element in &markup.elements {
            assert!(text.is_char_boundary(element.insert_at), "{path}");
        }
    }
    assert!(Markup::read(&deep_html, Syntax::Html, "x").is_cut);
    assert_eq!(Markup::read(&deep_jsx, Syntax::Script, "x").elements.len(), 20_001);
    let flat = "<br><li/><p></p>\n".repeat(5_000);
    assert_eq!(Markup::read(&flat, Syntax::Html, "x").elements.len(), 15_000);
    let huge = "x".repeat(2 << 20);
    let wide = format!("<p>{}</p><button>Save</button>", "x".repeat(20_000));
    let folder = folder(&[("huge.html", &huge), ("generated.html", &wide), ("deep.html", &deep_html)]);
    fs::write(folder.path().join("latin.html"), b"<button>Sav\xe9</button>").unwrap();
    let source = Source::read(folder.path()).unwrap();
    let skipped: Vec<String> = source.skipped.iter().map(|path| path.display().to_string()).collect();
    assert!(
        ["deep.html", "generated.html", "huge.html", "latin.html"]
            .iter()
            .all(|path| skipped.contains(&(*path).to_owned())),
        "{skipped:?}"
    );
}

#[test]
fn traits_that_the_source_contradicts_exclude_a_place() {
    let page = "<input placeholder=Search type=checkbox><input placeholder=Search aria-label=Other><input id=b placeholder=Search>";
    let mut search = target(Role::TextBox, "input", "Search");
    let mut candidate = sample::page("textbox \"Search\"").candidates.remove(0);
    candidate.fingerprint.path = "html>body>input".to_owned();
    (candidate.placeholder, candidate.control) = (Some("Search".to_owned()), ControlKind::Text);
    search.candidate = Some(Box::new(candidate));
    let (outcome, written) = one("a.html", page, search);
    assert_eq!(outcome, "a-search a.html:1");
    assert!(written.contains("<input data-testid=\"a-search\" id=b"), "{written}");
}
