import type { ReactNode } from "react";
import type { DeliveriesList } from "../../../agent-server/webhooks/schema.ts";
import { formatCount } from "../formats.ts";
import type { StatusKind } from "../icons/status-kind.ts";
import { Status } from "../status.tsx";
import { Duration, Time } from "../values.tsx";

type DeliveryOfList = DeliveriesList["resources"][number];
type AttemptOfList = DeliveryOfList["attempts"][number];

const SHOWN: Record<DeliveryOfList["status"], { kind: StatusKind; word: string }> = {
  pending: { kind: "queued", word: "Pending" },
  delivered: { kind: "ok", word: "Delivered" },
  failed: { kind: "failed", word: "Failed" },
};

type Props = {
  delivery: Omit<DeliveryOfList, "deployment_id" | "thread_id" | "run_id">;
  /** Text after the number of attempts, such as the run. */
  about?: ReactNode;
  action?: ReactNode;
};

/** A delivery of a webhook; its attempts open below. */
export function DeliveryItem({ delivery, about, action }: Props) {
  const { url, status, attempts, created_at, next_attempt_at } = delivery;
  const { kind, word } = SHOWN[status];
  return (
    <li className="in-p border-b border-line-soft grid gap-1">
      <div className="row wrap">
        <Status kind={kind} plain={kind === "ok"}>
          {word}
        </Status>
        <code className="cut grow" title={url}>
          {url}
        </code>
        <span className="dim sm">
          <Time at={created_at} />
        </span>
        {action}
      </div>
      <details>
        <summary className="sm dim">
          {formatCount(attempts.length, "attempt")}
          {about}
          {next_attempt_at !== null && (
            <>
              , next at <Time at={next_attempt_at} exact />
            </>
          )}
        </summary>
        <ol className="mt-2 grid gap-1">
          {attempts.map((attempt, index) => (
            <AttemptRow key={attempt.at} attempt={attempt} number={index + 1} />
          ))}
        </ol>
      </details>
    </li>
  );
}

function AttemptRow({ attempt, number }: { attempt: AttemptOfList; number: number }) {
  const { at, status, error, duration_ms } = attempt;
  return (
    <li className="row wrap sm">
      <span className="dim">{number}</span>
      <Time at={at} exact />
      <b>{status ?? (error === null ? "under way" : "no answer")}</b>
      <Duration ms={duration_ms} />
      {error !== null && <span className="err break-words">{error}</span>}
    </li>
  );
}
