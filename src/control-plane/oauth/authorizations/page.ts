import { escapeHtml } from "../../../shared/http/html.ts";
import type { CallbackOutcome } from "./callback-service.ts";
import type { Question } from "./consent-service.ts";

const STYLE = [
  ":root{color-scheme:light dark}",
  "body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;color:#222;background:#fff}",
  "h1{font-size:1.25rem}",
  "dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem}",
  "dt{opacity:.7}dd{margin:0;overflow-wrap:anywhere}",
  "form{display:flex;gap:.75rem;margin-top:1.5rem}",
  "button{font:inherit;padding:.4rem 1.25rem;border:1px solid #888;border-radius:6px;background:none;color:inherit;cursor:pointer}",
  "button.main{background:#1a56db;border-color:#1a56db;color:#fff}",
  "@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}}",
].join("");

/** The last page of the flow. */
export function endPage({ status, message, provider_name }: CallbackOutcome): string {
  const title = `${provider_name ?? "OAuth"} ${status === "connected" ? "connected" : "not connected"}`;
  return page(title, `<p>${escapeHtml(message)}</p>`);
}

/** The page that names the requester and the access, with buttons to connect or cancel. */
export function consentPage(question: Question): string {
  const { provider_id, provider_name, query } = question;
  const facts = factsOf(question).map(
    ([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`,
  );
  const { state = "", code = "", iss } = query;
  const kept = Object.entries({ state, code, ...(iss !== undefined && { iss }) }).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`,
  );
  const warning =
    "Connect only if you started this yourself, just now. If you received the link from another person, cancel: their agents would act with your account.";
  return page(
    `Connect ${provider_name}?`,
    `<dl>${facts.join("")}</dl><p>${warning}</p>`,
    // A relative URL, because a proxy may serve the API below a path.
    `<form method="post" action="../callback/${encodeURIComponent(provider_id)}/confirm">`,
    ...kept,
    '<button class="main" name="answer" value="connect">Connect</button>',
    '<button name="answer" value="cancel">Cancel</button></form>',
  );
}

function factsOf({ requester, subject, agent_id, scopes }: Question): [string, string][] {
  const facts: [string, string][] = [
    ["Requested by", requester.name],
    ["Workspace", `${requester.workspace}, ${requester.organization}`],
  ];
  if (subject !== "") facts.push(["For their user", subject]);
  facts.push(["Agents", agent_id ?? "all of theirs"]);
  if (scopes.length > 0) facts.push(["Access", scopes.join(", ")]);
  return facts;
}

function page(title: string, ...content: string[]): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>`,
    `<body><main><h1>${escapeHtml(title)}</h1>`,
    ...content,
    "</main></body></html>",
  ].join("");
}
