import { type RawSearch, textParam } from "../../state/search.ts";

/** Id of the agent whose connections are shown. */
export type ConnectionsSearch = { agent?: string | undefined };

export function connectionsSearch(search: RawSearch): ConnectionsSearch {
  return { agent: textParam(search, "agent") };
}
