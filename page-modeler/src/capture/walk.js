// One walk over a document: what a person could act on, and the page in a few lines.
//
// Everything is read in one synchronous call, so that a row and its box are of one moment. Nothing is
// written but marks of ours on wrappers of this world.
(cb) => {
  const { attr, tagOf, typeOf, matches, hasAttribute, collapse, cut, lookOf, roleOf } = cb.tools;
  const WIDGETS = new Set(["button", "link", "checkbox", "radio", "switch", "textbox", "searchbox", "combobox", "listbox", "slider", "spinbutton", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "treeitem"]);
  const HANDLERS = ["onclick", "onmousedown", "onpointerdown", "ondblclick", "onmouseup", "ontouchstart"];
  const HOSTABLE = new Set(["article", "aside", "blockquote", "div", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "main", "nav", "p", "section", "span"]);
  const TEXT = new Set(["text", "search", "tel", "url", "email"]);
  const DATES = new Set(["date", "time", "month", "week", "datetime-local"]);

  // Marks the document dirty; whoever asks compares generations.
  let generation = 0;
  const bump = () => { generation++; };
  const observer = new MutationObserver(bump);
  const watched = new WeakSet();
  const watch = (root) => {
    if (watched.has(root)) return;
    watched.add(root);
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
    for (const name of ["input", "change", "focusin", "focusout", "toggle", "slotchange", "load", "transitionend"]) root.addEventListener(name, bump, { capture: true, passive: true });
  };

  const examined = new WeakSet();
  const kindOf = (element, role) => {
    const tag = tagOf(element);
    if (tag === "select") return "select";
    if (tag === "textarea") return "multiline";
    if (tag === "input") {
      const type = typeOf(element);
      if (type === "password") return "password";
      if (TEXT.has(type)) return "text";
      if (DATES.has(type)) return "dateTime";
      if (type === "checkbox" || type === "radio") return "check";
      if (type === "number" || type === "range" || type === "color" || type === "file") return type;
      return "plain";
    }
    if (cb.isEditingHost(element)) return "richText";
    if (["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"].includes(role)) return "check";
    return "plain";
  };
  const isNative = (element, tag) => {
    switch (tag) {
      case "a": case "area": return hasAttribute(element, "href") || hasAttribute(element, "xlink:href");
      case "button": case "select": case "textarea": return true;
      case "input": return typeOf(element) !== "hidden";
      case "summary": return roleOf(element) === "button";
      case "video": case "audio": return hasAttribute(element, "controls");
      default: return false;
    }
  };
  /** Why an element is something to act on; empty if it is not. `pointed` tells that an ancestor has the pointer cursor. */
  const reasonOf = (element, tag, pointed) => {
    if (isNative(element, tag)) return "native";
    const stated = attr(element, "role");
    if (stated && WIDGETS.has(roleOf(element))) return "role";
    if (cb.isEditingHost(element)) return "editable";
    if (tag === "body" || tag === "html" || tag === "option" || tag === "optgroup") return "";
    const tabindex = attr(element, "tabindex");
    if (tabindex !== null && Number.parseInt(tabindex, 10) >= 0) return "tabindex";
    for (const name of HANDLERS) if (hasAttribute(element, name)) return "handler";
    if (attr(element, "draggable") === "true" && tag !== "img") return "draggable";
    if (!pointed && lookOf(element).cursor === "pointer") return "pointer";
    return "";
  };

  const describe = (element) => {
    if (!element) return "nothing";
    const id = attr(element, "id");
    const name = (attr(element, "class") ?? "").trim().split(/\s+/)[0];
    return cut(tagOf(element) + (id ? `#${id}` : name ? `.${name}` : ""), 80);
  };
  /** Whether a hit counts as hitting the element: itself, what it holds, what holds it, or its label. */
  const belongs = (element, stand, hit) => {
    if (!hit || cb.contains(element, hit) || cb.contains(stand, hit) || cb.contains(hit, element)) return true;
    for (const label of cb.labelsOf(element)) if (cb.contains(label, hit)) return true;
    return false;
  };
  const occlusionOf = (element, stand, shown) => {
    const inset = (share) => [shown.x + shown.width * share, shown.y + shown.height * share];
    const [cx, cy] = inset(0.5);
    const [lx, ly] = inset(0.2);
    const [rx, ry] = inset(0.8);
    const points = shown.width * shown.height < 1500 ? [[cx, cy]] : [[cx, cy], [lx, ly], [rx, ry], [rx, ly], [lx, ry]];
    let covered = 0;
    let by = null;
    for (let i = 0; i < points.length; i++) {
      // Where nothing lies over the middle and two opposite corners, the others are not asked.
      if (i === 3 && !covered) return undefined;
      const hit = cb.elementAt(...points[i]);
      if (!belongs(element, stand, hit)) { covered++; by ??= hit; }
    }
    return covered ? { ratio: covered / points.length, by: describe(by) } : undefined;
  };

  const HAND_WRITTEN = /^[A-Za-z][A-Za-z_-]{1,40}$/;
  const segmentOf = (element) => {
    const id = attr(element, "id");
    const role = attr(element, "role");
    return tagOf(element).slice(0, 40) + (id && HAND_WRITTEN.test(id) ? `#${id}` : "") + (role && /^[a-z]{2,20}$/.test(role) ? `[${role}]` : "");
  };

  // Positions among siblings, counted once per parent.
  const ordinalsIn = (parent, ordinals) => {
    let known = ordinals.get(parent);
    if (known) return known;
    known = new Map();
    const counts = new Map();
    for (const child of parent.children ?? []) {
      const count = (counts.get(tagOf(child)) ?? 0) + 1;
      counts.set(tagOf(child), count);
      known.set(child, count);
    }
    ordinals.set(parent, known);
    return known;
  };
  const SELECTOR_LIMIT = 900;
  /** A selector of an element's place, from the nearest unique id down; nothing within shadow roots. */
  const cssOf = (element, run) => {
    if (cb.tools.rootNode(element) !== document) return undefined;
    const chain = [];
    let selector = "";
    for (let up = element; up; up = cb.composedParentOf(up)) {
      const known = run.selectors.get(up);
      if (known !== undefined) { selector = known; break; }
      chain.push(up);
      if (chain.length > 1000) return undefined;
    }
    while (chain.length) {
      const up = chain.pop();
      if (selector !== null) {
        const id = attr(up, "id");
        const tag = tagOf(up);
        if (id && /^[A-Za-z][\w-]{0,60}$/.test(id) && cb.tools.queryAll(document, `#${id}`).length === 1) selector = `#${id}`;
        else if (!/^[a-z][a-z0-9-]*$/i.test(tag)) selector = null;
        else {
          const parent = cb.tools.parentNode(up);
          const step = tag === "html" || tag === "body" ? tag : `${tag}:nth-of-type(${parent ? ordinalsIn(parent, run.ordinals).get(up) ?? 1 : 1})`;
          selector = selector ? `${selector} > ${step}` : step;
          if (selector.length > SELECTOR_LIMIT) selector = null;
        }
      } else {
        const id = attr(up, "id");
        if (id && /^[A-Za-z][\w-]{0,60}$/.test(id) && cb.tools.queryAll(document, `#${id}`).length === 1) selector = `#${id}`;
      }
      run.selectors.set(up, selector);
    }
    return selector ?? undefined;
  };

  const ICON_FONT = /icon|material|glyph|awesome|symbol/i;
  /** The texts in an element that an icon font draws as pictures. */
  const ligaturesOf = (element) => {
    const found = [];
    const look = (node, depth) => {
      if (depth > 4 || found.length > 4) return;
      for (const child of cb.childrenOf(node).slice(0, 20)) {
        if (cb.tools.nodeType(child) === 1) look(child, depth + 1);
        else if (cb.tools.nodeType(child) === 3) {
          const text = collapse(child.data.slice(0, 60));
          if (text && /^[a-z0-9_]{2,40}$/.test(text) && ICON_FONT.test(cb.styleOf(node).fontFamily)) found.push(text);
        }
      }
    };
    look(element, 0);
    return found;
  };

  const shortText = (text, limit = 80) => cut(collapse(text), limit);
  /** The visible text of a container without what can be acted on in it. */
  const ownText = (container, limit = 80) => {
    let text = "";
    const read = (node, depth) => {
      if (text.length > limit * 2 || depth > 12) return;
      for (const child of cb.childrenOf(node)) {
        if (text.length > limit * 2) return;
        if (cb.tools.nodeType(child) === 3) text += child.data.slice(0, limit * 3);
        else if (cb.tools.nodeType(child) === 1) {
          const tag = tagOf(child);
          if (["script", "style", "template", "button", "input", "select", "textarea"].includes(tag) || cb.isHidden(child)) continue;
          const role = attr(child, "role");
          if (role === "button" || role === "checkbox") continue;
          text += " ";
          read(child, depth + 1);
          text += " ";
        }
      }
    };
    read(container, 0);
    return shortText(text, limit);
  };
  const rowTexts = (row) => {
    const cells = cb.childrenOf(row).filter((cell) => cb.tools.nodeType(cell) === 1);
    const texts = [];
    for (const cell of cells.slice(0, 20)) {
      const role = roleOf(cell);
      const text = ownText(cell);
      if (!text) continue;
      if (role === "rowheader") texts.unshift(text); else texts.push(text);
    }
    if (!texts.length) { const whole = ownText(row); if (whole) texts.push(whole); }
    return texts;
  };
  const containerTexts = (element, run) => {
    let known = run.containers.get(element);
    if (known) return known;
    known = [];
    const tag = tagOf(element);
    const role = roleOf(element);
    const add = (kind, text) => { if (text) known.push([kind, text]); };
    const named = (kind) => add(kind, shortText(cb.nameOf(element)) || headingIn(element));
    if (role === "row") for (const text of rowTexts(element).slice(0, 4)) add("row", text);
    else if (role === "listitem") { add("list item", headingIn(element)); add("list item", ownText(element)); }
    else if (role === "article") { add("article", shortText(cb.nameOf(element))); add("article", headingIn(element)); add("article", ownText(element)); }
    else if (role === "treeitem" || role === "option" || role === "menuitem") add(role, ownText(element));
    else if (role === "group" || role === "radiogroup") add("group", shortText(cb.nameOf(element)));
    else if (role === "dialog" || role === "alertdialog") named("dialog");
    else if (role === "form" || tag === "form") add("form", shortText(attr(element, "aria-label") ?? "") || headingIn(element) || shortText(attr(element, "name") ?? attr(element, "id") ?? ""));
    else if (role === "region" || role === "tabpanel" || tag === "section") named(role === "tabpanel" ? "tab panel" : "section");
    else if (role === "navigation" || role === "banner" || role === "contentinfo" || role === "complementary" || role === "search" || role === "toolbar" || role === "main") add(role, shortText(cb.nameOf(element)) || `the ${role}`);
    else if (role === "table" || role === "grid") add("table", shortText(cb.nameOf(element)));
    else if (tag === "div") { const heading = ownHeading(element); if (heading) add("under", heading); }
    run.containers.set(element, known);
    return known;
  };
  const headingIn = (container) => {
    const heading = cb.tools.queryAll(container, "h1,h2,h3,h4,h5,h6,[role=heading],legend,summary")[0];
    return heading ? shortText(cb.tools.textContent(heading)) : "";
  };
  const ownHeading = (container) => {
    for (const child of container.children ?? []) if (/^h[1-6]$/.test(tagOf(child))) return shortText(cb.tools.textContent(child));
    return "";
  };
  const FIELDS = new Set(["text", "password", "multiline", "select", "check", "number", "range", "color", "file", "dateTime", "richText"]);
  const OUTER = new Set(["body", "html", "form", "fieldset", "main", "section", "article", "aside", "nav", "header", "footer", "dialog", "table", "tbody", "thead", "tfoot", "tr", "ul", "ol", "dl"]);
  /** The text that stands beside an element, on one side, up to the next control. */
  const besideText = (element, forward) => {
    let text = "";
    const step = forward ? cb.tools.nextSibling : cb.tools.previousSibling;
    for (let node = step(element), read = 0; node && read < 20; node = step(node), read++) {
      let piece = "";
      if (cb.tools.nodeType(node) === 3) piece = collapse(cb.tools.textContent(node).slice(-400));
      else if (cb.tools.nodeType(node) === 1) {
        const tag = tagOf(node);
        if (tag === "br" || tag === "script" || tag === "style") { if (text) break; continue; }
        if (cb.isHidden(node)) continue;
        const control = tag === "label" ? cb.tools.control(node) : null;
        if (control && control !== element || matches(node, ACTABLE) || cb.tools.queryAll(node, ACTABLE).length) return { text, ended: true };
        piece = ownText(node);
        if (piece && !/^inline/.test(lookOf(node).display)) { text ||= piece; break; }
      }
      if (piece) text = forward ? `${text} ${piece}` : `${piece} ${text}`;
    }
    return { text, ended: text !== "" };
  };
  /** What a field without a name is called beside it: before it, or after a box to be checked. */
  const besideOf = (element, control) => {
    for (let up = element, depth = 0; up && depth < 5 && !OUTER.has(tagOf(up)); up = cb.tools.parentNode(up), depth++) {
      if (cb.tools.nodeType(up) !== 1) return "";
      for (const forward of control === "check" ? [true, false] : [false]) {
        const { text, ended } = besideText(up, forward);
        const label = shortText(text.replace(/[\s:*]+$/, ""));
        if (label) return label;
        if (ended && !(control === "check" && forward)) return "";
      }
    }
    return "";
  };
  const contextOf = (element, heading, run) => {
    const texts = [];
    for (let up = cb.parentOf(element), depth = 0; up && depth < 60 && texts.length < 12; up = cb.parentOf(up), depth++) {
      for (const one of containerTexts(up, run)) texts.push(one);
    }
    if (heading) texts.push(["after heading", heading]);
    return texts;
  };
  /** The row, list item or article that a candidate stands in: part of its identity. */
  const homeOf = (context) => {
    const first = context.find(([kind]) => kind === "row" || kind === "list item" || kind === "article");
    return first ? `${first[0]}: ${first[1]}` : "";
  };

  const count = (container, selector) => cb.tools.queryAll(container, selector).length;
  const plural = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;
  const summaryOf = (element, tag, role) => {
    const id = attr(element, "id");
    const label = attr(element, "aria-label");
    const name = tag + (id && /^[\w-]{1,40}$/.test(id) ? `#${id}` : "") + (label ? ` ${JSON.stringify(shortText(label, 40))}` : "");
    if (tag === "form" || role === "form" || role === "search") return `${name}: ${plural(count(element, "input:not([type=hidden]),select,textarea"), "input")}`;
    if (tag === "table" || role === "table" || role === "grid") {
      const rows = Array.from(cb.tools.queryAll(element, "tr,[role=row]"));
      const cells = rows[0] ? rows[0].children.length : 0;
      const headers = rows.filter((row) => row.children.length && Array.from(row.children).every((cell) => tagOf(cell) === "th" || attr(cell, "role") === "columnheader")).length;
      return `${name}: ${plural(cells, "col")}, ${plural(rows.length - headers, "row")}`;
    }
    if (tag === "ul" || tag === "ol" || role === "list") return `${name}: ${plural(count(element, ":scope > li, :scope > [role=listitem]"), "item")}`;
    if (role === "navigation") return `${name}: ${plural(count(element, "a[href],[role=link]"), "link")}`;
    if (role === "main" || role === "complementary" || role === "region" || role === "banner" || role === "contentinfo" || role === "dialog" || role === "alertdialog" || role === "tablist" || role === "toolbar" || role === "menu") return `${name}: ${plural(count(element, "a[href],button,input:not([type=hidden]),select,textarea,[role=button],[role=link],[role=tab],[role=menuitem]"), "control")}`;
    return "";
  };
  const LANDMARKS = new Set(["form", "search", "table", "grid", "navigation", "main", "complementary", "region", "dialog", "alertdialog", "banner", "contentinfo", "tablist", "toolbar", "menu"]);
  const metaOf = (selector) => {
    const meta = cb.tools.queryAll(document, selector)[0];
    return meta ? shortText(attr(meta, "content") ?? "", 300) : "";
  };
  const schemaType = () => {
    for (const script of Array.from(cb.tools.queryAll(document, 'script[type="application/ld+json"]')).slice(0, 5)) {
      const found = /"@type"\s*:\s*(?:\[\s*)?"([A-Za-z:/.]{2,60})"/.exec(cb.tools.textContent(script).slice(0, 20000));
      if (found) return found[1];
    }
    return "";
  };

  // What the last walks saw. A walk is not repeated while nothing that it read has changed: mutations and
  // events count generations; what changes without either is read again and compared.
  const kept = { view: null, full: null };
  const KEPT_LIMIT = 20000;
  let stamp = Math.floor(Math.random() * 2 ** 40);
  const isField = (tag) => tag === "input" || tag === "textarea" || tag === "select";
  const fieldOf = (element, tag) => {
    if (tag === "select") return Array.from(cb.tools.selectedOptions(element), (option) => option.index).join() + "/" + cb.tools.choices(element).length;
    const value = `${element.validity?.valid} ${cb.tools.valueOf(element) ?? ""}`;
    return tag === "input" ? `${cb.tools.checked(element)} ${cb.tools.indeterminate(element)} ${typeOf(element)} ${value}` : value;
  };
  const sheetsOf = (root) => {
    let told = "";
    for (const sheet of cb.tools.sheets(root)) {
      let rules = -1;
      try { rules = sheet.cssRules.length; } catch { /* A sheet of another origin tells nothing. */ }
      told += `${rules}${sheet.disabled ? "-" : "+"}`;
    }
    return told;
  };
  const surroundings = (roots) => {
    const scroller = document.scrollingElement ?? document.documentElement;
    const hovered = cb.tools.queryAll(document, ":hover");
    return [document.location?.href, globalThis.innerWidth, globalThis.innerHeight, globalThis.scrollX, globalThis.scrollY, scroller?.scrollWidth, scroller?.scrollHeight, globalThis.devicePixelRatio, cb.tools.focused(document), hovered[hovered.length - 1], cb.tools.isDesigned(document), roots.map(sheetsOf).join("|")];
  };
  const MEASURES = 6;
  const CURSORS = new Map();
  const cursorNumber = (cursor) => {
    let number = CURSORS.get(cursor);
    if (number === undefined) CURSORS.set(cursor, number = CURSORS.size);
    return number;
  };
  /** Boxes, visibility, cursors and shadow roots of what was walked; with `old`, whether all are as they were. */
  const measure = (seen, styles, old) => {
    const found = old ?? new Float64Array(seen.length * MEASURES);
    for (let i = 0, at = 0; i < seen.length; i++) {
      const element = seen[i];
      const { x, y, width, height } = old ? cb.tools.boundingRect(element) : cb.boxOf(element);
      const marks = (cb.tools.shows(element) ? 1 : 0) + (cb.shadowOf(element) ? 2 : 0);
      for (const number of [x, y, width, height, marks, cursorNumber(styles[i].cursor)]) {
        if (!old) found[at] = number;
        else if (found[at] !== number) return null;
        at++;
      }
    }
    return found;
  };
  const hitsOf = (stands) => stands.map((stand) => {
    const shown = cb.intersect(cb.clippedBox(stand), { x: 0, y: 0, width: globalThis.innerWidth, height: globalThis.innerHeight });
    return cb.elementAt(shown.x + shown.width / 2, shown.y + shown.height / 2);
  });
  const keep = (scope, seen, stands, roots, keepable) => {
    kept[scope] = null;
    if (seen.length > KEPT_LIMIT || !keepable) return 0;
    const styles = seen.map((element) => cb.styleOf(element));
    const fields = seen.filter((element) => isField(tagOf(element))).map((element) => [element, fieldOf(element, tagOf(element))]);
    kept[scope] = { stamp: ++stamp, generation, seen, styles, fields, stands, roots, hits: hitsOf(stands), around: surroundings(roots), measures: measure(seen, styles, null) };
    return stamp;
  };
  const unchanged = (scope, known) => {
    const last = kept[scope];
    if (!known || !last || last.stamp !== known || last.generation !== generation) return false;
    const around = surroundings(last.roots);
    if (around.some((one, i) => one !== last.around[i])) return false;
    if (last.fields.some(([element, told]) => fieldOf(element, tagOf(element)) !== told)) return false;
    if (!measure(last.seen, last.styles, last.measures)) return false;
    return hitsOf(last.stands).every((hit, i) => hit === last.hits[i]);
  };

  const COLLECTED = new Set(["tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "treeitem"]);
  const PRESSED = new Set(["link", "button"]);
  /** Which of two nested rows of one name and nearly one box stands for both: "outer", "inner", or neither. */
  const standsForBoth = (outer, inner) => {
    const called = (row) => row.name || row.fallback || "";
    const area = (box) => box.width * box.height;
    if (!called(outer) || called(outer) !== called(inner) || area(inner.box) < area(outer.box) / 2) return "";
    if (outer.reason === "draggable" || inner.reason === "draggable" || outer.control !== "plain" && outer.control !== inner.control) return "";
    const widgets = [outer, inner].map((row) => WIDGETS.has(row.role));
    if (!widgets[1]) return inner.control === "plain" ? "outer" : "";
    if (!widgets[0]) return "inner";
    if (inner.role === outer.role) return inner.reason === "native" && outer.reason !== "native" ? "inner" : "outer";
    return PRESSED.has(inner.role) && (COLLECTED.has(outer.role) || PRESSED.has(outer.role)) ? "outer" : "";
  };
  /** Leaves one row of each widget that is made of two elements. `owners` tells the row around each row. */
  const withoutDoubles = (rows, owners) => {
    const inside = rows.map(() => 0);
    const gone = rows.map(() => false);
    for (const owner of owners) if (owner >= 0) inside[owner]++;
    for (let i = rows.length - 1; i >= 0; i--) {
      const owner = owners[i];
      if (gone[i] || owner < 0 || inside[owner] !== 1 || inside[i] > 0) continue;
      const keeps = standsForBoth(rows[owner], rows[i]);
      if (keeps === "") continue;
      inside[owner] = 0;
      if (keeps === "outer") {
        gone[i] = true;
        if (rows[i].destination) rows[owner].destination ??= rows[i].destination;
      } else {
        // What is left keeps its place in the order, and is compared with the row around both.
        gone[owner] = true;
        owners[i] = owners[owner];
        i++;
      }
    }
    return rows.filter((_, i) => !gone[i]);
  };
  const run = (options) => {
    if (observer.takeRecords().length) generation++;
    if (unchanged(options.scope, options.known)) return { same: true };
    watch(document);
    const seen = [];
    const stands = [];
    const shadows = [document];
    const state = { ordinals: new Map(), containers: new Map(), selectors: new Map() };
    const rows = [];
    const around = [];
    const owners = {};
    const headings = [];
    const landmarks = [];
    const live = [];
    const suspects = [];
    const secrets = [];
    const testIds = new Map();
    let modal = null;
    let heading = "";
    let elements = 0;
    let unwalked = 0;
    let candidates = 0;
    let beyond = 0;
    let offView = 0;
    const height = globalThis.innerHeight;
    const width = globalThis.innerWidth;
    const near = options.scope === "view" ? { x: -width / 2, y: -height / 2, width: width * 2, height: height * 2 } : null;
    const touches = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

    const consider = (element, tag, reason, depth, path, owner) => {
      if (near) {
        // What lies beyond the view is only counted: its own box decides, without the stricter looks.
        const own = cb.boxOf(element);
        if (own.width > 2 && own.height > 2 && !touches(own, near)) {
          if (cb.isVisible(element) && !cb.isOffPage(element, own) && !cb.isAriaHidden(element)) { candidates++; offView++; }
          return;
        }
      }
      const stand = cb.standInOf(element);
      if (!stand || cb.isAriaHidden(element)) return;
      if (reason === "tabindex" && isMereScroller(element)) return;
      candidates++;
      const box = cb.boxOf(stand);
      if (near && !touches(box, near)) { offView++; return; }
      if (rows.length >= options.candidates) { beyond++; return; }
      around.push(owner);
      rows.push(rowOf(element, stand, tag, reason, box, depth, path));
    };
    const isMereScroller = (element) => roleOf(element) === "generic" && lookOf(element).scrolls && !attr(element, "aria-label");

    const rowOf = (element, stand, tag, reason, box, depth, path) => {
      const role = roleOf(element);
      const row = { id: cb.idOf(element), tag: cut(tag, 60), role, name: cut(cb.nameOf(element), 400), reason, states: cb.statesOf(element), control: kindOf(element, role), box, depth: Math.min(depth, 60000), path };
      const put = (key, text) => { if (text) row[key] = text; };
      const sensitive = cb.isSensitive(element);
      if (!row.name) {
        const read = tag === "select" || tag === "input" || tag === "textarea" || role === "textbox" || role === "combobox" ? "" : shortText(cb.contentOf(element), 120);
        put("fallback", read || shortText(attr(element, "title") ?? attr(element, "data-tooltip") ?? attr(element, "alt") ?? attr(element, "placeholder") ?? ""));
      }
      put("title", shortText(attr(element, "title") ?? "", 200));
      if (!row.name && FIELDS.has(row.control)) put("beside", besideOf(element, row.control));
      if (/[a-z_]{3}/.test(row.name || row.fallback || "")) { const icons = ligaturesOf(element); if (icons.length) row.icons = icons; }
      put("description", cut(cb.descriptionOf(element), 300));
      if (sensitive) row.control = row.control === "text" || row.control === "plain" || row.control === "number" || row.control === "multiline" ? "password" : row.control;
      const value = cb.valueOf(element);
      if (value !== undefined && value !== null && value !== "") {
        row.value = cut(value, 2000);
        if (sensitive) { row.sensitive = true; secrets.push(row.value); }
      } else if (sensitive) row.sensitive = true;
      if (tag === "select") { row.options = cb.optionsOf(element, 100); put("value", cut(value ?? "", 500)); }
      const labels = cb.labelTexts(element);
      if (labels.length) row.labels = labels.slice(0, 3).map((text) => cut(text, 200));
      put("placeholder", shortText(attr(element, "placeholder") ?? "", 200));
      put("alt", shortText(attr(element, "alt") ?? "", 200));
      put("testId", cb.testIdOf(element, options.testIds));
      if (tag === "a" || tag === "area") { const to = element.href; put("destination", cut(typeof to === "string" ? to : to?.baseVal ?? "", 2000)); }
      const form = cb.tools.closest(element, "form");
      if (form) put("form", cut(attr(form, "name") || attr(form, "id") || (attr(form, "action") ?? "").split(/[?#]/)[0], 200));
      if (stand !== element) row.stand = cb.idOf(stand);
      const shown = cb.intersect(cb.clippedBox(stand), { x: 0, y: 0, width, height });
      if (shown.width > 0 && shown.height > 0) {
        row.inView = true;
        stands.push(stand);
        const occlusion = occlusionOf(element, stand, shown);
        if (occlusion) row.occlusion = occlusion;
      } else if (modal && !cb.contains(modal, element)) row.occlusion = { ratio: 1, by: describe(modal) };
      const scroller = cb.scrollerOf(stand);
      if (scroller) put("scroller", describe(scroller));
      row.context = contextOf(element, heading, state);
      put("home", homeOf(row.context));
      put("css", cssOf(element, state));
      return row;
    };

    const modals = Array.from(cb.tools.queryAll(document, "dialog:modal, [role=dialog][aria-modal=true], [role=alertdialog][aria-modal=true]")).filter((dialog) => cb.isVisible(dialog));
    modal = modals.at(-1) ?? null;
    const roots = [document.documentElement].filter((root) => root);
    // An explicit stack: a hostile page nests deeper than ours would bear.
    const stack = roots.map((element) => ({ element, depth: 0, structure: 0, path: "", pointed: false, owner: -1 }));
    while (stack.length) {
      const { element, depth, structure, path, pointed, owner } = stack.pop();
      if (elements >= options.elements || depth > options.depth) { unwalked++; continue; }
      elements++;
      const tag = tagOf(element);
      seen.push(element);
      if (tag === "script" || tag === "style" || tag === "template" || tag === "head" || tag === "noscript" || tag === "option" || tag === "optgroup") continue;
      const testId = cb.testIdOf(element, options.testIds);
      if (testId) testIds.set(testId, (testIds.get(testId) ?? 0) + 1);
      if (tag === "iframe" || tag === "frame" || tag === "object" || tag === "embed") {
        const owner = cb.ownerBox(element);
        if (owner) owners[cb.idOf(element)] = { ...owner, css: cssOf(element, state), name: shortText(attr(element, "title") || attr(element, "name") || attr(element, "aria-label") || "", 200) };
        continue;
      }
      const look = lookOf(element);
      if (look.display === "none") {
        // A hidden file input or check box may be worked through its label.
        if (tag === "input") {
          const type = typeOf(element);
          if (type === "checkbox" || type === "radio" || type === "file") consider(element, tag, "native", structure, path ? `${path}>${segmentOf(element)}` : segmentOf(element), owner);
        }
        continue;
      }
      if (hasAttribute(element, "inert") || attr(element, "aria-hidden") === "true" && !cb.isFocusable(element)) continue;
      const segments = path ? `${path}>${segmentOf(element)}` : segmentOf(element);
      const here = segments.length > 300 ? segments.slice(segments.indexOf(">", segments.length - 260) + 1) : segments;
      const before = around.length;
      const reason = tag === "label" ? labelReason(element, pointed) : reasonOf(element, tag, pointed);
      if (reason) consider(element, tag, reason, structure, here, owner);
      const within = around.length > before ? around.length - 1 : owner;
      const role = roleOf(element);
      if (role === "heading") {
        const text = shortText(cb.nameOf(element) || cb.tools.textContent(element), 200);
        if (text && cb.isVisible(element)) {
          heading = cut(text, 80);
          if (headings.length < 40) headings.push({ level: cb.statesOf(element).level ?? 2, text });
        }
      } else if (landmarks.length < 40 && (LANDMARKS.has(role) || tag === "form" || role === "list" && count(element, ":scope > li, :scope > [role=listitem]") >= 3) && cb.isVisible(element)) {
        const summary = summaryOf(element, tag, role);
        if (summary) landmarks.push(summary);
      }
      if (live.length < 20 && (role === "alert" || role === "status" || role === "log" || attr(element, "aria-live") === "assertive" || attr(element, "aria-live") === "polite")) {
        const text = cb.isVisible(element) ? shortText(ownText(element, 300), 300) : "";
        if (text) live.push({ kind: ["alert", "status", "log"].includes(role) ? role : attr(element, "aria-live") === "assertive" ? "alert" : "status", text });
      }
      const states = reason && attr(element, "aria-invalid") ? cb.errorMessageOf(element) : "";
      if (states && live.length < 20) live.push({ kind: "error", text: cut(states, 300) });
      const shadow = cb.shadowOf(element);
      if (shadow) { watch(shadow); shadows.push(shadow); }
      else if (suspects.length < 300 && !examined.has(element) && (tag.includes("-") || HOSTABLE.has(tag) && !cb.tools.firstChild(element))) {
        if (tag.includes("-") || cb.boxOf(element).height > 0) suspects.push(cb.idOf(element));
      }
      const deeper = structure + (role !== "generic" && role !== "none" && role !== "presentation" ? 1 : 0);
      const points = reason !== "" || look.cursor === "pointer";
      const children = cb.childrenOf(element);
      for (let i = children.length - 1; i >= 0; i--) {
        if (cb.tools.nodeType(children[i]) === 1) stack.push({ element: children[i], depth: depth + 1, structure: deeper, path: here, pointed: pointed && look.cursor === "pointer" || points, owner: within });
      }
    }
    for (const row of rows) if (row.testId) row.testIdUnique = testIds.get(row.testId) === 1;
    const scroller = document.scrollingElement ?? document.documentElement;
    // What a password field holds is kept nowhere; closed roots that are still to be found are a change.
    const stamped = keep(options.scope, seen, stands, shadows, !suspects.length && !secrets.length);
    const description = metaOf('meta[name="description"]') || metaOf('meta[property="og:description"]');
    return {
      url: cut(String(document.location?.href ?? ""), 2000), origin: cut(String(globalThis.origin), 300), title: shortText(cb.tools.title(document), 200),
      viewport: { width, height, scrollX: globalThis.scrollX, scrollY: globalThis.scrollY, pageWidth: scroller?.scrollWidth ?? 0, pageHeight: scroller?.scrollHeight ?? 0, devicePixelRatio: globalThis.devicePixelRatio },
      stamp: stamped, rows: withoutDoubles(rows, around), owners, headings, landmarks, live, suspects, secrets, generation, candidates, beyond, offView, unwalked,
      modal: modal ? shortText(cb.nameOf(modal) || headingIn(modal), 200) : undefined,
      meta: { pageType: metaOf('meta[property="og:type"]') || schemaType(), description, language: document.documentElement ? shortText(attr(document.documentElement, "lang") ?? "", 40) : "", hasPassword: count(document, "input[type=password]") > 0 },
    };
  };
  const actable = (element) => reasonOf(element, tagOf(element), true) !== "";
  const ACTABLE = "a[href],button,input:not([type=hidden]),select,textarea,summary,[role=button],[role=link],[role=tab],[role=menuitem],[role=checkbox],[role=radio],[role=switch],[tabindex='0'],[onclick],[contenteditable]";
  /** The number of the thing to act on that stands nearest: around, or within the same row, item or block. */
  const nearest = (element) => {
    for (let up = cb.parentOf(element), depth = 0; up && depth < 30; up = cb.parentOf(up), depth++) if (actable(up)) return cb.idOf(up);
    return nearby(element);
  };
  const nearby = (element) => {
    for (let up = element, depth = 0; up && depth < 5; up = cb.parentOf(up), depth++) {
      const inside = cb.tools.queryAll(up, ACTABLE)[0];
      if (inside) return cb.idOf(inside);
    }
    return 0;
  };
  const resolved = (text) => {
    try { return cut(new URL(text, document.baseURI).href, 2000); } catch { return cut(text, 2000); }
  };
  /** A label is its control's stand-in; one without a control may still be clickable itself. */
  const labelReason = (element, pointed) => {
    const control = cb.tools.control(element);
    if (control) return "";
    return reasonOf(element, "label", pointed);
  };

  return {
    run: (options) => JSON.stringify(cb.once(() => run(options))),
    generation: () => { if (observer.takeRecords().length) generation++; return generation; },
    /** Which of these points something else covers, in a frame that holds the frame that `owner` shows. */
    covered: (owner, points) => cb.once(() => {
      const element = cb.byId(owner);
      return points.map(([x, y]) => {
        const hit = cb.elementAt(x, y);
        return !element || !hit || hit === element || cb.contains(hit, element) ? null : describe(hit);
      });
    }),
    /** The closed shadow roots that the wire found. */
    registered: (root) => { cb.registerClosedRoot(root); return true; },
    /** The page's text in blocks, each with the nearest thing that can be acted on. */
    texts: (limit) => JSON.stringify(cb.once(() => {
      const blocks = [];
      let budget = limit;
      const stack = [{ element: document.body ?? document.documentElement, nearest: 0, depth: 0 }];
      while (stack.length && budget > 0) {
        const { element, nearest, depth } = stack.pop();
        if (!element || depth > 1000 || ["script", "style", "template", "noscript"].includes(tagOf(element)) || cb.isHidden(element)) continue;
        const here = actable(element) ? cb.idOf(element) : nearest;
        const children = cb.childrenOf(element);
        const inline = children.every((child) => cb.tools.nodeType(child) !== 1 || /^inline|contents/.test(lookOf(child).display) && !child.querySelector?.("p,div,li,td,h1,h2,h3"));
        const direct = children.some((child) => cb.tools.nodeType(child) === 3 && /\S/.test(child.data));
        if (direct || inline) {
          const text = cut(cb.textOf(element), 5000);
          if (text) {
            blocks.push([text, here || nearby(element)]);
            budget -= text.length;
          }
          continue;
        }
        for (let i = children.length - 1; i >= 0; i--) if (cb.tools.nodeType(children[i]) === 1) stack.push({ element: children[i], nearest: here, depth: depth + 1 });
      }
      return { blocks, whole: budget > 0 };
    })),
    /** What matches a selector, with attributes; links and sources resolved. */
    find: (selector, attributes, within, limit) => JSON.stringify(cb.once(() => {
      const outer = within ? cb.byId(within) : null;
      const found = cb.byCss(selector).filter((element) => !within || outer && outer !== element && cb.contains(outer, element));
      const elements = found.slice(0, limit).map((element) => {
        const row = { node: cb.idOf(element), tag: cut(tagOf(element), 60), role: roleOf(element), name: cut(cb.nameOf(element), 200), text: cut(cb.textOf(element), 200), visible: cb.isVisible(element), nearest: actable(element) ? cb.idOf(element) : nearest(element) };
        if (attributes.length) {
          row.attributes = {};
          for (const name of attributes) {
            const stated = attr(element, name);
            if (name === "value" && cb.isSensitive(element)) { row.attributes[name] = null; continue; }
            if (name === "value") { const live = cb.valueOf(element); row.attributes[name] = live === undefined ? stated : cut(live, 2000); continue; }
            const url = stated !== null && ["href", "src", "action", "formaction", "poster", "data"].includes(name);
            row.attributes[name] = stated === null ? null : url ? resolved(stated) : cut(stated, 2000);
          }
        }
        return row;
      });
      return { total: found.length, elements };
    })),
    suspects: (ids) => ids.map((id) => cb.byId(id)).filter((element) => element),
    examined: (ids) => { for (const id of ids) { const element = cb.byId(id); if (element) examined.add(element); } },
  };
}
