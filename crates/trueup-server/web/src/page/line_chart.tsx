// Lines over time, drawn as SVG. A pointer, a finger or the arrow keys move a mark that shows the values of one sub-range.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { runsOf, type Band } from "../benchmarks";
import { ticksOf, type ChartDay, type ChartLine } from "../chart";
import { formatDay, formatRange, nameOfMonth, type DayRange, type Interval } from "../days";
import { formatNumber, formatTick, formatValue } from "../format";

interface Props {
  days: ChartDay[];
  lines: ChartLine[];
  /** The sub-ranges of the earlier days, which the lines have values of, too. */
  earlier: DayRange[];
  /** The number of the color of each line. */
  colors: number[];
  format: string;
  label: string;
  interval: Interval;
  /** The benchmarks behind the lines, one per sub-range, and the number of their color; `null` without benchmarks. */
  benchmarks: { bands: (Band | null)[]; color: number | null } | null;
  /** Called with the days that were dragged over. */
  onZoom: (days: DayRange) => void;
}

const HEIGHT = 280;
const MARGIN = { top: 12, right: 24, bottom: 40, left: 52 };

/** The room for labels at the ends of lines, and the width of a chart that has it. */
const LABELS = 170;
const MIN_LABELED = 620;
/** The height of such a label, and how many of its characters there is room for. */
const LABEL_HEIGHT = 15;
const LABEL_LENGTH = 22;

/** The most sub-ranges of which every value has a point. */
const MAX_POINTS = 40;

export function LineChart({ days, lines, earlier, colors, format, label, interval, benchmarks, onZoom }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  const [marked, setMarked] = useState<number | null>(null);
  /** Where a drag began. */
  const [dragged, setDragged] = useState<number | null>(null);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(240, element.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const values = lines.flatMap((line) => [...line.values, ...line.earlier].filter((value) => value !== null));
  for (const band of benchmarks?.bands ?? []) if (band) values.push(band.p10, band.p90);
  const ticks = values.length > 0 ? ticksOf(Math.min(...values), Math.max(...values)) : [0, 1];
  const [low, high] = [ticks[0] ?? 0, ticks.at(-1) ?? 1];
  const isLabeled = width >= MIN_LABELED && lines.length > 1;
  const right = isLabeled ? LABELS : MARGIN.right;
  const inner = { width: width - MARGIN.left - right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
  const x = (index: number) => MARGIN.left + (days.length === 1 ? inner.width / 2 : (index / (days.length - 1)) * inner.width);
  const y = (value: number) => MARGIN.top + (1 - (value - low) / (high - low)) * inner.height;

  const indexAt = (event: PointerEvent) => {
    const left = (event.currentTarget as Element).getBoundingClientRect().left;
    const place = (event.clientX - left - MARGIN.left) / inner.width;
    return Math.max(0, Math.min(days.length - 1, Math.round(place * (days.length - 1))));
  };
  const onPointerDown = (event: PointerEvent) => {
    setMarked(indexAt(event));
    if (event.pointerType === "mouse" && event.button === 0) setDragged(indexAt(event));
  };
  const onPointerUp = (event: PointerEvent) => {
    const [from, to] = [dragged, indexAt(event)];
    setDragged(null);
    if (from === null || from === to) return;
    onZoom({ start: days[Math.min(from, to)]!.start, end: days[Math.max(from, to)]!.end });
  };
  const onPointerLeave = (event: PointerEvent) => {
    setDragged(null);
    // A finger that lifts leaves too: what it marked stays until the next tap.
    if (event.pointerType === "mouse") setMarked(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setMarked(Math.max(0, Math.min(days.length - 1, (marked ?? (step > 0 ? -1 : days.length)) + step)));
  };
  const isOpen = (line: ChartLine, index: number) => days[index]?.partial === true || line.open[index] === true;
  const partial = days.filter((day) => day.partial).map(formatRange);
  const hasOpen = lines.some((line) => line.open.some((open, index) => open && line.values[index] !== null));
  const labelStep = Math.max(1, Math.ceil(days.length / Math.max(2, Math.floor(inner.width / 76))));
  const labeled = days.map((_, index) => index).filter((index) => index % labelStep === 0);

  return (
    <div class="lines" ref={frame}>
      <svg
        width={width}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label={`${label}. The table has every value; the arrow keys go through them.`}
        tabIndex={0}
        onPointerDown={onPointerDown}
        onPointerUp={onPointerUp}
        onPointerMove={(event) => setMarked(indexAt(event))}
        onPointerLeave={onPointerLeave}
        onKeyDown={onKeyDown}
        onBlur={() => setMarked(null)}
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <line class={tick === 0 ? "axis" : "grid"} x1={MARGIN.left} x2={width - right} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={MARGIN.left - 8} y={y(tick) + 4} text-anchor="end">
              {formatTick(tick, format)}
            </text>
          </g>
        ))}
        {labeled.map((index, place) => {
          const { start } = days[index]!;
          const before = days[labeled[place - 1] ?? -1]?.start;
          return (
            <g key={start} class="tick" text-anchor="middle">
              <line class="grid" x1={x(index)} x2={x(index)} y1={HEIGHT - MARGIN.bottom} y2={HEIGHT - MARGIN.bottom + 4} />
              <text x={x(index)} y={HEIGHT - 22}>
                {interval === "month" ? nameOfMonth(start) : formatDay(start)}
              </text>
              {before?.slice(0, 4) !== start.slice(0, 4) && (
                <text class="year" x={x(index)} y={HEIGHT - 7}>
                  {start.slice(0, 4)}
                </text>
              )}
            </g>
          );
        })}
        {benchmarks && <Bands bands={benchmarks.bands} color={benchmarks.color} x={x} y={y} />}
        {dragged !== null && marked !== null && (
          <rect class="dragged" x={Math.min(x(dragged), x(marked))} width={Math.abs(x(marked) - x(dragged))} y={MARGIN.top} height={inner.height} />
        )}
        {marked !== null && <line class="mark" x1={x(marked)} x2={x(marked)} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} />}
        {earlier.length > 0 &&
          lines.map((line, index) => (
            <path key={index} class={`earlier ${lines.length === 1 ? "neutral" : `series-${colors[index]}`}`} d={pathsOf(line.earlier, () => false, x, y).closed} />
          ))}
        {lines.map((line, index) => {
          const { closed, open } = pathsOf(line.values, (day) => isOpen(line, day), x, y);
          return (
            <g key={index} class={`series series-${colors[index]}`}>
              <path class="closed" d={closed} />
              {open !== "" && <path class="open" d={open} />}
              {line.values.map(
                (value, day) =>
                  value !== null && (isAlone(line, day) || isOpen(line, day) || days.length <= MAX_POINTS || day === marked) && (
                    <circle key={day} class={isOpen(line, day) ? "part" : ""} cx={x(day)} cy={y(value)} r={day === marked ? 4 : 2.5} />
                  ),
              )}
            </g>
          );
        })}
        {isLabeled &&
          endLabels(lines, y).map(({ index, text, top }) => (
            <text key={index} class={`end series-${colors[index]}`} x={width - right + 8} y={top + 4}>
              <title>{lines[index]?.label}</title>
              {text}
            </text>
          ))}
      </svg>
      <Tip day={marked === null ? null : (days[marked] ?? null)} before={marked === null ? null : (earlier[marked] ?? null)} marked={marked} lines={lines} colors={colors} format={format} left={marked === null ? 0 : x(marked)} width={width} />
      {!isLabeled && lines.some((line) => line.label !== "") && (
        <ul class="legend" aria-label="Lines">
          {lines.map((line, index) => (
            <li key={index} class={`series-${colors[index]}`}>
              <span class="swatch" aria-hidden="true" />
              {line.label}
            </li>
          ))}
        </ul>
      )}
      {benchmarks && <BandLegend band={marked === null ? null : (benchmarks.bands[marked] ?? null)} color={benchmarks.color} format={format} />}
      {earlier.length > 0 && (
        <p class="hint">
          The dotted lines are the earlier days, {formatRange({ start: earlier[0]!.start, end: earlier.at(-1)!.end })}, each {interval} at the place of the one that it is compared with.
        </p>
      )}
      {partial.length > 0 && (
        <p class="hint">
          A hollow point is only a part of its {interval}: {partial.join(", and ")}.
        </p>
      )}
      {hasOpen && <p class="hint">A hollow point may still change: the window of some of its leads is not over.</p>}
    </div>
  );
}

interface TipProps {
  day: ChartDay | null;
  /** The sub-range of the earlier days that it is compared with. */
  before: DayRange | null;
  marked: number | null;
  lines: ChartLine[];
  colors: number[];
  format: string;
  /** Where the marked sub-range is, in pixels of the chart. */
  left: number;
  width: number;
}

/** The values of the marked sub-range, the highest first, next to the mark. It is read out as well. */
function Tip({ day, before, marked, lines, colors, format, left, width }: TipProps) {
  const values = marked === null ? [] : lines.map((line, index) => ({ line, color: colors[index], value: line.values[marked] ?? null, earlier: line.earlier[marked] ?? null }));
  values.sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity));
  const side = left > width / 2 ? { right: `${width - left + 12}px` } : { left: `${left + 12}px` };
  return (
    <div class="tip" style={side} aria-live="polite" aria-atomic="true">
      {day && (
        <>
          <p class="marked">{formatRange(day)}</p>
          {before && <p>against {formatRange(before)}</p>}
          <ul>
            {values.map(({ line, color, value, earlier }) => (
              <li key={line.label} class={`series-${color}`}>
                <span class="swatch" aria-hidden="true" />
                <span class="name">{line.label || "All"}</span> <strong>{formatValue(value, format)}</strong> {before && <small>{formatValue(earlier, format)}</small>}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/** Returns the labels of lines at the height of their last values, moved apart where they would overlap. */
function endLabels(lines: ChartLine[], y: (value: number) => number): { index: number; text: string; top: number }[] {
  const labels = lines.flatMap(({ label, values }, index) => {
    const last = values.filter((value) => value !== null).at(-1);
    const text = label.length > LABEL_LENGTH ? `${label.slice(0, LABEL_LENGTH - 1)}…` : label;
    return last === undefined ? [] : [{ index, text, top: y(last) }];
  });
  labels.sort((a, b) => a.top - b.top);
  labels.forEach((label, place) => {
    const above = labels[place - 1];
    if (above) label.top = Math.max(label.top, above.top + LABEL_HEIGHT);
  });
  let lowest = HEIGHT - MARGIN.bottom;
  for (const label of labels.reverse()) {
    label.top = Math.min(label.top, lowest);
    lowest = label.top - LABEL_HEIGHT;
  }
  return labels;
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

/**
 * Returns the paths of a line, with a gap where there is no value. What leads to or from a value that is not final is a path
 * of its own.
 */
function pathsOf(values: (number | null)[], isOpen: (index: number) => boolean, x: (index: number) => number, y: (value: number) => number): { closed: string; open: string } {
  const paths = { closed: "", open: "" };
  let last: keyof typeof paths | null = null;
  values.forEach((value, index) => {
    const before = values[index - 1] ?? null;
    if (value === null || before === null) {
      last = null;
      return;
    }
    const kind = isOpen(index) || isOpen(index - 1) ? "open" : "closed";
    if (last !== kind) paths[kind] += `M${pointOf(index - 1, before)}`;
    paths[kind] += `L${pointOf(index, value)}`;
    last = kind;
  });
  return paths;

  function pointOf(index: number, value: number): string {
    return `${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
  }
}

/** Returns whether a value has no neighbor, so that no line leads to it. */
function isAlone({ values }: ChartLine, index: number): boolean {
  return (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null;
}
