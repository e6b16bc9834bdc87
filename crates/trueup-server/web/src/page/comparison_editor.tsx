// The earlier days that a question compares with.

import { useEffect, useState } from "preact/hooks";
import { addDays, countDays, earlierRange, formatRange, isDay, type DayRange } from "../days";
import type { Earlier, Question } from "../question";

interface Props {
  compare: Earlier | null;
  /** The days of the question. */
  range: DayRange;
  update: (part: Partial<Question>) => void;
}

export function ComparisonEditor({ compare, range, update }: Props) {
  const chosen = compare === null ? "" : typeof compare === "string" ? compare : "chosen";
  const choose = (value: string) => {
    const earlier = value === "chosen" ? daysBefore(range) : value === "" ? null : (value as "previous-period" | "previous-year");
    update({ compare: earlier, ...(earlier && { interval: "total" as const }) });
  };
  return (
    <fieldset>
      <legend>Compare to</legend>
      <select aria-label="Compare to" value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">Nothing</option>
        <option value="previous-period">The days before · {formatRange(earlierRange(range, "previous-period"))}</option>
        <option value="previous-year">A year earlier · {formatRange(earlierRange(range, "previous-year"))}</option>
        <option value="chosen">Custom</option>
      </select>
      {compare !== null && typeof compare !== "string" && <EarlierDays range={compare} update={(earlier) => update({ compare: earlier })} />}
    </fieldset>
  );
}

function EarlierDays({ range, update }: { range: DayRange; update: (range: DayRange) => void }) {
  // What is typed takes effect once it is a range.
  const [typed, setTyped] = useState(range);
  useEffect(() => setTyped(range), [range.start, range.end]);
  const type = (part: Partial<DayRange>) => {
    const next = { ...typed, ...part };
    setTyped(next);
    if (isDay(next.start) && isDay(next.end) && next.start <= next.end) update(next);
  };
  return (
    <div class="from-to">
      <label>
        <span>Compared from</span>
        <input type="date" value={typed.start} min="1970-01-01" max="2149-06-06" onChange={(event) => type({ start: event.currentTarget.value })} />
      </label>
      <label>
        <span>Compared to</span>
        <input type="date" value={typed.end} min="1970-01-01" max="2149-06-06" onChange={(event) => type({ end: event.currentTarget.value })} />
      </label>
    </div>
  );
}

/** Returns as many days directly before a range, to begin with. */
function daysBefore(range: DayRange): DayRange {
  const start = addDays(range.start, -countDays(range));
  const end = addDays(range.start, -1);
  return isDay(start) && isDay(end) ? { start, end } : range;
}
