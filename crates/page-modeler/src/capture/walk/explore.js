  // What is nearest to a text or an element that nobody can act on.
  const actable = (element) => reasonOf(element, tagOf(element), true) !== "";
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
    try { return cut(new URL(text, cb.tools.baseUri(document)).href, 2000); } catch { return cut(text, 2000); }
  };
