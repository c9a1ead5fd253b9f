import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Styles a text for a terminal. The text stays plain for pipes, and with NO_COLOR. */
export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

export function formatDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Returns an aligned line of a mark, the label and the duration. */
export function formatStep(label: string, ms: number): string {
  return `  ${paint("green", "✓")} ${label.padEnd(52)} ${paint("dim", formatDuration(ms).padStart(8))}`;
}
