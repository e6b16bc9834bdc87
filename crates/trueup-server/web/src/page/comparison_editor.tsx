// What a question compares with.

import { withBenchmarks } from "../benchmarks";
import { earlierRange, formatRange, unitOf } from "../days";
import type { Dictionary } from "../dictionary";
import { mayHaveTargets, takesTargets, type DatedQuestion, type Question } from "../question";
import { Options } from "./chip";
import { RangeInputs } from "./range_inputs";

interface Props {
  question: DatedQuestion;
  update: (part: Partial<Question>) => void;
  dictionary: Dictionary;
  close: () => void;
}

export function ComparisonEditor({ question, update, dictionary, close }: Props) {
  const { compare, days: range } = question;
  const unit = unitOf(range);
  const named = (earlier: "previous-period" | "previous-year") => ({ value: earlier, note: formatRange(earlierRange(range, earlier)) });
  const options = [
    { value: "nothing" as const, label: "Nothing" },
    { ...named("previous-period"), label: unit ? `Previous ${unit}` : "Days before" },
    { ...named("previous-year"), label: unit && unit !== "year" ? `Same ${unit} last year` : "A year earlier" },
    ...(mayHaveTargets(question, dictionary) ? [{ value: "targets" as const, label: "Targets" }] : []),
    { value: "benchmarks" as const, label: "Similar businesses", note: "anonymous" },
    { value: "custom" as const, label: "Custom" },
  ];
  const chosen = compare === null ? (takesTargets(question, dictionary) ? "targets" : question.benchmarks ? "benchmarks" : "nothing") : typeof compare === "string" ? compare : "custom";
  const choose = (value: (typeof options)[number]["value"]) => {
    if (value !== "custom") close();
    if (value === "benchmarks") return update(withBenchmarks(question));
    const earlier = value === "nothing" || value === "targets" ? null : value === "custom" ? earlierRange(range, "previous-period") : value;
    update({ compare: earlier, benchmarks: false, targets: value === "targets" });
  };
  return (
    <>
      <Options label="Compare to" options={options} chosen={chosen} choose={choose} />
      {compare !== null && typeof compare !== "string" && <RangeInputs labels={["Compared from", "Compared to"]} range={compare} choose={(compare) => update({ compare })} />}
    </>
  );
}
