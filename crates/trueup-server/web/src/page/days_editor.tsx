// The days of a question, and the interval that cuts them.

import { useEffect, useState } from "preact/hooks";
import { ATTRIBUTION_WINDOW, INTERVALS, OFFERED_RANGES, countDays, describeDays, formatRange, isDay, resolveDays, type DayRange, type Interval, type Now } from "../days";
import { count } from "../format";
import { isTooLong, type Question } from "../question";

interface Props {
  question: Question;
  /** The days of the question. */
  range: DayRange;
  /** The interval of its answer, which is by month where the days are too many for one figure. */
  interval: Interval;
  isDivided: boolean;
  update: (part: Partial<Question>) => void;
  now: Now;
}

const INTERVAL_LABELS: Record<Interval, string> = { total: "Total", month: "Month", week: "Week", day: "Day" };

export function DaysEditor({ question, range, interval, isDivided, update, now }: Props) {
  const { days } = question;
  // What is typed into the two inputs takes effect once it is a range.
  const [typed, setTyped] = useState(range);
  useEffect(() => setTyped(range), [range.start, range.end]);

  const type = (part: Partial<typeof range>) => {
    const next = { ...typed, ...part };
    setTyped(next);
    if (isDay(next.start) && isDay(next.end) && next.start <= next.end) update({ days: next });
  };
  const isBackwards = typed.start > typed.end && isDay(typed.start) && isDay(typed.end);
  const name = "name" in days ? days.name : "";
  const named = (offered: string, label: string) => {
    const dates = resolveDays({ name: offered }, now);
    return dates ? `${label} · ${formatRange(dates)}` : label;
  };
  return (
    <fieldset>
      <legend>Days</legend>
      <select aria-label="Named days" value={name} onChange={(event) => event.currentTarget.value !== "" && update({ days: { name: event.currentTarget.value } })}>
        <option value="">Custom</option>
        {name !== "" && !OFFERED_RANGES.some(([offered]) => offered === name) && <option value={name}>{named(name, describeDays(days))}</option>}
        {OFFERED_RANGES.map(([offered, label]) => (
          <option key={offered} value={offered}>
            {named(offered, label)}
          </option>
        ))}
      </select>
      <div class="from-to">
        <label>
          <span>From</span>
          <input type="date" value={typed.start} min="1970-01-01" max="2149-06-06" onChange={(event) => type({ start: event.currentTarget.value })} />
        </label>
        <label>
          <span>To</span>
          <input type="date" value={typed.end} min="1970-01-01" max="2149-06-06" aria-invalid={isBackwards} onChange={(event) => type({ end: event.currentTarget.value })} />
        </label>
      </div>
      {isBackwards && (
        <p class="fault" role="alert">
          The last day is before the first one.
        </p>
      )}
      <div class="segments" role="radiogroup" aria-label="Interval">
        {INTERVALS.map((each) => (
          <label key={each}>
            <input
              type="radio"
              name="interval"
              value={each}
              checked={interval === each}
              disabled={each === "total" && isTooLong(question, range)}
              onChange={() => update(each === "total" ? { interval: each } : { interval: each, compare: null })}
            />
            <span>{INTERVAL_LABELS[each]}</span>
          </label>
        ))}
      </div>
      <p class="hint">
        {count(countDays(range), "day")}
        {isDivided && `: more than ${ATTRIBUTION_WINDOW} are shown by month${question.compare === null ? "" : ", without the comparison"}`}
      </p>
    </fieldset>
  );
}
