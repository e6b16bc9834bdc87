// The metrics of an answer as tiles: the value, its change, and the months up to it. A tile chooses what the chart shows.

import { useEffect, useState } from "preact/hooks";
import { standingOf, type Band } from "../benchmarks";
import { previousOf, valueOf } from "../chart";
import { formatRange, isPartial, subRanges, type DayRange } from "../days";
import type { Dictionary } from "../dictionary";
import { formatValue } from "../format";
import { changeColumn, monthsRequest, type DatedQuestion, type Row } from "../question";
import type { Service } from "../service";

/** How many months a tile shows: the last one, and all of the year before it. */
const MONTHS = 13;

const WIDTH = 132;
const HEIGHT = 30;
/** Room for the point at the end. */
const EDGE = 4;

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
  const months = useMonths(question, dictionary, service);
  return (
    <ul class="tiles" aria-label="Figures">
      {question.metrics.map((metric) => (
        <li key={metric}>
          <button type="button" aria-pressed={metric === charted} title={dictionary.get(metric)?.definition} onClick={() => choose(metric)}>
            <span class="name">{dictionary.label(metric)}</span>
            <span class="figure">{formatValue(valueOf(totals, metric), dictionary.get(metric)?.format ?? "number")}</span>
            <Change metric={metric} row={totals} dictionary={dictionary} />
            <Standing metric={metric} row={totals} band={bands.get(metric)} dictionary={dictionary} />
            <Months rows={months?.rows ?? []} days={months?.days ?? []} metric={metric} />
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

interface Monthly {
  rows: Row[];
  days: DayRange[];
}

/** Asks for the months up to the days of the question. A tile without them is whole, so a fault shows none. */
function useMonths(question: DatedQuestion, dictionary: Dictionary, service: Service): Monthly | null {
  const [found, setFound] = useState<(Monthly & { of: string }) | null>(null);
  const request = monthsRequest(question, dictionary, MONTHS);
  const key = JSON.stringify(request);
  useEffect(() => {
    if (!request) return;
    const controller = new AbortController();
    service.events(request, controller.signal).then(
      ({ rows }) => setFound({ of: key, rows, days: subRanges(request.range, "month") }),
      () => undefined,
    );
    return () => controller.abort();
  }, [service, key]);
  return found?.of === key ? found : null;
}

/** A small line over months. Its last point is hollow if it is only a part of its month. */
function Months({ rows, days, metric }: Monthly & { metric: string }) {
  const byStart = new Map(rows.map((row) => [row.start, valueOf(row, metric)]));
  const values = days.map(({ start }) => byStart.get(start) ?? null);
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return <svg class="months" width={WIDTH} height={HEIGHT} aria-hidden="true" />;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (index: number) => EDGE + (index / (days.length - 1)) * (WIDTH - 2 * EDGE);
  const y = (value: number) => EDGE + (1 - (value - low) / (high - low || 1)) * (HEIGHT - 2 * EDGE);
  const path = values.map((value, index) => (value === null ? "" : `${(values[index - 1] ?? null) === null ? "M" : "L"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`)).join("");
  const last = values.length - 1;
  const end = values[last] ?? null;
  const isPart = days[last] !== undefined && isPartial(days[last], "month");
  return (
    <svg class="months" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${formatRange({ start: days[0]!.start, end: days[last]!.end })} by month`}>
      <path d={path} />
      {end !== null && <circle class={isPart ? "part" : ""} cx={x(last)} cy={y(end)} r={2.5} />}
    </svg>
  );
}
