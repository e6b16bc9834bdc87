// What one number of a row is made of: its measures, and the lines that each adds up.

import { useEffect, useState } from "preact/hooks";
import type { DayRange } from "../days";
import type { Dictionary } from "../dictionary";
import { wordsOf } from "../fault_words";
import { count, formatNumber, formatValue } from "../format";
import type { Question, Row } from "../question";
import { Fault, type Service } from "../service";
import { FIRST_LINES, MORE_LINES, whyPath, type Explanation, type Measure } from "../why";

interface Props {
  metric: string | null;
  choose: (metric: string | null) => void;
  row: Row;
  /** The question of the answer that the row is from, and its days. */
  question: Question;
  range: DayRange;
  dictionary: Dictionary;
  service: Service;
}

type WhyAnswer = { of: string; explanation: Explanation } | { of: string; fault: Fault };

export function WhyView({ metric, choose, row, question, range, dictionary, service }: Props) {
  const [limit, setLimit] = useState(FIRST_LINES);
  const [answer, setAnswer] = useState<WhyAnswer | null>(null);
  const path = metric && whyPath(question, range, row, metric, limit, dictionary);
  useEffect(() => {
    if (!path) return;
    const controller = new AbortController();
    service.why(path, controller.signal).then(
      (explanation) => setAnswer({ of: path, explanation }),
      (error: unknown) => controller.signal.aborted || setAnswer({ of: path, fault: error instanceof Fault ? error : new Fault("unreadable", "") }),
    );
    return () => controller.abort();
  }, [service, path]);
  const shown = answer?.of === path ? answer : null;
  const format = (name: string) => dictionary.get(name)?.format ?? "number";
  return (
    <section class="why" aria-label="Why a number is what it is">
      <label>
        <span>Why is it this number?</span>
        <select
          value={metric ?? ""}
          onChange={(event) => {
            setLimit(FIRST_LINES);
            choose(event.currentTarget.value || null);
          }}
        >
          <option value="">Choose a number…</option>
          {question.metrics.map((name) => (
            <option key={name} value={name}>
              {dictionary.label(name)}: {formatValue(row[name], format(name))}
            </option>
          ))}
        </select>
      </label>
      <div aria-live="polite">
        {path && !shown && <p class="hint">Looking for what it is made of…</p>}
        {shown && "fault" in shown && (
          <div class="notice bad" role="alert">
            <p>
              <strong>{wordsOf(shown.fault).title}.</strong> {shown.fault.message || wordsOf(shown.fault).advice}
            </p>
          </div>
        )}
        {shown && "explanation" in shown && metric && (
          <p class="formula">
            {dictionary.label(metric)} <strong>{formatValue(shown.explanation.value, format(metric))}</strong>
            {shown.explanation.formula !== metric && ` = ${dictionary.formulaInWords(shown.explanation.formula)}`}
          </p>
        )}
      </div>
      {shown &&
        "explanation" in shown &&
        shown.explanation.measures.map((measure) => <Lines key={measure.name} measure={measure} dictionary={dictionary} more={limit < MORE_LINES ? () => setLimit(MORE_LINES) : null} />)}
    </section>
  );
}

function Lines({ measure, dictionary, more }: { measure: Measure; dictionary: Dictionary; more: (() => void) | null }) {
  const label = dictionary.measureLabel(measure.name);
  const isEvents = measure.lines.some(({ customer }) => customer !== "");
  return (
    <figure class="measure">
      <figcaption>
        <strong>
          {label}: {formatNumber(measure.sum, measure.format)}
        </strong>
        <span>
          {measure.count === 0 ? "nothing counts" : `the sum of ${count(measure.count, "line")}`}
          {measure.leftOut > 0 && `; ${count(measure.leftOut, "line")} left out`}
        </span>
        {measure.leftOut > 0 && more && (
          <button type="button" onClick={more}>
            Show up to {MORE_LINES.toLocaleString("en-US")}
          </button>
        )}
      </figcaption>
      {measure.lines.length > 0 && (
        <div class="scroll" role="region" aria-label={`Lines of ${label}`} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Day</th>
                <th scope="col">Account</th>
                {isEvents && <th scope="col">Customer</th>}
                {isEvents && <th scope="col">Event</th>}
                <th scope="col" class="number">
                  Adds
                </th>
                <th scope="col">Rule</th>
              </tr>
            </thead>
            <tbody>
              {measure.lines.map((line, index) => (
                <tr key={index}>
                  <td>{line.date}</td>
                  <td>{line.account}</td>
                  {isEvents && <td>{line.customer}</td>}
                  {isEvents && (
                    <td title={line.event}>
                      {line.type} <small>{line.event}</small>
                    </td>
                  )}
                  <td class="number">{formatNumber(line.adds, measure.format)}</td>
                  <td class="rule">{line.rule}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </figure>
  );
}
