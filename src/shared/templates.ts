/** Default of `webhooks.env_prefix` in langgraph.json. Templates of webhooks may name only variables with the prefix. */
export const WEBHOOK_ENV_PREFIX = "LG_WEBHOOK_";

/** `${{ env.NAME }}` in a text of langgraph.json. */
const TEMPLATE = /\$\{\{\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

export function variablesIn(text: string): string[] {
  return [...text.matchAll(TEMPLATE)].map(([, name = ""]) => name);
}

export function fillIn(text: string, toValue: (name: string) => string): string {
  return text.replace(TEMPLATE, (_template, name: string) => toValue(name));
}

/** Returns whether a text has a `${{` that does not begin a template. */
export function isMalformed(text: string): boolean {
  return text.replace(TEMPLATE, "").includes("${{");
}

/** Whether a text can be the value of a header: one line of printable ASCII and tabs. */
export function isHeaderText(text: string): boolean {
  return /^[\t -~]*$/.test(text);
}
