// Lines over time, drawn as SVG. A pointer or the arrow keys move a mark that shows the values of one sub-range.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { runsOf, type Band } from "../benchmarks";
import { ticksOf, type ChartDay, type ChartLine } from "../chart";
import type { Interval } from "../days";
import { formatDay, formatNumber, formatTick } from "../format";

interface Props {
  days: ChartDay[];
  lines: ChartLine[];
  format: string;
  label: string;
  interval: Interval;
  /** The benchmarks behind the lines, one per sub-range, and the line whose color they have; `null` without benchmarks. */
  benchmarks: { bands: (Band | null)[]; color: number | null } | null;
}

const HEIGHT = 260;
const MARGIN = { top: 12, right: 12, bottom: 26, left: 52 };

export function LineChart({ days, lines, format, label, interval, benchmarks }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  const [marked, setMarked] = useState<number | null>(null);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(240, element.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const values = lines.flatMap((line) => line.values.filter((value) => value !== null));
  for (const band of benchmarks?.bands ?? []) if (band) values.push(band.p10, band.p90);
  const ticks = ticksOf(Math.min(...values), Math.max(...values));
  const [low, high] = [ticks[0] ?? 0, ticks.at(-1) ?? 1];
  const inner = { width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
  const x = (index: number) => MARGIN.left + (days.length === 1 ? inner.width / 2 : (index / (days.length - 1)) * inner.width);
  const y = (value: number) => MARGIN.top + (1 - (value - low) / (high - low)) * inner.height;

  const move = (event: PointerEvent) => {
    const left = (event.currentTarget as Element).getBoundingClientRect().left;
    const place = (event.clientX - left - MARGIN.left) / inner.width;
    setMarked(Math.max(0, Math.min(days.length - 1, Math.round(place * (days.length - 1)))));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setMarked(Math.max(0, Math.min(days.length - 1, (marked ?? (step > 0 ? -1 : days.length)) + step)));
  };
  const markedDay = marked === null ? undefined : days[marked];
  const partial = days.filter((day) => day.partial).map((day) => nameOf(day, interval));
  const labelStep = Math.max(1, Math.ceil(days.length / Math.max(2, Math.floor(inner.width / 76))));

  return (
    <div class="lines" ref={frame}>
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`${label}. The table has every value; the arrow keys go through them.`}
        tabIndex={0}
        onPointerMove={move}
        onPointerLeave={() => setMarked(null)}
        onKeyDown={onKeyDown}
        onBlur={() => setMarked(null)}
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <line class={tick === 0 ? "axis" : "grid"} x1={MARGIN.left} x2={width - MARGIN.right} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={MARGIN.left - 8} y={y(tick) + 4} text-anchor="end">
              {formatTick(tick, format)}
            </text>
          </g>
        ))}
        {days.map(
          (day, index) =>
            index % labelStep === 0 && (
              <text key={day.start} class="tick" x={x(index)} y={HEIGHT - 8} text-anchor={anchorOf(index, days.length)}>
                {interval === "month" ? day.start.slice(0, 7) : formatDay(day.start)}
              </text>
            ),
        )}
        {benchmarks && <Bands bands={benchmarks.bands} color={benchmarks.color} x={x} y={y} />}
        {markedDay && <line class="mark" x1={x(marked ?? 0)} x2={x(marked ?? 0)} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} />}
        {lines.map((line, index) => (
          <g key={index} class={`series series-${index}`}>
            <path d={svgPathOf(line, x, y)} />
            {line.values.map(
              (value, day) =>
                value !== null && (isAlone(line, day) || days.length <= 40 || day === marked) && (
                  <circle key={day} class={days[day]?.partial ? "part" : ""} cx={x(day)} cy={y(value)} r={day === marked ? 4 : 2.5} />
                ),
            )}
          </g>
        ))}
      </svg>
      <div aria-live="polite" aria-atomic="true">
        <p class="marked">{markedDay ? nameOf(markedDay, interval) : "\u00a0"}</p>
        <ul class="legend">
          {lines.map((line, index) => {
            const value = marked === null ? null : (line.values[marked] ?? null);
            return (
              <li key={index} class={`series-${index}`}>
                <span class="swatch" aria-hidden="true" />
                {line.label || "All"}{" "}
                {value !== null && <strong>{formatNumber(value, format)}</strong>}
              </li>
            );
          })}
        </ul>
        {benchmarks && <BandLegend band={marked === null ? null : (benchmarks.bands[marked] ?? null)} color={benchmarks.color} format={format} />}
      </div>
      {partial.length > 0 && (
        <p class="hint">
          A hollow point is only a part of its {interval}: {partial.join(", and ")}.
        </p>
      )}
    </div>
  );
}

interface BandsProps {
  bands: (Band | null)[];
  color: number | null;
  x: (index: number) => number;
  y: (value: number) => number;
}

/** Half the width of a band of a single month. */
const ALONE = 10;

/** Draws where eight in ten, and half, of the accounts are, and the one in the middle. */
function Bands({ bands, color, x, y }: BandsProps) {
  const area = ([first, last]: [number, number], low: "p10" | "p25", high: "p75" | "p90") => {
    const points: string[] = [];
    const add = (index: number, series: "p10" | "p25" | "p75" | "p90", aside: number) => points.push(`${(x(index) + aside).toFixed(1)} ${y(bands[index]![series]).toFixed(1)}`);
    const aside = first === last ? ALONE : 0;
    for (let index = first; index <= last; index += 1) add(index, high, -aside);
    if (aside) add(last, high, aside);
    for (let index = last; index >= first; index -= 1) add(index, low, aside);
    if (aside) add(first, low, -aside);
    return `M${points.join("L")}Z`;
  };
  const middle = ([first, last]: [number, number]) => {
    if (first === last) return `M${(x(first) - ALONE).toFixed(1)} ${y(bands[first]!.p50).toFixed(1)}h${2 * ALONE}`;
    return `M${bands.slice(first, last + 1).map((band, index) => `${x(first + index).toFixed(1)} ${y(band!.p50).toFixed(1)}`).join("L")}`;
  };
  return (
    <g class={`bands ${color === null ? "neutral" : `series-${color}`}`} aria-hidden="true">
      {runsOf(bands).map((run) => (
        <g key={run[0]}>
          <path class="wide" d={area(run, "p10", "p90")} />
          <path class="half" d={area(run, "p25", "p75")} />
          <path class="median" d={middle(run)} />
        </g>
      ))}
    </g>
  );
}

/** Says what the bands are; with a marked sub-range, their figures in it. */
function BandLegend({ band, color, format }: { band: Band | null; color: number | null; format: string }) {
  const range = (low: number, high: number) => <strong>{`${formatNumber(low, format)} to ${formatNumber(high, format)}`}</strong>;
  return (
    <ul class={`legend band-legend ${color === null ? "neutral" : `series-${color}`}`} aria-label="Benchmarks">
      <li>
        <span class="swatch half" aria-hidden="true" />
        Half of the accounts {band && range(band.p25, band.p75)}
      </li>
      <li>
        <span class="swatch wide" aria-hidden="true" />8 in 10 accounts {band && range(band.p10, band.p90)}
      </li>
      <li>
        <span class="swatch median" aria-hidden="true" />
        Median {band && <strong>{formatNumber(band.p50, format)}</strong>}
      </li>
    </ul>
  );
}

/** Keeps the labels at both ends inside of the chart. */
function anchorOf(index: number, length: number): "start" | "middle" | "end" {
  if (length === 1) return "middle";
  return index === 0 ? "start" : index === length - 1 ? "end" : "middle";
}

/** Returns the path of a line, with a gap where there is no value. */
function svgPathOf({ values }: ChartLine, x: (index: number) => number, y: (value: number) => number): string {
  let isDrawing = false;
  return values
    .map((value, index) => {
      if (value === null) {
        isDrawing = false;
        return "";
      }
      const command = isDrawing ? "L" : "M";
      isDrawing = true;
      return `${command}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    })
    .join("");
}

/** Returns whether a value has no neighbor, so that no line leads to it. */
function isAlone({ values }: ChartLine, index: number): boolean {
  return (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null;
}

function nameOf(day: ChartDay, interval: Interval): string {
  if (interval === "day") return day.start;
  return interval === "month" && !day.partial ? day.start.slice(0, 7) : `${day.start} to ${day.end}`;
}
