// The form of a condition: a new one, or one that is changed.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { OPERATORS, faultOf, filterParameters, operatorsOf, takesNone, takesSeveral, type Condition, type Operator } from "../condition";
import { ATTRIBUTION_WINDOW, addDays, countDays } from "../days";
import { OPEN_LEADS, searchFields, type Dictionary } from "../dictionary";
import { count, formatText } from "../format";
import type { DatedQuestion, Question } from "../question";
import type { Service } from "../service";
import { Chips } from "./chips";
import { Combobox, type Choice } from "./combobox";
import { choiceOf, columnChoice } from "./field_choices";

interface Props {
  question: DatedQuestion;
  update: (part: Partial<Question>) => void;
  dictionary: Dictionary;
  service: Service;
  close: () => void;
}

/** Asks for a field first, and then for the condition on it. */
export function NewFilter({ question, update, dictionary, service, close }: Props) {
  const [field, setField] = useState<string | null>(null);
  const openLeads = question.within === null ? undefined : dictionary.get(OPEN_LEADS);
  const search = useCallback((typed: string) => {
    const fields = [...dictionary.all("dimension"), ...dictionary.all("metric"), ...(openLeads ? [openLeads] : [])];
    return searchFields(fields, typed).map(choiceOf);
  }, [dictionary, openLeads]);
  if (field === null) {
    return <Combobox label="Add a filter on" placeholder="Add a filter on…" search={search} selected={[]} other={(typed) => columnChoice(typed, dictionary)} onToggle={setField} />;
  }
  return (
    <ConditionForm
      field={field}
      condition={null}
      question={question}
      dictionary={dictionary}
      service={service}
      cancel={close}
      add={(operator, values) => {
        close();
        update({ conditions: [...question.conditions, { field, operator, values }] });
      }}
    />
  );
}

interface FormProps {
  field: string;
  /** The condition that is changed; `null` for a new one. */
  condition: Condition | null;
  question: DatedQuestion;
  dictionary: Dictionary;
  service: Service;
  add: (operator: Operator, values: string[]) => void;
  cancel: () => void;
}

export function ConditionForm({ field, condition, question, dictionary, service, add, cancel }: FormProps) {
  const isNumber = dictionary.isMetric(field);
  const [operator, setOperator] = useState<Operator>(condition?.operator ?? (isNumber ? "atLeast" : "is"));
  const [values, setValues] = useState<string[]>(condition?.values ?? []);
  const [fault, setFault] = useState("");
  const { suggestions, fetchOnce, hint } = useSuggestions(field, question, dictionary, service);
  const searchValues = useCallback(
    (typed: string) => {
      const wanted = typed.toLowerCase();
      return suggestions.filter(({ label }) => label.toLowerCase().includes(wanted));
    },
    [suggestions],
  );
  const operators = useRef<HTMLSelectElement>(null);
  useEffect(() => operators.current?.focus(), []);
  const choose = (chosen: Operator) => {
    setOperator(chosen);
    setValues([]);
    setFault("");
  };
  const isListed = !isNumber && takesSeveral(operator);
  const submit = (event: Event) => {
    event.preventDefault();
    const sent = takesNone(operator) ? [] : values;
    const found = faultOf({ field, operator, values: sent }, isNumber);
    if (found) setFault(found);
    else add(operator, sent);
  };
  const toggle = (value: string) => setValues(values.includes(value) ? values.filter((other) => other !== value) : [...values, value]);
  return (
    <form class="condition" onSubmit={submit}>
      <p class="field-name">{dictionary.label(field)}</p>
      <select aria-label="Condition" value={operator} ref={operators} onChange={(event) => choose(event.currentTarget.value as Operator)}>
        {operatorsOf(isNumber).map((each) => (
          <option key={each} value={each}>
            {OPERATORS[each]}
          </option>
        ))}
      </select>
      {isListed && (
        <>
          <Chips label="Values" chips={values.map((value) => ({ value, label: formatText(value) }))} onRemove={toggle} />
          <Combobox
            label="Values"
            placeholder="Search values, or type one"
            search={searchValues}
            selected={values}
            onToggle={toggle}
            onOpen={fetchOnce}
            other={(typed) => ({ value: typed, label: `“${typed}”`, note: "as typed" })}
            empty={hint}
            closes
          />
        </>
      )}
      {!isListed && !takesNone(operator) && (
        <input
          type="text"
          aria-label="Value"
          inputMode={isNumber ? "decimal" : "text"}
          value={values[0] ?? ""}
          onInput={(event) => setValues(event.currentTarget.value === "" ? [] : [event.currentTarget.value])}
        />
      )}
      <p class="fault" role="alert">
        {fault}
      </p>
      <div class="buttons">
        <button type="submit" class="primary">
          {condition ? "Change filter" : "Add filter"}
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

const LOOKING = "Looking for values…";

/**
 * Suggests the values of a dimension: those of the dictionary, or else those of the days of the question (the last 90 of
 * them), which the service counts.
 */
function useSuggestions(field: string, question: DatedQuestion, dictionary: Dictionary, service: Service) {
  const listed = useMemo((): Choice[] => (dictionary.get(field)?.values ?? []).map((value) => ({ value, label: value })), [field, dictionary]);
  const range = question.days;
  const scope = JSON.stringify([question.organization, question.accounts, question.attribution, range]);
  const [asked, setAsked] = useState<{ scope: string; found: Choice[]; hint: string } | null>(null);
  const { found, hint } = asked?.scope === scope ? asked : { found: [], hint: LOOKING };
  const fetchOnce = () => {
    if (asked?.scope === scope || listed.length > 0) return;
    setAsked({ scope, found: [], hint: LOOKING });
    // An answer for an earlier scope comes too late.
    const answered = (found: Choice[], hint: string) => setAsked((asked) => (asked?.scope === scope ? { scope, found, hint } : asked));
    const start = countDays(range) > ATTRIBUTION_WINDOW ? addDays(range.end, 1 - ATTRIBUTION_WINDOW) : range.start;
    const others = question.conditions.filter((condition) => !dictionary.isMetric(condition.field) && condition.field !== field);
    const request = {
      organization: question.organization,
      accounts: question.accounts,
      fields: [field, "eventCount"],
      range: { start, end: range.end },
      interval: "total" as const,
      attribution: question.attribution,
      filters: filterParameters(others, () => false),
    };
    service.events(request).then(
      ({ rows }) => {
        const counted = rows.map((row) => ({ value: String(row[field] ?? ""), events: Number(row.eventCount) })).sort((a, b) => b.events - a.events);
        const choices = counted.map(({ value, events }) => ({ value, label: formatText(value), note: count(events, "event") }));
        answered(choices, "No such value on these days: type it to use it");
      },
      () => answered([], "The values could not be listed: type one"),
    );
  };
  return { suggestions: listed.length > 0 ? listed : found, fetchOnce, hint };
}
