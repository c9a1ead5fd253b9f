import type { Ended } from "./callback-service.ts";

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;color:#222;background:#fff}" +
  "h1{font-size:1.25rem}@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}}";

/** What the person in front of the browser sees at the end. No script, nothing from elsewhere. */
export function endPage({ ok, message, provider_name }: Ended): string {
  const title = `${provider_name ?? "OAuth"} ${ok ? "connected" : "not connected"}`;
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>`,
    `<body><main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(message)}</p></main></body></html>`,
  ].join("");
}

/** The address holds a code: it must not travel on, nor be kept. */
export const PAGE_HEADERS = {
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy":
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
};

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter);
}
