import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { MAX_LINES } from "../../src/chart";

type Vector = [number, number, number];

/** How a color is seen, in linear RGB: by most people, and with each kind of color blindness (Machado, Oliveira and Fernandes, 2009). */
const SIGHTS: Record<string, Vector[]> = {
  all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

const style = readFileSync("src/style.css", "utf8");
const dot = (a: Vector, b: Vector) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** Returns a color of the style sheet in linear RGB, in the light and in the dark. */
function colorsOf(name: string): [light: Vector, dark: Vector] {
  const [, light, dark] = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(style)!;
  const linear = (hex: string) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as Vector;
  return [linear(light!), linear(dark!)];
}

/** Returns a color in CIELAB, where distances are as people see them. */
function labOf(rgb: Vector): Vector {
  const curve = (part: number) => (part > 0.008856 ? Math.cbrt(part) : 7.787 * part + 16 / 116);
  const x = curve(dot([0.4124564, 0.3575761, 0.1804375], rgb) / 0.95047);
  const y = curve(dot([0.2126729, 0.7151522, 0.072175], rgb));
  const z = curve(dot([0.0193339, 0.119192, 0.9503041], rgb) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function contrastOf(a: Vector, b: Vector): number {
  const [low, high] = [a, b].map((color) => dot([0.2126, 0.7152, 0.0722], color)).sort((one, other) => one - other) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

test("no two lines are alike for anybody, and each can be read as a label", () => {
  const panel = colorsOf("panel");
  for (const theme of [0, 1] as const) {
    const series = Array.from({ length: MAX_LINES }, (_, number) => colorsOf(`series-${number}`)[theme]);
    for (const [number, color] of series.entries()) assert.ok(contrastOf(color, panel[theme]) >= 4.5, `series-${number}`);
    for (const [sight, matrix] of Object.entries(SIGHTS)) {
      const seen = series.map((color) => labOf(matrix.map((row) => Math.min(1, Math.max(0, dot(row, color)))) as Vector));
      seen.forEach((one, number) =>
        seen.slice(0, number).forEach((other, earlier) => {
          const distance = Math.hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
          assert.ok(distance >= 14, `series-${earlier} and series-${number}, ${sight}: ${distance.toFixed(1)}`);
        }),
      );
    }
  }
});
