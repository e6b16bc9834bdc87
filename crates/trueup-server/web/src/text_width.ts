// How wide texts are in the font of the page, so that a table has room for every one of its numbers.

/** Returns the width of a text in em. */
export type TextWidth = (text: string) => number;

/** The size to measure at, in CSS pixels: widths at the size of the table are rounded in some browsers. */
const SIZE = 100;

/** Returns the widths of bold texts in the font of the page; those of others are less. Digits are all as wide as the widest. */
export function textWidth(): TextWidth {
  const { fontFamily } = getComputedStyle(document.body);
  const context = document.createElement("canvas").getContext("2d");
  if (context) context.font = `700 ${SIZE}px ${fontFamily}`;
  const measured = (text: string) => (context ? context.measureText(text).width : text.length * SIZE) / SIZE;
  // A canvas has no tabular figures, which are wider in some fonts.
  const digit = Math.max(tabularDigit(fontFamily), ...[..."0123456789"].map(measured));
  const advances = new Map<string, number>([..."0123456789"].map((each) => [each, digit]));
  return (text) => {
    let width = 0;
    for (const character of text) {
      let advance = advances.get(character);
      if (advance === undefined) advances.set(character, (advance = measured(character)));
      width += advance;
    }
    return width;
  };
}

/** Returns the width of a bold digit, as a table shows it. */
function tabularDigit(fontFamily: string): number {
  const sample = document.createElement("span");
  sample.textContent = "0000000000";
  Object.assign(sample.style, { position: "absolute", visibility: "hidden", fontFamily, fontSize: `${SIZE}px`, fontWeight: "700", fontVariantNumeric: "tabular-nums" });
  document.body.append(sample);
  const { width } = sample.getBoundingClientRect();
  sample.remove();
  return width / SIZE / 10;
}
