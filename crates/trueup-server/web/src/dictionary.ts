// The fields that the key may ask for, and the search for one of them.

import synonyms from "trueup:synonyms";

export interface Field {
  name: string;
  displayName: string;
  definition: string;
  type: "metric" | "dimension";
  format: string;
  values: string[];
}

/** The organizations, accounts and fields that a key reaches: the answer of `GET /api`. */
export interface Index {
  user: string;
  organizations: { organization: string; accounts: string[] }[];
  dictionary: Dictionary;
}

export class Dictionary {
  readonly #fields: Map<string, Field>;

  constructor(fields: Field[]) {
    this.#fields = new Map(fields.map((field) => [field.name, field]));
  }

  get(name: string): Field | undefined {
    return this.#fields.get(name);
  }

  all(type: Field["type"]): Field[] {
    return [...this.#fields.values()].filter((field) => field.type === type);
  }

  /** Returns whether a field is a metric. Filters on metrics compare numbers. */
  isMetric(name: string): boolean {
    return this.get(name)?.type === "metric";
  }

  /** Returns what people call a field; its name, if it is a column that the dictionary does not have. */
  label(name: string): string {
    return this.get(name)?.displayName ?? { start: "From", end: "To" }[name] ?? name;
  }
}

/** Reads the answer of `GET /api`; `null` if it is none. */
export function readIndex(answer: unknown): Index | null {
  if (!isRecord(answer) || !isRecord(answer.dictionary) || !Array.isArray(answer.organizations)) return null;
  const organizations = answer.organizations.filter(isRecord).map(({ organization, accounts }) => ({
    organization: String(organization),
    accounts: Array.isArray(accounts) ? accounts.map(String) : [],
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
