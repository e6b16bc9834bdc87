// Which event of a customer is credited: the one from which channels and campaigns are taken.

import { ATTRIBUTIONS, type Attribution, type Question } from "../question";

const NAMES: Record<Attribution, string> = {
  recorded: "What each event records",
  first: "The customer's first conversion",
  last: "The last conversion until then",
};

interface Props {
  attribution: Attribution;
  update: (part: Partial<Question>) => void;
}

export function AttributionEditor({ attribution, update }: Props) {
  return (
    <label>
      <span>Channels and campaigns of</span>
      <select aria-label="Credited" value={attribution} onChange={(event) => update({ attribution: event.currentTarget.value as Attribution })}>
        {ATTRIBUTIONS.map((each) => (
          <option key={each} value={each}>
            {NAMES[each]}
          </option>
        ))}
      </select>
      {attribution !== "recorded" && <small class="hint">Other dimensions of attribution follow. Spend keeps its own.</small>}
    </label>
  );
}
