// Lines over time with the benchmarks behind them: the bands of one line, and their figures as a table.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { MAX_MONTHS, SERIES, bandOf, benchmarkScope, hasBenchmark, noBenchmarks, type Band, type Series } from "../benchmarks";
import type { Chart } from "../chart";
import { colorsOf, type KnownColors } from "../colors";
import type { Dictionary } from "../dictionary";
import { wordsOf } from "../fault_words";
import { formatNumber } from "../format";
import type { DatedQuestion, Question } from "../question";
import type { Service } from "../service";
import { LineChart } from "./line_chart";
import { useBenchmarks } from "./use_benchmarks";

interface Props {
  chart: Chart & { kind: "lines" };
  /** The question of the answer. */
  question: DatedQuestion;
  isShown: boolean;
  /** Whether the answer is that of the question on the page. */
  isCurrent: boolean;
  update: (part: Partial<Question>) => void;
  dictionary: Dictionary;
  service: Service;
  today: string;
  caption: ComponentChildren;
}

/** The colors of values, for as long as the page is open. */
const knownColors: KnownColors = new Map();

const SERIES_LABELS: Record<Series, string> = {
  p10: "10th percentile",
  p25: "25th percentile",
  p50: "Median",
  p75: "75th percentile",
  p90: "90th percentile",
  benchmark: "All together",
};

export function BenchmarkedLines({ chart, question, isShown, isCurrent, update, dictionary, service, today, caption }: Props) {
  const [chosen, setChosen] = useState(0);
  const { metric, days, lines } = chart;
  const scope = benchmarkScope(question, dictionary);
  const hasMetric = dictionary.get(metric)?.hasBenchmarks === true;
  const metrics = question.metrics.filter((name) => dictionary.get(name)?.hasBenchmarks);
  const months = days.filter((range) => hasBenchmark(range, today)).map(({ start }) => start.slice(0, 7)).slice(-MAX_MONTHS);
  const { byMonth, isWhole, fault } = useBenchmarks(service, isShown && hasMetric ? scope : null, metrics, months, isCurrent);
  const label = dictionary.label(metric);
  const format = dictionary.get(metric)?.format ?? "number";

  const segments = scope?.dimensions ?? [];
  const banded = lines[chosen] ? chosen : 0;
  const values = segments.map((name) => lines[banded]?.group[question.dimensions.indexOf(name)] ?? "");
  const bands = days.map(({ start }): Band | null => bandOf(byMonth.get(start.slice(0, 7)) ?? [], metric, segments, values));
  const hasBands = isShown && bands.some((band) => band !== null);
  // Lines of accounts share a band, which therefore has the color of none.
  const colors = colorsOf(lines.map(({ group }) => group), knownColors);
  const color = segments.length > 0 || lines.length === 1 ? (colors[banded] ?? null) : null;
  const isLeftOut = days.some((day) => !hasBenchmark(day, today)) || days.length > MAX_MONTHS;
  return (
    <>
      <figcaption>
        {caption}
        {isShown && byMonth.size > 0 && segments.length > 0 && lines.length > 1 && (
          <select aria-label="Benchmarks of" value={String(banded)} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
            {lines.map((line, index) => (
              <option key={index} value={String(index)}>
                of {line.label}
              </option>
            ))}
          </select>
        )}
      </figcaption>
      <LineChart
        key={metric}
        days={days}
        lines={lines}
        earlier={chart.earlier}
        colors={colors}
        format={format}
        label={`${label} by ${question.interval}${hasBands ? ", with benchmarks" : ""}`}
        interval={question.interval}
        benchmarks={hasBands ? { bands, color } : null}
        onZoom={(days) => update({ days })}
      />
      {isShown && !(scope && hasMetric) && <p class="hint">{noBenchmarks(metric, question, dictionary)}</p>}
      {isWhole && !hasBands && <p class="hint">There are no benchmarks of {lines[banded]?.label || "these months"}: there are too few other accounts to compare with.</p>}
      {isShown && fault && (
        <p class="hint" role="alert">
          The benchmarks are missing. {wordsOf(fault).title}. {wordsOf(fault).advice}
        </p>
      )}
      {hasBands && (
        <>
          <p class="hint">
            The figures of all accounts in the same industries (in all industries if an account of yours has none), yours among them{isLeftOut && `. Only whole months have benchmarks, at most the newest ${MAX_MONTHS}`}.
          </p>
          <BandTable bands={bands} months={days.map(({ start }) => start.slice(0, 7))} format={format} label={label} of={segments.length > 0 ? (lines[banded]?.label ?? "") : ""} />
        </>
      )}
    </>
  );
}

/** The bands as a table, for those who do not see the chart, and for exact figures. */
function BandTable({ bands, months, format, label, of }: { bands: (Band | null)[]; months: string[]; format: string; label: string; of: string }) {
  return (
    <details class="band-table">
      <summary>Benchmarks as a table</summary>
      <div class="scroll" role="region" aria-label="Benchmarks by month" tabIndex={0}>
        <table>
          <caption>
            {label}
            {of && ` of ${of}`}
          </caption>
          <thead>
            <tr>
              <th scope="col">Month</th>
              {SERIES.map((series) => (
                <th key={series} scope="col">
                  {SERIES_LABELS[series]}
                </th>
              ))}
              <th scope="col">Accounts</th>
            </tr>
          </thead>
          <tbody>
            {bands.map(
              (band, index) =>
                band && (
                  <tr key={months[index]}>
                    <th scope="row">{months[index]}</th>
                    {SERIES.map((series) => (
                      <td key={series}>{formatNumber(band[series], format)}</td>
                    ))}
                    <td>{band.accounts}</td>
                  </tr>
                ),
            )}
          </tbody>
        </table>
      </div>
    </details>
  );
}
