// The table of an answer. Only the rows in view are in the document, so that any number of rows scrolls.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { OPEN_LEADS, type Dictionary } from "../dictionary";
import { count, formatValue } from "../format";
import type { Row, Sort } from "../question";
import type { TableColumn } from "../rows";
import { OPEN_MARK } from "./cohort_map";
import { Sparkline } from "./sparkline";
import { MONTHS, type Monthly } from "./use_months";
import { usePrinting } from "./use_printing";

/** Height of a row in CSS pixels, as in the style sheet. */
const ROW_HEIGHT = 28;

/** Rows before and after those in view that are in the document. */
const MARGIN_ROWS = 12;

/** Browsers draw nothing beyond about 17 million pixels. */
const MAX_ROWS = 500_000;

/** The most rows on paper. */
const MAX_PRINTED = 1_000;

/** The width of the months of a row, in em of the table. */
const TREND_WIDTH = 9;

interface Props {
  columns: TableColumn[];
  /** In the order of the table. */
  rows: Row[];
  totals: Row | null;
  dictionary: Dictionary;
  sort: Sort | null;
  /** The months of each row behind a metric; `null` if no column has them. */
  trend: { metric: string; monthly: Monthly | null } | null;
  onSort: (sort: Sort) => void;
  /** Called with the row and the column of a cell. */
  onLookInto: (row: Row, column: string) => void;
}

export function DataTable({ columns, rows, totals, dictionary, sort, trend, onSort, onLookInto }: Props) {
  const region = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const [inView, setInView] = useState(30);
  const shown = Math.min(rows.length, MAX_ROWS);
  const formatOf = (column: string) => dictionary.get(column)?.format ?? "text";
  const isPrinting = usePrinting();
  // The column that rows are sorted by has bars, as wide as their share of the highest value.
  const sorted = columns.find(({ name, field }) => name === sort?.field && dictionary.isMetric(field))?.name ?? null;
  const highest = useMemo(() => (sorted === null ? 0 : rows.reduce((most, row) => Math.max(most, Number(row[sorted] ?? 0)), 0)), [rows, sorted]);

  useLayoutEffect(() => {
    const element = region.current;
    if (!element) return;
    const measure = () => setInView(Math.ceil(element.clientHeight / ROW_HEIGHT));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // Another order or another answer begins at its first row.
  useEffect(() => region.current?.scrollTo({ top: 0 }), [rows]);

  const begin = isPrinting ? 0 : Math.max(0, Math.min(first, shown - inView) - MARGIN_ROWS);
  const end = isPrinting ? Math.min(shown, MAX_PRINTED) : Math.min(shown, first + inView + MARGIN_ROWS);
  // A row that comes into view takes the element of one that leaves it, because making elements takes longest.
  const elements = isPrinting ? MAX_PRINTED : inView + 2 * MARGIN_ROWS;
  const onScroll = () => setFirst(Math.floor((region.current?.scrollTop ?? 0) / ROW_HEIGHT));
  const sortBy = (name: string, field: string) => {
    const descending = sort?.field === name ? !sort.descending : dictionary.isMetric(field);
    onSort({ field: name, descending });
  };
  const cells = (row: Row, isTotal = false) =>
    columns.map(({ name, field, part }, index) => {
      const value = row[name];
      const text = isTotal && index === 0 && value === undefined ? "Total" : formatValue(value, formatOf(field));
      const isOpen = name === OPEN_LEADS && value !== 0;
      const kind = value === null ? "number none" : dictionary.isMetric(field) ? `number ${dictionary.judge(field, value)}` : value === "" ? "text none" : "text";
      if (isTotal && index === 0) {
        return (
          <th key={name} scope="row" class={kind}>
            {text}
          </th>
        );
      }
      const share = name === sorted && !isTotal && typeof value === "number" && highest > 0 ? value / highest : 0;
      const cell = (
        <td key={name} class={kind} title={kind === "text" && text.length > 30 ? text : part === null ? undefined : before(row, name)} data-column={name}>
          {share > 0 && <span class="share" style={{ width: `${share * 100}%` }} aria-hidden="true" />}
          {index === 0 ? (
            <button type="button" class="into" aria-label={`Look into ${text}`} onClick={() => onLookInto(row, name)}>
              {text}
            </button>
          ) : (
            <span class="value">{text}</span>
          )}
          {isOpen && ` ${OPEN_MARK}`}
          {part !== null && <small class={dictionary.judge(`${name}.change`, row[`${name}.change`])}>{formatValue(row[part], formatOf(part))}</small>}
        </td>
      );
      if (name !== trend?.metric) return cell;
      return [
        cell,
        <td key="trend" class="trend">
          {trend.monthly && !isTotal && <Sparkline months={trend.monthly.ranges} values={trend.monthly.values(name, row)} />}
        </td>,
      ];
    });
  /** Returns what is left out of a cell with a change: the value before, and the effects of a ratio. */
  const before = (row: Row, name: string) =>
    ["previous", "change", "ratio", "rateEffect", "mixEffect"]
      .map((suffix) => `${name}.${suffix}`)
      .filter((column) => row[column] !== undefined)
      .map((column) => `${dictionary.label(column)} ${formatValue(row[column], formatOf(column))}`)
      .join("\n");

  // The keyboard gets there by the first cell of the row.
  const onCellClick = (event: MouseEvent) => {
    const cell = (event.target as Element).closest<HTMLElement>("tbody td.number");
    const row = rows[Number(cell?.parentElement?.getAttribute("aria-rowindex")) - 2];
    if (cell && row && getSelection()?.isCollapsed !== false && !(event.target as Element).closest("button")) onLookInto(row, cell.dataset.column ?? "");
  };
  const totalWidth = columns.reduce((sum, { width }) => sum + width, trend ? TREND_WIDTH : 0);
  const cellCount = columns.length + (trend ? 1 : 0);
  return (
    <section class="table" aria-label="Table">
      <div class="scroll" ref={region} tabIndex={0} role="region" aria-label={`Rows of the answer, ${count(rows.length, "row")}`} onScroll={onScroll}>
        <table aria-rowcount={shown + (totals ? 2 : 1)} style={{ width: `${totalWidth}em`, minWidth: "100%" }}>
          <colgroup>
            {columns.map(({ name, width }) => [
              <col key={name} style={{ width: `${width}em` }} />,
              name === trend?.metric && <col key="trend" style={{ width: `${TREND_WIDTH}em` }} />,
            ])}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map(({ name, field, label, part }) => {
                const by = sort && (sort.field === name || sort.field === part) ? sort : null;
                const arrow = (column: string) => (
                  <span class="arrow" aria-hidden="true">
                    {by?.field !== column ? "" : by.descending ? "↓" : "↑"}
                  </span>
                );
                const head = (
                  <th
                    key={name}
                    scope="col"
                    class={dictionary.isMetric(field) ? "number" : "text"}
                    aria-sort={by === null ? undefined : by.descending ? "descending" : "ascending"}
                  >
                    <span class="head">
                      <button type="button" title={dictionary.get(field)?.definition ?? ""} onClick={() => sortBy(name, field)}>
                        {label}
                        {arrow(name)}
                      </button>
                      {part !== null && (
                        <button type="button" class="by-change" aria-label={`Sort by ${dictionary.label(part)}`} title={`Sort by ${dictionary.label(part)}`} onClick={() => sortBy(part, part)}>
                          ±{arrow(part)}
                        </button>
                      )}
                    </span>
                  </th>
                );
                if (name !== trend?.metric) return head;
                return [
                  head,
                  <th key="trend" scope="col" class="trend">
                    {MONTHS} months
                  </th>,
                ];
              })}
            </tr>
          </thead>
          <tbody onClick={onCellClick}>
            {begin > 0 && <Space rows={begin} columns={cellCount} />}
            {rows.slice(begin, end).map((row, index) => (
              <tr key={(begin + index) % elements} aria-rowindex={begin + index + 2}>
                {cells(row)}
              </tr>
            ))}
            {end < shown && !isPrinting && <Space rows={shown - end} columns={cellCount} />}
          </tbody>
          {totals && (
            <tfoot>
              <tr aria-rowindex={shown + 2}>{cells(totals, true)}</tr>
            </tfoot>
          )}
        </table>
      </div>
      {isPrinting && end < rows.length && (
        <p class="hint">
          These are the first {count(end, "row")} of {count(rows.length, "row")}. The export has all.
        </p>
      )}
      {rows.length > shown && (
        <p class="hint">
          The table shows the first {count(shown, "row")}. The export has all {count(rows.length, "row")}.
        </p>
      )}
    </section>
  );
}

/** The room of rows that are not in the document. */
function Space({ rows, columns }: { rows: number; columns: number }) {
  return (
    <tr class="space" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${rows * ROW_HEIGHT}px` }} />
    </tr>
  );
}
