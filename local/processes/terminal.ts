import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Colour for a person at a terminal; plain text for pipes and for NO_COLOR. */
export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

export function formatDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** An aligned line: mark, action, duration. */
export function formatStep(label: string, ms: number): string {
  return `  ${paint("green", "✓")} ${label.padEnd(52)} ${paint("dim", formatDuration(ms).padStart(8))}`;
}
