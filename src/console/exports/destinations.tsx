import { useState } from "react";
import type { Destination, DestinationProbe } from "../../exports/destination-schema.ts";
import { useApiChange } from "../api/hooks.ts";
import { under } from "../api/path.ts";
import { DeleteButton } from "../ui/blocks/item-buttons.tsx";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { formatCount } from "../ui/formats.ts";
import { Panel } from "../ui/panel.tsx";
import { ErrorState, QueryState } from "../ui/states.tsx";
import { Status } from "../ui/status.tsx";
import { useToast } from "../ui/toasts.tsx";
import { Time } from "../ui/values.tsx";
import { bucketUrl, DESTINATIONS, useDestinations, useMayExport } from "./names.ts";
import { showProbe } from "./right-rows.ts";
import { Rights } from "./rights.tsx";
import { RotateCredentials } from "./rotate.tsx";

/** Buckets that exports write to. Each can be probed again. */
export function Destinations() {
  const query = useDestinations();
  return (
    <QueryState query={query} what="The destinations could not be read" rows={2}>
      {(rows) => (
        <Panel title="Destinations" footer={formatCount(rows.length, "destination")}>
          {rows.length === 0 ? (
            <p className="in-p dim">
              A destination is a bucket with the credentials to write to it.
            </p>
          ) : (
            <ul>
              {rows.map((row) => (
                <Row key={row.id} destination={row} />
              ))}
            </ul>
          )}
        </Panel>
      )}
    </QueryState>
  );
}

function Row({ destination }: { destination: Destination }) {
  const { id, display_name, config, updated_at } = destination;
  const mayExport = useMayExport();
  const [open, setOpen] = useState<"rotate" | "delete" | null>(null);
  const probe = useApiChange<void, DestinationProbe>({ path: under(DESTINATIONS)`/${id}/probe` });
  return (
    <li className="in-p border-b border-line-soft grid gap-2">
      <div className="row wrap">
        <span className="m">{display_name}</span>
        <code className="sm mid break-all">{bucketUrl(destination)}</code>
        <span className="dim sm">{config.endpoint_url ?? config.region ?? "AWS"}</span>
        {probe.data && <ProbeStatus probe={probe.data} />}
        <span className="dim sm">
          credentials set <Time at={updated_at} />
        </span>
        {mayExport && (
          <span className="push row">
            <button
              type="button"
              className="btn sm"
              disabled={probe.isPending}
              onClick={() => probe.mutate()}
            >
              {probe.isPending ? "Probing" : probe.data ? "Probe again" : "Probe"}
            </button>
            <button type="button" className="btn sm" onClick={() => setOpen("rotate")}>
              Replace credentials
            </button>
            <DeleteButton label={`Delete ${display_name}`} onClick={() => setOpen("delete")} />
          </span>
        )}
      </div>
      {probe.error && <ErrorState what="The bucket was not probed" error={probe.error} />}
      {probe.data && <Rights probe={probe.data} />}
      {open === "rotate" && (
        <RotateCredentials destination={destination} onClose={() => setOpen(null)} />
      )}
      {open === "delete" && (
        <DeleteDestination destination={destination} onClose={() => setOpen(null)} />
      )}
    </li>
  );
}

export function ProbeStatus({ probe }: { probe: DestinationProbe }) {
  const { kind, word } = showProbe(probe);
  return (
    <Status kind={kind} plain={kind === "ok"}>
      {word}
    </Status>
  );
}

type DeleteProps = { destination: Destination; onClose: () => void };

function DeleteDestination({ destination: { id, display_name }, onClose }: DeleteProps) {
  const toast = useToast();
  const { mutateAsync } = useApiChange({
    method: "DELETE",
    path: under(DESTINATIONS)`/${id}`,
    invalidates: [DESTINATIONS],
  });
  return (
    <ConfirmDialog
      title={`Delete ${display_name}?`}
      act="Delete destination"
      keep="Keep it"
      isDestructive
      typed={display_name}
      onAct={() => mutateAsync().then(() => toast(`Deleted ${display_name}`))}
      onClose={onClose}
    >
      Its credentials are deleted. Files in the bucket stay. Exports of the past keep their rows and
      their SQL, but their files can no longer be read here.
    </ConfirmDialog>
  );
}
