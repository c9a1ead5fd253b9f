import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { Assistant } from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import { useApiChange } from "../../api/hooks.ts";
import { type ApiPath, under } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { DeleteButton, EditButton } from "../../ui/blocks/item-buttons.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { AssistantForm } from "./assistant-form.tsx";

const route = getRouteApi("/w/$workspace/assistants");

export function NewAssistant({ path }: { path: ApiPath }) {
  const [isOpen, setOpen] = useState(false);
  const show = useShow();
  if (!useMay("write")) return null;
  return (
    <>
      <button type="button" className="btn sm" onClick={() => setOpen(true)}>
        <Icon name="plus" small /> New assistant
      </button>
      {isOpen && (
        <AssistantForm
          path={path}
          onSaved={({ assistant_id }) => {
            setOpen(false);
            show(assistant_id);
          }}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

/** @returns a function that chooses an assistant, at its version in use */
function useShow() {
  const navigate = route.useNavigate();
  return (assistant: string | undefined) =>
    void navigate({ search: (former) => ({ ...former, assistant, version: undefined }) });
}

type Props = { assistant: Assistant; path: ApiPath };

/** Edits and deletes an assistant. One that the system created for a graph cannot be deleted. */
export function AssistantActions({ assistant, path }: Props) {
  const [dialog, setDialog] = useState<"edit" | "delete" | null>(null);
  const show = useShow();
  const close = () => setDialog(null);
  const isOfGraph = assistant.metadata.created_by === "system";
  return (
    <>
      <EditButton onClick={() => setDialog("edit")} />
      {!isOfGraph && <DeleteButton label="Delete assistant" onClick={() => setDialog("delete")} />}
      {dialog === "edit" && (
        <AssistantForm
          path={path}
          assistant={assistant}
          onSaved={({ assistant_id }) => {
            close();
            show(assistant_id);
          }}
          onClose={close}
        />
      )}
      {dialog === "delete" && <DeleteAssistant assistant={assistant} path={path} onClose={close} />}
    </>
  );
}

function DeleteAssistant({ assistant, path, onClose }: Props & { onClose: () => void }) {
  const show = useShow();
  const { mutateAsync } = useApiChange({
    method: "DELETE",
    path: under(path)`/${assistant.assistant_id}`,
    invalidates: [under(path)`/search`],
  });
  return (
    <ConfirmDialog
      title={`Delete ${assistant.name}?`}
      act="Delete assistant"
      keep="Keep it"
      isDestructive
      onAct={() => mutateAsync().then(() => show(undefined))}
      onClose={onClose}
    >
      All its versions and crons are deleted. Threads of its runs stay. This cannot be undone.
    </ConfirmDialog>
  );
}
