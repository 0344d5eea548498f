// Rough filters: what a locator may mean. Whether it does is decided on the facts, elsewhere.
const refuse = (message) => { throw { badSelector: cut(String(message), 300) }; };
const byCss = (selector) => {
  const found = [];
  // Selectors that span a shadow boundary do not match; each tree is searched on its own.
  const search = (root) => {
    let hits;
    try { hits = new Set(queryAll(root, selector)); } catch (error) { refuse(error.message); }
    everyInOrder(root, hits, found);
  };
  const everyInOrder = (root, hits, out) => {
    for (const element of queryAll(root, "*")) {
      if (hits.has(element)) out.push(element);
      const shadow = shadowOf(element);
      if (shadow) everyInOrder(shadow, new Set(queryAll(shadow, selector)), out);
    }
  };
  search(document);
  return found;
};
const byXPath = (expression) => {
  let result;
  try {
    result = document.evaluate(expression, document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
  } catch (error) { refuse(error.message); }
  const found = [];
  for (let i = 0; i < result.snapshotLength && found.length < 5000; i++) {
    const node = result.snapshotItem(i);
    if (isElement(node)) found.push(node);
  }
  return found;
};
const holds = (text, wanted) => text !== null && text !== undefined && (wanted === undefined || collapse(text).toLowerCase().includes(collapse(wanted).toLowerCase()));

cb.locate = (filter, ask) => cb.once(() => {
  const found = [];
  let skipped = 0;
  const inner = (ids) => ids?.map(cb.byId).filter((element) => element);
  const within = inner(filter.within);
  const has = inner(filter.has);
  const texts = new Map();
  const textual = (element) => {
    let text = texts.get(element);
    if (text === undefined) texts.set(element, text = textOf(element));
    return text;
  };
  const relates = (element) => {
    if (within && !within.some((outer) => outer !== element && contains(outer, element))) return false;
    if (has && !has.some((one) => one !== element && contains(element, one))) return false;
    return filter.hasText === undefined || holds(textual(element), filter.hasText);
  };
  const consider = (element, fits) => {
    if (!fits(element) || !relates(element)) return;
    if (found.length < filter.limit) found.push(element); else skipped++;
  };
  const every = (fits) => everyElement(document, (element) => { consider(element, fits); });
  const withAttribute = (name) => (element) => hasAttribute(element, name) && holds(attr(element, name), filter.text);
  let selector;
  switch (filter.by) {
    case "testId": every((element) => holds(testIdOf(element, ask.testIds), filter.text)); break;
    case "role": {
      const presentational = filter.role === "none" || filter.role === "presentation";
      every((element) => roleOf(element) === filter.role && (presentational || !isExcluded(element)) && (filter.text === undefined || holds(nameOf(element), filter.text)));
      break;
    }
    case "label": every((element) => (LABELABLE.has(tagOf(element)) || hasAttribute(element, "aria-label") || hasAttribute(element, "aria-labelledby")) && labelTexts(element).some((text) => holds(text, filter.text))); break;
    case "placeholder": every(withAttribute("placeholder")); break;
    case "alt": every(withAttribute("alt")); break;
    case "title": every(withAttribute("title")); break;
    case "text": every((element) => {
      const tag = tagOf(element);
      if (SKIPPED.has(tag) || tag === "html" || tag === "title" || tag === "meta" || tag === "link" || tag === "base") return false;
      const text = textual(element);
      return text !== "" && holds(text, filter.text);
    }); break;
    case "css": selector = true; for (const element of byCss(filter.selector)) consider(element, () => true); break;
    case "xpath": selector = true; for (const element of byXPath(filter.selector)) consider(element, () => true); break;
  }
  const position = new Map(found.map((element, index) => [element, index]));
  let budget = 4_000_000;
  const rows = [];
  for (const element of found) {
    if (budget <= 0) { skipped++; continue; }
    const facts = factsOf(element, { ...ask, text: false });
    if (ask.text) { facts.text = textual(element); budget -= facts.text.length; }
    const relations = {};
    if (selector) relations.selector = true;
    if (within) relations.within = true;
    if (has) relations.has = true;
    facts.relations = relations;
    const row = { id: cb.idOf(element), facts };
    if (filter.by === "text") {
      for (let up = flatParent(element); up; up = flatParent(up)) {
        if (position.has(up)) { row.parent = position.get(up); break; }
      }
    }
    rows.push(row);
  }
  return { rows, skipped };
});
cb.byCss = byCss;
