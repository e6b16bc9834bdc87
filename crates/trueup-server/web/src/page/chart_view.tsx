// The chart of an answer: a funnel, bars, what moved a metric, or lines over time.

import { MAX_BARS, type Bar, type Chart, type Stage } from "../chart";
import type { Dictionary } from "../dictionary";
import { count, formatNumber, formatShare, formatValue, inRow } from "../format";
import type { DatedQuestion, Question, Row } from "../question";
import type { Service } from "../service";
import { BenchmarkedLines } from "./benchmarked_lines";
import { ContributionsView } from "./contributions_view";

interface Props {
  chart: Chart;
  /** The question of the answer. */
  question: DatedQuestion;
  update: (part: Partial<Question>) => void;
  dictionary: Dictionary;
  /** The numbers of all rows together. */
  totals: Row | null;
  /** Whether lines have benchmarks behind them. */
  benchmarks: boolean;
  /** Whether the answer is that of the question on the page. */
  isCurrent: boolean;
  service: Service;
  today: string;
}

export function ChartView({ chart, question, update, dictionary, totals, benchmarks, isCurrent, service, today }: Props) {
  if (chart.kind === "none") return null;
  if (chart.kind === "funnel") return <Funnel stages={chart.stages} dictionary={dictionary} />;
  const { metric } = chart;
  const label = dictionary.label(metric);
  const format = dictionary.get(metric)?.format ?? "number";
  const by = inRow(question.dimensions.map((name) => dictionary.label(name)));
  const caption = (
    <>
      {chart.kind === "contributions" && <strong>What moved</strong>}
      {question.metrics.length > 1 ? (
        <select aria-label="Metric of the chart" value={metric} onChange={(event) => update({ charted: event.currentTarget.value })}>
          {question.metrics.map((metric) => (
            <option key={metric} value={metric}>
              {dictionary.label(metric)}
            </option>
          ))}
        </select>
      ) : (
        <strong>{label}</strong>
      )}
      <span>
        {chart.kind === "contributions" && totals && `${summaryOf(metric, totals, dictionary)}, `}
        {chart.kind === "lines" ? `by ${question.interval}${by && ` and ${by}`}` : `by ${by}`}
        {chart.kind === "lines" && chart.groups > chart.lines.length && `; ${chart.lines.length} of ${count(chart.groups, "group")}: those with the most ${dictionary.label(dictionary.volumeOf(metric))}`}
        {chart.kind === "contributions" && <span class="how">; a click on a bar breaks it down</span>}
        {chart.kind === "bars" && question.compare !== null && "; a mark shows the value before"}
        {chart.kind === "bars" && chart.groups > MAX_BARS && `; the first ${MAX_BARS} of ${count(chart.groups, "row")} of the table`}
      </span>
    </>
  );
  return (
    <figure class="chart">
      {chart.kind === "lines" ? (
        <BenchmarkedLines
          chart={chart}
          question={question}
          isShown={benchmarks}
          isCurrent={isCurrent}
          update={update}
          dictionary={dictionary}
          service={service}
          today={today}
          caption={caption}
        />
      ) : (
        <>
          <figcaption>{caption}</figcaption>
          {chart.kind === "bars" ? (
            <Bars bars={chart.bars} format={format} label={`${label} by ${by}`} />
          ) : (
            <ContributionsView key={metric} contributions={chart.contributions} metric={metric} question={question} dictionary={dictionary} service={service} />
          )}
        </>
      )}
    </figure>
  );
}

/** Returns the whole that contributions add up to, such as `559 → 715 (+156)`. */
function summaryOf(metric: string, totals: Row, dictionary: Dictionary): string {
  const shown = (column: string) => formatValue(totals[column], dictionary.get(column)?.format ?? "number");
  return `${shown(`${metric}.previous`)} → ${shown(metric)} (${shown(`${metric}.change`)})`;
}

/** Bars of stages, each as wide as its share of the first one. */
function Funnel({ stages, dictionary }: { stages: Stage[]; dictionary: Dictionary }) {
  return (
    <figure class="chart">
      <figcaption>
        <strong>Funnel</strong>
        <span>with the share of {dictionary.label(stages[0]?.metric ?? "")}</span>
      </figcaption>
      <ol class="bars funnel">
        {stages.map(({ metric, value, share }) => (
          <li key={metric}>
            <span class="label">{dictionary.label(metric)}</span>
            <span class="track">
              <span class="bar" style={{ width: placeOf(Math.min(1, share)) }} />
              <span class="value">
                {formatNumber(value, "number")} <small>{formatShare(share)}</small>
              </span>
            </span>
          </li>
        ))}
      </ol>
    </figure>
  );
}

/** Returns how far a share of the longest bar reaches: after each bar there is room for its value. */
function placeOf(share: number): string {
  return `calc((100% - 8em) * ${share.toFixed(4)})`;
}

function Bars({ bars, format, label }: { bars: Bar[]; format: string; label: string }) {
  const widest = Math.max(...bars.map(({ value, previous }) => Math.max(Math.abs(value ?? 0), Math.abs(previous ?? 0)))) || 1;
  return (
    <ol class="bars" aria-label={label}>
      {bars.map(({ label, value, previous }, index) => (
        <li key={index}>
          <span class="label" title={label}>
            {label}
          </span>
          <span class="track">
            <span class={(value ?? 0) < 0 ? "bar negative" : "bar"} style={{ width: placeOf(Math.abs(value ?? 0) / widest) }} />
            <span class="value">{formatValue(value, format)}</span>
            {previous !== null && <span class="previous" style={{ left: placeOf(Math.abs(previous) / widest) }} title={`before: ${formatNumber(previous, format)}`} />}
          </span>
        </li>
      ))}
    </ol>
  );
}
