// Opens traces in Playwright's viewer and validates HARs. Run by `exports.py`; prints a row of its table a line, as JSON.

const assert = require('node:assert');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const [out, packages, chrome] = process.argv.slice(2);
const load = (name) => require(require.resolve(name, { paths: [packages] }));
const say = (...row) => console.log(JSON.stringify(row));
const files = (format, extension) =>
  fs.readdirSync(path.join(out, format)).filter((name) => name.endsWith(extension)).map((name) => path.join(out, format, name));

async function validate() {
  const validator = load('har-validator');
  let entries = 0;
  for (const file of files('har', '.har')) {
    const har = JSON.parse(fs.readFileSync(file, 'utf8'));
    await validator.har(har);
    entries += har.log.entries.length;
  }
  assert(entries > 0);
  say('har-validator 5', 'HAR', `${entries} requests`);
}

// The address that the viewer listens on.
function started(viewer) {
  return new Promise((resolve, reject) => {
    let said = '';
    viewer.stdout.on('data', (data) => {
      said += data;
      const found = said.match(/http:\/\/\S+/);
      if (found) resolve(found[0]);
    });
    viewer.on('exit', () => reject(new Error(`the viewer ended: ${said}`)));
  });
}

async function open(browser, file) {
  const cli = path.join(packages, 'node_modules', 'playwright', 'cli.js');
  const viewer = spawn(process.execPath, [cli, 'show-trace', '--host', '127.0.0.1', '--port', '0', file]);
  try {
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    await page.goto(await started(viewer));
    const actions = page.getByRole('treeitem');
    await actions.first().waitFor();
    let pictures = 0;
    for (let at = 0; at < await actions.count(); at++) {
      await actions.nth(at).click();
      const picture = page.frameLocator('iframe.snapshot-visible').locator('img');
      await picture.waitFor();
      assert(await picture.evaluate(async (img) => { await img.decode(); return img.naturalWidth; }) > 0);
      pictures++;
    }
    const actionCount = await actions.count();
    await page.close();
    return [actionCount, pictures];
  } finally {
    viewer.kill();
  }
}

async function main() {
  await validate();
  const { chromium } = load('playwright');
  const browser = await chromium.launch({ executablePath: chrome, args: ['--no-sandbox'] });
  let [actions, pictures] = [0, 0];
  for (const file of files('playwright-trace', '.zip')) {
    const seen = await open(browser, file);
    actions += seen[0];
    pictures += seen[1];
  }
  await browser.close();
  say('Playwright 1.58, show-trace', 'trace', `${actions} actions, ${pictures} with pictures`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
