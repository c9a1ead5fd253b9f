import type { Alert, AlertCreateRequest } from "../../../control-plane/alerts/alert-schema.ts";
import { METRIC_TEXTS, type Metric } from "../../alerts/alert-texts.ts";
import type { FieldProblems } from "../../api/errors.ts";

/** The fields of the form, as text where people type. */
export type AlertDraft = {
  metric: Metric;
  session_id: string;
  filter: string;
  is_root: boolean;
  feedback_key: string;
  window: string;
  operator: Alert["operator"];
  threshold: string;
  name: string;
  webhook: string;
};

export type DraftProps = {
  draft: AlertDraft;
  problems: FieldProblems;
  onChange: (part: Partial<AlertDraft>) => void;
};

const NEW: AlertDraft = {
  ...{ metric: "error_rate", session_id: "", filter: "", is_root: true, feedback_key: "" },
  ...{ window: "5", operator: "gte", threshold: "10", name: "", webhook: "" },
};
/** Fewer than the 15 decimal digits that a number holds exactly. */
const EXACT_DIGITS = 12;

export function toDraft(alert: Alert | undefined): AlertDraft {
  if (alert === undefined) return NEW;
  const { session_id, filter, feedback_key, window_minutes, threshold, ...same } = alert;
  return {
    ...same,
    session_id: session_id ?? "",
    filter: filter ?? "",
    feedback_key: feedback_key ?? "",
    window: String(window_minutes),
    threshold: String(multiply(threshold, METRIC_TEXTS[alert.metric].factor)),
  };
}

/** Returns the request. Fields that the metric does not have are `null`, because the API refuses other values. */
export function toRequest(draft: AlertDraft): Omit<AlertCreateRequest, "enabled"> {
  const { metric, session_id, filter, is_root, feedback_key, operator, name, webhook } = draft;
  const isQuota = metric === "quota_used";
  return {
    ...{ name, metric, is_root, operator, webhook },
    session_id: isQuota ? null : session_id,
    filter: isQuota ? null : filter.trim() || null,
    feedback_key: metric === "feedback_score" ? feedback_key : null,
    window_minutes: Number(draft.window),
    threshold: multiply(Number(draft.threshold), 1 / METRIC_TEXTS[metric].factor),
  };
}

/** Removes the error of the multiplication: 0.07 * 100 is 7.000000000000001. */
function multiply(value: number, factor: number): number {
  return Number((value * factor).toPrecision(EXACT_DIGITS));
}
