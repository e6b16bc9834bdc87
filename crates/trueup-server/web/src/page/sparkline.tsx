// A small line over months.

import { formatRange, isPartial, type DayRange } from "../days";

const WIDTH = 132;
const HEIGHT = 30;
/** Room for the point at the end. */
const EDGE = 4;

interface Props {
  /** The months, and a value for each; `null` for none. */
  months: DayRange[];
  values: (number | null)[];
}

/** The last point is hollow if it is only a part of its month. */
export function Sparkline({ months, values }: Props) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return <svg class="months" width={WIDTH} height={HEIGHT} aria-hidden="true" />;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (index: number) => EDGE + (index / (months.length - 1)) * (WIDTH - 2 * EDGE);
  const y = (value: number) => EDGE + (1 - (value - low) / (high - low || 1)) * (HEIGHT - 2 * EDGE);
  const path = values.map((value, index) => (value === null ? "" : `${(values[index - 1] ?? null) === null ? "M" : "L"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`)).join("");
  const last = values.length - 1;
  const end = values[last] ?? null;
  const isPart = months[last] !== undefined && isPartial(months[last], "month");
  return (
    <svg class="months" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${formatRange({ start: months[0]!.start, end: months[last]!.end })} by month`}>
      <path d={path} />
      {end !== null && <circle class={isPart ? "part" : ""} cx={x(last)} cy={y(end)} r={2.5} />}
    </svg>
  );
}
