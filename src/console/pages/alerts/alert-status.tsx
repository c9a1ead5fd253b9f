import type { Alert } from "../../../control-plane/alerts/alert-schema.ts";
import { stateOf } from "../../alerts/alert-texts.ts";
import { Status } from "../../ui/status.tsx";
import { Time } from "../../ui/values.tsx";

/** The state of an alert, with the time since which it fires. */
export function AlertStatus({ alert }: { alert: Alert }) {
  const { kind, word } = stateOf(alert);
  const { started_at } = alert;
  return (
    <span className="row">
      <Status kind={kind} plain={kind === "ok" || kind === "idle"}>
        {word}
      </Status>
      {started_at !== null && (
        <span className="dim sm nw">
          since <Time at={started_at} />
        </span>
      )}
    </span>
  );
}
