// The chosen values of a list, each of which can be removed.

import { useRef } from "preact/hooks";

interface Props {
  label: string;
  chips: { value: string; label: string; title?: string | undefined }[];
  onRemove: (value: string) => void;
}

export function Chips({ label, chips, onRemove }: Props) {
  const list = useRef<HTMLUListElement>(null);
  if (chips.length === 0) return null;
  const remove = (value: string, index: number) => {
    onRemove(value);
    // The button that had the focus is gone: the next one takes it, or the field after the list.
    requestAnimationFrame(() => {
      const buttons = list.current?.querySelectorAll("button");
      buttons?.[Math.min(index, buttons.length - 1)]?.focus();
    });
  };
  return (
    <ul class="chips" aria-label={label} ref={list}>
      {chips.map(({ value, label, title }, index) => (
        <li key={value} title={title}>
          <span>{label}</span>
          <button type="button" aria-label={`Remove ${label}`} onClick={() => remove(value, index)}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
