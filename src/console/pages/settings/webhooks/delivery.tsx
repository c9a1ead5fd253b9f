import type { DeliveriesList } from "../../../../agent-server/webhooks/schema.ts";
import { useApiChange } from "../../../api/hooks.ts";
import { useMay } from "../../../api/session.ts";
import { Id } from "../../../ui/copy-button.tsx";
import { formatCount } from "../../../ui/formats.ts";
import { Icon } from "../../../ui/icon.tsx";
import { Status, type StatusKind } from "../../../ui/status.tsx";
import { useToast } from "../../../ui/toasts.tsx";
import { Duration, Time } from "../../../ui/values.tsx";

type DeliveryOfList = DeliveriesList["resources"][number];
type AttemptOfList = DeliveryOfList["attempts"][number];

const SHOWN: Record<DeliveryOfList["status"], { kind: StatusKind; word: string }> = {
  pending: { kind: "queued", word: "Pending" },
  delivered: { kind: "ok", word: "Delivered" },
  failed: { kind: "failed", word: "Failed" },
};

type Props = { delivery: DeliveryOfList };

/** A delivery; its attempts open below. */
export function DeliveryRow({ delivery }: Props) {
  const { url, status, run_id, thread_id, attempts, created_at, next_attempt_at } = delivery;
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
        {status !== "delivered" && <Resend delivery={delivery} />}
      </div>
      <details>
        <summary className="sm dim">
          {formatCount(attempts.length, "attempt")}, run <Id id={run_id} /> of thread{" "}
          <Id id={thread_id} />
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
      <b>{status ?? "no answer"}</b>
      <Duration ms={duration_ms} />
      {error !== null && <span className="err break-words">{error}</span>}
    </li>
  );
}

function Resend({ delivery: { deployment_id, thread_id, run_id, status } }: Props) {
  const mayWrite = useMay("write");
  const toast = useToast();
  const resend = useApiChange({
    path: `/agents/${deployment_id}/threads/${thread_id}/runs/${run_id}/webhook`,
    invalidates: ["/v1/run-webhooks"],
  });
  if (!mayWrite) return null;
  return (
    <>
      {resend.error && (
        <span className="err sm" role="alert">
          {resend.error.message}
        </span>
      )}
      <button
        type="button"
        className="btn sm"
        disabled={resend.isPending}
        onClick={() => resend.mutate(undefined, { onSuccess: () => toast("The delivery is sent") })}
      >
        <Icon name="refresh" small /> {status === "pending" ? "Send now" : "Resend"}
      </button>
    </>
  );
}
