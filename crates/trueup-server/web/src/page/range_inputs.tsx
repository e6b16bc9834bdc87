// Two inputs for the first and the last day of a range. What is typed takes effect once it is a range.

import { useEffect, useState } from "preact/hooks";
import { isDay, type DayRange } from "../days";

interface Props {
  labels: [start: string, end: string];
  range: DayRange;
  choose: (range: DayRange) => void;
}

export function RangeInputs({ labels, range, choose }: Props) {
  const [typed, setTyped] = useState(range);
  useEffect(() => setTyped(range), [range.start, range.end]);
  const type = (part: Partial<DayRange>) => {
    const next = { ...typed, ...part };
    setTyped(next);
    if (isDay(next.start) && isDay(next.end) && next.start <= next.end) choose(next);
  };
  const isBackwards = typed.start > typed.end && isDay(typed.start) && isDay(typed.end);
  return (
    <>
      <div class="from-to">
        {(["start", "end"] as const).map((edge, index) => (
          <label key={edge}>
            <span>{labels[index]}</span>
            <input
              type="date"
              value={typed[edge]}
              min="1970-01-01"
              max="2149-06-06"
              aria-invalid={isBackwards && edge === "end"}
              onChange={(event) => type({ [edge]: event.currentTarget.value })}
            />
          </label>
        ))}
      </div>
      {isBackwards && (
        <p class="fault" role="alert">
          The last day is before the first one.
        </p>
      )}
    </>
  );
}
