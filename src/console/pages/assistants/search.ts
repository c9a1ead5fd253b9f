import { numberParam, type RawSearch, textParam } from "../../state/search.ts";

export type AssistantsSearch = {
  deployment?: string | undefined;
  assistant?: string | undefined;
  /** The version whose configuration is shown. */
  version?: number | undefined;
  q?: string | undefined;
  offset?: number | undefined;
};

export function assistantsSearch(search: RawSearch): AssistantsSearch {
  return {
    deployment: textParam(search, "deployment"),
    assistant: textParam(search, "assistant"),
    version: numberParam(search, "version"),
    q: textParam(search, "q"),
    offset: numberParam(search, "offset"),
  };
}
