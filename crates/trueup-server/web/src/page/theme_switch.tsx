// Light or dark: as the system prefers, or as chosen.

import { useEffect, useState } from "preact/hooks";

const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

/** The key under which the browser keeps the theme. Besides it, the page keeps only the token of a reload (sign_in_link.ts). */
const STORED = "trueup-theme";

export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(STORED, theme);
    } catch {
      // A browser that keeps nothing: the choice holds until the page is closed.
    }
  }, [theme]);
  return (
    <label class="theme">
      <span>Colors</span>
      <select value={theme} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
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
