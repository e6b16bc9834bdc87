// What the table shows: by what it breaks down, which metrics, and how it cuts the days.

import { useCallback } from "preact/hooks";
import { INTERVALS, type Interval } from "../days";
import { searchFields, type Dictionary } from "../dictionary";
import { inRow } from "../format";
import { isTooLong, type Question, type Settled } from "../question";
import { AttributionEditor } from "./attribution_editor";
import { Chip } from "./chip";
import { choiceOf, columnChoice } from "./field_choices";
import { Picker } from "./picker";

interface Props {
  question: Question;
  settled: Settled;
  update: (part: Partial<Question>) => void;
  dictionary: Dictionary;
  /** Whether a comparison has a column for each of its parts. */
  areAllColumns: boolean;
  setAllColumns: (areAll: boolean) => void;
}

const INTERVAL_LABELS: Record<Interval, string> = { total: "Total", month: "Month", week: "Week", day: "Day" };

export function TableBar({ question, settled, update, dictionary, areAllColumns, setAllColumns }: Props) {
  const { dimensions, metrics } = question;
  const { interval, days, compare } = settled.question;
  const searchMetrics = useCallback((typed: string) => searchFields(dictionary.all("metric"), typed).map(choiceOf), [dictionary]);
  const searchDimensions = useCallback((typed: string) => searchFields(dictionary.all("dimension"), typed).map(choiceOf), [dictionary]);
  const chips = (names: string[]) => names.map((name) => ({ value: name, label: dictionary.label(name), title: dictionary.get(name)?.definition }));
  const by = inRow(dimensions.map((name) => dictionary.label(name)));
  return (
    <div class="table-bar" role="group" aria-label="Table">
      <Chip label="Break down by" value={by || "nothing"}>
        {() => (
          <>
            <AttributionEditor attribution={question.attribution} update={update} />
            <Picker
              name="dimensions"
              label="Dimensions"
              placeholder="Search dimensions"
              chosen={dimensions}
              chips={chips(dimensions)}
              search={searchDimensions}
              other={(typed) => columnChoice(typed, dictionary)}
              choose={(dimensions) => update({ dimensions })}
            />
          </>
        )}
      </Chip>
      <Chip label="Metrics" value={metrics.length === 1 ? dictionary.label(metrics[0]!) : String(metrics.length)}>
        {() => <Picker name="metrics" label="Metrics" placeholder="Search metrics" chosen={metrics} chips={chips(metrics)} search={searchMetrics} choose={(metrics) => update({ metrics })} />}
      </Chip>
      <div class="segments" role="radiogroup" aria-label="Interval">
        {INTERVALS.map((each) => (
          <label key={each}>
            <input
              type="radio"
              name="interval"
              value={each}
              checked={interval === each}
              disabled={each === "total" && isTooLong(question, days)}
              onChange={() => update({ interval: each })}
            />
            <span>{INTERVAL_LABELS[each]}</span>
          </label>
        ))}
      </div>
      {interval !== "total" && dimensions.length > 0 && (
        <label class="switch">
          <input type="checkbox" role="switch" checked={question.pivot} onChange={(event) => update({ pivot: event.currentTarget.checked })} />
          <span>{INTERVAL_LABELS[interval]}s as columns</span>
        </label>
      )}
      {compare !== null && interval === "total" && (
        <label class="switch">
          <input type="checkbox" role="switch" checked={areAllColumns} onChange={(event) => setAllColumns(event.currentTarget.checked)} />
          <span>Values before and effects</span>
        </label>
      )}
    </div>
  );
}
