// A page and changes to it, both drawn from a seed: `randomPage.build(seed)`, then `randomPage.change()` again and again.
globalThis.randomPage = (() => {
  let state = 1;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n) => Math.floor(random() * n);
  const pick = (list) => list[below(list.length)];
  const WORDS = ["Save", "Edit", "Delete", "Name", "E-mail", "Order", "Total", "Open", "Close", "More", "Next", "Alpha", "Beta", "Gamma"];
  const word = () => (below(3) ? pick(WORDS) : `${pick(WORDS)} ${below(20)}`);
  const IDS = ["a1", "a2", "a3", "a4", "a5"];
  const CLASSES = ["hide", "gone", "hand", "clip", "fade", "tag", "wide", "on", ""];
  const RULES = ".hide{visibility:hidden}.gone{display:none}.hand{cursor:pointer}.clip{overflow:hidden;height:30px}.fade{opacity:0}.tag::before{content:'new '}.wide{width:600px}.on .quiet{display:none}.scroll{overflow:auto;height:60px}";
  const make = (tag, attributes = {}, ...kids) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
    element.append(...kids);
    return element;
  };
  const maybe = (value, of = 4) => (below(of) ? undefined : value());
  const common = () => ({ id: maybe(() => pick(IDS), 5), class: maybe(() => pick(CLASSES), 3), title: maybe(word, 8), "data-testid": maybe(() => `t${below(6)}`, 8) });
  const LEAVES = [
    () => make("button", { ...common(), "aria-label": maybe(word, 6) }, word()),
    () => make("a", { ...common(), href: `?${below(9)}` }, word()),
    () => make("button", common(), make("span", { class: maybe(() => pick(CLASSES)) }, word()), " ", word()),
    () => make("label", common(), word(), make("input", { name: word(), type: pick(["text", "checkbox", "radio", "email"]) })),
    () => make("label", { for: pick(IDS) }, word()),
    () => make("input", { ...common(), placeholder: maybe(word), "aria-labelledby": maybe(() => `${pick(IDS)} ${pick(IDS)}`), "aria-describedby": maybe(() => pick(IDS)), type: pick(["text", "checkbox", "number", "password"]) }),
    () => make("div", { ...common(), role: pick(["button", "checkbox", "tab", "link"]), tabindex: "0", "aria-checked": maybe(() => "true") }, word()),
    () => make("div", { ...common(), onclick: "0" }, word()),
    () => make("select", common(), make("option", {}, word()), make("option", {}, word())),
    () => make("p", common(), word(), " ", word()),
    () => make("span", common(), word()),
    () => make("h2", common(), word()),
    () => make("div", { role: pick(["alert", "status"]) }, word()),
    () => make("textarea", common()),
    () => make("div", { ...common(), contenteditable: "true" }, word()),
    () => make("div", { style: `height:${below(900)}px` }),
    () => make("div", { style: `position:absolute;left:${below(400)}px;top:${below(400)}px;width:${below(200)}px;height:${below(60)}px` }),
  ];
  const hosted = (kids) => {
    const host = make(pick(["div", "x-box"]), common(), ...kids);
    const root = host.attachShadow({ mode: "open" });
    root.append(make("style", {}, ".gone{display:none}::slotted(.hide){visibility:hidden}"), leaf(), make("slot", { name: maybe(() => "n") }), leaf());
    return host;
  };
  const leaf = () => pick(LEAVES)();
  const some = (depth) => Array.from({ length: 1 + below(4) }, () => tree(depth - 1));
  const NESTS = [
    (depth) => make("div", common(), ...some(depth)),
    (depth) => make("section", { ...common(), "aria-label": maybe(word) }, ...some(depth)),
    (depth) => make("form", { name: maybe(word) }, ...some(depth)),
    (depth) => make("fieldset", {}, make("legend", {}, word()), ...some(depth)),
    (depth) => make("ul", common(), ...Array.from({ length: 2 + below(4) }, () => make("li", common(), word(), ...some(depth - 1)))),
    (depth) => make("table", {}, make("tbody", {}, ...Array.from({ length: 2 + below(3) }, () => make("tr", {}, make("td", {}, word()), make(pick(["td", "th"]), {}, word()), make("td", {}, ...some(depth - 1)))))),
    (depth) => make("details", { open: maybe(() => "", 2) }, make("summary", {}, word()), ...some(depth)),
    (depth) => make("dialog", { open: maybe(() => "", 2) }, ...some(depth)),
    (depth) => make("div", { class: "scroll" }, ...some(depth)),
    (depth) => make("div", { role: "article" }, ...some(depth)),
    (depth) => hosted(some(depth)),
    (depth) => make("a", { ...common(), href: "?x" }, make("span", {}, word()), ...some(depth)),
    (depth) => make("nav", {}, ...some(depth)),
  ];
  const tree = (depth) => (depth <= 0 || below(5) < 2 ? leaf() : pick(NESTS)(depth));
  const all = () => {
    const found = [];
    const read = (root) => { for (const element of root.querySelectorAll("*")) { found.push(element); if (element.shadowRoot) read(element.shadowRoot); } };
    read(document.body);
    return found.filter((element) => element.localName !== "style");
  };
  const any = (selector) => { const found = all().filter((element) => !selector || element.matches(selector)); return found.length ? pick(found) : document.body; };
  const texts = () => { const found = []; const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); while (walker.nextNode()) if (walker.currentNode.data.trim()) found.push(walker.currentNode); return found; };
  const VALUES = { class: () => pick(CLASSES), id: () => pick(IDS), hidden: () => "", title: word, "aria-label": word, "aria-hidden": () => "true", inert: () => "", disabled: () => "", for: () => pick(IDS), tabindex: () => "0", role: () => pick(["button", "link", "none", "heading", "list", "row"]), style: () => pick(["display:none", "width:50px", "margin-left:40px", "cursor:pointer", "position:fixed;top:0", "opacity:0"]), href: () => `?${below(9)}`, "aria-labelledby": () => pick(IDS), slot: () => "n", onclick: () => "0", open: () => "", placeholder: word, value: word, type: () => pick(["text", "checkbox", "password"]), "aria-expanded": () => pick(["true", "false"]), "data-testid": () => `t${below(6)}`, name: word, "aria-live": () => "polite" };
  const CHANGES = {
    attribute: () => { const name = pick(Object.keys(VALUES)); const element = any(); if (below(3)) element.setAttribute(name, VALUES[name]()); else element.removeAttribute(name); return name; },
    text: () => { const found = texts(); if (found.length) pick(found).data = word(); },
    replaceText: () => { any("button,span,p,h2,li,td,label,legend,summary").append(word()); },
    append: () => { any("div,section,ul,form,td,body,nav").append(tree(2)); },
    prepend: () => { any("div,section,ul,form,td,tbody,nav").prepend(tree(1)); },
    insert: () => { any().before(tree(2)); },
    remove: () => { const element = any(); if (element !== document.body) element.remove(); },
    move: () => { const element = any(); const target = any("div,section,ul,form,td"); let up = target; while (up && up !== element) up = up.parentNode ?? up.host; if (element !== document.body && !up) target.append(element); },
    reorder: () => { const parent = any("ul,tbody,div"); parent.append(...[...parent.children].reverse()); },
    swap: () => { const element = any(); if (element !== document.body) element.replaceWith(tree(1)); },
    html: () => { any("div,section,li,td").innerHTML = `<button>${word()}</button> ${word()}`; },
    value: () => { const field = any("input,textarea"); if ("value" in field && field.type !== "file") field.value = word(); },
    check: () => { const box = any("[type=checkbox],[type=radio]"); if ("checked" in box) box.checked = !box.checked; },
    select: () => { const list = any("select"); if (list.options) list.selectedIndex = below(2); },
    option: () => { const list = any("select"); if (list.options?.length) list.options[0].text = word(); },
    scroll: () => { const box = any(".scroll,.clip"); box.scrollTop = below(200); },
    page: () => { scrollTo(0, below(2000)); },
    focus: () => { any("button,input,a").focus?.(); },
    modal: () => { const dialog = any("dialog"); if (!dialog.showModal) return; if (dialog.open) dialog.close(); else dialog.showModal(); },
    rule: () => { const { sheet } = document.getElementById("rules"); sheet.insertRule(pick([".hand{cursor:default}", ".tag::before{content:'old '}", ".wide{width:90px}", "li{display:inline-block}", "p{display:none}"]), sheet.cssRules.length); },
    root: () => document.documentElement.classList.toggle("on"),
    body: () => document.body.classList.toggle(pick(["on", "tag", "hand"])),
    cut: () => { const found = texts(); if (found.length) pick(found).remove(); },
  };
  return {
    build: (seed) => {
      state = seed;
      document.documentElement.removeAttribute("class");
      document.head.innerHTML = "";
      document.head.append(make("style", { id: "rules" }, RULES));
      document.body.replaceWith(make("body", {}, ...Array.from({ length: 5 }, () => tree(4))));
      scrollTo(0, 0);
    },
    change: () => {
      const name = pick(Object.keys(CHANGES));
      const told = CHANGES[name]();
      return told ? `${name} ${told}` : name;
    },
  };
})();
