// A part of the question as a button that says what is chosen, and opens the control that changes it.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props {
  /** What the part is, such as `Days`. */
  label: string;
  /** What is chosen; nothing for a chip that only has a control. */
  value?: string | undefined;
  kind?: "primary" | "quiet" | "add";
  /** The control. It is called with a function that closes it and brings the focus back to the chip. */
  children: (close: () => void) => ComponentChildren;
  /** Takes the part out of the question; the chip then has a button for it. */
  onRemove?: (() => void) | undefined;
}

/** What a control leaves between itself and the edges of the window, and the least height that it takes. */
const EDGE = 8;
const MIN_HEIGHT = 260;

/** What takes the focus in a control: the field that searches, or else the first that can. */
const FIRST = ["[role=combobox]", "[aria-pressed=true]", "button:not(:disabled), input, select"];

export function Chip({ label, value, kind, children, onRemove }: Props) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const wrapper = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const control = useRef<HTMLDivElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };

  // In the window, wherever the chip is.
  useLayoutEffect(() => {
    const element = control.current;
    if (!isOpen || !element) return;
    const place = () => {
      element.style.marginLeft = "0";
      const { left, right, top } = element.getBoundingClientRect();
      const width = document.documentElement.clientWidth;
      element.style.marginLeft = `${Math.max(EDGE - left, Math.min(0, width - EDGE - right))}px`;
      element.style.maxHeight = `${Math.max(MIN_HEIGHT, innerHeight - top - EDGE)}px`;
    };
    place();
    addEventListener("resize", place);
    return () => removeEventListener("resize", place);
  }, [isOpen]);

  useEffect(() => {
    if (!isOpen) return;
    FIRST.map((selector) => control.current?.querySelector<HTMLElement>(selector)).find((found) => found)?.focus();
    const leave = (target: EventTarget | null) => {
      // What had been in the control and was removed by a click is not outside of it.
      if (target instanceof Node && target.isConnected && !wrapper.current?.contains(target)) setOpen(false);
    };
    const onPointerDown = ({ target }: PointerEvent) => leave(target);
    const onFocusIn = ({ target }: FocusEvent) => leave(target);
    addEventListener("pointerdown", onPointerDown);
    addEventListener("focusin", onFocusIn);
    return () => {
      removeEventListener("pointerdown", onPointerDown);
      removeEventListener("focusin", onFocusIn);
    };
  }, [isOpen]);

  const name = value === undefined ? label : `${label} ${value}`;
  return (
    <div class={`chip ${kind ?? ""}`} ref={wrapper} onKeyDown={(event) => event.key === "Escape" && isOpen && close()}>
      <button type="button" class="open" ref={button} aria-haspopup="dialog" aria-expanded={isOpen} aria-controls={isOpen ? id : undefined} title={name} onClick={() => setOpen(!isOpen)}>
        <span class="label">{label}</span>
        {value !== undefined && <span class="value"> {value}</span>}
      </button>
      {onRemove && (
        <button type="button" class="remove" aria-label={`Remove ${name}`} onClick={onRemove}>
          ×
        </button>
      )}
      {isOpen && (
        <div class="control" id={id} ref={control} role="dialog" aria-label={label}>
          {children(close)}
        </div>
      )}
    </div>
  );
}

interface OptionsProps<T extends string> {
  label: string;
  options: readonly { value: T; label: string; note?: string | undefined }[];
  chosen: T | null;
  choose: (value: T) => void;
}

/** A list of which one is chosen by a single click. */
export function Options<T extends string>({ label, options, chosen, choose }: OptionsProps<T>) {
  return (
    <ul class="options" aria-label={label}>
      {options.map(({ value, label, note }) => (
        <li key={value}>
          <button type="button" aria-pressed={value === chosen} onClick={() => choose(value)}>
            <span>{label}</span>
            {note && <span class="note"> {note}</span>}
          </button>
        </li>
      ))}
    </ul>
  );
}
