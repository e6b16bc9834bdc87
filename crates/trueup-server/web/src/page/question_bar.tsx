// The question as chips: whose numbers, of which days, compared to what, and restricted how. What the table shows of them is
// chosen on the table.

import { useCallback } from "preact/hooks";
import { describe } from "../condition";
import { describeWindow, earlierRange, formatRange, type DayRange, type Now } from "../days";
import type { Index } from "../dictionary";
import { count } from "../format";
import { takesTargets, type Question, type Settled } from "../question";
import type { Service } from "../service";
import { Chip } from "./chip";
import { ComparisonEditor } from "./comparison_editor";
import { DaysEditor } from "./days_editor";
import { Picker } from "./picker";
import { ConditionForm, NewFilter } from "./filter_editor";

interface Props {
  question: Question;
  settled: Settled;
  update: (part: Partial<Question>) => void;
  index: Index;
  service: Service;
  now: Now;
  /** The months with data, the oldest first. */
  months: DayRange[];
}

export function QuestionBar({ question, settled, update, index, service, now, months }: Props) {
  const { dictionary } = index;
  const { days: range, compare, within } = settled.question;
  const { conditions } = question;
  const dated = { ...question, days: range };
  const followed = within === null ? "" : within === "all" ? ", leads until now" : `, leads within ${describeWindow(within)}`;
  const against = compare === null ? (takesTargets(settled.question, dictionary) ? "targets" : question.benchmarks ? "similar businesses" : "nothing") : formatRange(earlierRange(range, compare));
  const replace = (place: number, by: Question["conditions"]) => update({ conditions: conditions.flatMap((each, index) => (index === place ? by : [each])) });
  return (
    <div class="bar" role="group" aria-label="Question">
      <Chip label="Accounts" value={accountsOf(question, index)}>
        {() => <AccountsEditor question={question} update={update} index={index} />}
      </Chip>
      <Chip label="Days" value={`${formatRange(range)}${followed}`}>
        {(close) => <DaysEditor question={question} range={range} update={update} now={now} months={months} close={close} />}
      </Chip>
      <Chip label="Compare to" value={against}>
        {(close) => <ComparisonEditor question={settled.question} update={update} dictionary={dictionary} close={close} />}
      </Chip>
      {conditions.map((condition, place) => (
        <Chip key={JSON.stringify(condition)} label={dictionary.label(condition.field)} value={describe(condition)} onRemove={() => replace(place, [])}>
          {(close) => (
            <ConditionForm
              field={condition.field}
              condition={condition}
              question={dated}
              dictionary={dictionary}
              service={service}
              cancel={close}
              add={(operator, values) => {
                close();
                replace(place, [{ field: condition.field, operator, values }]);
              }}
            />
          )}
        </Chip>
      ))}
      <Chip label="Filter" kind="add">
        {(close) => <NewFilter question={dated} update={update} dictionary={dictionary} service={service} close={close} />}
      </Chip>
    </div>
  );
}

/** Returns whose numbers are asked for, in words. */
function accountsOf({ organization, accounts }: Question, { organizations }: Index): string {
  const all = organizations.find((listed) => listed.organization === organization)?.accounts.length ?? 0;
  if (accounts.length === 1) return accounts[0]!;
  return accounts.length > 0 ? `${accounts.length} of ${organization}` : all > 1 ? `${organization} (${all})` : organization;
}

function AccountsEditor({ question, update, index: { organizations } }: Pick<Props, "question" | "update" | "index">) {
  const { organization: chosen, accounts } = question;
  const all = organizations.find(({ organization }) => organization === chosen)?.accounts ?? [];
  const search = useCallback(
    (typed: string) => {
      const wanted = typed.toLowerCase();
      return all.filter((account) => account.toLowerCase().includes(wanted)).map((account) => ({ value: account, label: account }));
    },
    [all],
  );
  return (
    <>
      <label>
        <span>Organization</span>
        <select value={chosen} onChange={(event) => update({ organization: event.currentTarget.value, accounts: [] })}>
          {!organizations.some(({ organization }) => organization === chosen) && <option value={chosen}>{chosen}</option>}
          {organizations.map(({ organization, accounts }) => (
            <option key={organization} value={organization}>
              {organization} ({count(accounts.length, "account")})
            </option>
          ))}
        </select>
      </label>
      {all.length > 1 && (
        <Picker
          name="accounts"
          label="Accounts"
          placeholder={accounts.length > 0 ? "Add an account" : "All accounts"}
          chosen={accounts}
          chips={accounts.map((value) => ({ value, label: value }))}
          search={search}
          choose={(accounts) => update({ accounts })}
        />
      )}
    </>
  );
}
