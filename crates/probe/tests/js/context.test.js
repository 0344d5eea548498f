// @ts-check
// Unit tests of what identifies, in the page itself: `tests/e2e/scripts.rs` runs them.
import { crowned, digestOf, meaningOf, placeOf, rankOf } from "../../src/js/context.js";

const same = (seen, expected) => {
  const [a, b] = [seen, expected].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`expected ${b}, saw ${a}`);
};
const first = (html) => {
  document.body.innerHTML = html;
  return document.body.firstElementChild;
};
const nearOf = (html) => placeOf(first(html)).near;

export const tests = {
  "equal texts have equal digests"() {
    same([digestOf("a b") === digestOf("a b"), digestOf("a b") === digestOf("b a")], [true, false]);
  },
  "a number in a row identifies, a count in the name of a section does not"() {
    const row = (count) => nearOf(`<div role=row><div role=cell>Delete ${count} files</div></div>`);
    const section = (count) => nearOf(`<section aria-label="Inbox (${count})">x</section>`);
    same([row(3) === row(300), section(3) === section(4)], [false, true]);
  },
  "a heading ends those of its rank and below"() {
    const line = ["1 a", "2 b", "3 c", "2 d"].reduce((above, heading) => {
      const [level, text] = heading.split(" ");
      return crowned(above, { level: Number(level), text, words: text });
    }, null);
    same([line.text, line.up.text, line.up.up], ["d", "a", null]);
  },
  "the heading above an element is the last one before it, also in shadow trees"() {
    const isHeading = ([kind]) => kind === "after heading";
    const above = (element) => meaningOf(element).labels.filter(isHeading).map(([, text]) => text);
    const page = first(
      "<div><b>0</b><h2>A</h2><b>1</b><p><b>2</b></p><section><h3>C</h3></section><h2>B</h2><b>3</b></div>",
    );
    same(Array.from(page.querySelectorAll("b"), above), [[], ["A"], ["A"], ["B"]]);
    const host = first("<div><h2 slot=second>Light</h2><b>4</b></div>");
    host.attachShadow({ mode: "open" }).innerHTML = "<h2>Shadow</h2><slot></slot><slot name=second></slot><i>5</i>";
    same([host.querySelector("b"), host.shadowRoot.querySelector("i")].map(above), [["Shadow"], ["Shadow"]]);
  },
  "twins of one tag are counted, and no others"() {
    const list = first("<p><b>1</b><i>2</i><b>3</b></p>");
    same(rankOf(list.lastElementChild), { at: 2, of: 2 });
  },
  "the same button in another row is about something else"() {
    const table = first("<table><tr><td>Ann<td><button>Edit</button><tr><td>Bob<td><button>Edit</button></table>");
    const [ann, bob] = Array.from(table.querySelectorAll("button")).map((button) => meaningOf(button).key);
    same(ann === bob, false);
  },
};
