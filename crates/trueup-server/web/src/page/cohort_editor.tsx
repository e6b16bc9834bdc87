// Whether the question is about the leads of its days and what became of them, and for how long they are followed.

import { describeWindow } from "../days";
import type { Question } from "../question";

const OFFERED = ["30d", "60d", "90d", "180d", "365d", "all"];

interface Props {
  within: string | null;
  update: (part: Partial<Question>) => void;
}

export function CohortEditor({ within, update }: Props) {
  const offered = within === null || OFFERED.includes(within) ? OFFERED : [within, ...OFFERED];
  return (
    <fieldset>
      <legend>Counted</legend>
      <select aria-label="Counted" value={within ?? ""} onChange={(event) => update({ within: event.currentTarget.value || null })}>
        <option value="">What happened on these days</option>
        {offered.map((each) => (
          <option key={each} value={each}>
            {each === "all" ? "Their leads, followed without end" : `Their leads, followed for ${describeWindow(each)}`}
          </option>
        ))}
      </select>
      {within !== null && <p class="hint">Cohorts: the leads of these days, what became of each within its window, and the spend of these days.</p>}
    </fieldset>
  );
}
