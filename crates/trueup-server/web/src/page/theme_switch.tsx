// Light or dark: as the system prefers, or as chosen.

import { useState } from "preact/hooks";

const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

/** The key under which the browser keeps the theme. Besides it, the page keeps only the token of a reload (sign_in_link.ts). */
const STORED = "trueup-theme";

// Before anything is drawn.
document.documentElement.dataset.theme = storedTheme();

export function ThemeSwitch() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme);
  const choose = (theme: string) => {
    setTheme(theme);
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(STORED, theme);
    } catch {
      // A browser that keeps nothing: the choice holds until the page is closed.
    }
  };
  return (
    <label class="theme">
      <span>Colors</span>
      <select value={theme} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="auto">System</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}

function storedTheme(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(STORED)) ?? "auto";
  } catch {
    return "auto";
  }
}
