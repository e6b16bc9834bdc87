// The colors of lines. A color belongs to a value, so that a channel keeps it from one metric, order and range to the next.

import { MAX_LINES } from "./chart";

/** The colors that values have had since the page was opened, by the values of their dimensions. */
export type KnownColors = Map<string, number>;

/**
 * Returns a different color for each group, as a number below `MAX_LINES`. A group keeps the color that it had; any other gets
 * the one that its name leads to or, where that is taken, the next one that is free.
 */
export function colorsOf(groups: string[][], known: KnownColors): number[] {
  if (groups.length === 1) return [0];
  const keys = groups.map((group) => JSON.stringify(group));
  const taken = new Map<number, string>();
  for (const key of keys) {
    const color = known.get(key);
    if (color !== undefined && !taken.has(color)) taken.set(color, key);
  }
  return keys.map((key) => {
    let color = known.get(key);
    if (color === undefined || taken.get(color) !== key) {
      color = hashOf(key) % MAX_LINES;
      while (taken.has(color)) color = (color + 1) % MAX_LINES;
      taken.set(color, key);
    }
    known.set(key, color);
    return color;
  });
}

/** Returns a number that looks random, and is the same for the same text (FNV-1a). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash;
}
