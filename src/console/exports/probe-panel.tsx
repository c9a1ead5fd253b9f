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

/** Probes the bucket after a pause in typing, once bucket and keys are there. */
export function DraftProbe({ draft }: { draft: BucketDraft }) {
  const { display_name, ...settings } = useDebounced(draft, SETTLED_MS);
  const isReady = canProbe(draft);
  const isSettled = isReady && canProbe({ display_name, ...settings });
  const probe = useApiChange<object, DestinationProbe>({
    path: under(DESTINATIONS)`/probe`,
    body: (request) => request,
  });
  const { mutate } = probe;
  const request = JSON.stringify(toProbe(settings));
  useEffect(() => {
    if (isSettled) mutate(JSON.parse(request) as object);
  }, [isSettled, request, mutate]);
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
      name={draft.bucket_name}
      probe={probe}
      again={() => mutate(JSON.parse(request) as object)}
    />
  );
}

/** Probes a saved destination on request. */
export function SavedProbe({ id, name }: { id: string; name: string }) {
  const probe = useApiChange<void, DestinationProbe>({ path: under(DESTINATIONS)`/${id}/probe` });
  return <ProbeResult name={name} probe={probe} again={() => probe.mutate()} />;
}

type Work = { data: DestinationProbe | undefined; error: Error | null; isPending: boolean };

function ProbeResult({ name, probe, again }: { name: string; probe: Work; again: () => void }) {
  const { data, error, isPending } = probe;
  return (
    <>
      <Panel
        title={<span className="break-all">Probe of {name}</span>}
        end={
          <>
            {data && !isPending && <ProbeStatus probe={data} />}
            <button type="button" className="btn sm" disabled={isPending} onClick={again}>
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
        {error && <ErrorState what="The bucket was not probed" error={error} retry={again} />}
        {!data && !isPending && !error && (
          <p className="in-p dim">
            Tries each right that exports use. It writes and deletes an object.
          </p>
        )}
      </Panel>
      {data && (
        <Panel title="The policy that grants all">
          <div className="in-p">
            <CodeBlock text={JSON.stringify(data.policy, null, 2)} label="Policy" />
          </div>
        </Panel>
      )}
    </>
  );
}
