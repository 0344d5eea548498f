#!/bin/sh
# Repeats the run that the README's picture shows and renders picture.html to ../run-light.png and ../run-dark.png; then
# the page of a run that fails after a repair, to ../view-light.png and ../view-dark.png.
# Needs `cuebook` and `chromium` on the PATH and `cuebook site` running. As root, add --no-sandbox to FLAGS.
set -eu
cd "$(dirname "$0")"
page=http://127.0.0.1:8737/newsletter
shot="chromium --headless --hide-scrollbars --force-device-scale-factor=2 --allow-file-access-from-files ${FLAGS:-}"

# The data: boxes of the candidates, then verdicts, effects and timings (log.jsonl), then the judgement.
cuebook observe "$page" --viewport 420x780 --json
cuebook run "Continue, then open the shop" --url "$page" --viewport 420x780 \
    --planner scripted --plan newsletter.json --out runs
cuebook judge runs/*

$shot --window-size=420,780 --screenshot=page.png "$page"
for theme in light dark; do
    $shot --default-background-color=00000000 --window-size=880,552 --screenshot="../run-$theme.png" \
        "file://$PWD/picture.html?$theme"
done

cuebook exec dashboard.json --url "$page" --viewport 1024x576 --record --out pages || true
cuebook report pages/* --out pages/page.html
$shot --force-device-scale-factor=1.5 --window-size=1120,700 --screenshot=../view-light.png "file://$PWD/pages/page.html"
$shot --force-device-scale-factor=1.5 --window-size=1120,700 --screenshot=../view-dark.png --blink-settings=preferredColorScheme=0 \
    "file://$PWD/pages/page.html"
