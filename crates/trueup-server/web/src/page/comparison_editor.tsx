// What a question compares with.

import { withBenchmarks } from "../benchmarks";
import { earlierRange, formatRange, unitOf } from "../days";
import type { DatedQuestion, Question } from "../question";
import { Options } from "./chip";
import { RangeInputs } from "./range_inputs";

interface Props {
  question: DatedQuestion;
  update: (part: Partial<Question>) => void;
  close: () => void;
}

export function ComparisonEditor({ question, update, close }: Props) {
  const { compare, days: range } = question;
  const unit = unitOf(range);
  const named = (earlier: "previous-period" | "previous-year") => ({ value: earlier, note: formatRange(earlierRange(range, earlier)) });
  const options = [
    { value: "nothing" as const, label: "Nothing" },
    { ...named("previous-period"), label: unit ? `Previous ${unit}` : "Days before" },
    { ...named("previous-year"), label: unit && unit !== "year" ? `Same ${unit} last year` : "A year earlier" },
    { value: "benchmarks" as const, label: "Similar businesses", note: "anonymous" },
    { value: "custom" as const, label: "Custom" },
  ];
  const chosen = compare === null ? (question.benchmarks ? "benchmarks" : "nothing") : typeof compare === "string" ? compare : "custom";
  const choose = (value: (typeof options)[number]["value"]) => {
    if (value !== "custom") close();
    if (value === "benchmarks") return update(withBenchmarks(question));
    const earlier = value === "nothing" ? null : value === "custom" ? earlierRange(range, "previous-period") : value;
    update({ compare: earlier, benchmarks: false });
  };
  return (
    <>
      <Options label="Compare to" options={options} chosen={chosen} choose={choose} />
      {compare !== null && typeof compare !== "string" && <RangeInputs labels={["Compared from", "Compared to"]} range={compare} choose={(compare) => update({ compare })} />}
    </>
  );
}
