// Whether the page is being printed, so that what only a screen can scroll to is there on paper.

import { useLayoutEffect, useState } from "preact/hooks";

export function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false);
  useLayoutEffect(() => {
    const paper = matchMedia("print");
    const begin = () => setPrinting(true);
    const end = () => setPrinting(false);
    const change = () => setPrinting(paper.matches);
    // The event comes before the browser lays the page out for paper; the media query also follows a preview.
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    paper.addEventListener("change", change);
    return () => {
      removeEventListener("beforeprint", begin);
      removeEventListener("afterprint", end);
      paper.removeEventListener("change", change);
    };
  }, []);
  return isPrinting;
}
