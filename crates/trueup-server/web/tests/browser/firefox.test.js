// The tasks of tasks.test.js in Firefox: a few of them, because what differs between browsers is the drawing and not the answers.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openFirefox } from "./firefox.js";
import { serveDemo } from "./site.js";

let site;
let firefox;
let page;
before(async () => {
  site = await serveDemo("--accounts", "40", "--events", "60000");
  firefox = await openFirefox();
});
after(async () => {
  await firefox?.close();
  await site?.close();
});

const heading = () => document.querySelector(".answer:not(.stale) .heading h2")?.textContent ?? "";
const headingSays = (wanted) => new RegExp(wanted).test(document.querySelector(".answer:not(.stale) .heading h2")?.textContent ?? "");

test("Firefox: a key opens the answer, with figures and what moved them", { timeout: 60_000 }, async () => {
  page = await firefox.open(`${site.origin}/explore`);
  await page.click("#key");
  await page.type(await site.createKey());
  await page.click("button[type=submit]");
  await page.waitFor(headingSays, "^Leads (rose|fell) .* in Jun 2026, mostly from ");
  await page.waitFor(() => document.querySelectorAll(".tiles .months path").length === 6);
  await page.waitFor(() => document.querySelectorAll("tbody .trend path").length > 5);
  assert.ok(await page.evaluate(() => document.querySelector(".moved .part").getBoundingClientRect().width > 20));
});

test("Firefox: why leads fell", { timeout: 60_000 }, async () => {
  await page.click(".chip .open", "Days");
  await page.click(".months-of-year button", "Sep 2025");
  await page.waitFor(headingSays, "^Leads fell .* in Sep 2025, mostly from ");
  assert.equal(await page.evaluate(() => document.querySelectorAll(".control").length), 0);
});

test("Firefox: a picture of the answer", { timeout: 60_000 }, async () => {
  await page.click(".chip .open", "Share");
  await page.click(".control button", "Save image");
  await page.waitFor(() => [...document.querySelectorAll(".control [role=status]")].some((status) => status.textContent === "Image saved"));
  const { width, colors } = await page.evaluate(async () => {
    const bitmap = await createImageBitmap(globalThis.saved.at(-1));
    const canvas = Object.assign(document.createElement("canvas"), { width: bitmap.width, height: bitmap.height });
    const context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
    return { width: bitmap.width, colors: new Set(new Uint32Array(data.buffer)).size };
  });
  assert.ok(width > 2_000 && colors > 50, `${width} pixels wide, ${colors} colors`);
  await page.click(".chip .open", "Share");
});

test("Firefox: similar businesses, campaigns and leads", { timeout: 60_000 }, async () => {
  await page.click(".next button", "How do similar businesses do?");
  await page.waitFor(headingSays, "^Better than half of similar businesses in \\d of 3 metrics");
  assert.ok(await page.evaluate(() => document.querySelectorAll(".standing .strip rect").length === 12));
  await page.click(".next button", "Which campaigns return least?");
  await page.waitFor(headingSays, "^Closed Return on Ad Spend by Campaign");
  await page.click(".next button", "Which leads became revenue?");
  await page.waitFor(headingSays, "^Closed Revenue of leads until now");
});

test("Firefox: lines over time have a tip, and the policy refuses nothing", { timeout: 60_000 }, async () => {
  await page.evaluate(() => (location.hash = "organization=demo-group&metrics=leads&start=2026-01-01&end=2026-06-30&interval=month&compare=previous-year"));
  await page.waitFor(headingSays, "^Leads by month");
  await page.waitFor(() => document.querySelector(".lines path.earlier")?.getAttribute("d").length > 0);
  await page.click(".lines svg");
  await page.waitFor(() => document.querySelector(".tip .marked")?.textContent.includes("2026"));
  assert.deepEqual(await page.evaluate(() => globalThis.violations), []);
  assert.notEqual(await page.evaluate(heading), "");
});
