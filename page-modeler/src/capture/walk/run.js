  // One walk.
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
      stamp: stamped, rows: withoutDoubles(rows, around), owners, headings, landmarks, live, suspects, secrets, generation, elements, candidates, beyond, offView, unwalked,
      modal: modal ? shortText(cb.nameOf(modal) || headingIn(modal), 200) : undefined,
      meta: { pageType: metaOf('meta[property="og:type"]') || schemaType(), description, language: document.documentElement ? shortText(attr(document.documentElement, "lang") ?? "", 40) : "", hasPassword: count(document, "input[type=password]") > 0 },
    };
  };
