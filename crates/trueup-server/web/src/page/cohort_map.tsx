// The heat map of cohorts: a row for each month, week or day, a column for each window.

import { useEffect, useState } from "preact/hooks";
import { MAX_COHORTS, cohortsOf, columnRequest, mappedMetric, windowsOf, type Cohort } from "../cohorts";
import { describeWindow, type DayRange } from "../days";
import type { Dictionary } from "../dictionary";
import { formatValue } from "../format";
import { conditionsOnEvents, rowsRequest, type Question } from "../question";
import type { Service } from "../service";

/** Marks what may still change, because the window of some leads is not over. */
export const OPEN_MARK = "◔";

/** The strongest color of a cell in percent; the text on it stays readable. */
const STRONGEST = 45;

interface Props {
  /** The question of the answer. */
  question: Question;
  range: DayRange;
  charted: string | null;
  update: (part: Partial<Question>) => void;
  dictionary: Dictionary;
  service: Service;
}

export function CohortMap({ question, range, charted, update, dictionary, service }: Props) {
  const metric = mappedMetric(question.metrics, charted);
  const windows = windowsOf(question.within ?? "all");
  const [cohorts, setCohorts] = useState<{ of: string; rows: Cohort[] | "failed" } | null>(null);
  // A condition on a metric would leave out cohorts, which the map would show as 0.
  const conditions = conditionsOnEvents(question, dictionary);
  const rows = rowsRequest({ ...question, conditions, dimensions: [], days: range }, dictionary);
  const requests = rows && windows.map((within) => columnRequest(rows, metric, within));
  const key = JSON.stringify(requests);
  useEffect(() => {
    if (!requests) return;
    const controller = new AbortController();
    Promise.all(requests.map((request) => service.events(request, controller.signal))).then(
      (answers) => setCohorts({ of: key, rows: cohortsOf(range, question.interval, metric, answers.map((answer) => answer.rows)) }),
      () => controller.signal.aborted || setCohorts({ of: key, rows: "failed" }),
    );
    return () => controller.abort();
  }, [service, key]);

  const answer = cohorts?.of === key ? cohorts.rows : null;
  const shown = answer === "failed" ? null : answer;
  const format = dictionary.get(metric)?.format ?? "number";
  const highest = Math.max(0, ...(shown ?? []).flatMap(({ cells }) => cells.map(({ value }) => value ?? 0)));
  return (
    <figure class="chart cohorts">
      <figcaption>
        {question.metrics.length > 1 ? (
          <select aria-label="Metric of the cohorts" value={metric} onChange={(event) => update({ charted: event.currentTarget.value })}>
            {question.metrics.map((each) => (
              <option key={each} value={each}>
                {dictionary.label(each)}
              </option>
            ))}
          </select>
        ) : (
          <strong>{dictionary.label(metric)}</strong>
        )}
        <span>
          of the leads of each {question.interval}, by how long they are followed{question.dimensions.length > 0 && "; all rows together"}
          {shown?.length === MAX_COHORTS && `; the last ${MAX_COHORTS}`}
        </span>
      </figcaption>
      {answer === "failed" && <p class="hint">The other windows could not be loaded. The table has the numbers of the longest one.</p>}
      {shown && (
        <div class="scroll" role="region" aria-label="Cohorts by window" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Leads of</th>
                {windows.map((within) => (
                  <th key={within} scope="col">
                    {describeWindow(within)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map(({ start, end, cells }) => (
                <tr key={start}>
                  <th scope="row">{question.interval === "month" ? start.slice(0, 7) : start === end ? start : `${start} to ${end}`}</th>
                  {cells.map(({ value, isOpen }, index) => (
                    <td key={windows[index]} class={isOpen ? "open" : ""} style={{ backgroundColor: colorOf(value, highest) }}>
                      {formatValue(value, format)}
                      {isOpen && (
                        <span title="The window of some of these leads is not over: this may still change." aria-label="not final">
                          {" "}
                          {OPEN_MARK}
                        </span>
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </figure>
  );
}

function colorOf(value: number | null, highest: number): string {
  const share = highest > 0 ? Math.max(0, value ?? 0) / highest : 0;
  return `color-mix(in srgb, var(--series-0) ${(share * STRONGEST).toFixed(1)}%, var(--panel))`;
}
