import { Link } from "@tanstack/react-router";
import type { DeliveriesList } from "../../../../agent-server/webhooks/schema.ts";
import { useApiChange, useWorkspaceId } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { useMay } from "../../../api/session.ts";
import { pathTo } from "../../../state/path.ts";
import { DeliveryItem } from "../../../ui/blocks/delivery-item.tsx";
import { InlineError } from "../../../ui/blocks/inline-error.tsx";
import { shortId } from "../../../ui/formats.ts";
import { Icon } from "../../../ui/icon.tsx";
import { useToast } from "../../../ui/toasts.tsx";
import { Id } from "../../../ui/values.tsx";

type Props = { delivery: DeliveriesList["resources"][number] };

/** A delivery of the webhook of a run. Editors can send it again, unless it was delivered. */
export function DeliveryRow({ delivery }: Props) {
  const { status, run_id, thread_id } = delivery;
  return (
    <DeliveryItem
      delivery={delivery}
      about={
        <>
          , run <Id id={run_id} isShort /> of thread <Id id={thread_id} isShort />
        </>
      }
      action={status !== "delivered" && <Resend delivery={delivery} />}
    />
  );
}

/** A delivery of a trace to the OTLP endpoint of a deployment. */
export function TraceRow({ delivery }: Props) {
  const workspace = useWorkspaceId();
  const { run_id } = delivery;
  return (
    <DeliveryItem
      delivery={delivery}
      about={
        <>
          , <Link to={pathTo(workspace, `/traces/${run_id}`)}>trace {shortId(run_id)}</Link>
        </>
      }
    />
  );
}

function Resend({ delivery: { deployment_id, thread_id, run_id, status } }: Props) {
  const mayWrite = useMay("write");
  const toast = useToast();
  const resend = useApiChange({
    path: apiPath`/agents/${deployment_id}/threads/${thread_id}/runs/${run_id}/webhook`,
    invalidates: ["/v1/run-webhooks"],
  });
  if (!mayWrite) return null;
  return (
    <>
      <InlineError error={resend.error} />
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
