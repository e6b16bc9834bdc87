// What a manager wants to know, in front of a program that serves a demo: every press of the pointer is counted, and none of
// a key is needed.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { accessibilityFaults, answered, openPage, openSite, screenshot, signIn } from "./site.js";

let site;
let key;
before(async () => {
  // With fewer accounts, there are no benchmarks.
  site = await openSite("--accounts", "40", "--events", "60000");
  key = await site.createKey();
});
after(() => site?.close());

const asked = async (path) => (await fetch(`${site.origin}/api/demo-group/events?${path}`, { headers: { Authorization: key } })).json();

/** Runs a task on the page as it opens, and checks that it took at most a number of clicks, and left nothing that is wrong. */
function task(name, atMost, body) {
  test(`${name} (${atMost} click${atMost === 1 ? "" : "s"})`, { timeout: 60_000 }, async (t) => {
    const { page, context, faults } = await openPage(site);
    try {
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      await signIn(page, key);
      await answered(page);
      await page.evaluate(() => {
        globalThis.presses = 0;
        addEventListener("pointerdown", () => (globalThis.presses += 1), true);
        addEventListener("keydown", () => (globalThis.presses += 1_000), true);
      });
      await body(page, t);
      const clicks = await page.evaluate(() => globalThis.presses);
      t.diagnostic(`${clicks} clicks`);
      assert.ok(clicks > 0 && clicks <= atMost, `${clicks} clicks`);
      assert.deepEqual(await accessibilityFaults(page), []);
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
    }
  });
}

const button = (page, name) => page.getByRole("button", { name });
const heading = (page) => page.locator(".heading h2");

task("why leads fell", 2, async (page) => {
  await button(page, /^Days /).click();
  await button(page, "Sep 2025").click();
  await heading(page).filter({ hasText: "Sep 2025" }).waitFor();
  const compared = "start=2025-09-01&end=2025-09-30&compare=previous-period";
  const [total] = await asked(`fields=leads&${compared}`);
  assert.ok(total["leads.change"] < 0, "the demo has a month in which leads fell");
  const rows = await asked(`fields=attributionChannel,leads&${compared}`);
  const falling = rows.filter((row) => row["leads.change"] < 0).sort((a, b) => a["leads.change"] - b["leads.change"]);
  const percent = `${(Math.abs(total["leads.ratio"]) * 100).toFixed(1)}%`;
  assert.match(await heading(page).textContent(), new RegExp(`^Leads fell ${percent} in Sep 2025, mostly from ${falling[0].attributionChannel}`));
  const first = page.locator(".moved > li").first();
  assert.match(await first.textContent(), new RegExp(falling[0].attributionChannel));
  await screenshot(page, "task-fell");
});

task("which part of a channel it was", 1, async (page) => {
  await page.locator(".moved > li").first().getByRole("button").click();
  await page.locator(".moved .moved > li").first().waitFor();
});

task("which campaign should get less money", 2, async (page) => {
  await button(page, "Which campaigns return least?").click();
  await heading(page).filter({ hasText: "Closed Return on Ad Spend by Campaign" }).waitFor();
  await page.locator("thead th", { hasText: "Campaign" }).waitFor();
  await answered(page);
  const [, least] = /"spend","above","(\d+)"/.exec(decodeURIComponent(page.url()));
  const range = "start=2026-04-02&end=2026-06-30";
  const rows = (await asked(`fields=campaign,spend,roasClosed&${range}`)).filter(({ spend }) => spend > Number(least));
  const all = (await asked(`fields=campaign,spend&${range}`)).filter(({ spend }) => spend > 0);
  assert.ok(rows.length >= all.length / 2 - 1 && rows.length < all.length, `${rows.length} of ${all.length} campaigns spent much`);
  const lowest = Math.min(...rows.map(({ roasClosed }) => roasClosed));
  const worst = rows.filter(({ roasClosed }) => roasClosed === lowest).map(({ campaign }) => campaign);
  assert.ok(worst.includes(await page.locator("tbody tr:not(.space) td").first().textContent()));
  await screenshot(page, "task-return");
});

task("which leads of January became revenue", 3, async (page) => {
  await button(page, /^Days /).click();
  await button(page, "Jan 2026").click();
  await heading(page).filter({ hasText: "Jan 2026" }).waitFor();
  await button(page, "Which leads became revenue?").click();
  await page.locator("thead th", { hasText: "Opportunity ID" }).waitFor();
  const shown = Number(/^([\d,]+) row/.exec(await answered(page))[1].replaceAll(",", ""));
  const january = "start=2026-01-01&end=2026-01-31&cohort=true&within=all";
  const leads = (await asked(`fields=account,opportunityId,closedRevenue&${january}`)).filter(({ closedRevenue }) => closedRevenue > 0);
  assert.equal(shown, leads.length);
  const [total] = await asked(`fields=closedRevenue&${january}`);
  assert.equal(await page.locator("tfoot td.number").first().textContent(), total.closedRevenue.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 }));
  await screenshot(page, "task-revenue");
});

task("how similar businesses do", 1, async (page) => {
  await button(page, "How do similar businesses do?").click();
  await page.locator(".standing li").first().waitFor();
  const response = await fetch(`${site.origin}/api/demo-group/benchmarks?month=2026-06&fields=bookRate`, { headers: { Authorization: key } });
  const series = Object.fromEntries((await response.json()).map((row) => [row.series, row.bookRate]));
  const [{ bookRate }] = await asked("fields=bookRate&start=2026-06-01&end=2026-06-30");
  const passed = ["p10", "p25", "p50", "p75", "p90"].filter((name) => bookRate >= series[name]).length;
  const words = ["worse than 9 in 10", "worse than 3 in 4", "worse than half", "better than half", "better than 3 in 4", "better than 9 in 10"][passed];
  const tile = page.getByRole("list", { name: "Figures" }).getByRole("button", { name: /^Book Rate/ });
  assert.match(await tile.textContent(), new RegExp(words));
  assert.match(await page.locator(".standing li", { hasText: "Book Rate" }).textContent(), new RegExp(`${words}.*median ${(series.p50 * 100).toFixed(1)}%`));
  assert.match(await heading(page).textContent(), /^Better than half of similar businesses in \d of 3 metrics$/);
  await screenshot(page, "task-similar");
});

task("sending a picture", 2, async (page) => {
  await button(page, "Share").click();
  const [download] = await Promise.all([page.waitForEvent("download"), button(page, "Save image").click()]);
  assert.equal(download.suggestedFilename(), "demo-group-2026-06-01-2026-06-30.png");
  const file = await readFile(await download.path());
  assert.equal(file.subarray(1, 4).toString(), "PNG");
  // The picture has the bars of the chart, and is twice as sharp as the page.
  const { width, colors } = await page.evaluate(async (url) => {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    const colors = {};
    for (let place = 0; place < data.length; place += 4) {
      const color = data.slice(place, place + 3).join(",");
      colors[color] = (colors[color] ?? 0) + 1;
    }
    return { width: image.width, colors };
  }, `data:image/png;base64,${file.toString("base64")}`);
  const pictured = await page.locator("#pictured").boundingBox();
  assert.equal(width, 2 * (Math.ceil(pictured.width) + 40));
  const bar = await page.locator(".moved .part").first().evaluate((part) => {
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d");
    context.fillStyle = getComputedStyle(part).backgroundColor;
    context.fillRect(0, 0, 1, 1);
    return context.getImageData(0, 0, 1, 1).data.slice(0, 3).join(",");
  });
  assert.ok(colors[bar] > 2_000, `the color of a bar, ${bar}, has ${colors[bar]} pixels`);
  assert.ok(Object.keys(colors).length > 50, "there is text");
});

task("copying a picture", 2, async (page) => {
  await button(page, "Share").click();
  await button(page, "Copy image").click();
  await page.getByText("Image copied").waitFor();
  const size = await page.evaluate(async () => {
    const [item] = await navigator.clipboard.read();
    return (await item.getType("image/png")).size;
  });
  assert.ok(size > 5_000, `${size} bytes`);
});

task("sending a link that opens the same view", 2, async (page) => {
  await button(page, "Share").click();
  await button(page, "Copy link").click();
  await page.getByText("Link copied").waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(!link.includes(key));
  const said = await heading(page).textContent();
  const other = await openPage(site, { link });
  try {
    await signIn(other.page, key);
    await answered(other.page);
    assert.equal(await heading(other.page).textContent(), said);
  } finally {
    await other.context.close();
  }
});
