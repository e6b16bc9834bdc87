// What an answer is about, in words: its heading, and the line below it.

import { standingOf, type Band } from "./benchmarks";
import { describe } from "./condition";
import type { Contributions } from "./contributions";
import { describeWindow, earlierRange, formatRange } from "./days";
import type { Index } from "./dictionary";
import { count, formatNumber, inRow, isShownAsZero } from "./format";
import { isTaken, type DatedQuestion, type Row } from "./question";

/** The share of a change that a group must have to be named as what it comes from, and the most groups that are named. */
const NAMED_SHARE = 0.1;
const MAX_NAMED = 2;

/** Returns what is shown, such as `Leads by Attribution Channel`. */
export function titleOf({ dimensions, interval, within }: DatedQuestion, metric: string, { dictionary }: Index): string {
  const by = [...(interval === "total" ? [] : [interval]), ...dimensions.map((name) => dictionary.label(name))];
  const cohort = within === null ? "" : within === "all" ? " of leads until now" : ` of leads within ${describeWindow(within)}`;
  return `${dictionary.label(metric)}${cohort}${by.length > 0 ? ` by ${inRow(by)}` : ""}`;
}

/**
 * Returns what became of a metric, such as `Leads rose 27.9% in Jun 2026, mostly from Direct and Local Services Ads`; `null`
 * without a comparison, or where a change cannot be said in words.
 */
export function headlineOf(question: DatedQuestion, metric: string, totals: Row, { shown }: Contributions, { dictionary }: Index): string | null {
  const [change, ratio, before] = [totals[`${metric}.change`], totals[`${metric}.ratio`], totals[`${metric}.previous`]];
  const field = dictionary.get(`${metric}.change`);
  if (question.compare === null || typeof change !== "number" || !field) return null;
  const [subject, days] = [dictionary.label(metric), formatRange(question.days)];
  if (isShownAsZero(change, field.format)) return `${subject} stayed the same in ${days}`;
  const isShare = dictionary.get(metric)?.format === "percent";
  // A ratio to a negative amount would have the wrong sign.
  const inPercent = !isShare && typeof ratio === "number" && typeof before === "number" && before > 0;
  const amount = inPercent ? formatNumber(ratio, "change of ratio") : formatNumber(change, field.format);
  const named = shown.filter(({ value }) => value > 0 === change > 0 && Math.abs(value) >= NAMED_SHARE * Math.abs(change)).slice(0, MAX_NAMED);
  const from = named.length === 0 ? "" : `, mostly from ${named.map(({ label }) => label).join(" and ")}`;
  return `${subject} ${change > 0 ? "rose" : "fell"} ${amount.replace(/^[+-]/, "")} in ${days}${from}`;
}

/** Returns how much of its target a metric has, such as `Leads: 96.2% of target in Jun 2026`; `null` in an answer without it. */
export function targetHeadline(question: DatedQuestion, metric: string, totals: Row, { dictionary }: Index): string | null {
  const pace = totals[`${metric}.pace`];
  return typeof pace === "number" ? `${dictionary.label(metric)}: ${formatNumber(pace, "percent")} of target in ${formatRange(question.days)}` : null;
}

/** Returns how an answer does among similar businesses, such as `Better than half of similar businesses in 2 of 3 metrics`; `null` without any. */
export function standingHeadline(totals: Row, bands: Map<string, Band>, { dictionary }: Index): string | null {
  const judged = [...bands].flatMap(([metric, band]) => {
    const [value, better] = [totals[metric], dictionary.get(metric)?.better ?? null];
    return typeof value === "number" && better !== null ? [standingOf(value, band, better).startsWith("better")] : [];
  });
  return judged.length === 0 ? null : `Better than half of similar businesses in ${judged.filter((isBetter) => isBetter).length} of ${count(judged.length, "metric")}`;
}

/** Returns the days, the accounts and the conditions of an answer, one text each. */
export function subtitleOf(question: DatedQuestion, { organizations, dictionary }: Index): string[] {
  const { accounts, attribution, compare, conditions, days, organization } = question;
  const whole = organizations.find((listed) => listed.organization === organization)?.accounts.length;
  const scope = accounts.length > 0 ? `${accounts.join(", ")} of ${organization}` : whole === undefined || whole === 1 ? organization : `${count(whole, "account")} of ${organization}`;
  return [
    compare === null ? formatRange(days) : `${formatRange(days)} against ${formatRange(earlierRange(days, compare))}`,
    scope,
    ...(isTaken(attribution) ? [`channels of the ${attribution} conversion`] : []),
    ...conditions.map((condition) => `${dictionary.label(condition.field)} ${describe(condition)}`),
  ];
}
