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
