// @ts-check
// Unit tests of widgets that are made of two elements: `tests/e2e/scripts.rs` runs them.
import { withoutDoubles } from "../../src/capture/walk/doubles.js";

const entry = (role, name, owner, more = {}) => ({
  row: { role, name, reason: "role", control: "plain", ...more },
  box: { x: 0, y: 0, width: 100, height: 20 },
  owner,
  destination: undefined,
});
const left = (entries) => withoutDoubles(entries).map(({ row }) => row.role).join();
const same = (seen, expected) => {
  if (seen !== expected) throw new Error(`expected ${expected}, saw ${seen}`);
};

export const tests = {
  "a link in a tab of the same name is the tab, and lends it its destination"() {
    const entries = [entry("tab", "Home", -1), entry("link", "Home", 0, { destination: "/home" })];
    same(left(entries), "tab");
    same(entries[0].destination, "/home");
  },
  "what only reacts around a button is the button"() {
    same(left([entry("generic", "Save", -1), entry("button", "Save", 0)]), "button");
  },
  "two names are two things"() {
    same(left([entry("tab", "Home", -1), entry("link", "Close", 0)]), "tab,link");
  },
  "of three in each other of one name one is left"() {
    same(left([entry("generic", "Go", -1), entry("generic", "Go", 0), entry("button", "Go", 1)]), "button");
  },
};
