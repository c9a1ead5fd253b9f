import { useState } from "react";
import type { BulkExport } from "../../../exports/schema.ts";
import { useApiChange } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { canCancel, canRetry, isSchedule } from "../../exports/export-status.ts";
import { EXPORTS, useMayExport } from "../../exports/names.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { useToast } from "../../ui/toasts.tsx";

type Props = { bulkExport: BulkExport };

/** The action that the state of an export allows: a retry, or its cancellation. */
export function ExportActions({ bulkExport }: Props) {
  const mayExport = useMayExport();
  if (!mayExport) return null;
  if (canRetry(bulkExport)) return <Retry bulkExport={bulkExport} />;
  return canCancel(bulkExport) ? <Cancel bulkExport={bulkExport} /> : null;
}

function Retry({ bulkExport: { id } }: Props) {
  const toast = useToast();
  const retry = useApiChange<void, BulkExport>({
    path: under(EXPORTS)`/${id}/retry`,
    invalidates: [EXPORTS],
  });
  return (
    <>
      {retry.error && <span className="err sm">{retry.error.message}</span>}
      <button
        type="button"
        className="btn pri"
        disabled={retry.isPending}
        onClick={() =>
          retry.mutate(undefined, {
            onSuccess: () => toast("The export writes the missing files"),
          })
        }
      >
        <Icon name="refresh" /> {retry.isPending ? "Starting" : "Retry"}
      </button>
    </>
  );
}

function Cancel({ bulkExport }: Props) {
  const [isOpen, setOpen] = useState(false);
  const noun = isSchedule(bulkExport) ? "schedule" : "export";
  const { mutateAsync } = useApiChange({
    method: "PATCH",
    path: under(EXPORTS)`/${bulkExport.id}`,
    body: () => ({ status: "CANCELLED" }),
    invalidates: [EXPORTS],
  });
  return (
    <>
      <button type="button" className="btn danger" onClick={() => setOpen(true)}>
        <Icon name="stop" /> Cancel {noun}
      </button>
      {isOpen && (
        <ConfirmDialog
          title={`Cancel this ${noun}?`}
          act={`Cancel ${noun}`}
          keep="Let it run"
          isDestructive
          onAct={() => mutateAsync()}
          onClose={() => setOpen(false)}
        >
          {noun === "schedule"
            ? "No further window starts. Exports that it has started run on: cancel them one by one. This cannot be undone."
            : "Files under way are given up within seconds. Written files stay in the bucket, without a manifest. This cannot be undone."}
        </ConfirmDialog>
      )}
    </>
  );
}
