import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { watchPages } from "./page-states.ts";

/** Where systems install Chromium or Chrome. */
const INSTALLED = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

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

/** The unpacked browser of the development dependency @sparticuz/chromium, with its libraries and fonts. */
const UNPACKED = resolve("node_modules/.cache/heddle-chromium-153.0.0");

/** The package's own file names folders that exist on its platform only; without a font the browser ends. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${UNPACKED}/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${UNPACKED}/fonts-cache</cachedir>
</fontconfig>
`;

/** Below the timeout of an e2e test. A busy machine must not decide a test. */
const PATIENCE_MS = 240_000;

export async function startBrowser(): Promise<Browser> {
  const browser = await launch();
  browser.on("context", (context) => {
    context.setDefaultTimeout(PATIENCE_MS);
    watchPages(context);
  });
  return browser;
}

async function launch(): Promise<Browser> {
  const installed = installedBrowser();
  if (installed) return chromium.launch({ executablePath: installed, args: FLAGS });
  await unpackBrowser();
  const env = {
    ...process.env,
    LD_LIBRARY_PATH: join(UNPACKED, "al2023/lib"),
    FONTCONFIG_PATH: join(UNPACKED, "fonts"),
  };
  return chromium.launch({ executablePath: join(UNPACKED, "chromium"), args: FLAGS, env });
}

/** @returns why this machine has no browser, `null` when it has one */
export function browserProblem(): string | null {
  if (process.env.CHROMIUM && !existsSync(process.env.CHROMIUM)) {
    return `CHROMIUM: there is no file ${process.env.CHROMIUM}`;
  }
  if (installedBrowser() || (process.platform === "linux" && process.arch === "x64")) return null;
  return "no Chromium or Chrome is installed, and none ships for this platform: install one, or set CHROMIUM to its path";
}

function installedBrowser(): string | undefined {
  return process.env.CHROMIUM ?? INSTALLED.find((path) => existsSync(path));
}

/** Renames a finished folder into place: two files of tests may do this at once, and either may be killed. */
async function unpackBrowser(): Promise<void> {
  if (existsSync(UNPACKED)) return;
  await mkdir(resolve("node_modules/.cache"), { recursive: true });
  const draft = await mkdtemp(`${UNPACKED}-`);
  const { TMPDIR } = process.env;
  try {
    const { default: shipped, inflate } = await import("@sparticuz/chromium");
    const main = fileURLToPath(import.meta.resolve("@sparticuz/chromium"));
    // The package unpacks into the folder for temporary files.
    process.env.TMPDIR = draft;
    await shipped.executablePath();
    await inflate(join(main, "../../bin/al2023.tar.br"));
    await writeFile(join(draft, "fonts/fonts.conf"), FONTS);
    await rename(draft, UNPACKED);
  } catch (error) {
    if (!existsSync(UNPACKED)) throw error;
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    await rm(draft, { recursive: true, force: true });
  }
}
