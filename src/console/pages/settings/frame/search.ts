import { choiceParam, numberParam, type RawSearch, textParam } from "../../../state/search.ts";

export const DELIVERY_STATUSES = ["pending", "delivered", "failed"] as const;

export type SettingsSearch = {
  /** Deliveries with this status. */
  status?: (typeof DELIVERY_STATUSES)[number] | undefined;
  /** `trace` lists deliveries of traces to OTLP endpoints instead of webhooks. */
  kind?: "trace" | undefined;
  /** Filters of the audit log. */
  action?: string | undefined;
  actor?: string | undefined;
  resource?: string | undefined;
  since?: string | undefined;
  /** Cursor of the API for the page of a list. */
  cursor?: string | undefined;
  offset?: number | undefined;
  /** Month of the usage, such as `2026-11`. */
  month?: string | undefined;
  /** Part of the name of a project. */
  q?: string | undefined;
};

export function settingsSearch(search: RawSearch): SettingsSearch {
  return {
    status: choiceParam(search, "status", DELIVERY_STATUSES),
    kind: choiceParam(search, "kind", ["trace"]),
    action: textParam(search, "action"),
    actor: textParam(search, "actor"),
    resource: textParam(search, "resource"),
    since: textParam(search, "since"),
    cursor: textParam(search, "cursor"),
    offset: numberParam(search, "offset"),
    month: textParam(search, "month"),
    q: textParam(search, "q"),
  };
}
