  // What the page changes between walks: noted as it happens, sorted out when the next walk begins.
  //
  // Invariant: between two walks a bounded number of changes is kept. A page that changes more is walked anew.
  const NOTED = 5000;
  let records = [];
  let targets = [];
  let everything = true;
  let watched = new WeakSet();
  let roots = [];
  const note = (list) => {
    if (everything) return;
    for (const record of list) records.push(record);
    if (records.length > NOTED) overflow();
  };
  const overflow = () => {
    everything = true;
    records = [];
    targets = [];
    observer.disconnect();
    watched = new WeakSet();
  };
  const observer = new MutationObserver(note);
  const EVENTS = ["input", "change", "focusin", "focusout", "toggle", "slotchange", "transitionend", "animationend", "invalid", "reset", "fullscreenchange"];
  const listened = new WeakSet();
  const onEvent = (event) => {
    if (everything || !event.isTrusted && event.type !== "input" && event.type !== "change") return;
    targets.push(event.composedPath()[0]);
    if (targets.length > NOTED) overflow();
  };
  const watch = (root) => {
    if (watched.has(root)) return;
    watched.add(root);
    roots.push(root);
    if (root !== document) cb.noteRoot(root);
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true, attributeOldValue: true });
    if (listened.has(root)) return;
    listened.add(root);
    for (const name of EVENTS) cb.tools.listen(root, name, onEvent, { capture: true, passive: true });
  };

  const REFERRING = "[aria-labelledby],[aria-describedby],[aria-errormessage],[aria-owns],[aria-controls],[aria-activedescendant],[list]";
  const REFERENCES = ["for", "aria-labelledby", "aria-describedby", "aria-errormessage", "aria-owns", "aria-controls", "list"];
  /** The nearest Info around a node. */
  const around = (node) => {
    for (let up = node; up; up = cb.composedParentOf(up)) {
      const info = infos.get(up);
      if (info) return info;
    }
    return null;
  };
  const resort = (info) => { if (info) { relist(info); touch(info); } };
  /** Ids that came, went or changed: who refers to them, and whose selectors begin with them. */
  const idsChanged = (ids, root) => {
    if (ids.size > 50) { everything = true; return; }
    for (const id of ids) {
      if (!id || id.length > 200) continue;
      const literal = CSS.escape(id);
      const named = Array.from(cb.tools.queryAll(root, `#${literal}`), (element) => infos.get(element)).filter((info) => info);
      for (const info of named) info.shifts = true;
      if (!cb.tools.queryAll(root, REFERENCES.map((name) => `[${name}~="${literal}"]`).join(",")).length) continue;
      // The first of them is what a label is for; the others no longer are.
      for (const info of named) touch(info);
      for (const label of cb.tools.queryAll(root, `label[for="${literal}"]`)) {
        const info = infos.get(label);
        if (info) renew(info);
        const control = cb.tools.control(label);
        if (control) dropRow(control);
      }
    }
  };
  const changedChildren = (record, ids) => {
    const { target } = record;
    const type = cb.tools.nodeType(target);
    if (type === 9) { everything = true; return; }
    const inShadow = cb.tools.nodeType(cb.tools.rootNode(target)) === 11;
    // Slots hand elements around: all that a host shows is found anew.
    if (inShadow) { const host = cb.tools.hostOf(cb.tools.rootNode(target)); if (host) resort(around(host)); }
    const info = infos.get(target);
    if (info && cb.shadowOf(target)) resort(info);
    else if (info) {
      if (info.kids) for (const kid of info.kids) if (BY_SIBLINGS.has(kid.tag)) renew(kid);
      info.kids = null;
      renew(info);
    } else { const outer = around(target); if (outer) { drop(outer); touch(outer); } }
    for (const nodes of [record.addedNodes, record.removedNodes]) for (const node of nodes) {
      if (cb.tools.nodeType(node) !== 1) continue;
      // What was out of the document for a while may have changed there unseen.
      const gone = infos.get(node);
      if (gone) forget(gone);
      const own = attr(node, "id");
      if (own) ids.add(own);
      for (const inner of cb.tools.queryAll(node, "[id]")) { ids.add(attr(inner, "id")); if (ids.size > 60) break; }
      const labels = tagOf(node) === "label" ? [node, ...cb.tools.queryAll(node, "label")] : cb.tools.queryAll(node, "label");
      for (const label of labels) {
        const control = cb.tools.control(label);
        if (control) dropRow(control);
        const named = attr(label, "for");
        if (named && named.length <= 200) for (const element of cb.tools.queryAll(inShadow ? cb.tools.rootNode(target) : document, `#${CSS.escape(named)}`)) dropRow(element);
      }
    }
  };
  const changedAttribute = (record, ids) => {
    const { target, attributeName: name } = record;
    const info = infos.get(target);
    if (name === "id") { ids.add(attr(target, "id")); ids.add(record.oldValue); if (info) info.shifts = true; }
    if (name === "for" && info?.tag === "label") { if (info.control) dropRow(info.control); const control = cb.tools.control(target); if (control) dropRow(control); }
    if (name === "slot" || name === "name" && tagOf(target) === "slot") { const host = cb.composedParentOf(target); if (host) resort(around(name === "slot" ? host : cb.tools.hostOf(cb.tools.rootNode(target)) ?? host)); }
    if (info) renewAll(info);
    else { const outer = around(target); if (outer) { drop(outer); touch(outer); } }
    // Where a form leads identifies its buttons.
    if (name === "action" && tagOf(target) === "form") everything = true;
    if (name === "role" || name === "lang" || name === "dir") { if (target === cb.tools.rootElement()) everything = true; }
  };
  /** Drops what the changes since the last walk make doubtful; whether there were any. */
  const sortChanges = () => {
    note(observer.takeRecords());
    const noted = records;
    const events = targets;
    records = [];
    targets = [];
    if (everything) return true;
    const ids = new Map();
    const idsIn = (node) => { const root = cb.tools.rootNode(node); const key = cb.tools.hostOf(root) ? root : document; if (!ids.has(key)) ids.set(key, new Set()); return ids.get(key); };
    for (const record of noted) {
      if (everything) return true;
      if (record.type === "childList") changedChildren(record, idsIn(record.target));
      else if (record.type === "attributes") changedAttribute(record, idsIn(record.target));
      else { const info = around(cb.composedParentOf(record.target)); if (info) { drop(info); touch(info); } }
    }
    for (const target of events) {
      if (!(target instanceof Node) || !cb.tools.nodeType(target)) continue;
      if (tagOf(target) === "slot" || cb.tools.nodeType(target) !== 1) { resort(around(target)); continue; }
      const info = infos.get(target);
      if (info) renewAll(info);
    }
    for (const [root, set] of ids) idsChanged(set, root);
    return noted.length > 0 || events.length > 0;
  };
