// The chart of an answer: figures and a funnel, bars, or lines over time.

import { MAX_BARS, type Bar, type Chart, type Stage } from "../chart";
import type { Dictionary } from "../dictionary";
import { formatNumber, formatShare } from "../format";
import type { Question } from "../question";
import type { Row } from "../service";
import { LineChart } from "./line_chart";

interface Props {
  chart: Chart;
  /** The question of the answer. */
  question: Question;
  charted: string | null;
  update: (part: Partial<Question>) => void;
  dictionary: Dictionary;
}

export function ChartView({ chart, question, charted, update, dictionary }: Props) {
  if (chart.kind === "none") return null;
  if (chart.kind === "figures") return <Figures metrics={chart.metrics} row={chart.row} stages={chart.stages} dictionary={dictionary} />;
  const label = dictionary.label(chart.metric);
  const format = dictionary.get(chart.metric)?.format ?? "number";
  const by = question.dimensions.map((name) => dictionary.label(name)).join(" and ");
  return (
    <figure class="chart">
      <figcaption>
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
          {chart.kind === "bars" && chart.groups > MAX_BARS && `; the first ${MAX_BARS} of ${chart.groups} rows of the table`}
        </span>
      </figcaption>
      {chart.kind === "bars" ? (
        <Bars bars={chart.bars} format={format} label={`${label} by ${by}`} />
      ) : (
        <LineChart days={chart.days} lines={chart.lines} format={format} label={`${label} by ${question.interval}`} interval={question.interval} key={charted ?? ""} />
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
            <dd>{formatNumber(Number(row[metric] ?? 0), dictionary.get(metric)?.format ?? "number")}</dd>
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
  const widest = Math.max(...bars.map(({ value }) => Math.abs(value))) || 1;
  return (
    <ol class="bars" aria-label={label}>
      {bars.map(({ label, value }, index) => (
        <li key={index}>
          <span class="label" title={label}>
            {label}
          </span>
          <span class="track" aria-hidden="true">
            <span class={value < 0 ? "bar negative" : "bar"} style={{ width: `${(Math.abs(value) / widest) * 100}%` }} />
          </span>
          <span class="value">{formatNumber(value, format)}</span>
        </li>
      ))}
    </ol>
  );
}
