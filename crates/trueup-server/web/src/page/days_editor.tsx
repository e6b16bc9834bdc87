// The days of a question: a range with a name, a month, or any days; and what is counted of them.

import { ATTRIBUTION_WINDOW, OFFERED_RANGES, countDays, describeDays, describeWindow, formatRange, isSame, nameOfMonth, resolveDays, type DayRange, type Now } from "../days";
import { count } from "../format";
import { isTooLong, type Question } from "../question";
import { Options } from "./chip";
import { RangeInputs } from "./range_inputs";

interface Props {
  question: Question;
  /** The days of the question. */
  range: DayRange;
  update: (part: Partial<Question>) => void;
  now: Now;
  /** The months with data, the oldest first. */
  months: DayRange[];
  close: () => void;
}

/** The windows of cohorts that the page offers. */
const WINDOWS = ["30d", "60d", "90d", "180d", "365d", "all"];

export function DaysEditor({ question, range, update, now, months, close }: Props) {
  const { days, within } = question;
  const name = "name" in days ? days.name : null;
  const isOffered = name === null || OFFERED_RANGES.some(([offered]) => offered === name);
  const named = [...(isOffered ? [] : [[name, describeDays(days)] as const]), ...OFFERED_RANGES].map(([value, label]) => {
    const dates = resolveDays({ name: value }, now);
    return { value, label, note: dates ? formatRange(dates) : undefined };
  });
  const choose = (days: Question["days"]) => {
    close();
    update({ days });
  };
  const years = [...new Set(months.map(({ start }) => start.slice(0, 4)))].reverse();
  const windows = within === null || WINDOWS.includes(within) ? WINDOWS : [within, ...WINDOWS];
  return (
    <div class="days">
      <Options label="Named days" options={named} chosen={name} choose={(name) => choose({ name })} />
      <div>
        {years.map((year) => (
          <fieldset key={year}>
            <legend>{year}</legend>
            <div class="months-of-year">
              {months
                .filter(({ start }) => start.startsWith(year))
                .map((month) => (
                  <button key={month.start} type="button" aria-label={formatRange(month)} aria-pressed={isSame(month, range)} onClick={() => choose(month)}>
                    {nameOfMonth(month.start)}
                  </button>
                ))}
            </div>
          </fieldset>
        ))}
        <fieldset>
          <legend>Custom</legend>
          <RangeInputs labels={["From", "To"]} range={range} choose={(days) => update({ days })} />
          <p class="hint">
            {count(countDays(range), "day")}
            {question.interval === "total" && isTooLong(question, range) && `: more than ${ATTRIBUTION_WINDOW} are shown by month`}
          </p>
        </fieldset>
        <fieldset>
          <legend>Count by</legend>
          <select aria-label="Count by" value={within ?? ""} onChange={(event) => update({ within: event.currentTarget.value || null })}>
            <option value="">Activity in this period</option>
            {windows.map((each) => (
              <option key={each} value={each}>
                {`Leads from this period, and what they became ${each === "all" ? "until now" : `in ${describeWindow(each)}`}`}
              </option>
            ))}
          </select>
        </fieldset>
      </div>
    </div>
  );
}
