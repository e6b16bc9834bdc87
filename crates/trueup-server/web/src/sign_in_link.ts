// The token of a link that signs in once, as `trueup explore` opens it. It leaves the address before anything else
// happens. A reload clears the memory of the page, key included; for the time of the reload alone, the token of the next
// exchange is in the storage of the tab.

const IN_LINK = /^#sign-in=([\w-]{1,200})$/;
const STORED = "trueup-sign-in";

let next: string | null = null;
let isListening = false;

/** Takes the token from the address, or that of a page that was reloaded; `null` if there is none. */
export function takeToken(): string | null {
  const reloaded = store((storage) => storage.getItem(STORED));
  store((storage) => storage.removeItem(STORED));
  const linked = IN_LINK.exec(location.hash)?.[1];
  if (linked === undefined) return reloaded;
  history.replaceState(null, "", location.pathname);
  return linked;
}

/** Keeps a token for a reload of the page; `null` forgets the one that was kept. */
export function keepForReload(token: string | null): void {
  next = token;
  if (isListening) return;
  isListening = true;
  addEventListener("pagehide", () => next !== null && store((storage) => storage.setItem(STORED, next!)));
  // A browser may show the page again with its memory.
  addEventListener("pageshow", () => store((storage) => storage.removeItem(STORED)));
}

function store<T>(use: (storage: Storage) => T): T | null {
  try {
    return use(sessionStorage);
  } catch {
    // A browser that keeps nothing: a reload needs another link.
    return null;
  }
}
