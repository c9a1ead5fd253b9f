import { useState } from "react";
import type {
  ApiKey,
  ApiKeyWithSecret,
} from "../../../../control-plane/workspaces/keys/key-schema.ts";
import { useApiChange } from "../../../api/hooks.ts";
import { type ApiPath, under } from "../../../api/path.ts";
import { useMe } from "../../../api/session.ts";
import { ConfirmDialog } from "../../../ui/dialog.tsx";
import { useToast } from "../../../ui/toasts.tsx";
import { keyName } from "./key-age.ts";
import { KEYS, type NewSecret } from "./key-paths.ts";

type Props = { path: ApiPath; apiKey: ApiKey; onSecret: (made: NewSecret) => void };

export function KeyActions({ path, apiKey, onSecret }: Props) {
  const [open, setOpen] = useState<"rotate" | "revoke" | null>(null);
  const close = () => setOpen(null);
  return (
    <span className="row">
      <button type="button" className="btn sm ghost" onClick={() => setOpen("rotate")}>
        Rotate
      </button>
      <button type="button" className="btn sm ghost" onClick={() => setOpen("revoke")}>
        Revoke
      </button>
      {open === "rotate" && (
        <RotateKey path={path} apiKey={apiKey} onSecret={onSecret} onClose={close} />
      )}
      {open === "revoke" && <RevokeKey path={path} apiKey={apiKey} onClose={close} />}
    </span>
  );
}

type RevokeProps = { path: ApiPath; apiKey: ApiKey; onClose: () => void };

function RevokeKey({ path, apiKey, onClose }: RevokeProps) {
  const { id } = apiKey;
  const name = keyName(apiKey);
  const isOwn = useMe().actor.id === id;
  const toast = useToast();
  const { mutateAsync } = useApiChange({
    method: "DELETE",
    path: under(path)`/${id}`,
    invalidates: [KEYS],
  });
  return (
    <ConfirmDialog
      title={`Revoke ${name}?`}
      act="Revoke key"
      keep="Keep it"
      isDestructive
      typed={name}
      onAct={() => mutateAsync().then(() => toast(`Revoked ${name}`))}
      onClose={onClose}
    >
      Requests with it fail within 10 s, and sessions opened with it end. This cannot be undone.
      {isOwn && <b className="block wait">This session was opened with it: you are signed out.</b>}
    </ConfirmDialog>
  );
}

const OVERLAP_SECONDS = 3600;

function RotateKey({ path, apiKey, onSecret, onClose }: Props & { onClose: () => void }) {
  const { id } = apiKey;
  const name = keyName(apiKey);
  const { mutateAsync } = useApiChange<void, ApiKeyWithSecret>({
    path: under(path)`/${id}/rotate`,
    query: () => ({ overlap_seconds: OVERLAP_SECONDS }),
    invalidates: [KEYS],
  });
  return (
    <ConfirmDialog
      title={`Rotate ${name}?`}
      act="Rotate key"
      keep="Keep it as it is"
      onAct={() =>
        mutateAsync().then(({ key }) =>
          onSecret({ title: `Key “${name}” has a new secret.`, secret: key }),
        )
      }
      onClose={onClose}
    >
      The key gets a new secret, shown once. The old secret works for one hour more, so that
      programs can change. Sessions opened with it end at the same time.
    </ConfirmDialog>
  );
}
