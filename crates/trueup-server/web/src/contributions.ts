// What the groups of a comparison contribute to the change of a metric. What they contribute adds up to the change of the whole.

import type { Condition } from "./condition";
import type { Dictionary } from "./dictionary";
import { formatText, isShownAsZero } from "./format";
import type { DatedQuestion, Row } from "./question";

/** How deep a contribution can be broken down, the first level included. */
export const MAX_LEVELS = 3;

/** The most contributions of one level that are shown by themselves. */
export const MAX_SHOWN = 8;

/** Dimensions that a contribution is broken down by, the likeliest first. */
const BREAKDOWNS = ["attributionCategory", "attributionChannel", "campaign", "account", "customerStatus", "normalizedBusinessUnit", "conversionType"];

export interface Contribution {
  label: string;
  /** The values of the dimensions. */
  group: string[];
  value: number;
  /** What a ratio contributes because it changed itself, and because its share in the denominator did; `null` for a sum. */
  effects: { rate: number; mix: number } | null;
  before: number | null;
  now: number | null;
}

/** Contributions in order, and the sum of the others, which are not shown by themselves. */
export interface Contributions {
  shown: Contribution[];
  others: { count: number; value: number } | null;
}

/**
 * Returns the contributions to the change of a metric, the largest first. There are none where the groups do not add up, as
 * those of a percentile.
 */
export function contributionsOf(rows: Row[], dimensions: string[], metric: string, dictionary: Dictionary): Contributions {
  const format = dictionary.get(`${metric}.change`)?.format ?? "";
  const all = rows.flatMap((row): Contribution[] => {
    const effects = effectsOf(row, metric);
    const value = effects ? effects.rate + effects.mix : dictionary.isSum(metric) ? numberOf(row, `${metric}.change`) : null;
    if (value === null || value === 0) return [];
    const group = dimensions.map((name) => String(row[name] ?? ""));
    return [{ label: group.map(formatText).join(" · "), group, value, effects, before: numberOf(row, `${metric}.previous`), now: numberOf(row, metric) }];
  });
  all.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const visible = all.filter(({ value }) => !isShownAsZero(value, format));
  // One more takes no more room than the line of the others.
  const shown = visible.slice(0, all.length === MAX_SHOWN + 1 ? all.length : MAX_SHOWN);
  const others = all.filter((each) => !shown.includes(each));
  return { shown, others: others.length === 0 ? null : { count: others.length, value: others.reduce((sum, { value }) => sum + value, 0) } };
}

/** Returns the dimensions that a contribution can be broken down by next; none for spend where it has no such dimension. */
export function breakdownsOf(question: DatedQuestion, dimensions: string[], metric: string, dictionary: Dictionary): string[] {
  const fixed = question.conditions.filter(({ operator, values }: Condition) => operator === "is" && values.length === 1).map(({ field }) => field);
  const usesSpend = dictionary.get(metric)?.usesSpend === true;
  return BREAKDOWNS.filter((name) => {
    const field = dictionary.get(name);
    return field?.type === "dimension" && !dimensions.includes(name) && !fixed.includes(name) && (!usesSpend || field.splitsSpend);
  });
}

function effectsOf(row: Row, metric: string): Contribution["effects"] {
  const [rate, mix] = [numberOf(row, `${metric}.rateEffect`), numberOf(row, `${metric}.mixEffect`)];
  return rate === null || mix === null ? null : { rate, mix };
}

function numberOf(row: Row, column: string): number | null {
  const value = row[column];
  return typeof value === "number" ? value : null;
}
