// Playwright's side of `cargo xtask bench`: its snapshot for models, and its click, fill and typing by the
// references of its last snapshot, on the page that cuebook observes, in the same Chrome binary.
//
// node bench/playwright.mjs --modules DIR --chrome FILE --url URL --rounds N --viewport WxH --text FILE
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Samples, TYPED, change, countedClicks, expect, readArguments } from "./common.mjs";

const options = readArguments(["modules", "chrome", "url", "rounds", "viewport", "text"]);
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
    expect(first.includes('button "Button 0"'), "expected the grid's first button in the snapshot");
    if (round === 0) writeFileSync(options.text, first);
  }
  for (let round = 0; round <= options.rounds; round += 1) {
    await page.evaluate(change(round));
    const seen = await samples.time("observe.delta", round, look);
    expect(seen.includes(`"Changed ${round}"`), "expected the changed button in the snapshot");
  }

  for (let round = 0; round <= options.rounds; round += 1) {
    await samples.time("loop", round, async () => {
      const [, reference] = (await look()).match(/button "Button 0".*?\[ref=(\w+)\]/) ?? [];
      await page.locator(`aria-ref=${reference}`).click();
      return look();
    });
  }

  const snapshot = await look();
  const referenceOf = (what) => {
    const [, reference] = snapshot.match(new RegExp(`${what}.*?\\[ref=(\\w+)\\]`)) ?? [];
    expect(reference, `expected a reference of ${what}`);
    return page.locator(`aria-ref=${reference}`);
  };
  const button = referenceOf('button "Button 0"');
  const field = referenceOf('textbox "Field 0"');
  const before = await countedClicks(options.url);
  for (let round = 0; round <= options.rounds; round += 1) {
    await samples.time("click", round, () => button.click());
  }
  for (let round = 0; round <= options.rounds; round += 1) {
    await samples.time("setValue", round, () => field.fill(`value ${round}`));
    expect((await field.inputValue()) === `value ${round}`, "expected the value that was set");
  }
  for (let round = 0; round <= options.rounds; round += 1) {
    await field.fill("");
    await samples.time("type20", round, () => field.pressSequentially(TYPED));
    expect((await field.inputValue()) === TYPED, "expected the text that was typed");
  }
  // The last click's request may still be under way: it is waited for, outside of what is measured.
  await page.waitForLoadState("networkidle");
  const clicks = (await countedClicks(options.url)) - before;
  const expected = options.rounds + 1;
  expect(clicks === expected, `expected the server to count ${expected} clicks, saw ${clicks}`);
  // In MiB; Node reports KiB.
  samples.put("rss", process.resourceUsage().maxRSS / 1024);
  samples.print();
} finally {
  await browser.close();
}
