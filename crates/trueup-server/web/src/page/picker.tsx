// A list that is chosen from a longer one: what is chosen, and a field that searches for more.

import { Chips } from "./chips";
import { Combobox, type Choice } from "./combobox";

interface Props {
  /** What is chosen, such as `metrics`. */
  name: string;
  label: string;
  placeholder: string;
  chosen: string[];
  chips: { value: string; label: string; title?: string | undefined }[];
  search: (typed: string) => Choice[];
  other?: (typed: string) => Choice | null;
  choose: (chosen: string[]) => void;
}

export function Picker({ name, label, placeholder, chosen, chips, search, other, choose }: Props) {
  const toggle = (value: string) => choose(chosen.includes(value) ? chosen.filter((each) => each !== value) : [...chosen, value]);
  return (
    <div class="picker">
      <Chips label={`Chosen ${name}`} chips={chips} onRemove={toggle} />
      <Combobox label={label} placeholder={placeholder} search={search} selected={chosen} onToggle={toggle} {...(other && { other })} />
    </div>
  );
}
