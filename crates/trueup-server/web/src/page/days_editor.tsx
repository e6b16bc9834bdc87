// The days of a question, and the interval that cuts them.

import { useEffect, useState } from "preact/hooks";
import { ATTRIBUTION_WINDOW, INTERVALS, OFFERED_RANGES, countDays, describeDays, isDay, resolveDays, type Days, type Interval } from "../days";
import { count } from "../format";
import type { Question } from "../question";

interface Props {
  days: Days;
  interval: Interval;
  within: string | null;
  update: (part: Partial<Question>) => void;
  today: string;
}

const INTERVAL_LABELS: Record<Interval, string> = { total: "Whole", month: "Month", week: "Week", day: "Day" };

export function DaysEditor({ days, interval, within, update, today }: Props) {
  const range = resolveDays(days, today) ?? { start: today, end: today };
  // What is typed into the two inputs takes effect once it is a range.
  const [typed, setTyped] = useState(range);
  useEffect(() => setTyped(range), [range.start, range.end]);

  const type = (part: Partial<typeof range>) => {
    const next = { ...typed, ...part };
    setTyped(next);
    if (isDay(next.start) && isDay(next.end) && next.start <= next.end) update({ days: next });
  };
  const isBackwards = typed.start > typed.end && isDay(typed.start) && isDay(typed.end);
  const length = countDays(range);
  const name = "name" in days ? days.name : "";
  return (
    <fieldset>
      <legend>Days</legend>
      <select aria-label="Named days" value={name} onChange={(event) => event.currentTarget.value !== "" && update({ days: { name: event.currentTarget.value } })}>
        <option value="">Chosen days</option>
        {name !== "" && !OFFERED_RANGES.some(([offered]) => offered === name) && <option value={name}>{describeDays(days)}</option>}
        {OFFERED_RANGES.map(([offered, label]) => (
          <option key={offered} value={offered}>
            {label}
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
            <input type="radio" name="interval" value={each} checked={interval === each} onChange={() => update(each === "total" ? { interval: each } : { interval: each, compare: null })} />
            <span>{INTERVAL_LABELS[each]}</span>
          </label>
        ))}
      </div>
      <p class="hint">
        {count(length, "day")}
        {within === null && length > ATTRIBUTION_WINDOW && `; as a whole at most ${ATTRIBUTION_WINDOW}, any number by month, week or day`}
      </p>
    </fieldset>
  );
}
