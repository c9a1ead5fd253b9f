import { type ReactNode, useState } from "react";
import { useApiChange } from "../../api/hooks.ts";
import type { ApiPath } from "../../api/path.ts";
import { type GuardedAction, useMay } from "../../api/session.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { useToast } from "../../ui/toasts.tsx";

type Props = {
  /** The right that the deletion needs. Default: `write`. */
  action?: GuardedAction;
  name: string;
  path: ApiPath;
  invalidates: string[];
  act: string;
  /** The effect. */
  children: ReactNode;
};

/** Deletes something after its name was typed. Draws nothing for a role without the right. */
export function RemoveButton({ action = "write", ...rest }: Props) {
  const may = useMay(action);
  return may ? <Remove {...rest} /> : null;
}

/** Deletes something of the person, which each role may. */
export function Remove({ name, path, invalidates, act, children }: Omit<Props, "action">) {
  const [isOpen, setOpen] = useState(false);
  const toast = useToast();
  const { mutateAsync } = useApiChange({ method: "DELETE", path, invalidates });
  return (
    <>
      <button type="button" className="btn sm ghost" onClick={() => setOpen(true)}>
        {act.split(" ")[0]}
      </button>
      {isOpen && (
        <ConfirmDialog
          title={`${act} ${name}?`}
          act={act}
          keep="Keep it"
          isDestructive
          typed={name}
          onAct={() => mutateAsync().then(() => toast(`${act}: ${name}`))}
          onClose={() => setOpen(false)}
        >
          {children} This cannot be undone.
        </ConfirmDialog>
      )}
    </>
  );
}
