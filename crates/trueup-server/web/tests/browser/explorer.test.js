// The page in a browser, in front of a program that serves a demo. No test fails because of a time: times are printed.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { accessibilityFaults, answered, openPage, openSite, screenshot, signIn } from "./site.js";

const run = promisify(execFile);
const JUNE = "#organization=demo-group&dimensions=attributionChannel&metrics=leads,bookRate,spend&start=2026-06-01&end=2026-06-30";

let site;
let key;
before(async () => {
  site = await openSite();
  key = await site.createKey();
});
after(() => site?.close());

/** Runs a test on a page of its own, and checks what holds for every page. */
function onPage(name, options, body) {
  test(name, { timeout: 60_000 }, async (t) => {
    const opened = await openPage(site, options);
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
    await signIn(page, key);
    await answered(page);
    await body(page, t);
  });
}

const asked = async (path) => (await fetch(`${site.origin}/api/${path}`, { headers: { Authorization: key } })).json();
const combobox = (page, name) => page.getByRole("combobox", { name, exact: true });
const cell = (page, row, column) => page.locator("tbody tr:not(.space)").nth(row).locator("td").nth(column);
const alerts = (page) => page.locator(".notice[role=alert]");

onPage("a key shows what each channel brought in the newest month", {}, async (page, t) => {
  await screenshot(page, "sign-in");
  const load = await page.evaluate(() => performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd);
  const began = Date.now();
  await signIn(page, key);
  await page.locator("tbody tr").first().waitFor();
  t.diagnostic(`the page loaded in ${Math.round(load)} ms, and the first answer was there ${Date.now() - began} ms after the key`);
  assert.match(await answered(page), /^13 rows in \d+ ms$/);
  assert.match(page.url(), /start=2026-06-01&end=2026-06-30/);

  const rows = await asked("demo-group/events?fields=attributionChannel,leads,bookRate,spend&start=2026-06-01&end=2026-06-30");
  const [most] = rows.sort((a, b) => b.leads - a.leads);
  assert.equal(await cell(page, 0, 0).textContent(), most.attributionChannel);
  assert.equal(await cell(page, 0, 1).textContent(), most.leads.toLocaleString("en-US"));
  assert.equal(await cell(page, 0, 2).textContent(), `${(most.bookRate * 100).toFixed(1)}%`);
  const [total] = await asked("demo-group/events?fields=leads&start=2026-06-01&end=2026-06-30");
  assert.equal(await page.locator("tfoot td").first().textContent(), total.leads.toLocaleString("en-US"));
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

onPage("a whole question with the keyboard alone", {}, async (page) => {
  await page.locator("#key:focus").waitFor();
  await page.keyboard.type(key);
  await page.keyboard.press("Enter");
  await answered(page);
  const tabTo = async (name) => {
    for (let step = 0; step < 60; step += 1) {
      if ((await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))) === name) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`the focus never came to ${name}`);
  };
  await tabTo("Remove Average Cost per Lead");
  await page.keyboard.press("Enter");
  await tabTo("Metrics");
  await page.keyboard.type("calls");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await tabTo("Dimensions");
  await page.keyboard.type("customer status");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
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

onAnswer("filters suggest values, and restrict rows", JUNE, async (page) => {
  await combobox(page, "Add a filter on").fill("channel");
  await page.getByRole("option", { name: /^Attribution Channel/ }).click();
  await combobox(page, "Values").fill("paid");
  await page.getByRole("option", { name: /^Paid Search/ }).click();
  await combobox(page, "Values").fill("radio");
  await page.getByRole("option", { name: /^Radio/ }).click();
  await page.getByRole("button", { name: "Add filter" }).click();
  await page.locator(".progress [role=status]").filter({ hasText: "2 rows" }).waitFor();

  await combobox(page, "Add a filter on").fill("leads");
  await page.getByRole("option", { name: /^Leads leads/ }).click();
  await page.getByLabel("Value", { exact: true }).fill("many");
  await page.getByRole("button", { name: "Add filter" }).click();
  await page.getByText("expected a number such as 12.5, but found “many”").waitFor();
  await page.getByLabel("Value", { exact: true }).fill("100");
  await page.getByRole("button", { name: "Add filter" }).click();
  await page.locator(".progress [role=status]").filter({ hasText: "1 row " }).waitFor();
  assert.equal(await cell(page, 0, 0).textContent(), "Paid Search");
  // The totals are those of both channels: a condition on a metric chooses rows.
  const [total] = await asked(`demo-group/events?fields=leads&start=2026-06-01&end=2026-06-30&attributionChannel=${encodeURIComponent('["or","Paid Search","Radio"]')}`);
  assert.equal(await page.locator("tfoot td").first().textContent(), total.leads.toLocaleString("en-US"));
  await screenshot(page, "filters");
});

const ODD = `${JUNE.replace("attributionChannel", "campaign")}&interval=month&where=${encodeURIComponent('["campaign","contains","drain","[Charlotte"]')}&sort=leads:desc`;

onAnswer("the export has the bytes of the copied command, and curl the rows of the page", ODD, async (page) => {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
  assert.equal(download.suggestedFilename(), "demo-group-2026-06-01-2026-06-30.csv");
  const csv = await readFile(await download.path(), "utf8");
  assert.ok(csv.split("\n").length > 4, csv);

  const copied = async (name) => {
    await page.getByRole("radio", { name }).check();
    return page.locator("dialog pre").textContent();
  };
  await page.getByRole("button", { name: "Copy as…" }).click();
  const command = (await copied("trueup query")).replace("DATASET", '"$DATASET"').trim();
  const { stdout } = await run("bash", ["-c", `trueup() { "$PROGRAM" "$@"; }; ${command} --format csv`], {
    env: { ...process.env, PROGRAM: site.program, DATASET: site.dataset },
  });
  assert.equal(csv, stdout);

  const curl = await run("bash", ["-c", await copied("curl")], { env: { ...process.env, TRUEUP_KEY: key } });
  assert.equal(JSON.parse(curl.stdout).length, csv.trim().split("\n").length - 1);
  await page.getByRole("radio", { name: "Link" }).check();
  assert.ok(!(await page.locator("dialog pre").textContent()).includes(key));
  await screenshot(page, "copy");
});

onAnswer("days, intervals and charts", JUNE, async (page) => {
  await page.getByRole("radio", { name: "Week" }).check();
  await page.locator(".lines path").first().waitFor();
  assert.equal(await page.locator(".lines path").count(), 8);
  await page.locator(".lines svg").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.locator(".lines .marked").textContent(), "2026-06-01 to 2026-06-07");
  await screenshot(page, "lines");
  await page.getByLabel("From").fill("2026-01-01");
  await page.getByRole("radio", { name: "Whole" }).check();
  await alerts(page).getByText("exceeding the 90-day attribution window").waitFor();
  await screenshot(page, "too-many-days");
  await alerts(page).getByRole("button", { name: "By month" }).click();
  await answered(page);
  await page.getByText("There is no total").waitFor();
  await page.getByLabel("Named days").selectOption("30d");
  await page.getByRole("heading", { name: "No data for this question" }).waitFor();
  await page.getByRole("button", { name: "Show 2026-06" }).click();
  await answered(page);
});

onAnswer("stages are a funnel", "#organization=demo-group&metrics=leads,soldLeads,closedLeads,roasClosed&start=2026-06-01&end=2026-06-30", async (page) => {
  assert.equal(await page.locator(".funnel li").count(), 3);
  const [row] = await asked("demo-group/events?fields=leads,soldLeads&start=2026-06-01&end=2026-06-30");
  const shown = await page.locator(".funnel .value").nth(1).textContent();
  assert.equal(shown, `${row.soldLeads} ${((row.soldLeads / row.leads) * 100).toFixed(1).replace(/\.0$/, "")}%`);
  await screenshot(page, "funnel");
}, { colorScheme: "dark" });

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
    assert.equal(await page.locator("table").count(), 0, "an old answer next to a fault");
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
  await page.locator(".progress [role=status]").filter({ hasText: "Asking the service…" }).waitFor();
  assert.equal(await page.locator(".answer").getAttribute("aria-busy"), "true");
  assert.ok(await page.getByRole("button", { name: "Export CSV" }).isDisabled());
  await screenshot(page, "slow");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("heading", { name: "You stopped the question" }).waitFor();
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
  await combobox(page, "Metrics").fill("clicks");
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
    await combobox(page, "Metrics").fill("cost");
    await check("an open list");
    await screenshot(page, `list-${colorScheme}`);
    await page.keyboard.press("Escape");
    await page.getByRole("radio", { name: "Week" }).check();
    await page.locator(".lines path").first().waitFor();
    await answered(page);
    await check("lines");
    await combobox(page, "Add a filter on").fill("campaign");
    await page.keyboard.press("Enter");
    await check("a filter");
    await page.getByRole("button", { name: "Copy as…" }).click();
    await check("a dialog");
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByLabel("Named days").selectOption("last-year");
    await page.getByRole("radio", { name: "Whole" }).check();
    await alerts(page).first().waitFor();
    await check("a fault");
  });
}

onAnswer("360 pixels are enough", JUNE.replace("spend", "spend,avgCostPerLead,closedRevenue"), async (page) => {
  const width = () => page.evaluate(() => document.scrollingElement.scrollWidth);
  assert.equal(await width(), 360);
  await screenshot(page, "narrow");
  await page.getByRole("button", { name: "Change the question" }).click();
  await page.getByRole("radio", { name: "Week" }).check();
  await page.locator(".lines path").first().waitFor();
  assert.equal(await width(), 360);
  await screenshot(page, "narrow-question");
  await page.getByRole("button", { name: "Copy as…" }).click();
  assert.equal(await width(), 360);
  assert.deepEqual(await accessibilityFaults(page), []);
}, { viewport: { width: 360, height: 740 } });

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
