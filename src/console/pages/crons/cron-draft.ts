import type { FoundCron } from "../../../agent-server/crons/schema.ts";
import { toJson } from "../../ui/conversation/fields.ts";

export type Plan = { schedule: string; timezone: string; ends: string };

const MINUTE_CHARS = 16;

export function planOf(cron: FoundCron | undefined): Plan {
  return {
    schedule: cron?.schedule ?? "0 9 * * 1-5",
    timezone: cron?.timezone ?? "UTC",
    ends: cron?.end_time?.slice(0, MINUTE_CHARS) ?? "",
  };
}

/** Returns the request. The field has no seconds, so an end that was not edited is sent as it is stored. */
export function toRequest({ schedule, timezone, ends }: Plan, cron: FoundCron | undefined) {
  const end_time = cron && ends === planOf(cron).ends ? cron.end_time : endOf(ends) || null;
  return { schedule, timezone: timezone || null, end_time };
}

/** Returns a time of the field in ISO 8601: the field has no zone, and is in UTC. */
export function endOf(ends: string): string {
  return ends === "" ? "" : `${ends}:00Z`;
}

/** @returns the text of the field: `null` for a cron whose runs continue their thread without an input */
export function inputText(cron: FoundCron | undefined): string {
  return toJson(cron ? (cron.payload?.input ?? null) : {}, 2);
}

type Input = { initial: string; text: string; value: unknown };

/** @returns part of the request: without `input` a PATCH keeps that of the cron */
export function inputPart(cron: FoundCron | undefined, { initial, text, value }: Input) {
  return cron && text === initial ? {} : { input: value };
}
