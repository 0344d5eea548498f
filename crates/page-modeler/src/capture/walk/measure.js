  // What changes without a mutation: read again and compared before each walk but the first.
  const KEPT_LIMIT = 60000;
  const isField = (tag) => tag === "input" || tag === "textarea" || tag === "select";
  const fieldOf = (element, tag) => {
    if (tag === "select") return Array.from(cb.tools.selectedOptions(element), (option) => option.index).join() + "/" + cb.tools.choices(element).length + matches(element, ":user-invalid,:disabled");
    const value = `${matches(element, ":user-invalid")} ${cb.tools.valueOf(element) ?? ""}`;
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
  const focusedElement = () => {
    let focused = cb.tools.focusedIn(document);
    for (let depth = 0; focused && depth < 64; depth++) {
      const root = cb.shadowOf(focused);
      const inner = root && cb.tools.focusedIn(root);
      if (!inner) break;
      focused = inner;
    }
    return focused;
  };
  /** What the fields hold that others refer to: those that are not shown are measured nowhere else. */
  const referredFields = () => {
    let told = "";
    for (const root of roots) for (const element of cb.tools.queryAll(root, REFERRING)) {
      for (const name of REFERENCES) if (hasAttribute(element, name)) for (const target of cb.tools.referenced(element, name)) {
        for (const field of isField(tagOf(target)) ? [target] : Array.from(cb.tools.queryAll(target, "input,textarea,select")).slice(0, 50)) told += `${fieldOf(field, tagOf(field))}\0`;
      }
    }
    return told;
  };
  let surroundings = null;
  let animated = [];
  const readSurroundings = () => {
    const scroller = cb.tools.pageScroller();
    return {
      // What all of a page depends on.
      all: [cb.tools.baseUri(document), globalThis.location?.href, globalThis.devicePixelRatio, cb.tools.isDesigned(document), cb.tools.rootElement(), cb.tools.bodyElement(), roots.map(sheetsOf).join("|")],
      width: globalThis.innerWidth, height: globalThis.innerHeight, pageWidth: scroller ? cb.tools.scrollWidth(scroller) : 0, pageHeight: scroller ? cb.tools.scrollHeight(scroller) : 0,
      scroll: `${globalThis.scrollX} ${globalThis.scrollY}`, referred: referredFields(), focused: focusedElement(), title: cb.tools.title(document),
    };
  };
  // What an extent that changed makes doubtful: nothing, what was not offered, or all that was decided.
  let extents = "same";
  const compareSurroundings = () => {
    const before = surroundings;
    const now = surroundings = readSurroundings();
    extents = "same";
    if (!before || before.all.some((one, i) => one !== now.all[i])) { everything = true; return true; }
    if (now.width !== before.width || now.height !== before.height || now.pageWidth < before.pageWidth || now.pageHeight < before.pageHeight) extents = "other";
    else if (now.pageWidth !== before.pageWidth || now.pageHeight !== before.pageHeight) extents = "wider";
    const refocused = now.focused !== before.focused;
    if (refocused) for (const one of [before.focused, now.focused]) { const info = one && infos.get(one); if (info) renew(info); }
    return refocused || extents !== "same" || now.scroll !== before.scroll || now.title !== before.title || now.referred !== before.referred;
  };
  /** What is being animated may have become transparent; what was until now, too. */
  const compareAnimations = () => {
    const now = [];
    for (const animation of cb.tools.animations(document)) {
      const target = animation.effect?.target;
      const info = target && infos.get(target);
      if (info && now.length < 2000) now.push(info);
    }
    const changed = now.length > 0 || animated.length > 0;
    for (const info of new Set([...now, ...animated])) renewAll(info);
    animated = now;
    return changed;
  };
  /** Box, visibility and cursor of all that was walked; drops what a difference makes doubtful. */
  const remeasure = () => {
    let changed = false;
    for (let i = 0; i < order.length; i++) {
      const info = order[i];
      if (info.kind === PASSED || !info.style) continue;
      const { element } = info;
      const rect = cb.tools.boundingRect(element);
      const { x, y, width, height } = rect;
      if (x !== info.x || y !== info.y || width !== info.width || height !== info.height) {
        const emptied = (width > 0 && height > 0) !== (info.width > 0 && info.height > 0);
        info.x = x;
        info.y = y;
        info.width = width;
        info.height = height;
        info.moved = true;
        info.offer = info.countable = undefined;
        if (listening.has(element)) info.fresh = false;
        changed = true;
        if (emptied) renew(info);
      }
      const shows = cb.tools.shows(element);
      const cursor = info.style.cursor;
      if (shows !== info.shows || cursor !== info.cursor) {
        renewAll(info);
        changed = true;
      } else if (info.field !== undefined && info.field !== fieldOf(element, info.tag)) {
        renew(info);
        changed = true;
      } else if (info.kids && isHost(info.tag) && info.hosts !== !!cb.shadowOf(element)) {
        resort(info);
        changed = true;
      }
    }
    return changed;
  };
  /** Reads again whatever may have changed since the last walk; whether anything has. */
  const prepare = () => {
    let changed = sortChanges();
    if (compareSurroundings()) changed = true;
    if (everything || !order) return true;
    if (compareAnimations()) changed = true;
    if (remeasure()) changed = true;
    if (changed) {
      for (const root of roots) for (const element of cb.tools.queryAll(root, REFERRING)) { const info = infos.get(element); if (info) renew(info); }
      for (const info of nameless) info.row = null;
    }
    return changed;
  };
