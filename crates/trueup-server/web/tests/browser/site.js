// What the tests in a browser run against: the program, serving a demo, and Chromium.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const run = promisify(execFile);
const target = new URL("../../../../../target/", import.meta.url);

/** The program to test, the browser to test it in, and the folder for screenshots. */
const PROGRAM = process.env.TRUEUP_PROGRAM ?? fileURLToPath(new URL("release/trueup", target));
const BROWSER = process.env.CHROMIUM ?? "/usr/bin/chromium";
/** A folder with a built page, such as `dist`, which is tested in place of what the program contains. */
const BUILT = process.env.TRUEUP_PAGE;
const SCREENSHOTS = process.env.TRUEUP_SCREENSHOTS ?? fileURLToPath(new URL("explorer-screenshots/", target));

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What the dataset defines beyond the built-in fields. */
const DEFINITIONS = `
[[metric]]
name = "netRevenuePerLead"
displayName = "Net Revenue per Lead"
definition = "Revenue of completed work less spend, for one lead."
format = "currency"
direction = "up"
numerator = ["closedRevenue", "-spend"]
denominator = ["leads"]

[[dimension]]
name = "hourOfDay"
displayName = "Hour of Day"
definition = "The hour in which it happened."
from = "dateTime"
part = "hour"
`;

/** A customer who got in touch twice, because in the demo each customer has one channel. */
const TWICE = `account,opportunityId,eventId,type,date,attributionChannel
delgado-hvac,twice,twice-1,lead-originated,2026-03-02,Radio
delgado-hvac,twice,twice-2,lead-originated,2026-03-09,Referral
delgado-hvac,twice,twice-3,booked,2026-03-12,
`;

/** Makes a demo, serves it, and starts Chromium. The options are those of `trueup demo`. */
export async function openSite(...options) {
  const site = await serveDemo(...options);
  const browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  return {
    ...site,
    browser,
    close: async () => {
      await browser.close();
      await site.close();
    },
  };
}

/** Makes a demo and serves it. */
export async function serveDemo(...options) {
  const folder = await mkdtemp(join(tmpdir(), "trueup-explorer-"));
  const dataset = join(folder, "demo");
  const trueup = async (...args) => (await run(PROGRAM, args, { maxBuffer: 1 << 28 })).stdout;
  await trueup("demo", dataset, "--until", "2026-06-30", ...options);
  await writeFile(join(folder, "definitions.toml"), DEFINITIONS);
  await trueup("define", dataset, join(folder, "definitions.toml"));
  await writeFile(join(folder, "twice.csv"), TWICE);
  await trueup("ingest", "--into", dataset, join(folder, "twice.csv"));
  await mkdir(SCREENSHOTS, { recursive: true });
  const server = spawn(PROGRAM, ["serve", dataset, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  const origin = await announced(server);
  return {
    origin,
    dataset,
    program: PROGRAM,
    trueup,
    /** Runs `trueup explore`, and returns the link that it prints. */
    explore: async () => {
      const program = spawn(PROGRAM, ["explore", dataset, "--no-browser"], { stdio: ["ignore", "pipe", "pipe"] });
      const [link] = await once(createInterface({ input: program.stdout }), "line");
      return { link, program };
    },
    createKey: async () => (await trueup("keys", "create", dataset, "demo@example.com")).trim(),
    close: async () => {
      server.kill("SIGTERM");
      await new Promise((resolve) => server.once("exit", resolve));
      await rm(folder, { recursive: true });
    },
  };
}

/** Opens the page in a browser without history. The `faults` that it returns collect what must not happen on any page. */
export async function openPage(site, { hash = "", link = `${site.origin}/explore${hash}`, ...options } = {}) {
  const context = await site.browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const faults = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== new URL(link).origin && protocol !== "data:" && protocol !== "blob:") faults.push(`request to ${request.url()}`);
  });
  if (BUILT) await page.route(/\/explore(\/[\w.-]+)?(#.*)?$/, serveBuilt);
  await page.exposeFunction("reportViolation", (violation) => faults.push(`content security policy: ${violation}`));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => globalThis.reportViolation(`${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.goto(link);
  return { page, context, faults };
}

/** Answers with a file of a folder in place of the program's own. */
async function serveBuilt(route) {
  if (route.request().method() !== "GET") return route.continue();
  await route.fulfill(await builtFile(route.request().url()));
}

/** Returns the file of a folder that takes the place of the program's own at an address, with the headers of the program; `null` for none. */
export const builtFile =
  BUILT &&
  (async (url) => {
    const path = new URL(url).pathname;
    if (!/^\/explore(\/[\w.-]+)?$/.test(path)) return null;
    const name = path.split("/").pop();
    const { headers } = await fetch(new URL("/explore", url));
    const contentType = { js: "text/javascript", css: "text/css" }[name.split(".").pop()] ?? "text/html";
    const body = await readFile(join(BUILT, name === "explore" ? "page.html" : name));
    const kept = Object.fromEntries([...headers].filter(([header]) => !["content-length", "content-encoding", "etag"].includes(header)));
    return { body, headers: { ...kept, "content-type": contentType } };
  });

export async function signIn(page, key) {
  await page.getByLabel("Your key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Waits until the answer to the question in the address is there. Returns its status, such as `13 rows in 8 ms`. */
export async function answered(page) {
  const status = page.locator(".progress [role=status]");
  await status.filter({ hasText: /row/ }).waitFor();
  await page.locator(".stale").waitFor({ state: "detached" });
  return status.textContent();
}

export function screenshot(page, name) {
  return page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
}

/** Returns what axe reports about the page, except for what is minor. */
export async function accessibilityFaults(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations
    .filter(({ impact }) => impact !== "minor")
    .map(({ id, help, nodes }) => `${id}: ${help} (${nodes.map((node) => node.target.join(" ")).slice(0, 3).join(", ")})`);
}

/** Returns the address that the server prints once it listens. */
function announced(server) {
  return new Promise((resolve, reject) => {
    createInterface({ input: server.stderr }).on("line", (line) => {
      const address = /http:\/\/[\w.:[\]]+/.exec(line);
      if (address) resolve(address[0].replace(/;$/, ""));
    });
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
}
