// The page in a browser, in front of a program that serves a demo. No test fails because of a time: times are printed.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { accessibilityFaults, answered, openPage, openSite, screenshot, signIn } from "./site.js";

const run = promisify(execFile);
const JUNE = "#organization=demo-group&dimensions=attributionChannel&metrics=leads,bookRate,spend&start=2026-06-01&end=2026-06-30";

let site;
let key;
/** A demo with more accounts, because benchmarks are never based on few. It is made for the first test that needs it. */
let crowd;
let crowdKey;
before(async () => {
  site = await openSite("--accounts", "12");
  key = await site.createKey();
});
/** Makes the crowd, once. */
async function gather() {
  crowd ??= await openSite("--accounts", "40", "--events", "60000");
  crowdKey ??= await crowd.createKey();
}
after(async () => {
  await site?.close();
  await crowd?.close();
});

/** Runs a test on a page of its own, and checks what holds for every page. */
function onPage(name, { isCrowded = false, ...options }, body) {
  test(name, { timeout: 60_000 }, async (t) => {
    if (isCrowded) await gather();
    const opened = await openPage(isCrowded ? crowd : site, options);
    try {
      await body(opened.page, t);
      assert.deepEqual(opened.faults, []);
    } finally {
      await opened.context.close();
    }
  });
}

/** Runs a test on a page that shows the answer to a link. */
function onAnswer(name, hash, body, options = {}) {
  onPage(name, { hash, ...options }, async (page, t) => {
    await signIn(page, options.isCrowded ? crowdKey : key);
    await answered(page);
    await body(page, t);
  });
}

const asked = async (path) => (await fetch(`${site.origin}/api/${path}`, { headers: { Authorization: key } })).json();
const askedOfCrowd = async (path) => (await fetch(`${crowd.origin}/api/${path}`, { headers: { Authorization: crowdKey } })).json();
const combobox = (page, name) => page.getByRole("combobox", { name, exact: true });
/** Opens the control of a chip, such as that of the days. */
async function openChip(page, name) {
  const chip = page.getByRole("button", { name: new RegExp(`^${name}( |$)`) }).and(page.locator(".chip > .open"));
  if ((await chip.getAttribute("aria-expanded")) === "false") await chip.click();
}
/** Takes something from the menu of what can be shared. */
async function share(page, name) {
  await openChip(page, "Share");
  await page.locator(".control").getByRole("button", { name, exact: true }).click();
}
/** Returns whether the answer can be exported. */
async function isExportable(page) {
  await openChip(page, "Share");
  const isEnabled = await page.getByRole("button", { name: "Export CSV" }).isEnabled();
  await page.keyboard.press("Escape");
  return isEnabled;
}
/** Returns the field that searches in the control of a chip. */
async function picker(page, chip) {
  await openChip(page, chip);
  return page.locator(".chip > .control").getByRole("combobox", { name: /^(Accounts|Metrics|Dimensions|Add a filter on)$/ });
}
/** The number of a cell, without the change behind it. */
const figure = (cell) => cell.locator(".value");
const cell = (page, row, column) => page.locator("tbody tr:not(.space)").nth(row).locator("td:not(.trend)").nth(column);
const alerts = (page) => page.locator(".notice[role=alert]");

onPage("a key shows what moved the leads of the newest month", {}, async (page, t) => {
  await screenshot(page, "sign-in");
  const load = await page.evaluate(() => performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd);
  // Measured in the page, because the driver of the browser takes about as long as the page.
  await page.evaluate(() => {
    document.querySelector("form").addEventListener("submit", () => {
      const began = performance.now();
      const observer = new MutationObserver(() => {
        if (!document.querySelector("tbody tr")) return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => (globalThis.firstAnswer = performance.now() - began)));
      });
      observer.observe(document, { subtree: true, childList: true });
    });
  });
  await signIn(page, key);
  const first = await page.waitForFunction(() => globalThis.firstAnswer);
  t.diagnostic(`the page loaded in ${Math.round(load)} ms, and the first answer was drawn ${Math.round(await first.jsonValue())} ms after the key`);
  assert.match(await answered(page), /^13 rows$/);
  assert.match(page.url(), /start=2026-06-01&end=2026-06-30&compare=previous-period/);

  const compared = "start=2026-06-01&end=2026-06-30&compare=previous-period";
  const rows = await asked(`demo-group/events?fields=attributionChannel,leads,bookRate,spend&${compared}`);
  const [most] = rows.sort((a, b) => b.leads - a.leads);
  assert.equal(await cell(page, 0, 0).textContent(), most.attributionChannel);
  assert.equal(await figure(cell(page, 0, 1)).textContent(), most.leads.toLocaleString("en-US"));
  assert.equal(await figure(cell(page, 0, 2)).textContent(), `${(most.bookRate * 100).toFixed(1)}%`);
  const [total] = await asked(`demo-group/events?fields=leads&${compared}`);
  assert.equal(await figure(page.locator("tfoot td").first()).textContent(), total.leads.toLocaleString("en-US"));

  // The answer is a sentence: what changed, by how much, and where it comes from.
  const moved = rows.filter((row) => row["leads.change"] > 0 === total["leads.change"] > 0).sort((a, b) => Math.abs(b["leads.change"]) - Math.abs(a["leads.change"]));
  const percent = `${(Math.abs(total["leads.ratio"]) * 100).toFixed(1)}%`;
  const verb = total["leads.change"] > 0 ? "rose" : "fell";
  assert.equal(await page.locator(".heading h2").textContent(), `Leads ${verb} ${percent} in Jun 2026, mostly from ${moved[0].attributionChannel} and ${moved[1].attributionChannel}`);
  assert.equal(await page.locator(".heading p").textContent(), "Jun 2026 against May 2026 · 6 accounts of demo-group");
  // Each of the six tiles has thirteen months, and chooses what the chart shows.
  const tiles = page.getByRole("list", { name: "Figures" }).getByRole("button");
  assert.equal(await tiles.count(), 6);
  await page.locator(".months path").nth(5).waitFor({ state: "attached" });
  for (const path of await page.locator(".months path").all()) assert.equal((await path.getAttribute("d")).match(/[ML]/g).length, 13);
  await tiles.filter({ hasText: "Book Rate" }).click();
  await page.locator(".heading h2").filter({ hasText: /^Book Rate (rose|fell|stayed)/ }).waitFor();
  await screenshot(page, "answer");
});

onPage("the key is only in the memory of the page", {}, async (page) => {
  await signIn(page, key);
  await answered(page);
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state, document.body.innerHTML]));
  assert.ok(!kept.includes(key));
  await page.reload();
  await page.getByLabel("Your key").waitFor();
  assert.equal(await page.getByLabel("Your key").inputValue(), "");
});

test("trueup explore opens the page by a link that works once", { timeout: 60_000 }, async () => {
  const { link, program } = await site.explore();
  const [, token] = /^http:\/\/127\.0\.0\.1:\d+\/explore#sign-in=(\w{43})$/.exec(link);
  let log = "";
  program.stderr.on("data", (text) => (log += text));
  const { page, context, faults } = await openPage(site, { link });
  await answered(page);
  const kept = () => page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state, document.body.innerHTML]));
  const exchanged = JSON.parse(await page.evaluate(async (token) => (await fetch("explore/key", { method: "POST", headers: { Authorization: token } })).text(), token));
  assert.equal(exchanged.code, "used-link");
  assert.doesNotMatch(await kept(), new RegExp(`${token}|tu_|sign-in`));
  await page.getByText("all (").waitFor({ state: "attached" });
  const csv = await site.trueup("query", site.dataset, "--fields", "leads", "--month", "2026-06", "--format", "csv");
  assert.equal((await figure(page.locator("tfoot td").first()).textContent()).replaceAll(",", ""), csv.split("\n")[1]);

  // A reload keeps the question and needs no other link, as often as it comes.
  const question = page.url();
  for (let reload = 0; reload < 2; reload += 1) {
    await page.reload();
    await answered(page);
    assert.equal(page.url(), question);
    assert.doesNotMatch(await kept(), /tu_|sign-in/);
  }
  const other = await openPage(site, { link });
  await other.page.getByText("This link was used before").waitFor();
  await screenshot(other.page, "used-link");
  assert.deepEqual(await accessibilityFaults(other.page), []);
  await other.context.close();
  await openChip(page, "you");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.reload();
  await page.getByLabel("Your key").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
  program.kill("SIGTERM");
  const [code] = await once(program, "exit");
  assert.equal(code, 0);
  assert.match(log, /used before/);
  assert.doesNotMatch(log, new RegExp(`${token}|tu_`));
});

onPage("a whole question with the keyboard alone", {}, async (page) => {
  await page.locator("#key:focus").waitFor();
  await page.keyboard.type(key);
  await page.keyboard.press("Enter");
  await answered(page);
  const tabTo = async (name) => {
    for (let step = 0; step < 80; step += 1) {
      const focused = await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "");
      if (focused.startsWith(name)) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`the focus never came to ${name}`);
  };
  const escape = async () => {
    // The list first, then the control, which gives the focus back to its chip.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.locator(".control").waitFor({ state: "detached" });
  };
  await tabTo("Metrics");
  await page.keyboard.press("Enter");
  await page.locator("[role=combobox]:focus").waitFor();
  await page.keyboard.type("calls");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Remove Average Cost per Lead");
  await page.keyboard.press("Enter");
  await escape();
  assert.match(await page.evaluate(() => document.activeElement?.textContent), /^Metrics/);
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await page.locator("[role=combobox]:focus").waitFor();
  await page.keyboard.type("customer status");
  await page.keyboard.press("Enter");
  await escape();
  await page.waitForFunction(() => location.hash.includes("customerStatus"));
  await answered(page);
  assert.match(decodeURIComponent(page.url()), /dimensions=attributionChannel,customerStatus&metrics=leads,bookRate,spend,closedRevenue,roasClosed,conversions&/);
  await page.goBack();
  await page.waitForFunction(() => !location.hash.includes("customerStatus"));
});

onAnswer("a click on a header sorts, and once more in the other direction", JUNE, async (page) => {
  const leads = page.getByRole("button", { name: "Leads", exact: true });
  const numbers = () => page.locator("tbody tr:not(.space) td:nth-child(2)").allTextContents();
  const inOrder = (direction) => [...direction].sort((a, b) => Number(b.replaceAll(",", "")) - Number(a.replaceAll(",", "")));
  await leads.click();
  await page.locator("th[aria-sort=descending]").waitFor();
  const falling = await numbers();
  assert.deepEqual(falling, inOrder(falling));
  assert.ok(page.url().endsWith("&sort=leads:desc"));
  await leads.click();
  await page.locator("th[aria-sort=ascending]").waitFor();
  assert.deepEqual(inOrder(await numbers()), falling);
});

onAnswer("each row has thirteen months behind the metric of the chart, and keeps its name in view", `${JUNE.replace("spend", "spend,avgCostPerLead,closedRevenue,roasClosed")}&sort=leads:desc`, async (page) => {
  await page.locator("tbody .trend path").nth(5).waitFor({ state: "attached" });
  const headers = async () => (await page.locator(".table thead th").allTextContents()).map((text) => text.replace(/[↓↑]/, ""));
  assert.deepEqual((await headers()).slice(0, 4), ["Attribution Channel", "Leads", "13 months", "Book Rate"]);
  const channel = await cell(page, 0, 0).textContent();
  const months = await asked(`demo-group/events?fields=leads&start=2025-06-01&end=2026-06-30&interval=month&attributionChannel=${encodeURIComponent(channel)}`);
  assert.equal(months.length, 13);
  const path = await page.locator("tbody tr:not(.space)").first().locator(".trend path").getAttribute("d");
  const heights = [...path.matchAll(/ ([\d.]+)/g)].map(([, y]) => Number(y));
  // The highest month is at the top, and the lowest at the bottom.
  const values = months.map(({ leads }) => leads);
  assert.deepEqual([heights.length, heights.indexOf(Math.min(...heights)), heights.indexOf(Math.max(...heights))], [13, values.indexOf(Math.max(...values)), values.indexOf(Math.min(...values))]);
  await page.getByRole("button", { name: "Book Rate", exact: true }).click();
  await page.locator("thead th:nth-child(4)", { hasText: "13 months" }).waitFor();

  await page.setViewportSize({ width: 600, height: 800 });
  const region = page.locator(".table .scroll");
  const left = async () => (await cell(page, 1, 0).boundingBox()).x;
  const before = await left();
  await region.evaluate((element) => (element.scrollLeft = 9_999));
  assert.ok((await region.evaluate((element) => element.scrollLeft)) > 50, "the table is wider than the window");
  assert.equal(await left(), before);
});

onAnswer("months are columns, with totals of their own", `${JUNE.replace("2026-06-01", "2026-01-01")}&interval=month&sort=leads:desc`, async (page) => {
  await page.getByRole("switch", { name: "Months as columns" }).check();
  await page.waitForFunction(() => location.hash.endsWith("&pivot=true"));
  const headers = async () => (await page.locator(".table thead th").allTextContents()).map((text) => text.replaceAll("\u00a0", " "));
  assert.deepEqual(await headers(), ["Attribution Channel", "Jan 2026", "Feb 2026", "Mar 2026", "Apr 2026", "May 2026", "Jun 2026↓"]);
  const range = "start=2026-01-01&end=2026-06-30&interval=month";
  const rows = await asked(`demo-group/events?fields=attributionChannel,leads&${range}`);
  const channel = await cell(page, 0, 0).textContent();
  const june = rows.filter(({ start }) => start === "2026-06-01").sort((a, b) => b.leads - a.leads);
  assert.equal(channel, june[0].attributionChannel, "sorted by the newest month");
  const expected = rows.filter(({ attributionChannel }) => attributionChannel === channel).map(({ leads }) => leads.toLocaleString("en-US"));
  assert.deepEqual(await page.locator("tbody tr:not(.space)").first().locator("td.number").allTextContents(), expected);
  const totals = await asked(`demo-group/events?fields=leads&${range}`);
  await page.locator("tfoot").waitFor();
  assert.deepEqual(await page.locator("tfoot td.number").allTextContents(), totals.map(({ leads }) => leads.toLocaleString("en-US")));
  await screenshot(page, "pivot");
  assert.deepEqual(await accessibilityFaults(page), []);

  await page.getByRole("button", { name: "Mar 2026" }).click();
  await page.waitForFunction(() => location.hash.includes("sort=2026-03-01:desc"));
  const march = await page.locator("tbody tr:not(.space) td:nth-child(4)").allTextContents();
  assert.deepEqual(march, [...march].sort((a, b) => Number(b.replaceAll(",", "")) - Number(a.replaceAll(",", ""))));
  // A cell is the number of its month.
  await page.locator("tbody tr:not(.space)").first().locator("td").nth(2).click();
  await page.locator("dialog .key", { hasText: "2026-02-01 to 2026-02-28" }).waitFor();
  await page.locator("dialog").getByText(/^Leads /).first().waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await page.getByRole("switch", { name: "Months as columns" }).uncheck();
  await page.locator(".table thead th", { hasText: "From" }).waitFor();
});

onAnswer("filters suggest values, and restrict rows", JUNE, async (page) => {
  await (await picker(page, "Filter")).fill("channel");
  await page.getByRole("option", { name: /^Attribution Channel/ }).click();
  await combobox(page, "Values").fill("paid");
  await page.getByRole("option", { name: /^Paid Search/ }).click();
  await combobox(page, "Values").fill("radio");
  await page.getByRole("option", { name: /^Radio/ }).click();
  await page.getByRole("button", { name: "Add filter" }).click();
  await page.locator(".progress [role=status]").filter({ hasText: "2 rows" }).waitFor();

  await (await picker(page, "Filter")).fill("leads");
  await page.getByRole("option", { name: /^Leads leads/ }).click();
  await page.getByLabel("Value", { exact: true }).fill("many");
  await page.getByRole("button", { name: "Add filter" }).click();
  await page.getByText("expected a number such as 12.5, but found “many”").waitFor();
  await page.getByLabel("Value", { exact: true }).fill("100");
  await page.getByRole("button", { name: "Add filter" }).click();
  await page.locator(".progress [role=status]").filter({ hasText: /^1 row$/ }).waitFor();
  assert.equal(await cell(page, 0, 0).textContent(), "Paid Search");
  // The totals are those of both channels: a condition on a metric chooses rows.
  const [total] = await asked(`demo-group/events?fields=leads&start=2026-06-01&end=2026-06-30&attributionChannel=${encodeURIComponent('["or","Paid Search","Radio"]')}`);
  assert.equal(await page.locator("tfoot td").first().textContent(), total.leads.toLocaleString("en-US"));
  await screenshot(page, "filters");
});

const MARCH = "#organization=demo-group&dimensions=attributionChannel&metrics=conversions,bookedCustomers&start=2026-03-01&end=2026-03-31";

onAnswer("channels of the first and of the last conversion", MARCH, async (page) => {
  await openChip(page, "Break down by");
  const credited = page.getByLabel("Credited");
  assert.equal(await credited.inputValue(), "recorded");
  const fields = "fields=attributionChannel,conversions,bookedCustomers&start=2026-03-01&end=2026-03-31";
  const expected = async (attribution) => {
    const rows = await asked(`demo-group/events?${fields}&attribution=${attribution}`);
    return rows.map((row) => [row.attributionChannel || "(none)", row.conversions.toLocaleString("en-US"), row.bookedCustomers.toLocaleString("en-US")].join(" "));
  };
  // Runs in the page.
  const rowsOf = () => [...document.querySelectorAll("tbody tr:not(.space)")].map((row) => [...row.querySelectorAll("td:not(.trend)")].map((cell) => cell.textContent).join(" "));
  const totals = () => page.locator("tfoot").textContent();
  const sums = await totals();
  const seen = [await page.evaluate(rowsOf)];
  assert.deepEqual(seen[0], await expected("recorded"));
  for (const attribution of ["first", "last"]) {
    await openChip(page, "Break down by");
    await credited.selectOption(attribution);
    await page.waitForFunction((name) => location.hash.endsWith(`&attribution=${name}`), attribution);
    await page.getByText("Spend keeps its own").waitFor();
    const rows = await expected(attribution);
    while (JSON.stringify(await page.evaluate(rowsOf)) !== JSON.stringify(rows)) await page.waitForTimeout(20);
    await answered(page);
    assert.equal(await totals(), sums);
    seen.push(rows);
  }
  // Each of the three credits another channel.
  assert.equal(new Set(seen.map((rows) => rows.join("\n"))).size, 3);
  await screenshot(page, "attribution");
  assert.deepEqual(await accessibilityFaults(page), []);
  const { copied } = await exportAndCopy(page);
  assert.match(await copied("trueup query"), /--attribution last/);
  await page.getByRole("button", { name: "Close", exact: true }).click();

  // The values that a filter suggests are counted as the answer is.
  const [request] = await Promise.all([
    page.waitForRequest((request) => request.url().includes("eventCount")),
    (async () => {
      await (await picker(page, "Filter")).fill("campaign");
      await page.getByRole("option", { name: /^Campaign campaign/ }).click();
      await combobox(page, "Values").fill("a");
    })(),
  ]);
  assert.equal(new URL(request.url()).searchParams.get("attribution"), "last");

  await page.goBack();
  await page.goBack();
  await page.waitForFunction(() => !location.hash.includes("attribution="));
  await openChip(page, "Break down by");
  assert.equal(await credited.inputValue(), "recorded");
});

onAnswer("a question without a metric is a step of the history", JUNE.replace("leads,bookRate,spend", "leads"), async (page) => {
  const incomplete = page.getByRole("heading", { name: "Choose a metric" });
  await openChip(page, "Metrics");
  await page.getByRole("button", { name: "Remove Leads" }).click();
  await incomplete.waitFor();
  await (await picker(page, "Metrics")).fill("spend");
  await page.keyboard.press("Enter");
  await page.locator("thead th", { hasText: "Spend" }).waitFor();
  await page.goBack();
  await incomplete.waitFor();
  assert.equal(await alerts(page).count(), 0);
  await page.goBack();
  await page.locator("thead th", { hasText: "Leads" }).waitFor();
});

onAnswer("a value can be typed that many others contain", JUNE, async (page) => {
  const others = Array.from({ length: 70 }, (_, number) => ({ campaign: `12${100 + number}`, eventCount: 100 }));
  await page.route(/fields=campaign,eventCount/, (route) => route.fulfill({ json: [...others, { campaign: "12", eventCount: 1 }] }));
  await (await picker(page, "Filter")).fill("campaign");
  await page.keyboard.press("Enter");
  await combobox(page, "Values").fill("12");
  await page.getByRole("option", { name: /^11 more/ }).waitFor();
  await page.getByRole("option", { name: "“12” as typed", exact: true }).click();
  await page.getByRole("button", { name: "Add filter" }).click();
  await page.waitForFunction(() => decodeURIComponent(location.hash).includes('["campaign","is","12"]'));
});

onAnswer("suggested values are those of the days of the question", JUNE, async (page) => {
  const requests = [];
  page.on("request", (request) => request.url().includes("fields=campaign,eventCount") && requests.push(new URL(request.url()).searchParams.get("start")));
  await (await picker(page, "Filter")).fill("campaign");
  await page.keyboard.press("Enter");
  await combobox(page, "Values").fill("a");
  await page.getByRole("option", { name: /\d events?/ }).first().waitFor();
  await page.keyboard.press("Escape");
  await page.evaluate((hash) => (location.hash = hash), JUNE.replace("2026-06-01", "2026-05-01").replace("2026-06-30", "2026-05-31"));
  await answered(page);
  await combobox(page, "Values").fill("e");
  await page.getByRole("option", { name: /\d events?/ }).first().waitFor();
  assert.deepEqual(requests, ["2026-06-01", "2026-05-01"]);
});

onAnswer("rows whose numbers are all 0 are an answer", JUNE, async (page) => {
  await page.route("**/events?**", (route) => route.fulfill({ json: [{ attributionChannel: "Of no effect", leads: 0, bookRate: 0, spend: 0, clicks: 0 }] }));
  await (await picker(page, "Metrics")).fill("clicks");
  await page.keyboard.press("Enter");
  await page.locator("tbody td", { hasText: "Of no effect" }).waitFor();
  await answered(page);
  assert.equal(await page.getByRole("heading", { name: "No data for this question" }).count(), 0);
});

onAnswer("days between stages, and what the dataset defines, are found by their names", JUNE, async (page) => {
  await (await picker(page, "Metrics")).fill("median days lead to sold");
  const found = page.getByRole("option", { name: /^Median Days Lead to Sold medianDaysLeadToSold/ });
  assert.match(await found.textContent(), /half of them took at most this long.* Lower is better\.$/);
  await found.click();
  // By a word of the definition alone.
  await (await picker(page, "Metrics")).fill("completed work less spend");
  await page.getByRole("option", { name: /^Net Revenue per Lead/ }).click();
  await (await picker(page, "Metrics")).fill("open leads");
  assert.equal(await page.getByRole("option", { name: /^Open Leads/ }).count(), 0, "only cohorts have it, and it comes by itself");
  await (await picker(page, "Break down by")).fill("hour of day");
  await page.getByRole("option", { name: /^Hour of Day hourOfDay/ }).click();
  await openChip(page, "Break down by");
  await page.getByRole("button", { name: "Remove Attribution Channel" }).click();
  await page.waitForFunction(() => location.hash.includes("dimensions=hourOfDay&"));
  await answered(page);
  const rows = await asked("demo-group/events?fields=hourOfDay,medianDaysLeadToSold&start=2026-06-01&end=2026-06-30");
  const nine = rows.find(({ hourOfDay }) => hourOfDay === "09");
  const shown = page.locator("tbody tr", { has: page.getByText("09", { exact: true }) }).locator("td:not(.trend)");
  assert.equal(await shown.nth(3).textContent(), nine.medianDaysLeadToSold.toFixed(2));
  // No hour has spend of its own.
  await page.getByText("Not by Hour of Day: Spend, Net Revenue per Lead.").waitFor();
  await screenshot(page, "days-between-stages");
});

onAnswer("a row leads to its customers, whose totals are its numbers", `${JUNE.replace("bookRate", "bookRate,closedRevenue,roasClosed")}&interval=week&sort=leads:desc`, async (page) => {
  const numbers = (row) => row.locator("td.number").allTextContents();
  const row = page.locator("tbody tr", { hasText: "2026-06-08" }).filter({ hasText: "Paid Search" });
  const expected = await numbers(row);
  assert.equal(expected.length, 5);
  // Leads, Book Rate, Closed Revenue, Closed Return on Ad Spend, Spend.
  const unspent = expected.slice(0, 3);
  await row.getByRole("button", { name: "Look into 2026-06-08" }).click();
  await screenshot(page, "look-into");
  assert.deepEqual(await accessibilityFaults(page), []);
  await page.getByRole("button", { name: "Show its customers" }).click();
  await page.waitForFunction(() => location.hash.includes("opportunityId"));
  assert.match(await answered(page), /^\d{2,} rows/);
  // Each with the days of its stages.
  assert.ok((await page.locator("thead .head").allTextContents()).includes("First Booked Date"));
  // Not one of them caused all of the spend: it is left out, and not repeated on each.
  assert.deepEqual(await numbers(page.locator("tfoot tr")), unspent);
  await page.getByText(/^Not by .*: Closed Return on Ad Spend, Spend\./).waitFor();
  assert.equal(await page.locator(".chart").count(), 0, "a chart of a few of many customers");
  await screenshot(page, "customers");
  await page.goBack();
  await page.waitForFunction(() => location.hash.includes("interval=week"));
  await answered(page);

  // With the keyboard, and by another dimension; a condition on a metric does not choose among the parts of a row.
  await page.evaluate((hash) => (location.hash = hash), `${JUNE}&where=${encodeURIComponent('["leads","above","5"]')}&sort=leads:desc`);
  await answered(page);
  const first = page.locator("tbody tr:not(.space)").first();
  const leads = await first.locator("td.number").first().textContent();
  await first.getByRole("button").focus();
  await page.keyboard.press("Enter");
  await combobox(page, "Break it down by").fill("campaign");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("dimensions=campaign"));
  await answered(page);
  assert.ok(!decodeURIComponent(page.url()).includes("above"));
  assert.equal(await page.locator("tfoot td.number").first().textContent(), leads);
});

onAnswer("Back closes the dialog of a row, which is one of another question", JUNE, async (page) => {
  const added = page.locator(".table thead th", { hasText: "Customer Status" });
  await (await picker(page, "Break down by")).fill("customer status");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await added.waitFor();
  await answered(page);
  await page.locator("tbody tr:not(.space)").first().getByRole("button").click();
  await page.locator("dialog[open]").waitFor();
  await page.goBack();
  await added.waitFor({ state: "detached" });
  assert.equal(await page.locator("dialog[open]").count(), 0);
});

const CLOSED = `${JUNE.replace("bookRate", "bookRate,closedRevenue,medianDaysLeadToSold")}&sort=leads:desc`;

onAnswer("a number is explained by the lines that add up to it", CLOSED, async (page) => {
  const why = page.getByRole("region", { name: "Why a number is what it is" });
  const row = page.locator("tbody tr:not(.space)").first();
  const channel = await row.locator("td").first().textContent();
  const bookRate = await row.locator("td:not(.trend)").nth(2).textContent();
  // With the pointer, from the cell itself.
  await row.locator("td:not(.trend)").nth(2).click();
  await why.getByText(`Book Rate ${bookRate} = Booked Customers / Customers`).waitFor();
  const query = `fields=attributionChannel,bookRate,closedRevenue&start=2026-06-01&end=2026-06-30`;
  const explained = (metric, lines) => asked(`demo-group/events?${query}&why=${metric}&lines=${lines}&row=${encodeURIComponent(`attributionChannel=${channel}`)}`);
  const expected = await explained("bookRate", 100);
  for (const { measure, sum, lines, leftOut } of expected.measures) {
    const figure = why.locator("figure", { hasText: measure === "customers" ? /^Customers: / : /^Booked Customers: / });
    assert.match(await figure.locator("figcaption").textContent(), new RegExp(`: ${sum.toLocaleString("en-US")}the sum of ${lines.toLocaleString("en-US")} line`));
    assert.equal(await figure.locator("tbody tr").count(), lines - leftOut);
  }
  const [line] = expected.lines;
  const first = why.locator("tbody tr").first().locator("td");
  assert.deepEqual(await first.allTextContents(), [line.date, line.account, line.opportunityId, `${line.type} ${line.eventId}`, "1", line.rule.replace(/`([^`]*)`/g, "“$1”")]);
  await screenshot(page, "why");
  assert.deepEqual(await accessibilityFaults(page), []);

  // All lines of an amount of money add up to the cell.
  await why.getByRole("combobox").selectOption("closedRevenue");
  const closed = (await explained("closedRevenue", 1_000)).measures[0];
  const revenue = why.locator("figure", { hasText: "Closed Revenue: " });
  await revenue.waitFor();
  const more = revenue.getByRole("button", { name: "Show up to 1,000" });
  if (await more.count()) await more.click();
  await revenue.locator("tbody tr").nth(closed.lines - 1).waitFor();
  const adds = await revenue.locator("td.number").allTextContents();
  const sum = adds.reduce((total, text) => total + Math.round(Number(text.replaceAll(",", "")) * 100), 0);
  assert.equal(sum, Math.round(Number((await row.locator("td:not(.trend)").nth(3).textContent()).replaceAll(",", "")) * 100));

  // A percentile has no lines, and the service says what has.
  await why.getByRole("combobox").selectOption("medianDaysLeadToSold");
  await why.getByRole("alert").getByText("percentile").waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).click();

  // With the keyboard, from the first cell of the row.
  await row.getByRole("button").focus();
  await page.keyboard.press("Enter");
  await why.getByRole("combobox").selectOption("leads");
  await why.locator("figure", { hasText: /^Leads: / }).waitFor();
});

onAnswer("a number of a cohort is explained, on 360 pixels and in the dark", "#organization=demo-group&metrics=closedRevenue,spend&start=2026-01-01&end=2026-06-30&interval=month&within=90d", async (page) => {
  await page.locator(".table tbody td.number").first().click();
  const why = page.getByRole("region", { name: "Why a number is what it is" });
  await why.locator("figure", { hasText: "Closed Revenue: " }).locator("tbody tr").first().waitFor();
  assert.equal(await page.evaluate(() => document.scrollingElement.scrollWidth), 360);
  assert.deepEqual(await accessibilityFaults(page), []);
  await screenshot(page, "why-narrow");
  await why.getByRole("combobox").selectOption("spend");
  await why.locator("figure").first().locator("tbody tr").first().waitFor();
  assert.equal(await why.locator("thead").first().getByText("Customer").count(), 0, "a row of spend is of no customer");
}, { viewport: { width: 360, height: 740 }, colorScheme: "dark" });

const ODD = `${JUNE.replace("attributionChannel", "campaign")}&interval=month&where=${encodeURIComponent('["campaign","contains","drain","[Charlotte"]')}&sort=leads:desc`;

/** Runs a copied command on the dataset with more options, and returns what it prints. */
async function runCopied(copied, options) {
  const command = copied.replace("DATASET", '"$DATASET"').trim();
  const { stdout } = await run("bash", ["-c", `trueup() { "$PROGRAM" "$@"; }; ${command} ${options}`], {
    env: { ...process.env, PROGRAM: site.program, DATASET: site.dataset },
  });
  return stdout;
}

/** Exports the answer, compares it with that of the copied command, and leaves the dialog with the copies open. */
async function exportAndCopy(page) {
  const [download] = await Promise.all([page.waitForEvent("download"), share(page, "Export CSV")]);
  const csv = await readFile(await download.path(), "utf8");
  const copied = async (name) => {
    await page.getByRole("radio", { name }).check();
    return page.locator("dialog pre").textContent();
  };
  await share(page, "Copy as code…");
  assert.equal(csv, await runCopied(await copied("trueup query"), "--format csv"));
  return { name: download.suggestedFilename(), csv, copied };
}

onAnswer("the export has the bytes of the copied command, and curl the rows of the page", ODD, async (page) => {
  const { name, csv, copied } = await exportAndCopy(page);
  assert.equal(name, "demo-group-2026-06-01-2026-06-30.csv");
  assert.ok(csv.split("\n").length > 4, csv);

  const curl = await run("bash", ["-c", await copied("curl")], { env: { ...process.env, TRUEUP_KEY: key } });
  assert.equal(JSON.parse(curl.stdout).length, csv.trim().split("\n").length - 1);
  assert.ok(!(await copied("curl")).includes(key));
  await screenshot(page, "copy");
});

onAnswer("a command does not sort by a column that was taken away", `${JUNE}&sort=spend:desc`, async (page) => {
  await openChip(page, "Metrics");
  await page.getByRole("button", { name: "Remove Spend" }).click();
  await page.locator("thead th", { hasText: "Spend" }).waitFor({ state: "detached" });
  const { copied } = await exportAndCopy(page);
  assert.ok(!(await copied("trueup query")).includes("--sort"));
});

onAnswer("the export as Parquet is the file that the copied command writes", ODD.replace(/&sort=.*/, ""), async (page) => {
  const { csv, copied } = await exportAndCopy(page);
  const expected = `${site.dataset}.parquet`;
  await runCopied(await copied("trueup query"), `-o ${expected}`);
  await page.getByRole("button", { name: "Close", exact: true }).click();

  const requests = [];
  page.on("request", (request) => request.url().includes("/events?") && requests.push(request));
  const [download] = await Promise.all([page.waitForEvent("download"), share(page, "Export Parquet")]);
  assert.equal(download.suggestedFilename(), "demo-group-2026-06-01-2026-06-30.parquet");
  const file = await readFile(await download.path());
  assert.deepEqual([file.subarray(0, 4).toString(), file.subarray(-4).toString()], ["PAR1", "PAR1"]);
  assert.ok(file.equals(await readFile(expected)), "the file of the page is that of the command");
  assert.ok(csv.split("\n").length > 4, csv);

  assert.equal(requests.length, 1);
  assert.ok(!requests[0].url().includes(key));
  assert.equal((await requests[0].allHeaders()).authorization, key);
});

onAnswer("the export as XLSX is a sheet that the program reads", JUNE, async (page) => {
  const [download] = await Promise.all([page.waitForEvent("download"), share(page, "Export XLSX")]);
  assert.equal(download.suggestedFilename(), "demo-group-2026-06-01-2026-06-30.xlsx");
  await page.getByText("XLSX saved").waitFor();
  const file = `${site.dataset}.xlsx`;
  await download.saveAs(file);
  // The rows and the totals.
  assert.match(await site.trueup("mapping", "draft", file), /^# All 14 rows were read/m);
});

onAnswer("an export without an answer says why, and can be tried again", JUNE, async (page) => {
  let answer = { status: 503, headers: { "Retry-After": "1" }, contentType: "application/json", body: '{"error":"no memory","code":"overloaded"}' };
  await page.route("**/events?**", (route) => (answer ? route.fulfill(answer) : route.continue()));
  await share(page, "Export Parquet");
  await alerts(page).getByRole("heading", { name: "The service is busy" }).waitFor();
  assert.ok((await page.locator("tbody tr").count()) > 1, "the table stays");
  assert.deepEqual(await accessibilityFaults(page), []);
  await screenshot(page, "fault-export");

  answer = { status: 200, contentType: "application/json", body: "[]" };
  await alerts(page).getByRole("button", { name: "Ask again" }).click();
  await alerts(page).getByRole("heading", { name: "The answer cannot be read" }).waitFor();
  answer = null;
  const [download] = await Promise.all([page.waitForEvent("download"), alerts(page).getByRole("button", { name: "Ask again" }).click()]);
  assert.match(download.suggestedFilename(), /\.parquet$/);
  await alerts(page).waitFor({ state: "detached" });
});

onAnswer("days, intervals and charts", JUNE, async (page) => {
  await page.getByRole("radio", { name: "Week" }).check();
  await page.locator(".lines path").first().waitFor();
  assert.equal(await page.locator(".lines .series").count(), 6);
  await page.locator(".lines svg").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.locator(".lines .marked").textContent(), "1 – 7 Jun 2026");
  const values = await page.locator(".tip strong").allTextContents();
  const falling = [...values].sort((a, b) => Number(b.replaceAll(",", "")) - Number(a.replaceAll(",", "")));
  assert.deepEqual(values, falling, "the tooltip is sorted by value");
  await screenshot(page, "lines");
  // A drag over the chart zooms.
  const { x, y, width } = await page.locator(".lines svg").boundingBox();
  await page.mouse.move(x + 55, y + 100);
  await page.mouse.down();
  await page.mouse.move(x + 52 + (width - 52 - 150) / 4, y + 100, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(() => location.hash.includes("start=2026-06-01&end=2026-06-14"));
  await page.goBack();
  await answered(page);

  // More days than one figure may have are shown by month, and fewer are whole again.
  await page.getByRole("radio", { name: "Total" }).check();
  await openChip(page, "Days");
  await page.getByLabel("From").fill("2026-01-01");
  await page.getByText("181 days: more than 90 are shown by month").waitFor();
  await answered(page);
  await page.getByText("There is no total").waitFor();
  assert.ok(await page.getByRole("radio", { name: "Total" }).isDisabled());
  await screenshot(page, "too-many-days");
  await page.getByLabel("To", { exact: true }).fill("2026-02-28");
  await page.getByText(/^59 days$/).waitFor();
  await answered(page);
  assert.ok(await page.getByRole("radio", { name: "Total" }).isChecked());
  await page.evaluate((hash) => (location.hash = hash), JUNE.replaceAll("2026", "2027"));
  await page.getByRole("heading", { name: "No data for this question" }).waitFor();
  await page.getByRole("button", { name: "Show Jun 2026" }).click();
  await answered(page);
});

onAnswer("every named range has an answer", JUNE, async (page) => {
  await openChip(page, "Days");
  const named = page.getByRole("list", { name: "Named days" }).getByRole("button");
  const offered = await named.allTextContents();
  assert.ok(offered.length >= 9);
  // The data end with June: that is the last month, whatever the clock says.
  assert.deepEqual(offered.filter((text) => /^Last (month|quarter|year)/.test(text)), ["Last month Jun 2026", "Last quarter Q2 2026", "Last year 2025"]);
  await screenshot(page, "days");
  assert.deepEqual(await accessibilityFaults(page), []);
  // A month of the list, too.
  await page.getByRole("button", { name: "Sep 2025" }).click();
  await page.waitForFunction(() => location.hash.includes("start=2025-09-01&end=2025-09-30"));
  for (const compare of ["", "&compare=previous-period"]) {
    await page.evaluate((hash) => (location.hash = hash), `${JUNE}${compare}`);
    for (const text of offered) {
      const before = page.url();
      await openChip(page, "Days");
      await named.filter({ hasText: text }).click();
      await page.waitForFunction((url) => location.href !== url && location.hash.includes("days="), before);
      await answered(page);
      assert.equal(await alerts(page).count(), 0, text);
      assert.ok((await page.locator("tbody tr:not(.space)").count()) > 5, text);
    }
  }
});

const MONTHLY = "#organization=demo-group&metrics=bookRate,leads&start=2025-08-01&end=2026-06-20&interval=month";

onAnswer("a line by month has benchmarks behind it", MONTHLY, async (page) => {
  const requests = [];
  page.on("request", (request) => request.url().includes("/benchmarks") && requests.push(request.url()));
  assert.equal(await page.locator(".bands").count(), 0, "benchmarks are shown when somebody asks for them");
  await openChip(page, "Compare to");
  await page.getByRole("button", { name: /^Similar businesses/ }).click();
  await page.waitForFunction(() => location.hash.endsWith("&benchmarks=true"));
  await page.locator(".bands .half").first().waitFor();
  await page.getByText("Benchmarks as a table").click();
  const months = page.getByRole("region", { name: "Benchmarks by month" }).locator("tbody tr");
  await months.nth(9).waitFor();
  // June is not whole: the service has no benchmarks of its first twenty days.
  assert.equal(await months.count(), 10);
  const may = await askedOfCrowd("demo-group/benchmarks?month=2026-05&fields=bookRate");
  const series = (name) => `${(may.find((row) => row.series === name).bookRate * 100).toFixed(1)}%`;
  assert.deepEqual(await months.nth(9).locator("td").allTextContents(), [...["p10", "p25", "p50", "p75", "p90", "benchmark"].map(series), String(may[0].cohortAccounts)]);
  await page.locator(".lines svg").focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await page.locator(".lines .marked").textContent(), "May 2026");
  assert.match(await page.getByRole("list", { name: "Benchmarks" }).textContent(), new RegExp(`Half of the accounts ${series("p25")} to ${series("p75")}`));
  assert.deepEqual(await accessibilityFaults(page), []);
  await screenshot(page, "benchmarks");
  // All months are one request.
  assert.equal(requests.length, 1);
  assert.equal(new URL(requests[0]).searchParams.get("month").split(",").length, 10);

  // A metric that has none, a dimension that has none, and a condition that they cannot have.
  await page.getByLabel("Metric of the chart").selectOption("leads");
  await page.getByText("Leads has no benchmarks").waitFor();
  assert.equal(await page.locator(".bands").count(), 0);
  for (const [part, why] of [
    ["&dimensions=campaign", "not known by Campaign"],
    ["&attribution=first", "of what each event records"],
    [`&where=${encodeURIComponent('["campaign","contains","drain"]')}`, "filters on one value"],
    ["&within=90d", "of what each event records"],
  ]) {
    await page.evaluate((hash) => (location.hash = hash), `${MONTHLY}&benchmarks=true${part}`);
    await page.getByText(why).waitFor();
    await page.locator(".lines path").first().waitFor({ state: "attached" });
    assert.equal(await page.locator(".bands").count(), 0, part);
  }
  assert.equal(requests.length, 1);
}, { isCrowded: true });

onAnswer("benchmarks of one group among several, on 360 pixels and in the dark", `${MONTHLY}&dimensions=attributionCategory&benchmarks=true`, async (page) => {
  await page.locator(".bands .half").first().waitFor();
  const groups = page.getByLabel("Benchmarks of");
  const chosen = (await groups.locator("option").allTextContents()).findIndex((text) => text === "of Organic");
  await groups.selectOption(String(chosen));
  const [color] = /series-\d/.exec(await page.getByRole("list", { name: "Lines" }).locator("li", { hasText: "Organic" }).getAttribute("class"));
  await page.locator(`.bands.${color} .half`).first().waitFor();
  await page.getByText("Benchmarks as a table").click();
  const may = await askedOfCrowd("demo-group/benchmarks?month=2026-05&fields=attributionCategory,bookRate");
  const median = may.find((row) => row.series === "p50" && row.attributionCategory === "Organic").bookRate;
  await page.getByRole("row", { name: /^2026-05/ }).getByText(`${(median * 100).toFixed(1)}%`, { exact: true }).first().waitFor();
  assert.equal(await page.evaluate(() => document.scrollingElement.scrollWidth), 360);
  assert.deepEqual(await accessibilityFaults(page), []);
  await page.locator(".chart").scrollIntoViewIfNeeded();
  await screenshot(page, "benchmarks-narrow");
}, { isCrowded: true, viewport: { width: 360, height: 740 }, colorScheme: "dark" });

onAnswer("where benchmarks are withheld or refused, the page says so", MONTHLY, async (page) => {
  const answers = [
    [200, "[]", "2025-09-01", "There are no benchmarks of these months", 1],
    [404, '{"error":"no","code":"inaccessible-organization"}', "2025-10-01", "The benchmarks are missing", 1],
    [500, "{}", "2025-11-01", "The benchmarks are missing", 1],
  ];
  for (const [status, body, start, said, expected] of answers) {
    let requests = 0;
    await page.unrouteAll();
    await page.route("**/benchmarks?**", (route) => {
      requests += 1;
      return route.fulfill({ status, body, contentType: "application/json" });
    });
    await page.evaluate((hash) => (location.hash = hash), `${MONTHLY.replace("2025-08-01", start)}&benchmarks=true`);
    await answered(page);
    await page.getByText(said).waitFor();
    assert.equal(await page.locator(".bands").count(), 0);
    assert.equal(requests, expected);
  }
  // While they are being computed, the page waits and asks again.
  await page.unrouteAll();
  let refusals = 2;
  await page.route("**/benchmarks?**", (route) => {
    if (refusals === 0) return route.continue();
    refusals -= 1;
    return route.fulfill({ status: 503, headers: { "Retry-After": "1" }, body: '{"error":"wait","code":"benchmarks-gathering"}', contentType: "application/json" });
  });
  await page.evaluate((hash) => (location.hash = `${hash}&benchmarks=true`), MONTHLY);
  await page.locator(".bands .half").first().waitFor();
  assert.equal(refusals, 0);
  // A service that fails does not lack benchmarks.
  await page.route("**/benchmarks?**", (route) => route.fulfill({ status: 500, body: "{}", contentType: "application/json" }));
  await page.evaluate((hash) => (location.hash = `${hash}&benchmarks=true`), MONTHLY.replace("2025-08-01", "2025-12-01"));
  await page.getByText("The benchmarks are missing").waitFor();
  assert.equal(await page.getByText("There are no benchmarks").count(), 0);
}, { isCrowded: true });

onAnswer("a metric whose benchmarks are withheld has none, whatever another one has", MONTHLY.replace("leads", "matchRate"), async (page) => {
  await page.route("**/benchmarks?**", async (route) => {
    const rows = await (await route.fetch()).json();
    return route.fulfill({ json: rows.map((row) => ({ ...row, matchRate: null })) });
  });
  await page.evaluate((hash) => (location.hash = `${hash}&benchmarks=true`), MONTHLY.replace("leads", "matchRate").replace("2025-08-01", "2025-09-01"));
  await page.locator(".bands .half").first().waitFor();
  await page.getByLabel("Metric of the chart").selectOption("matchRate");
  await page.getByText("There are no benchmarks of these months").waitFor();
  assert.equal(await page.locator(".bands").count(), 0);
  await page.getByLabel("Metric of the chart").selectOption("bookRate");
  await page.locator(".bands .half").first().waitFor();
}, { isCrowded: true });

onAnswer("a service with few accounts has no benchmarks", `${MONTHLY}&benchmarks=true`, async (page) => {
  await page.getByText("There are no benchmarks of these months").waitFor();
  assert.equal(await page.locator(".bands").count(), 0);
  // One month as a whole stands nowhere, either.
  await page.evaluate((hash) => (location.hash = hash), "#organization=demo-group&metrics=bookRate&start=2026-05-01&end=2026-05-31&benchmarks=true");
  await page.getByText("There are no benchmarks of this month").waitFor();
});

const COHORTS = "#organization=demo-group&metrics=leads,closedRevenue,roasClosed&start=2025-10-01&end=2026-06-30&interval=month&within=90d";

onAnswer("cohorts by month and window", COHORTS, async (page) => {
  const map = page.getByRole("region", { name: "Cohorts by window" });
  await map.waitFor();
  assert.deepEqual(await map.locator("thead th").allTextContents(), ["Leads of", "7 days", "14 days", "30 days", "60 days", "90 days"]);
  await page.getByLabel("Metric of the cohorts").selectOption("roasClosed");
  await page.waitForFunction(() => location.hash.includes("chart=roasClosed"));
  const february = map.locator("tbody tr", { hasText: "2026-02" }).locator("td");
  const range = "start=2025-10-01&end=2026-06-30&interval=month";
  for (const [column, days] of [[0, 7], [2, 30], [4, 90]]) {
    const rows = await asked(`demo-group/events?fields=roasClosed&${range}&cohort=true&within=${days}d`);
    const expected = rows.find(({ start }) => start === "2026-02-01").roasClosed.toFixed(2);
    await february.nth(column).filter({ hasText: expected }).waitFor();
  }
  // The data ends with June: the windows of its leads and of those of May are open, those of February are not.
  const marks = (month) => map.locator("tbody tr", { hasText: month }).locator("td.open").count();
  assert.deepEqual([await marks("2026-02"), await marks("2026-06")], [0, 5]);
  const open = page.locator(".table tbody tr", { hasText: "2026-06-01" }).locator("td").last();
  assert.match(await open.textContent(), /^[1-9][\d,]* ◔$/);
  await page.getByText("its numbers may still change").waitFor();
  // Nine months have totals, because a cohort is not bound to 90 days.
  const [total] = await asked("demo-group/events?fields=leads,openLeads&start=2025-10-01&end=2026-06-30&cohort=true&within=90d");
  assert.equal(await page.locator("tfoot td.number").first().textContent(), total.leads.toLocaleString("en-US"));
  await screenshot(page, "cohorts");
  assert.deepEqual(await accessibilityFaults(page), []);
  await exportAndCopy(page);
  await page.getByRole("button", { name: "Close", exact: true }).click();

  await openChip(page, "Days");
  await page.getByLabel("Count by").selectOption("all");
  await map.getByText("without end").waitFor();
  assert.equal(await map.locator("td.open").count(), (await map.locator("tbody tr").count()) + (await map.locator("td:not(:last-child).open").count()));
  await openChip(page, "Days");
  await page.getByLabel("Count by").selectOption("");
  await page.waitForFunction(() => !location.hash.includes("within"));
  await answered(page);
  assert.equal(await map.count(), 0);
});

onAnswer("a failure of the map is not that of the next question", COHORTS, async (page) => {
  const hint = page.getByText("The other windows could not be loaded");
  await page.route(/within=7d/, (route) => route.fulfill({ status: 500, body: "{}", contentType: "application/json" }));
  await openChip(page, "Days");
  await page.getByLabel("Count by").selectOption("60d");
  await hint.waitFor();
  await page.unrouteAll();
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route(/within=7d/, async (route) => {
    await held;
    await route.continue();
  });
  await openChip(page, "Days");
  await page.getByLabel("Count by").selectOption("90d");
  await hint.waitFor({ state: "detached" });
  release();
  await page.getByRole("region", { name: "Cohorts by window" }).waitFor();
});

onAnswer("a condition on a metric leaves no cohort out of the map", COHORTS, async (page) => {
  const rows = await asked("demo-group/events?fields=leads&start=2025-10-01&end=2026-06-30&interval=month&cohort=true&within=7d");
  const [fewest] = rows.sort((a, b) => a.leads - b.leads);
  const condition = encodeURIComponent(`["leads","above","${fewest.leads}"]`);
  await page.evaluate((hash) => (location.hash = hash), `${COHORTS}&chart=leads&where=${condition}`);
  await answered(page);
  const cells = page.getByRole("region", { name: "Cohorts by window" }).locator("tbody tr", { hasText: fewest.start.slice(0, 7) }).locator("td");
  await cells.first().filter({ hasText: fewest.leads.toLocaleString("en-US") }).waitFor();
});

onAnswer("cohorts can be filtered by their open leads", COHORTS, async (page) => {
  const range = "start=2025-10-01&end=2026-06-30&interval=month";
  const closed = await asked(`demo-group/events?fields=leads&${range}&cohort=true&within=90d&openLeads=${encodeURIComponent('["lte",0]')}`);
  assert.ok(closed.length > 1 && closed.length < 9, `${closed.length}`);
  await (await picker(page, "Filter")).fill("open leads");
  await page.getByRole("option", { name: /^Open Leads/ }).click();
  await page.getByLabel("Condition", { exact: true }).selectOption("atMost");
  await page.getByLabel("Value", { exact: true }).fill("0");
  await page.getByRole("button", { name: "Add filter" }).click();
  await page.locator(".progress [role=status]").filter({ hasText: `${closed.length} rows` }).waitFor();
});

onAnswer("cohorts on 360 pixels, in the dark", COHORTS, async (page) => {
  await page.getByRole("region", { name: "Cohorts by window" }).waitFor();
  assert.equal(await page.evaluate(() => document.scrollingElement.scrollWidth), 360);
  assert.deepEqual(await accessibilityFaults(page), []);
  await screenshot(page, "cohorts-narrow");
}, { viewport: { width: 360, height: 740 }, colorScheme: "dark" });

onAnswer("a comparison with the days before", `${JUNE}&compare=previous-period&sort=leads:desc`, async (page) => {
  const headers = () => page.locator(".table thead th button:first-child").allTextContents();
  assert.deepEqual((await headers()).map((text) => text.replace("↓", "")), ["Attribution Channel", "Leads", "Book Rate", "Spend"]);
  const rows = await asked("demo-group/events?fields=attributionChannel,leads,bookRate,spend&start=2026-06-01&end=2026-06-30&compare=previous-period");
  const [most] = rows.sort((a, b) => b.leads - a.leads);
  const signed = (number) => `${number > 0 ? "+" : ""}${number.toLocaleString("en-US")}`;
  const change = (column) => cell(page, 0, column).locator("small");
  const inPercent = `${most["leads.ratio"] > 0 ? "+" : ""}${(most["leads.ratio"] * 100).toFixed(1)}%`;
  assert.deepEqual([await figure(cell(page, 0, 1)).textContent(), await change(1).textContent()], [most.leads.toLocaleString("en-US"), inPercent]);
  assert.match(await change(2).textContent(), /^[+-]?\d+\.\d pp$/);
  // More leads are better; spend is neither.
  assert.equal(await change(1).getAttribute("class"), most["leads.change"] > 0 ? "good" : "bad");
  assert.equal(await change(3).getAttribute("class"), "");
  assert.match(await cell(page, 0, 1).getAttribute("title"), new RegExp(`Leads: before ${most["leads.previous"].toLocaleString("en-US")}`));
  await page.getByRole("button", { name: "Sort by Spend: change in %" }).click();
  await page.waitForFunction(() => location.hash.includes("sort=spend.ratio:desc"));
  await page.goBack();
  await answered(page);
  await screenshot(page, "comparison");

  // What moved leads adds up to their change, and breaks down inside itself to three levels.
  const bars = page.getByRole("list", { name: "Contributions by Attribution Channel" });
  const contributed = async (list) => (await list.locator("> li > .bar-row strong").allTextContents()).reduce((sum, text) => sum + Number(text.replaceAll(",", "")), 0);
  const [whole] = await asked("demo-group/events?fields=leads&start=2026-06-01&end=2026-06-30&compare=previous-period");
  assert.equal(await contributed(bars), whole["leads.change"]);
  const largest = [...rows].sort((a, b) => Math.abs(b["leads.change"]) - Math.abs(a["leads.change"]))[0];
  const first = bars.locator("> li").first();
  assert.equal(await first.locator("> .bar-row .label").textContent(), largest.attributionChannel);
  await first.getByRole("button").click();
  const inside = first.getByRole("list").first();
  await inside.locator("> li").first().waitFor();
  assert.equal(await contributed(inside), largest["leads.change"]);
  await inside.locator("> li").first().getByRole("button").click();
  const third = inside.getByRole("list").first();
  await third.locator("> li").first().waitFor();
  assert.equal(await third.getByRole("button").count(), 0, "a fourth level");
  await screenshot(page, "contributions");
  assert.deepEqual(await accessibilityFaults(page), []);
  await first.getByRole("button").first().click();
  await inside.waitFor({ state: "detached" });

  await page.getByRole("switch", { name: "Values before and effects" }).check();
  assert.deepEqual((await headers()).slice(1, 6).map((text) => text.replace("↓", "")), ["Leads", "Leads: before", "Leads: change", "Leads: change in %", "Book Rate"]);
  assert.equal(await cell(page, 0, 3).textContent(), signed(most["leads.change"]));
  assert.match(await cell(page, 0, 3).getAttribute("class"), most["leads.change"] > 0 ? /good/ : /bad/);
  assert.deepEqual(await accessibilityFaults(page), []);
  await exportAndCopy(page);
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await openChip(page, "Break down by");
  await page.getByRole("button", { name: "Remove Attribution Channel" }).click();
  await page.locator(".tiles .was").first().waitFor();
  await screenshot(page, "comparison-figures");

  await openChip(page, "Compare to");
  assert.deepEqual((await page.getByRole("list", { name: "Compare to" }).getByRole("button").allTextContents()).slice(0, 3), ["Nothing", "Previous month May 2026", "Same month last year Jun 2025"]);
  await page.getByRole("list", { name: "Compare to" }).getByRole("button", { name: "Custom" }).click();
  await page.getByLabel("Compared from").fill("2025-06-01");
  await page.getByLabel("Compared to").fill("2025-06-30");
  await page.waitForFunction(() => location.hash.includes("compare=2025-06-01..2025-06-30"));
  await answered(page);
  // By week, the earlier days are a dotted line, each week at the place of the one that it is compared with.
  await page.getByRole("radio", { name: "Week" }).check();
  await page.locator(".lines path.earlier").waitFor({ state: "attached" });
  await answered(page);
  assert.match(page.url(), /interval=week&compare=2025-06-01\.\.2025-06-30/);
  const [before] = await asked("demo-group/events?fields=leads&start=2025-06-01&end=2025-06-30&interval=week");
  await page.locator(".lines svg").focus();
  await page.keyboard.press("ArrowRight");
  assert.deepEqual(await page.locator(".tip p").allTextContents(), ["1 – 7 Jun 2026", "against 1 Jun 2025"]);
  assert.equal(await page.locator(".tip small").textContent(), before.leads.toLocaleString("en-US"));
  assert.equal((await page.locator(".lines path.earlier").getAttribute("d")).match(/[ML]/g).length, 5);
  assert.deepEqual(await accessibilityFaults(page), []);
  await screenshot(page, "comparison-by-week");
});

onAnswer("stages are a funnel", "#organization=demo-group&metrics=leads,soldLeads,closedLeads,roasClosed&start=2026-06-01&end=2026-06-30", async (page) => {
  assert.equal(await page.locator(".funnel li").count(), 3);
  const [row] = await asked("demo-group/events?fields=leads,soldLeads&start=2026-06-01&end=2026-06-30");
  const shown = await page.locator(".funnel .value").nth(1).textContent();
  assert.equal(shown, `${row.soldLeads} ${((row.soldLeads / row.leads) * 100).toFixed(1).replace(/\.0$/, "")}%`);
  await screenshot(page, "funnel");
}, { colorScheme: "dark" });

onAnswer("targets are those of the service: in the tiles, and in place of a comparison in the table", "#organization=demo-group&dimensions=account&metrics=leads,conversions&start=2026-06-01&end=2026-06-10&compare=previous-period", async (page) => {
  const range = "start=2026-06-01&end=2026-06-10&%24targets=true";
  const rows = await asked(`demo-group/events?fields=account,leads,conversions&${range}`);
  const [total] = await asked(`demo-group/events?fields=leads,conversions&${range}`);
  const digits = (most) => ({ minimumFractionDigits: most, maximumFractionDigits: most });
  const shown = (row) => [row["leads.target"].toLocaleString("en-US", digits(2)), row["leads.pace"].toLocaleString("en-US", { style: "percent", ...digits(1) })];
  const [target, pace] = shown(total);
  const tile = (name) => page.getByRole("list", { name: "Figures" }).getByRole("button", { name });
  await tile("Leads").filter({ hasText: `Target ${target}, pace ${pace}` }).waitFor();
  // The demo has no target of conversions.
  assert.ok(!(await tile("Conversions").textContent()).includes("Target"));

  await openChip(page, "Compare to");
  await page.getByRole("list", { name: "Compare to" }).getByRole("button", { name: "Targets" }).click();
  await page.locator(".heading h2").filter({ hasText: `Leads: ${pace} of target in ` }).waitFor();
  await answered(page);
  assert.match(page.url(), /&targets=true/);
  assert.deepEqual(await page.locator("thead .head").allTextContents(), ["Account", "Leads", "Leads: target", "Leads: pace", "Conversions"]);
  for (const [at, row] of rows.entries()) {
    assert.equal(await cell(page, at, 0).textContent(), row.account);
    assert.deepEqual([await figure(cell(page, at, 2)).textContent(), await figure(cell(page, at, 3)).textContent()], shown(row));
  }
  assert.deepEqual((await page.locator("tfoot tr > :not(.trend)").allTextContents()).slice(2, 4), [target, pace]);
  await exportAndCopy(page);
  await page.getByRole("button", { name: "Close", exact: true }).click();
  assert.deepEqual(await accessibilityFaults(page), []);
  await screenshot(page, "targets");

  // A channel has none of its own: the page says what the service says.
  await page.evaluate((hash) => (location.hash = hash), page.url().split("#")[1].replace("dimensions=account", "dimensions=attributionChannel"));
  await page.getByText("`leads.target` is null in").waitFor();
  await answered(page);
  assert.equal(await figure(cell(page, 0, 2)).textContent(), "–");
});

test("a revoked key asks for another, and the question stays", { timeout: 60_000 }, async () => {
  const own = await site.createKey();
  const { page, context, faults } = await openPage(site, { hash: JUNE });
  await signIn(page, own);
  await answered(page);
  const list = await site.trueup("keys", "list", site.dataset, "demo@example.com");
  const number = Math.max(...[...list.matchAll(/^\s*(\d+)\b/gm)].map((match) => Number(match[1])));
  await site.trueup("keys", "delete", site.dataset, "demo@example.com", String(number));
  await page.getByRole("radio", { name: "Day" }).check();
  await alerts(page).getByText("does not accept your key any more").waitFor();
  assert.equal(await page.locator("tbody tr").count(), 0);
  await screenshot(page, "revoked");
  await page.getByRole("button", { name: "Sign in with another key" }).click();
  await signIn(page, own);
  await page.getByText("The service does not know this key").waitFor();
  await signIn(page, key);
  await answered(page);
  assert.match(page.url(), /interval=day/);
  assert.deepEqual(faults, []);
  await context.close();
});

/** Answers of the service, or of something in between, and what the page says about them. */
const FAULTS = [
  [{ status: 400, body: { error: "expected a number, but found `x` at `leads[1]`", code: "invalid-filter" } }, "The service refused the question", "leads[1]", false],
  [{ status: 403, body: {} }, "You may not ask this", "operator", false],
  [{ status: 404, body: { error: "no organization or account `x` is accessible", code: "inaccessible-organization" } }, "Your key does not reach", "Choose an organization", false],
  [{ status: 429, headers: { "Retry-After": "1" }, body: { error: "1000 requests", code: "rate-limited" } }, "used up the requests of this hour", "in 1 second", true],
  [{ status: 502, headers: { "X-Request-Id": "r-17" }, body: { error: "the data could not be read", code: "upstream-failed" } }, "The service failed", "r-17", true],
  [{ status: 503, headers: { "Retry-After": "1" }, body: { error: "no memory", code: "overloaded" } }, "The service is busy", "in 1 second", true],
  [{ status: 504, body: { error: "took longer than 30 s", code: "timeout" } }, "The answer took too long", "fewer days", true],
  [{ status: 200, text: "<html>a proxy</html>" }, "The answer cannot be read", "no answer of the service", true],
  [null, "The service cannot be reached", "connection", true],
];
for (const [answer, title, advice, isRetried] of FAULTS) {
  const name = answer ? `${answer.status}${answer.text ? " with a page of a proxy" : ""}` : "no network";
  onAnswer(`${name} is said in words`, JUNE, async (page) => {
    let isFaulty = true;
    await page.route("**/events?**", (route) => {
      if (!isFaulty) return route.continue();
      if (!answer) return route.abort("internetdisconnected");
      return route.fulfill({ status: answer.status, headers: answer.headers ?? {}, body: answer.text ?? JSON.stringify(answer.body), contentType: "application/json" });
    });
    await page.getByRole("radio", { name: "Week" }).check();
    await alerts(page).getByRole("heading", { name: title }).waitFor();
    assert.match(await alerts(page).textContent(), new RegExp(advice.replace(/[[\]]/g, "\\$&")));
    // The last answer stays below, where it cannot be taken for the new one.
    assert.ok((await page.locator(".answer.stale[inert] tbody tr").count()) > 5);
    assert.ok(!(await isExportable(page)));
    assert.deepEqual(await accessibilityFaults(page), []);
    await screenshot(page, `fault-${answer ? answer.status : "network"}`);
    isFaulty = false;
    const again = alerts(page).getByRole("button", { name: "Ask again" });
    if (!isRetried) return assert.equal(await again.count(), 0);
    await again.click();
    await answered(page);
  });
}

onAnswer("a slow answer can be canceled and asked for again", JUNE, async (page) => {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/events?**", async (route) => {
    await released;
    await route.continue().catch(() => undefined);
  });
  await page.getByRole("radio", { name: "Day" }).check();
  await page.locator(".progress [role=status]").filter({ hasText: "Loading…" }).waitFor();
  assert.equal(await page.locator(".answer").first().getAttribute("aria-busy"), "true");
  assert.ok(!(await isExportable(page)));
  await screenshot(page, "slow");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("heading", { name: "Stopped" }).waitFor();
  assert.ok((await page.locator(".answer.stale[inert] tbody tr").count()) > 5, "the last answer stays");
  release();
  await page.getByRole("button", { name: "Ask again" }).click();
  await answered(page);
});

for (const [hash, message] of [
  [`${JUNE}&x=%3Cimg%20src=x%20onerror=alert(1)%3E`, "a part “x”"],
  [`${JUNE}&interval=%3Cscript%3Ealert(1)%3C/script%3E`, "“<script>alert(1)</script>” is no interval"],
  ["#javascript:alert(1)", "a part “javascript:alert(1)”"],
]) {
  onPage(`the tampered link ${hash.slice(-30)} is refused`, { hash }, async (page) => {
    page.on("dialog", () => assert.fail("a script of the link ran"));
    await alerts(page).getByText(message).waitFor();
    await screenshot(page, "tampered");
    await signIn(page, key);
    await page.getByRole("button", { name: "Start with a new question" }).click();
    await answered(page);
  });
}

test("the content security policy stops what a script of somebody else would do", { timeout: 60_000 }, async () => {
  const { page, context, faults } = await openPage(site, { hash: JUNE });
  await signIn(page, key);
  await answered(page);
  const stopped = await page.evaluate(async () => {
    const attempts = {
      script: () => document.body.append(Object.assign(document.createElement("script"), { textContent: "globalThis.ran = true" })),
      markup: () => document.body.insertAdjacentHTML("beforeend", "<b>x</b>"),
      handler: () => document.body.setAttribute("onclick", "globalThis.ran = true"),
      request: () => fetch("https://example.com/"),
    };
    const stopped = [];
    for (const [name, attempt] of Object.entries(attempts)) {
      try {
        await attempt();
      } catch {
        stopped.push(name);
      }
    }
    for (const name of ["img", "iframe"]) document.body.append(Object.assign(document.createElement(name), { src: "https://example.com/" }));
    document.body.click();
    return globalThis.ran ? "a script ran" : stopped;
  });
  assert.deepEqual(stopped, ["script", "markup", "handler", "request"]);
  const violated = () => new Set(faults.map((fault) => /^content security policy: ([\w-]+)/.exec(fault)?.[1]));
  for (let tries = 0; tries < 50 && violated().size < 4; tries += 1) await page.waitForTimeout(100);
  for (const directive of ["connect-src", "frame-src", "img-src", "require-trusted-types-for"]) assert.ok(violated().has(directive), `${directive}: ${faults}`);
  await context.close();

  // No other page may frame it.
  const { headers } = await fetch(`${site.origin}/explore`);
  assert.match(headers.get("content-security-policy"), /frame-ancestors 'none'/);
});

onPage("a link to fields that do not exist says so", { hash: JUNE.replace("leads", "leeds").replace("attributionChannel", "chanel") }, async (page) => {
  await signIn(page, key);
  await alerts(page).getByText("“leeds” is no metric that your key reaches").waitFor();
  await page.evaluate((hash) => (location.hash = hash), JUNE.replace("attributionChannel", "chanel"));
  await alerts(page).getByText("Neither the dictionary nor the data has “chanel”").waitFor();
});

onAnswer("text of the data is only text", `${JUNE.replace("attributionChannel", "campaign")}`, async (page) => {
  await page.route("**/events?**", (route) =>
    route.fulfill({ json: [{ campaign: "<img src=x onerror=alert(1)>", leads: 5, bookRate: 0.5, spend: 1 }, { campaign: "(none)", leads: 1, bookRate: 1, spend: 1 }] }),
  );
  await (await picker(page, "Metrics")).fill("clicks");
  await page.keyboard.press("Enter");
  await page.locator("td", { hasText: "<img src=x" }).waitFor();
  assert.equal(await page.locator("td", { hasText: '"(none)"' }).count(), 1);
});

for (const colorScheme of ["light", "dark"]) {
  onPage(`axe finds nothing serious (${colorScheme})`, { colorScheme, hash: JUNE }, async (page) => {
    const check = async (where) => assert.deepEqual(await accessibilityFaults(page), [], where);
    await check("sign in");
    await signIn(page, key);
    await answered(page);
    await check("bars and table");
    await screenshot(page, `answer-${colorScheme}`);
    await (await picker(page, "Metrics")).fill("cost");
    await check("an open list");
    await screenshot(page, `list-${colorScheme}`);
    await page.keyboard.press("Escape");
    await page.getByRole("radio", { name: "Week" }).check();
    await page.locator(".lines path").first().waitFor();
    await answered(page);
    await check("lines");
    await (await picker(page, "Filter")).fill("campaign");
    await page.keyboard.press("Enter");
    await check("a filter");
    await share(page, "Copy as code…");
    await check("a dialog");
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await page.evaluate((hash) => (location.hash = hash), `${JUNE}&compare=previous-period`);
    await page.locator(".moved").waitFor();
    await answered(page);
    await check("what moved a metric");
    await page.route("**/events?**", (route) => route.fulfill({ status: 503, body: "{}", contentType: "application/json" }));
    await openChip(page, "Days");
    await check("the days");
    await page.getByRole("button", { name: /^Last year/ }).click();
    await alerts(page).first().waitFor();
    await check("a fault");
  });
}

onAnswer("360 pixels are enough", JUNE.replace("spend", "spend,avgCostPerLead,closedRevenue"), async (page) => {
  const width = () => page.evaluate(() => document.scrollingElement.scrollWidth);
  assert.equal(await width(), 360);
  await screenshot(page, "narrow");
  for (const chip of ["Accounts", "Days", "Compare to", "Filter", "Share", "Break down by", "Metrics"]) {
    await openChip(page, chip);
    assert.equal(await width(), 360, chip);
    const { x, width: wide } = await page.locator(".chip > .control").boundingBox();
    assert.ok(x >= 0 && x + wide <= 360, chip);
    await screenshot(page, `narrow-${chip.toLowerCase().replaceAll(" ", "-")}`);
    await page.keyboard.press("Escape");
    if (await page.locator(".chip > .control").count()) await page.keyboard.press("Escape");
  }
  await page.getByRole("radio", { name: "Week" }).check();
  await page.locator(".lines path").first().waitFor();
  assert.equal(await width(), 360);
  await screenshot(page, "narrow-lines");
  await share(page, "Copy as code…");
  assert.equal(await width(), 360);
  assert.deepEqual(await accessibilityFaults(page), []);
}, { viewport: { width: 360, height: 740 } });

/** Returns the cells with a number that is not all in view. */
const cutNumbers = (page) =>
  page.evaluate(() => [...document.querySelectorAll(".table .number")].filter((cell) => cell.scrollWidth > cell.clientWidth || getComputedStyle(cell).textOverflow !== "clip").map((cell) => cell.textContent));

for (const font of ["DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "Liberation Sans"]) {
  onAnswer(`no number is cut off in ${font}`, `${JUNE.replace("spend", "spend,avgCostPerLead,closedRevenue,roasClosed")}&compare=previous-period&sort=leads:desc`, async (page) => {
    // The page measures texts in the font of its body for each answer.
    await page.evaluate((family) => (document.documentElement.style.fontFamily = `"${family}"`), font);
    await page.getByRole("radio", { name: "Week" }).check();
    await page.locator(".lines").waitFor();
    await answered(page);
    assert.deepEqual(await cutNumbers(page), []);
    await page.goBack();
    await page.locator(".moved").waitFor();
    await answered(page);
    assert.ok((await page.locator("tbody .number small").count()) > 20);
    assert.deepEqual(await cutNumbers(page), []);
    await page.getByRole("switch", { name: /^Values before/ }).check();
    await page.locator("thead th").nth(20).waitFor();
    assert.deepEqual(await cutNumbers(page), []);
    // On a phone, too; and what is measured is what is shown.
    await page.setViewportSize({ width: 360, height: 740 });
    assert.deepEqual(await cutNumbers(page), []);
    await page.evaluate(() => (document.querySelector(".table table").style.letterSpacing = "4px"));
    assert.ok((await cutNumbers(page)).length > 0, "a number that is cut off is found");
  });
}

onAnswer("a ratio over nothing is a dash, and the last in both directions", `${JUNE.replace("spend", "spend,closedRevenue,roasClosed")}&sort=roasClosed:asc`, async (page) => {
  const column = () => page.locator("tbody tr:not(.space) td:nth-child(6)").allTextContents();
  const direct = page.locator("tbody tr", { has: page.getByText("Direct", { exact: true }) }).locator("td:not(.trend)");
  assert.deepEqual([await direct.nth(3).textContent(), await direct.nth(5).textContent()], ["0.00", "–"]);
  for (const direction of ["ascending", "descending"]) {
    await page.locator(`th[aria-sort=${direction}]`).waitFor();
    const shown = await column();
    const dashes = shown.filter((text) => text === "–").length;
    assert.ok(dashes > 0 && dashes < shown.length);
    assert.deepEqual(shown.slice(-dashes), Array(dashes).fill("–"));
    await page.getByRole("button", { name: "Closed Return on Ad Spend", exact: true }).click();
  }
});

onAnswer("cohorts that are not over and parts of a week are drawn as such", COHORTS.replace("leads,closedRevenue", "closedRevenue,leads"), async (page) => {
  await page.locator(".lines .series").waitFor();
  // The windows of the leads of April to June are not over: the point before leads to a dashed line.
  assert.equal(await page.locator(".lines circle.part").count(), 3);
  assert.equal((await page.locator(".lines path.open").getAttribute("d")).match(/L/g).length, 3);
  await page.getByText("A hollow point may still change: the window of some of its leads is not over.").waitFor();

  // Two years of weeks: the last week has two days, and the axis says which year it is.
  await page.evaluate((hash) => (location.hash = hash), JUNE.replace("2026-06-01", "2024-07-01").replace("dimensions=attributionChannel&", "") + "&interval=week");
  await page.locator(".lines .year").first().waitFor();
  await answered(page);
  assert.equal(await page.locator(".lines circle").count(), 1, "the point of the last week, and no other of a hundred");
  assert.equal(await page.locator(".lines circle.part").count(), 1);
  assert.equal((await page.locator(".lines path.open").getAttribute("d")).match(/L/g).length, 1);
  await page.getByText("A hollow point is only a part of its week: 29 – 30 Jun 2026.").waitFor();
  assert.deepEqual(await page.locator(".lines .year").allTextContents(), ["2024", "2025", "2026"]);
  await screenshot(page, "two-years");
});

onAnswer("lines of a rate are those of the groups with the most behind them, each in its color", JUNE.replace("leads,bookRate", "bookRate,leads") + "&interval=week", async (page) => {
  const rows = await asked("demo-group/events?fields=attributionChannel,customers&start=2026-06-01&end=2026-06-30&interval=week");
  const sums = new Map();
  for (const { attributionChannel, customers } of rows) sums.set(attributionChannel || "(none)", (sums.get(attributionChannel || "(none)") ?? 0) + customers);
  const most = [...sums].sort(([, a], [, b]) => b - a).slice(0, 6).map(([name]) => name);
  const labels = async () => Object.fromEntries(await page.locator(".lines text.end").evaluateAll((texts) => texts.map((text) => [text.querySelector("title").textContent, /series-\d/.exec(text.getAttribute("class"))[0]])));
  const colors = await labels();
  assert.deepEqual(Object.keys(colors).sort(), [...most].sort());
  assert.equal(new Set(Object.values(colors)).size, 6);
  await page.getByText("6 of 13 groups: those with the most Customers").waitFor();
  // With another metric and other days, a channel keeps its color.
  await page.getByLabel("Metric of the chart").selectOption("leads");
  await page.getByText("those with the most Leads").waitFor();
  const others = await labels();
  const both = Object.keys(colors).filter((name) => name in others);
  assert.ok(both.length >= 3);
  assert.deepEqual(both.map((name) => others[name]), both.map((name) => colors[name]));
});

onAnswer("what is printed has every row, the bars, the days and the accounts", `${JUNE.replace("attributionChannel", "campaign")}&sort=leads:desc&where=${encodeURIComponent('["leads","atLeast","0"]')}`, async (page) => {
  const rows = Number(/^(\d+) rows/.exec(await answered(page))[1]);
  assert.ok(rows > 60, `${rows}`);
  const inDocument = () => page.locator("tbody tr:not(.space)").count();
  assert.ok((await inDocument()) < rows);
  const foot = () => page.locator("tfoot td").first().evaluate((cell) => getComputedStyle(cell).position);
  assert.equal(await foot(), "sticky");
  // The media of a preview, and the event of a browser that prints.
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.locator("tbody tr:not(.space)").nth(rows - 1).waitFor({ state: "attached" });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await page.waitForFunction((all) => document.querySelectorAll("tbody tr:not(.space)").length < all, rows);
  await page.emulateMedia({ media: "print" });
  await page.locator("tbody tr:not(.space)").nth(rows - 1).waitFor();
  assert.equal(await inDocument(), rows);
  assert.equal(await page.locator("tbody .space").count(), 0);
  const styles = await page.evaluate(() => {
    const of = (selector) => getComputedStyle(document.querySelector(selector));
    return [of(".bars .bar").printColorAdjust, of(".table .scroll").maxHeight, of(".table tfoot").display, of(".table tfoot td").position, of(".bar").display];
  });
  assert.deepEqual(styles, ["exact", "none", "table-row-group", "static", "none"]);
  assert.equal(await page.locator(".heading p").textContent(), "Jun 2026 · 6 accounts of demo-group · Leads is at least 0");
  assert.ok(await page.locator(".heading").isVisible());
});

onAnswer("bars and chips are there with forced colors", JUNE, async (page) => {
  await page.emulateMedia({ forcedColors: "active" });
  const colors = await page.evaluate(() => {
    const of = (selector) => getComputedStyle(document.querySelector(selector));
    return { bar: of(".bars .bar").backgroundColor, page: of(".chart").backgroundColor, chip: of(".chip > .open").borderTopWidth, chipColor: of(".chip > .open").borderTopColor };
  });
  assert.notEqual(colors.bar, colors.page);
  assert.equal(colors.chip, "1px");
  assert.notEqual(colors.chipColor, "rgba(0, 0, 0, 0)");
  await screenshot(page, "forced-colors");
});

onAnswer("a tap on a chart shows values, which stay until the next", `${JUNE}&interval=week`, async (page) => {
  const chart = page.locator(".lines svg");
  await chart.scrollIntoViewIfNeeded();
  const { x, y, width } = await chart.boundingBox();
  await page.touchscreen.tap(x + width / 2, y + 90);
  await page.locator(".tip .marked").waitFor();
  const first = await page.locator(".tip .marked").textContent();
  await page.waitForTimeout(200);
  assert.equal(await page.locator(".tip .marked").textContent(), first);
  await page.touchscreen.tap(x + 60, y + 90);
  await page.locator(".tip .marked").filter({ hasText: "1 – 7 Jun 2026" }).waitFor();
}, { hasTouch: true, viewport: { width: 390, height: 800 } });

onAnswer("the values of a filter open in view, and Tab leaves the list for the next field", JUNE, async (page) => {
  await (await picker(page, "Filter")).fill("channel");
  await page.getByRole("option", { name: /^Attribution Channel/ }).click();
  await combobox(page, "Values").click();
  await page.getByRole("option", { name: /^Direct/ }).first().waitFor();
  const options = page.getByRole("listbox", { name: "Values" }).getByRole("option");
  const inView = await options.evaluateAll((all) => all.filter((option) => {
    const { top, bottom, left } = option.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight && option.contains(document.elementFromPoint(left + 30, (top + bottom) / 2));
  }).length);
  assert.ok(inView >= 8, `${inView} values in view`);
  await screenshot(page, "filter-values");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Add filter");
});

test("a printed report has changes below values, and no verdict on what is not over", { timeout: 60_000 }, async () => {
  const file = `${site.dataset}-printed.html`;
  await site.trueup("report", site.dataset, "--month", "2026-06", "-o", file);
  const context = await site.browser.newContext({ viewport: { width: 794, height: 1123 } });
  const page = await context.newPage();
  await page.goto(`file://${file}`);
  await page.emulateMedia({ media: "print" });
  const sizes = await page.locator("td:has(small)").first().evaluate((cell) => [cell, cell.querySelector("small")].map((element) => Number.parseFloat(getComputedStyle(element).fontSize)));
  assert.ok(sizes[1] < sizes[0], `${sizes}`);
  // The data end with June, so that the thirty days of its leads are not over.
  const stages = page.locator("#funnel ~ .table tbody tr, #funnel .table tbody tr").filter({ has: page.getByText(/^(Booked|Estimated|Sold|Closed)$/) });
  assert.equal(await stages.count(), 4);
  for (const stage of await stages.all()) {
    assert.match(await stage.locator("td").first().textContent(), /\*$/);
    assert.equal(await stage.locator(".better, .worse").count(), 0);
  }
  await context.close();
});

const EVENTS = "#organization=demo-group&dimensions=account,eventId&metrics=leads,spend,bookRate&start=2024-07-01&end=2026-06-30&interval=month";

onAnswer("a hundred thousand rows scroll", EVENTS, async (page, t) => {
  const rows = Number(/^([\d,]+) rows/.exec(await answered(page))[1].replaceAll(",", ""));
  assert.ok(rows >= 100_000, `${rows}`);
  const frames = await page.evaluate(async () => {
    const region = document.querySelector(".table .scroll");
    const times = [];
    const step = region.scrollHeight / 120;
    for (let frame = 0; frame < 120; frame += 1) {
      const began = performance.now();
      region.scrollTop += step;
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      times.push(performance.now() - began);
    }
    return times.sort((a, b) => a - b);
  });
  t.diagnostic(`frames: median ${frames[60].toFixed(1)} ms, 95th percentile ${frames[114].toFixed(1)} ms, longest ${frames[119].toFixed(1)} ms`);
  assert.ok((await page.locator("tbody tr").count()) < 120, "rows out of view are in the document");
  const last = page.locator("tbody tr:not(.space)").last();
  assert.equal(Number(await last.getAttribute("aria-rowindex")), rows + 1);
  const began = Date.now();
  await page.getByRole("button", { name: "Leads", exact: true }).click();
  await page.locator("th[aria-sort=descending]").waitFor();
  t.diagnostic(`sorted ${rows} rows in ${Date.now() - began} ms`);
  assert.equal(await page.locator(".scroll").evaluate((region) => region.scrollTop), 0);
});
