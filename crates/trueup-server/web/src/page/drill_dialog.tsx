// What is behind a row: its customers, its parts by another dimension, and why a number of it is what it is.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { DayRange } from "../days";
import { CUSTOMERS, lookInto } from "../drill";
import { searchFields, type Dictionary } from "../dictionary";
import { formatText } from "../format";
import type { Question, Row } from "../question";
import type { Service } from "../service";
import { Combobox } from "./combobox";
import { choiceOf, columnChoice } from "./field_choices";
import { WhyView } from "./why_view";

interface Props {
  row: Row;
  /** The question of the answer that the row is from. */
  question: Question;
  range: DayRange;
  /** The column of the cell that was chosen. */
  column: string;
  service: Service;
  dictionary: Dictionary;
  update: (part: Partial<Question>) => void;
  close: () => void;
}

export function DrillDialog({ row, question, range, column, service, dictionary, update, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [explained, setExplained] = useState(question.metrics.includes(column) ? column : null);
  useEffect(() => dialog.current?.showModal(), []);
  const others = useCallback(
    (typed: string) => searchFields(dictionary.all("dimension"), typed).filter(({ name }) => !question.dimensions.includes(name)).map(choiceOf),
    [dictionary, question.dimensions],
  );
  const look = (dimensions: readonly string[]) => {
    dialog.current?.close();
    update(lookInto(question, row, dimensions, dictionary));
  };
  const days = question.interval === "total" ? [] : [["Days", `${row.start} to ${row.end}`] as const];
  const values = question.dimensions.map((name) => [dictionary.label(name), formatText(String(row[name] ?? ""))] as const);
  return (
    <dialog ref={dialog} class={explained === null ? "drill" : "drill explained"} onClose={close} aria-labelledby="drill-title">
      <h2 id="drill-title">Look into this row</h2>
      {days.length + values.length > 0 && (
        <dl class="key">
          {[...days, ...values].map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      <div class="buttons">
        <button type="button" class="primary" onClick={() => look(CUSTOMERS)}>
          Show its customers
        </button>
      </div>
      <Combobox
        label="Break it down by"
        placeholder="Or break it down by…"
        search={others}
        selected={[]}
        other={(typed) => columnChoice(typed, dictionary)}
        onToggle={(name) => look([name])}
      />
      <p class="hint">The totals of what follows are the numbers of this row. Back in the browser returns here.</p>
      <WhyView metric={explained} choose={setExplained} row={row} question={question} range={range} dictionary={dictionary} service={service} />
      <div class="buttons">
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}
