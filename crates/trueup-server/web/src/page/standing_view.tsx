// Where the figures of an answer stand among those of similar businesses: a strip for each metric.

import { standingOf, type Band } from "../benchmarks";
import { valueOf } from "../chart";
import type { Dictionary } from "../dictionary";
import { formatNumber } from "../format";
import { formatRange } from "../days";
import type { DatedQuestion, Row } from "../question";

interface Props {
  question: DatedQuestion;
  totals: Row;
  /** The metrics that have benchmarks. */
  bands: Map<string, Band>;
  dictionary: Dictionary;
}

/** The size of a strip in units of its own; it is as wide as there is room. */
const WIDTH = 400;
const HEIGHT = 22;
const EDGE = 8;

export function StandingView({ question, totals, bands, dictionary }: Props) {
  return (
    <figure class="chart standing">
      <figcaption>
        <strong>Similar businesses</strong>
        <span>in {formatRange(question.days)}: half of the accounts are in the inner part, 8 in 10 in the strip; the line is the median, the mark is you</span>
      </figcaption>
      <ul>
        {[...bands].map(([metric, band]) => {
          const { format, better } = dictionary.get(metric)!;
          const value = valueOf(totals, metric);
          return (
            <li key={metric}>
              <span class="label">{dictionary.label(metric)}</span>
              <Strip band={band} value={value} />
              <span class="value">
                {value !== null && (
                  <>
                    <strong>{formatNumber(value, format)}</strong> {standingOf(value, band, better)}
                  </>
                )}{" "}
                <small>
                  median {formatNumber(band.p50, format)}, half {formatNumber(band.p25, format)} to {formatNumber(band.p75, format)}
                </small>
              </span>
            </li>
          );
        })}
      </ul>
      <p class="hint">The figures of {[...bands.values()][0]?.accounts} accounts in the same industries (in all industries if an account of yours has none), yours among them.</p>
    </figure>
  );
}

/** The strip says nothing that the text after it does not. */
function Strip({ band, value }: { band: Band; value: number | null }) {
  const [low, high] = [Math.min(band.p10, value ?? band.p10), Math.max(band.p90, value ?? band.p90)];
  const x = (figure: number) => EDGE + ((figure - low) / (high - low || 1)) * (WIDTH - 2 * EDGE);
  const part = (kind: string, from: number, to: number) => <rect class={kind} x={x(from)} width={Math.max(1, x(to) - x(from))} y={5} height={HEIGHT - 10} />;
  return (
    <svg class="strip series-0" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {part("wide", band.p10, band.p90)}
      {part("half", band.p25, band.p75)}
      {part("median", band.p50, band.p50)}
      {value !== null && <rect class="own" x={x(value) - 2.5} width={5} y={1} height={HEIGHT - 2} rx={2} />}
    </svg>
  );
}
