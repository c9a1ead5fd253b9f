import type { NamedExport } from "../contract.ts";
import { type ConfigLocation, readExport, section, wrong } from "./config-values.ts";

const AUTH = '"file:export" of an Auth of @langchain/langgraph-sdk/auth, like "./src/auth.ts:auth"';

/** Reads `auth` of langgraph.json. */
export function readAuth(place: ConfigLocation, value: unknown): NamedExport | null {
  const { path, disable_studio_auth = null } = section(place, "auth", value);
  if (disable_studio_auth !== null && typeof disable_studio_auth !== "boolean") {
    throw wrong(place.path, '"auth.disable_studio_auth"', "true or false", disable_studio_auth);
  }
  return path === undefined || path === null ? null : readExport(place, "auth.path", path, AUTH);
}
