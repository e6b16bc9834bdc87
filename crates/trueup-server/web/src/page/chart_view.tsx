// The chart of an answer: figures and a funnel, bars, or lines over time.

import { MAX_BARS, previousOf, type Bar, type Chart, type Stage, valueOf } from "../chart";
import type { Dictionary } from "../dictionary";
import { formatNumber, formatShare, formatValue } from "../format";
import type { Question, Row } from "../question";
import type { Service } from "../service";
import { BenchmarkedLines } from "./benchmarked_lines";

interface Props {
  chart: Chart;
  /** The question of the answer. */
  question: Question;
  update: (part: Partial<Question>) => void;
  dictionary: Dictionary;
  /** The rows of the answer, in the order of the service. */
  rows: Row[];
  /** Whether lines have benchmarks behind them. */
  benchmarks: boolean;
  service: Service;
  today: string;
}

export function ChartView({ chart, question, update, dictionary, rows, benchmarks, service, today }: Props) {
  if (chart.kind === "none") return null;
  if (chart.kind === "figures") return <Figures metrics={chart.metrics} row={chart.row} stages={chart.stages} dictionary={dictionary} />;
  const label = dictionary.label(chart.metric);
  const format = dictionary.get(chart.metric)?.format ?? "number";
  const by = question.dimensions.map((name) => dictionary.label(name)).join(" and ");
  const caption = (
    <>
      {question.metrics.length > 1 ? (
        <select aria-label="Metric of the chart" value={chart.metric} onChange={(event) => update({ charted: event.currentTarget.value })}>
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
        {chart.kind === "lines" ? `by ${question.interval}${by && ` and ${by}`}` : `by ${by}`}
        {chart.kind === "lines" && chart.groups > chart.lines.length && `; the ${chart.lines.length} highest of ${chart.groups}`}
        {chart.kind === "bars" && question.compare !== null && "; a mark shows the value before"}
        {chart.kind === "bars" && chart.groups > MAX_BARS && `; the first ${MAX_BARS} of ${chart.groups} rows of the table`}
      </span>
    </>
  );
  return (
    <figure class="chart">
      {chart.kind === "bars" ? (
        <>
          <figcaption>{caption}</figcaption>
          <Bars bars={chart.bars} format={format} label={`${label} by ${by}`} />
        </>
      ) : (
        <BenchmarkedLines
          chart={chart}
          question={question}
          rows={rows}
          isShown={benchmarks}
          update={update}
          dictionary={dictionary}
          service={service}
          today={today}
          caption={caption}
        />
      )}
    </figure>
  );
}

function Figures({ metrics, row, stages, dictionary }: { metrics: string[]; row: Row; stages: Stage[]; dictionary: Dictionary }) {
  return (
    <section class="figures" aria-label="Figures">
      <dl>
        {metrics.map((metric) => (
          <div key={metric} title={dictionary.get(metric)?.definition}>
            <dt>{dictionary.label(metric)}</dt>
            <dd>{formatValue(valueOf(row, metric), dictionary.get(metric)?.format ?? "number")}</dd>
            <Change metric={metric} row={row} dictionary={dictionary} />
          </div>
        ))}
      </dl>
      {stages[0] && <Funnel stages={stages} first={dictionary.label(stages[0].metric)} dictionary={dictionary} />}
    </section>
  );
}

/** Bars of stages, each as wide as its share of the first one. */
function Funnel({ stages, first, dictionary }: { stages: Stage[]; first: string; dictionary: Dictionary }) {
  return (
    <figure class="chart">
      <figcaption>
        <strong>Funnel</strong>
        <span>with the share of {first}</span>
      </figcaption>
      <ol class="bars funnel">
        {stages.map(({ metric, value, share }) => (
          <li key={metric}>
            <span class="label">{dictionary.label(metric)}</span>
            <span class="track" aria-hidden="true">
              <span class="bar" style={{ width: `${Math.min(1, share) * 100}%` }} />
            </span>
            <span class="value">
              {formatNumber(value, "number")} <small>{formatShare(share)}</small>
            </span>
          </li>
        ))}
      </ol>
    </figure>
  );
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
          <span class="track" aria-hidden="true">
            <span class={(value ?? 0) < 0 ? "bar negative" : "bar"} style={{ width: `${(Math.abs(value ?? 0) / widest) * 100}%` }} />
            {previous !== null && <span class="previous" style={{ left: `${(Math.abs(previous) / widest) * 100}%` }} title={`before: ${formatNumber(previous, format)}`} />}
          </span>
          <span class="value">{formatValue(value, format)}</span>
        </li>
      ))}
    </ol>
  );
}

/** What a figure was before, and how it changed. */
function Change({ metric, row, dictionary }: { metric: string; row: Row; dictionary: Dictionary }) {
  if (previousOf(row, metric) === null) return null;
  const shown = (suffix: string) => formatValue(row[`${metric}.${suffix}`], dictionary.get(`${metric}.${suffix}`)?.format ?? "number");
  return (
    <dd class="was">
      <span class={dictionary.judge(`${metric}.change`, row[`${metric}.change`])}>
        {shown("change")} ({shown("ratio")})
      </span>{" "}
      from {shown("previous")}
    </dd>
  );
}
