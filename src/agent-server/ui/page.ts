import type { AgentUiFiles } from "../../control-plane/deployments/isolate/ui-service.ts";

type UiRef = { server_url: string; agent: string };

/**
 * Returns HTML that loads an agent's components and renders one of them. Clients replace `{{shadowRootId}}` by the id
 * of a shadow root. URLs begin with http: on localhost. Elsewhere they have the protocol of the page that contains
 * them.
 */
export function uiPage({ server_url, agent }: UiRef, files: AgentUiFiles, name: string): string {
  const { host, hostname, pathname } = new URL(server_url);
  const protocol = ["localhost", "127.0.0.1"].includes(hostname) ? "http:" : "";
  const base = pathname.replace(/\/$/, "");
  const url = (file: string) =>
    escaped(`${protocol}//${host}${base}/ui/${encodeURIComponent(agent)}/${file}`);
  const call = escaped(
    `${globalOf(agent)}.render(${JSON.stringify(name)}, "{{shadowRootId}}")`,
    "'",
  );
  const names = Object.keys(files);
  const links = names
    .filter((file) => file.endsWith(".css"))
    .map((file) => `<link rel="stylesheet" href="${url(file)}" />`);
  const scripts = names
    .filter((file) => file.endsWith(".js"))
    .map((file) => `<script src="${url(file)}" onload='${call}'></script>`);
  return [...links, ...scripts].join("\n");
}

function globalOf(agent: string): string {
  return `__LGUI_${agent.replaceAll(/[^a-zA-Z0-9]/g, "_")}`;
}

/** Escapes a value of an attribute that is quoted by `quote`. */
function escaped(text: string, quote: '"' | "'" = '"'): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(quote, quote === '"' ? "&quot;" : "&#39;");
}
