// The question: whose numbers, which, by what, when, and of what.

import { useCallback, useState } from "preact/hooks";
import { searchFields, type Index } from "../dictionary";
import type { Now } from "../days";
import type { Question, Settled } from "../question";
import type { Service } from "../service";
import { AttributionEditor } from "./attribution_editor";
import { Chips } from "./chips";
import { Combobox } from "./combobox";
import { CohortEditor } from "./cohort_editor";
import { ComparisonEditor } from "./comparison_editor";
import { DaysEditor } from "./days_editor";
import { choiceOf, columnChoice } from "./field_choices";
import { FilterEditor } from "./filter_editor";

interface Props {
  question: Question;
  settled: Settled;
  update: (part: Partial<Question>) => void;
  index: Index;
  service: Service;
  now: Now;
}

export function QuestionPanel({ question, settled, update, index, service, now }: Props) {
  const [open, setOpen] = useState(false);
  const { dictionary, organizations } = index;
  const { interval, days: range } = settled.question;
  const chosen = organizations.find(({ organization }) => organization === question.organization);
  const toggled = (list: string[], value: string) => (list.includes(value) ? list.filter((other) => other !== value) : [...list, value]);

  const searchMetrics = useCallback((typed: string) => searchFields(dictionary.all("metric"), typed).map(choiceOf), [dictionary]);
  const searchDimensions = useCallback((typed: string) => searchFields(dictionary.all("dimension"), typed).map(choiceOf), [dictionary]);
  const searchAccounts = useCallback(
    (typed: string) => {
      const wanted = typed.toLowerCase();
      return (chosen?.accounts ?? []).filter((account) => account.toLowerCase().includes(wanted)).map((account) => ({ value: account, label: account }));
    },
    [chosen],
  );
  const fieldChips = (names: string[]) => names.map((name) => ({ value: name, label: dictionary.label(name), title: dictionary.get(name)?.definition }));

  return (
    <aside class="question" aria-label="Question">
      <button type="button" class="fold" aria-expanded={open} aria-controls="question-parts" onClick={() => setOpen(!open)}>
        {open ? "Hide the question" : "Change the question"}
      </button>
      <div id="question-parts" class={open ? "parts open" : "parts"}>
        <fieldset>
          <legend>Accounts</legend>
          <select
            aria-label="Organization"
            value={question.organization}
            onChange={(event) => update({ organization: event.currentTarget.value, accounts: [] })}
          >
            {!chosen && <option value={question.organization}>{question.organization}</option>}
            {organizations.map(({ organization, accounts }) => (
              <option key={organization} value={organization}>
                {organization} ({accounts.length})
              </option>
            ))}
          </select>
          <Chips label="Chosen accounts" chips={question.accounts.map((value) => ({ value, label: value }))} onRemove={(value) => update({ accounts: toggled(question.accounts, value) })} />
          {(chosen?.accounts.length ?? 0) > 1 && (
            <Combobox
              label="Accounts"
              placeholder={question.accounts.length > 0 ? "Add an account" : "All accounts"}
              search={searchAccounts}
              selected={question.accounts}
              onToggle={(value) => update({ accounts: toggled(question.accounts, value) })}
            />
          )}
        </fieldset>
        <fieldset>
          <legend>Metrics</legend>
          <Chips label="Chosen metrics" chips={fieldChips(question.metrics)} onRemove={(value) => update({ metrics: toggled(question.metrics, value) })} />
          <Combobox
            label="Metrics"
            placeholder="Search metrics"
            search={searchMetrics}
            selected={question.metrics}
            onToggle={(value) => update({ metrics: toggled(question.metrics, value) })}
          />
        </fieldset>
        <fieldset>
          <legend>Break down by</legend>
          <Chips label="Chosen dimensions" chips={fieldChips(question.dimensions)} onRemove={(value) => update({ dimensions: toggled(question.dimensions, value) })} />
          <Combobox
            label="Dimensions"
            placeholder="Search dimensions"
            search={searchDimensions}
            selected={question.dimensions}
            other={(typed) => columnChoice(typed, dictionary)}
            onToggle={(value) => update({ dimensions: toggled(question.dimensions, value) })}
          />
        </fieldset>
        <DaysEditor question={question} range={range} interval={interval} isDivided={settled.isDivided} update={update} now={now} />
        <CohortEditor within={question.within} update={update} />
        <AttributionEditor attribution={question.attribution} update={update} />
        <ComparisonEditor compare={question.compare} range={range} update={update} />
        <FilterEditor question={{ ...question, days: range }} update={update} dictionary={dictionary} service={service} />
      </div>
    </aside>
  );
}
