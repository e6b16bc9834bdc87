// A picture of a part of the page. Texts, boxes and charts are copied into one SVG with the styles that they have, and a canvas
// makes a PNG of it. Nothing of the page goes into the picture that the browser would have to load.

/** Pixels of the picture for each of the page, so that a picture is sharp on paper and on a phone. */
const SCALE = 2;

/** Empty pixels around the picture. */
const MARGIN = 20;

/** The styles of a shape that the attributes of an SVG have, too. */
const SHAPE_STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];

/** Returns a part of the page as a PNG, without what matches `without`. */
export async function pictureOf(part: HTMLElement, without: string): Promise<Blob> {
  const { left, top, width, height } = part.getBoundingClientRect();
  const size = { width: Math.ceil(width) + 2 * MARGIN, height: Math.ceil(height) + 2 * MARGIN };
  const background = getComputedStyle(document.documentElement).backgroundColor;
  const content = drawn(part, without);
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size.width * SCALE}" height="${size.height * SCALE}" viewBox="0 0 ${size.width} ${size.height}">` +
    `<rect width="100%" height="100%" fill="${escape(background)}"/><g transform="translate(${MARGIN - left} ${MARGIN - top})">${content}</g></svg>`;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [size.width * SCALE, size.height * SCALE];
  canvas.getContext("2d")?.drawImage(image, 0, 0);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser makes no picture"))), "image/png"));
}

/** Returns an element and what is in it as SVG, at its place in the window. */
function drawn(element: Element, without: string): string {
  const style = getComputedStyle(element);
  if (element.matches(without) || style.display === "none" || style.visibility === "hidden" || style.clipPath !== "none") return "";
  const box = element.getBoundingClientRect();
  if (element instanceof SVGSVGElement) return chart(element, box);
  // What is chosen is all that a list of choices shows.
  if (element instanceof HTMLSelectElement) return text(element.selectedOptions[0]?.text ?? "", box, style);
  const inside = [...element.childNodes].map((child) => (child instanceof Text ? texts(child, style) : child instanceof Element ? drawn(child, without) : ""));
  const opacity = style.opacity === "1" ? "" : ` opacity="${style.opacity}"`;
  return `<g${opacity}>${frame(box, style)}${inside.join("")}</g>`;
}

/** Returns the background and the border of a box. */
function frame({ left, top, width, height }: DOMRect, style: CSSStyleDeclaration): string {
  const hasBorder = ["top", "right", "bottom", "left"].every((side) => style.getPropertyValue(`border-${side}-width`) !== "0px");
  const background = isSeen(style.backgroundColor) ? style.backgroundColor : "none";
  const border = hasBorder && isSeen(style.borderTopColor) ? style.borderTopColor : "none";
  const edges = hasBorder ? "" : edge(left, top, 0, height, "left", style) + edge(left, top + height, width, 0, "bottom", style);
  if (background === "none" && border === "none") return edges;
  const radius = Number.parseFloat(style.borderTopRightRadius) || 0;
  return `<rect x="${left}" y="${top}" width="${width}" height="${height}" rx="${radius}" fill="${escape(background)}" stroke="${escape(border)}"/>${edges}`;
}

/** Returns the border of one side. */
function edge(x: number, y: number, width: number, height: number, side: "left" | "bottom", style: CSSStyleDeclaration): string {
  const [size, color] = [Number.parseFloat(style.getPropertyValue(`border-${side}-width`)), style.getPropertyValue(`border-${side}-color`)];
  return size > 0 && isSeen(color) ? `<path d="M${x} ${y}h${width}v${height}" fill="none" stroke="${escape(color)}" stroke-width="${size}"/>` : "";
}

function isSeen(color: string): boolean {
  return color !== "transparent" && !/^rgba\(.*, 0\)$/.test(color);
}

/** Returns the lines of a text, each where the browser has put it. */
function texts(node: Text, style: CSSStyleDeclaration): string {
  const range = document.createRange();
  const lines: { content: string; box: DOMRect }[] = [];
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = range.getBoundingClientRect();
    const line = lines.at(-1);
    if (line && Math.abs(line.box.top - box.top) < 2) line.content += ` ${word}`;
    else if (box.width > 0) lines.push({ content: word, box });
  }
  const parent = node.parentElement;
  // A text that is cut off on the page ends as it does there.
  const isCut = parent !== null && parent.scrollWidth > parent.clientWidth && style.textOverflow === "ellipsis";
  return lines.map(({ content, box }) => text(isCut ? cut(content, parent) : content, box, style)).join("");
}

function cut(content: string, { clientWidth, scrollWidth }: Element): string {
  return `${content.slice(0, Math.max(1, Math.floor((content.length * clientWidth) / scrollWidth) - 2))}…`;
}

function text(content: string, { left, top, height }: { left: number; top: number; height: number }, style: CSSStyleDeclaration): string {
  const size = Number.parseFloat(style.fontSize);
  const baseline = top + height / 2 + size * 0.35;
  const font = `font-family="${escape(style.fontFamily)}" font-size="${size}" font-weight="${style.fontWeight}"`;
  return `<text x="${left}" y="${baseline}" ${font} fill="${escape(style.color)}">${escape(content)}</text>`;
}

/** Returns a chart that is SVG already, with its styles as attributes. */
function chart(svg: SVGSVGElement, { left, top, width, height }: DOMRect): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const copies = [...copy.querySelectorAll("*")];
  [...svg.querySelectorAll("*")].forEach((shape, index) => {
    const style = getComputedStyle(shape);
    for (const name of SHAPE_STYLES) copies[index]?.setAttribute(name, style.getPropertyValue(name));
  });
  copy.setAttribute("x", String(left));
  copy.setAttribute("y", String(top));
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  return new XMLSerializer().serializeToString(copy);
}

function escape(content: string): string {
  return content.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
