// The table of an answer. Only the rows in view are in the document, so that any number of rows scrolls.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { OPEN_LEADS, type Dictionary } from "../dictionary";
import { count, formatValue } from "../format";
import type { Row, Sort } from "../question";
import { OPEN_MARK } from "./cohort_map";

/** Height of a row in CSS pixels, as in the style sheet. */
const ROW_HEIGHT = 28;

/** Rows before and after those in view that are in the document. */
const MARGIN_ROWS = 12;

/** Browsers draw nothing beyond about 17 million pixels. */
const MAX_ROWS = 500_000;

interface Props {
  columns: string[];
  /** The width of each column in characters. */
  widths: number[];
  /** In the order of the table. */
  rows: Row[];
  totals: Row | null;
  dictionary: Dictionary;
  sort: Sort | null;
  onSort: (sort: Sort) => void;
  /** Called with the row and the column of a cell. */
  onLookInto: (row: Row, column: string) => void;
}

export function DataTable({ columns, widths, rows, totals, dictionary, sort, onSort, onLookInto }: Props) {
  const region = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const [inView, setInView] = useState(30);
  const shown = Math.min(rows.length, MAX_ROWS);
  const formats = columns.map((column) => dictionary.get(column)?.format ?? "text");

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

  const begin = Math.max(0, Math.min(first, shown - inView) - MARGIN_ROWS);
  const end = Math.min(shown, first + inView + MARGIN_ROWS);
  // A row that comes into view takes the element of one that leaves it, because making elements takes longest.
  const elements = inView + 2 * MARGIN_ROWS;
  const onScroll = () => setFirst(Math.floor((region.current?.scrollTop ?? 0) / ROW_HEIGHT));
  const sortBy = (field: string) => {
    const descending = sort?.field === field ? !sort.descending : dictionary.isMetric(field);
    onSort({ field, descending });
  };
  const cells = (row: Row, isTotal = false) =>
    columns.map((column, index) => {
      const value = row[column];
      const text = isTotal && index === 0 && value === undefined ? "Total" : formatValue(value, formats[index] ?? "text");
      const isOpen = column === OPEN_LEADS && value !== 0;
      const kind = value === null ? "number none" : dictionary.isMetric(column) ? `number ${dictionary.judge(column, value)}` : value === "" ? "text none" : "text";
      return isTotal && index === 0 ? (
        <th key={column} scope="row" class={kind}>
          {text}
        </th>
      ) : (
        <td key={column} class={kind} title={kind === "text" && text.length > 30 ? text : undefined} data-column={column}>
          {index === 0 ? (
            <button type="button" class="into" aria-label={`Look into ${text}`} onClick={() => onLookInto(row, column)}>
              {text}
            </button>
          ) : (
            text
          )}
          {isOpen && ` ${OPEN_MARK}`}
        </td>
      );
    });

  // The keyboard gets there by the first cell of the row.
  const onCellClick = (event: MouseEvent) => {
    const cell = (event.target as Element).closest<HTMLElement>("tbody td.number");
    const row = rows[Number(cell?.parentElement?.getAttribute("aria-rowindex")) - 2];
    if (cell && row && getSelection()?.isCollapsed !== false && !(event.target as Element).closest("button")) onLookInto(row, cell.dataset.column ?? "");
  };
  const totalWidth = widths.reduce((sum, width) => sum + width, 0);
  return (
    <section class="table" aria-label="Table">
      <div class="scroll" ref={region} tabIndex={0} role="region" aria-label={`Rows of the answer, ${count(rows.length, "row")}`} onScroll={onScroll}>
        <table aria-rowcount={shown + (totals ? 2 : 1)} style={{ width: `${totalWidth}ch`, minWidth: "100%" }}>
          <colgroup>
            {widths.map((width, index) => (
              <col key={columns[index]} style={{ width: `${width}ch` }} />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((column) => (
                <th
                  key={column}
                  scope="col"
                  class={dictionary.isMetric(column) ? "number" : "text"}
                  aria-sort={sort?.field !== column ? undefined : sort.descending ? "descending" : "ascending"}
                >
                  <button type="button" title={dictionary.get(column)?.definition ?? ""} onClick={() => sortBy(column)}>
                    {dictionary.label(column)}
                    <span class="arrow" aria-hidden="true">
                      {sort?.field !== column ? "" : sort.descending ? "↓" : "↑"}
                    </span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody onClick={onCellClick}>
            {begin > 0 && <Space rows={begin} columns={columns.length} />}
            {rows.slice(begin, end).map((row, index) => (
              <tr key={(begin + index) % elements} aria-rowindex={begin + index + 2}>
                {cells(row)}
              </tr>
            ))}
            {end < shown && <Space rows={shown - end} columns={columns.length} />}
          </tbody>
          {totals && (
            <tfoot>
              <tr aria-rowindex={shown + 2}>{cells(totals, true)}</tr>
            </tfoot>
          )}
        </table>
      </div>
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
