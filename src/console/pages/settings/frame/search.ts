import { choiceParam, type RawSearch, textParam } from "../../../state/search.ts";

export const DELIVERY_STATUSES = ["pending", "delivered", "failed"] as const;

export type SettingsSearch = {
  /** Deliveries with this status. */
  status?: (typeof DELIVERY_STATUSES)[number] | undefined;
  /** Filters of the audit log. */
  action?: string | undefined;
  actor?: string | undefined;
  resource?: string | undefined;
  since?: string | undefined;
  /** Where the page of a list begins. */
  cursor?: string | undefined;
};

export function settingsSearch(search: RawSearch): SettingsSearch {
  return {
    status: choiceParam(search, "status", DELIVERY_STATUSES),
    action: textParam(search, "action"),
    actor: textParam(search, "actor"),
    resource: textParam(search, "resource"),
    since: textParam(search, "since"),
    cursor: textParam(search, "cursor"),
  };
}
