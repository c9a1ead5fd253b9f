import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useApiChange, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { pathTo } from "../../state/path.ts";
import { lastListOf } from "../../traces/last-list.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { shortId } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";

export function DeleteTrace({ id, project }: { id: string; project: string }) {
  const [isOpen, setOpen] = useState(false);
  const workspace = useWorkspaceId();
  const navigate = useNavigate();
  const { mutateAsync } = useApiChange({
    path: apiPath`/api/v1/runs/delete`,
    body: () => ({ session_id: project, trace_ids: [id] }),
    invalidates: [apiPath`/api/v1/runs`],
  });
  if (!useMay("delete")) return null;
  return (
    <>
      <button
        type="button"
        className="btn sm danger"
        aria-label="Delete trace"
        onClick={() => setOpen(true)}
      >
        <Icon name="trash" small />
      </button>
      {isOpen && (
        <ConfirmDialog
          title={`Delete trace ${shortId(id)}?`}
          act="Delete trace"
          keep="Keep it"
          isDestructive
          typed={shortId(id)}
          onAct={async () => {
            await mutateAsync();
            await navigate({ to: pathTo(workspace, "/traces"), search: lastListOf(project) });
          }}
          onClose={() => setOpen(false)}
        >
          Its spans, feedback, attachments and public link are deleted at once, and the last bytes
          of them within the hour. Exported files stay. The audit log keeps who deleted it and when.
          This cannot be undone.
        </ConfirmDialog>
      )}
    </>
  );
}
