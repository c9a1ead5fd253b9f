export type Theme = "system" | "light" | "dark";

const KEY = "heddle-theme";
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

export function readTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function switchTheme(): Theme {
  const theme = NEXT[readTheme()];
  localStorage.setItem(KEY, theme);
  applyTheme(theme);
  return theme;
}
