// @ts-check
// Other places in the document: siblings in another order, elements in wrappers, lists sorted another way.
//
// Invariants: what belongs together stays together (a field and its label); the first button that sends a form stays the
// first; where order is the meaning (numbered lists, tabs, menus, options) nothing moves. The page's scripts do not see
// wrappers.
import { draw, isHit, pick, shuffled, strength } from "./draw.js";
import {
  after,
  all,
  around,
  attribute,
  childrenOf,
  dataOf,
  fits,
  insert,
  isInUse,
  isMovable,
  isOurs,
  make,
  nodesOf,
  parentOf,
  replace,
  textOf,
  wrap,
  wrapGetter,
} from "./page.js";

const ORDERED =
  "ol, select, dl, svg, [role=tablist], [role=menu], [role=listbox], [role=radiogroup], [role=tree], [role=toolbar]";
const WRAPPERS = new WeakSet();
const label = (element) => textOf(element).slice(0, 60);

/** Puts nodes into the places that they have together, in this order. */
const place = (nodes, order) => {
  const marks = nodes.map((node) => {
    const mark = document.createComment("");
    replace(node, mark);
    return mark;
  });
  marks.forEach((mark, index) => replace(mark, order[index]));
};
const keepingFocus = (run) => {
  const focused = document.activeElement;
  run();
  if (focused && focused !== document.activeElement && focused !== document.body)
    focused.focus({ preventScroll: true });
};
const hasOnlyElements = (parent) => !nodesOf(parent).some((node) => node.nodeType === 3 && dataOf(node).trim());
const SENDS = "button:not([type]), button[type=submit], input[type=submit], input[type=image]";
const sends = (element) => fits(element, SENDS) || all(SENDS, element).length > 0;
const SHUFFLED = new Set(["a", "button", "section", "article", "fieldset", "div"]);

const reorderAlike = (parent) => {
  const children = childrenOf(parent).filter((child) => child.localName !== "script");
  const tags = new Set(children.map((child) => child.localName));
  if (children.length < 2 || children.length > 60 || tags.size !== 1 || !SHUFFLED.has([...tags][0])) return;
  if (!hasOnlyElements(parent) || !children.every(isMovable) || children.filter(sends).length > 1) return;
  if (children.some((child) => fits(child, "[role=tab], [role=tabpanel], [hidden]"))) return;
  place(children, shuffled(children, "reordered-elements", label));
};
/** Fields of a form with what belongs to each, in runs. */
const reorderFields = (form) => {
  let run = [];
  const done = () => {
    if (run.length > 1) {
      const order = shuffled(run, "reordered-elements", (group) => label(group[0]));
      const marks = run.map((group) => {
        const mark = document.createComment("");
        insert(form, mark, group[0]);
        return mark;
      });
      marks.forEach((mark, index) => {
        for (const element of order[index]) insert(form, element, mark);
        parentOf(mark).removeChild(mark);
      });
    }
    run = [];
  };
  let owner = null;
  for (const child of childrenOf(form)) {
    const wanted = child.localName === "label" ? attribute(child, "for") : null;
    if (wanted) {
      owner = [child];
      owner.wanted = wanted;
      owner.isWhole = false;
    } else if (owner && !owner.isWhole && attribute(child, "id") === owner.wanted && isMovable(child)) {
      owner.push(child);
      owner.isWhole = true;
      run.push(owner);
    } else if (owner?.isWhole && attribute(child, "id") && fits(child, "p, span, small")) {
      owner.push(child);
    } else {
      done();
      owner = null;
    }
  }
  done();
};

const BLOCKS = "main section, main form, main article, main table, main fieldset, main ul, main p, form";
const INLINE = "main button, main a[href]";
const HOLDS = new Set(["div", "main", "section", "article", "form", "li", "td", "body", "p"]);
const wrapOne = (element, tag) => {
  const parent = parentOf(element);
  if (!parent || !HOLDS.has(parent.localName) || !isMovable(element) || isOurs(element)) return;
  if (tag === "div" && parent.localName === "p") return;
  const wrapper = make(tag);
  WRAPPERS.add(wrapper);
  insert(parent, wrapper, element);
  insert(wrapper, element, null);
};

/** Hides wrappers from the page's scripts. */
const hideWrappers = () => {
  const { apply } = Reflect;
  const beyond = (node) => {
    let at = node;
    while (at && WRAPPERS.has(at)) at = parentOf(at);
    return at;
  };
  /** What stands in `parent` for a child that it had. */
  const within = (parent, child) => {
    let at = child;
    while (at && parentOf(at) !== parent && WRAPPERS.has(parentOf(at))) at = parentOf(at);
    return at && parentOf(at) === parent ? at : child;
  };
  for (const name of ["parentNode", "parentElement"])
    wrapGetter(
      Node.prototype,
      name,
      (before) =>
        function () {
          return beyond(apply(before, this, []));
        },
    );
  for (const name of ["nextSibling", "previousSibling"])
    wrapGetter(
      Node.prototype,
      name,
      (before) =>
        function () {
          const parent = parentOf(this);
          return apply(before, parent && WRAPPERS.has(parent) ? within(beyond(parent), this) : this, []);
        },
    );
  wrap(
    Node.prototype,
    "removeChild",
    (before) =>
      function (child) {
        return apply(before, parentOf(child) === this || !(child instanceof Node) ? this : (parentOf(child) ?? this), [
          child,
        ]);
      },
  );
  wrap(
    Node.prototype,
    "insertBefore",
    (before) =>
      function (node, child) {
        return apply(before, this, [node, child ? within(this, child) : child]);
      },
  );
  wrap(
    Node.prototype,
    "replaceChild",
    (before) =>
      function (node, child) {
        return apply(before, WRAPPERS.has(parentOf(child)) ? parentOf(child) : this, [node, child]);
      },
  );
};

const cellOf = (row, column) => {
  const cells = childrenOf(row);
  return row.localName === "tr" && cells.length ? textOf(cells[column % cells.length]) : textOf(row);
};
const sortOnce = (list, when) => {
  const rows = childrenOf(list).filter((row) => row.localName !== "script" && row.localName !== "template");
  if (rows.length < 3 || rows.length > 500 || !rows.every((row) => row.localName === rows[0].localName)) return;
  if (!fits(rows[0], "li, tr") || isInUse(list) || !rows.every(isMovable) || !hasOnlyElements(list)) return;
  const key = `${when} ${childrenOf(rows[0]).length}`;
  const column = Math.floor(draw("sorted-lists", "column", key) * 4);
  const sign = draw("sorted-lists", "sign", key) < 0.5 ? 1 : -1;
  const sorted = [...rows].sort(
    (a, b) => sign * cellOf(a, column).localeCompare(cellOf(b, column), "en", { numeric: true }),
  );
  place(rows, sorted);
};
const sortLists = (when) => {
  for (const list of all("main tbody, main ul, form ul, tbody"))
    if (!around(list, ORDERED) && !isOurs(list) && isHit("sorted-lists", 1, when, label(list).length))
      sortOnce(list, when);
};

export const startOrder = () => {
  if (strength("reordered-elements")) hideWrappers();
};
/** Once the document is parsed. */
export const reorderAll = () => {
  if (strength("reordered-elements")) {
    const isTurned = (element) => !around(element, ORDERED) && isHit("reordered-elements", 0.8, label(element));
    keepingFocus(() => {
      for (const parent of all("nav, main, main div, main section, main p, form div"))
        if (isTurned(parent)) reorderAlike(parent);
      for (const form of all("form")) if (isTurned(form)) reorderFields(form);
      for (const block of all(BLOCKS))
        if (isHit("reordered-elements", 0.5, "wrap", block.localName, label(block)) && !around(block, ORDERED)) {
          wrapOne(block, "div");
          if (draw("reordered-elements", "twice", label(block)) < 0.4)
            wrapOne(block, pick(["div", "span"], "reordered-elements", "tag"));
        }
      for (const control of all(INLINE))
        if (isHit("reordered-elements", 0.4, "wrap", label(control)) && !around(control, ORDERED))
          wrapOne(control, "span");
    });
  }
  if (strength("sorted-lists")) {
    sortLists("first");
    after(600 + draw("sorted-lists", "time") * 1900, () => keepingFocus(() => sortLists("then")));
  }
};
