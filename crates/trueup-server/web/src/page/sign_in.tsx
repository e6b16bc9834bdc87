// The form that takes a key. The key leaves it only for the service.

import { useEffect, useRef, useState } from "preact/hooks";
import { wordsOf } from "../fault_words";
import { Fault, isSendable } from "../service";

interface Props {
  signIn: (key: string) => Promise<void>;
  /** Signs in by the link that opened the page; `null` if that was no such link. */
  signInByLink: (() => Promise<void>) | null;
  /** Whether a question waits for its answer. */
  hasQuestion: boolean;
}

/** Whether the link that opened the page has been tried. It works once. */
let isLinkUsed = false;

export function SignIn({ signIn, signInByLink, hasQuestion }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const [isOpening, setIsOpening] = useState(signInByLink !== null && !isLinkUsed);

  useEffect(() => {
    if (!signInByLink || isLinkUsed) return;
    isLinkUsed = true;
    signInByLink().catch((error: unknown) => {
      setFault(linkMessageOf(error));
      setIsOpening(false);
    });
  }, []);
  useEffect(() => input.current?.focus(), [isOpening]);

  const submit = async (event: Event) => {
    event.preventDefault();
    const key = input.current?.value.trim() ?? "";
    if (!isSendable(key)) {
      setFault(key === "" ? "Paste your key first." : "This is not a key: it has a space, a character that no key has, or more than 512 characters. Copy the key again.");
      input.current?.focus();
      return;
    }
    setBusy(true);
    setFault("");
    try {
      await signIn(key);
    } catch (error) {
      setFault(messageOf(error));
      setBusy(false);
      input.current?.focus();
    }
  };

  if (isOpening) {
    return (
      <main class="sign-in">
        <p role="status">Opening…</p>
      </main>
    );
  }
  return (
    <main class="sign-in">
      <form onSubmit={submit} autocomplete="off">
        <h2>Sign in</h2>
        <p>
          {hasQuestion
            ? "Sign in with your key to see the answer to this question."
            : "Explore leads, bookings, revenue and spend of the accounts that your key reaches."}
        </p>
        <label for="key">Your key</label>
        <input
          ref={input}
          id="key"
          class="secret"
          type="text"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          aria-describedby="key-hint key-fault"
          aria-invalid={fault !== ""}
        />
        <p id="key-hint" class="hint">
          The key stays in the memory of this page until you close or reload it.
        </p>
        <p id="key-fault" class="fault" role="alert">
          {fault}
        </p>
        <button type="submit" class="primary" disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}

function linkMessageOf(error: unknown): string {
  if (!(error instanceof Fault) || error.kind !== "key") return messageOf(error);
  return "This link was used before: each works once. Run trueup explore again for a new one. If you have not opened it before, somebody else on this machine has.";
}

function messageOf(error: unknown): string {
  if (!(error instanceof Fault)) return "The page failed. Reload it and try again.";
  if (error.kind === "key") return "The service does not know this key. Check that you copied all of it, and that it was not deleted or rotated.";
  const { title, advice } = wordsOf(error);
  return `${title}. ${advice}`;
}
