// The metrics of an answer as tiles: the value, its change, its target, and the months up to it. A tile chooses what the chart shows.

import { standingOf, type Band } from "../benchmarks";
import { previousOf, valueOf } from "../chart";
import type { Dictionary } from "../dictionary";
import { formatValue } from "../format";
import { changeColumn, monthsRequest, targetsRequest, type DatedQuestion, type Row } from "../question";
import type { Service } from "../service";
import { Sparkline } from "./sparkline";
import { MONTHS, useMonths } from "./use_months";
import { useRows } from "./use_rows";

interface Props {
  /** The question of the answer, and the numbers of all its rows together. */
  question: DatedQuestion;
  totals: Row;
  /** The figures of similar businesses, by metric. */
  bands: Map<string, Band>;
  /** The metric of the chart. */
  charted: string | undefined;
  choose: (metric: string) => void;
  dictionary: Dictionary;
  service: Service;
}

export function Tiles({ question, totals, bands, charted, choose, dictionary, service }: Props) {
  const monthly = useMonths(service, monthsRequest(question, dictionary, MONTHS), []);
  const targets = useRows(service, targetsRequest(question, dictionary))?.[0] ?? totals;
  return (
    <ul class="tiles" aria-label="Figures">
      {question.metrics.map((metric) => (
        <li key={metric}>
          <button type="button" aria-pressed={metric === charted} title={dictionary.get(metric)?.definition} onClick={() => choose(metric)}>
            <span class="name">{dictionary.label(metric)}</span>
            <span class="figure">{formatValue(valueOf(totals, metric), dictionary.get(metric)?.format ?? "number")}</span>
            <Change metric={metric} row={totals} dictionary={dictionary} />
            <Target metric={metric} row={targets} dictionary={dictionary} />
            <Standing metric={metric} row={totals} band={bands.get(metric)} dictionary={dictionary} />
            <Sparkline months={monthly?.ranges ?? []} values={monthly?.values(metric, {}) ?? []} />
          </button>
        </li>
      ))}
    </ul>
  );
}

/** What a figure was before, and how it changed. */
function Change({ metric, row, dictionary }: { metric: string; row: Row; dictionary: Dictionary }) {
  if (row[`${metric}.change`] === undefined) return null;
  const shown = (suffix: string) => formatValue(row[`${metric}.${suffix}`], dictionary.get(`${metric}.${suffix}`)?.format ?? "number");
  const part = changeColumn(metric, dictionary);
  return (
    <span class="was">
      <span class={dictionary.judge(`${metric}.change`, row[`${metric}.change`])}>{formatValue(row[part], dictionary.get(part)?.format ?? "number")}</span>
      {previousOf(row, metric) !== null && ` from ${shown("previous")}`}
    </span>
  );
}

/** The target of a figure, and how much of it there is. */
function Target({ metric, row, dictionary }: { metric: string; row: Row; dictionary: Dictionary }) {
  const shown = (suffix: string) => formatValue(row[`${metric}.${suffix}`], dictionary.get(`${metric}.${suffix}`)?.format ?? "number");
  return valueOf(row, `${metric}.target`) === null ? null : <span class="was">{`Target ${shown("target")}, pace ${shown("pace")}`}</span>;
}

/** Where a figure stands among those of similar businesses. */
function Standing({ metric, row, band, dictionary }: { metric: string; row: Row; band: Band | undefined; dictionary: Dictionary }) {
  const value = valueOf(row, metric);
  if (!band || value === null) return null;
  const words = standingOf(value, band, dictionary.get(metric)?.better ?? null);
  const kind = words.startsWith("better") ? "good" : words.startsWith("worse") ? "bad" : "";
  return (
    <span class="was">
      <span class={kind}>{words}</span>
    </span>
  );
}
