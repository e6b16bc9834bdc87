// Conditions: what the page offers as a filter, and the expressions that the service reads.

/** What a condition tests, with the words of the page. */
export const OPERATORS = {
  is: "is",
  isNot: "is not",
  contains: "contains",
  matches: "matches the regular expression",
  atLeast: "is at least",
  above: "is more than",
  atMost: "is at most",
  below: "is less than",
  empty: "is empty",
  notEmpty: "is not empty",
} as const;

export type Operator = keyof typeof OPERATORS;

/** A condition on one field. `values` has one value, several with `is`, `isNot` and `contains`, none with `empty` and `notEmpty`. */
export interface Condition {
  field: string;
  operator: Operator;
  values: string[];
}

/** An expression of the filter language. */
export type Expression = string | number | Expression[];

const NUMBER_OPERATORS: readonly Operator[] = ["atLeast", "above", "atMost", "below", "is", "isNot"];
const SEVERAL: readonly Operator[] = ["is", "isNot", "contains"];
const WITHOUT_VALUE: readonly Operator[] = ["empty", "notEmpty"];
const COMPARISONS = { atLeast: "gte", above: "gt", atMost: "lte", below: "lt" } as const;

/** Parameters of an events request that are not filters; a condition on a field of such a name travels in `filter`. */
const NOT_FILTERS = ["fields", "start", "end", "account", "accounts", "interval", "filter", "cohort", "within", "attribution", "compare", "why", "row", "lines"];

/** Returns the operators for a field. Metrics, and the amount of an event, are numbers. */
export function operatorsOf(isNumber: boolean): readonly Operator[] {
  return isNumber ? NUMBER_OPERATORS : (Object.keys(OPERATORS) as Operator[]);
}

export const takesSeveral = (operator: Operator): boolean => SEVERAL.includes(operator);
export const takesNone = (operator: Operator): boolean => WITHOUT_VALUE.includes(operator);

/** Returns whether a text is a decimal number as filters know it. */
export const isDecimal = (text: string): boolean => /^-?[0-9]+(\.[0-9]+)?$/.test(text);

/** Returns what is wrong with a condition, in words for the user; `null` if it can be sent. */
export function faultOf({ operator, values }: Condition, isNumber: boolean): string | null {
  if (takesNone(operator)) return values.length === 0 ? null : `“${OPERATORS[operator]}” takes no value`;
  if (values.length === 0) return "choose or type a value";
  if (values.length > 1 && !takesSeveral(operator)) return `“${OPERATORS[operator]}” takes one value`;
  if (!operatorsOf(isNumber).includes(operator)) return `“${OPERATORS[operator]}” does not apply to a number`;
  const faulty = isNumber ? values.find((value) => !isDecimal(value)) : undefined;
  return faulty === undefined ? null : `expected a number such as 12.5, but found “${faulty}”`;
}

/** Returns the condition in words, without its field. */
export function describe({ operator, values }: Condition): string {
  const shown = values.map((value) => (value === "" ? "(none)" : value));
  return takesNone(operator) ? OPERATORS[operator] : `${OPERATORS[operator]} ${shown.join(" or ")}`;
}

/** Returns the expression of a condition. */
export function expressionOf({ operator, values }: Condition, isNumber: boolean): Expression {
  const operands = values.map((value) => (isNumber ? Number(value) : value));
  const [first = ""] = operands;
  const any = (each: Expression[]): Expression => (each.length === 1 ? (each[0] ?? "") : ["or", ...each]);
  switch (operator) {
    case "is":
      return operands.length === 1 ? ["eq", first] : any(operands);
    case "isNot":
      return operands.length === 1 ? ["ne", first] : ["not", any(operands)];
    case "contains":
      return any(values.map((value) => ["regex", escapePattern(value), "i"]));
    case "matches":
      return ["regex", String(first)];
    case "empty":
    case "notEmpty":
      return [operator];
    default: {
      // A value that is a number is compared as one; any other, such as a day, as text.
      const operand = isDecimal(String(first)) ? Number(first) : first;
      return [COMPARISONS[operator], operand];
    }
  }
}

/** Returns one expression for each field that has conditions; all conditions of a field must hold. */
export function expressionsByField(conditions: Condition[], isNumber: (field: string) => boolean): Map<string, Expression> {
  const fields = new Map<string, Expression[]>();
  for (const condition of conditions) {
    const expression = expressionOf(condition, isNumber(condition.field));
    fields.set(condition.field, [...(fields.get(condition.field) ?? []), expression]);
  }
  return new Map([...fields].map(([field, all]) => [field, all.length === 1 ? (all[0] ?? "") : ["and", ...all]]));
}

/** Returns the filter parameters of a request. */
export function filterParameters(conditions: Condition[], isNumber: (field: string) => boolean): [string, string][] {
  const parameters: [string, string][] = [];
  const across: Record<string, Expression> = {};
  for (const [field, expression] of expressionsByField(conditions, isNumber)) {
    if (NOT_FILTERS.includes(field)) across[field] = expression;
    else parameters.push([field, parameterValue(expression)]);
  }
  if (Object.keys(across).length > 0) parameters.push(["filter", JSON.stringify(across)]);
  return parameters;
}

/**
 * Returns an expression as the value of a parameter: an equality as the text itself, unless the service would read that
 * text as an expression, or not as the number that it is; anything else as JSON.
 */
function parameterValue(expression: Expression): string {
  if (Array.isArray(expression) && expression[0] === "eq") {
    const text = String(expression[1]);
    const isRead = typeof expression[1] === "number" ? isDecimal(text) : !text.trimStart().startsWith("[");
    if (text !== "" && isRead) return text;
  }
  return JSON.stringify(expression);
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
