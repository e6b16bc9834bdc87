// The fields that the key may ask for, and the search for one of them.

import synonyms from "trueup:synonyms";
import { CHANGE, isShownAsZero } from "./format";

export interface Field {
  name: string;
  displayName: string;
  definition: string;
  type: "metric" | "dimension";
  format: string;
  values: string[];
  /** Which values of a metric are better; `null` if neither are. */
  better: "higher" | "lower" | null;
  /** Whether it is a metric that has benchmarks, or a dimension of benchmarks. */
  hasBenchmarks: boolean;
  /** Whether it is a metric that has a target for an account of the key. */
  hasTargets: boolean;
  /** The measures of a metric, such as `bookedCustomers / customers`; empty for a dimension. */
  formula: string;
  /** Whether it is a metric that is computed from spend. */
  usesSpend: boolean;
  /** Whether it is a dimension that spend has. */
  splitsSpend: boolean;
}

/**
 * The metric that counts the leads of a row whose window is not over. Only cohorts have it, and the page asks for it by
 * itself.
 */
export const OPEN_LEADS = "openLeads";

/** The columns that a comparison or a target adds for a metric, by what follows the point in their names. */
const ADDED: Record<string, { label: string; definition: string }> = {
  previous: { label: "before", definition: "The value of the days that are compared with." },
  change: { label: "change", definition: "The value minus the value before." },
  ratio: { label: "change in %", definition: "The change as a part of the value before; none where that is 0." },
  rateEffect: { label: "rate effect", definition: "What the row contributes to the change of the ratio because its own ratio changed." },
  mixEffect: { label: "mix effect", definition: "What the row contributes to the change of the ratio because its share in the denominator changed." },
  target: { label: "target", definition: "What the value should be on these days." },
  pace: { label: "pace", definition: "The value divided by the target." },
};

/** The organizations, accounts and fields that a key reaches: the answer of `GET /api?dictionary=all`. */
export interface Index {
  user: string;
  /** Each with the currency of its accounts; `null` if they have no single one. */
  organizations: { organization: string; accounts: string[]; currency: string | null }[];
  dictionary: Dictionary;
}

export class Dictionary {
  readonly #fields: Map<string, Field>;

  constructor(fields: Field[]) {
    this.#fields = new Map(fields.map((field) => [field.name, field]));
  }

  /** Returns a field, or a column that a comparison or a target adds for one. */
  get(name: string): Field | undefined {
    return this.#fields.get(name) ?? this.#added(name);
  }

  /** Returns whether a field is a metric that a question may name. */
  offers(metric: string): boolean {
    return metric !== OPEN_LEADS && this.#fields.get(metric)?.type === "metric";
  }

  #added(name: string): Field | undefined {
    const [, metric = "", suffix = ""] = /^(.+)\.(\w+)$/.exec(name) ?? [];
    const field = this.#fields.get(metric);
    const added = Object.hasOwn(ADDED, suffix) ? ADDED[suffix] : undefined;
    if (field?.type !== "metric" || !added) return undefined;
    // A part of a month has a part of the target of a count.
    const formats: Record<string, string> = { previous: field.format, ratio: `${CHANGE}ratio`, target: field.format === "number" ? "decimal" : field.format, pace: "percent" };
    return { ...field, name, format: formats[suffix] ?? CHANGE + field.format, displayName: `${field.displayName}: ${added.label}`, definition: added.definition };
  }

  /** Returns the fields that a question may name. */
  all(type: Field["type"]): Field[] {
    return [...this.#fields.values()].filter((field) => field.type === type && field.name !== OPEN_LEADS);
  }

  /** Returns whether a field is a metric. Filters on metrics compare numbers. */
  isMetric(name: string): boolean {
    return this.get(name)?.type === "metric";
  }

  /** Returns whether a change of a metric is good or bad; an empty text if it is neither, or is shown as no change. */
  judge(name: string, value: unknown): "good" | "bad" | "" {
    const field = this.get(name);
    if (!field?.format.startsWith(CHANGE) || field.better === null || typeof value !== "number" || isShownAsZero(value, field.format)) return "";
    return value > 0 === (field.better === "higher") ? "good" : "bad";
  }

  /** Returns whether the values of a metric are a sum, and not a ratio or a percentile. */
  isSum(metric: string): boolean {
    const formula = this.#fields.get(metric)?.formula ?? "";
    return formula !== "" && !formula.includes(" / ") && !formula.includes("percentile");
  }

  /**
   * Returns the metric that says how much is behind a value of a metric: the metric itself if it is a sum; for a ratio the
   * one that it is divided by; where no metric has that, as for a percentile, the number of events.
   */
  volumeOf(metric: string): string {
    if (this.isSum(metric)) return metric;
    const denominator = /^.* \/ \(?(.+?)\)?$/.exec(this.#fields.get(metric)?.formula ?? "")?.[1];
    const fields = [...this.#fields.values()];
    const same = fields.find(({ name, formula }) => denominator !== undefined && (formula === denominator || name === denominator));
    return same?.name ?? "eventCount";
  }

  /** Returns whether spend is the same on every row of these dimensions, because it does not have one of them. */
  repeatsSpend(dimensions: readonly string[]): boolean {
    return dimensions.some((name) => !this.#fields.get(name)?.splitsSpend);
  }

  /** Returns a formula in words: `Closed Revenue / Spend`, where `spend` is the metric of the sum in its denominator. */
  formulaInWords(formula: string): string {
    const sums = [...this.#fields.values()];
    return formula.replace(/\(([^()]*)\)|[A-Za-z]\w*/g, (part: string, sum: string | undefined) => {
      if (sum === undefined) return this.measureLabel(part);
      return sums.find(({ formula }) => formula === sum)?.displayName ?? `(${this.formulaInWords(sum)})`;
    });
  }

  /** Returns what people call a measure: the metric of its name, or else the words of its name. */
  measureLabel(name: string): string {
    const metric = this.#fields.get(name);
    if (metric?.type === "metric") return metric.displayName;
    const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2");
    return words.charAt(0).toUpperCase() + words.slice(1);
  }

  /** Returns what people call a field; its name, if it is a column that the dictionary does not have. */
  label(name: string): string {
    return this.get(name)?.displayName ?? (name === "start" ? "From" : name === "end" ? "To" : name);
  }
}

/** Reads an answer of `GET /api?dictionary=all`; `null` if it lacks the dictionary or the organizations. */
export function readIndex(answer: unknown): Index | null {
  if (!isRecord(answer) || !isRecord(answer.dictionary) || !Array.isArray(answer.organizations)) return null;
  const organizations = answer.organizations.filter(isRecord).map(({ organization, accounts, currency }) => ({
    organization: String(organization),
    accounts: Array.isArray(accounts) ? accounts.map(String) : [],
    currency: typeof currency === "string" ? currency : null,
  }));
  const fields = Object.entries(answer.dictionary).flatMap(([name, entry]): Field[] => {
    if (!isRecord(entry)) return [];
    const values = entry["possible values"];
    return [
      {
        name,
        displayName: String(entry.displayName ?? name),
        definition: String(entry.definition ?? ""),
        type: entry.type === "metric" ? "metric" : "dimension",
        format: String(entry.format ?? "text"),
        values: Array.isArray(values) ? values.map(String) : [],
        better: entry.direction === "higher" || entry.direction === "lower" ? entry.direction : null,
        hasTargets: entry.hasTargets === true,
        hasBenchmarks: entry.benchmarkable === true || entry.benchmarkDimension === true,
        formula: String(entry.formula ?? ""),
        usesSpend: entry.usesSpend === true,
        splitsSpend: entry.splitsSpend === true,
      },
    ];
  });
  return { user: String(answer.user ?? ""), organizations, dictionary: new Dictionary(fields) };
}

/**
 * Returns the fields that fit what was typed, the likeliest first: by their name or display name, by a name that other
 * tools have for them, by their definition. Every word must occur.
 */
export function searchFields(fields: Field[], typed: string): Field[] {
  const wanted = words(typed);
  if (wanted.length === 0) return fields;
  const scored = fields.flatMap((field) => {
    const score = scoreOf(field, wanted);
    return score === null ? [] : [{ field, score }];
  });
  return scored.sort((a, b) => a.score - b.score).map(({ field }) => field);
}

/** Returns how far a field is from the words, 0 being the nearest; `null` if it does not fit. */
function scoreOf(field: Field, wanted: string[]): number | null {
  const names = [words(field.displayName), words(field.name)];
  if (names.some((name) => name.join(" ") === wanted.join(" "))) return 0;
  if (names.some((name) => name.join(" ").startsWith(wanted.join(" ")))) return 1;
  if (names.some((name) => includesAll(name, wanted))) return 2;
  const typed = wanted.join(" ");
  for (const [synonym, meant] of synonyms) {
    const place = meant.indexOf(field.name);
    if (place >= 0 && synonym.startsWith(typed)) return (synonym === typed ? 0.5 : 3) + place / 100;
  }
  if (names.some((name) => wanted.every((word) => name.join("").includes(word)))) return 4;
  return includesAll(words(field.definition), wanted) ? 5 : null;
}

function includesAll(name: string[], wanted: string[]): boolean {
  return wanted.every((word) => name.some((part) => part.startsWith(word)));
}

/** Splits a text into words in lower case; `avgCostPerLead` has four. */
function words(text: string): string[] {
  const split = text.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  return split.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
