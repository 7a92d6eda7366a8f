// What the pages must do, tried in a real browser: node pages.mjs FOLDER, where run.sh has put pages and a log. Prints a line for each check; ends with
// 1 if one fails, with 2 if there is no browser.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findBrowser, start } from "./chromium.mjs";

const folder = process.argv[2];
const LOAD_MS_MAX = 2000;
const EVENTS_MIN = 100_000;
const READY = "document.documentElement.dataset.ready !== undefined";
const url = (name) => pathToFileURL(join(folder, name)).href;

const browserPath = findBrowser();
if (!browserPath) {
  console.error("no browser: install chromium (Debian: apt-get install chromium), or name one in CHROMIUM");
  process.exit(2);
}
const browser = await start(browserPath);
let failed = 0;

async function check(name, body) {
  try {
    const note = await body();
    console.log(`ok      ${name}${note ? `: ${note}` : ""}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n        ${String(error.stack ?? error).split("\n").slice(0, 6).join("\n        ")}`);
  }
}

/** Does something with a fresh page, in which nothing may go wrong. */
async function withPage(name, body, { before = async () => {}, isReady = READY } = {}) {
  const page = await browser.page();
  try {
    await before(page);
    await page.open(url(name), isReady);
    const note = await body(page);
    assert.deepEqual(page.errors, [], "nothing goes wrong in the page");
    return note;
  } finally {
    await page.close();
  }
}

const text = (page, selector) => page.get(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? null`);
const selectedWords = (page) => text(page, "#rows .selected .words");
const view = (page) => page.get("[...state.view]");
const span = async (page) => { const [from, to] = await view(page); return to - from; };
const shown = (page) => page.get("table.size()");

await check(`a page with over ${EVENTS_MIN.toLocaleString("en")} events is ready in under ${LOAD_MS_MAX} ms`, () => withPage("large.html", async (page) => {
  const events = await page.get("run.count");
  assert.ok(events >= EVENTS_MIN, `${events} events`);
  const times = [];
  for (let time = 0; time < 3; time++) {
    await page.open("about:blank");
    const took = await page.open(url("large.html"), READY);
    times.push([took, Number(await page.get("document.documentElement.dataset.ready"))]);
  }
  times.sort((one, other) => one[0] - other[0]);
  const [took, ready] = times[1];
  assert.ok(took < LOAD_MS_MAX, `${took} ms`);
  const redraw = await page.get("(() => { zoomAll(); const begun = performance.now(); diagram.draw(state); overview.draw(); return performance.now() - begun; })()");
  return `${events} events, ${(readFileSync(join(folder, "large.html")).length / 1e6).toFixed(1)} MB, ${Math.round(took)} ms (by the page's own clock ${ready} ms), all of it drawn again in ${Math.round(redraw)} ms`;
}));

await check("the page asks for nothing but itself", () => withPage("failing.html", async (page) => {
  await page.key("?");
  assert.deepEqual(page.requests.filter((request) => !request.startsWith("data:")), [url("failing.html")]);
}));

await check("what failed, and where, stands at the top", () => withPage("failing.html", async (page) => {
  const top = await text(page, "#verdict");
  for (const part of ["FAILED", "lock-exclusion", "must hold", "acquired lock compaction while it is held by", "step", "seedstorm"]) {
    assert.ok(top.includes(part), `${part} is not in ${top}`);
  }
  const box = await page.get("(({ top, bottom, left, right }) => ({ top, bottom, left, right }))(document.querySelector('h1').getBoundingClientRect())");
  assert.ok(box.top > 0 && box.bottom < 200 && box.left >= 0 && box.right <= 1280, JSON.stringify(box));
  assert.equal(await page.get("document.documentElement.scrollWidth"), 1280, "nothing is cut off at 1280 pixels");
  assert.equal(await page.get("document.documentElement.scrollHeight"), 800, "nor at 800");
}));

await check("the violation is selected, drawn, and the last of what led there", () => withPage("failing.html", async (page) => {
  assert.match(await selectedWords(page), /has acquired lock compaction/);
  assert.equal(await page.get("state.selected"), await page.get("run.violation"));
  const red = await page.get(`(() => {
    const canvas = document.getElementById("canvas"), x = Math.round(diagram.toX(state, diagram.place(state, run.violation)));
    const data = canvas.getContext("2d").getImageData(x - 2, 0, 5, canvas.height).data;
    let red = 0;
    for (let i = 0; i < data.length; i += 4) red += data[i] > 150 && data[i + 1] < 90 && data[i + 2] < 90;
    return red;
  })()`);
  assert.ok(red > 100, `a line of ${red} red points goes through all lanes`);
  assert.equal(await page.get("table.at(table.size() - 1)"), await page.get("run.violation"));
}));

await check("a click on an event of the table selects it, and the fragment points at it", () => withPage("failing.html", async (page) => {
  const other = await page.get("table.at(table.size() - 4)");
  await page.clickOn(`#rows .row[data-row="${other}"]`);
  assert.equal(await page.get("state.selected"), other);
  const step = await page.get(`run.steps[${other}]`);
  assert.match(await page.get("location.hash"), new RegExp(`^#step=${step}(\\.\\d+)?$`));
  assert.match(await text(page, "#detail"), /causal past/);
}));

await check("a fragment points at a step, when the page opens and later", () => withPage("failing.html", async (page) => {
  const steps = await page.get("[run.steps[300], run.steps[run.count - 200]]");
  await page.get(`location.hash = "step=${steps[0]}"`);
  await page.until(`run.steps[state.selected] === ${steps[0]}`);
  const [from, to] = await view(page);
  const at = await page.get("diagram.place(state, state.selected)");
  assert.ok(from <= at && at <= to, "it is in view");
  const fresh = await browser.page();
  await fresh.open(`${url("failing.html")}#step=${steps[1]}`, READY);
  assert.equal(await fresh.get("run.steps[state.selected]"), steps[1]);
  // Every event has a fragment of its own that leads back to it.
  const astray = await fresh.get("(() => { const astray = []; for (let row = 0; row < run.count; row++) if (rowOfFragment(fragmentOf(row)) !== row) astray.push(row); return astray; })()");
  assert.deepEqual(astray, []);
  await fresh.get("location.hash = 'step=99999999999'");
  await fresh.frame();
  assert.equal(await fresh.get("state.selected"), await fresh.get("run.count - 1"), "beyond the end is the end");
  await fresh.close();
}));

await check("keys move, zoom and choose", () => withPage("failing.html", async (page) => {
  const last = await page.get("state.selected");
  await page.key("ArrowLeft");
  const before = await page.get("state.selected");
  assert.ok(before < last, "the one before of what led there");
  assert.ok(await page.get(`run.story.has(${before})`));
  await page.key("ArrowRight");
  assert.equal(await page.get("state.selected"), last);
  await page.key("3");
  assert.equal(await shown(page), await page.get("run.count"));
  await page.key("ArrowLeft");
  assert.equal(await page.get("state.selected"), last - 1, "of all events the one before");
  await page.key("2");
  assert.equal(await shown(page), await page.get("run.past.reduce((sum, is) => sum + is, 0)"));
  await page.key("1");
  assert.equal(await shown(page), await page.get("run.story.size"));
  await page.key("v");
  assert.equal(await page.get("state.selected"), last);
  const wide = await span(page);
  await page.key("+");
  assert.ok(Math.abs(await span(page) / wide - .5) < .05, "half as much is seen");
  await page.key("-");
  await page.key("0");
  assert.ok(await span(page) >= await page.get("extent()"), "all is seen");
  await page.key("+");
  const [from] = await view(page);
  await page.key("ArrowLeft", { shift: true });
  assert.ok((await view(page))[0] < from, "the picture moves");
  await page.key("x");
  assert.equal(await page.get("state.axis"), "time");
  const [start, end] = await view(page);
  assert.ok(end - start > 1000 && start < await page.get("run.times[run.count - 1]"), "nanoseconds now");
  await page.key("x");
  await page.key("p");
  assert.equal(await page.get("run.classOf[state.selected]"), 1, "a fault");
}));

await check("a filter by words shows what has them", () => withPage("failing.html", async (page) => {
  await page.key("/");
  await page.type("fsync");
  await page.until("state.query === 'fsync' && table.size() > 0");
  const rows = await page.get("Array.from({ length: table.size() }, (_, i) => words(table.at(i)))");
  assert.ok(rows.length > 5 && rows.every((words) => words.toLowerCase().includes("fsync")), rows.slice(0, 5).join("; "));
  assert.equal(rows.length, await page.get("(() => { let count = 0; for (let row = 0; row < run.count; row++) count += words(row).includes('fsync'); return count; })()"));
  await page.key("Escape");
  assert.equal(await shown(page), await page.get("run.count"));
}));

await check("filters by kind and by process", () => withPage("failing.html", async (page) => {
  await page.key("3");
  const all = await shown(page);
  await page.clickOn('#classes [data-class="5"]');
  const fewer = await shown(page);
  assert.equal(all - fewer, await page.get("run.classOf.reduce((sum, kind) => sum + (kind === 5), 0)"));
  await page.clickOn('#classes [data-class="2"]', { shift: true });
  assert.equal(await shown(page), await page.get("run.classOf.reduce((sum, kind) => sum + (kind === 2), 0)"));
  await page.key("Escape");
  await page.clickOn('#lanes [data-lane="3"]');
  assert.equal(await shown(page), await page.get("run.lane.reduce((sum, lane) => sum + (lane === 3), 0)"));
  await page.clickOn('#lanes [data-lane="3"]');
  assert.equal(await shown(page), all, "a second click brings all back");
}));

await check("the mouse selects, zooms and moves", () => withPage("failing.html", async (page) => {
  await page.key("ArrowLeft");
  const place = await page.get(`(() => {
    const box = diagram.canvas.getBoundingClientRect();
    const lane = document.querySelector('#lanes .shows').getBoundingClientRect();
    return { x: box.x + diagram.toX(state, diagram.place(state, run.violation)), y: lane.y + 19, middle: box.x + box.width / 2 };
  })()`);
  await page.click(place.x, place.y);
  assert.equal(await page.get("state.selected"), await page.get("run.violation"));
  const wide = await span(page);
  await page.wheel(place.middle, place.y, -240);
  await page.until(`state.view[1] - state.view[0] < ${wide * .6}`);
  const [from] = await view(page);
  await page.drag(place.middle, place.y, place.middle + 120, place.y);
  assert.ok((await view(page))[0] < from, "to the right is back in time");
}));

await check("light and dark follow the system until somebody chooses", () => withPage("failing.html", async (page) => {
  const theme = () => page.get("document.documentElement.dataset.theme");
  const paper = () => page.get("getComputedStyle(document.body).backgroundColor");
  assert.equal(await theme(), "dark");
  const dark = await paper();
  await page.prefer("light");
  await page.until("document.documentElement.dataset.theme === 'light'");
  assert.notEqual(await paper(), dark);
  await page.clickOn("#theme");
  assert.equal(await theme(), "dark");
  await page.prefer("dark");
  await page.prefer("light");
  await page.frame();
  assert.equal(await theme(), "dark", "what was chosen stays");
}, { before: (page) => page.prefer("dark") }));

await check("the command can be copied, and the numbers are there", () => withPage("failing.html", async (page) => {
  await page.clickOn(".copy");
  await page.until("document.querySelector('.copy').textContent === 'Copied'");
  await page.clickOn('[role="tab"][data-tab="numbers"]');
  const numbers = await text(page, "#numbers");
  for (const part of ["Latencies", "lock acquire", "p99", "Locks", "compaction", "Faults", "planned", "Coverage", "Drawn", "Plan"]) {
    assert.ok(numbers.includes(part), `${part} is not there`);
  }
  assert.equal(await page.get("getComputedStyle(document.getElementById('picture')).display"), "none");
}));

await check("it prints: light, with the picture, what led there, and the numbers", () => withPage("failing.html", async (page) => {
  const pdf = await page.pdf();
  writeFileSync(join(folder, "print.pdf"), pdf);
  assert.ok(pdf.length > 20_000 && pdf.subarray(0, 5).toString() === "%PDF-", `${pdf.length} bytes`);
  await page.until("document.documentElement.dataset.theme === 'dark'");
  assert.equal(await page.get("document.querySelectorAll('#printed tr').length"), await page.get("run.story.size"));
}, { before: (page) => page.prefer("dark") }));

await check("messages are arrows, and lead from one end to the other", () => withPage("messages.html", async (page) => {
  const wrong = await page.get(`arrows.filter(({ from, to }) => raw.kinds[run.kind[from]] !== "send" || (to >= 0 && (raw.kinds[run.kind[to]] !== "receive" || to < from))).length`);
  const count = await page.get("arrows.length");
  assert.ok(count > 20 && wrong === 0, `${count} arrows, ${wrong} wrong`);
  await page.key("3");
  const arrow = await page.get("arrows.find(({ to }) => to >= 0)");
  await page.get(`select(${arrow.from})`);
  await page.clickOn("#detail a");
  await page.until(`state.selected === ${arrow.to}`);
  return `${count} arrows`;
}));

await check("a run that passed has a page, too", () => withPage("passed.html", async (page) => {
  assert.match(await text(page, "#verdict"), /PASSED[\s\S]*Every invariant held/);
  assert.equal(await shown(page), await page.get("run.count"));
}));

await check("a sweep's page leads to the pictures of its failures", () => withPage("artifacts/index.html", async (page) => {
  assert.match(await text(page, "h1"), /\d+ failures?, \d+ /);
  const links = await page.get("[...document.querySelectorAll('a')].map((link) => link.href)");
  assert.ok(links.length > 0);
  await page.clickOn("td a");
  await page.until(READY);
  assert.match(await text(page, "#verdict"), /FAILED/);
}, { isReady: "document.readyState === 'complete'" }));

await check("the ShiViz log is taken apart by its own regular expression", async () => {
  const [expression, delimiter, ...lines] = readFileSync(join(folder, "run.shiviz"), "utf8").split("\n");
  assert.equal(delimiter, "", "one execution");
  const log = lines.join("\n");
  const own = new Map();
  let matched = 0, at = 0;
  for (const match of log.matchAll(new RegExp(expression, "gm"))) {
    assert.match(log.slice(at, match.index), /^\n?$/, "nothing lies between two entries");
    at = match.index + match[0].length;
    const { host, clock, event } = match.groups;
    const ticks = JSON.parse(clock);
    assert.equal(ticks[host], (own.get(host) ?? 0) + 1, match[0]);
    own.set(host, ticks[host]);
    assert.ok(event.length > 0, match[0]);
    matched += 1;
  }
  assert.equal(matched, lines.filter((line) => line !== "").length, "every line is an entry");
  return `${matched} entries of ${own.size} hosts`;
});

if (existsSync(join(folder, "screenshots"))) {
  const shots = [["failing", "light"], ["failing", "dark"], ["messages", "light"], ["crash", "light"], ["large", "light"], ["artifacts/index", "light"]];
  for (const [name, scheme] of shots) {
    const page = await browser.page();
    await page.prefer(scheme);
    await page.open(url(`${name}.html`));
    await page.frame();
    writeFileSync(join(folder, "screenshots", `${name.replace("/", "-")}-${scheme}.png`), await page.screenshot());
    if (name === "failing" && scheme === "light") {
      await page.clickOn('[data-tab="numbers"]');
      writeFileSync(join(folder, "screenshots", "numbers-light.png"), await page.screenshot());
      await page.clickOn("#help-button");
      writeFileSync(join(folder, "screenshots", "help-light.png"), await page.screenshot());
    }
    await page.close();
  }
}

await browser.stop();
console.log(failed === 0 ? "all checks hold" : `${failed} checks fail`);
process.exit(failed === 0 ? 0 : 1);
