  // What is written around an element: icons, rows and items, what stands beside a field.
  const ICON_FONT = /icon|material|glyph|awesome|symbol/i;
  /** The texts in an element that an icon font draws as pictures. */
  const ligaturesOf = (element) => {
    const found = [];
    const look = (node, depth) => {
      if (depth > 4 || found.length > 4) return;
      for (const child of cb.childrenOf(node).slice(0, 20)) {
        if (cb.tools.nodeType(child) === 1) look(child, depth + 1);
        else if (cb.tools.nodeType(child) === 3) {
          const text = collapse(cb.tools.characterData(child).slice(0, 60));
          if (text && /^[a-z0-9_]{2,40}$/.test(text) && ICON_FONT.test(cb.styleOf(node).fontFamily)) found.push(text);
        }
      }
    };
    look(element, 0);
    return found;
  };

  /** What a page wrote, on one line; of megabytes only the beginning is read. */
  const shortText = (text, limit = 80) => cut(collapse(text.slice(0, 20_000)), limit);
  /** The beginning of what is written in an element, hidden or not. */
  const textHead = (element, limit = 2000) => {
    const walker = cb.tools.textsIn(element);
    let text = "";
    while (text.length < limit && walker.nextNode()) text += cb.tools.characterData(walker.currentNode).slice(0, limit);
    return text;
  };
  /** The visible text of a container without what can be acted on in it. */
  const ownText = (container, limit = 80) => {
    let text = "";
    const read = (node, depth) => {
      if (text.length > limit * 2 || depth > 12) return;
      for (const child of cb.childrenOf(node)) {
        if (text.length > limit * 2) return;
        if (cb.tools.nodeType(child) === 3) text += cb.tools.characterData(child).slice(0, limit * 3);
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
  /** What an element says about all that it holds: kinds and texts. */
  const containerTexts = (element, tag, role) => {
    const known = [];
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
    return known;
  };
  const textsOf = (info) => {
    if (info.texts === undefined) {
      info.texts = containerTexts(info.element, info.tag, info.role);
      info.textsKnown ??= info.texts.join("\0");
    }
    return info.texts;
  };
  const headingIn = (container) => {
    const heading = cb.tools.queryAll(container, "h1,h2,h3,h4,h5,h6,[role=heading],legend,summary")[0];
    return heading ? shortText(textHead(heading)) : "";
  };
  const ownHeading = (container) => {
    for (const child of cb.tools.elementChildren(container)) if (/^h[1-6]$/.test(tagOf(child))) return shortText(textHead(child));
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
    for (let up = element, depth = 0; up && depth < 5 && cb.tools.nodeType(up) === 1 && !OUTER.has(tagOf(up)); up = cb.tools.parentNode(up), depth++) {
      for (const forward of control === "check" ? [true, false] : [false]) {
        const { text, ended } = besideText(up, forward);
        const label = shortText(text.replace(/[\s:*]+$/, ""));
        if (label) return label;
        if (ended && !(control === "check" && forward)) return "";
      }
    }
    return "";
  };
  const contextOf = (info, heading) => {
    const texts = [];
    for (let up = info.parent, depth = 0; up && depth < 60 && texts.length < 12; up = up.parent, depth++) {
      for (const one of textsOf(up)) texts.push(one);
    }
    if (heading) texts.push(["after heading", heading]);
    return texts;
  };
  /** The row, list item or article that a candidate stands in: part of its identity. */
  const homeOf = (context) => {
    const first = context.find(([kind]) => kind === "row" || kind === "list item" || kind === "article");
    return first ? `${first[0]}: ${first[1]}` : "";
  };
