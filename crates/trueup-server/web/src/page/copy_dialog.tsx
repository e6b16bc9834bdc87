// The question as code.

import { useEffect, useRef, useState } from "preact/hooks";
import { LANGUAGES, copyAs, type Language } from "../copies";
import type { Index } from "../dictionary";
import type { DatedQuestion } from "../question";

interface Props {
  question: DatedQuestion;
  index: Index;
  base: string;
  close: () => void;
}

const NOTES: Record<Language, string> = {
  trueup: "Put the path of the dataset in place of DATASET.",
  curl: "The key is read from the variable TRUEUP_KEY.",
  rust: "Put the path of the dataset in place of DATASET.",
  python: "Put the path of the dataset in place of DATASET.",
};

const NO_TEXT = "There is none: the question has no metric, or its organization has no account.";

export function CopyDialog({ question, index, base, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [kind, setKind] = useState<Language>("trueup");
  const [copied, setCopied] = useState("");
  useEffect(() => dialog.current?.showModal(), []);

  const text = copyAs(kind, question, index, base);
  const copy = async () => {
    if (text === null) return;
    try {
      await navigator.clipboard.writeText(text);
      setCopied("Copied");
    } catch {
      setCopied("The browser does not allow it: select the text and copy it");
    }
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="copy-title">
      <h2 id="copy-title">Copy this question</h2>
      <div class="segments" role="radiogroup" aria-label="Copy as">
        {LANGUAGES.map(([value, label]) => (
          <label key={value}>
            <input
              type="radio"
              name="copy"
              checked={kind === value}
              onChange={() => {
                setKind(value);
                setCopied("");
              }}
            />
            <span>{label}</span>
          </label>
        ))}
      </div>
      <pre tabIndex={0} aria-label="The question">
        {text}
      </pre>
      <p class="hint">{text === null ? NO_TEXT : NOTES[kind]}</p>
      <div class="buttons">
        <button type="button" class="primary" disabled={text === null} onClick={copy}>
          Copy
        </button>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
        <p role="status">{copied}</p>
      </div>
    </dialog>
  );
}
