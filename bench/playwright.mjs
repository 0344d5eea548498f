// Playwright's side of `cargo xtask bench`: its snapshot for models, and its click, on the page that
// cuebook observes, in the same Chrome binary.
//
// node bench/playwright.mjs --modules DIR --chrome FILE --url URL --rounds N --viewport WxH
import { createRequire } from "node:module";
import path from "node:path";
import { Samples, countedClicks, expect, readArguments } from "./common.mjs";

const options = readArguments(["modules", "chrome", "url", "rounds", "viewport"]);
const require = createRequire(path.join(path.resolve(options.modules), "/"));
const { chromium } = require("playwright-core");

const isRoot = process.getuid?.() === 0;
const browser = await chromium.launch({ executablePath: options.chrome, chromiumSandbox: !isRoot });
try {
  const page = await browser.newPage({ viewport: options.viewport });
  const samples = new Samples();
  const look = () => page.ariaSnapshot({ mode: "ai" });

  for (let round = 0; round <= options.rounds; round += 1) {
    // A page that was loaded afresh: nothing of the former snapshot helps.
    await page.goto(options.url);
    const first = await samples.time("observe", round, look);
    const again = await samples.time("observe.again", round, look);
    expect(first.includes('button "Button 0"'), "expected the grid's first button in the snapshot");
    expect(again.length >= first.length / 2, "expected the second snapshot to be as complete as the first");
  }

  const before = await countedClicks(options.url);
  for (let round = 0; round <= options.rounds; round += 1) {
    const button = page.getByRole("button", { name: "Button 0", exact: true });
    await samples.time("click", round, () => button.click());
  }
  const [, reference] = (await look()).match(/button "Button 0".*?\[ref=(\w+)\]/) ?? [];
  expect(reference, "expected a reference of the grid's first button");
  for (let round = 0; round <= options.rounds; round += 1) {
    await samples.time("click.ref", round, () => page.locator(`aria-ref=${reference}`).click());
  }
  // The last click's request may still be under way: it is waited for, outside of what is measured.
  await page.waitForLoadState("networkidle");
  const clicks = (await countedClicks(options.url)) - before;
  const expected = 2 * (options.rounds + 1);
  expect(clicks === expected, `expected the server to count ${expected} clicks, saw ${clicks}`);
  samples.print();
} finally {
  await browser.close();
}
