// A field that searches a list, as the pattern "combobox with list" of ARIA describes it.

import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

export interface Choice {
  value: string;
  label: string;
  /** Shown after the label. */
  note?: string;
  /** Shown below the label. */
  detail?: string;
}

interface Props {
  label: string;
  placeholder: string;
  /** Returns the choices that fit what was typed, the likeliest first. */
  search: (typed: string) => Choice[];
  selected: string[];
  onToggle: (value: string) => void;
  /** Makes a choice of what was typed, if it is none of the list. */
  other?: (typed: string) => Choice | null;
  /** Called when the list opens, so that its choices can be fetched. */
  onOpen?: () => void;
  /** Shown in place of an empty list. */
  empty?: string;
  /** Whether a choice closes the list, because a button follows. */
  closes?: boolean;
}

const SHOWN = 60;

/** The most pixels that the list takes, and what it leaves between itself and the field or the edge of the window. */
const MAX_HEIGHT = 320;
const GAP = 4;

/** Where the list is: below its field or, where there is more room, above it. */
type Place = { left: string; width: string; maxHeight: string } & ({ top: string } | { bottom: string });

function placeAt(field: DOMRect): Place {
  const [above, below] = [field.top - 2 * GAP, innerHeight - field.bottom - 2 * GAP];
  const isAbove = below < MAX_HEIGHT && above > below;
  return {
    left: `${field.left}px`,
    width: `${field.width}px`,
    maxHeight: `${Math.min(MAX_HEIGHT, isAbove ? above : below)}px`,
    ...(isAbove ? { bottom: `${innerHeight - field.top + GAP}px` } : { top: `${field.bottom + GAP}px` }),
  };
}

export function Combobox({ label, placeholder, search, selected, onToggle, other, onOpen, empty = "Nothing fits", closes = false }: Props) {
  const id = useId();
  const [typed, setTyped] = useState("");
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const [place, setPlace] = useState<Place | null>(null);

  const found = useMemo(() => (open ? search(typed.trim()) : []), [open, typed, search]);
  const shown = found.slice(0, SHOWN);
  const typedChoice = other && typed.trim() !== "" ? other(typed.trim()) : null;
  if (open && typedChoice && !shown.some(({ value }) => value === typedChoice.value)) shown.push(typedChoice);
  const current = Math.min(active, shown.length - 1);

  useEffect(() => {
    list.current?.querySelector('[data-active="true"]')?.scrollIntoView({ block: "nearest" });
  }, [current, open]);

  // The window places the list, so that no panel that scrolls cuts it off.
  useLayoutEffect(() => {
    if (!open) return;
    const follow = (event?: Event) => {
      if (field.current && event?.target !== list.current) setPlace(placeAt(field.current.getBoundingClientRect()));
    };
    follow();
    addEventListener("scroll", follow, true);
    addEventListener("resize", follow);
    return () => {
      removeEventListener("scroll", follow, true);
      removeEventListener("resize", follow);
    };
  }, [open, selected.length]);

  const show = () => {
    if (open) return;
    setOpen(true);
    setActive(0);
    onOpen?.();
  };
  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    onToggle(choice.value);
    setTyped("");
    if (closes) setOpen(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + 8, PageUp: current - 8 };
    if (event.key in moves) {
      event.preventDefault();
      if (!open) return show();
      setActive(Math.max(0, Math.min(shown.length - 1, moves[event.key] ?? 0)));
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (open) choose(shown[current]);
      else show();
    } else if (event.key === "Escape" && open) {
      event.stopPropagation();
      setOpen(false);
      setTyped("");
    }
  };

  return (
    <div class="combobox">
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={open && shown.length > 0 ? `${id}-${current}` : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        value={typed}
        onFocus={show}
        onClick={show}
        onBlur={() => {
          setOpen(false);
          setTyped("");
        }}
        onInput={(event) => {
          show();
          setTyped(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      {/* A browser puts the focus on what scrolls, unless it may not; a press on the bar that scrolls keeps it in the field. */}
      <ul
        ref={list}
        id={`${id}-list`}
        role="listbox"
        aria-label={label}
        aria-multiselectable="true"
        tabIndex={-1}
        hidden={!open}
        style={place ?? undefined}
        onMouseDown={(event) => event.preventDefault()}
      >
        {shown.map((choice, index) => (
          <li
            key={choice.value}
            id={`${id}-${index}`}
            role="option"
            aria-selected={selected.includes(choice.value)}
            data-active={index === current}
            onClick={() => choose(choice)}
          >
            <span class="label">{choice.label}</span>{" "}
            {choice.note && <span class="note">{choice.note}</span>}
            {choice.detail && <span class="detail">{choice.detail}</span>}
          </li>
        ))}
        {found.length > SHOWN && (
          <li role="option" aria-disabled="true" aria-selected="false" class="more">
            {found.length - SHOWN} more: type to find them
          </li>
        )}
        {open && shown.length === 0 && (
          <li role="option" aria-disabled="true" aria-selected="false" class="more">
            {empty}
          </li>
        )}
      </ul>
    </div>
  );
}
