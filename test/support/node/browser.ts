import { access } from "node:fs/promises";
import { type Browser, chromium } from "playwright-core";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Disables updates, calls home and QUIC. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function startBrowser(): Promise<Browser> {
  try {
    await access(EXECUTABLE);
  } catch (cause) {
    const text = `There is no Chromium at ${EXECUTABLE}: install Debian's package "chromium", or name one in CHROMIUM.`;
    throw new Error(text, { cause });
  }
  return chromium.launch({ executablePath: EXECUTABLE, args: FLAGS });
}
