// Fields as choices of a combobox.

import type { Dictionary, Field } from "../dictionary";
import type { Choice } from "./combobox";

const BETTER = { higher: " Higher is better.", lower: " Lower is better.", neither: "" };

export function choiceOf(field: Field): Choice {
  return { value: field.name, label: field.displayName, note: field.name, detail: `${field.definition}${BETTER[field.better ?? "neither"]}` };
}

/** Any column of the data is a dimension, whether or not the dictionary has it. A metric is none. */
export function columnChoice(typed: string, dictionary: Dictionary): Choice | null {
  if (/[,\p{Cc}]/u.test(typed) || typed === "start" || typed === "end" || dictionary.isMetric(typed)) return null;
  return { value: typed, label: `Column “${typed}”`, detail: "A column of the data that the dictionary does not have." };
}
