import { useState } from "react";
import type { TraceShare } from "../../../traces/shares/share-schema.ts";
import { ApiError } from "../../api/errors.ts";
import { useApiChange, useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ErrorState, QueryState } from "../../ui/states.tsx";

/** Creates and revokes a link that shows the trace to people without an account. */
export function ShareButton({ trace_id }: { trace_id: string }) {
  const [isOpen, setOpen] = useState(false);
  if (!useMay("write")) return null;
  return (
    <>
      <button type="button" className="btn sm" onClick={() => setOpen(true)}>
        <Icon name="link" small /> Share
      </button>
      {isOpen && <ShareDialog trace_id={trace_id} onClose={() => setOpen(false)} />}
    </>
  );
}

function ShareDialog({ trace_id, onClose }: { trace_id: string; onClose: () => void }) {
  const path = apiPath`/api/v1/runs/${trace_id}/share`;
  const query = useApiQuery<TraceShare | null>(path);
  const create = useApiChange({ method: "PUT", path, invalidates: [path] });
  const revoke = useApiChange({ method: "DELETE", path, invalidates: [path] });
  const isBusy = create.isPending || revoke.isPending;
  const error = create.error ?? revoke.error;
  // The service cannot decrypt a link whose encryption key was removed. It can be revoked.
  const isHidden = query.error instanceof ApiError && query.error.status === 409;
  return (
    <Dialog title="Share this trace" onClose={onClose}>
      <div className="bd mid grid gap-3">
        <p>
          Anyone with the link reads the names, times, inputs, outputs, errors, tags, tokens and
          costs of all spans, without a key, also those of the traces that this one called in its
          project. Metadata, feedback and attachments stay private.
        </p>
        <QueryState query={query} what="The link could not be read" rows={1}>
          {(share) => (share ? <PublicUrl url={share.url} /> : <p>The trace is not shared.</p>)}
        </QueryState>
        {error && <ErrorState what="The link was not changed" error={error} />}
      </div>
      <footer>
        <button type="button" className="btn" onClick={onClose}>
          Close
        </button>
        {query.data || isHidden ? (
          <button
            type="button"
            className="btn danger"
            disabled={isBusy}
            onClick={() => revoke.mutate()}
          >
            Revoke the link
          </button>
        ) : (
          <button
            type="button"
            className="btn pri"
            disabled={isBusy || query.data === undefined}
            onClick={() => create.mutate()}
          >
            Create a link
          </button>
        )}
      </footer>
    </Dialog>
  );
}

function PublicUrl({ url }: { url: string }) {
  return (
    <div className="row">
      <a href={url} className="mono sm break-all grow" target="_blank" rel="noreferrer">
        {url}
      </a>
      <CopyButton text={url} label="Copy the link" />
    </div>
  );
}
