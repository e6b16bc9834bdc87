// A question as code: the command line, `curl`, Rust and Python. None of them contains a key.

import { expressionsByField } from "./condition";
import { earlierText, isTaken, pathOf, rowsRequest, type DatedQuestion, type EventsRequest, type Question } from "./question";
import type { Dictionary, Index } from "./dictionary";

export const LANGUAGES = [
  ["trueup", "trueup query"],
  ["curl", "curl"],
  ["rust", "Rust"],
  ["python", "Python"],
] as const;

export type Language = (typeof LANGUAGES)[number][0];

/**
 * Returns the question as code; `null` if it is not complete, or if only the service can answer it. `base` is the address
 * of the service.
 */
export function copyAs(language: Language, question: DatedQuestion, index: Index, base: string): string | null {
  const request = rowsRequest(question, index.dictionary);
  if (!request) return null;
  const accounts = question.accounts.length > 0 ? question.accounts : accountsOf(index, question.organization);
  // A command that names no account reads all of the dataset.
  if (accounts.length === 0 && language !== "curl") return null;
  const parts: Parts = {
    request,
    accounts,
    filter: filterOf(question, index.dictionary),
    sort: question.sort && `${question.sort.field}:${question.sort.descending ? "desc" : "asc"}`,
  };
  switch (language) {
    case "trueup":
      return asCommand(parts);
    case "curl":
      return `curl -sS --compressed -H "Authorization: $TRUEUP_KEY" \\\n  ${shell(new URL(pathOf(request), base).href)}\n`;
    case "rust":
      return asRust(parts);
    case "python":
      return asPython(parts);
  }
}

/** A question for the program and the libraries, which know accounts and no organizations. */
interface Parts {
  request: EventsRequest;
  accounts: string[];
  /** One expression across fields, as JSON; `null` without conditions. */
  filter: string | null;
  sort: string | null;
}

function accountsOf(index: Index, organization: string): string[] {
  return index.organizations.find((listed) => listed.organization === organization)?.accounts ?? [organization];
}

function filterOf(question: Question, dictionary: Dictionary): string | null {
  if (question.conditions.length === 0) return null;
  return JSON.stringify(Object.fromEntries(expressionsByField(question.conditions, (field) => dictionary.isMetric(field))));
}

function asCommand({ request, accounts, filter, sort }: Parts): string {
  const { fields, range, interval } = request;
  const options = [`--fields ${shell(fields.join(","))}`, `--start ${range.start} --end ${range.end}`];
  if (interval !== "total") options.push(`--interval ${interval}`);
  if (request.within) options.push(`--cohort --within ${request.within}`);
  if (isTaken(request.attribution)) options.push(`--attribution ${request.attribution}`);
  if (request.compare) options.push(`--compare ${earlierText(request.compare)}`);
  if (request.targets) options.push("--targets");
  options.push(...accounts.map((account) => `--account ${shell(account)}`));
  if (filter) options.push(`--filter ${shell(filter)}`);
  if (sort) options.push(`--sort ${shell(sort)}`);
  return `trueup query DATASET ${options.join(" \\\n  ")}\n`;
}

function asRust({ request, accounts, filter, sort }: Parts): string {
  const { fields, range, interval } = request;
  const uses = (names: string[]) => (names.length > 1 ? `{${names.join(", ")}}` : names[0]);
  const list = (texts: string[]) => `[${texts.map(rustText).join(", ")}]`;
  const calls = [`.accounts(${list(accounts)})`];
  if (interval !== "total") calls.unshift(`.interval(Interval::${interval[0]!.toUpperCase()}${interval.slice(1)})`);
  if (request.within) calls.push(`.cohort("${request.within}".parse()?)`);
  if (isTaken(request.attribution)) calls.push(`.attribution("${request.attribution}".parse()?)`);
  if (request.compare) calls.push(`.compare("${earlierText(request.compare)}".parse()?)`);
  if (filter) calls.push(`.filter(filter::from_json(${rustText(filter)})?)`);
  if (sort) calls.push(`.sort(${rustText(sort)})`);
  return [
    `use trueup::query::${uses(["EventsQuery", ...(interval === "total" ? [] : ["Interval"])])};`,
    ...(request.targets ? ["use trueup::targets::TargetComparison;"] : []),
    `use trueup::${uses(["Dataset", ...(request.targets ? ["Execution"] : []), ...(filter ? ["filter"] : [])])};`,
    "",
    'let dataset = Dataset::open("DATASET")?;',
    `let query = EventsQuery::new(${list(fields)}, "${range.start}".parse()?, "${range.end}".parse()?)`,
    ...calls.map((call) => `    ${call}`),
  ].join("\n") + `;\nlet table = ${request.targets ? "TargetComparison::new(&query, &dataset)?.run(&dataset, &Execution::default())" : "dataset.query(&query)"}?;\n`;
}

function asPython({ request, accounts, filter, sort }: Parts): string {
  const { fields, range, interval } = request;
  const list = (texts: string[]) => `[${texts.map(pythonText).join(", ")}]`;
  const options = [list(fields), `start="${range.start}", end="${range.end}"`];
  if (interval !== "total") options.push(`interval="${interval}"`);
  if (request.within) options.push(`cohort=True, within="${request.within}"`);
  if (isTaken(request.attribution)) options.push(`attribution="${request.attribution}"`);
  if (request.compare) options.push(`compare="${earlierText(request.compare)}"`);
  if (request.targets) options.push("targets=True");
  options.push(`accounts=${list(accounts)}`);
  if (filter) options.push(`filter=${pythonText(filter)}`);
  if (sort) options.push(`sort=${pythonText(sort)}`);
  return `import trueup\n\ntable = trueup.open("DATASET").query(\n${options.map((option) => `    ${option},\n`).join("")})\n`;
}

function shell(text: string): string {
  return /^[\w,.:=/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a string literal of Rust, raw if the text has quotes or backslashes. */
function rustText(text: string): string {
  if (!/["\\]/.test(text)) return `"${text}"`;
  let hashes = "#";
  while (text.includes(`"${hashes}`)) hashes += "#";
  return `r${hashes}"${text}"${hashes}`;
}

/** Returns a string literal of Python: every literal of JSON is one. */
function pythonText(text: string): string {
  return JSON.stringify(text);
}
