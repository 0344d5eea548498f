// @ts-check
// Unit tests of the trees, in the page itself: `tests/e2e/scripts.rs` runs them.
import {
  collapse, composedParent, contains, cut, flatChildren, flatParent, focusedIn, hostOf,
} from "../../src/js/tree.js";

const same = (seen, expected) => {
  const [a, b] = [seen, expected].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`expected ${b}, saw ${a}`);
};
const page = (html) => {
  document.body.innerHTML = html;
  return document.body;
};
const slotted = () => {
  const host = page("<div id=host><b id=light>x</b></div>").firstElementChild;
  const root = host.attachShadow({ mode: "open" });
  root.innerHTML = "<p><slot></slot></p>";
  return { host, root, slot: root.querySelector("slot"), light: host.querySelector("b") };
};

export const tests = {
  "white space collapses, and what has no width goes"() {
    same(collapse("  a\u200b\u00ad \n b\ufeff "), "a b");
    same(collapse("De\u2060l\u{e0041}e\u200dte"), "Delete");
  },
  "a cut leaves no half of a character"() {
    same(cut("ab😀", 3), "ab");
    same(cut("ab😀", 4), "ab😀");
  },
  "a slotted element stands in its slot, and in its host"() {
    const { host, slot, light } = slotted();
    same([flatParent(light) === slot, composedParent(light) === host], [true, true]);
    same(flatChildren(slot)[0] === light, true);
    same([contains(host, light), contains(slot, light), contains(light, slot)], [true, true, false]);
  },
  "a root has a host where it is a shadow root, whatever a form calls its fields"() {
    const { host, root } = slotted();
    same(hostOf(root) === host, true);
    const form = document.createElement("form");
    form.innerHTML = "<input name=host><input name=nodeType><input name=activeElement>";
    same([hostOf(form), focusedIn(form)], [null, null]);
  },
};
