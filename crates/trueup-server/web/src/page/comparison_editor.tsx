// What a question compares with.

import { earlierRange, formatRange, unitOf, type DayRange } from "../days";
import type { Earlier, Question } from "../question";
import { Options } from "./chip";
import { RangeInputs } from "./range_inputs";

interface Props {
  compare: Earlier | null;
  /** The days of the question. */
  range: DayRange;
  update: (part: Partial<Question>) => void;
  close: () => void;
}

export function ComparisonEditor({ compare, range, update, close }: Props) {
  const unit = unitOf(range);
  const named = (earlier: "previous-period" | "previous-year") => ({ value: earlier, note: formatRange(earlierRange(range, earlier)) });
  const options = [
    { value: "nothing" as const, label: "Nothing" },
    { ...named("previous-period"), label: unit ? `Previous ${unit}` : "Days before" },
    { ...named("previous-year"), label: unit && unit !== "year" ? `Same ${unit} last year` : "A year earlier" },
    { value: "custom" as const, label: "Custom" },
  ];
  const chosen = compare === null ? "nothing" : typeof compare === "string" ? compare : "custom";
  const choose = (value: (typeof options)[number]["value"]) => {
    const earlier = value === "nothing" ? null : value === "custom" ? earlierRange(range, "previous-period") : value;
    if (value !== "custom") close();
    update({ compare: earlier, ...(earlier && { interval: "total" as const }) });
  };
  return (
    <>
      <Options label="Compare to" options={options} chosen={chosen} choose={choose} />
      {compare !== null && typeof compare !== "string" && <RangeInputs labels={["Compared from", "Compared to"]} range={compare} choose={(compare) => update({ compare })} />}
    </>
  );
}
