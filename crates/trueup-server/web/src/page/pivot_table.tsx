// The table with months, weeks or days as columns, for the metric of the chart.

import { useMemo } from "preact/hooks";
import { chartedMetric } from "../chart";
import { count } from "../format";
import type { Dictionary } from "../dictionary";
import { pivotOf } from "../pivot";
import { rangesRequest, type DatedQuestion, type Question, type Row, type Sort } from "../question";
import { sortRows, tableColumns } from "../rows";
import type { Service } from "../service";
import { textWidth } from "../text_width";
import { DataTable } from "./data_table";
import { useMonths } from "./use_months";

interface Props {
  /** The question of the answer. */
  question: DatedQuestion;
  /** Its rows, in the order of the service. */
  rows: Row[];
  sort: Sort | null;
  update: (part: Partial<Question>) => void;
  dictionary: Dictionary;
  service: Service;
  /** Called with the row of the answer and the metric of a cell. */
  onLookInto: (row: Row, column: string) => void;
}

export function PivotTable({ question, rows, sort, update, dictionary, service, onLookInto }: Props) {
  const metric = chartedMetric(question) ?? "";
  const pivot = useMemo(() => pivotOf(question, metric, rows, (field) => dictionary.label(field)), [question, metric, rows, dictionary]);
  const last = pivot.columns.at(-1)?.name ?? "";
  // The order by a metric is that of its newest values.
  const chosen = pivot.columns.some(({ name }) => name === sort?.field) ? sort : sort && { field: last, descending: sort.descending };
  const sorted = useMemo(() => sortRows(pivot.rows, chosen), [pivot, chosen?.field, chosen?.descending]);
  // The values of all groups together are asked for, because they do not add up.
  const whole = useMonths(service, rangesRequest({ ...question, metrics: [metric] }, dictionary), []);
  const totals = whole && (Object.fromEntries(whole.ranges.map(({ start }, index) => [start, whole.values(metric, {})[index]])) as Row);
  const columns = useMemo(() => tableColumns(pivot.columns, pivot.rows, totals, dictionary, textWidth(), true), [pivot, totals === null, dictionary]);
  return (
    <>
      {pivot.leftOut > 0 && <p class="hint">{`The first ${count(pivot.leftOut, question.interval)} have no column; the export has all.`}</p>}
      <DataTable
        columns={columns}
        rows={sorted}
        totals={totals}
        dictionary={dictionary}
        sort={chosen}
        trend={null}
        onSort={(sort) => update({ sort, charted: metric })}
        onLookInto={(row, column) => {
          const origin = pivot.origin(row, column);
          if (origin) onLookInto(origin, metric);
        }}
      />
    </>
  );
}
