// @ts-check
// What the executor asks in a page, and what watches and guards its gestures there.
import "./guard.js";
import "./actionable.js";
import "./gesture.js";
import "./summary.js";
import "./watch.js";
import "./meant.js";
import "./enter.js";
import "./lists.js";
import "./scroll.js";
import "./held.js";
export { act } from "./reads.js";
