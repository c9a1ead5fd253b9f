import { useEffect } from "react";
import type { DestinationProbe } from "../../exports/destination-schema.ts";
import { useApiChange } from "../api/hooks.ts";
import { under } from "../api/path.ts";
import { CodeBlock } from "../ui/blocks/code-block.tsx";
import { useDebounced } from "../ui/form/use-debounced.ts";
import { Icon } from "../ui/icon.tsx";
import { Panel } from "../ui/panel.tsx";
import { ErrorState, Skeleton } from "../ui/states.tsx";
import { ProbeStatus } from "./destinations.tsx";
import { type BucketDraft, canProbe, toProbe } from "./draft.ts";
import { DESTINATIONS } from "./names.ts";
import { Rights } from "./rights.tsx";

const SETTLED_MS = 400;

/** Probes the bucket after each pause in typing, once a bucket and both keys are typed. */
export function DraftProbe({ draft }: { draft: BucketDraft }) {
  const settled = useDebounced(draft, SETTLED_MS);
  const isReady = canProbe(draft) && canProbe(settled);
  const probe = useApiChange<object, DestinationProbe>({
    path: under(DESTINATIONS)`/probe`,
    body: (request) => request,
  });
  const { mutate } = probe;
  // A text, because an effect compares its dependencies by identity.
  const request = JSON.stringify(toProbe(settled));
  useEffect(() => {
    if (isReady) mutate(JSON.parse(request) as object);
  }, [isReady, request, mutate]);
  if (!isReady) {
    return (
      <Panel title="Probe">
        <p className="in-p dim">
          With a bucket and both keys, each right that exports use is tried here. Nothing is saved.
        </p>
      </Panel>
    );
  }
  return (
    <ProbeResult
      name={settled.bucket_name}
      probe={probe}
      isDisabled={probe.isPending || JSON.stringify(toProbe(draft)) !== request}
      onProbe={() => mutate(JSON.parse(request) as object)}
    />
  );
}

/** Probes a saved destination on request. */
export function SavedProbe({ id, name }: { id: string; name: string }) {
  const probe = useApiChange<void, DestinationProbe>({ path: under(DESTINATIONS)`/${id}/probe` });
  return (
    <ProbeResult
      name={name}
      probe={probe}
      isDisabled={probe.isPending}
      onProbe={() => probe.mutate()}
    />
  );
}

type ProbeCall = { data: DestinationProbe | undefined; error: Error | null; isPending: boolean };
type ResultProps = { name: string; probe: ProbeCall; isDisabled: boolean; onProbe: () => void };

function ProbeResult({ name, probe, isDisabled, onProbe }: ResultProps) {
  const { data, error, isPending } = probe;
  return (
    <>
      <Panel
        title={<span className="break-all">Probe of {name}</span>}
        end={
          <>
            {data && !isPending && <ProbeStatus probe={data} />}
            <button type="button" className="btn sm" disabled={isDisabled} onClick={onProbe}>
              <Icon name="refresh" small /> {isPending ? "Probing" : "Probe"}
            </button>
          </>
        }
        footer={
          data?.addressing_style
            ? `The bucket is in the ${data.addressing_style === "path" ? "path" : "host name"} of its URLs`
            : undefined
        }
      >
        {data && <Rights probe={data} />}
        {!data && isPending && <Skeleton rows={5} />}
        {error && <ErrorState what="The bucket was not probed" error={error} retry={onProbe} />}
        {!data && !isPending && !error && (
          <p className="in-p dim">
            Tries each right that exports use. It writes and deletes an object.
          </p>
        )}
      </Panel>
      {data && (
        <Panel title="A policy that grants all of these rights">
          <div className="in-p">
            <CodeBlock text={JSON.stringify(data.policy, null, 2)} label="Policy" />
          </div>
        </Panel>
      )}
    </>
  );
}
