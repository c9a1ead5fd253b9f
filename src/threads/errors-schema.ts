import { text } from "../shared/schema.ts";

/** What every call of the agent server may answer beside its success: the message alone, as text. */
export const agentErrors = {
  400: text("Malformed request"),
  401: text("No valid credentials"),
  403: text("Not allowed with this role"),
  404: text("Not found"),
  409: text("Conflict with what is there"),
  413: text("Body too large"),
  415: text("The Content-Type is not application/json"),
  422: text("A field is wrong; the text names it"),
  429: text("Too many requests"),
  500: text("Internal error"),
  503: text("Not available for the moment; see Retry-After"),
};
